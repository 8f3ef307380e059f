//! What happens to a class that the JVM loads.

use crate::state::Agent;

pub(crate) struct Class<'a> {
    /// With slashes. A class may come without.
    pub(crate) name: Option<&'a str>,
    pub(crate) is_boot: bool,
    /// Whether the class is loaded already and is now redefined or retransformed.
    pub(crate) is_known: bool,
}

/// The class with probes, or `None` to leave it as it is.
pub(crate) fn rewrite(agent: &Agent, class: Class<'_>, _bytes: &[u8]) -> Option<Vec<u8>> {
    if agent.is_stopped() || class.is_boot || class.is_known || !agent.selection.takes(class.name?) {
        return None;
    }
    None
}

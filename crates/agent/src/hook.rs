//! What happens to a class that the JVM loads.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use instrument::{Callee, MethodRow, Origin, Sites};
use recording::Row;

use crate::platform;
use crate::state::Agent;

pub(crate) struct Class<'a> {
    /// With slashes. A class may come without.
    pub(crate) name: Option<&'a str>,
    pub(crate) is_boot: bool,
    pub(crate) origin: Origin,
    /// Whether the class is loaded already and is now redefined or retransformed.
    pub(crate) is_known: bool,
}

/// The class with probes, or `None` to leave it as it is.
pub(crate) fn rewrite(agent: &Agent, class: Class<'_>, bytes: &[u8]) -> Option<Vec<u8>> {
    if agent.is_stopped() {
        return None;
    }
    if class.is_boot {
        return platform::hook(agent, class.name?, bytes);
    }
    // Also for classes that are left alone: their fields are known from then on.
    let plan = agent.plan.read().unwrap_or_else(PoisonError::into_inner);
    let mut sites = agent.sites();
    let rewritten = match instrument::instrument_from(class.origin, bytes, &plan, &mut sites) {
        Ok(rewritten) => rewritten,
        Err(error) => {
            agent.failed.fetch_add(1, Ordering::Relaxed);
            let name = class.name.unwrap_or("a class without a name");
            agent.write(&[Row::Note { text: format!("`{name}` is left as it is: {error}") }]);
            return None;
        }
    };
    publish(agent, &mut sites);
    if plan.speculates
        && let Some(name) = class.name.filter(|name| plan.includes(name.as_bytes()))
    {
        agent.keep(name, class.origin, bytes);
    }
    let notes = sites.take_notes();
    if !notes.is_empty() {
        agent.write(&notes.into_iter().map(|text| Row::Note { text }).collect::<Vec<Row>>());
    }
    let rewritten = rewritten?;
    if !rewritten.left_alone.is_empty() {
        agent.left_alone.fetch_add(rewritten.left_alone.len() as u32, Ordering::Relaxed);
    }
    if !class.is_known {
        agent.instrumented.fetch_add(1, Ordering::Relaxed);
    }
    Some(rewritten.bytes)
}

/// What a method would do that arms call: that of a class, or of the one that the call names.
pub(crate) fn callee(agent: &Agent, owner: Option<String>, member: usize) -> Option<Callee> {
    let plan = agent.plan.read().unwrap_or_else(PoisonError::into_inner);
    let mut sites = agent.sites();
    let member = sites.members().get(member)?.clone();
    let (origin, bytes) = agent.kept(owner.as_deref().unwrap_or(&member.class))?;
    let names = [member.name.as_str(), member.descriptor.as_str()];
    let found = instrument::callee(origin, &bytes, &plan, &mut sites, names).ok()?;
    publish(agent, &mut sites);
    found
}

/// Writes rows for the new sites, before the code that refers to them can run.
fn publish(agent: &Agent, sites: &mut Sites) {
    let new = sites.take_new();
    let (first, count) = (new.first_site, new.sites.len());
    if count == 0 {
        return;
    }
    let (all, methods) = (sites.sites(), sites.methods());
    let rows: Vec<Row> = (first..first + count)
        .map(|number| {
            let site = &all[number];
            let method: &MethodRow = &methods[site.method as usize];
            Row::Site {
                number: number as u32,
                class: method.class.clone(),
                method: method.name.clone(),
                descriptor: method.descriptor.clone(),
                file: method.file.clone().unwrap_or_default(),
                line: u32::from(site.line),
                offset: u32::from(site.offset),
            }
        })
        .collect();
    agent.write(&rows);
}

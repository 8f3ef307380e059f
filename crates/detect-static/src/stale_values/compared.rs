//! What was read is compared with something, and written because of how that came out.

use location::MethodName;
use program::ir::CallKind;
use program::outline::{Action, Argument, Member, Origin, Source, Sources};
use program::summary::{Access, Influences, Root};
use program::{Place, Variable};

use super::idioms::comes_from;
use super::rules::{Looking, Stale, Use};

/// Methods that ask others are looked at this deep.
const MAX_DEPTH: usize = 2;

impl Looking<'_> {
    /// `if (x != wanted) x = wanted;`: what is written does not depend on what was read, and was compared with it. Whoever
    /// wrote in between, the outcome is one that was asked for.
    pub(super) fn is_set_if_different(&self, stale: &Stale, write: &Access) -> bool {
        stale.how == Use::Decides
            && matches!(write.member, Member::Field(_) | Member::Static(_))
            && !write.value.is_empty()
            && write.compared.iter().filter(|compared| !compared.are_equal).any(|compared| {
                let [left, right] = &compared.sides;
                let is_told = |old: &Influences, wanted: &Influences| {
                    comes_from(old, stale.read)
                        && (stale.variable == stale.written || self.reads(old, stale.written))
                        && write.value.iter().all(|value| wanted.iter().any(|wanted| wanted.root == value.root))
                };
                is_told(left, right) || is_told(right, left)
            })
    }

    /// The same where a method of the program compares the two: `if (differ(x(), wanted)) x(wanted);`.
    pub(super) fn is_set_if_different_by_call(&self, stale: &Stale, write: &Access) -> bool {
        let Some(outline) = self.whole.summaries.outline(self.method) else { return false };
        if stale.how != Use::Decides || comes_from(&write.value, stale.read) {
            return false;
        }
        let writing = &outline.events[write.event.index()];
        let written: Vec<Origin> = match &writing.action {
            Action::Call { arguments, .. } => {
                arguments.iter().skip(1).flat_map(|argument| &argument.sources).map(|source| source.origin).collect()
            }
            Action::Write { value, .. } => value.iter().map(|source| source.origin).collect(),
            _ => return false,
        };
        let reading = Origin::Event(self.access(stale.read).event);
        let has = |argument: &Argument, origin: Origin| argument.sources.iter().any(|source| source.origin == origin);
        let is_told = |old: &Sources, wanted: &Sources| {
            let is_in = |sources: &Sources, origin: Origin| sources.iter().any(|source| source.origin == origin);
            is_in(old, reading)
                && !is_in(wanted, reading)
                && written.iter().all(|origin| is_in(wanted, *origin))
                && (stale.variable == stale.written || old.iter().any(|source| self.is_read_of(source, stale.written)))
        };
        !written.is_empty()
            && writing.control.iter().any(|condition| {
                let condition = &outline.conditions[*condition as usize];
                if let Some(sides) = condition.sides.as_deref().filter(|_| !condition.is_by_size) {
                    let [left, right] = sides;
                    return is_told(left, right) || is_told(right, left);
                }
                if stale.variable != stale.written {
                    return false;
                }
                let [Source { origin: Origin::Event(asking), .. }] = condition.sources.as_slice() else {
                    return false;
                };
                let Action::Call { kind, method, arguments } = &outline.events[asking.index()].action else {
                    return false;
                };
                arguments.iter().any(|old| has(old, reading))
                    && arguments.iter().any(|new| !has(new, reading) && written.iter().all(|origin| has(new, *origin)))
                    && self.asks_equality(*kind, *method, MAX_DEPTH)
            })
    }

    /// Whether a method only asks whether what it is given is equal.
    fn asks_equality(&self, kind: CallKind, method: MethodName, depth: usize) -> bool {
        let text = |symbol| self.whole.program.names.text(symbol);
        // What `Object` promises of every override, and what the library builds on it (`Objects`, `Arrays`, `String`).
        let name = text(method.name);
        let is_promised = name == "equals" && text(method.descriptor) == "(Ljava/lang/Object;)Z";
        let is_library = text(method.class.0).starts_with("java/") && matches!(name, "equals" | "deepEquals");
        if is_promised || is_library {
            return true;
        }
        let targets = self.whole.calls.targets(self.whole.program, kind, method);
        let is_unknown = targets.known().iter().all(|target| self.whole.summaries.outline(*target).is_none());
        if is_unknown && kind == CallKind::Static {
            // Nothing is known of it but that it takes two of a kind and says yes or no.
            return asks_about_two(text(method.descriptor));
        }
        let [target] = targets.known() else { return false };
        let Some(outline) = self.whole.summaries.outline(*target) else { return false };
        depth > 0
            && !outline.conditions.iter().any(|condition| condition.is_by_size)
            && outline.events.iter().all(|event| match &event.action {
                Action::Call { kind, method, .. } => self.asks_equality(*kind, *method, depth - 1),
                _ => false,
            })
    }

    /// `if (owner == me) owner = null;`: only who is the owner finds itself there, and nobody else writes over it, since all
    /// look first.
    pub(super) fn is_given_up(&self, stale: &Stale, write: &Access) -> bool {
        let is_own = |side: &Influences| {
            !side.is_empty() && side.iter().all(|influence| matches!(influence.root, Root::Parameter(_)))
        };
        let is_taken_back = || self.is_dropped(&Place { method: self.method, access: stale.write });
        stale.how == Use::Decides
            && stale.variable == stale.written
            && write.value.is_empty()
            && matches!(write.member, Member::Field(_) | Member::Static(_))
            && write.compared.iter().filter(|compared| compared.are_equal).any(|compared| {
                let [left, right] = &compared.sides;
                comes_from(left, stale.read) && is_own(right) || comes_from(right, stale.read) && is_own(left)
            })
            && is_taken_back()
            && self.whole.variables.writers(stale.variable).iter().all(|place| self.looks_first(place, stale.variable))
    }

    /// Whether a write only takes a value back, or is done because of what was there, by its method or by all who call it.
    fn looks_first(&self, place: &Place, variable: Variable) -> bool {
        self.is_dropped(place) || self.asks_first(place, variable)
    }

    /// Whether a write is done because of what was there, by its method or by all who call it.
    pub(super) fn asks_first(&self, place: &Place, variable: Variable) -> bool {
        let whole = self.whole;
        let Some(there) = Looking::anywhere(whole, place.method) else { return false };
        let write = there.access(place.access);
        let asks = |looking: &Looking<'_>| {
            let is_it = |access: &&Access| access.is_write && access.spot == write.spot;
            looking.summary.accesses.iter().filter(is_it).any(|write| looking.reads(&write.control, variable))
        };
        let callers = whole.calls.callers(place.method);
        asks(&there)
            || !callers.is_empty()
                && callers.iter().all(|caller| Looking::at(whole, *caller).is_some_and(|caller| asks(&caller)))
    }

    fn reads(&self, influences: &Influences, variable: Variable) -> bool {
        influences.iter().any(|influence| match influence.root {
            Root::Access(read) => self.variable(self.access(read)) == Some(variable),
            Root::Parameter(_) => false,
        })
    }

    /// Whether a value comes from a read of a variable in this method, or in a method that it calls.
    fn is_read_of(&self, source: &Source, variable: Variable) -> bool {
        let Origin::Event(event) = source.origin else { return false };
        self.summary
            .accesses
            .iter()
            .any(|read| !read.is_write && read.event == event && self.variable(read) == Some(variable))
    }
}

/// Whether a method takes two objects of one type and yields a truth value.
fn asks_about_two(descriptor: &str) -> bool {
    let given = descriptor.strip_prefix('(').and_then(|rest| rest.strip_suffix(")Z")).unwrap_or_default();
    let (first, second) = given.split_at_checked(given.len() / 2).unwrap_or_default();
    first == second && first.starts_with('L') && first.matches(';').count() == 1
}

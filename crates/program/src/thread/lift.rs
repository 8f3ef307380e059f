//! Starts and joins of what methods are given, or find in fields of what they are given.
//!
//! `worker.start()` starts the thread of this worker, and `worker.join()` waits for this one alone. So what such a method
//! starts and leaves running is told again at each of its calls, by names that mean something there; what it waits for,
//! too. Where a start may be one of many, the mere name of a field says nothing.

use super::handle::{Handle, Root, Step};
use super::join::Join;
use super::site::{Site, Sites};
use super::task::{At, Finder};
use super::{Entry, EntryId};
use crate::class::{FieldId, MethodId};
use crate::outline::{Action, Argument, Event, EventId};

/// More starts than this are not told apart.
pub(super) const MAX_SITES: usize = 1_000;
/// More calls of one method than this are not told apart.
const MAX_CALLS: usize = 48;
/// Names further away than this are not followed.
const MAX_STEPS: usize = 5;

/// What a call gives for a parameter.
#[derive(Clone, Copy)]
pub(super) enum Given<'f> {
    Value(&'f Argument),
    /// Each element, one after the other.
    EachOf(&'f Argument),
}

impl<'f> Given<'f> {
    /// What a call, or a function that a call runs at once, gives its code.
    pub(super) fn at(finder: &Finder<'f>, at: At, position: u16) -> Option<Given<'f>> {
        match &finder.event(at)?.action {
            Action::Call { arguments, .. } => arguments.get(usize::from(position)).map(Given::Value),
            Action::Lambda { arguments, .. } => {
                let (_, receiver) = finder.runner(at)?;
                Some(arguments.get(usize::from(position)).map_or(Given::EachOf(receiver), Given::Value))
            }
            _ => None,
        }
    }
}

/// The calls of a method, if all are known.
fn calls_of(finder: &Finder<'_>, method: MethodId) -> Option<Vec<At>> {
    let mut found = Vec::new();
    for caller in finder.calls.callers(method) {
        for (index, event) in finder.outline(*caller)?.events.iter().enumerate() {
            let at = At { method: *caller, event: EventId(index as u32) };
            match &event.action {
                Action::Call { kind, method: called, .. } if finder.may_mean(*called, method) => {
                    let targets = finder.calls.targets(finder.program, *kind, *called);
                    if targets.known().contains(&method) {
                        found.push(at);
                    } else if targets.known().is_empty() {
                        return None;
                    }
                }
                Action::Lambda { method: made, .. } if finder.may_mean(*made, method) => {
                    finder.runner(at)?;
                    found.push(at);
                }
                _ => {}
            }
        }
    }
    (!found.is_empty() && found.len() <= MAX_CALLS).then_some(found)
}

/// Fields of which it matters whether they are written once.
pub(super) fn fields(sites: &[Site]) -> impl Iterator<Item = FieldId> {
    let handles = sites.iter().flat_map(|site| site.handles.iter().chain(&site.executors));
    handles.filter_map(|handle| match handle.root {
        Root::Static(field) | Root::Some(field) => Some(field),
        Root::Object(..) => None,
    })
}

/// Adds a start at each call of a method that starts what it is given, and takes away names that may stand for several.
/// Tells for each start which one it stands for.
pub(super) fn lift(
    finder: &Finder<'_>,
    sites: &mut Sites,
    started_at: &mut Vec<Vec<EntryId>>,
    entries: &[Entry],
    is_once: &dyn Fn(MethodId) -> bool,
) -> Vec<Option<usize>> {
    let mut stands_for = vec![None; sites.starts.len()];
    let mut index = 0;
    while index < sites.starts.len() && sites.starts.len() < MAX_SITES {
        let lifted = lifted(finder, &sites.starts[index], entries, is_once);
        for site in lifted.into_iter().take(MAX_SITES - sites.starts.len()) {
            sites.starts.push(site);
            started_at.push(started_at[index].clone());
            stands_for.push(Some(index));
        }
        index += 1;
    }
    let of_fields: Vec<(Handle, MethodId)> = sites
        .starts
        .iter()
        .flat_map(|site| site.handles.iter().map(|handle| (handle.clone(), site.at.method)))
        .filter(|(handle, _)| !matches!(handle.root, Root::Object(..)))
        .collect();
    for (site, stands_for) in sites.starts.iter_mut().zip(&stands_for) {
        let method = site.at.method;
        let is_one = stands_for.is_none() && !site.in_loop && is_once(method);
        // What another method starts, too, may have taken its place.
        let is_alone = |handle: &Handle| !of_fields.iter().any(|(other, by)| other == handle && *by != method);
        let is_sure = |handle: &Handle, is_executor: bool| match handle.root {
            Root::Object(..) => true,
            Root::Static(field) | Root::Some(field) => {
                is_written_once(finder, field, is_once) || is_one && (is_executor || is_alone(handle))
            }
        };
        site.handles.retain(|handle| is_sure(handle, false));
        site.executors.retain(|handle| is_sure(handle, true));
    }
    stands_for
}

/// Whether there is one object that a field ever holds.
fn is_written_once(finder: &Finder<'_>, field: FieldId, is_once: &dyn Fn(MethodId) -> bool) -> bool {
    let stores = finder.stores_of(field).iter().filter_map(|at| Some((at, finder.event(*at)?)));
    let mut made =
        stores.filter(|(_, event)| !matches!(&event.action, Action::Write { stored, .. } if stored.objects.is_empty()));
    match (made.next(), made.next()) {
        (Some((at, event)), None) => !event.in_loop && is_once(at.method),
        _ => false,
    }
}

/// A start as its calls see it.
fn lifted(finder: &Finder<'_>, site: &Site, entries: &[Entry], is_once: &dyn Fn(MethodId) -> bool) -> Vec<Site> {
    let method = site.at.method;
    let is_given = |handle: &Handle| match handle.root {
        Root::Static(_) => true,
        _ => handle.parameter(method).is_some(),
    };
    // What begins when something before it is over is in order by that.
    if site.is_scoped
        || site.after.is_some()
        || !site.handles.iter().chain(&site.executors).any(is_given)
        || !site.in_loop && is_once(method)
        || entries.iter().any(|entry| entry.method == Some(method))
    {
        return Vec::new();
    }
    let lift = |at: At| {
        let event = finder.event(at)?;
        let named = |handles: &[Handle], is_executor: bool| -> Vec<Handle> {
            let is_one = |handle: &&Handle| is_executor || !site.in_loop || handle.steps.contains(&Step::Element);
            handles.iter().filter(is_one).flat_map(|handle| names_at(finder, at, method, handle)).collect()
        };
        Some(Site {
            at,
            in_loop: event.in_loop || matches!(event.action, Action::Lambda { .. }),
            handles: named(&site.handles, false),
            executors: named(&site.executors, true),
            taking_turns: None,
            ..site.clone()
        })
    };
    calls_of(finder, method).into_iter().flatten().filter_map(lift).collect()
}

/// What a call has for a name of the method that it calls.
fn names_at(finder: &Finder<'_>, at: At, method: MethodId, handle: &Handle) -> Vec<Handle> {
    let Some(position) = handle.parameter(method) else {
        return if matches!(handle.root, Root::Object(..)) { Vec::new() } else { vec![handle.clone()] };
    };
    let given = match Given::at(finder, at, position) {
        Some(Given::Value(given)) => finder.kept_handles(at.method, &given.objects),
        Some(Given::EachOf(given)) => elements(finder, at, given),
        None => Vec::new(),
    };
    given.into_iter().map(|given| given.then_all(&handle.steps)).filter(is_short).collect()
}

fn elements(finder: &Finder<'_>, at: At, containers: &Argument) -> Vec<Handle> {
    finder.containers_of(at.method, &containers.objects).into_iter().map(Handle::element).collect()
}

fn is_short(handle: &Handle) -> bool {
    handle.steps.len() <= MAX_STEPS
}

/// What a call waits for whose method surely waits for `handle`, in the words of the method.
pub(super) fn join_at(
    finder: &Finder<'_>,
    at: At,
    event: &Event,
    callee: MethodId,
    handle: &Handle,
    is_executor: bool,
) -> Option<Join> {
    let position = handle.parameter(callee)?;
    let given = Given::at(finder, at, position)?;
    let (handles, is_whole, of_each) = match given {
        Given::Value(given) => (
            finder.handles(at.method, &given.objects),
            finder.is_run_over(at.method, &given.objects),
            finder.of_each(at, event, &given.objects, None),
        ),
        Given::EachOf(given) => (elements(finder, at, given), true, None),
    };
    let handles = handles.into_iter().map(|given| given.then_all(&handle.steps)).filter(is_short).collect();
    Some(Join {
        at,
        in_loop: event.in_loop,
        is_executor,
        handles,
        is_whole,
        of_each,
        on_way: None,
        done: handle.steps.len(),
    })
}

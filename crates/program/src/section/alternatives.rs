//! Places that take one lock in turn or in each other's stead: `if (!lock.tryLock()) { waits++; lock.lock(); }`. Where the
//! ways meet the lock is held, whichever took it, and what follows is one section.

use smallvec::SmallVec;

use super::event::Event;
use super::flow::{self, State};
use super::{SectionId, SectionKind, Sections};
use crate::ir::Body;

/// Makes one section of those that stand for each other where ways meet. Tells whether there were any; then all has to be
/// followed again.
pub(super) fn unite(body: &Body, sections: &mut Sections) -> bool {
    let meeting = meetings(body, sections);
    if meeting.is_empty() {
        return false;
    }
    let before = ended_before(body, sections);
    let is_after = |one: SectionId, other: SectionId| before[one.index()].contains(&other);
    let mut stand_in: Vec<SectionId> = sections.iter().map(|(section, _)| section).collect();
    for (one, other) in meeting {
        let (one, other) = (one.min(other), one.max(other));
        if !is_after(one, other) && !is_after(other, one) && stand_in[other.index()] == other {
            stand_in[other.index()] = stand_in[one.index()];
        }
    }
    if stand_in.iter().enumerate().all(|(index, section)| section.index() == index) {
        return false;
    }
    renumber(sections, &stand_in);
    true
}

/// Sections of which one is open on some way to a block and another one on the others, each for the same lock.
fn meetings(body: &Body, sections: &Sections) -> Vec<(SectionId, SectionId)> {
    // What is open while something that was yielded is there has a way of its own to end.
    let is_plain = |section: SectionId| {
        !sections.events.iter().any(|event| match event {
            Event::EnterWith(opened) | Event::Convert(opened) => *opened == section,
            _ => false,
        })
    };
    let is_twin = |one: SectionId, other: SectionId| {
        let (one, other) = (sections.get(one), sections.get(other));
        one.kind == other.kind && one.mode == other.mode && one.lock.same(&other.lock)
    };
    let may_have_twin = sections.iter().any(|(one, section)| {
        section.kind != SectionKind::Method && sections.iter().any(|(other, _)| one < other && is_twin(one, other))
    });
    if !may_have_twin {
        return Vec::new();
    }
    let mut incoming: Vec<SmallVec<[State; 2]>> = vec![SmallVec::new(); body.block_count()];
    let mut edges = Vec::new();
    for (block, _) in body.blocks() {
        let Some(state) = sections.entries[block.index()].clone() else { continue };
        flow::flow(body, sections, block, state, &mut edges);
        for edge in edges.drain(..) {
            incoming[edge.target.index()].push(edge.state);
        }
    }
    let mut found = Vec::new();
    for states in incoming {
        let certain = |state: &State| -> SmallVec<[SectionId; 4]> {
            state.held.iter().filter(|held| held.certain).map(|held| held.section).collect()
        };
        let open: SmallVec<[SmallVec<[SectionId; 4]>; 2]> = states.iter().map(certain).collect();
        for one in open.iter().flatten() {
            let is_everywhere = open.iter().all(|there| there.contains(one));
            // What is taken again inside is a matter of its own.
            let twins = |there: &SmallVec<[SectionId; 4]>| -> SmallVec<[SectionId; 2]> {
                there.iter().filter(|other| is_twin(*one, **other)).copied().collect()
            };
            let each: SmallVec<[SmallVec<[SectionId; 2]>; 2]> = open.iter().map(twins).collect();
            if is_everywhere || each.iter().any(|twins| twins.len() != 1) {
                continue;
            }
            for other in each.iter().flatten().filter(|other| **other > *one) {
                if is_plain(*one) && is_plain(*other) && !found.contains(&(*one, *other)) {
                    found.push((*one, *other));
                }
            }
        }
    }
    found.sort();
    found
}

/// By section: those that may have ended, in the same round of a loop, before it begins. A second one is no stand-in for the
/// first.
fn ended_before(body: &Body, sections: &Sections) -> Vec<Vec<SectionId>> {
    let mut before: Vec<Vec<SectionId>> = vec![Vec::new(); sections.list.len()];
    let mut leaving: Vec<Vec<SectionId>> = vec![Vec::new(); body.block_count()];
    let add = |to: &mut Vec<SectionId>, section: SectionId| {
        if !to.contains(&section) {
            to.push(section);
        }
    };
    // Blocks are in reverse postorder: what comes from a later one has gone round a loop.
    for (block, edges) in body.blocks() {
        let mut ended: Vec<SectionId> = Vec::new();
        for from in edges.predecessors.iter().filter(|from| from.block.index() < block.index()) {
            leaving[from.block.index()].iter().for_each(|section| add(&mut ended, *section));
        }
        sections.walk(body, block, |value, _, held| {
            if let Some(opened) = sections.opened_by(value) {
                ended.iter().for_each(|section| add(&mut before[opened.index()], *section));
                held.iter().for_each(|held| add(&mut before[opened.index()], held.section));
            }
            sections.closed_by(body, value, held).into_iter().for_each(|section| add(&mut ended, section));
        });
        leaving[block.index()] = ended;
    }
    before
}

/// Leaves out the sections that others stand in for.
fn renumber(sections: &mut Sections, stand_in: &[SectionId]) {
    let mut numbers = vec![SectionId(0); stand_in.len()];
    let mut next = 0;
    for (index, section) in stand_in.iter().enumerate() {
        // A stand-in comes first.
        numbers[index] = if section.index() == index {
            next += 1;
            SectionId(next - 1)
        } else {
            numbers[section.index()]
        };
    }
    for (index, section) in std::mem::take(&mut sections.list).into_iter().enumerate() {
        match sections.list.get_mut(numbers[index].index()) {
            Some(first) => {
                first.objects.extend(section.objects);
                first.is_tried |= section.is_tried;
            }
            None => sections.list.push(section),
        }
    }
    for event in &mut sections.events {
        match event {
            Event::Enter(section)
            | Event::EnterWith(section)
            | Event::TryEnter(section)
            | Event::EnterUnless(section)
            | Event::Convert(section) => *section = numbers[section.index()],
            Event::None | Event::Exit(_) | Event::Validate(_) | Event::Wait(..) => {}
        }
    }
}

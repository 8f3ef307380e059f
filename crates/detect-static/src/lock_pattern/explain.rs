//! What is said of a witness.

use std::collections::BTreeSet;

use finding::{Finding, SectionPair, Severity, Step, Thread, rules};
use location::{MethodName, Place, Site};
use program::ir::Body;
use program::{LockKind, MethodId, Program, Section, Sections};

use super::analysis::{Analysis, Witness};
use super::judge::Judgement;
use super::state::Holder;
use super::summary::Via;
use crate::words::{are_nested, class_in_source};

/// A method that a finding speaks of.
pub(super) struct Told {
    pub(super) method: MethodId,
    pub(super) body: Body,
    pub(super) sections: Sections,
}

impl Told {
    pub(super) fn of(program: &Program, method: MethodId) -> Option<Told> {
        let body = program.body(method).ok().flatten()?;
        let sections = Sections::of(&body, program);
        Some(Told { method, body, sections })
    }

    pub(super) fn section(&self, number: u32) -> &Section {
        let (_, section) = self.sections.iter().nth(number as usize).expect("numbers come from the same code");
        section
    }

    pub(super) fn start(&self, section: &Section) -> Site {
        match section.start {
            Some(start) => self.body.site_of(start),
            None => self.body.site(0),
        }
    }

    /// Where the section ends on the way to an instruction further on, or else the earliest of its ends.
    fn end(&self, section: &Section, later: Option<u32>) -> Option<Site> {
        let wanted = later.and_then(|pc| {
            let at = self.body.instructions().find(|(_, instruction)| instruction.pc == pc);
            at.map(|(value, _)| self.body.block_of(value))
        });
        let mut ends: Vec<_> = section.ends.clone();
        ends.sort_by_key(|end| self.body.instruction(*end).pc);
        let on_the_way = ends.iter().find(|end| {
            let mut seen = vec![false; self.body.block_count()];
            let mut pending = vec![self.body.block_of(**end)];
            while let Some(block) = pending.pop() {
                if Some(block) == wanted {
                    return true;
                }
                if !std::mem::replace(&mut seen[block.index()], true) {
                    pending.extend(&self.body.block(block).successors);
                }
            }
            false
        });
        on_the_way.or(ends.first()).map(|end| self.body.site_of(*end))
    }

    fn last_line(&self, section: &Section) -> Option<u32> {
        section.ends.iter().filter_map(|end| self.body.site_of(*end).line).max()
    }
}

/// One of the two takings, in the words of the method where they come together.
struct Taking {
    lock: String,
    kind: LockKind,
    start: Site,
    end: Option<Site>,
    last_line: Option<u32>,
    /// " by `Location.distanceTo`", where a call takes the lock.
    by: String,
    /// Calls on the way to the one that takes it, with their places.
    calls: Vec<(Site, String)>,
}

pub(super) struct Explaining<'e> {
    pub(super) analysis: &'e Analysis<'e>,
    pub(super) witness: &'e Witness,
    /// The method with the context, and the one where the two takings come together; `None` if that is the same.
    pub(super) outer: &'e Told,
    pub(super) inner: Option<&'e Told>,
    pub(super) judgement: &'e Judgement,
}

/// Calls from one method down to another one.
#[derive(Default)]
struct Chain {
    calls: Vec<(Site, String)>,
    /// Where an accessor was called that has not called anything yet.
    accessed_at: Option<Site>,
}

impl Explaining<'_> {
    fn inner(&self) -> &Told {
        self.inner.unwrap_or(self.outer)
    }

    pub(super) fn explain(&self) -> Option<Finding> {
        let program = self.analysis.program;
        let names = &program.names;
        let pair = self.witness.pair;
        let second = self.taking(pair.second, None)?;
        let first = self.taking(pair.first, Some(second.start.pc))?;
        let (context, context_site) = self.context()?;
        let mut steps = Vec::new();
        let mut step = |thread: Thread, place: Option<Place>, what: String| {
            let number = steps.len() as u32 + 1;
            steps.push(Step { number, thread, place, what, ran: false, callers: Vec::new() });
            number
        };
        let at = |site: Site| Some(names.place(site));
        step(Thread::a(), at(context_site), format!("`{context}` locked: the whole is meant to be atomic"));
        for (site, called) in self.chain() {
            step(Thread::a(), at(site), format!("`{called}` called"));
        }
        for (site, called) in &first.calls {
            step(Thread::a(), at(*site), format!("`{called}` called"));
        }
        let lock = &first.lock;
        let freed = match first.kind {
            LockKind::Own => step(Thread::a(), at(first.start), format!("one step of `{lock}`{}", first.by)),
            _ => {
                step(Thread::a(), at(first.start), format!("`{lock}` locked{}", first.by));
                step(Thread::a(), first.end.and_then(at), format!("`{lock}` let go"))
            }
        };
        let (place, what) = match &self.judgement.interference {
            Some((place, variable)) => (Some(place.clone()), format!("`{variable}` written, with `{lock}` locked")),
            None => (None, format!("locks `{lock}` and changes what it guards")),
        };
        let what = if first.kind == LockKind::Own && self.judgement.interference.is_none() {
            format!("changes `{lock}`")
        } else {
            what
        };
        step(Thread::b(), place, what);
        for (site, called) in &second.calls {
            step(Thread::a(), at(*site), format!("`{called}` called"));
        }
        let is_round = pair.first == pair.second;
        let again = if is_round { " again, in the next round" } else { " again" };
        let same = first.lock == second.lock;
        let taken = match (second.kind, same) {
            (LockKind::Own, _) => format!(
                "another step of `{}`{}{}",
                second.lock,
                second.by,
                if is_round { ", in the next round" } else { "" }
            ),
            (_, true) => format!("`{}` locked{again}{}", second.lock, second.by),
            (_, false) => format!("`{}` locked{}", second.lock, second.by),
        };
        let last = step(Thread::a(), at(second.start), taken);
        let message = match (first.kind, same) {
            (LockKind::Own, _) => {
                format!(
                    "another thread can change `{lock}` between ({freed}) and ({last}), while `{context}` is held for the whole"
                )
            }
            (_, true) => {
                format!(
                    "another thread can take `{lock}` between ({freed}) and ({last}), while `{context}` is held for the whole"
                )
            }
            (_, false) => format!(
                "another thread can change what `{lock}` or `{}` guards between ({freed}) and ({last}), while `{context}` is held for the whole",
                second.lock
            ),
        };
        let mut locks = BTreeSet::from([lock.clone(), context]);
        locks.insert(second.lock.clone());
        let method = names.method_place(self.outer.body.method);
        let suspected = Finding::suspected(&rules::REACQUIRED_LOCK, super::DETECTOR.name, method, message);
        Some(Finding {
            severity: if self.judgement.is_style { Severity::Note } else { suspected.severity },
            variables: self.judgement.variables.clone(),
            locks,
            interleaving: steps.iter().map(|step| step.number).collect(),
            steps,
            fix: self.fix(&first, &second, is_round),
            sections: Some(SectionPair { first: names.place(first.start), second: names.place(second.start) }),
            ..suspected
        })
    }

    /// The context's lock, and where it is taken.
    fn context(&self) -> Option<(String, Site)> {
        let program = self.analysis.program;
        let outer = self.outer;
        match self.witness.context {
            Holder::Method => None,
            Holder::Own(section) => {
                let section = outer.sections.get(section);
                Some((section.lock.readable(&outer.body, &program.names), outer.start(section)))
            }
            Holder::Call(call) => {
                let site = self.analysis.skeleton(outer.method)?.calls.get(call as usize)?;
                let locks = self.analysis.left_held(outer.method, call);
                let lock = locks.map_or("a lock".to_owned(), |path| path.readable(&outer.body, &program.names));
                Some((lock, outer.body.site(site.pc)))
            }
        }
    }

    /// The calls from the context to the method where the two takings come together.
    fn chain(&self) -> Vec<(Site, String)> {
        let mut chain = Chain::default();
        for (method, call) in &self.witness.calls {
            let Some(site) = self.analysis.skeleton(*method).and_then(|skeleton| skeleton.calls.get(*call as usize))
            else {
                continue;
            };
            self.call(&mut chain, self.site(*method, site.pc, site.line), site.method);
        }
        chain.calls
    }

    /// A call of an accessor that a compiler made is that of what it calls.
    fn call(&self, chain: &mut Chain, site: Site, called: MethodName) {
        let site = chain.accessed_at.take().unwrap_or(site);
        match self.analysis.program.accessed(called) {
            Some(_) => chain.accessed_at = Some(site),
            None => chain.calls.push((site, self.short(called))),
        }
    }

    fn site(&self, method: MethodId, pc: u32, line: Option<u32>) -> Site {
        let program = self.analysis.program;
        let file = program.header(program.class_of(method)).source_file;
        Site { method: program.method_name(method), pc, file, line }
    }

    /// `Location.distanceTo`
    fn short(&self, method: MethodName) -> String {
        crate::words::short(self.analysis.program, method).replace('`', "")
    }

    /// One of the two, and what comes after it.
    fn taking(&self, via: Via, later: Option<u32>) -> Option<Taking> {
        let (program, told) = (self.analysis.program, self.inner());
        let skeleton = self.analysis.skeleton(told.method)?;
        match via {
            Via::Own(number) => {
                let section = told.section(number);
                Some(Taking {
                    lock: section.lock.readable(&told.body, &program.names),
                    kind: section.lock_kind(),
                    start: told.start(section),
                    end: told.end(section, later),
                    last_line: told.last_line(section),
                    by: String::new(),
                    calls: Vec::new(),
                })
            }
            Via::Library { call } => {
                let site = skeleton.calls.get(call as usize)?;
                let (path, kind) = self.analysis.taken_lock(told.method, via)?;
                let place = told.body.site(site.pc);
                Some(Taking {
                    lock: path.readable(&told.body, &program.names),
                    kind,
                    start: place,
                    end: Some(place),
                    last_line: place.line,
                    by: format!(" by `{}`", self.short(site.method)),
                    calls: Vec::new(),
                })
            }
            Via::Call { call, .. } => {
                let site = skeleton.calls.get(call as usize)?;
                let (path, kind) = self.analysis.taken_lock(told.method, via)?;
                let place = told.body.site(site.pc);
                let mut chain = Chain::default();
                // Down to where the lock is taken; the last call is told with the taking.
                let mut here = (told.method, via);
                while let (method, Via::Call { call, target, taken }) = here {
                    let site = self.analysis.skeleton(method)?.calls.get(call as usize)?;
                    self.call(&mut chain, self.site(method, site.pc, site.line), program.method_name(target));
                    here = (target, self.analysis.summary(target)?.taken.get(taken as usize)?.via);
                }
                let by = match here.1 {
                    Via::Library { call } => {
                        let site = self.analysis.skeleton(here.0)?.calls.get(call as usize)?;
                        self.short(site.method)
                    }
                    _ => self.short(program.method_name(here.0)),
                };
                let mut calls = chain.calls;
                if !matches!(here.1, Via::Library { .. }) {
                    calls.pop();
                }
                Some(Taking {
                    lock: path.readable(&told.body, &program.names),
                    kind,
                    start: place,
                    end: Some(place),
                    last_line: place.line,
                    by: format!(" by `{by}`"),
                    calls,
                })
            }
        }
    }

    /// The class that has the lock for itself.
    fn keeper(&self) -> Option<String> {
        let program = self.analysis.program;
        let Some(program::Step::Field(field)) = self.witness.lock.steps.last() else { return None };
        let field = program.resolve_field(*field)?;
        let class = program.class_of_field(field);
        let is_away = program.field(field).access.is_private()
            && !are_nested(program, class, program.class_of(self.witness.pair.method));
        is_away.then(|| class_in_source(program, program.header(class).name).0)
    }

    fn fix(&self, first: &Taking, second: &Taking, is_round: bool) -> String {
        let lock = &first.lock;
        let inside = match self.inner {
            Some(inner) => format!(" of `{}`", self.short(inner.body.method)),
            None => String::new(),
        };
        if first.kind == LockKind::Own {
            return format!("do both in one operation of `{lock}`, or guard all uses by a lock");
        }
        if let Some(keeper) = self.keeper() {
            let lines = match (first.start.line, second.last_line) {
                (Some(from), Some(to)) if from < to => format!(", line {from} and line {to}{inside},"),
                (Some(from), _) => format!(", all of line {from}{inside},"),
                _ => String::new(),
            };
            return format!("add a method to `{keeper}` that does both{lines} under its lock");
        }
        let held = match first.lock == second.lock {
            true => format!("hold `{lock}`"),
            false => format!("hold `{lock}` and `{}`", second.lock),
        };
        match (first.start.line, second.last_line) {
            (Some(from), _) if is_round => format!("{held} around the loop, not in each round (line {from}{inside})"),
            (Some(from), Some(to)) if from < to => format!("{held} from line {from} to line {to}{inside}"),
            (Some(from), Some(to)) if from == to => format!("{held} over all of line {from}{inside}"),
            _ => format!("{held} from the first section to the end of the second{inside}"),
        }
    }
}

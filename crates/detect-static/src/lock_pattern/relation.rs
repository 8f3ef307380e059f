//! Whether two sections belong together, and whether somebody can get in between.
//!
//! Asked of summaries, which are made for the methods of the candidates, and for those that touch the same data, alone.

use std::collections::BTreeSet;

use location::{Site, class_in_source};
use program::model;
use program::outline::{Action, Member, Start};
use program::summary::{AccessId, Influence, Root, Spot, Summaries, Summary};
use program::{Cover, FieldId, Ground, MethodId, Step, Variable, Variables};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::analysis::{Analysis, Witness};
use super::around::{methods_of, spread};
use super::judge::{Candidate, Judgement, bottom, bottom_spot, is_in_shared_half, is_own_step, spot};
use super::protection::Protection;
use super::sides::{Sides, Stakes, is_named};
use super::summary::Via;

/// Callers that are asked what they hold, so many calls up.
const MAX_UP: usize = 2;

/// A context further up than this many calls says little about what was meant.
const MAX_CONTEXT_CALLS: usize = 1;

/// Data that more methods than this touch is not looked after: no lock covers it in a way that we could show.
const MAX_METHODS: usize = 60;

/// Sections that touch more than this many variables say little about any two of them.
const MAX_VIEW: usize = 12;

pub(super) struct Relations<'r> {
    pub(super) analysis: &'r Analysis<'r>,
    pub(super) summaries: Summaries,
    pub(super) variables: Variables,
    /// Fields that too many methods touch.
    pub(super) unfollowed: FxHashSet<FieldId>,
    /// Fields that alone hold what they hold: it was made for them, and nobody else gets it.
    pub(super) owning: FxHashSet<FieldId>,
    /// Variables that a section touches together, the smaller first, and methods with such a section.
    together: FxHashMap<(Variable, Variable), SmallVec<[MethodId; 3]>>,
    /// Whether what is only style is told, too.
    tells_style: bool,
    /// Set for a second look at the few that are left after the first: to find all threads takes time.
    pub(super) ground: Option<&'r Ground<'r>>,
}

/// What a first look at a pair shows.
#[derive(Default)]
struct Look {
    /// The fields that it is about, ...
    fields: Vec<FieldId>,
    /// ... and those that lead to what it touches and locks.
    holders: Vec<FieldId>,
    /// Whether its sections may belong together.
    is_kept: bool,
}

impl<'r> Relations<'r> {
    /// Looks at the candidates twice: which sections belong together is seen from the methods that they are in; who else
    /// touches the data is asked only of those that do. Of those who call these, only what they hold is asked.
    pub(super) fn of(
        analysis: &'r Analysis<'r>,
        ground: &Ground<'_>,
        candidates: &[Candidate<'_>],
        tells_style: bool,
    ) -> Relations<'r> {
        let (program, calls) = (analysis.program, analysis.calls);
        let wanted = methods_of(analysis, candidates.iter());
        let mut relations = Relations {
            analysis,
            summaries: ground.summaries(|method| wanted.contains(&method), FxHashSet::default()),
            variables: Variables::default(),
            unfollowed: FxHashSet::default(),
            owning: FxHashSet::default(),
            together: FxHashMap::default(),
            tells_style,
            ground: None,
        };
        let looked: Vec<Option<Look>> = candidates.par_iter().map(|candidate| relations.look(candidate)).collect();
        let mut fields: FxHashSet<FieldId> = FxHashSet::default();
        let mut holders: FxHashSet<FieldId> = FxHashSet::default();
        let mut kept: Vec<&Candidate<'_>> = Vec::new();
        for (candidate, look) in candidates.iter().zip(looked) {
            let Some(look) = look else { continue };
            fields.extend(look.fields);
            holders.extend(look.holders);
            if look.is_kept {
                kept.push(candidate);
            }
        }
        let touched: BTreeSet<FieldId> = fields.iter().chain(&holders).copied().collect();
        let mut others: FxHashSet<MethodId> = FxHashSet::default();
        for field in touched {
            let methods = calls.users(field);
            if methods.len() > MAX_METHODS {
                relations.unfollowed.insert(field);
            } else {
                others.extend(methods.iter().copied());
            }
        }
        others.extend(kept.iter().map(|candidate| candidate.witness.pair.method));
        let mut callers = others.clone();
        // Who calls a method that others can call says nothing.
        spread(&mut callers, MAX_UP, |method| match is_hidden(analysis, method) {
            true => calls.callers(method),
            false => &[],
        });
        others.extend(methods_of(analysis, kept.into_iter()));
        callers.retain(|method| !others.contains(method));
        relations.summaries = ground.summaries(|method| others.contains(&method), callers);
        relations.variables = Variables::of(program, &relations.summaries);
        relations.together = relations.views(&fields);
        relations.owning = relations.owning(holders);
        relations
    }

    /// What a pair is about, as far as its own methods show.
    fn look(&self, candidate: &Candidate<'_>) -> Option<Look> {
        let Some(sides) = self.sides(candidate.witness) else { return self.look_at_lock(candidate.witness) };
        let stakes = self.stakes(candidate, &sides);
        let mut look = Look::default();
        look.fields.extend(stakes.variables.iter().map(|variable| variable.field()));
        // Parts of one thing that are written one after the other: sections elsewhere tell whether they are.
        let is_split = stakes.is_empty() && self.writes_parts(candidate.witness, &sides);
        if is_split {
            let touched = [sides.first, sides.second].map(|section| self.touched(&sides, section));
            look.fields.extend(touched.iter().flatten().map(|variable| variable.field()));
        }
        look.is_kept = is_split || !stakes.is_empty();
        if look.is_kept {
            for (_, access) in sides.accesses(sides.first).chain(sides.accesses(sides.second)) {
                look.holders.extend(access.base.steps.iter().filter_map(|step| self.field_of(step)));
            }
            let lock = &sides.summary.sections[sides.first].lock;
            look.holders.extend(lock.steps.iter().filter_map(|step| self.field_of(step)));
        }
        Some(look)
    }

    /// The same of an object that synchronizes itself, in a field whose type does not tell: whoever sets the field shows
    /// that its calls are sections, so that a closer look is needed.
    fn look_at_lock(&self, witness: &Witness) -> Option<Look> {
        let program = self.analysis.program;
        let lock = Some(&witness.lock).filter(|_| is_own_step(self.analysis, witness))?;
        let of_root = match lock.root {
            program::Root::Static(field) => program.resolve_field(field),
            _ => None,
        };
        let of_steps = lock.steps.iter().filter_map(|step| match step {
            Step::Field(field) => program.resolve_field(*field),
            _ => None,
        });
        let fields: Vec<FieldId> = of_root.into_iter().chain(of_steps).collect();
        Some(Look { holders: fields.clone(), is_kept: !fields.is_empty(), fields })
    }

    /// What is to be said of a pair; `None` if nothing.
    pub(super) fn judge(&self, candidate: &Candidate<'_>) -> Option<Judgement> {
        let program = self.analysis.program;
        let witness = candidate.witness;
        // Which key it is for, the pattern does not tell.
        if self.is_by_key(witness) {
            return None;
        }
        let Some(sides) = self.sides(witness) else {
            return self.tells_style.then(|| Judgement { is_style: true, ..Judgement::default() });
        };
        let mut stakes = self.stakes(candidate, &sides);
        if stakes.is_empty() && self.writes_parts(witness, &sides) {
            stakes.variables.extend(self.together(witness, &sides));
            stakes.is_weak = is_below(witness);
        }
        if stakes.is_empty() && !self.tells_style || self.is_held_by_callers(witness, &sides) {
            return None;
        }
        let changed = stakes
            .variables
            .iter()
            .copied()
            .filter(|variable| self.is_changed(*variable) && !self.is_settled(*variable));
        let mut is_by_key = false;
        let mut is_open = |variable: &Variable| {
            let protection = self.protection(witness, &sides, *variable);
            is_by_key |= protection == Some(Protection::ByKey);
            protection.is_none() && !self.only_leave(witness, &sides, *variable)
        };
        let open: Vec<Variable> = changed.filter(&mut is_open).collect();
        // Threads with other keys need the witness, which is neither wrong nor style.
        if open.is_empty() && is_by_key && !stakes.has_unnamed {
            return None;
        }
        let is_style = is_far(self.analysis, witness)
            || (open.is_empty() && !stakes.has_unnamed)
            || self.is_kept_by_owner(witness, &sides);
        if is_style && !self.tells_style {
            return None;
        }
        let is_own = is_own_step(self.analysis, witness);
        let is_by_name = is_own && open.iter().all(|variable| self.is_covered_by_name(witness, &sides, *variable));
        let is_last = self.ground.is_some();
        Some(Judgement {
            is_style,
            is_weak: stakes.is_weak || is_by_name && !stakes.has_unnamed || is_in_shared_half(self.analysis, witness),
            variables: stakes.variables.iter().map(|variable| variable.readable(program)).collect(),
            stands_out: is_last && self.stands_out(witness, &sides, &open),
            interference: open
                .iter()
                .filter(|_| is_last)
                .find_map(|variable| self.interference(witness, &sides, *variable)),
            open: open.into_iter().map(|variable| (variable, self.writers(variable))).collect(),
        })
    }

    /// The methods that write a variable; where too many touch it to look into all, those whose code may.
    fn writers(&self, variable: Variable) -> Vec<MethodId> {
        let field = variable.field();
        if !self.unfollowed.contains(&field) {
            return self.variables.writers(variable).iter().map(|place| place.method).collect();
        }
        let (program, calls) = (self.analysis.program, self.analysis.calls);
        let may_write = |method: &MethodId| match variable {
            Variable::Held(_) | Variable::Within(_) => true,
            Variable::Field(_) => {
                let makes = matches!(program.names.text(program.method(*method).name), "<init>" | "<clinit>");
                !makes && calls.writes(*method).iter().any(|written| program.resolve_field(*written) == Some(field))
            }
        };
        calls.users(field).iter().copied().filter(may_write).collect()
    }

    /// Whether both sections write something, and touch little else.
    fn writes_parts(&self, witness: &Witness, sides: &Sides<'_>) -> bool {
        let writes = |section: usize| {
            self.touched(sides, section).len() <= MAX_VIEW
                && sides.accesses(section).any(|(_, access)| access.is_write && is_named(access))
        };
        witness.pair.first != witness.pair.second
            && !is_own_step(self.analysis, witness)
            && writes(sides.first)
            && writes(sides.second)
    }

    /// The variables of a section that have an owner: what a callee makes or finds for itself is not what it guards.
    fn touched(&self, sides: &Sides<'_>, section: usize) -> BTreeSet<Variable> {
        let program = self.analysis.program;
        let named = sides.accesses(section).filter(|(_, access)| is_named(access) && !sides.is_of_lock(access));
        named.filter_map(|(_, access)| Variable::of(program, access)).collect()
    }

    /// Why two sections belong together: what is read in the first and matters in the second, what of both comes together,
    /// what the first writes and the second relies on.
    fn stakes(&self, candidate: &Candidate<'_>, sides: &Sides<'_>) -> Stakes {
        let (program, witness) = (self.analysis.program, candidate.witness);
        let mut stakes = Stakes::default();
        let add = |stakes: &mut Stakes, accesses: &BTreeSet<AccessId>| {
            for access in accesses.iter().map(|access| &sides.summary.accesses[access.index()]) {
                match Variable::of(program, access) {
                    Some(variable) if is_named(access) => {
                        stakes.variables.insert(variable);
                    }
                    // The contents of an object that the method was given.
                    None if matches!(access.base.start, Start::Parameter(_))
                        && matches!(access.member, Member::State(_)) =>
                    {
                        stakes.has_unnamed = true;
                    }
                    _ => {}
                }
            }
        };
        let is_own = is_own_step(self.analysis, witness);
        if is_own && !is_look_then_write(self.analysis, witness) {
            return stakes;
        }
        if !sides.is_validated(program) {
            add(&mut stakes, &sides.flows(program, is_own));
        }
        if is_own {
            return stakes;
        }
        add(&mut stakes, &sides.meet(program));
        stakes.is_weak = stakes.is_empty() && is_below(witness);
        if candidate.ties.carried {
            let reads = sides.accesses(sides.first).filter(|(_, access)| !access.is_write);
            add(&mut stakes, &reads.map(|(id, _)| id).collect());
        }
        add(&mut stakes, &sides.read_back(program));
        stakes
    }

    fn sides(&self, witness: &Witness) -> Option<Sides<'_>> {
        let pair = witness.pair;
        let summary = self.summaries.summary(pair.method)?;
        let first = self.section(pair.method, summary, pair.first)?;
        let second = self.section(pair.method, summary, pair.second)?;
        Some(Sides { summaries: &self.summaries, summary, first, second })
    }

    /// The section of a summary that a taking is.
    fn section(&self, method: MethodId, summary: &Summary, via: Via) -> Option<usize> {
        let outline = self.summaries.outline(method)?;
        let bottom = bottom_spot(self.analysis, method, via)?;
        let here = spot(self.analysis, method, via)?;
        summary.sections.iter().position(|section| {
            let call = section.call.and_then(|call| outline.events.get(call.index())).map(|event| event.pc);
            let is_here = match via {
                Via::Own(_) => call.is_none(),
                Via::Call { .. } | Via::Library { .. } => call == Some(here.pc),
            };
            is_here && section.spot.method == bottom.method && section.spot.pc == bottom.pc
        })
    }

    /// Whether somebody writes it, once its object is made.
    fn is_changed(&self, variable: Variable) -> bool {
        self.unfollowed.contains(&variable.field()) || !self.variables.writers(variable).is_empty()
    }

    /// Whether it is an object that is set where there is none yet, and never again: whoever has seen it sees it again.
    fn is_settled(&self, variable: Variable) -> bool {
        let program = self.analysis.program;
        let Variable::Field(field) = variable else { return false };
        let is_object = program.names.text(program.field(field).descriptor).starts_with(['L', '[']);
        let sets_if_none = |place: &program::Place| {
            let Some(summary) = self.summaries.summary(place.method) else { return false };
            let write = &summary.accesses[place.access.index()];
            let action =
                self.summaries.outline(place.method).and_then(|outline| outline.events.get(write.event.index()));
            let is_something = match action.map(|event| &event.action) {
                Some(Action::Write { stored, .. }) => !stored.objects.is_empty(),
                _ => false,
            };
            let is_fresh = |influence: &Influence| match influence.root {
                Root::Access(read) => {
                    let read = &summary.accesses[read.index()];
                    Variable::of(program, read) == Some(variable) && !read.held.intersection(write.held).is_empty()
                }
                Root::Parameter(_) => false,
            };
            is_something && write.control.iter().any(is_fresh)
        };
        let writers = self.variables.writers(variable);
        is_object && !self.unfollowed.contains(&field) && !writers.is_empty() && writers.iter().all(sets_if_none)
    }

    /// What sections of the methods that were looked at touch together.
    fn views(&self, fields: &FxHashSet<FieldId>) -> FxHashMap<(Variable, Variable), SmallVec<[MethodId; 3]>> {
        let program = self.analysis.program;
        let mut together: FxHashMap<(Variable, Variable), SmallVec<[MethodId; 3]>> = FxHashMap::default();
        for method in program.methods() {
            let Some(summary) = self.summaries.summary(method) else { continue };
            let mut views: Vec<BTreeSet<Variable>> = vec![BTreeSet::new(); summary.sections.len()];
            for access in &summary.accesses {
                let Some(variable) =
                    Variable::of(program, access).filter(|variable| fields.contains(&variable.field()))
                else {
                    continue;
                };
                access.held.iter().for_each(|section| {
                    views[section].insert(variable);
                });
            }
            for (_, view) in summary.sections.iter().zip(&views).filter(|(section, _)| section.call.is_none()) {
                if view.len() > MAX_VIEW {
                    continue;
                }
                for first in view {
                    for second in view.range(first..) {
                        let methods = together.entry((*first, *second)).or_default();
                        if methods.len() < 3 && !methods.contains(&method) {
                            methods.push(method);
                        }
                    }
                }
            }
        }
        together
    }

    /// What of both a section elsewhere touches together.
    fn together(&self, witness: &Witness, sides: &Sides<'_>) -> BTreeSet<Variable> {
        let is_elsewhere = |method: &MethodId| *method != witness.method && *method != witness.pair.method;
        let mut all = BTreeSet::new();
        if witness.pair.first == witness.pair.second {
            return all;
        }
        let (first, second) = (self.touched(sides, sides.first), self.touched(sides, sides.second));
        for one in &first {
            for other in second.iter().filter(|other| *other != one) {
                let pair = (*one.min(other), *one.max(other));
                let methods = self.together.get(&pair);
                if self.is_changed(*one)
                    && self.is_changed(*other)
                    && methods.is_some_and(|methods| methods.iter().any(is_elsewhere))
                {
                    all.extend([*one, *other]);
                }
            }
        }
        all
    }

    /// Whether whoever calls the method holds the lock anyway.
    fn is_held_by_callers(&self, witness: &Witness, sides: &Sides<'_>) -> bool {
        let lock = &sides.summary.sections[sides.first];
        let held = self.cover().held_by_callers(witness.pair.method);
        held.iter().any(|held| held.kind == lock.kind && held.name.same(&lock.lock))
    }

    /// A write of the variable, best one that what is held over both sections does not keep out, and that is in neither.
    fn interference(
        &self,
        witness: &Witness,
        sides: &Sides<'_>,
        variable: Variable,
    ) -> Option<(location::Place, String)> {
        let program = self.analysis.program;
        let own: Vec<Spot> =
            sides.accesses(sides.first).chain(sides.accesses(sides.second)).map(|(_, access)| access.spot).collect();
        let spot_of = |place: &program::Place| {
            let summary = self.summaries.summary(place.method)?;
            Some(summary.accesses.get(place.access.index())?.spot)
        };
        let mut left_out = self.left_out(witness, sides, variable);
        left_out.sort_by_key(|place| !self.is_blind(place));
        let best = |places: Vec<&program::Place>| {
            let spots: Vec<Spot> = places.into_iter().filter_map(spot_of).collect();
            spots.iter().find(|spot| !own.contains(spot)).or(spots.first()).copied()
        };
        left_out.extend(self.variables.writers(variable));
        let spot = best(self.culprits(witness, sides, variable)).or_else(|| best(left_out))?;
        let file = program.class(spot.method.class).and_then(|class| program.header(class).source_file);
        let site = Site { method: spot.method, pc: spot.pc, file, line: spot.line };
        let name = variable.readable(program);
        let name = match name.rsplit_once('.') {
            Some((class, field)) => format!("{}.{field}", class_in_source(class).0),
            None => name,
        };
        Some((program.names.place(site), name))
    }

    pub(super) fn cover(&self) -> Cover<'_> {
        let cover = Cover::new(self.analysis.program, self.analysis.calls, &self.summaries);
        match self.ground {
            Some(ground) => cover.among(ground.threads()).on(ground),
            None => cover,
        }
    }
}

/// Whether the lock is taken in methods that are called: what they do there, they do for many callers.
fn is_below(witness: &Witness) -> bool {
    [witness.pair.first, witness.pair.second].iter().any(|via| !matches!(via, Via::Own(_)))
}

/// Whether no code that nobody sees can call a method.
fn is_hidden(analysis: &Analysis<'_>, method: MethodId) -> bool {
    let program = analysis.program;
    let access = program.method(method).access;
    !(access.is_public() || access.is_protected()) || !program.header(program.class_of(method)).access.is_public()
}

/// Whether the context is too far up to say that the pair was meant to be atomic: it is style at most.
pub(super) fn is_far(analysis: &Analysis<'_>, witness: &Witness) -> bool {
    calls_up(analysis, witness) > MAX_CONTEXT_CALLS
}

/// How many calls up the context is. What a class does in methods that it alone can call, it does itself.
pub(super) fn calls_up(analysis: &Analysis<'_>, witness: &Witness) -> usize {
    let called = witness.calls.iter().skip(1).map(|(method, _)| *method).chain([witness.pair.method]);
    let is_open = |method: &MethodId| !analysis.program.method(*method).access.is_private();
    called.take(witness.calls.len()).filter(is_open).count()
}

/// Of two operations of an object that synchronizes itself: the first only looks, and the second does not look again.
fn is_look_then_write(analysis: &Analysis<'_>, witness: &Witness) -> bool {
    let access = |via: Via| {
        let (method, via) = bottom(analysis, witness.pair.method, via);
        let Via::Library { call } = via else { return None };
        let site = analysis.skeleton(method)?.calls.get(call as usize)?;
        let model = analysis.calls.model(analysis.program, site.method, site.method.class)?;
        Some(model.access)
    };
    access(witness.pair.first) == Some(model::Access::Read)
        && matches!(access(witness.pair.second), Some(model::Access::Write | model::Access::Read))
}

//! The call graph: which methods a call may run, and in which order methods can be summarised.
//!
//! Class hierarchy analysis: a call may run the method of any subtype of the class it names; rapid type analysis leaves
//! out classes that no code makes, as long as it makes some of them: the receiver of a call that runs exists. A call with more possible targets than [`MAX_TARGETS`] says nothing about any one of
//! them and is left open, like reflection and native code.

use std::borrow::Cow;
use std::sync::Arc;

use classfile::CallKind;
use location::{ClassName, FieldName, MethodName};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::behind::{Behind, behind_interfaces};
use crate::class::{ClassId, FieldId, Mentions, MethodId, Program};
use crate::hierarchy::Hierarchy;
use crate::model::{self, CallModel, Models};
use crate::outline::Known;
use crate::summary::Handles;
use crate::touched::Touched;

/// More targets than this are [`Targets::Many`].
pub const MAX_TARGETS: usize = 8;

/// More subtypes than this are not looked through.
const MAX_SUBTYPES: usize = 400;

/// The same where all targets are wanted, however many.
const MANY_SUBTYPES: usize = 20_000;

/// How virtual calls are resolved.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum CallGraph {
    /// All subtypes count.
    Hierarchy,
    /// Only classes that some code makes count.
    #[default]
    Rapid,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Targets {
    /// Exactly these methods, in order; none if only unknown code could run.
    Known(SmallVec<[MethodId; 2]>),
    Many,
}

impl Targets {
    pub fn known(&self) -> &[MethodId] {
        match self {
            Targets::Known(methods) => methods,
            Targets::Many => &[],
        }
    }
}

pub struct Calls {
    pub hierarchy: Hierarchy,
    pub(crate) models: Models,
    kind: CallGraph,
    /// By method.
    pub(crate) mentions: Arc<Vec<Mentions>>,
    /// Classes that some code makes, or that may be made by code nobody sees.
    made: Arc<FxHashSet<ClassName>>,
    callers: Edges,
    callees: Edges,
    /// By method: its calls that have many targets, each once.
    many: Vec<Box<[MethodName]>>,
    /// The calls that the program's code has.
    numbered: Numbered,
    /// By number of a call: what it may run, and what the library says of it.
    targets: Vec<Targets>,
    said: Vec<Said>,
    /// By method that the program's code calls: what the library says of it, if anything.
    pub(crate) modelled: FxHashMap<MethodName, Option<Box<CallModel>>>,
    /// By method: whether what it calls by an interface may synchronize itself.
    pub(crate) behind: Behind,
    pub(crate) touched: Touched,
    pub(crate) handles: Arc<Handles>,
}

/// Whether a class may have objects that are of no class below it.
fn is_concrete(program: &Program, class: ClassId) -> bool {
    let access = program.header(class).access;
    !access.is_abstract() && !access.is_interface()
}

/// What the library says of a call, as far as it is asked of all calls.
#[derive(Clone, Copy)]
struct Said {
    /// The object surely synchronizes itself.
    is_section: bool,
    /// It is touched by an interface, behind which may be one that does.
    is_by_interface: bool,
}

impl Calls {
    pub fn of(program: &Program, kind: CallGraph) -> Calls {
        let (numbered, (hierarchy, touched)) = rayon::join(
            || Numbered::of(&program.mentions),
            || rayon::join(|| Hierarchy::of(program), || Touched::of_program(program)),
        );
        let mut calls = Calls {
            hierarchy,
            models: Models::new(&program.names),
            kind,
            mentions: program.mentions.clone(),
            made: program.made.clone(),
            callers: Edges::default(),
            callees: Edges::default(),
            many: Vec::new(),
            numbered,
            targets: Vec::new(),
            said: Vec::new(),
            modelled: FxHashMap::default(),
            behind: Behind::default(),
            touched,
            handles: Arc::default(),
        };
        calls.connect(program);
        let (behind, handles) =
            rayon::join(|| behind_interfaces(program, &calls), || Handles::of(program, &calls.touched));
        (calls.behind, calls.handles) = (behind, Arc::new(handles));
        calls
    }

    /// The methods that a call may run.
    pub fn targets(&self, program: &Program, kind: CallKind, method: MethodName) -> Cow<'_, Targets> {
        match self.numbered.by_call.get(&(kind, method)) {
            Some(number) => Cow::Borrowed(&self.targets[*number as usize]),
            None => Cow::Owned(self.resolve(program, kind, method)),
        }
    }

    fn resolve(&self, program: &Program, kind: CallKind, method: MethodName) -> Targets {
        match kind {
            CallKind::Static | CallKind::Special => {
                Targets::Known(self.hierarchy.resolve_name(program, method).into_iter().collect())
            }
            CallKind::Virtual | CallKind::Interface => self.virtual_targets(program, method),
        }
    }

    /// The methods that a lambda or method reference may run: `plan::isFree` goes by the class of the plan.
    pub fn lambda_targets(&self, program: &Program, method: MethodName) -> Cow<'_, Targets> {
        let found = self.hierarchy.resolve_name(program, method);
        let is_fixed = |found: MethodId| {
            let own = program.method(found);
            own.access.is_static() || own.access.is_private() || own.name == program.roots.constructor
        };
        match found {
            Some(found) if !is_fixed(found) => self.targets(program, CallKind::Virtual, method),
            found => Cow::Owned(Targets::Known(found.into_iter().collect())),
        }
    }

    /// The methods that a call runs if its receiver is exactly of this class.
    pub fn targets_on(&self, program: &Program, receiver: ClassName, method: MethodName) -> Cow<'_, Targets> {
        let found = self.hierarchy.resolve(program, receiver, method.name, method.descriptor);
        Cow::Owned(Targets::Known(found.into_iter().collect()))
    }

    /// The methods that a call may run on a receiver of which so much is known.
    pub fn targets_for(
        &self,
        program: &Program,
        kind: CallKind,
        method: MethodName,
        known: &Known,
    ) -> SmallVec<[MethodId; 2]> {
        let targets = match known.exactly {
            Some(class) => self.targets_on(program, class, method),
            None => self.targets(program, kind, known.narrowed(program, method)),
        };
        let may_be = |target: &&MethodId| known.may_be(program, program.method_name(**target).class);
        targets.known().iter().filter(may_be).copied().collect()
    }

    /// Each call that the program's code has, once.
    pub fn distinct(&self) -> impl IndexedParallelIterator<Item = (CallKind, MethodName, &[MethodId])> {
        self.numbered.list.par_iter().zip(&self.targets).map(|((kind, method), to)| (*kind, *method, to.known()))
    }

    /// The places that the calls of a method's own code have among [`Calls::distinct`].
    pub fn numbers(&self, method: MethodId) -> &[u32] {
        self.numbered.of_method(method.index(), self.mentions[method.index()].calls.len())
    }

    /// The calls of a method's own code that have many targets.
    pub(crate) fn with_many_targets(&self, method: MethodId) -> &[MethodName] {
        &self.many[method.index()]
    }

    /// The calls of a method's own code, each once.
    pub fn made_by(&self, method: MethodId) -> &[(CallKind, MethodName)] {
        &self.mentions[method.index()].calls
    }

    /// Whether a method calls an operation of a library object that synchronizes itself, or may: behind an interface
    /// like `Map` can be anything.
    pub(crate) fn has_library_section(&self, method: MethodId) -> bool {
        self.library_sections(method) > 0
    }

    /// How many such operations a method calls.
    pub(crate) fn library_sections(&self, method: MethodId) -> usize {
        let is_behind = self.is_behind_interface(method);
        self.said(method).filter(|said| said.is_section || said.is_by_interface && is_behind).count()
    }

    /// Whether a method touches a library object by an interface.
    pub(crate) fn uses_library(&self, method: MethodId) -> bool {
        self.said(method).any(|said| said.is_by_interface)
    }

    /// What the library says of the calls of a method's own code.
    fn said(&self, method: MethodId) -> impl Iterator<Item = Said> {
        self.numbers(method).iter().map(|call| self.said[*call as usize])
    }

    /// Whether what a method calls by an interface may be a library object that synchronizes itself.
    pub fn is_behind_interface(&self, method: MethodId) -> bool {
        self.behind.of_method(method)
    }

    /// The fields that a method's own code stores to, each once.
    pub fn writes(&self, method: MethodId) -> &[FieldName] {
        &self.mentions[method.index()].writes
    }

    /// The fields that a method's own code reads, each once.
    pub fn reads(&self, method: MethodId) -> &[FieldName] {
        &self.mentions[method.index()].reads
    }

    /// The methods whose own code stores to a field, in order.
    pub fn writers(&self, field: FieldId) -> &[MethodId] {
        self.touched.writers(field)
    }

    /// The methods whose own code names a field, in order.
    pub fn users(&self, field: FieldId) -> &[MethodId] {
        self.touched.users(field)
    }

    pub fn callers(&self, method: MethodId) -> &[MethodId] {
        self.callers.of(method)
    }

    pub fn callees(&self, method: MethodId) -> &[MethodId] {
        self.callees.of(method)
    }

    /// What runs of the tasks that a method makes, where these are objects of classes of the program's own: no callees.
    pub(crate) fn tasks<'c>(&'c self, program: &'c Program, method: MethodId) -> impl Iterator<Item = MethodId> + 'c {
        let mentions = self.mentions.get(method.index()).into_iter();
        let made = mentions.flat_map(|mentions| &mentions.calls).map(|(_, called)| *called);
        let is_made = |called: &MethodName| called.name == program.roots.constructor;
        made.filter(is_made).filter_map(|called| self.run_of(program, called.class))
    }

    /// The method that runs when an object of a class is started as a task.
    pub(crate) fn run_of(&self, program: &Program, class: ClassName) -> Option<MethodId> {
        let entry = self.task_entry(program, class)?;
        let found = self.hierarchy.resolve(program, class, entry.name, entry.descriptor)?;
        let is_task = matches!(program.names.text(entry.name), "run" | "call" | "compute");
        (is_task && program.is_checked(program.class_of(found))).then_some(found)
    }

    /// Whether a call or a function in a method's own code can run this one, and no more than so many.
    pub fn means_among(&self, program: &Program, caller: MethodId, callee: MethodId, most: usize) -> bool {
        let mentions = &self.mentions[caller.index()];
        let is_it = |targets: Cow<Targets>| targets.known().len() <= most && targets.known().contains(&callee);
        mentions.calls.iter().any(|(kind, called)| is_it(self.targets(program, *kind, *called)))
            || mentions.lambdas.iter().any(|lambda| is_it(self.lambda_targets(program, *lambda)))
    }

    fn virtual_targets(&self, program: &Program, method: MethodName) -> Targets {
        let Some(class) = program.class(method.class) else {
            return Targets::Known(SmallVec::new());
        };
        let declared = self.hierarchy.resolve_in(program, class, method.name, method.descriptor);
        if let Some(declared) = declared {
            let own = program.method(declared);
            let class = program.header(program.class_of(declared));
            if own.access.is_final() || own.access.is_private() || class.access.is_final() {
                return Targets::Known(std::iter::once(declared).collect());
            }
        }
        if self.hierarchy.subtypes(class).is_empty() {
            // Whoever makes it is not here: a framework, reflection.
            let found =
                declared.filter(|found| is_concrete(program, class) && !program.method(*found).access.is_abstract());
            return Targets::Known(found.into_iter().collect());
        }
        let made = self.targets_among(program, method, class, declared, |class| self.is_made(program, class));
        if made == Targets::Known(SmallVec::new()) {
            return self.targets_among(program, method, class, declared, |_| true);
        }
        made
    }

    /// The methods that a call may run if its receiver is of one of these classes.
    fn targets_among(
        &self,
        program: &Program,
        method: MethodName,
        class: ClassId,
        declared: Option<MethodId>,
        is_wanted: impl Fn(ClassId) -> bool,
    ) -> Targets {
        let mut targets: SmallVec<[MethodId; 2]> = SmallVec::new();
        let named = class;
        let mut seen: FxHashSet<ClassId> = FxHashSet::default();
        let mut pending = vec![class];
        while let Some(class) = pending.pop() {
            if !seen.insert(class) {
                continue;
            }
            if seen.len() > MAX_SUBTYPES {
                return Targets::Many;
            }
            pending.extend(self.hierarchy.subtypes(class));
            if !is_concrete(program, class) || !is_wanted(class) {
                continue;
            }
            let found = match class == named {
                true => declared,
                false => self.hierarchy.resolve_in(program, class, method.name, method.descriptor),
            };
            if let Some(found) = found.filter(|found| !program.method(*found).access.is_abstract())
                && let Err(at) = targets.binary_search(&found)
            {
                if targets.len() == MAX_TARGETS {
                    return Targets::Many;
                }
                targets.insert(at, found);
            }
        }
        Targets::Known(targets)
    }

    /// Every method that a call with many targets may run, up to a limit.
    pub(crate) fn many_targets(&self, program: &Program, method: MethodName) -> Vec<MethodId> {
        let mut targets = Vec::new();
        let mut seen: FxHashSet<ClassId> = FxHashSet::default();
        let mut pending: Vec<ClassId> = program.class(method.class).into_iter().collect();
        while let Some(class) = pending.pop() {
            if !seen.insert(class) || seen.len() > MANY_SUBTYPES {
                continue;
            }
            pending.extend(self.hierarchy.subtypes(class));
            if is_concrete(program, class) && self.is_made(program, class) {
                targets.extend(self.hierarchy.resolve_in(program, class, method.name, method.descriptor));
            }
        }
        targets.sort_unstable();
        targets.dedup();
        targets
    }

    /// Whether objects of exactly this class may exist. A public class may be made by code that is not here.
    pub(crate) fn is_made(&self, program: &Program, class: ClassId) -> bool {
        let header = program.header(class);
        self.kind == CallGraph::Hierarchy || header.access.is_public() || self.made.contains(&header.name)
    }

    fn connect(&mut self, program: &Program) {
        let list = &self.numbered.list;
        let (targets, modelled) = rayon::join(
            || list.par_iter().map(|(kind, method)| self.resolve(program, *kind, *method)).collect::<Vec<Targets>>(),
            || self.look_up_models(program),
        );
        (self.targets, self.modelled) = (targets, modelled);
        let said = |(kind, method): &(CallKind, MethodName)| {
            let model = self.modelled.get(method).and_then(Option::as_ref);
            let is_access = model.is_some_and(|model| model.access != model::Access::None);
            Said {
                is_section: model.is_some_and(|model| model.section != model::Section::None),
                is_by_interface: is_access && *kind == CallKind::Interface,
            }
        };
        self.said = self.numbered.list.par_iter().map(said).collect();
        let callees = self.mentions.par_iter().enumerate().map(|(index, mentions)| {
            let calls = self.numbered.of_method(index, mentions.calls.len());
            let mut own: Vec<MethodId> =
                calls.iter().flat_map(|call| self.targets[*call as usize].known()).copied().collect();
            own.extend(mentions.lambdas.iter().filter_map(|lambda| self.hierarchy.resolve_name(program, *lambda)));
            let referred = mentions.lambdas.iter().map(|lambda| self.lambda_targets(program, *lambda));
            own.extend(referred.flat_map(|targets| targets.known().to_vec()));
            own.sort_unstable();
            own.dedup();
            let numbered = calls.iter().zip(&mentions.calls);
            let many = numbered.filter(|(call, _)| self.targets[**call as usize] == Targets::Many);
            (own, many.map(|(_, (_, called))| *called).collect())
        });
        let (callees, many): (Vec<Vec<MethodId>>, Vec<Box<[MethodName]>>) = callees.unzip();
        self.many = many;
        (self.callers, self.callees) = rayon::join(|| Edges::reversed(&callees), || Edges::of_lists(&callees));
    }

    /// What the library says of each method that is called.
    fn look_up_models(&self, program: &Program) -> FxHashMap<MethodName, Option<Box<CallModel>>> {
        let mut called: FxHashSet<MethodName> = FxHashSet::default();
        let list = self.numbered.list.iter().map(|(_, method)| *method);
        let called: Vec<MethodName> = list.filter(|method| called.insert(*method)).collect();
        let models: Vec<(MethodName, Option<Box<CallModel>>)> = called
            .into_par_iter()
            .map(|method| (method, self.look_up_model(program, method, method.class).map(Box::new)))
            .collect();
        models.into_iter().collect()
    }
}

/// The calls of all methods, by number.
struct Numbered {
    by_call: FxHashMap<(CallKind, MethodName), u32>,
    /// Each call once.
    list: Vec<(CallKind, MethodName)>,
    /// The numbers of the calls, method by method; and where those of each method begin.
    numbers: Vec<u32>,
    starts: Vec<usize>,
}

impl Numbered {
    fn of(mentions: &[Mentions]) -> Numbered {
        let count = mentions.iter().map(|mentions| mentions.calls.len()).sum();
        let mut by_call: FxHashMap<(CallKind, MethodName), u32> = FxHashMap::default();
        // Many of the calls are different ones, and a table that grows is copied each time.
        by_call.reserve(count / 4);
        let mut list = Vec::with_capacity(count / 4);
        let (mut numbers, mut starts) = (Vec::with_capacity(count), Vec::with_capacity(mentions.len()));
        for mentions in mentions {
            starts.push(numbers.len());
            numbers.extend(mentions.calls.iter().map(|call| {
                *by_call.entry(*call).or_insert_with(|| {
                    list.push(*call);
                    list.len() as u32 - 1
                })
            }));
        }
        Numbered { by_call, list, numbers, starts }
    }

    /// The numbers of a method's calls, of which there are so many.
    fn of_method(&self, index: usize, count: usize) -> &[u32] {
        let start = self.starts[index];
        &self.numbers[start..start + count]
    }
}

/// Edges between methods, by the method that they start from.
#[derive(Default)]
struct Edges {
    /// By method: where its edges end in `list`.
    ends: Vec<u32>,
    list: Vec<MethodId>,
}

impl Edges {
    fn of_lists(lists: &[Vec<MethodId>]) -> Edges {
        let mut edges = Edges { ends: Vec::with_capacity(lists.len()), list: Vec::new() };
        for list in lists {
            edges.list.extend(list);
            edges.ends.push(edges.list.len() as u32);
        }
        edges
    }

    /// The same edges, by the method that they go to.
    fn reversed(lists: &[Vec<MethodId>]) -> Edges {
        let mut ends = vec![0u32; lists.len()];
        lists.iter().flatten().for_each(|to| ends[to.index()] += 1);
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        let mut list = vec![MethodId(0); sum as usize];
        let mut next = ends.clone();
        // From the last to the first, so that each list comes out in order.
        for (from, to) in lists.iter().enumerate().rev().flat_map(|(from, list)| list.iter().map(move |to| (from, to)))
        {
            let place = &mut next[to.index()];
            *place -= 1;
            list[*place as usize] = MethodId(from as u32);
        }
        Edges { ends, list }
    }

    fn of(&self, method: MethodId) -> &[MethodId] {
        let index = method.index();
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.list[start as usize..self.ends[index] as usize]
    }
}

//! Tasks of one kind that share a container and keep to parts of it that are each one's own: the lane by the number that a
//! runner was given, the hold that a gang was sent to.
//!
//! A part is told by a final field of the task, or by what its lambda captured, and what the tasks are given there must
//! differ: constants, the variable of a loop, new objects, objects at different positions.

use classfile::{Arithmetic, CallKind, Constant};
use location::{FieldName, Symbol};
use smallvec::SmallVec;

use crate::class::{FieldId, MethodId};
use crate::ir::{Body, Op, Value};
use crate::model::numbers::{THREAD, THREAD_NAME};
use crate::outline::{Action, Event, EventId, Key, KeyStart, Member, Name, NameStep, Object, Outline, Start};
use crate::sole::MAX_CALLERS;
use crate::summary::Access;
use crate::thread::{EntryId, Many};
use crate::whole::Whole;

/// Values that are passed on more often than this are not followed.
const MAX_DEPTH: usize = 3;

/// Longer computations are not followed.
const MAX_PARTS: usize = 6;

/// What tells the part of a task from those of others, by its name in the method where the task begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Own {
    /// A key or position.
    Key(Key),
    /// An object that a final field of the task refers to.
    Object(FieldName),
    /// An object that its lambda captured.
    Captured(u16),
}

/// What one task is given to tell its part by.
#[derive(Clone, PartialEq, Eq)]
enum Given {
    Constant(Constant),
    /// What a field holds that has its objects for itself.
    Field(FieldId),
    /// An object that is made in the same method.
    Made(Value),
    /// An object at a fixed position of an array or list.
    Element(Value, Constant),
    /// Another one each time.
    Varies,
}

type Parts = SmallVec<[Own; 2]>;

impl Whole<'_> {
    /// Whether something tells the parts apart that the processes of an entry touch by all of some accesses.
    pub(crate) fn have_own_parts<'a>(
        &self,
        process: EntryId,
        run: MethodId,
        accesses: impl Iterator<Item = &'a Access>,
    ) -> bool {
        let entry = self.threads().entry(process);
        if entry.many.is_none() {
            return false;
        }
        let mut own: Option<Parts> = None;
        for access in accesses {
            let mut parts = self.parts(access);
            // A lambda that is made once and run many times has captured one object.
            let is_run_once = || {
                entry.lambdas.len() >= entry.sites.len()
                    && entry.lambdas.iter().all(|lambda| self.sharings().is_run_once(*lambda, entry))
            };
            parts.retain(|part| !matches!(part, Own::Captured(_)) || is_run_once());
            parts.retain(|part| own.as_ref().is_none_or(|own| own.contains(part)));
            if parts.is_empty() {
                return false;
            }
            own = Some(parts);
        }
        own.is_some_and(|own| own.iter().any(|own| self.are_different(run, *own)))
    }

    /// What may tell the part that an access touches.
    fn parts(&self, access: &Access) -> Parts {
        let is_given = |key: &&Key| matches!(key.start, KeyStart::Parameter(_) | KeyStart::Thread);
        let mut parts: Parts = access.keys.iter().filter(is_given).copied().map(Own::Key).collect();
        // Different objects stand at different positions.
        parts.extend(access.base.steps.iter().filter_map(|step| match step {
            NameStep::Element(key) => Some(key).filter(is_given).copied().map(Own::Key),
            _ => None,
        }));
        let holdings = &self.summaries.holdings;
        let is_own = |step: &NameStep| match step {
            NameStep::Field(field) => holdings.is_own(self.program, *field),
            NameStep::Constant(_) | NameStep::Element(_) | NameStep::Some => false,
        };
        if let (Start::Parameter(0), [NameStep::Field(field), rest @ ..]) = (access.base.start, &*access.base.steps)
            && self.program.is_final_field(*field)
            && rest.iter().all(is_own)
        {
            parts.push(Own::Object(*field));
        }
        if let Start::Parameter(position) = access.base.start
            && access.base.steps.iter().all(is_own)
        {
            parts.push(Own::Captured(position));
        }
        parts
    }

    /// Whether each task has another part.
    fn are_different(&self, run: MethodId, own: Own) -> bool {
        let is_object = matches!(own, Own::Object(_));
        let is_thread = || {
            let class = self.program.header(self.program.class_of(run)).name;
            self.program.is_subtype(class, self.program.names.class(THREAD))
        };
        let field = match own {
            // Threads have different names, unless somebody is out for confusion.
            Own::Key(Key { start: KeyStart::Thread, .. }) => return true,
            Own::Key(Key { start: KeyStart::Parameter(0), field: Some(name) })
                if self.program.names.text(name) == THREAD_NAME =>
            {
                return is_thread();
            }
            Own::Key(Key { start: KeyStart::Parameter(position), field: None }) => {
                return self.program.method(run).access.is_synthetic() && differ(&self.captured(run, position, false));
            }
            Own::Captured(position) => {
                return self.program.method(run).access.is_synthetic() && differ(&self.captured(run, position, true));
            }
            Own::Key(Key { start: KeyStart::Parameter(0), field: Some(name) }) => self.field_of(run, name),
            Own::Key(_) => None,
            Own::Object(field) => self.program.resolve_field(field),
        };
        let Some(field) = field.filter(|field| self.sharings().is_of_task(*field)) else { return false };
        self.kept(field)
            .is_some_and(|(constructor, position)| differ(&self.given(constructor, position, is_object, MAX_DEPTH)))
    }

    /// The only constructor that sets a field, and the parameter that it keeps there.
    fn kept(&self, field: FieldId) -> Option<(MethodId, u16)> {
        let program = self.program;
        let name = program.names.intern("<init>");
        let class = program.class_of_field(field);
        let mut constructors = program.methods_of(class).filter(|method| program.method(*method).name == name);
        let (Some(constructor), None) = (constructors.next(), constructors.next()) else { return None };
        let outline = self.outlines().get(constructor)?;
        let mut stored = outline.events.iter().filter_map(|event| match &event.action {
            Action::Write { member: Member::Field(written), stored, .. }
                if program.resolve_field(*written) == Some(field) =>
            {
                Some(&stored.name)
            }
            _ => None,
        });
        match (stored.next(), stored.next()) {
            (Some(Name { start: Start::Parameter(position), steps }), None) if steps.is_empty() => {
                Some((constructor, *position))
            }
            _ => None,
        }
    }

    /// The field of a name that objects have which a method runs on.
    fn field_of(&self, run: MethodId, name: Symbol) -> Option<FieldId> {
        let mut fields = self.program.fields_of(self.program.class_of(run));
        fields.find(|field| self.program.field(*field).name == name)
    }

    /// What lambdas capture that run a method.
    fn captured(&self, run: MethodId, position: u16, is_object: bool) -> Vec<Option<Given>> {
        let mut all = Vec::new();
        for maker in self.calls.callers(run) {
            let Some(outline) = self.outlines().get(*maker) else { return vec![None] };
            for event in &outline.events {
                let Action::Lambda { method, .. } = &event.action else { continue };
                if self.calls.hierarchy.resolve_name(self.program, *method) == Some(run) {
                    all.extend(self.given_at((*maker, outline), event, position, is_object, MAX_DEPTH));
                }
            }
        }
        all
    }

    /// What all callers of a method give it.
    fn given(&self, method: MethodId, position: u16, is_object: bool, depth: usize) -> Vec<Option<Given>> {
        let mut all = Vec::new();
        if self.threads().open.binary_search(&method).is_ok() {
            return vec![None];
        }
        for caller in self.calls.callers(method) {
            let Some(outline) = self.outlines().get(*caller) else { return vec![None] };
            for event in &outline.events {
                match &event.action {
                    Action::Call { kind, method: called, .. }
                        if self.calls.targets(self.program, *kind, *called).known().contains(&method) =>
                    {
                        all.extend(self.given_at((*caller, outline), event, position, is_object, depth));
                    }
                    // Who runs it is not asked.
                    Action::Lambda { method: made, .. }
                        if self.calls.hierarchy.resolve_name(self.program, *made) == Some(method) =>
                    {
                        all.push(None);
                    }
                    _ => {}
                }
            }
        }
        all
    }

    /// What a call is given at a place in the code.
    fn given_at(
        &self,
        (method, outline): (MethodId, &Outline),
        event: &Event,
        position: u16,
        is_object: bool,
        depth: usize,
    ) -> Vec<Option<Given>> {
        let (pc, in_loop) = (event.pc, event.in_loop);
        let Ok(Some(body)) = self.program.body(method) else { return vec![None] };
        let call = body.instructions().find_map(|(at, instruction)| match instruction.op {
            Op::Call { arguments, .. } | Op::CallDynamic { arguments, .. } if instruction.pc == pc => {
                Some((at, *body.operands(arguments).get(usize::from(position))?))
            }
            _ => None,
        });
        let Some((at, value)) = call else { return vec![None] };
        if !in_loop && self.is_of_each(method, &body, value, is_object) {
            return vec![Some(Given::Varies)];
        }
        if !self.sole().runs_once(method, MAX_CALLERS) {
            return vec![None];
        }
        let site = event.block as usize;
        let is_moved = |block: usize| in_loop && !outline.comes_back(site, block);
        // A loop inside gives the same one to several.
        if self.is_next_of_set((method, outline), &body, value, is_object)
            && is_moved(body.block_of(body.without_casts(value)).index())
        {
            return vec![Some(Given::Varies)];
        }
        if let (Op::Parameter(position), true) = (body.op(body.without_casts(value)), depth > 0 && !in_loop) {
            return self.given(method, *position, is_object, depth - 1);
        }
        // The same one each time round is that of all of them.
        let is_each_time = |given: &Given| match given {
            Given::Varies => true,
            Given::Made(made) => !in_loop || body.block_of(*made) == body.block_of(at),
            Given::Constant(_) | Given::Field(_) | Given::Element(..) => !in_loop,
        };
        vec![self.what(&body, value, is_object, &is_moved, MAX_PARTS).filter(is_each_time)]
    }

    /// Whether a value is what a function is given that is run for each element of a set, once.
    fn is_of_each(&self, function: MethodId, body: &Body, value: Value, is_object: bool) -> bool {
        let Op::Parameter(position) = *body.op(body.without_casts(value)) else { return false };
        let [maker] = self.calls.callers(function) else { return false };
        let Some(outline) = self.outlines().get(*maker) else { return false };
        let mut made = outline.events.iter().enumerate().filter_map(|(index, event)| match &event.action {
            Action::Lambda { method, arguments, .. }
                if self.calls.hierarchy.resolve_name(self.program, *method) == Some(function) =>
            {
                Some((Object::Event(EventId(index as u32)), arguments.len()))
            }
            _ => None,
        });
        let (Some((lambda, captured)), None) = (made.next(), made.next()) else { return false };
        let mut users = outline.events.iter().filter_map(|event| match &event.action {
            Action::Call { method, arguments, .. } => {
                let at = arguments.iter().position(|argument| argument.objects.contains(&lambda))?;
                Some((event, *method, at))
            }
            _ => None,
        });
        let (Some((user, called, 1)), None) = (users.next(), users.next()) else { return false };
        let text = |symbol| self.program.names.text(symbol);
        let is_of_list = || {
            let Ok(Some(body)) = self.program.body(*maker) else { return false };
            let list = body.instructions().find_map(|(_, instruction)| match instruction.op {
                Op::Call { arguments, .. } if instruction.pc == user.pc => body.operands(arguments).first().copied(),
                _ => None,
            });
            let is_distinct = |list| is_object && self.has_each_once(*maker, &body, list);
            list.is_some_and(|list| self.is_all_of_enum(&body, list) || is_distinct(list))
        };
        // Of a map, the keys are all different, and what stands under them need not be.
        let is_of_set = match (text(called.class.0), text(called.name)) {
            (class, "forEach") => {
                is_set(class) || is_map(class) && usize::from(position) == captured || !is_map(class) && is_of_list()
            }
            _ => false,
        };
        usize::from(position) >= captured
            && is_of_set
            && !user.in_loop
            && self.program.is_lambda(self.program.method_name(function))
            && self.sole().runs_once(*maker, MAX_CALLERS)
    }

    /// Whether a value is the next element of a set that a loop goes over, which is come to once; or of a list that has each
    /// object once.
    fn is_next_of_set(
        &self,
        (method, outline): (MethodId, &Outline),
        body: &Body,
        value: Value,
        is_object: bool,
    ) -> bool {
        let text = |symbol| self.program.names.text(symbol);
        let next = body.without_casts(value);
        let Op::Call { method: called, arguments, .. } = *body.op(next) else { return false };
        let [iterator] = *body.operands(arguments) else { return false };
        let iterator = body.without_casts(iterator);
        let Op::Call { method: made, arguments: container, .. } = *body.op(iterator) else { return false };
        let [container] = *body.operands(container) else { return false };
        let is_repeated = |value: Value| {
            let pc = body.instruction(value).pc;
            outline.events.iter().any(|event| event.pc == pc && event.in_loop)
        };
        text(called.class.0) == "java/util/Iterator"
            && text(called.name) == "next"
            && text(made.name) == "iterator"
            && is_repeated(next)
            && !is_repeated(iterator)
            && (is_set(text(made.class.0))
                || self.is_all_of_enum(body, container)
                || is_object && self.has_each_once(method, body, container))
    }

    /// What a value is; `is_moved` tells whether the code that uses it comes by a block each time.
    fn what(
        &self,
        body: &Body,
        value: Value,
        is_object: bool,
        is_moved: &dyn Fn(usize) -> bool,
        depth: usize,
    ) -> Option<Given> {
        let value = body.without_casts(value);
        let varies =
            |value: Value| depth > 0 && self.what(body, value, is_object, is_moved, depth - 1) == Some(Given::Varies);
        let is_constant = |value: Value| matches!(body.op(body.without_casts(value)), Op::Constant(_));
        let text = |symbol| self.program.names.text(symbol);
        let element = |of: Value, index: Value| match *body.op(body.without_casts(index)) {
            Op::Constant(index) if is_object => Some(Given::Element(body.without_casts(of), index)),
            _ => None,
        };
        let is_varying = match *body.op(value) {
            Op::Constant(constant) => return Some(Given::Constant(constant)),
            Op::GetField { field, .. } | Op::GetStatic(field) => return self.in_field(field),
            Op::New(_) => return Some(Given::Made(value)),
            Op::Phi(operands) => is_moved(body.block_of(value).index()) && counts(body, value, body.operands(operands)),
            Op::Arithmetic(Arithmetic::Add | Arithmetic::Subtract | Arithmetic::Multiply, left, right) => {
                varies(left) && is_constant(right) || is_constant(left) && varies(right)
            }
            Op::Convert(inner) => varies(inner),
            // Names and numbers that are listed may be listed twice.
            Op::ArrayLoad { array, index, .. } => match element(array, index) {
                Some(element) => return Some(element),
                None => (is_object || self.is_all_of_enum(body, array)) && varies(index),
            },
            Op::CallDynamic { .. } => self.program.text_parts(body, value).into_iter().any(varies),
            Op::Call { kind, method, arguments } => {
                let arguments = body.operands(arguments);
                let class = text(method.class.0);
                match (text(method.name), arguments) {
                    ("valueOf", [inner]) if class.starts_with("java/lang/") => varies(*inner),
                    ("toString", [_]) => self.program.text_parts(body, value).into_iter().any(varies),
                    ("get", [list, index]) if class.starts_with("java/util/") => match element(*list, *index) {
                        Some(element) => return Some(element),
                        None => is_object && varies(*index),
                    },
                    _ if is_object && self.position_by(kind, method).is_some_and(|by| varies(arguments[by])) => true,
                    _ => return self.gotten(kind, method),
                }
            }
            _ => false,
        };
        is_varying.then_some(Given::Varies)
    }

    /// The parameter that tells the position of what a method yields: `Lane lane(int number) { return lanes.get(number); }`.
    fn position_by(&self, kind: CallKind, method: location::MethodName) -> Option<usize> {
        let targets = self.calls.targets(self.program, kind, method);
        let [target] = targets.known() else { return None };
        let Ok(Some(body)) = self.program.body(*target) else { return None };
        let mut returned = body.instructions().filter_map(|(_, instruction)| match instruction.op {
            Op::Return(Some(value)) => Some(body.without_casts(value)),
            _ => None,
        });
        let (Some(value), None) = (returned.next(), returned.next()) else { return None };
        let index = match *body.op(value) {
            Op::ArrayLoad { index, .. } => index,
            Op::Call { method, arguments, .. } => {
                match (self.program.names.text(method.name), body.operands(arguments)) {
                    ("get", [_, index]) if self.program.names.text(method.class.0).starts_with("java/util/") => *index,
                    _ => return None,
                }
            }
            _ => return None,
        };
        match *body.op(index) {
            Op::Parameter(position) => Some(usize::from(position)),
            _ => None,
        }
    }

    /// What a getter yields.
    fn gotten(&self, kind: CallKind, method: location::MethodName) -> Option<Given> {
        let targets = self.calls.targets(self.program, kind, method);
        let [target] = targets.known() else { return None };
        let outline = self.outlines().get(*target)?;
        match &*outline.returns.as_ref()?.steps {
            [NameStep::Field(field)] => self.in_field(*field),
            _ => None,
        }
    }

    fn in_field(&self, field: FieldName) -> Option<Given> {
        let is_one = self.program.is_final_field(field) && self.summaries.holdings.is_own(self.program, field);
        self.program.resolve_field(field).filter(|_| is_one).map(Given::Field)
    }
}

/// Whether no two elements of what has this type are equal.
fn is_set(class: &str) -> bool {
    matches!(
        class.strip_prefix("java/util/"),
        Some("Set" | "HashSet" | "LinkedHashSet" | "SortedSet" | "NavigableSet" | "TreeSet" | "EnumSet")
    )
}

fn is_map(class: &str) -> bool {
    matches!(
        class.strip_prefix("java/util/"),
        Some(
            "Map"
                | "HashMap"
                | "LinkedHashMap"
                | "SortedMap"
                | "NavigableMap"
                | "TreeMap"
                | "EnumMap"
                | "concurrent/ConcurrentMap"
                | "concurrent/ConcurrentHashMap"
        )
    )
}

/// Whether so many run as the code that starts them says, and that runs once.
pub(crate) fn is_of_known_number(many: Many) -> bool {
    matches!(many, Many::AtOnce | Many::InLoop | Many::TwoSites)
}

/// Whether a variable of a loop is moved on by a fixed step each time.
fn counts(body: &Body, variable: Value, operands: &[Value]) -> bool {
    let is_step = |value: &Value| match *body.op(body.without_casts(*value)) {
        Op::Arithmetic(Arithmetic::Add | Arithmetic::Subtract, left, right) => {
            body.without_casts(left) == variable
                && matches!(body.op(right), Op::Constant(Constant::Int(step)) if *step != 0)
        }
        _ => false,
    };
    operands.iter().any(is_step)
        && operands.iter().all(|operand| is_step(operand) || matches!(body.op(*operand), Op::Constant(_)))
}

/// Whether all that is given is different.
fn differ(given: &[Option<Given>]) -> bool {
    let mut seen: SmallVec<[&Given; 4]> = SmallVec::new();
    !given.is_empty()
        && given.iter().all(|given| match given {
            Some(Given::Varies) => {
                seen.is_empty() && {
                    seen.push(&Given::Varies);
                    true
                }
            }
            Some(given) => {
                // What stands in another list, or was made here, may stand in this one, too.
                let is_beside = |other: &&&Given| match (given, other) {
                    (Given::Element(list, _), Given::Element(other, _)) => list == other,
                    (Given::Element(..), _) | (_, Given::Element(..)) => false,
                    _ => true,
                };
                let is_new = !seen.contains(&given)
                    && !seen.contains(&&Given::Varies)
                    && seen.iter().all(|other| is_beside(&other));
                seen.push(given);
                is_new
            }
            None => false,
        })
}

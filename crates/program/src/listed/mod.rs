//! Keys that tasks are given in the code: `new Driver(List.of("Ashby", "Brook"))`, `new Worker(0, 10)`.
//!
//! What a task touches is traced back, by parameters, final fields and lists that nobody changes, to the numbers, texts and
//! constants of enums that stand where the task is made. Tasks that have none of them in common never meet under a key.

mod lot;
mod origin;

use std::cell::RefCell;
use std::rc::Rc;

use classfile::{Arithmetic, Condition, Constant};
use location::FieldName;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use self::lot::{Literal, Lot};
use crate::apart::is_of_known_number;
use crate::class::MethodId;
use crate::ir::{Body, Op, Value};
use crate::outline::{Action, Event, EventId, Key, KeyStart, Outline};
use crate::sole::MAX_CALLERS;
use crate::summary::{Access, Keys, Spot as Place};
use crate::thread::EntryId;
use crate::variable::Variable;
use crate::whole::Whole;

/// Values that are passed on more often than this are not followed.
const MAX_DEPTH: usize = 12;

/// More tasks or keys than this are not told apart.
const MAX_PARTS: usize = 64;

/// One run of a method: who called it, and what a loop or a function was at.
struct Frame {
    method: MethodId,
    /// What it was given, and by whom.
    given: Option<(Rc<Frame>, SmallVec<[Value; 4]>)>,
    /// The constructor of the object that it runs on.
    made: Option<Rc<Frame>>,
    /// What a value is this time.
    chosen: Option<(Value, Item)>,
}

/// A value of one run of a method.
#[derive(Clone)]
struct Spot {
    frame: Rc<Frame>,
    value: Value,
}

/// What a value is.
#[derive(Clone)]
enum Item {
    Of(Spot),
    Number(i64),
}

/// Final fields on the way from an object to what is asked, the first one last.
type Path = SmallVec<[FieldName; 4]>;

impl Whole<'_> {
    /// Whether the processes of an entry, as many as run at once, each write a part of a variable that is their own, and
    /// read it there at one place. Of two entries, whether what those of the one write and read there is written by none of
    /// the other.
    pub fn keep_to_own_parts(&self, process: EntryId, other: EntryId, variable: Variable, read: Place) -> bool {
        let known = |process: EntryId| {
            let entry = self.threads().entry(process);
            let run = entry.method.filter(|_| entry.many.is_none_or(is_of_known_number))?;
            self.summaries.summary(run).filter(|summary| !summary.is_cut).map(|summary| (run, summary))
        };
        let (Some((run, summary)), Some((_, of_other))) = (known(process), known(other)) else { return false };
        let is_it = |access: &&Access| Variable::of(self.program, access) == Some(variable);
        let touched = || summary.accesses.iter().filter(|access| access.is_write || access.spot == read).filter(is_it);
        if process == other && self.have_own_parts(process, run, touched()) {
            return true;
        }
        let lots = Lots::new(self);
        let keys = |access: &Access| access.keys.clone();
        let Some(own) = lots.of(process, &touched().map(keys).collect::<Vec<_>>()) else { return false };
        if process == other {
            return own.iter().enumerate().all(|(at, lot)| own[..at].iter().all(|other| lot.is_beside(other)));
        }
        let written = of_other.accesses.iter().filter(|access| access.is_write).filter(is_it);
        let others = lots.of(other, &written.map(keys).collect::<Vec<_>>());
        others.is_some_and(|others| own.iter().all(|lot| others.iter().all(|other| lot.is_beside(other))))
    }
}

struct Lots<'w> {
    whole: &'w Whole<'w>,
    bodies: RefCell<FxHashMap<MethodId, Option<Rc<Body>>>>,
}

impl<'w> Lots<'w> {
    fn new(whole: &'w Whole<'w>) -> Lots<'w> {
        Lots { whole, bodies: RefCell::default() }
    }

    /// The keys of each process of an entry, where all of them are known: those that stand for one access each.
    fn of(&self, process: EntryId, accesses: &[Keys]) -> Option<Vec<Lot>> {
        let run = self.whole.threads().entry(process).method?;
        let tasks = self.tasks(process, run)?;
        let lot = |task: &Rc<Frame>| {
            let mut all = Lot::default();
            for keys in accesses {
                all.add(keys.iter().find_map(|key| self.of_key(task, *key))?);
            }
            (!all.literals.is_empty() || !all.ranges.is_empty()).then_some(all)
        };
        tasks.iter().map(lot).collect()
    }

    fn body(&self, method: MethodId) -> Option<Rc<Body>> {
        if let Some(known) = self.bodies.borrow().get(&method) {
            return known.clone();
        }
        let body = self.whole.program.body(method).ok().flatten().map(Rc::new);
        self.bodies.borrow_mut().insert(method, body.clone());
        body
    }

    fn text(&self, symbol: location::Symbol) -> &str {
        self.whole.program.names.text(symbol)
    }

    /// The processes of an entry, each by what its task was made of.
    fn tasks(&self, process: EntryId, run: MethodId) -> Option<Vec<Rc<Frame>>> {
        let program = self.whole.program;
        let entry = self.whole.threads().entry(process);
        if program.method(run).access.is_synthetic() {
            let is_once = |lambda| self.whole.sharings().is_run_once(lambda, entry);
            let is_known = entry.lambdas.len() >= entry.sites.len() && entry.lambdas.iter().all(|at| is_once(*at));
            return if is_known { self.runs(run, true, MAX_DEPTH) } else { None };
        }
        // An object that two of them run on would be one task.
        if program.method(run).access.is_static() || !self.whole.sharings().has_own_objects(process) {
            return None;
        }
        let constructor = program.roots.constructor;
        let class = program.class_of(run);
        let mut tasks = Vec::new();
        for method in program.methods_of(class).filter(|method| program.method(*method).name == constructor) {
            if self.whole.calls.callers(method).is_empty() {
                continue;
            }
            for made in self.runs(method, false, MAX_DEPTH)? {
                tasks.push(Rc::new(Frame { method: run, given: None, made: Some(made), chosen: None }));
            }
        }
        (!tasks.is_empty() && tasks.len() <= MAX_PARTS).then_some(tasks)
    }

    /// All runs of a method, if their number is known.
    fn runs(&self, method: MethodId, is_task: bool, depth: usize) -> Option<Vec<Rc<Frame>>> {
        let depth = depth.checked_sub(1)?;
        let whole = self.whole;
        if whole.threads().open.binary_search(&method).is_ok() || whole.threads().is_from_outside(method) {
            return None;
        }
        if !is_task
            && whole.sole().runs_once(method, MAX_CALLERS)
            && whole.threads().entries().iter().any(|entry| entry.method == Some(method))
        {
            return Some(vec![Rc::new(Frame { method, given: None, made: None, chosen: None })]);
        }
        let mut runs = Vec::new();
        for caller in whole.calls.callers(method) {
            let outline = whole.outlines().get(*caller)?;
            let mut of_caller = None;
            for event in &outline.events {
                let (called, is_each) = match &event.action {
                    Action::Call { kind, method: called, .. } => {
                        (whole.calls.targets(whole.program, *kind, *called).known().contains(&method), false)
                    }
                    Action::Lambda { method: made, .. } => {
                        (whole.calls.hierarchy.resolve_name(whole.program, *made) == Some(method), !is_task)
                    }
                    _ => continue,
                };
                if !called {
                    continue;
                }
                let of_caller = match &of_caller {
                    Some(known) => known,
                    None => of_caller.insert(self.runs(*caller, false, depth)?),
                };
                for frame in of_caller {
                    runs.extend(self.runs_at(frame, (outline, event), method, is_each, depth)?);
                }
                if runs.len() > MAX_PARTS {
                    return None;
                }
            }
        }
        (!runs.is_empty()).then_some(runs)
    }

    /// The runs that one call stands for, or one function that is run for each element of a list.
    fn runs_at(
        &self,
        caller: &Rc<Frame>,
        (outline, event): (&Outline, &Event),
        method: MethodId,
        is_each: bool,
        depth: usize,
    ) -> Option<Vec<Rc<Frame>>> {
        let body = self.body(caller.method)?;
        let (at, given) = body.instructions().find_map(|(at, instruction)| match instruction.op {
            Op::Call { arguments, .. } | Op::CallDynamic { arguments, .. } if instruction.pc == event.pc => {
                Some((at, SmallVec::<[Value; 4]>::from_slice(body.operands(arguments))))
            }
            _ => None,
        })?;
        let frame = |caller: Rc<Frame>, chosen| {
            Rc::new(Frame { method, given: Some((caller, given.clone())), made: None, chosen })
        };
        if is_each {
            if event.in_loop {
                return None;
            }
            let list = body.instructions().find_map(|(_, instruction)| match instruction.op {
                Op::Call { method, arguments, .. } if self.text(method.name) == "forEach" => {
                    match *body.operands(arguments) {
                        [list, function] if function == at => Some(list),
                        _ => None,
                    }
                }
                _ => None,
            })?;
            let inner = self.body(method)?;
            let position = given.len() as u16;
            let element = inner
                .instructions()
                .find_map(|(value, instruction)| (instruction.op == Op::Parameter(position)).then_some(value))?;
            let items = self.items(Spot { frame: caller.clone(), value: list }, depth)?;
            let choose = |item: Spot| frame(caller.clone(), Some((element, Item::Of(item))));
            return Some(items.into_iter().map(choose).collect());
        }
        if !event.in_loop {
            return Some(vec![frame(caller.clone(), None)]);
        }
        if caller.chosen.is_some() {
            return None;
        }
        // What a loop is at that comes by there each time.
        let site = event.block as usize;
        let is_moved = |value: Value| {
            let block = body.block_of(value).index();
            block == site || !outline.comes_back(site, block)
        };
        let choices = body.instructions().find_map(|(value, _)| {
            if is_moved(value) { self.choices(caller, &body, outline, value, depth) } else { None }
        })?;
        let choose = |(value, item): (Value, Item)| {
            let chosen = Some((value, item));
            let (given, made) = (caller.given.clone(), caller.made.clone());
            frame(Rc::new(Frame { method: caller.method, given, made, chosen }), None)
        };
        Some(choices.into_iter().map(choose).collect())
    }

    /// What a value is that a loop moves on, one time after the other.
    fn choices(
        &self,
        frame: &Rc<Frame>,
        body: &Body,
        outline: &Outline,
        value: Value,
        depth: usize,
    ) -> Option<Vec<(Value, Item)>> {
        let is_repeated = |value: Value| outline.comes_back(body.block_of(value).index(), usize::MAX);
        match *body.op(value) {
            Op::Call { method, arguments, .. } if self.text(method.name) == "next" => {
                let iterator = body.without_casts(*body.operands(arguments).first()?);
                let Op::Call { method, arguments, .. } = *body.op(iterator) else { return None };
                if self.text(method.name) != "iterator" || is_repeated(iterator) {
                    return None;
                }
                let list = *body.operands(arguments).first()?;
                let items = self.items(Spot { frame: frame.clone(), value: list }, depth)?;
                Some(items.into_iter().map(|item| (value, Item::Of(item))).collect())
            }
            Op::Phi(_) => {
                let spot = Spot { frame: frame.clone(), value };
                let (first, end) = self.range(&spot, body, depth)?;
                // A loop around this one would come to the same numbers again.
                let head = body.block_of(value).index();
                let inside = outline.blocks.successors(head).filter(|next| {
                    !next.is_exceptional && (next.block == head || outline.reaches(next.block, head, usize::MAX))
                });
                let is_outer = inside.count() > 1;
                let numbers = || (first..end).map(|number| (value, Item::Number(number))).collect();
                (!is_outer && end - first <= MAX_PARTS as i64).then(numbers)
            }
            // An array that is gone over.
            _ => None,
        }
    }

    /// The numbers that a variable of a loop goes through, by steps of one, up to what it is compared with.
    fn range(&self, spot: &Spot, body: &Body, depth: usize) -> Option<(i64, i64)> {
        let depth = depth.checked_sub(1)?;
        let Op::Phi(operands) = *body.op(spot.value) else { return None };
        let is_step = |value: Value| match *body.op(body.without_casts(value)) {
            Op::Arithmetic(Arithmetic::Add, left, right) => {
                left == spot.value && *body.op(right) == Op::Constant(Constant::Int(1))
            }
            _ => false,
        };
        let mut first = None;
        for operand in body.operands(operands).iter().filter(|operand| !is_step(**operand)) {
            let number = self.lot(Spot { value: *operand, ..spot.clone() }, Path::new(), depth)?.number()?;
            if first.replace(number).is_some_and(|known| known != number) {
                return None;
            }
        }
        let block = body.block_of(spot.value);
        let Op::Branch { condition, left, right: Some(right), .. } = *body.op(body.terminator(block)?) else {
            return None;
        };
        // Where the loop ends, the second successor or the first one is left.
        let end = match condition {
            Condition::GreaterOrEqual | Condition::Less if left == spot.value => right,
            _ => return None,
        };
        let end = match *body.op(end) {
            Op::ArrayLength(array) => {
                let items = self.items(Spot { value: array, ..spot.clone() }, depth)?;
                items.len() as i64
            }
            _ => self.lot(Spot { value: end, ..spot.clone() }, Path::new(), depth)?.number()?,
        };
        Some((first?, end))
    }

    /// What a key of the method that a task runs stands for.
    fn of_key(&self, task: &Rc<Frame>, key: Key) -> Option<Lot> {
        let body = self.body(task.method)?;
        let mut path = Path::new();
        let called = |event: EventId| {
            let pc = self.whole.outlines().get(task.method)?.events.get(event.index())?.pc;
            let mut calls = body.instructions().filter(|(_, one)| one.pc == pc);
            calls.find(|(_, one)| matches!(one.op, Op::Call { .. } | Op::ArrayLoad { .. })).map(|(value, _)| value)
        };
        let value = match key.start {
            KeyStart::Parameter(position) => {
                body.instructions().find(|(_, one)| one.op == Op::Parameter(position)).map(|(value, _)| value)?
            }
            KeyStart::Result(event) => called(event)?,
            KeyStart::Local(register) => body.instructions().nth(register as usize).map(|(value, _)| value)?,
            KeyStart::Element(event) => {
                let Op::Call { arguments, .. } = *body.op(called(event)?) else { return None };
                let list = Spot { frame: task.clone(), value: *body.operands(arguments).first()? };
                return self.of_each(list, self.field(task, key)?, MAX_DEPTH);
            }
            KeyStart::Thread | KeyStart::Touched => return None,
        };
        if key.field.is_some() {
            path = match (key.start, self.field(task, key)) {
                (KeyStart::Parameter(0), Some(path)) => path,
                _ => return None,
            };
        }
        self.lot(Spot { frame: task.clone(), value }, path, MAX_DEPTH)
    }

    /// The field of a key, of the object that the task is.
    fn field(&self, task: &Rc<Frame>, key: Key) -> Option<Path> {
        let Some(name) = key.field else { return Some(Path::new()) };
        if !matches!(key.start, KeyStart::Parameter(0)) {
            return None;
        }
        let program = self.whole.program;
        let class = program.class_of(task.method);
        let field = program.fields_of(class).find(|field| program.field(*field).name == name)?;
        let class = program.header(class).name;
        Some([FieldName { class, name, descriptor: program.field(field).descriptor }].into_iter().collect())
    }

    /// The keys that a value may be.
    fn lot(&self, spot: Spot, path: Path, depth: usize) -> Option<Lot> {
        let depth = depth.checked_sub(1)?;
        let (spot, path) = match self.origin(spot, path)? {
            (Item::Number(number), path) => {
                let number = i32::try_from(number).ok().filter(|_| path.is_empty())?;
                return Some(Lot::one(Literal::Constant(Constant::Int(number))));
            }
            (Item::Of(spot), path) => (spot, path),
        };
        let body = self.body(spot.frame.method)?;
        let here = |value: Value| Spot { value, ..spot.clone() };
        let number = |value: Value| self.lot(here(value), Path::new(), depth)?.number();
        let element_at = |list: Value, index: Value, path: Path| match number(index) {
            Some(index) => {
                let item = self.items(here(list), depth)?.get(usize::try_from(index).ok()?)?.clone();
                self.lot(item, path, depth)
            }
            None => self.of_each(here(list), path, depth),
        };
        match *body.op(spot.value) {
            Op::Constant(constant) if path.is_empty() => Some(Lot::one(Literal::Constant(constant))),
            Op::GetStatic(field) if path.is_empty() => {
                self.enum_constant(field).map(|constant| Lot::one(Literal::Field(constant)))
            }
            Op::ArrayLoad { array, index, .. } => element_at(array, index, path),
            Op::Call { method, arguments, .. } => {
                let arguments = body.operands(arguments);
                match self.text(method.name) {
                    "next" => {
                        let Op::Call { method, arguments, .. } = *body.op(body.without_casts(*arguments.first()?))
                        else {
                            return None;
                        };
                        let is_it = matches!(self.text(method.name), "iterator" | "listIterator");
                        self.of_each(here(*body.operands(arguments).first().filter(|_| is_it)?), path, depth)
                    }
                    "get" if self.text(method.class.0).starts_with("java/util/") => match *arguments {
                        [list, index] => element_at(list, index, path),
                        _ => None,
                    },
                    _ => None,
                }
            }
            Op::Phi(operands) => {
                if let Some(range) = self.range(&spot, &body, depth) {
                    return Some(Lot { literals: Vec::new(), ranges: vec![range] });
                }
                let mut all = Lot::default();
                for operand in body.operands(operands) {
                    all.add(self.lot(Spot { value: *operand, ..spot.clone() }, path.clone(), depth)?);
                }
                Some(all)
            }
            Op::Arithmetic(how, left, right) => {
                let (left, right) = (number(left)?, number(right)?);
                let result = match how {
                    Arithmetic::Add => left.checked_add(right)?,
                    Arithmetic::Subtract => left.checked_sub(right)?,
                    Arithmetic::Multiply => left.checked_mul(right)?,
                    _ => return None,
                };
                Some(Lot::one(Literal::Constant(Constant::Int(i32::try_from(result).ok()?))))
            }
            _ => None,
        }
    }

    /// The keys that the elements of a list are, or that they have.
    fn of_each(&self, list: Spot, path: Path, depth: usize) -> Option<Lot> {
        let mut all = Lot::default();
        for item in self.items(list, depth)? {
            all.add(self.lot(item, path.clone(), depth)?);
        }
        Some(all)
    }
}

//! What an arm of a branch would do, from its first instruction to where the arms come together: accesses, sections and
//! modelled calls, with each object by a variable or field that has it.
//!
//! Variables that the arm changes, and all that it puts on the stack, have registers of their own, so that what is known at
//! one place of the code does not change when the runtime goes through it. What is known differently on two ways is not known
//! where they meet. A loop inside is gone through twice.

use std::collections::BTreeMap;

use classfile::edit::Slot;

use super::*;
use crate::arms::{ArmCode, Callee, Flow, Join};
use crate::call::{Call, Operand, flag};
use crate::probe::HANDED;
use crate::sites::Member;

/// Events of one arm, instructions that are looked at for it, and how deep branches may nest in it.
const MOST_EVENTS: usize = 48;
const MOST_STEPS: usize = 2_000;
const MOST_NESTED: usize = 8;
/// Registers of one arm.
const MOST_REGISTERS: u16 = 400;

/// An object by its register, if it is known. Numbers are not.
type Value = Option<u16>;

/// What is known on one way through the code.
#[derive(Clone, Default)]
struct Path {
    /// By slot.
    stack: Vec<Value>,
    /// Variables that were stored to.
    locals: BTreeMap<u16, Value>,
    /// What the method gives.
    result: Value,
    /// How often the way came to a block.
    visits: FxHashMap<usize, u8>,
}

impl Path {
    fn pop(&mut self, slots: usize) {
        self.stack.truncate(self.stack.len().saturating_sub(slots));
    }

    fn push(&mut self, value: Value, slots: usize) {
        self.stack.resize(self.stack.len() + slots, value);
    }

    /// Counted from the top, from 0.
    fn peek(&self, slots: usize) -> Value {
        self.stack.len().checked_sub(slots + 1).and_then(|at| self.stack[at])
    }

    /// What is known on this way and on another one.
    fn meet(&mut self, other: &Path) {
        for (one, other) in self.stack.iter_mut().zip(&other.stack) {
            if *one != *other {
                *one = None;
            }
        }
        if self.result != other.result {
            self.result = None;
        }
        for (local, value) in &other.locals {
            let one = self.locals.entry(*local).or_insert(None);
            if *one != *value {
                *one = None;
            }
        }
        for (local, value) in &mut self.locals {
            if !other.locals.contains_key(local) {
                *value = None;
            }
        }
    }
}

/// Writes the arms of one branch.
pub(crate) struct Walker<'w, 'r, 'a, 'c> {
    rewriter: &'w mut MethodRewriter<'r, 'a, 'c>,
    flow: &'w Flow,
    /// What lies in the variables at the branch.
    slots: &'w [Slot],
    code: ArmCode,
    /// The variables that the branch hands over, by register.
    pub(super) handed: Vec<u16>,
    pub(super) names: Vec<String>,
    pub(super) registers: u16,
    steps: usize,
    nested: usize,
    /// The branch itself, if the arm leads back to it, and where the arm begins.
    root: Option<(usize, usize)>,
}

impl<'w, 'r, 'a, 'c> Walker<'w, 'r, 'a, 'c> {
    pub(super) fn new(
        rewriter: &'w mut MethodRewriter<'r, 'a, 'c>,
        flow: &'w Flow,
        slots: &'w [Slot],
    ) -> Walker<'w, 'r, 'a, 'c> {
        Walker {
            rewriter,
            flow,
            slots,
            code: ArmCode::new(),
            handed: Vec::new(),
            names: Vec::new(),
            registers: 0,
            steps: 0,
            nested: 0,
            root: None,
        }
    }

    /// The arm of a branch that begins with a block, on a stack that is so deep.
    pub(super) fn arm(&mut self, branch: usize, first: usize, join: Join, depth: usize) -> Result<Vec<i32>, Failure> {
        self.steps = 0;
        self.nested = 0;
        self.root = Some((branch, first));
        let mut path = Path { stack: vec![None; depth], ..Path::default() };
        path.visits.insert(branch, 1);
        self.walk(first, join, path)?;
        let code = std::mem::replace(&mut self.code, ArmCode::new());
        self.registers = self.registers.max(code.registers());
        Ok(code.finish())
    }

    /// All that the method does.
    pub(super) fn method(&mut self) -> Result<Callee, Failure> {
        let is_synchronized = self.rewriter.access.is_synchronized();
        let lock = match (is_synchronized, self.rewriter.access.is_static()) {
            (true, true) => Some(self.class_constant(self.rewriter.context.name)),
            (true, false) => self.local(0, &Path::default()),
            (false, _) => None,
        };
        if is_synchronized {
            let site = self.rewriter.site(0, What::Method);
            self.code.enter(lock, site);
        }
        let end = self.walk(0, Join::Exit, Path::default())?;
        if is_synchronized {
            let site = self.rewriter.site(0, What::Method);
            self.code.leave(lock, site);
        }
        let code = std::mem::replace(&mut self.code, ArmCode::new());
        Ok(Callee {
            handed: std::mem::take(&mut self.handed),
            result: end.as_ref().and_then(|end| end.result),
            registers: code.registers(),
            ends: end.is_some(),
            names: std::mem::take(&mut self.names),
            code: code.all(),
        })
    }

    /// Goes on from a block to where arms come together. `None` if it does not get there.
    fn walk(&mut self, mut at: usize, join: Join, mut path: Path) -> Result<Option<Path>, Failure> {
        loop {
            if join == Join::Block(at) {
                return Ok(Some(path));
            }
            let visits = path.visits.entry(at).or_insert(0);
            if *visits == 2 {
                return Ok(None);
            }
            *visits += 1;
            let root = self.root.filter(|(branch, _)| *branch == at);
            if root.is_some() {
                self.code.again();
            }
            for index in self.flow.block(at) {
                if !self.step(index, &mut path)? {
                    return Ok(None);
                }
            }
            let to = self.flow.successors(at).to_vec();
            at = match (&*to, root) {
                ([], _) => return Ok((join == Join::Exit).then_some(path)),
                ([one], _) => *one,
                // Another turn of the loop.
                (_, Some((_, first))) => first,
                _ => {
                    let Some(inner) = self.flow.join(at) else { return Ok(None) };
                    let met = self.branch(at, &to, inner, path)?;
                    match (met, inner) {
                        (Some(met), Join::Block(block)) => {
                            path = met;
                            block
                        }
                        (met, _) => return Ok(met.filter(|_| join == Join::Exit)),
                    }
                }
            };
        }
    }

    /// All arms of a branch inside, and what is known where they come together.
    fn branch(&mut self, at: usize, to: &[usize], join: Join, path: Path) -> Result<Option<Path>, Failure> {
        if self.nested == MOST_NESTED {
            return Ok(None);
        }
        self.nested += 1;
        let last = self.flow.block(at).end - 1;
        let pc = self.rewriter.code.instruction(last).pc;
        let before = self.code.mark();
        self.code.branch();
        let mut met: Option<Path> = None;
        for (arm, first) in (0..).zip(to) {
            let end = if join == Join::Block(*first) {
                Some(path.clone())
            } else {
                let mark = self.code.mark();
                let site = self.rewriter.site(pc, What::Branch);
                self.code.begin(arm, site);
                let end = self.walk(*first, join, path.clone())?;
                if !self.code.take_back(mark) {
                    self.code.end();
                }
                end
            };
            met = match (met, end) {
                (Some(mut met), Some(end)) => {
                    met.meet(&end);
                    Some(met)
                }
                (met, end) => met.or(end),
            };
        }
        self.code.take_back(before);
        self.nested -= 1;
        if let Some(met) = &mut met {
            met.visits = path.visits;
        }
        Ok(met)
    }

    fn local(&mut self, local: u16, path: &Path) -> Value {
        if let Some(value) = path.locals.get(&local) {
            return *value;
        }
        if let Some(register) = self.handed.iter().position(|one| *one == local) {
            return Some(register as u16);
        }
        let is_reference = self.slots.get(usize::from(local)) == Some(&Slot::Reference);
        if !is_reference || self.handed.len() == HANDED {
            return None;
        }
        self.handed.push(local);
        Some(self.handed.len() as u16 - 1)
    }

    /// What an instruction does. False if nobody knows what comes after it.
    fn step(&mut self, index: usize, path: &mut Path) -> Result<bool, Failure> {
        let instruction = self.rewriter.code.instruction(index);
        self.steps += 1;
        if self.steps > MOST_STEPS || self.code.events() >= MOST_EVENTS || self.code.registers() > MOST_REGISTERS {
            return Ok(false);
        }
        if let Some((is_store, is_reference, width, local)) = local_of(instruction) {
            if is_store {
                let value = if is_reference { path.peek(0) } else { None };
                path.pop(width);
                path.locals.insert(local, value);
                if width == 2 {
                    path.locals.insert(local + 1, None);
                }
            } else {
                let value = if is_reference { self.local(local, path) } else { None };
                path.push(value, width);
            }
            return Ok(true);
        }
        match instruction.opcode {
            opcode @ op::DUP..=op::SWAP => loops::duplicate(opcode, &mut path.stack),
            op::NEW => path.push(None, 1),
            // A cast is the same object.
            192 => {}
            op::GETFIELD..=op::PUTFIELD => return self.field(instruction, path),
            op::GETSTATIC | op::PUTSTATIC => return self.static_field(instruction, path),
            op::LDC | op::LDC_W => self.constant(instruction, path),
            op::MONITORENTER | op::MONITOREXIT => {
                let lock = path.peek(0);
                path.pop(1);
                if instruction.opcode == op::MONITORENTER {
                    let site = self.rewriter.site(instruction.pc, What::Enter);
                    self.code.enter(lock, site);
                } else {
                    let site = self.rewriter.site(instruction.pc, What::Leave);
                    self.code.leave(lock, site);
                }
            }
            op::INVOKEVIRTUAL..=op::INVOKEINTERFACE => return self.call(instruction, path),
            op::IRETURN..=op::RETURN => path.result = path.peek(0),
            op::ATHROW => return Ok(false),
            _ => {
                let Some(effect) = effect_of(instruction, &self.rewriter.class.pool) else { return Ok(false) };
                path.pop(effect.popped);
                path.push(None, effect.pushed);
            }
        }
        Ok(true)
    }

    fn field(&mut self, instruction: RawInstruction<'_>, path: &mut Path) -> Result<bool, Failure> {
        let Some(effect) = effect_of(instruction, &self.rewriter.class.pool) else { return Ok(false) };
        let watched = self.rewriter.field(instruction, false)?.map(|(field, _, _)| field);
        let is_write = instruction.opcode == op::PUTFIELD;
        let object = path.peek(effect.popped - 1);
        let value = if is_write { path.peek(0) } else { None };
        path.pop(effect.popped);
        let mut given = None;
        if let Some(object) = object {
            let field = match watched {
                Some(field) => Some(field),
                None => self.rewriter.value_field(instruction, false),
            };
            let what = if is_write { What::Write } else { What::Read };
            match field {
                Some(_) if is_write && watched.is_none() => {}
                Some(field) if is_write => {
                    let site = self.rewriter.site(instruction.pc, what(field));
                    self.code.write(object, field, value, site);
                }
                Some(field) if watched.is_some() || effect.gives_reference => {
                    given = effect.gives_reference.then(|| self.code.register());
                    let site = match watched {
                        Some(_) => self.rewriter.site(instruction.pc, what(field)),
                        None => 0,
                    };
                    self.code.read(given, object, field, site, watched.is_some());
                }
                _ => {}
            }
        }
        path.push(given, effect.pushed);
        Ok(true)
    }

    fn static_field(&mut self, instruction: RawInstruction<'_>, path: &mut Path) -> Result<bool, Failure> {
        let Some(effect) = effect_of(instruction, &self.rewriter.class.pool) else { return Ok(false) };
        let watched = self.rewriter.field(instruction, true)?.map(|(field, _, _)| field);
        let is_write = instruction.opcode == op::PUTSTATIC;
        let value = if is_write { path.peek(0) } else { None };
        path.pop(effect.popped);
        let mut given = None;
        match watched {
            Some(field) if is_write => {
                let site = self.rewriter.site(instruction.pc, What::Write(field));
                self.code.write_static(field, value, site);
            }
            Some(field) => {
                given = effect.gives_reference.then(|| self.code.register());
                let site = self.rewriter.site(instruction.pc, What::Read(field));
                self.code.read_static(given, field, site, true);
            }
            None if effect.gives_reference => {
                if let Some(field) = self.rewriter.value_field(instruction, true) {
                    let to = self.code.register();
                    given = Some(to);
                    self.code.read_static(given, field, 0, false);
                }
            }
            None => {}
        }
        path.push(given, effect.pushed);
        Ok(true)
    }

    fn constant(&mut self, instruction: RawInstruction<'_>, path: &mut Path) {
        let index = match instruction.opcode {
            op::LDC => instruction.bytes.get(1).map_or(0, |byte| u16::from(*byte)),
            _ => instruction.constant().unwrap_or(0),
        };
        let class = self.rewriter.class.pool.class(index).filter(|name| !name.starts_with(b"["));
        let value = class.map(|class| self.class_constant(class));
        path.push(value, 1);
    }

    fn class_constant(&mut self, class: &[u8]) -> u16 {
        let name = text_of(class).replace('/', ".");
        let place = self.names.iter().position(|one| *one == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        let to = self.code.register();
        self.code.class(to, place);
        to
    }

    /// A call of a method that no model knows: what its own code does, if that is watched. Only the run knows which method of
    /// which class it will be, and asks for it then.
    fn invoke(&mut self, instruction: RawInstruction<'_>, path: &mut Path, effect: Effect) -> bool {
        let constant = instruction.constant().unwrap_or(0);
        let Some([owner, name, descriptor]) = self.rewriter.class.pool.method(constant) else { return false };
        let is_known = self.rewriter.context.plan.includes(owner) && name != b"<init>" && !owner.starts_with(b"[");
        if !is_known {
            path.pop(effect.popped);
            path.push(None, effect.pushed);
            return true;
        }
        let first = path.stack.len().saturating_sub(effect.popped);
        let arguments: Vec<Value> = path.stack[first..].to_vec();
        path.pop(effect.popped);
        let is_own = owner == self.rewriter.context.name && self.rewriter.is_private(name, descriptor);
        let is_dispatched = matches!(instruction.opcode, op::INVOKEVIRTUAL | op::INVOKEINTERFACE) && !is_own;
        let text = |bytes| text_of(bytes).into_owned();
        let member = Member { class: text(owner), name: text(name), descriptor: text(descriptor) };
        let member = self.rewriter.context.sites.add_member(member);
        let to = effect.gives_reference.then(|| self.code.register());
        self.code.invoke(is_dispatched, member, to, &arguments);
        path.push(to, effect.pushed);
        true
    }

    /// A call: what a model says of it, else what the code says.
    fn call(&mut self, instruction: RawInstruction<'_>, path: &mut Path) -> Result<bool, Failure> {
        let Some(effect) = effect_of(instruction, &self.rewriter.class.pool) else { return Ok(false) };
        let Some((number, watched)) = self.rewriter.watched_call(instruction)? else {
            return Ok(self.invoke(instruction, path, effect));
        };
        let subject = match watched.subject {
            Operand::Receiver if instruction.opcode != op::INVOKESTATIC => path.peek(effect.popped - 1),
            _ => None,
        };
        path.pop(effect.popped);
        path.push(None, effect.pushed);
        let is_event = match watched.call {
            Call::Lock | Call::LockShared | Call::Unlock | Call::UnlockShared => false,
            Call::Read | Call::Write | Call::Update => true,
            Call::AtomicRead | Call::AtomicWrite | Call::AtomicUpdate => true,
            Call::View | Call::Condition | Call::SharedHalf | Call::ExclusiveHalf => return Ok(true),
            Call::NamedRead | Call::NamedWrite | Call::NamedUpdate => return Ok(true),
            // What is held afterwards, or comes before what others do, nobody knows.
            _ => return Ok(false),
        };
        let flags = watched.flags & !(flag::READS_OPERAND | flag::WRITES_OPERAND);
        let site = self.rewriter.site(instruction.pc, What::Call(number));
        if subject.is_some() || !is_event {
            self.code.call(subject, watched.call.number() | flags, site, is_event);
        }
        Ok(true)
    }
}

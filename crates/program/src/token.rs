//! Queues that hold one thing, which serves as a lock: who takes it has it, and puts it back.
//!
//! `Token token = queue.take(); try { ... } finally { queue.put(token); }`, where the constructor that makes the queue puts
//! one thing in, and nobody ever puts in what he has not taken there. With two of them, or one that is put in elsewhere, the
//! queue keeps nobody out.

use classfile::CallKind;
use location::{FieldName, MethodName};
use rustc_hash::FxHashSet;

use crate::class::{FieldId, MethodId, Program};
use crate::ir::{BlockId, Body, Op, Value};

/// Classes of such queues: an operation waits, and yields each thing once.
const QUEUES: [&str; 8] = [
    "java/util/concurrent/BlockingQueue",
    "java/util/concurrent/BlockingDeque",
    "java/util/concurrent/ArrayBlockingQueue",
    "java/util/concurrent/LinkedBlockingQueue",
    "java/util/concurrent/LinkedBlockingDeque",
    "java/util/concurrent/LinkedTransferQueue",
    "java/util/concurrent/TransferQueue",
    "java/util/concurrent/PriorityBlockingQueue",
];

/// The fields that hold such queues.
#[derive(Default)]
pub(crate) struct Tokens {
    fields: FxHashSet<FieldId>,
}

/// What a call does to such a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TokenOperation {
    Take,
    /// Takes it if the result is not null.
    Poll,
    Put,
}

/// What a method does with the queue that a field holds.
#[derive(Default)]
struct Uses {
    /// Queues that are stored; whether each is new and empty.
    stores: Vec<bool>,
    /// Things that a constructor puts in.
    first: usize,
    takes: usize,
    /// Something else is done to the queue.
    is_other: bool,
}

impl Tokens {
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Whether a method has to do with such a queue.
    pub(crate) fn concern(&self, program: &Program, method: MethodId) -> bool {
        let is_one =
            |field: &FieldName| program.resolve_field(*field).is_some_and(|field| self.fields.contains(&field));
        program.mentions[method.index()].reads.iter().any(is_one)
    }

    /// What a call does to such a queue, and the queue.
    pub(crate) fn operation(&self, program: &Program, body: &Body, call: Value) -> Option<(TokenOperation, Value)> {
        let Op::Call { kind, method, arguments } = *body.op(call) else { return None };
        if self.is_empty() || kind == CallKind::Static {
            return None;
        }
        let queue = body.without_casts(*body.operands(arguments).first()?);
        let field = field_of(body, queue)?;
        if body.method.name == program.roots.constructor || !self.fields.contains(&program.resolve_field(field)?) {
            return None;
        }
        Some((operation(program, method)?, queue))
    }

    pub(crate) fn find(program: &Program) -> Tokens {
        let queues: Vec<_> = QUEUES.iter().filter_map(|class| program.names.lookup(&format!("L{class};"))).collect();
        let is_queue = |field: &FieldName| queues.contains(&field.descriptor);
        if queues.is_empty() {
            return Tokens::default();
        }
        let wanted = |field: &FieldName| {
            let declared = program.resolve_field(*field).filter(|_| is_queue(field));
            declared.is_some_and(|field| {
                program.field(field).access.is_private() && program.is_final_field(program.field_name(field))
            })
        };
        let names = |method: MethodId| {
            let mentions = &program.mentions[method.index()];
            mentions.reads.iter().chain(&mentions.writes).any(wanted)
        };
        let found = program.visit_bodies(names, |method, body| {
            let mentions = &program.mentions[method.index()];
            let named = mentions.reads.iter().chain(&mentions.writes).copied();
            let fields: FxHashSet<FieldName> = named.filter(|field| wanted(field)).collect();
            fields.into_iter().map(|field| (field, uses(program, &body, field))).collect::<Vec<_>>()
        });
        let mut all: Vec<(FieldId, Uses)> = Vec::new();
        for (field, uses) in found.into_iter().flatten().flatten() {
            all.extend(program.resolve_field(field).map(|field| (field, uses)));
        }
        let is_token = |field: &FieldId| {
            let uses = || all.iter().filter(|(used, _)| used == field).map(|(_, uses)| uses);
            let is_made = |uses: &Uses| uses.stores.as_slice() == [true] && uses.first == 1;
            uses().all(|uses| !uses.is_other && (uses.stores.is_empty() && uses.first == 0 || is_made(uses)))
                && uses().any(is_made)
                && uses().any(|uses| uses.takes > 0)
        };
        let fields = all.iter().map(|(field, _)| *field).filter(is_token).collect();
        Tokens { fields }
    }
}

fn field_of(body: &Body, queue: Value) -> Option<FieldName> {
    match *body.op(queue) {
        Op::GetField { field, .. } | Op::GetStatic(field) => Some(field),
        _ => None,
    }
}

fn operation(program: &Program, method: MethodName) -> Option<TokenOperation> {
    match (program.names.text(method.name), program.names.text(method.descriptor)) {
        ("take", "()Ljava/lang/Object;") => Some(TokenOperation::Take),
        ("poll", "()Ljava/lang/Object;" | "(JLjava/util/concurrent/TimeUnit;)Ljava/lang/Object;") => {
            Some(TokenOperation::Poll)
        }
        ("put", "(Ljava/lang/Object;)V") | ("add" | "offer", "(Ljava/lang/Object;)Z") => Some(TokenOperation::Put),
        _ => None,
    }
}

/// Calls that change nothing.
fn is_look(program: &Program, method: MethodName) -> bool {
    matches!(
        program.names.text(method.name),
        "size" | "isEmpty" | "peek" | "remainingCapacity" | "hashCode" | "toString"
    )
}

fn uses(program: &Program, body: &Body, field: FieldName) -> Uses {
    let is_same = |other: FieldName| program.resolve_field(other) == program.resolve_field(field);
    let is_maker = program.names.text(body.method.name).starts_with('<');
    let mut uses = Uses::default();
    let mut stored = Vec::new();
    for (_, instruction) in body.instructions() {
        match instruction.op {
            Op::PutField { field: written, value, .. } | Op::PutStatic { field: written, value }
                if is_same(written) =>
            {
                stored.push(body.without_casts(value));
                uses.is_other |= !is_maker;
            }
            _ => {}
        }
    }
    uses.stores = stored.iter().map(|queue| is_new_and_empty(program, body, *queue)).collect();
    let is_queue = |value: Value| {
        let value = body.without_casts(value);
        stored.contains(&value) || field_of(body, value).is_some_and(is_same)
    };
    let mut puts: Vec<(Value, Value)> = Vec::new();
    for (at, instruction) in body.instructions() {
        let mut others = 0;
        match instruction.op {
            Op::Call { kind, method, arguments } if kind != CallKind::Static => {
                let given = body.operands(arguments);
                if is_queue(given[0]) && method.name != program.roots.constructor {
                    match (operation(program, method), given.get(1)) {
                        (Some(TokenOperation::Put), Some(_)) if is_maker => {
                            uses.first += if comes_back(body, body.block_of(at), body.block_of(at)) { 2 } else { 1 };
                        }
                        (Some(TokenOperation::Put), Some(thing)) => puts.push((at, body.without_casts(*thing))),
                        (Some(TokenOperation::Take | TokenOperation::Poll), _) if !is_maker => uses.takes += 1,
                        _ => others += usize::from(!is_look(program, method)),
                    }
                }
                others += given.iter().skip(1).filter(|given| is_queue(**given)).count();
            }
            Op::PutField { field: written, .. } | Op::PutStatic { field: written, .. } if is_same(written) => {}
            Op::Cast(..) => {}
            op => body.for_each_operand(&op, |value| others += usize::from(is_queue(value))),
        }
        uses.is_other |= others > 0;
    }
    // What goes back was taken here, and once each time.
    let is_taken = |thing: Value| match *body.op(thing) {
        Op::Call { method, arguments, .. } => {
            body.operands(arguments).first().is_some_and(|queue| is_queue(*queue))
                && matches!(operation(program, method), Some(TokenOperation::Take | TokenOperation::Poll))
        }
        _ => false,
    };
    let is_again = |(first, thing): (Value, Value), second: Value| {
        let (from, to) = (body.block_of(first), body.block_of(second));
        match from == to {
            true => first < second,
            false => leads_to(body, from, to, body.block_of(thing)),
        }
    };
    uses.is_other |= puts.iter().any(|(_, thing)| !is_taken(*thing))
        || puts.iter().any(|put| puts.iter().any(|(other, _)| *other != put.0 && is_again(*put, *other)));
    uses
}

fn is_new_and_empty(program: &Program, body: &Body, queue: Value) -> bool {
    let is_made = |instruction: &crate::ir::Instruction| match instruction.op {
        Op::Call { method, arguments, .. } => {
            method.name == program.roots.constructor
                && body.operands(arguments).first() == Some(&queue)
                && matches!(
                    program.names.text(method.descriptor),
                    "()V" | "(I)V" | "(IZ)V" | "(ILjava/util/Comparator;)V"
                )
        }
        _ => false,
    };
    matches!(body.op(queue), Op::New(_)) && body.instructions().any(|(_, instruction)| is_made(instruction))
}

/// Whether control comes from the end of one block to another one, on a way around a third.
fn leads_to(body: &Body, from: BlockId, to: BlockId, barrier: BlockId) -> bool {
    let mut seen = vec![false; body.block_count()];
    let mut pending: Vec<BlockId> = body.block(from).successors.iter().copied().collect();
    while let Some(block) = pending.pop() {
        if block == to {
            return true;
        }
        if block != barrier && !std::mem::replace(&mut seen[block.index()], true) {
            pending.extend(body.block(block).successors.iter().chain(&body.block(block).handlers).copied());
        }
    }
    false
}

fn comes_back(body: &Body, from: BlockId, to: BlockId) -> bool {
    let nowhere = BlockId(u32::MAX);
    leads_to(body, from, to, nowhere)
}

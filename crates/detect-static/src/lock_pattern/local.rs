//! Objects that no other thread can know: made in a method and never handed out by it.

use location::MethodName;
use program::ir::{Body, CallKind, Op, Value};
use program::{Calls, MethodId, Path, Program, Root};
use rustc_hash::FxHashSet;

/// Calls further down than this are taken to hand out what they are given.
const MAX_DEPTH: usize = 4;

pub(super) struct Locals<'l> {
    pub(super) program: &'l Program,
    pub(super) calls: &'l Calls,
}

impl Locals<'_> {
    /// Whether what a name starts from is known to one thread alone while the method runs: an object that the method
    /// makes and keeps, or that it is making.
    pub(super) fn is_local(&self, body: &Body, lock: &Path) -> bool {
        let name = self.program.names.text(body.method.name);
        match lock.root {
            // A constructor that hands its object out is another mistake.
            Root::This => name == "<init>",
            Root::Value(value) => self.is_made(body, value) && !self.is_out(body, value, 0, &mut FxHashSet::default()),
            Root::Class(class) => name == "<clinit>" && class == body.method.class,
            Root::Static(field) => name == "<clinit>" && field.class == body.method.class,
            Root::Unknown => false,
        }
    }

    /// Whether a register holds a new object.
    fn is_made(&self, body: &Body, value: Value) -> bool {
        match *body.op(value) {
            Op::New(_) | Op::NewArray { .. } => true,
            Op::Call { method, .. } => {
                let (name, descriptor) = (method.name, method.descriptor);
                self.program.names.text(name) == "clone" && self.program.names.text(descriptor).starts_with("()")
            }
            _ => false,
        }
    }

    /// Whether a method may hand out an object that it has in a register.
    fn is_out(&self, body: &Body, object: Value, depth: usize, asked: &mut FxHashSet<(MethodId, u16)>) -> bool {
        let mut known = vec![object];
        let mut next = 0;
        while let Some(&object) = known.get(next) {
            next += 1;
            for (value, instruction) in body.instructions() {
                let mut is_used = false;
                body.for_each_operand(&instruction.op, |operand| is_used |= operand == object);
                if !is_used {
                    continue;
                }
                match instruction.op {
                    Op::Phi(_) | Op::Cast(..) if !known.contains(&value) => known.push(value),
                    // What goes into the object itself stays with it.
                    Op::PutField { value: stored, base, .. } if stored == object && !known.contains(&base) => {
                        return true;
                    }
                    Op::PutStatic { .. } | Op::CallDynamic { .. } => return true,
                    Op::ArrayStore { value: stored, .. } if stored == object => return true,
                    Op::Call { kind, method, arguments } => {
                        let operands = body.operands(arguments);
                        let positions = operands.iter().enumerate().filter(|(_, operand)| **operand == object);
                        for (position, _) in positions {
                            if self.is_out_by_call(kind, method, position, depth, asked) {
                                return true;
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        false
    }

    fn is_out_by_call(
        &self,
        kind: CallKind,
        method: MethodName,
        position: usize,
        depth: usize,
        asked: &mut FxHashSet<(MethodId, u16)>,
    ) -> bool {
        let program = self.program;
        let targets = self.calls.targets(program, kind, method);
        let is_receiver = position == 0 && kind != CallKind::Static;
        let has_code =
            |target: &MethodId| program.method(*target).has_code && program.is_checked(program.class_of(*target));
        if targets.known().is_empty() || !targets.known().iter().all(has_code) {
            // Library code keeps what it is given, but not what it is called on; a thread is known to itself.
            return !is_receiver || self.is_thread(method);
        }
        targets.known().iter().any(|target| {
            if depth == MAX_DEPTH {
                return true;
            }
            if !asked.insert((*target, position as u16)) {
                return false;
            }
            let Ok(Some(body)) = program.body(*target) else { return true };
            let parameter = body.instructions().nth(position).map(|(value, _)| value);
            parameter.is_none_or(|parameter| self.is_out(&body, parameter, depth + 1, asked))
        })
    }

    fn is_thread(&self, method: MethodName) -> bool {
        let thread = self.program.names.class("java/lang/Thread");
        self.program.is_subtype(method.class, thread)
    }
}

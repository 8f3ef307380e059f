//! Where in a constructor `this` may still be without its superclass's part: nobody may get it there, not even a probe.
//!
//! Each path counts the objects of the class and its superclass that it has made and not yet initialized. A constructor
//! that is called when no such object is left must be called on `this`. Paths that disagree keep the higher count, so
//! the answer errs on the side of "may be".

use super::code::CodeEditor;
use super::opcode::op;
use super::pool::ConstantPool;

const UNREACHED: i16 = -1;
const INITIALIZED: i16 = 0;
/// More is never counted.
const MANY: i16 = 1_000;

impl CodeEditor<'_> {
    /// For each instruction of a constructor, whether `this` may be uninitialized before it. `classes` are the class
    /// itself and its superclass.
    pub fn uninitialized_this(&self, pool: &ConstantPool<'_>, classes: [&[u8]; 2]) -> Vec<bool> {
        let mut states = vec![UNREACHED; self.starts.len()];
        states[0] = 1;
        let mut pending = vec![0];
        let index_of = |pc: i64| u32::try_from(pc).ok().and_then(|pc| self.starts.binary_search(&pc).ok());
        while let Some(index) = pending.pop() {
            let instruction = self.instruction(index);
            let before = states[index];
            let after = match instruction.opcode {
                _ if before == INITIALIZED || before == MANY => before,
                op::NEW if is_one(pool.class(instruction.constant().unwrap_or(0)), classes) => before + 1,
                op::INVOKESPECIAL => match pool.method(instruction.constant().unwrap_or(0)) {
                    Some([owner, b"<init>", _]) if is_one(Some(owner), classes) => before - 1,
                    _ => before,
                },
                _ => before,
            };
            let mut join = |index: Option<usize>, state: i16| {
                if let Some(index) = index.filter(|index| *index < states.len())
                    && states[index] < state
                {
                    states[index] = state;
                    pending.push(index);
                }
            };
            if instruction.falls_through() {
                join(Some(index + 1), after);
            }
            if let Some(target) = instruction.target() {
                join(index_of(target), after);
            }
            for place in instruction.switch_distances() {
                join(index_of(instruction.switch_target(place)), after);
            }
            for handler in &self.handlers {
                if (u32::from(handler.start)..u32::from(handler.end)).contains(&instruction.pc) {
                    join(index_of(handler.handler.into()), before);
                }
            }
        }
        states.iter().map(|state| *state != INITIALIZED).collect()
    }
}

fn is_one(class: Option<&[u8]>, classes: [&[u8]; 2]) -> bool {
    class.is_some_and(|class| classes.contains(&class))
}

//! Locals and operand stack while code is translated.

use classfile::{Error, StackOp};
use smallvec::SmallVec;

use super::{Value, ValueType};

/// More operands than any verifiable method has.
const MAX_STACK: usize = 65_536;

/// What each local and each stack slot holds. A `long` or `double` is one entry of the stack. Each block has two of
/// these, so that few have memory of their own.
#[derive(Default)]
pub(super) struct State {
    pub(super) locals: SmallVec<[Option<Value>; 8]>,
    pub(super) stack: SmallVec<[Value; 4]>,
}

impl Clone for State {
    fn clone(&self) -> State {
        // Whole slices: a copy of such a vector goes element by element.
        State { locals: SmallVec::from_slice(&self.locals), stack: SmallVec::from_slice(&self.stack) }
    }
}

impl State {
    pub(super) fn push(&mut self, value: Value, pc: u32) -> Result<(), Error> {
        if self.stack.len() >= MAX_STACK {
            return Err(Error::BadCode { pc, reason: "the operand stack overflows" });
        }
        self.stack.push(value);
        Ok(())
    }

    pub(super) fn pop(&mut self, pc: u32) -> Result<Value, Error> {
        self.stack.pop().ok_or(Error::BadCode { pc, reason: "the operand stack is empty" })
    }

    pub(super) fn load(&self, slot: u16, pc: u32) -> Result<Value, Error> {
        self.locals
            .get(usize::from(slot))
            .copied()
            .flatten()
            .ok_or(Error::BadCode { pc, reason: "a local is read that was never written" })
    }

    pub(super) fn store(&mut self, slot: u16, value: Value, pc: u32) -> Result<(), Error> {
        match self.locals.get_mut(usize::from(slot)) {
            Some(local) => {
                *local = Some(value);
                Ok(())
            }
            None => Err(Error::BadCode { pc, reason: "a local is outside the frame" }),
        }
    }

    /// The untyped stack instructions. Whether `dup2` means one wide value or two depends on what is there.
    pub(super) fn shuffle(
        &mut self,
        operation: StackOp,
        pc: u32,
        type_of: impl Fn(Value) -> ValueType,
    ) -> Result<(), Error> {
        let wide = |value: Value| type_of(value).is_wide();
        match operation {
            StackOp::Pop => {
                self.pop(pc)?;
            }
            StackOp::Pop2 => {
                let top = self.pop(pc)?;
                if !wide(top) {
                    self.pop(pc)?;
                }
            }
            StackOp::Dup => {
                let top = self.pop(pc)?;
                self.stack.extend([top, top]);
            }
            StackOp::DupX1 => {
                let (top, second) = (self.pop(pc)?, self.pop(pc)?);
                self.stack.extend([top, second, top]);
            }
            StackOp::DupX2 => {
                let (top, second) = (self.pop(pc)?, self.pop(pc)?);
                if wide(second) {
                    self.stack.extend([top, second, top]);
                } else {
                    let third = self.pop(pc)?;
                    self.stack.extend([top, third, second, top]);
                }
            }
            StackOp::Dup2 => {
                let top = self.pop(pc)?;
                if wide(top) {
                    self.stack.extend([top, top]);
                } else {
                    let second = self.pop(pc)?;
                    self.stack.extend([second, top, second, top]);
                }
            }
            StackOp::Dup2X1 => {
                let (top, second) = (self.pop(pc)?, self.pop(pc)?);
                if wide(top) {
                    self.stack.extend([top, second, top]);
                } else {
                    let third = self.pop(pc)?;
                    self.stack.extend([second, top, third, second, top]);
                }
            }
            StackOp::Dup2X2 => {
                let (top, second) = (self.pop(pc)?, self.pop(pc)?);
                match (wide(top), wide(second)) {
                    (true, true) => self.stack.extend([top, second, top]),
                    (true, false) => {
                        let third = self.pop(pc)?;
                        self.stack.extend([top, third, second, top]);
                    }
                    (false, _) => {
                        let third = self.pop(pc)?;
                        if wide(third) {
                            self.stack.extend([second, top, third, second, top]);
                        } else {
                            let fourth = self.pop(pc)?;
                            self.stack.extend([second, top, fourth, third, second, top]);
                        }
                    }
                }
            }
            StackOp::Swap => {
                let (top, second) = (self.pop(pc)?, self.pop(pc)?);
                self.stack.extend([top, second]);
            }
        }
        if self.stack.len() > MAX_STACK {
            return Err(Error::BadCode { pc, reason: "the operand stack overflows" });
        }
        Ok(())
    }
}

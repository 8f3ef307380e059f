//! The code editor: inserts straight-line code into methods, adds constants, fields and methods of such code, and moves all
//! that refers to places in the code.
//!
//! Works on bytes, since nothing may be lost on the way: what is not edited stays as it was, byte by byte. The rules of
//! relocation:
//!
//! - Around an instruction lie what runs before it, the instruction, and what runs after it. Jumps, frames, handlers and
//!   tables that name the instruction mean the start of what runs before it; an uninitialized object is known by its
//!   `new` itself.
//! - What runs after an instruction is reached only from it: who jumps to the next one does not pass there.
//! - Inserted code never jumps, so it needs no frames. The only new frames are those of added handlers.
//! - What an insertion keeps in local variables lies above all that the method uses, and no frame speaks of it, unless it
//!   is said to last: then every frame does.
//!
//! Attributes of code that nobody reads while a program runs, such as annotations on types of local variables, are
//! dropped where a method is edited: their offsets would lie.

mod class;
mod code;
mod flow;
mod frames;
mod layout;
mod limit;
mod opcode;
mod pool;
mod relocate;
mod snippet;

pub use class::{BootstrapMethod, ClassEditor};
pub use code::{CodeEditor, LocalsAtHandler, Place};
pub use frames::{Frame, LocalType, Slot};
pub use layout::Member;
pub use limit::{EditError, Limit};
pub use opcode::{RawInstruction, op};
pub(crate) use opcode::{length, padding};
pub use pool::ConstantPool;
pub use snippet::Snippet;

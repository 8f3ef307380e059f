//! Class files: from bytes and archives to classes with decoded instructions, and the editor that changes them.
//!
//! Knows nothing of analyses. Does no IO of its own: the command opens files and hands in readers.

mod annotation;
pub mod archive;
mod class;
mod code;
mod constant;
mod constants;
mod cursor;
mod decode;
mod descriptor;
pub mod edit;
mod error;
mod instruction;
mod known;
mod mention;
mod module;
mod references;
mod source;
mod text;

pub use annotation::Annotation;
pub use class::{Access, Class, Field, Header, Method};
pub use code::{Code, Handler, LocalName};
pub use constant::{Bootstrap, Constant, HandleKind, MethodHandle};
pub use descriptor::{MethodDescriptor, Type, parse_field, parse_method, split_method};
pub use error::Error;
pub use instruction::{
    Against, Arithmetic, ArrayKind, CallKind, Condition, DynamicCall, Instruction, Kind, Operation, StackOp, Switch,
};
pub use known::{ClassAgain, KnownClass};
pub use mention::{Mention, classes_in};
pub use module::Module;
pub use references::Reference;
pub use source::{ClassSource, Skipped};
pub use text::text_of;

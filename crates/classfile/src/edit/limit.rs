//! Why code could not be edited.

use std::fmt;

use crate::Error;

/// A limit of the class file format that an edit would exceed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Limit {
    /// 65,535 bytes of code.
    Code,
    /// A jump over more than 32,767 bytes that no longer one can stand for.
    Jump,
    /// 65,535 constants.
    Constants,
    Locals,
    Stack,
    Fields,
    Methods,
    Handlers,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::Code => "its code would be longer than 65,535 bytes",
            Limit::Jump => "a jump would be too far",
            Limit::Constants => "its class would have more than 65,535 constants",
            Limit::Locals => "it would have more than 65,535 local variables",
            Limit::Stack => "its stack would be deeper than 65,535",
            Limit::Fields => "its class would have more than 65,535 fields",
            Limit::Methods => "its class would have more than 65,535 methods",
            Limit::Handlers => "it would have more than 65,535 exception handlers",
        })
    }
}

/// The class cannot be read, or the result would not be a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EditError {
    Class(Error),
    Limit(Limit),
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EditError::Class(error) => error.fmt(f),
            EditError::Limit(limit) => limit.fmt(f),
        }
    }
}

impl std::error::Error for EditError {}

impl From<Error> for EditError {
    fn from(error: Error) -> EditError {
        EditError::Class(error)
    }
}

impl From<Limit> for EditError {
    fn from(limit: Limit) -> EditError {
        EditError::Limit(limit)
    }
}

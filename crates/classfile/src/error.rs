//! Why a class could not be read.

use std::fmt;

/// What is wrong with a class file. Bad input is a value, never a panic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// Not of the class file format; says where the reader stopped.
    Malformed(String),
    /// Of a version that this reader does not know.
    UnknownVersion { major: u16, minor: u16 },
    /// One method's code breaks the rules of bytecode.
    BadCode { pc: u32, reason: &'static str },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Malformed(reason) => write!(f, "malformed class file: {reason}"),
            Error::UnknownVersion { major, minor } => write!(f, "class file version {major}.{minor} is not known"),
            Error::BadCode { pc, reason } => write!(f, "bad code at offset {pc}: {reason}"),
        }
    }
}

impl std::error::Error for Error {}

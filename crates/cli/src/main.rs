//! The command.

#[allow(dead_code, reason = "the command does not read inputs yet")]
mod input;

fn main() {}

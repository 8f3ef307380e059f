//! What the JDK's own classes, and some well-known libraries, lock, touch, start, order and hand over.
//!
//! Library code is not analysed: at a call of it, these tables answer. Each file is one family of classes; `line.rs` has
//! the words they are written in, `call.rs` what an answer says, `lookup.rs` which line applies. What locks do is not
//! here but in the analysis of sections. For people: `docs/library-models.md`.

mod atomic;
mod buffers;
mod call;
mod collections;
mod concurrent;
mod entry;
mod factories;
mod frameworks;
mod holders;
mod immutable;
mod libraries;
mod line;
mod locks;
mod lookup;
pub(crate) mod memory;
pub(crate) mod numbers;
mod sinks;
mod tasks;
mod threads;
mod world;

#[cfg(test)]
mod tests;

pub use call::{
    Access, After, Arguments, CallModel, Effect, Order, OrderKind, Pool, Product, Returns, Revalidation, Runner,
    Section, Sink, Start, State, Target, Task, Times, When,
};
pub use collections::only_adds;
pub use entry::{EntryPoint, TaskEntry, immutable_classes, task_entries};
pub use frameworks::Instances;
pub use line::Origin;
pub(crate) use lookup::linearize;
pub use lookup::{Ancestry, Models, NamedMethod, Supertypes, named_methods};
pub use world::is_ever_new;

/// All tables. A class is in one of them alone.
const FAMILIES: &[&[line::Table]] = &[
    atomic::TABLES,
    buffers::TABLES,
    collections::TABLES,
    concurrent::TABLES,
    factories::TABLES,
    holders::TABLES,
    immutable::TABLES,
    libraries::TABLES,
    locks::TABLES,
    sinks::TABLES,
    threads::TABLES,
];

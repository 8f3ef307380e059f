//! Where each register's value comes from.
//!
//! Sparse over registers: a register has the union of its operands' sources. A value passes through a point of the
//! code where each register on its way is set; a section that was open at its origin and is not open there has ended.

use location::Symbol;
use smallvec::SmallVec;

use super::waits::{Point, Waits};
use super::{EventId, Origin, SectionSet, Source, Sources};
use crate::control::empty;
use crate::ir::{Body, Op, Value};

/// More sources than this are cut: such a value depends on about everything.
const MAX_SOURCES: usize = 24;

/// What is known of a body before values are followed.
pub(super) struct Places<'p> {
    pub(super) body: &'p Body,
    /// By register: its event, if it is one.
    pub(super) event: Vec<Option<EventId>>,
    /// By register: the sections that are open there.
    pub(super) held: Vec<SectionSet>,
    /// By register: the sections that are open there or not, depending on how control got there.
    pub(super) perhaps: Vec<SectionSet>,
    /// By event: the sections that are open there.
    pub(super) event_held: Vec<SectionSet>,
    /// The symbol `<init>`.
    pub(super) constructor: Symbol,
    /// Phis that choose between constants, with the operands of the conditions that make the choice: what
    /// `a < b ? true : false` yields comes from `a` and `b`.
    pub(super) choices: Vec<(Value, SmallVec<[Value; 4]>)>,
    pub(super) waits: Waits,
    /// Where sections are closed that are open or not somewhere.
    pub(super) ends: Waits,
}

impl Places<'_> {
    /// A source as it is seen after a way.
    fn passed(&self, source: Source, way: Way) -> Source {
        let open = match source.origin {
            Origin::Parameter(_) => SectionSet::default(),
            Origin::Event(event) => self.event_held[event.index()],
        };
        let ended = open.without(way.open).union(open.intersection(way.waited));
        Source { origin: source.origin, ended: source.ended.union(ended) }
    }

    /// From where a register is set to `point`, as far as which the value got to be seen at `at`.
    fn way(&self, set: Value, point: Point, at: Value) -> Way {
        let perhaps = self.perhaps[at.index()];
        let mut open = self.held[at.index()];
        if !perhaps.is_empty() {
            // What the value did not pass the end of is open as long as it may be.
            open = open.union(perhaps.without(self.ends.between(self.body, set, point)));
        }
        Way { open, waited: self.waits.between(self.body, set, point) }
    }
}

/// What happens to sections while a value goes from one place to another.
#[derive(Clone, Copy)]
struct Way {
    /// The sections that are open at its end and were not closed on it.
    open: SectionSet,
    /// Those whose lock was let go in a wait.
    waited: SectionSet,
}

pub(super) struct Flow<'f> {
    places: &'f Places<'f>,
    sources: Vec<Sources>,
}

impl<'f> Flow<'f> {
    pub(super) fn compute(places: &'f Places<'f>) -> Flow<'f> {
        let body = places.body;
        let mut flow = Flow { places, sources: empty(body.value_count()) };
        // Registers are numbered in reverse postorder: only values carried around loops need further passes.
        let mut changed = true;
        while changed {
            changed = false;
            for (value, instruction) in body.instructions() {
                changed |= flow.step(value, &instruction.op);
            }
            for (phi, deciding) in &places.choices {
                for operand in deciding {
                    changed |= flow.join(*phi, *operand, *phi, Point::before(body, *phi));
                }
            }
        }
        flow
    }

    /// The sources of several values, as seen at the instruction `at`.
    pub(super) fn of(&self, values: impl IntoIterator<Item = Value>, at: Value) -> Sources {
        let places = self.places;
        self.seen(values, |value| places.way(value, Point::before(places.body, at), at))
    }

    /// The sources of several values, as seen by whoever called the method.
    pub(super) fn after(&self, values: impl IntoIterator<Item = Value>, at: Value) -> Sources {
        let Places { body, waits, .. } = self.places;
        let waited = |value| waits.between(body, value, Point::before(body, at));
        self.seen(values, |value| Way { open: SectionSet::default(), waited: waited(value) })
    }

    fn seen(&self, values: impl IntoIterator<Item = Value>, way: impl Fn(Value) -> Way) -> Sources {
        let mut all = Sources::new();
        for value in values {
            let way = way(value);
            for source in &self.sources[value.index()] {
                add(&mut all, self.places.passed(*source, way));
            }
        }
        all
    }

    fn step(&mut self, value: Value, op: &Op) -> bool {
        let body = self.places.body;
        let mut changed = false;
        match *op {
            Op::Parameter(position) => {
                let source = Source { origin: Origin::Parameter(position), ended: SectionSet::default() };
                return add(&mut self.sources[value.index()], source);
            }
            // What is put into an object that this method makes is part of it.
            Op::PutField { base: object, value: part, .. } | Op::ArrayStore { array: object, value: part, .. }
                if matches!(body.op(object), Op::New(_) | Op::NewArray { .. }) =>
            {
                return self.join(object, part, value, Point::before(body, value));
            }
            Op::Call { method, arguments, .. } if method.name == self.places.constructor => {
                if let [object, parts @ ..] = body.operands(arguments)
                    && matches!(body.op(*object), Op::New(_))
                {
                    for part in parts {
                        changed |= self.join(*object, *part, value, Point::before(body, value));
                    }
                    // What the constructor finds in its arguments is part of it, too.
                    if let Some(event) = self.places.event[value.index()] {
                        let source = Source { origin: Origin::Event(event), ended: SectionSet::default() };
                        changed |= add(&mut self.sources[object.index()], source);
                    }
                    return changed;
                }
            }
            _ => {}
        }
        if let Some(event) = self.places.event[value.index()] {
            let source = Source { origin: Origin::Event(event), ended: SectionSet::default() };
            return add(&mut self.sources[value.index()], source);
        }
        let mut operands: SmallVec<[Value; 4]> = SmallVec::new();
        match op {
            Op::Phi(_)
            | Op::Negate(_)
            | Op::Arithmetic(..)
            | Op::Convert(_)
            | Op::Compare(..)
            | Op::Cast(..)
            | Op::InstanceOf(..)
            | Op::ArrayLength(_)
            | Op::NewArray { .. }
            | Op::Call { .. }
            | Op::CallDynamic { .. } => body.for_each_operand(op, |operand| operands.push(operand)),
            _ => {}
        }
        for (position, operand) in operands.into_iter().enumerate() {
            let point = match op {
                Op::Phi(_) => Point::end_of(body, body.block(body.block_of(value)).predecessors[position].block),
                _ => Point::before(body, value),
            };
            changed |= self.join(value, operand, value, point);
        }
        changed
    }

    /// What `from` holds flows into `into`, at the instruction `at`, having got as far as `point`.
    fn join(&mut self, into: Value, from: Value, at: Value, point: Point) -> bool {
        let way = self.places.way(from, point, at);
        let mut changed = false;
        if from == into {
            for source in self.sources[from.index()].clone() {
                changed |= add(&mut self.sources[into.index()], self.places.passed(source, way));
            }
            return changed;
        }
        let mut joined = std::mem::take(&mut self.sources[into.index()]);
        for source in &self.sources[from.index()] {
            changed |= add(&mut joined, self.places.passed(*source, way));
        }
        self.sources[into.index()] = joined;
        changed
    }
}

/// Adds a source; tells whether that changed anything.
pub(super) fn add(sources: &mut Sources, source: Source) -> bool {
    match sources.binary_search_by_key(&source.origin, |known| known.origin) {
        Ok(at) => {
            let ended = sources[at].ended.union(source.ended);
            let changed = ended != sources[at].ended;
            sources[at].ended = ended;
            changed
        }
        Err(at) if sources.len() < MAX_SOURCES => {
            sources.insert(at, source);
            true
        }
        Err(_) => false,
    }
}

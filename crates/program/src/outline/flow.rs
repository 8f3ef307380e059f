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
    /// By event: the sections that are open there.
    pub(super) event_held: Vec<SectionSet>,
    /// The symbol `<init>`.
    pub(super) constructor: Symbol,
    /// Phis that choose between constants, with the operands of the conditions that make the choice: what
    /// `a < b ? true : false` yields comes from `a` and `b`.
    pub(super) choices: Vec<(Value, SmallVec<[Value; 4]>)>,
    pub(super) waits: Waits,
}

impl Places<'_> {
    /// A source as it is seen at a point where `here` is open, after the locks of the sections `waited` were let go.
    fn passed(&self, source: Source, here: SectionSet, waited: SectionSet) -> Source {
        let open = match source.origin {
            Origin::Parameter(_) => SectionSet::default(),
            Origin::Event(event) => self.event_held[event.index()],
        };
        let ended = open.without(here).union(open.intersection(waited));
        Source { origin: source.origin, ended: source.ended.union(ended) }
    }
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
        self.seen(values, at, self.places.held[at.index()])
    }

    /// The sources of several values, as seen by whoever called the method.
    pub(super) fn after(&self, values: impl IntoIterator<Item = Value>, at: Value) -> Sources {
        self.seen(values, at, SectionSet::default())
    }

    fn seen(&self, values: impl IntoIterator<Item = Value>, at: Value, here: SectionSet) -> Sources {
        let mut all = Sources::new();
        for value in values {
            let waited = self.places.waits.between(self.places.body, value, Point::before(self.places.body, at));
            for source in &self.sources[value.index()] {
                add(&mut all, self.places.passed(*source, here, waited));
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
        let here = self.places.held[at.index()];
        let waited = self.places.waits.between(self.places.body, from, point);
        let mut changed = false;
        if from == into {
            for source in self.sources[from.index()].clone() {
                changed |= add(&mut self.sources[into.index()], self.places.passed(source, here, waited));
            }
            return changed;
        }
        let mut joined = std::mem::take(&mut self.sources[into.index()]);
        for source in &self.sources[from.index()] {
            changed |= add(&mut joined, self.places.passed(*source, here, waited));
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

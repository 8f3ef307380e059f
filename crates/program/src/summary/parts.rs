//! What the parts of an object know of it: `part = new Part(lock)` keeps the lock of the whole, and `new Part(this)` the
//! whole itself. By that `this.part.guard` is `this.lock`, and `this.part.whole.count` is `this.count`.

use location::{ClassName, FieldName};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::holding::Holdings;
use crate::class::{FieldId, Program};
use crate::outline::{Action, Argument, Member, Name, NameStep, Object, Outline, Start};

/// Way from the whole to something that a part was given.
type Way = SmallVec<[NameStep; 1]>;

/// What an object was given when it was made.
struct Given {
    class: ClassName,
    /// By position: the way from the whole, where it is known.
    ways: Vec<Option<Way>>,
}

/// By final field that holds a part: what the part was given.
#[derive(Default)]
pub(super) struct Parts(FxHashMap<FieldId, Given>);

impl Parts {
    /// Notes what the only constructor of the whole gives to a part that it makes.
    pub(super) fn add(&mut self, program: &Program, outline: &Outline, part: FieldId, register: u32) {
        let is_it = |object: &Object| matches!(object, Object::New { register: made, .. } if *made == register);
        let given = outline.events.iter().find_map(|event| match &event.action {
            Action::Call { method, arguments, .. } if program.names.text(method.name) == "<init>" => {
                let is_made = arguments.first().is_some_and(|first| first.objects.iter().any(is_it));
                is_made.then_some((method.class, arguments))
            }
            _ => None,
        });
        let Some((class, arguments)) = given else { return };
        let ways: Vec<Option<Way>> = arguments.iter().map(|argument| way(program, outline, argument)).collect();
        if ways.iter().any(Option::is_some) {
            self.0.insert(part, Given { class, ways });
        }
    }
}

/// How the whole, which is being made, calls what it gives to a part.
fn way(program: &Program, outline: &Outline, argument: &Argument) -> Option<Way> {
    let name = &argument.name;
    let is_fixed = |step: &NameStep| matches!(step, NameStep::Field(field) if program.is_final_field(*field));
    if name.start == Start::Parameter(0) && name.steps.len() <= 1 && name.steps.iter().all(is_fixed) {
        return Some(name.steps.iter().copied().collect());
    }
    // What the whole keeps as well.
    outline.events.iter().find_map(|event| match &event.action {
        Action::Write { base, member: Member::Field(field), stored, .. }
            if *base == Name::start(Start::Parameter(0))
                && program.is_final_field(*field)
                && matches!(name.start, Start::Parameter(_) | Start::New(_))
                && stored.name == *name =>
        {
            Some(SmallVec::from_elem(NameStep::Field(*field), 1))
        }
        _ => None,
    })
}

impl Holdings {
    /// A name without detours by a part that leads back to the whole.
    pub(super) fn shortened(&self, program: &Program, name: Name) -> Name {
        let mut name = name;
        // Each round takes a step away.
        while let Some((at, way)) = self.detour(program, &name) {
            let steps = name.steps[..at].iter().chain(way).chain(&name.steps[at + 2..]).copied();
            name = Name { start: name.start, steps: steps.collect() };
        }
        name
    }

    /// Where a name goes to a part and on to what the part was given, and the way there from the whole.
    fn detour(&self, program: &Program, name: &Name) -> Option<(usize, &Way)> {
        name.steps.windows(2).enumerate().find_map(|(at, pair)| match pair {
            [NameStep::Field(part), NameStep::Field(kept)] => Some((at, self.way(program, *part, *kept)?)),
            _ => None,
        })
    }

    fn way(&self, program: &Program, part: FieldName, kept: FieldName) -> Option<&Way> {
        let given = self.parts.0.get(&program.resolve_field(part)?)?;
        let class = program.class_of_field(program.resolve_field(kept)?);
        let position = self.kept(program, kept).filter(|_| program.header(class).name == given.class)?;
        given.ways.get(usize::from(position))?.as_ref()
    }
}

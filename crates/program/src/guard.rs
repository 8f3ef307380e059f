//! Which locks guard a field, and how consistently; and which locks are only ever taken under another one.
//!
//! Locks are compared by how they are reached from what they guard, so `this.lock` of one object is not that of another.

use location::Names;

use crate::annotation::Guard;
use crate::class::{FieldId, MethodId, Program};
use crate::held::{HeldLock, Relation, outline_locks};
use crate::model::{Returns, Section};
use crate::outline::{Action, Argument, Name, NameStep, Object, Outline, Start};
use crate::path::{simple_name, static_name, step_into};
use crate::readable::Readable;
use crate::sharing::{FieldAccess, Part};
use crate::thread::At;
use crate::variable::holder;
use crate::whole::Whole;

/// Views of views further than this are not followed.
const MAX_VIEWS: usize = 4;
/// More places without the lock that an annotation names are not told.
const MOST_PLACES: usize = 3;

/// A lock that is held at some of the places where a field is touched, or a lock taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Guarding {
    pub lock: Relation,
    /// How many reads, or takings of a lock, have it.
    pub reads: usize,
    pub writes: usize,
}

/// How a field is guarded. What happens while the object is made does not count.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Guards {
    pub reads: usize,
    pub writes: usize,
    /// The one that is held most often first.
    pub locks: Vec<Guarding>,
}

impl Guards {
    fn add(&mut self, object: &Name, held: &[HeldLock], is_write: bool) {
        let (reads, writes) = (usize::from(!is_write), usize::from(is_write));
        self.reads += reads;
        self.writes += writes;
        let mut seen: Vec<Relation> = Vec::new();
        for lock in held.iter().filter_map(|held| Relation::between(object, held)) {
            if seen.iter().any(|known| known.is_same_lock(&lock)) {
                continue;
            }
            match self.locks.iter_mut().find(|known| known.lock.is_same_lock(&lock)) {
                Some(known) => {
                    known.reads += reads;
                    known.writes += writes;
                }
                None => self.locks.push(Guarding { lock: lock.clone(), reads, writes }),
            }
            seen.push(lock);
        }
    }

    fn sorted(mut self) -> Guards {
        self.locks.sort_by_key(|guarding| std::cmp::Reverse((guarding.reads + guarding.writes, guarding.writes)));
        self
    }

    /// Locks that are held every time.
    pub fn always(&self) -> impl Iterator<Item = &Relation> {
        let all = move |guarding: &&Guarding| (guarding.reads, guarding.writes) == (self.reads, self.writes);
        self.locks.iter().filter(all).map(|guarding| &guarding.lock)
    }
}

impl Whole<'_> {
    /// Which locks are held where the field itself, or the contents of what it holds, is read and written.
    pub fn guards(&self, field: FieldId, part: Part) -> Guards {
        let mut guards = Guards::default();
        for access in self.sharings().accesses(field) {
            if access.part != part || access.is_initial {
                continue;
            }
            let Some((object, held)) = self.touched(field, access) else { continue };
            guards.add(&object, &held, access.is_write);
        }
        let mut guards = guards.sorted();
        // What code says of itself comes first.
        let declared = self.program.annotations_of_field(field);
        let is_other = |lock: &Relation| !declared.guards().iter().any(|guard| self.is_guard(field, *guard, lock));
        guards.locks.sort_by_key(|guarding| is_other(&guarding.lock));
        guards
    }

    /// Whether a lock is the one that a `@GuardedBy` of the field names.
    fn is_guard(&self, field: FieldId, guard: Guard, lock: &Relation) -> bool {
        let names = &self.program.names;
        let text = readable(self.program, lock);
        let is_static =
            matches!(lock.parts(), (None, name) if matches!(name.start, Start::Static(_)) && name.steps.is_empty());
        let is_field = |name: &str| match text.rsplit_once('.') {
            Some((owner, last)) => last == name && (owner == "this" || is_static),
            None => false,
        };
        match guard {
            Guard::This => text == "this",
            Guard::Itself => is_field(names.text(self.program.field(field).name)),
            Guard::Field(name) => is_field(names.text(name)),
            Guard::Class(name) => {
                let simple = names.text(name).rsplit('.').next().unwrap_or_default();
                text.strip_suffix(".class").is_some_and(|class| class.rsplit(['.', '$']).next() == Some(simple))
            }
            Guard::Other(name) => text == names.text(name),
        }
    }

    /// How often the lock that a `@GuardedBy` names is held, and where it is not.
    fn kept_guard(&self, field: FieldId, part: Part, guard: Guard) -> Option<String> {
        let (mut held, mut all, mut without) = ([0, 0], [0, 0], Vec::new());
        for access in self.sharings().accesses(field).iter().filter(|access| access.part == part && !access.is_initial)
        {
            let Some((object, locks)) = self.touched(field, access) else { continue };
            let mut relations = locks.iter().filter_map(|lock| Relation::between(&object, lock));
            let is_kept = relations.any(|lock| self.is_guard(field, guard, &lock));
            all[usize::from(access.is_write)] += 1;
            if is_kept {
                held[usize::from(access.is_write)] += 1;
            } else {
                without.push(self.place(access.at));
            }
        }
        if all == [0, 0] {
            return None;
        }
        let kept = format!("kept at {} of {} reads and {} of {} writes", held[0], all[0], held[1], all[1]);
        let more = if without.len() > MOST_PLACES { " and elsewhere" } else { "" };
        without.truncate(MOST_PLACES);
        let but = if without.is_empty() { String::new() } else { format!(", not at {}{more}", without.join(", ")) };
        Some(format!("{kept}{but}"))
    }

    fn place(&self, at: At) -> String {
        let event = self.outlines().get(at.method).and_then(|outline| outline.events.get(at.event.index()));
        let method = self.program.names.readable_method(self.program.method_name(at.method));
        match event.and_then(|event| event.line) {
            Some(line) => format!("line {line} of {method}"),
            None => method,
        }
    }

    /// Which locks are held where the lock that a field holds is taken; told as reads.
    pub fn guards_of_lock(&self, field: FieldId) -> Guards {
        let mut guards = Guards::default();
        for method in self.program.methods() {
            let Some(outline) = self.outlines().get(method) else { continue };
            for section in &outline.sections {
                let is_it = holder(&section.lock).and_then(|holder| self.program.resolve_field(holder)) == Some(field);
                if !is_it || section.reentrant {
                    continue;
                }
                let mut held = outline_locks(outline, section.inside);
                held.extend(self.cover().held_by_callers(method));
                // The same lock around itself says nothing.
                held.retain(|held| held.kind != section.kind || !held.name.same(&section.lock));
                guards.add(&section.lock.owner(), &held, false);
            }
        }
        guards.sorted()
    }

    /// The object whose field an event touches, and what is held there.
    fn touched(&self, field: FieldId, access: &FieldAccess) -> Option<(Name, Vec<HeldLock>)> {
        let outline = self.outlines().get(access.at.method)?;
        let event = outline.events.get(access.at.event.index())?;
        let mut object = match &event.action {
            Action::Read { base, .. } | Action::Write { base, .. } => base.clone(),
            Action::Call { arguments, .. } => {
                let by_view = |argument| self.container(outline, argument, field, MAX_VIEWS);
                let container = match access.part {
                    Part::Contents => arguments.iter().find_map(by_view),
                    Part::Itself | Part::Within => None,
                };
                container.unwrap_or(&access.touched(arguments)?.name).clone()
            }
            Action::Lambda { .. } | Action::Wait(_) => return None,
        };
        if access.part == Part::Contents {
            // From the container back to the object that holds it.
            object = object.owner();
        }
        let mut held = outline_locks(outline, event.held);
        held.extend(self.cover().held_by_callers(access.at.method));
        if let Action::Call { method, .. } = &event.action
            && self.calls.model(self.program, *method, method.class).is_some_and(|model| model.section == Section::Own)
        {
            // The container guards its contents itself; no client can hold that lock.
            return None;
        }
        Some((object, held))
    }

    /// The container that a field holds, of which this is a view, or what goes over one.
    fn container<'o>(
        &self,
        outline: &'o Outline,
        view: &'o Argument,
        field: FieldId,
        layers: usize,
    ) -> Option<&'o Name> {
        if holder(&view.name).and_then(|holder| self.program.resolve_field(holder)) == Some(field) {
            return Some(&view.name);
        }
        let layers = layers.checked_sub(1)?;
        view.objects.iter().find_map(|object| {
            let Object::Event(event) = *object else { return None };
            let Action::Call { method, arguments, .. } = &outline.events.get(event.index())?.action else {
                return None;
            };
            let model = self.calls.model(self.program, *method, method.class)?;
            let is_view = matches!(model.returns, Returns::View(_) | Returns::Receiver);
            self.container(outline, arguments.first().filter(|_| is_view)?, field, layers)
        })
    }
}

/// The locks that are held wherever a method is called, by the names that it has for them.
pub(crate) fn always_around(whole: &Whole<'_>, method: MethodId) -> Vec<String> {
    let names = Readable::new(whole.program, &whole.summaries, method);
    let mut locks: Vec<String> =
        whole.cover().held_by_callers(method).iter().map(|held| names.name(&held.name)).collect();
    locks.sort_unstable();
    locks.dedup();
    locks
}

/// A line that tells which locks all callers of a method hold, if there are any.
pub fn show_around(whole: &Whole<'_>, method: MethodId) -> String {
    match always_around(whole, method).as_slice() {
        [] => String::new(),
        locks => format!("always called under {}\n", locks.join(" and ")),
    }
}

/// Lines that tell what guards a field.
pub fn show_guards(whole: &Whole<'_>, field: FieldId) -> String {
    let mut text = String::new();
    let is_final = whole.program.field(field).access.is_final();
    for (part, label) in [(Part::Itself, ""), (Part::Contents, "contents ")] {
        if is_final && part == Part::Itself {
            continue;
        }
        for guard in whole.program.annotations_of_field(field).guards() {
            if let Some(kept) = whole.kept_guard(field, part, *guard) {
                let name = guard.written(&whole.program.names);
                text.push_str(&format!("  {label}marked `@GuardedBy(\"{name}\")`: {kept}\n"));
            }
        }
        let guards = whole.guards(field, part);
        for guarding in guards.locks.iter().take(3) {
            text.push_str(&format!(
                "  {label}under {} at {} of {} reads and {} of {} writes\n",
                readable(whole.program, &guarding.lock),
                guarding.reads,
                guards.reads,
                guarding.writes,
                guards.writes,
            ));
        }
    }
    let taken = whole.guards_of_lock(field);
    if taken.reads > 0 {
        let outer: Vec<String> = taken.always().map(|lock| readable(whole.program, lock)).collect();
        let only = if outer.is_empty() { String::new() } else { format!(", only ever under {}", outer.join(" and ")) };
        let places = if taken.reads == 1 { "place" } else { "places" };
        text.push_str(&format!("  taken as a lock at {} {places}{only}\n", taken.reads));
    }
    text
}

/// A lock as it is reached from what it guards.
fn readable(program: &Program, lock: &Relation) -> String {
    let names = &program.names;
    let (owner, name) = lock.parts();
    let start = match (owner, name.start) {
        (None, Start::Static(field)) => static_name(names, field),
        (None, Start::Class(class)) => format!("{}.class", simple_name(names, class)),
        (None, _) => "*".to_owned(),
        (Some([]), _) => "this".to_owned(),
        (Some(steps), _) => format!("(its holder by {})", with_steps(names, String::new(), steps)),
    };
    with_steps(names, start, &name.steps)
}

fn with_steps(names: &Names, mut text: String, steps: &[NameStep]) -> String {
    for step in steps {
        match step {
            NameStep::Field(field) => step_into(&mut text, names, *field),
            NameStep::Constant(index) => text.push_str(&format!("[{index}]")),
            NameStep::Element(_) | NameStep::Some => text.push_str("[...]"),
        }
    }
    text
}

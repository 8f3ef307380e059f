//! Where a value comes from: back by parameters, final fields and getters to what stands in the code, and what a list has
//! that nobody changes.

use std::rc::Rc;

use classfile::{CallKind, Constant};
use location::{FieldName, MethodName};
use smallvec::SmallVec;

use super::{Frame, Item, Lots, Path, Spot};
use crate::class::{FieldId, MethodId};
use crate::ir::{Body, Op, Value};
use crate::outline::{NameStep, Start};
use crate::sharing::Part;

/// Steps back to where a value comes from.
const MAX_STEPS: usize = 32;

/// Methods that are given a list and pass it on are followed this far.
const MAX_USES: usize = 3;

/// Calls that do not change the list or array that they are given.
const READING: [&str; 17] = [
    "of",
    "asList",
    "copyOf",
    "stream",
    "iterator",
    "get",
    "getFirst",
    "getLast",
    "size",
    "isEmpty",
    "contains",
    "indexOf",
    "forEach",
    "toString",
    "clone",
    "hashCode",
    "requireNonNull",
];

/// What yields what it is given, as far as what is in it goes.
const COPYING: [&str; 8] = [
    "copyOf",
    "unmodifiableList",
    "unmodifiableSet",
    "unmodifiableCollection",
    "unmodifiableSortedSet",
    "unmodifiableMap",
    "requireNonNull",
    "clone",
];

/// A value by way of which another one was reached.
type Trail = Vec<(Rc<Body>, Value)>;

impl Lots<'_> {
    /// What a value, or a field of it, was made as.
    pub(super) fn origin(&self, spot: Spot, path: Path) -> Option<(Item, Path)> {
        self.traced(spot, path, &mut Trail::new())
    }

    fn traced(&self, mut spot: Spot, mut path: Path, trail: &mut Trail) -> Option<(Item, Path)> {
        for _ in 0..MAX_STEPS {
            let body = self.body(spot.frame.method)?;
            spot.value = body.without_casts(spot.value);
            trail.push((body.clone(), spot.value));
            match &spot.frame.chosen {
                Some((chosen, Item::Number(number))) if *chosen == spot.value => {
                    return Some((Item::Number(*number), path));
                }
                Some((chosen, Item::Of(other))) if *chosen == spot.value => {
                    spot = other.clone();
                    continue;
                }
                _ => {}
            }
            match *body.op(spot.value) {
                Op::Parameter(0) if spot.frame.made.is_some() => {
                    let made = spot.frame.made.clone()?;
                    spot = self.stored(made, path.pop()?)?;
                }
                Op::Parameter(position) => {
                    let (caller, given) = spot.frame.given.clone()?;
                    spot = Spot { frame: caller, value: *given.get(usize::from(position))? };
                }
                Op::GetField { base, field } => {
                    path.push(field);
                    spot.value = base;
                }
                Op::GetStatic(field) if !(path.is_empty() && self.enum_constant(field).is_some()) => {
                    spot = self.stored_statically(field)?;
                }
                Op::New(_) if !path.is_empty() => {
                    let frame = self.construction(&spot, &body)?;
                    spot = self.stored(frame, path.pop()?)?;
                }
                Op::Call { kind, method, arguments } => {
                    let arguments = body.operands(arguments);
                    let class = self.text(method.class.0);
                    let name = self.text(method.name);
                    let is_number = matches!(
                        class,
                        "java/lang/Integer"
                            | "java/lang/Long"
                            | "java/lang/Short"
                            | "java/lang/Byte"
                            | "java/lang/Character"
                    ) && matches!(name, "valueOf" | "intValue" | "longValue" | "charValue");
                    let is_copy =
                        (class.starts_with("java/util/") || class.starts_with('[')) && COPYING.contains(&name);
                    match arguments {
                        [inner] | [inner, _] if is_copy => spot.value = *inner,
                        [inner] if is_number => spot.value = *inner,
                        [base] => match self.getter(kind, method) {
                            Some(fields) => {
                                path.extend(fields.into_iter().rev());
                                spot.value = *base;
                            }
                            None => return Some((Item::Of(spot), path)),
                        },
                        _ => return Some((Item::Of(spot), path)),
                    }
                }
                _ => return Some((Item::Of(spot), path)),
            }
        }
        None
    }

    /// The enum constant that a static field is.
    pub(super) fn enum_constant(&self, field: FieldName) -> Option<FieldId> {
        let program = self.whole.program;
        let id = program.resolve_field(field)?;
        (program.field(id).access.is_enum() && program.is_final_field(field)).then_some(id)
    }

    /// The fields that a getter goes by, on its own object.
    fn getter(&self, kind: CallKind, method: MethodName) -> Option<SmallVec<[FieldName; 4]>> {
        let targets = self.whole.calls.targets(self.whole.program, kind, method);
        let [target] = targets.known() else { return None };
        let returned = self.whole.outlines().get(*target)?.returns.as_ref()?;
        if returned.start != Start::Parameter(0) || returned.steps.is_empty() {
            return None;
        }
        returned
            .steps
            .iter()
            .map(|step| match step {
                NameStep::Field(field) => Some(*field),
                _ => None,
            })
            .collect()
    }

    /// The constructor that makes an object.
    fn construction(&self, spot: &Spot, body: &Body) -> Option<Rc<Frame>> {
        let program = self.whole.program;
        body.instructions().find_map(|(_, instruction)| {
            let Op::Call { kind: CallKind::Special, method, arguments } = instruction.op else { return None };
            let given = body.operands(arguments);
            if method.name != program.roots.constructor || given.first() != Some(&spot.value) {
                return None;
            }
            let constructor = self.whole.calls.hierarchy.resolve_name(program, method)?;
            let given = Some((spot.frame.clone(), SmallVec::from_slice(given)));
            Some(Rc::new(Frame { method: constructor, given, made: None, chosen: None }))
        })
    }

    /// What a constructor stores in a final field that nobody changes the contents of.
    fn stored(&self, frame: Rc<Frame>, field: FieldName) -> Option<Spot> {
        let program = self.whole.program;
        let id = program.resolve_field(field)?;
        if !program.is_final_field(field) || !self.is_left(id) {
            return None;
        }
        let body = self.body(frame.method)?;
        let is_this = |value: Value| *body.op(body.without_casts(value)) == Op::Parameter(0);
        let mut stored = body.instructions().filter_map(|(_, instruction)| match instruction.op {
            Op::PutField { base, field, value } if is_this(base) && program.resolve_field(field) == Some(id) => {
                Some(value)
            }
            _ => None,
        });
        match (stored.next(), stored.next()) {
            (Some(value), None) => Some(Spot { frame, value }),
            (None, None) => {
                let class = program.header(program.class_of(frame.method)).name;
                let other = body.instructions().find_map(|(_, instruction)| match instruction.op {
                    Op::Call { kind: CallKind::Special, method, arguments }
                        if method.name == program.roots.constructor && method.class == class =>
                    {
                        let given = body.operands(arguments);
                        is_this(*given.first()?).then(|| (method, SmallVec::from_slice(given)))
                    }
                    _ => None,
                });
                let (method, given) = other?;
                let method = self.whole.calls.hierarchy.resolve_name(program, method)?;
                if method == frame.method {
                    return None;
                }
                self.stored(Rc::new(Frame { method, given: Some((frame, given)), made: None, chosen: None }), field)
            }
            _ => None,
        }
    }

    /// What a class stores in a final static field when it is loaded.
    fn stored_statically(&self, field: FieldName) -> Option<Spot> {
        let program = self.whole.program;
        let id = program.resolve_field(field)?;
        if !program.is_final_field(field) || !self.is_left(id) {
            return None;
        }
        let mut methods = program.methods_of(program.class_of_field(id));
        let method = methods.find(|method| self.text(program.method(*method).name) == "<clinit>")?;
        let body = self.body(method)?;
        let mut stored = body.instructions().filter_map(|(_, instruction)| match instruction.op {
            Op::PutStatic { field, value } if program.resolve_field(field) == Some(id) => Some(value),
            _ => None,
        });
        let (Some(value), None) = (stored.next(), stored.next()) else { return None };
        Some(Spot { frame: Rc::new(Frame { method, given: None, made: None, chosen: None }), value })
    }

    /// Whether nobody changes what the container or array has that a field refers to.
    fn is_left(&self, field: FieldId) -> bool {
        let accesses = self.whole.sharings().accesses(field);
        !accesses.iter().any(|access| access.is_write && access.part == Part::Contents)
    }

    /// What is in a list, a set or an array that nobody changes, in this order.
    pub(super) fn items(&self, list: Spot, depth: usize) -> Option<Vec<Spot>> {
        let depth = depth.checked_sub(1)?;
        let mut trail = Trail::new();
        let (Item::Of(spot), path) = self.traced(list, Path::new(), &mut trail)? else { return None };
        if !path.is_empty() {
            return None;
        }
        let body = self.body(spot.frame.method)?;
        let all =
            |values: &[Value]| values.iter().map(|value| Spot { value: *value, ..spot.clone() }).collect::<Vec<_>>();
        let inner = |value: Value| self.items(Spot { value, ..spot.clone() }, depth);
        let is_left = || trail.iter().all(|(body, value)| self.is_left_alone(body, *value, MAX_USES));
        match *body.op(spot.value) {
            Op::Call { method, arguments, .. } => {
                let class = self.text(method.class.0);
                let arguments = body.operands(arguments);
                if !class.starts_with("java/util/") {
                    return None;
                }
                let is_of_array = self.text(method.descriptor).starts_with("([");
                match (self.text(method.name), arguments) {
                    ("of", [array]) if is_of_array => inner(*array),
                    ("asList", [array]) if is_of_array && is_left() => inner(*array),
                    ("of", _) if matches!(class, "java/util/List" | "java/util/Set" | "java/util/stream/Stream") => {
                        Some(all(arguments))
                    }
                    ("of", _)
                        if class == "java/util/EnumSet" && !self.text(method.descriptor).contains('[') && is_left() =>
                    {
                        Some(all(arguments))
                    }
                    ("of", _) if class == "java/util/Map" => Some(all(arguments).into_iter().step_by(2).collect()),
                    ("keySet" | "stream" | "sequential", [whole]) => inner(*whole),
                    _ => None,
                }
            }
            Op::NewArray { .. } if is_left() => {
                let stored = body.instructions().filter_map(|(_, instruction)| match instruction.op {
                    Op::ArrayStore { array, value, .. } if body.without_casts(array) == spot.value => Some(value),
                    _ => None,
                });
                Some(all(&stored.collect::<Vec<_>>()))
            }
            Op::New(class) if self.text(class.0).starts_with("java/util/") && is_left() => {
                let mut found = Vec::new();
                let outline = self.whole.outlines().get(spot.frame.method)?;
                for (_, instruction) in body.instructions() {
                    let Op::Call { method, arguments, .. } = instruction.op else { continue };
                    let [receiver, given @ ..] = body.operands(arguments) else { continue };
                    if body.without_casts(*receiver) != spot.value {
                        continue;
                    }
                    match (self.text(method.name), given) {
                        ("<init>", []) => {}
                        ("<init>", [size]) if matches!(body.op(*size), Op::Constant(_)) => {}
                        ("<init>" | "addAll", [other]) => found.extend(inner(*other)?),
                        ("add", [value]) => {
                            if outline.events.iter().any(|event| event.pc == instruction.pc && event.in_loop) {
                                return None;
                            }
                            found.extend(all(&[*value]));
                        }
                        _ => {}
                    }
                }
                Some(found)
            }
            _ => None,
        }
    }

    /// Whether a method does not change a list or array, and gives it to nobody who does. The one that makes it fills it.
    fn is_left_alone(&self, body: &Body, value: Value, depth: usize) -> bool {
        let program = self.whole.program;
        let is_it = |other: Value| body.without_casts(other) == value;
        let is_made = matches!(body.op(value), Op::New(_) | Op::NewArray { .. });
        let is_left_by = |method: Option<MethodId>, position: usize| {
            let Some((method, depth)) = method.zip(depth.checked_sub(1)) else { return false };
            let Some(body) = self.body(method) else { return false };
            let parameter = body.instructions().find(|(_, one)| one.op == Op::Parameter(position as u16));
            parameter.is_none_or(|(value, _)| self.is_left_alone(&body, value, depth))
        };
        body.instructions().all(|(_, instruction)| match instruction.op {
            Op::ArrayStore { array, index, value: stored, .. } => {
                let array = body.without_casts(array);
                // What is changed may be this one, taken out of where it was put.
                matches!(body.op(array), Op::NewArray { .. })
                    && (array != value || matches!(body.op(index), Op::Constant(Constant::Int(_))))
                    && (!is_it(stored) || is_made)
            }
            Op::PutField { field, value: stored, .. } | Op::PutStatic { field, value: stored } => {
                !is_it(stored) || program.resolve_field(field).is_some_and(|field| self.is_left(field))
            }
            Op::Return(Some(returned)) => !is_it(returned),
            Op::Call { kind, method, arguments } => {
                let given = body.operands(arguments);
                let name = self.text(method.name);
                given.iter().enumerate().filter(|(_, given)| is_it(**given)).all(|(position, _)| {
                    if self.text(method.class.0).starts_with("java/") || self.text(method.class.0).starts_with('[') {
                        READING.contains(&name)
                            || name == "<init>"
                            || (is_made && position == 0 && matches!(name, "add" | "addAll"))
                            || (position > 0 && name == "addAll")
                    } else {
                        match self.whole.calls.targets(program, kind, method).known() {
                            [target] => is_left_by(Some(*target), position),
                            _ => false,
                        }
                    }
                })
            }
            Op::CallDynamic { dynamic, arguments } => {
                let given = body.operands(arguments);
                let lambda = body.dynamic(dynamic).lambda.map(|handle| handle.member);
                given.iter().enumerate().filter(|(_, given)| is_it(**given)).all(|(position, _)| {
                    let code = lambda.and_then(|code| self.whole.calls.hierarchy.resolve_name(program, code));
                    is_left_by(code, position)
                })
            }
            _ => true,
        })
    }
}

//! Calls by which a key leads to a place: look-ups, hashes, sizes and boxes.

use location::{FieldName, MethodName, Names};

/// Classes that find things by key or position.
fn is_container(class: &str) -> bool {
    class.starts_with("java/util/") || class == "com/google/common/util/concurrent/Striped"
}

/// Whether a method yields what stands under its first argument.
pub(crate) fn looks_up(names: &Names, method: MethodName) -> bool {
    let (class, name) = (names.text(method.class.0), names.text(method.name));
    is_container(class) && matches!(name, "get" | "computeIfAbsent" | "getOrDefault" | "putIfAbsent")
}

/// Whether a method tells how much a container holds.
pub(crate) fn is_size(names: &Names, method: MethodName) -> bool {
    names.text(method.name) == "size" && is_container(names.text(method.class.0))
}

/// Which of two numbers a method yields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Choice {
    Smaller,
    Larger,
}

pub(crate) fn chooses(names: &Names, method: MethodName) -> Option<Choice> {
    let is_number =
        matches!(names.text(method.class.0), "java/lang/Math" | "java/lang/StrictMath" | "java/lang/Integer");
    match names.text(method.name) {
        "min" if is_number => Some(Choice::Smaller),
        "max" if is_number => Some(Choice::Larger),
        _ => None,
    }
}

/// Whether a method computes one number from what it is given, and from nothing else; or puts it into a box.
pub(crate) fn hashes(names: &Names, method: MethodName) -> bool {
    let (class, name) = (names.text(method.class.0), names.text(method.name));
    match name {
        "hashCode" => true,
        "floorMod" | "abs" => matches!(class, "java/lang/Math" | "java/lang/StrictMath"),
        "identityHashCode" => class == "java/lang/System",
        _ => is_box(names, method),
    }
}

/// Whether a method puts a number into a box, or takes it out.
pub(crate) fn is_box(names: &Names, method: MethodName) -> bool {
    let (class, name) = (names.text(method.class.0), names.text(method.name));
    matches!(
        class,
        "java/lang/Integer" | "java/lang/Long" | "java/lang/Short" | "java/lang/Byte" | "java/lang/Character"
    ) && (name == "valueOf" || name.ends_with("Value"))
}

pub(crate) const THREAD: &str = "java/lang/Thread";

/// What stands for the name or number of a thread, as if it were a field of it.
pub(crate) const THREAD_NAME: &str = "getName()";

pub(crate) fn is_thread_name(names: &Names, field: FieldName) -> bool {
    names.text(field.name) == THREAD_NAME
}

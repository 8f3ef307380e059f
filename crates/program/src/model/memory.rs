//! What goes wrong outside the program, and which classes have nothing to do with that.

/// Whether an exception tells of something outside the program.
pub(crate) fn is_from_outside(class: &str) -> bool {
    matches!(class, "java/io/IOException" | "java/sql/SQLException")
}

/// Whether the methods of a class only deal with what is in memory.
pub(crate) fn is_of_memory(class: &str) -> bool {
    let of_threads = class.strip_prefix("java/util/concurrent/").is_some_and(|name| name != "Callable");
    let of_containers = class.strip_prefix("java/util/").is_some_and(|name| {
        ["Collection", "Deque", "Iterator", "List", "Map", "Queue", "Set", "Optional"]
            .iter()
            .any(|kind| name.ends_with(kind))
    });
    of_threads || of_containers
}

//! Fields with containers that lock by themselves whether anybody wants it or not, and with what only people read.

use crate::annotation::Mark;
use crate::class::{FieldId, Program};

/// Containers and buffers from before there was a choice: each call locks, whether anybody shares them or not.
const LEGACY: [&str; 7] = [
    "Ljava/util/Hashtable;",
    "Ljava/util/Properties;",
    "Ljava/util/Vector;",
    "Ljava/util/Stack;",
    "Ljava/util/Dictionary;",
    "Ljava/lang/StringBuffer;",
    "Ljava/io/ByteArrayOutputStream;",
];

/// Whether a field holds a container that locks by itself only because old ones all did, in an object that does nothing
/// else for threads.
pub fn is_by_habit(program: &Program, field: FieldId) -> bool {
    let class = program.class_of_field(field);
    is_old(program, field)
        && !program.is_marked(class, Mark::ThreadSafe)
        && !program.methods_of(class).any(|method| program.may_lock(method))
        && !program.fields_of(class).any(|field| {
            let field = program.field(field);
            field.access.is_volatile() || program.names.text(field.descriptor).starts_with("Ljava/util/concurrent/")
        })
}

/// Whether a field of an object holds a container that locks by itself because old ones all did.
pub fn is_old(program: &Program, field: FieldId) -> bool {
    let declared = program.field(field);
    !declared.access.is_static() && LEGACY.contains(&program.names.text(declared.descriptor))
}

/// Whether what a field holds is only read by people, and by no thread.
pub fn is_for_people(program: &Program, field: FieldId) -> bool {
    matches!(program.names.text(program.field(field).descriptor), "Ljava/io/PrintStream;" | "Ljava/io/PrintWriter;")
}

//! Which method runs when an object is given as a task or a function.

use location::{ClassName, MethodName, Names};
use rustc_hash::FxHashMap;

use super::lookup::{Supertypes, linearize};

/// Package, type, and the method that runs, with its descriptor.
pub(crate) const TASKS: &[(&str, &str, &str, &str)] = &[
    ("java/lang", "Runnable", "run", "()V"),
    ("java/lang", "Thread", "run", "()V"),
    ("java/util", "TimerTask", "run", "()V"),
    ("java/util", "Comparator", "compare", "(Ljava/lang/Object;Ljava/lang/Object;)I"),
    ("java/util/concurrent", "Callable", "call", "()Ljava/lang/Object;"),
    ("java/util/concurrent", "RecursiveAction", "compute", "()V"),
    ("java/util/concurrent", "RecursiveTask", "compute", "()Ljava/lang/Object;"),
    ("java/util/concurrent", "CountedCompleter", "compute", "()V"),
    ("java/security", "PrivilegedAction", "run", "()Ljava/lang/Object;"),
    ("java/security", "PrivilegedExceptionAction", "run", "()Ljava/lang/Object;"),
    ("java/util/function", "Function", "apply", "(Ljava/lang/Object;)Ljava/lang/Object;"),
    ("java/util/function", "BiFunction", "apply", "(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;"),
    ("java/util/function", "Supplier", "get", "()Ljava/lang/Object;"),
    ("java/util/function", "Consumer", "accept", "(Ljava/lang/Object;)V"),
    ("java/util/function", "BiConsumer", "accept", "(Ljava/lang/Object;Ljava/lang/Object;)V"),
    ("java/util/function", "Predicate", "test", "(Ljava/lang/Object;)Z"),
    ("java/util/function", "BiPredicate", "test", "(Ljava/lang/Object;Ljava/lang/Object;)Z"),
    ("java/util/function", "BooleanSupplier", "getAsBoolean", "()Z"),
    ("java/util/function", "IntSupplier", "getAsInt", "()I"),
    ("java/util/function", "LongSupplier", "getAsLong", "()J"),
    ("java/util/function", "DoubleSupplier", "getAsDouble", "()D"),
    ("java/util/function", "IntFunction", "apply", "(I)Ljava/lang/Object;"),
    ("java/util/function", "LongFunction", "apply", "(J)Ljava/lang/Object;"),
    ("java/util/function", "DoubleFunction", "apply", "(D)Ljava/lang/Object;"),
    ("java/util/function", "IntConsumer", "accept", "(I)V"),
    ("java/util/function", "LongConsumer", "accept", "(J)V"),
    ("java/util/function", "DoubleConsumer", "accept", "(D)V"),
    ("java/util/function", "ObjIntConsumer", "accept", "(Ljava/lang/Object;I)V"),
    ("java/util/function", "ObjLongConsumer", "accept", "(Ljava/lang/Object;J)V"),
    ("java/util/function", "ObjDoubleConsumer", "accept", "(Ljava/lang/Object;D)V"),
    ("java/util/function", "IntPredicate", "test", "(I)Z"),
    ("java/util/function", "LongPredicate", "test", "(J)Z"),
    ("java/util/function", "DoublePredicate", "test", "(D)Z"),
    ("java/util/function", "IntUnaryOperator", "applyAsInt", "(I)I"),
    ("java/util/function", "LongUnaryOperator", "applyAsLong", "(J)J"),
    ("java/util/function", "DoubleUnaryOperator", "applyAsDouble", "(D)D"),
    ("java/util/function", "IntBinaryOperator", "applyAsInt", "(II)I"),
    ("java/util/function", "LongBinaryOperator", "applyAsLong", "(JJ)J"),
    ("java/util/function", "DoubleBinaryOperator", "applyAsDouble", "(DD)D"),
    ("java/util/function", "ToIntFunction", "applyAsInt", "(Ljava/lang/Object;)I"),
    ("java/util/function", "ToLongFunction", "applyAsLong", "(Ljava/lang/Object;)J"),
    ("java/util/function", "ToDoubleFunction", "applyAsDouble", "(Ljava/lang/Object;)D"),
    ("java/util/function", "ToIntBiFunction", "applyAsInt", "(Ljava/lang/Object;Ljava/lang/Object;)I"),
    ("java/util/function", "ToLongBiFunction", "applyAsLong", "(Ljava/lang/Object;Ljava/lang/Object;)J"),
    ("java/util/function", "ToDoubleBiFunction", "applyAsDouble", "(Ljava/lang/Object;Ljava/lang/Object;)D"),
    ("java/util/function", "IntToLongFunction", "applyAsLong", "(I)J"),
    ("java/util/function", "IntToDoubleFunction", "applyAsDouble", "(I)D"),
    ("java/util/function", "LongToIntFunction", "applyAsInt", "(J)I"),
    ("java/util/function", "LongToDoubleFunction", "applyAsDouble", "(J)D"),
    ("java/util/function", "DoubleToIntFunction", "applyAsInt", "(D)I"),
    ("java/util/function", "DoubleToLongFunction", "applyAsLong", "(D)J"),
    // They inherit their method; the lines spare those who have no hierarchy at hand the way up.
    ("java/util/function", "UnaryOperator", "apply", "(Ljava/lang/Object;)Ljava/lang/Object;"),
    ("java/util/function", "BinaryOperator", "apply", "(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;"),
];

/// The same for libraries that a program may bring along.
pub(crate) const LIBRARY_TASKS: &[(&str, &str, &str, &str)] = &[
    ("kotlin/jvm/functions", "Function0", "invoke", "()Ljava/lang/Object;"),
    ("kotlin/jvm/functions", "Function1", "invoke", "(Ljava/lang/Object;)Ljava/lang/Object;"),
    ("kotlin/jvm/functions", "Function2", "invoke", "(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;"),
    ("scala", "Function0", "apply", "()Ljava/lang/Object;"),
    ("scala", "Function1", "apply", "(Ljava/lang/Object;)Ljava/lang/Object;"),
    ("com/google/common/base", "Function", "apply", "(Ljava/lang/Object;)Ljava/lang/Object;"),
    ("com/google/common/base", "Supplier", "get", "()Ljava/lang/Object;"),
];

/// The entry methods by type, for the names of one analysis.
pub(crate) struct Tasks {
    by_type: FxHashMap<ClassName, MethodName>,
}

impl Tasks {
    pub(crate) fn new(names: &Names) -> Tasks {
        let all = TASKS.iter().chain(LIBRARY_TASKS);
        let entry = |(package, class, name, descriptor): &(&str, &str, &str, &str)| {
            let method = names.method(&format!("{package}/{class}"), name, descriptor);
            (method.class, method)
        };
        Tasks { by_type: all.map(entry).collect() }
    }

    pub(crate) fn entry(&self, class: ClassName, supertypes: &mut Supertypes<'_>) -> Option<MethodName> {
        if let Some(method) = self.by_type.get(&class) {
            return Some(*method);
        }
        linearize(class, supertypes).iter().find_map(|ancestor| self.by_type.get(ancestor).copied())
    }
}

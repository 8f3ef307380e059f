//! Calls through reflection: which are there. What they run or touch is not followed.

use location::{MethodName, Names};

use crate::calls::Calls;
use crate::class::{MethodId, Program};

/// Class and method; a star at the end stands for any rest of the name.
const REFLECTION: &[(&str, &str)] = &[
    ("java/lang/Class", "newInstance"),
    ("java/lang/invoke/MethodHandle", "invoke*"),
    ("java/lang/reflect/Array", "set*"),
    ("java/lang/reflect/Constructor", "newInstance"),
    ("java/lang/reflect/Field", "get*"),
    ("java/lang/reflect/Field", "set*"),
    ("java/lang/reflect/Method", "invoke"),
    ("java/lang/reflect/Proxy", "newProxyInstance"),
    ("java/util/ServiceLoader", "load*"),
];

impl Calls {
    /// The reflective methods that a method's code calls, each once.
    pub fn reflection(&self, program: &Program, method: MethodId) -> Vec<MethodName> {
        let called = self.mentions[method.index()].calls.iter().map(|(_, called)| *called);
        called.filter(|called| is_reflection(&program.names, *called)).collect()
    }
}

fn is_reflection(names: &Names, method: MethodName) -> bool {
    let (class, name) = (names.text(method.class.0), names.text(method.name));
    let is_it = |listed: &str| match listed.strip_suffix('*') {
        // `getName` and the like only ask for names and types.
        Some("get") => is_value_getter(name),
        Some(start) => name.starts_with(start) && name != "setAccessible",
        None => name == listed,
    };
    REFLECTION.iter().any(|(of, listed)| *of == class && is_it(listed))
}

/// `Field.get`, `getInt` and their kind: what they yield is in the object.
fn is_value_getter(name: &str) -> bool {
    matches!(
        name.strip_prefix("get"),
        Some("" | "Boolean" | "Byte" | "Char" | "Double" | "Float" | "Int" | "Long" | "Short")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_or_touches_is_reflection_and_what_asks_is_not() {
        let names = Names::new();
        let is_it = |class: &str, name: &str| {
            let method =
                MethodName { class: names.class(class), name: names.intern(name), descriptor: names.intern("()V") };
            is_reflection(&names, method)
        };
        for (class, name) in [
            ("java/lang/reflect/Method", "invoke"),
            ("java/lang/invoke/MethodHandle", "invokeExact"),
            ("java/lang/reflect/Field", "getInt"),
            ("java/lang/reflect/Field", "set"),
        ] {
            assert!(is_it(class, name), "{class}.{name}");
        }
        for (class, name) in [
            ("java/lang/reflect/Method", "getName"),
            ("java/lang/reflect/Field", "getType"),
            ("java/lang/reflect/Field", "setAccessible"),
            ("app/Method", "invoke"),
        ] {
            assert!(!is_it(class, name), "{class}.{name}");
        }
    }
}

//! Names that compilers give to the code of lambdas, and to classes inside others.

/// The method that a lambda stands in, by the name of its code; empty in an initialiser or constructor. None if it is no
/// lambda.
///
/// javac writes `lambda$run$0`, Kotlin `run$lambda$0`, Scala `run$$anonfun$1` and `$anonfun$run$1`.
pub fn around_lambda(method: &str) -> Option<&str> {
    let after = ["lambda$", "$anonfun$"].iter().find_map(|prefix| method.strip_prefix(prefix));
    let before = || ["$lambda$", "$$anonfun$"].iter().find_map(|infix| Some(method.split_once(infix)?.0));
    let name = after.and_then(|rest| rest.split('$').next()).or_else(before)?;
    Some(match name {
        "static" | "new" | "_init_" | "$init$" | "<init>" => "",
        // Scala numbers those that stand in others or are given to a method at once.
        "adapted" => "",
        name if name.bytes().all(|digit| digit.is_ascii_digit()) => "",
        name => name,
    })
}

/// A class as the source calls it, `pkg.Outer.Inner`, and whether it is one without a name in that. Compilers write
/// `pkg.Outer$Inner`, `pkg.Outer$1` without a name, and `pkg.Outer$1Local` in a method; Scala `pkg.Outer$` and
/// `pkg.Outer$$anon$1`.
pub fn class_in_source(class: &str) -> (String, bool) {
    let (package, own) = class.rsplit_once('.').map_or(("", class), |(package, own)| (package, own));
    let mut parts = own.split('$');
    let Some(first) = parts.next().filter(|first| !first.is_empty()) else { return (class.to_owned(), false) };
    let mut text = if package.is_empty() { first.to_owned() } else { format!("{package}.{first}") };
    let mut is_anonymous = false;
    for part in parts {
        let name = part.trim_start_matches(|digit: char| digit.is_ascii_digit());
        if !matches!(part, "" | "anon" | "anonfun") {
            is_anonymous = name.is_empty();
        }
        if !matches!(name, "" | "anon" | "anonfun") {
            text.push('.');
            text.push_str(name);
        }
    }
    (text, is_anonymous)
}

#[cfg(test)]
mod tests {
    use super::{around_lambda, class_in_source};

    #[test]
    fn classes_are_called_as_in_the_source() {
        let named = [
            ("a.Outer", "a.Outer"),
            ("Outer$Inner", "Outer.Inner"),
            ("a.b.Outer$1Local", "a.b.Outer.Local"),
            ("a.Outer$1$Inner", "a.Outer.Inner"),
            ("a.Object$", "a.Object"),
            ("$Proxy1", "$Proxy1"),
        ];
        for (class, text) in named {
            assert_eq!(class_in_source(class), (text.to_owned(), false), "{class}");
        }
        for (class, text) in
            [("a.Outer$1", "a.Outer"), ("a.Outer$run$2", "a.Outer.run"), ("a.Outer$$anon$1", "a.Outer")]
        {
            assert_eq!(class_in_source(class), (text.to_owned(), true), "{class}");
        }
    }

    #[test]
    fn lambdas_stand_in_methods() {
        for lambda in ["lambda$run$0", "run$lambda$3", "run$$anonfun$1", "$anonfun$run$1", "run$lambda$3$lambda$2"] {
            assert_eq!(around_lambda(lambda), Some("run"), "{lambda}");
        }
        for lambda in ["lambda$static$0", "lambda$new$12", "_init_$lambda$0", "$anonfun$2", "$anonfun$1$$anonfun$1"] {
            assert_eq!(around_lambda(lambda), Some(""), "{lambda}");
        }
        for method in ["run", "lambda", "access$000", "a$b"] {
            assert_eq!(around_lambda(method), None, "{method}");
        }
    }
}

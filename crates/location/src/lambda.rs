//! Names that compilers give to the code of lambdas.

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
        name => name,
    })
}

#[cfg(test)]
mod tests {
    use super::around_lambda;

    #[test]
    fn lambdas_stand_in_methods() {
        for lambda in ["lambda$run$0", "run$lambda$3", "run$$anonfun$1", "$anonfun$run$1", "run$lambda$3$lambda$2"] {
            assert_eq!(around_lambda(lambda), Some("run"), "{lambda}");
        }
        for lambda in ["lambda$static$0", "lambda$new$12", "_init_$lambda$0"] {
            assert_eq!(around_lambda(lambda), Some(""), "{lambda}");
        }
        for method in ["run", "lambda", "access$000", "a$b"] {
            assert_eq!(around_lambda(method), None, "{method}");
        }
    }
}

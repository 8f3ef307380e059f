//! `fissure show`: a method as the analysis sees it.

use std::process::ExitCode;

use anyhow::{Result, bail};
use program::{MethodId, Program};

use crate::args::ShowArgs;
use crate::input::{self, InputOptions};
use crate::nearest::nearest;
use crate::output;

/// More methods than this are a slip of the pattern.
const MOST: usize = 50;

pub(crate) fn run(args: &ShowArgs) -> Result<ExitCode> {
    let inputs = input::load(&args.paths, &InputOptions::default())?;
    let program = Program::load(inputs.sources);
    let methods: Vec<MethodId> =
        program.methods().filter(|method| is_named(&full_name(&program, *method), &args.method)).collect();
    match methods.len() {
        0 => bail!("there is no method `{}` in {} classes{}", args.method, program.class_count(), hint(&program, args)),
        count if count > MOST => bail!("`{}` names {count} methods; add the class or package", args.method),
        _ => {}
    }
    let texts: Vec<String> = methods.into_iter().map(|method| program::show_method(&program, method)).collect();
    output::print(&texts.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// `pkg.Outer$Inner.method(I)V`
fn full_name(program: &Program, method: MethodId) -> String {
    let name = program.method_name(method);
    format!("{}{}", program.names.readable_method(name), program.names.text(name.descriptor))
}

/// Whether `pattern` is the name or a part of it from the right, whole words only; with or without descriptor.
fn is_named(full: &str, pattern: &str) -> bool {
    let name = if pattern.contains('(') { full } else { full.split('(').next().unwrap_or(full) };
    match name.strip_suffix(pattern) {
        Some(before) => before.is_empty() || before.ends_with(['.', '$']),
        None => false,
    }
}

fn hint(program: &Program, args: &ShowArgs) -> String {
    let last = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
    let names: Vec<String> =
        program.methods().map(|method| program.names.text(program.method(method).name).to_owned()).collect();
    match nearest(&last(&args.method), names.iter().map(String::as_str)) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::is_named;

    #[test]
    fn patterns_match_from_the_right_by_whole_words() {
        let full = "pkg.Outer$Inner.run(I)V";
        for pattern in ["run", "Inner.run", "Outer$Inner.run", "pkg.Outer$Inner.run", "run(I)V"] {
            assert!(is_named(full, pattern), "{pattern}");
        }
        for pattern in ["un", "nner.run", "run(J)V", "kg.Outer$Inner.run", "Outer.run"] {
            assert!(!is_named(full, pattern), "{pattern}");
        }
    }
}

//! `fissure show`: a method or field as the analysis sees it.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use program::{FieldId, MethodId, Program, Whole};

use crate::args::{KnownArgs, ShowArgs};
use crate::input::{self, InputOptions};
use crate::nearest::nearest;
use crate::{check, graph, known, output};

/// More methods than this are a slip of the pattern.
const MOST: usize = 50;

pub(crate) fn run(args: &ShowArgs) -> Result<ExitCode> {
    if args.problems {
        return output::print(&problems(&load(&args.targets, &args.known)?)).map(|()| ExitCode::SUCCESS);
    }
    let (member, paths) = match args.targets.split_first() {
        Some((member, paths)) if !paths.is_empty() => (member.to_string_lossy(), paths),
        _ => bail!("`show` takes a method or field and where to look for it: fissure show CLASS.MEMBER PATH..."),
    };
    let program = load(paths, &args.known)?;
    args.settings.check(&program)?;
    if args.graph && graph::is_fingerprint(&member) {
        output::print(&graph::around(&program, &args.settings.settings(), &member)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let methods = methods_named(&program, &member);
    let fields: Vec<FieldId> = program
        .classes()
        .flat_map(|class| program.fields_of(class))
        .filter(|field| is_named(&program.readable_field(*field), &member))
        .collect();
    match methods.len() + fields.len() {
        0 => bail!(
            "there is no method or field `{member}` in {} classes{}",
            program.class_count(),
            hint(&program, &member)
        ),
        count if count > MOST => bail!("`{member}` names {count} methods and fields; add the class or package"),
        _ => {}
    }
    let whole = Whole::in_full(&program, args.settings.settings());
    if args.graph {
        let graphs: Vec<String> = methods.iter().filter_map(|method| program::show_graph(&whole, *method)).collect();
        output::print(&graphs.join("\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let of_methods = methods.into_iter().map(|method| {
        let threads = program::thread::show_threads(&program, &whole.calls, whole.threads(), method);
        let around = program::show_around(&whole, method);
        let making = program::sharing::show_making(whole.sharings(), method);
        let summary = program::show_summary(&program, &whole.summaries, method);
        format!("{}{threads}{around}{making}summary\n{summary}", program::show_method(&program, method))
    });
    let of_fields = fields.into_iter().map(|field| {
        let field_text = program::sharing::show_field(&whole, field);
        format!("{field_text}{}", program::show_guards(&whole, field))
    });
    let texts: Vec<String> = of_methods.chain(of_fields).collect();
    output::print(&texts.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The methods that a pattern names, in order.
pub(crate) fn methods_named(program: &Program, pattern: &str) -> Vec<MethodId> {
    program.methods().filter(|candidate| is_named(&full_name(program, *candidate), pattern)).collect()
}

fn load(paths: &[PathBuf], known: &KnownArgs) -> Result<Program> {
    let options = InputOptions::default();
    let known = known::open(known, &options)?;
    Ok(Program::load(input::load(paths, &options)?.sources, known))
}

/// Translates every method, and lists those that cannot be and those whose sections do not balance.
fn problems(program: &Program) -> String {
    let mut text = String::new();
    for skipped in program.skipped() {
        let _ = writeln!(text, "skipped: {}: {}", skipped.path, skipped.reason);
    }
    let found = program.visit_bodies(|_| true, |method, body| program::show_problems(program, method, &body));
    let (mut unread, mut unbalanced) = (0, 0);
    for result in &found {
        match result {
            Ok(lines) => {
                unbalanced += usize::from(!lines.is_empty());
                text.push_str(lines);
            }
            Err(unreadable) => {
                unread += 1;
                let skipped = check::unread_method(program, unreadable);
                let _ = writeln!(text, "skipped: {}: {}", skipped.path, skipped.reason);
            }
        }
    }
    let calls = program::Calls::of(program, program::CallGraph::default());
    let reflective = program.methods().filter(|method| !calls.reflection(program, *method).is_empty()).count();
    let _ = writeln!(text, "{reflective} methods call or touch something through reflection, which is not followed");
    let _ = writeln!(
        text,
        "{} classes, {} methods with code: {unread} not analysed, {unbalanced} with sections that do not balance; \
         {} classes skipped",
        program.class_count(),
        found.len(),
        program.skipped().len()
    );
    text
}

/// `pkg.Outer$Inner.method(I)V`
fn full_name(program: &Program, method: MethodId) -> String {
    let name = program.method_name(method);
    format!("{}{}", program.names.readable_method(name), program.names.text(name.descriptor))
}

/// Whether `pattern` is the name or a part of it from the right, whole words only; with or without descriptor.
pub(crate) fn is_named(full: &str, pattern: &str) -> bool {
    let name = if pattern.contains('(') { full } else { full.split('(').next().unwrap_or(full) };
    match name.strip_suffix(pattern) {
        Some(before) => before.is_empty() || before.ends_with(['.', '$']),
        None => false,
    }
}

pub(crate) fn hint(program: &Program, method: &str) -> String {
    let last = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
    let names: Vec<String> =
        program.methods().map(|method| program.names.text(program.method(method).name).to_owned()).collect();
    match nearest(&last(method), names.iter().map(String::as_str)) {
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

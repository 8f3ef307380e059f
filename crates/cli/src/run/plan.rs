//! What ought to be atomic, and the plan that a JVM gets for it.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use finding::Suspicion;
use location::MethodPlace;
use program::{Mark, MethodId, Program, Settings};

use crate::show::methods_named;

/// Where units come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum UnitsArg {
    /// What the code makes suspect.
    Inferred,
    /// Critical sections.
    Synch,
    /// Critical sections, and all methods that others can call.
    ExportSynch,
    /// Methods marked `@Atomic`.
    Annotated,
    /// Methods that `--atomic` names.
    Configured,
}

impl ValueEnum for UnitsArg {
    fn value_variants<'a>() -> &'a [UnitsArg] {
        &[UnitsArg::Inferred, UnitsArg::Synch, UnitsArg::ExportSynch, UnitsArg::Annotated, UnitsArg::Configured]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            UnitsArg::Inferred => PossibleValue::new("inferred").help("what the code makes suspect"),
            UnitsArg::Synch => PossibleValue::new("synch").help("critical sections"),
            UnitsArg::ExportSynch => {
                PossibleValue::new("export+synch").help("critical sections, and methods that others can call")
            }
            UnitsArg::Annotated => PossibleValue::new("annotated").help("methods marked `@Atomic`"),
            UnitsArg::Configured => PossibleValue::new("configured").help("methods that `--atomic` names"),
        })
    }
}

/// The plan, one method a line.
pub(super) fn plan(units: UnitsArg, program: &Program, settings: &Settings, suspicions: &[Suspicion]) -> String {
    let mut lines: Vec<String> = match units {
        UnitsArg::Inferred => suspicions
            .iter()
            .flat_map(watched)
            .map(|method| {
                format!("enter\t{}\t{}\t{}\n", method.class.replace('.', "/"), method.name, method.descriptor)
            })
            .collect(),
        // The analysis finds the sections in the events.
        UnitsArg::Synch => Vec::new(),
        UnitsArg::ExportSynch => methods(program, |method| is_exported(program, method)),
        UnitsArg::Annotated => methods(program, |method| program.annotations_of_method(method).has(Mark::Atomic)),
        UnitsArg::Configured => {
            let named: Vec<MethodId> = settings.atomic.iter().flat_map(|name| methods_named(program, name)).collect();
            methods(program, |method| named.contains(&method))
        }
    };
    lines.sort();
    lines.dedup();
    lines.concat()
}

/// The methods whose activations tell units apart: the one that ought to be atomic, those that do both parts themselves
/// when it calls them, and those that lead to it.
fn watched(suspicion: &Suspicion) -> impl Iterator<Item = &MethodPlace> {
    let own = &suspicion.finding.method;
    let begins = suspicion.first.iter().map(|place| &place.method);
    let both = begins.filter(move |method| suspicion.second.iter().any(|place| &place.method == *method));
    both.chain([own]).chain(&suspicion.detour.approaches)
}

fn methods(program: &Program, is_unit: impl Fn(MethodId) -> bool) -> Vec<String> {
    let line = |method: MethodId| {
        let name = program.method_name(method);
        let names = &program.names;
        format!("unit\t{}\t{}\t{}\n", names.text(name.class.0), names.text(name.name), names.text(name.descriptor))
    };
    program.methods().filter(|method| is_unit(*method)).map(line).collect()
}

/// Whether others can call it: not private, and neither a constructor nor what a thread begins with.
fn is_exported(program: &Program, method: MethodId) -> bool {
    let (name, access) = (program.method_name(method), program.method(method).access);
    let names = &program.names;
    let is_main = names.text(name.name) == "main" && names.text(name.descriptor) == "([Ljava/lang/String;)V";
    let is_run = names.text(name.name) == "run"
        && names.text(name.descriptor) == "()V"
        && program.is_subtype(name.class, names.class("java/lang/Runnable"));
    let is_code = !access.is_abstract() && !access.is_native() && !access.is_synthetic();
    is_code && !access.is_private() && !names.text(name.name).starts_with('<') && !is_main && !is_run
}

//! What is taken for granted about a program, by annotation or on the command line.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use clap::Args;
use detect_dynamic::Assumptions;
use finding::Finding;
use location::MethodPlace;
use program::{Mark, MethodId, Program};

use crate::show::{is_named, methods_named};

#[derive(Args, Clone, Default, Debug)]
pub(crate) struct AssumeArgs {
    /// Take each call of this method for one step, whatever it does, as if it were annotated `@AssumeAtomic`; may be
    /// repeated
    #[arg(long, value_name = "CLASS.METHOD")]
    assume_atomic: Vec<String>,

    /// Take calls of this method not to matter to other threads, as if it were annotated `@AssumeMover`; may be repeated
    #[arg(long, value_name = "CLASS.METHOD")]
    assume_mover: Vec<String>,

    /// Take every access to this field to be guarded, as if it were annotated `@AssumeGuarded`; may be repeated
    #[arg(long, value_name = "CLASS.FIELD")]
    assume_guarded: Vec<String>,

    /// Tell nothing of this class, method or line, as if it were annotated `@NoWarn`: `pkg.Class`, `Class.method` or
    /// `File.java:12`; may be repeated
    #[arg(long, value_name = "WHAT")]
    no_warn: Vec<String>,
}

/// The same with the annotations of a program, by full names.
#[derive(Default, PartialEq, Eq, Debug)]
pub(crate) struct Assumed {
    /// `pkg.Class.method:descriptor`
    atomic: BTreeSet<String>,
    movers: BTreeSet<String>,
    /// `pkg.Class.field`
    guarded: BTreeSet<String>,
    /// `pkg.Class`, `pkg.Class.method:descriptor` or `File.java:12`
    silent: BTreeSet<String>,
    /// What was named and is nowhere.
    pub(crate) unknown: Vec<String>,
}

// The first words of lines in a plan. They mean nothing to a JVM.
const ATOMIC: &str = "assume-atomic";
const MOVER: &str = "assume-mover";
const GUARDED: &str = "assume-guarded";
const SILENT: &str = "no-warn";

impl Assumed {
    pub(crate) fn of(program: &Program, args: &AssumeArgs) -> Assumed {
        let mut assumed = Assumed::default();
        assumed.annotations(program);
        for (names, methods) in [(&args.assume_atomic, &mut assumed.atomic), (&args.assume_mover, &mut assumed.movers)]
        {
            for name in names {
                let named = methods_named(program, name);
                if named.is_empty() {
                    assumed.unknown.push(name.clone());
                }
                methods.extend(named.into_iter().map(|method| method_key(program, method)));
            }
        }
        for name in &args.assume_guarded {
            let fields = program.classes().flat_map(|class| program.fields_of(class));
            let named: Vec<String> =
                fields.map(|field| program.readable_field(field)).filter(|field| is_named(field, name)).collect();
            if named.is_empty() {
                assumed.unknown.push(name.clone());
            }
            assumed.guarded.extend(named);
        }
        for name in &args.no_warn {
            if name.rsplit_once(':').is_some_and(|(_, line)| line.parse::<u32>().is_ok()) {
                assumed.silent.insert(name.clone());
                continue;
            }
            let classes = program.classes().map(|class| program.names.readable_class(program.header(class).name));
            let mut named: Vec<String> = classes.filter(|class| is_named(class, name)).collect();
            named.extend(with_all_within(program, &methods_named(program, name)));
            if named.is_empty() {
                assumed.unknown.push(name.clone());
            }
            assumed.silent.extend(named);
        }
        assumed
    }

    fn annotations(&mut self, program: &Program) {
        for class in program.classes() {
            if program.annotations_of_class(class).has(Mark::NoWarn) {
                self.silent.insert(program.names.readable_class(program.header(class).name));
            }
            for field in program.fields_of(class) {
                if program.annotations_of_field(field).has(Mark::AssumeGuarded) {
                    self.guarded.insert(program.readable_field(field));
                }
            }
        }
        let mut silent = Vec::new();
        for method in program.methods() {
            let annotations = program.annotations_of_method(method);
            for mark in annotations.marks() {
                let methods = match mark {
                    Mark::AssumeAtomic => &mut self.atomic,
                    Mark::AssumeMover => &mut self.movers,
                    Mark::NoWarn => {
                        silent.push(method);
                        continue;
                    }
                    _ => continue,
                };
                methods.insert(method_key(program, method));
            }
        }
        self.silent.extend(with_all_within(program, &silent));
    }

    /// Whether a finding contradicts what is taken for granted, or is not wanted.
    pub(crate) fn hides(&self, finding: &Finding) -> bool {
        let method = key(&finding.method);
        let is_silent = self.silent.iter().any(|silent| {
            *silent == method
                || finding.method.class.strip_prefix(silent.as_str()).is_some_and(|rest| {
                    // A class, and what is inside it.
                    rest.is_empty() || rest.starts_with('$')
                })
        });
        let places = finding.steps.iter().filter_map(|step| step.place.as_ref());
        let mut lines = places.filter_map(|place| Some(format!("{}:{}", place.file.as_ref()?, place.line?)));
        is_silent
            || self.atomic.contains(&method)
            || self.movers.contains(&method)
            || (!finding.variables.is_empty() && finding.variables.is_subset(&self.guarded))
            || lines.any(|line| self.silent.contains(&line))
    }

    /// Lines of a plan: methods whose calls must be seen, and all the rest for whoever judges the events.
    pub(crate) fn plan(&self) -> String {
        let mut plan = String::new();
        for method in self.atomic.union(&self.movers) {
            if let Some(((class, name), descriptor)) =
                method.split_once(':').and_then(|(name, descriptor)| Some((name.rsplit_once('.')?, descriptor)))
            {
                let _ = writeln!(plan, "enter\t{}\t{name}\t{descriptor}", class.replace('.', "/"));
            }
        }
        let lists = [(ATOMIC, &self.atomic), (MOVER, &self.movers), (GUARDED, &self.guarded), (SILENT, &self.silent)];
        for (word, names) in lists {
            for name in names {
                let _ = writeln!(plan, "{word}\t{name}");
            }
        }
        plan
    }

    /// What the lines of a plan say.
    pub(crate) fn from_plan(plan: &str) -> Assumed {
        let mut assumed = Assumed::default();
        for (word, name) in plan.lines().filter_map(|line| line.split_once('\t')) {
            let names = match word {
                ATOMIC => &mut assumed.atomic,
                MOVER => &mut assumed.movers,
                GUARDED => &mut assumed.guarded,
                SILENT => &mut assumed.silent,
                _ => continue,
            };
            names.insert(name.to_owned());
        }
        assumed
    }

    /// The same for detectors.
    pub(crate) fn assumptions(&self) -> Assumptions {
        Assumptions::new(self.atomic.clone(), self.movers.clone(), self.guarded.clone())
    }
}

fn method_key(program: &Program, method: MethodId) -> String {
    let name = program.method_name(method);
    format!("{}:{}", program.names.readable_method(name), program.names.text(name.descriptor))
}

/// Methods, and the lambdas and classes in their bodies: to whoever wrote them, those are a part of them.
fn with_all_within(program: &Program, methods: &[MethodId]) -> Vec<String> {
    if methods.is_empty() {
        return Vec::new();
    }
    let mut all = methods.to_vec();
    all.extend(methods.iter().flat_map(|method| program.lambdas_of(*method)));
    let classes = program.classes_within(&all).into_iter();
    let classes = classes.map(|class| program.names.readable_class(program.header(class).name));
    all.iter().map(|method| method_key(program, *method)).chain(classes).collect()
}

/// `pkg.Class.method:descriptor`, as the events of a run name it.
fn key(method: &MethodPlace) -> String {
    format!("{}.{}:{}", method.class, method.name, method.descriptor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_keep_what_is_assumed() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let assumed = Assumed {
            atomic: set(&["a.B.m:()V"]),
            movers: set(&["a.B.n:(I)V"]),
            guarded: set(&["a.B.x"]),
            silent: set(&["a.C", "C.java:12"]),
            unknown: Vec::new(),
        };
        let plan = assumed.plan();
        assert!(plan.starts_with("enter\ta/B\tm\t()V\nenter\ta/B\tn\t(I)V\n"), "{plan}");
        assert_eq!(Assumed::from_plan(&plan), assumed);
    }
}

//! The laws of bodies, sections and control dependence on real classes.

mod support;

use classfile::ClassSource;
use program::{ControlDependence, Known, Program, Sections};
use support::{laws, real};

/// Looks at every method of a program; tells how many there were.
fn examine(sources: Vec<ClassSource>) -> usize {
    let program = Program::load(sources, Known::default());
    let results = program.visit_bodies(
        |_| true,
        |method, body| {
            let name = || program.names.readable_method(program.method_name(method));
            if let Err(broken) = laws::check(&body) {
                return Err(format!("{}: {broken}", name()));
            }
            let sections = Sections::of(&body, &program);
            for (_, section) in sections.iter() {
                let starts = section.start.map(|start| body.instruction(start).pc);
                let is_open_at_its_ends = section.ends.iter().all(|end| {
                    sections
                        .held_at(&body, *end)
                        .is_some_and(|held| held.iter().any(|held| std::ptr::eq(sections.get(held.section), section)))
                });
                if !is_open_at_its_ends {
                    return Err(format!("{}: the section from {starts:?} ends where it is not open", name()));
                }
            }
            let control = ControlDependence::of(&body);
            for (block, _) in body.blocks() {
                for on in control.of_block(block) {
                    if body.block(on.branch).successors.len() < 2 {
                        return Err(format!("{}: b{} is decided by no branch", name(), block.index()));
                    }
                }
            }
            Ok(())
        },
    );
    let broken: Vec<String> = results
        .iter()
        .filter_map(|result| match result {
            Ok(Ok(())) => None,
            Ok(Err(broken)) => Some(broken.clone()),
            Err(unreadable) => {
                let name = program.names.readable_method(program.method_name(unreadable.method));
                Some(format!("{name}: {}", unreadable.reason))
            }
        })
        .collect();
    assert!(broken.is_empty(), "{} of {}: {:#?}", broken.len(), results.len(), &broken[..broken.len().min(10)]);
    results.len()
}

#[test]
fn all_methods_of_java_base_keep_the_laws() {
    let methods = examine(real::java_base());
    assert!(methods > 50_000, "only {methods} methods");
}

/// Takes minutes: all modules of the JDK, and the archives that `FISSURE_JARS` names.
#[test]
fn all_methods_of_everything_keep_the_laws() {
    if !real::is_long() {
        return;
    }
    assert!(examine(real::jdk()) > 100_000);
    for path in real::archives() {
        examine(real::read(&path).sources);
    }
}

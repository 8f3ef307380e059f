//! The fixtures, compiled by the compiler of Eclipse in place of `javac`: other bytecode for the same source.

use classfile::ClassSource;
use detect_static::{DETECTORS, Detector, check};
use fixture::{Compiled, Compiler, Fixture, MarkKind, cache, compile_by, test_jdk, workspace};
use program::{Known, Program, show_problems};

fn fixtures(folder: &str) -> Vec<Fixture> {
    let top = workspace().canonicalize().expect("the project is there");
    Fixture::all(&top.join(folder)).expect("there are fixtures")
}

/// What the compiler makes of fixtures; none where it is out of reach, which has been told.
fn compiled(fixtures: &[Fixture]) -> Vec<Compiled<'_>> {
    let Some(compiler) = Compiler::eclipse().expect("Maven works") else { return Vec::new() };
    compile_by(&compiler, fixtures, &test_jdk().expect("there is a JDK"), &cache()).expect("they compile")
}

fn load(compiled: &Compiled<'_>) -> Program {
    let files = fixture::class_files(&compiled.classes);
    let program =
        Program::load(files.into_iter().map(|(path, bytes)| ClassSource { path, bytes }).collect(), Known::default());
    assert_eq!(program.skipped(), [], "{}", compiled.describe());
    program
}

#[test]
fn findings_are_the_same() {
    let detectors: Vec<&Detector> = DETECTORS.iter().filter(|detector| detector.default).collect();
    let mut fixtures = fixtures("fixtures/static");
    // This compiler gives the end of a block the line of its last statement, not of its brace.
    for file in fixtures.iter_mut().flat_map(|fixture| &mut fixture.files) {
        file.marks.retain(|mark| match &mark.kind {
            MarkKind::Step { text, .. } => !text.ends_with("let go"),
            _ => true,
        });
    }
    let mut wrong = Vec::new();
    for one in compiled(&fixtures) {
        let checked = check(&load(&one), &detectors);
        assert_eq!(checked.unreadable, []);
        if let Err(differences) = fixture::compare_findings(one.fixture, None, &checked.findings) {
            wrong.push(format!("{}\n{differences}", one.describe()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where sections do not balance is marked in the fixtures of the model, and nowhere else.
#[test]
fn sections_balance_where_they_do_with_javac() {
    for one in compiled(&fixtures("fixtures/model")) {
        let marks = one.fixture.files.iter().flat_map(|file| &file.marks);
        let unbalanced = |mark: &fixture::Mark| match &mark.kind {
            MarkKind::Fact { text } => text.starts_with("unbalanced"),
            _ => false,
        };
        let marked = marks.filter(|mark| unbalanced(mark)).count();
        let program = load(&one);
        let told: Vec<String> = program
            .visit_bodies(|_| true, |method, body| show_problems(&program, method, &body))
            .into_iter()
            .flat_map(|told| told.unwrap().lines().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        assert_eq!(told.len(), marked, "{}: {told:#?}", one.describe());
    }
}

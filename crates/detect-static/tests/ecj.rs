//! The fixtures, compiled by the Eclipse compiler in place of `javac`: other bytecode for the same source.
//!
//! Runs where `FISSURE_ECJ` names the compiler's jar.

use std::fs;
use std::process::Command;

use classfile::ClassSource;
use detect_static::{DETECTORS, Detector, check};
use fixture::Fixture;
use program::{Known, Program, show_problems};

/// Compiles a fixture and loads it.
fn compile(fixture: &Fixture, release: u32, ecj: &std::ffi::OsStr) -> Program {
    let classes = fixture::cache().join(format!("ecj-{release}-{}", fixture.name.replace('/', "-")));
    let _ = fs::remove_dir_all(&classes);
    fs::create_dir_all(&classes).expect("the folder can be made");
    let mut command = Command::new(fixture::test_jdk().expect("there is a JDK").program("java"));
    command.arg("-jar").arg(ecj).args(["-g", "-nowarn", "--release", &release.to_string(), "-d"]).arg(&classes);
    let output = command.args(fixture.files.iter().map(|file| &file.path)).output().expect("the compiler starts");
    assert!(output.status.success(), "{}: {}", fixture.name, String::from_utf8_lossy(&output.stderr));
    let files = fixture::class_files(&classes);
    let program =
        Program::load(files.into_iter().map(|(path, bytes)| ClassSource { path, bytes }).collect(), Known::default());
    assert_eq!(program.skipped(), [], "{}", fixture.name);
    program
}

fn fixtures(folder: &str) -> Vec<Fixture> {
    let top = fixture::workspace().canonicalize().expect("the project is there");
    Fixture::all(&top.join(folder)).expect("there are fixtures")
}

#[test]
fn findings_are_the_same() {
    let Some(ecj) = std::env::var_os("FISSURE_ECJ") else { return };
    let detectors: Vec<&Detector> = DETECTORS.iter().filter(|detector| detector.default).collect();
    for mut fixture in fixtures("fixtures/static") {
        // This compiler gives the end of a block the line of its last statement, not of its brace.
        for file in &mut fixture.files {
            file.marks.retain(|mark| !matches!(mark.kind, fixture::MarkKind::Step { number: 3, .. }));
        }
        for release in &fixture.releases {
            let checked = check(&compile(&fixture, *release, &ecj), &detectors);
            assert_eq!(checked.unreadable, []);
            if let Err(differences) = fixture::compare_findings(&fixture, None, &checked.findings) {
                panic!("{}, release {release}\n{differences}", fixture.name);
            }
        }
    }
}

/// Where sections do not balance is marked in the fixtures of the model, and nowhere else.
#[test]
fn sections_balance_where_they_do_with_javac() {
    let Some(ecj) = std::env::var_os("FISSURE_ECJ") else { return };
    for fixture in fixtures("fixtures/model") {
        let marks = fixture.files.iter().flat_map(|file| &file.marks);
        let unbalanced = |mark: &fixture::Mark| match &mark.kind {
            fixture::MarkKind::Fact { text } => text.starts_with("unbalanced"),
            _ => false,
        };
        let marked = marks.filter(|mark| unbalanced(mark)).count();
        for release in &fixture.releases {
            let program = compile(&fixture, *release, &ecj);
            let told: Vec<String> = program
                .visit_bodies(|_| true, |method, body| show_problems(&program, method, &body))
                .into_iter()
                .flat_map(|told| told.unwrap().lines().map(str::to_owned).collect::<Vec<_>>())
                .collect();
            assert_eq!(told.len(), marked, "{}, release {release}: {told:#?}", fixture.name);
        }
    }
}

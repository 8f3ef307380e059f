//! The model of a method, told line by line and compared with the marks of the fixtures.

use classfile::ClassSource;
use fixture::Fact;
use program::Program;

#[test]
fn the_model_is_what_the_fixtures_say() {
    fixture::check_facts("fixtures/model", |compiled| {
        let files = fixture::class_files(&compiled.classes);
        let sources = files.into_iter().map(|(path, bytes)| ClassSource { path, bytes }).collect();
        let program = Program::load(sources);
        assert_eq!(program.skipped(), [], "{}", compiled.describe());
        facts(&program)
    });
}

/// What the model says of each line.
fn facts(_program: &Program) -> Vec<Fact> {
    Vec::new()
}

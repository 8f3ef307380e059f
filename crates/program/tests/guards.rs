//! What guards a field, compared with the marks of the fixtures.
//!
//! A mark stands where the field is first written outside construction, or first taken as a lock: the field's name and
//! what `fissure show` says of it.

use classfile::ClassSource;
use fixture::{Compiled, Fact};
use program::outline::{Name, NameStep, Start};
use program::{FieldId, Known, Program, Settings, Whole, show_guards};

#[test]
fn guards_are_what_the_fixtures_say() {
    fixture::check_facts("fixtures/guards", |compiled| {
        let files = fixture::class_files(&compiled.classes);
        let sources = files.into_iter().map(|(path, bytes)| ClassSource { path, bytes }).collect();
        let program = Program::load(sources, Known::default());
        assert_eq!(program.skipped(), [], "{}", compiled.describe());
        facts(&program, compiled)
    });
}

fn facts(program: &Program, _: &Compiled<'_>) -> Vec<Fact> {
    let whole = Whole::in_full(program, Settings::default());
    let fields = program.classes().flat_map(|class| program.fields_of(class));
    let told = fields.filter_map(|field| {
        let lines: Vec<String> = show_guards(&whole, field).lines().map(|line| line.trim().to_owned()).collect();
        let name = program.names.text(program.field(field).name);
        (!lines.is_empty()).then(|| fact(&whole, field, format!("{name} {}", lines.join("; "))))
    });
    told.collect()
}

fn fact(whole: &Whole<'_>, field: FieldId, text: String) -> Fact {
    let program = whole.program;
    let class = program.header(program.class_of_field(field));
    let file = class.source_file.map(|file| program.names.text(file).to_owned()).unwrap_or_default();
    let accesses = whole.sharings().accesses(field);
    let written = accesses
        .iter()
        .find(|access| access.is_write && !access.is_initial)
        .and_then(|access| whole.outlines().get(access.at.method)?.events[access.at.event.index()].line);
    let taken = || {
        let outlines = program.methods().filter_map(|method| whole.outlines().get(method));
        let mut sections = outlines.flat_map(|outline| &outline.sections);
        let is_it = |name: &Name| match (&name.start, name.steps.last()) {
            (_, Some(NameStep::Field(last))) | (Start::Static(last), None) => {
                program.resolve_field(*last) == Some(field)
            }
            _ => false,
        };
        sections.find(|section| is_it(&section.lock)).and_then(|section| section.line)
    };
    Fact { file, line: written.or_else(taken).unwrap_or(0), text }
}

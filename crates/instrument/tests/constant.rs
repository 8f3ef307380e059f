//! Which fields are as good as final, and what becomes of code that touches them.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod support;

use std::fs;
use std::process::Command;

use fixture::{class_files, test_jdk};
use instrument::{ConstantFields, Origin, Plan, Sites, Writes, instrument_from};
use support::{folder, run};

const SOURCE: &str = include_str!("java/Fields.java");

/// The classes of the source, without the folder of their paths, for one of the tests.
fn classes(test: &str) -> Vec<(String, Vec<u8>)> {
    let folder = folder(&format!("constant-{test}"));
    fs::write(folder.join("Fields.java"), SOURCE).unwrap();
    run(Command::new(test_jdk().unwrap().program("javac")).current_dir(&folder).args(["-d", "out", "Fields.java"]));
    let named = |(path, bytes): (String, Vec<u8>)| (path.rsplit('/').next().unwrap().to_owned(), bytes);
    class_files(&folder.join("out")).into_iter().map(named).collect()
}

fn constants(classes: &[(String, Vec<u8>)]) -> ConstantFields {
    let all: Vec<Writes> = classes.iter().map(|(_, bytes)| Writes::of(bytes).unwrap()).collect();
    ConstantFields::of(&all)
}

#[test]
fn fields_are_as_their_marks_say() {
    let classes = classes("marks");
    let constants = constants(&classes);
    let found: Vec<&str> = constants.rows().into_iter().map(|[_, name, _]| name).collect();
    let marked = SOURCE.lines().filter_map(|line| line.strip_suffix("; // constant"));
    let mut expected: Vec<&str> =
        marked.filter_map(|field| field.split(" = ").next()?.split(' ').next_back()).collect();
    expected.sort_by_key(|name| (*name == "value", *name));
    assert_eq!(found, expected);
    // Without the classes that write them.
    let alone = self::constants(&[classes.into_iter().find(|(name, _)| name == "Fields.class").unwrap()]);
    let alone: Vec<&str> = alone.rows().into_iter().map(|[_, name, _]| name).collect();
    assert!(alone.contains(&"given") && alone.contains(&"below") && !alone.contains(&"counted"), "{alone:?}");
}

#[test]
fn constant_fields_have_no_probes_if_they_are_those_of_the_class_path() {
    let classes = classes("probes");
    let plan = Plan { skips_unescaped: true, constants: constants(&classes), ..Plan::default() };
    let named = |origin| {
        let mut sites = Sites::new();
        for (_, bytes) in &classes {
            instrument_from(origin, bytes, &plan, &mut sites).unwrap();
        }
        assert_eq!(sites.take_notes(), [] as [String; 0]);
        let mut names: Vec<String> = sites.fields().iter().map(|field| field.name.clone()).collect();
        names.sort();
        names.dedup();
        names
    };
    let (of_class_path, elsewhere) = (named(Origin::ClassPath), named(Origin::Elsewhere));
    assert!(of_class_path.contains(&"counted".to_owned()) && !of_class_path.contains(&"never".to_owned()));
    assert!(elsewhere.contains(&"never".to_owned()));
}

#[test]
fn a_write_that_nobody_expected_is_told() {
    let classes = classes("surprise");
    let mut plan = Plan { skips_unescaped: true, ..Plan::default() };
    plan.constants.add("Fields", "given", "I");
    let other = &classes.iter().find(|(name, _)| name == "Other.class").unwrap().1;
    let notes = |origin| {
        let mut sites = Sites::new();
        instrument_from(origin, other, &plan, &mut sites).unwrap();
        sites.take_notes()
    };
    let told = notes(Origin::ClassPath);
    assert!(told.len() == 1 && told[0].contains("`Fields.given`") && told[0].contains("`Other`"), "{told:?}");
    assert_eq!(notes(Origin::Elsewhere), [] as [String; 0]);
}

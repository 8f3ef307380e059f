//! The examples on the rules' pages are what the pages say: the first one is wrong, the second one is right.

use classfile::ClassSource;
use detect_static::{DETECTORS, Detector, check};
use fixture::{Fixture, Folder, cache, class_files, compile, test_jdk, workspace};
use program::{Known, Program};

/// The Java blocks of a page.
fn examples(page: &str) -> Vec<&str> {
    page.split("```java\n").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// The rules of which a piece of Java is accused.
fn accusations(java: &str) -> Vec<&'static str> {
    let folder = Folder::new();
    let source = folder.file("Account.java", java);
    let fixtures = [Fixture::new("example".to_owned(), &[source]).expect("an example has no odd marks")];
    let compiled = compile(&fixtures, &test_jdk().expect("a JDK"), &cache()).expect("an example compiles");
    let files = class_files(&compiled[0].classes).into_iter();
    let program = Program::load(files.map(|(path, bytes)| ClassSource { path, bytes }).collect(), Known::default());
    let detectors: Vec<&Detector> = DETECTORS.iter().filter(|detector| detector.default).collect();
    check(&program, &detectors).findings.iter().map(|finding| finding.rule.id).collect()
}

#[test]
fn examples_are_what_their_pages_say() {
    // The other rules speak of runs.
    let has_fixtures = |id: &str| workspace().join("fixtures/static").join(id.replace('-', "_")).is_dir();
    let rules: Vec<_> = finding::RULES.iter().filter(|rule| has_fixtures(rule.id)).collect();
    assert!(!rules.is_empty());
    for rule in rules {
        let examples = examples(rule.page);
        assert_eq!(examples.len(), 2, "{}: one example is wrong and one is right", rule.id);
        assert_eq!(accusations(examples[0]), [rule.id], "the wrong example of {}", rule.id);
        assert_eq!(accusations(examples[1]), [""; 0], "the right example of {}", rule.id);
    }
}

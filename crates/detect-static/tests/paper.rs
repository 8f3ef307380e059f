//! The programs of the paper's first table, in our own words: what its abstraction says of them, what the older property
//! says, and what is said by default.

use classfile::ClassSource;
use detect_static::{DETECTORS, Detector, check_with};
use program::{Known, Program, Settings};

/// By program: how many findings in the paper's abstraction, and how many of view consistency.
const TOLD: &[(&str, usize, usize)] = &[
    ("check_then_act/AllocateVector.java", 1, 0),
    // One is false: the second look at `best` is not seen as such.
    ("check_then_act/Knight.java", 2, 0),
    // One is false: what is counted has nothing to do with what decides.
    ("stale_value/AtomicMarks.java", 2, 0),
    ("stale_value/CharBuffer.java", 1, 1),
    // False: the paper does not know hand-over.
    ("stale_value/Handed.java", 1, 0),
    ("stale_value/Reporting.java", 1, 0),
    // One is false: the second section makes sure.
    ("stale_value/Update.java", 2, 0),
    ("torn_read/AtomicPair.java", 1, 1),
    ("torn_read/Connection.java", 2, 7),
    ("torn_read/Coordinates.java", 1, 1),
    ("torn_read/Pair.java", 1, 1),
    ("torn_write/Database.java", 3, 2),
    ("torn_write/RemoteAgent.java", 1, 1),
    ("torn_write/Swap.java", 1, 1),
    ("torn_write/Ward.java", 1, 1),
];

fn findings(program: &Program, detector: &str, settings: Settings) -> Vec<String> {
    let detectors: Vec<&Detector> = DETECTORS.iter().filter(|known| known.name == detector).collect();
    let checked = check_with(program, &detectors, settings);
    checked.findings.iter().map(|finding| format!("{}: {}", finding.rule.id, finding.message)).collect()
}

#[test]
fn papers_abstraction_says_what_it_said() {
    let top = fixture::workspace().canonicalize().expect("the project is there");
    let all = fixture::Fixture::all(&top.join("fixtures/static")).expect("there are fixtures");
    let wanted: Vec<_> = all.into_iter().filter(|one| TOLD.iter().any(|(name, ..)| one.name == *name)).collect();
    assert_eq!(wanted.len(), TOLD.len());
    let jdk = fixture::test_jdk().expect("there is a JDK");
    for compiled in fixture::compile(&wanted, &jdk, &fixture::cache()).expect("the fixtures compile") {
        let files = fixture::class_files(&compiled.classes).into_iter();
        let program = Program::load(files.map(|(path, bytes)| ClassSource { path, bytes }).collect(), Known::default());
        let paper = Settings { paper: true, ..Settings::default() };
        let told = findings(&program, "causal-views", paper);
        let baseline = findings(&program, "view-consistency", Settings::default());
        let (name, count, of_baseline) =
            TOLD.iter().find(|(name, ..)| *name == compiled.fixture.name).expect("it was asked for");
        assert_eq!((told.len(), baseline.len()), (*count, *of_baseline), "{name}\n{told:#?}\n{baseline:#?}");
    }
}

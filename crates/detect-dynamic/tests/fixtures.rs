//! Text traces with the findings that they must give, and no others.
//!
//! A line `//~ RULE xCOUNT: STEPS` says a finding, its steps in the order in which they happened. `//@ lock-conflicts`
//! sets the option.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;

use detect_dynamic::{DETECTORS, Filter, Options};
use finding::Finding;
use trace::{OrderedWriter, Reader};

fn findings(bytes: &[u8], options: Options, filter: bool) -> Vec<Finding> {
    let mut reader = Reader::new(bytes).unwrap();
    let chosen = DETECTORS.iter().filter(|detector| detector.default);
    let mut detectors: Vec<_> = chosen.map(|detector| (detector.start)(&options)).collect();
    let mut batch = Vec::new();
    let mut sieve = Filter::new();
    loop {
        reader.next(&mut batch).unwrap();
        if batch.is_empty() {
            break;
        }
        if filter {
            batch.retain(|event| sieve.keeps(event, reader.tables()));
        }
        for detector in &mut detectors {
            detector.on_events(&batch);
        }
    }
    assert!(reader.problems().is_empty(), "{:?}", reader.problems());
    detectors.into_iter().flat_map(|detector| detector.finish(reader.tables())).collect()
}

fn told(findings: &[Finding]) -> Vec<String> {
    let mut told: Vec<String> = findings
        .iter()
        .map(|finding| {
            let steps: Vec<String> = finding
                .interleaving
                .iter()
                .map(|&number| {
                    let step = &finding.steps[number as usize - 1];
                    assert_eq!(step.number, number);
                    format!("{} {}", step.thread.0, step.what)
                })
                .collect();
            format!("{} x{}: {}", finding.rule.id, finding.count, steps.join(", "))
        })
        .collect();
    told.sort();
    told
}

#[test]
fn every_trace_gives_what_its_marks_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces");
    let mut wrong = Vec::new();
    let (mut marked, mut clean) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut expected: Vec<String> =
            text.lines().filter_map(|line| line.strip_prefix("//~ ")).map(str::to_owned).collect();
        expected.sort();
        *(if expected.is_empty() { &mut clean } else { &mut marked }) += 1;
        let mut options = Options::default();
        for option in text.lines().filter_map(|line| line.strip_prefix("//@ ")) {
            match option {
                "lock-conflicts" => options.lock_conflicts = true,
                "paper" => options.paper = true,
                _ => panic!("{name}: no option `{option}`"),
            }
        }
        let as_binary = binary(text.as_bytes());
        for (how, bytes, filter) in
            [("text", text.as_bytes(), false), ("binary", &as_binary[..], false), ("filtered", text.as_bytes(), true)]
        {
            let found = told(&findings(bytes, options, filter));
            if found != expected {
                wrong.push(format!("{name} ({how})\n  expected {expected:#?}\n  found {found:#?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(marked >= 10 && clean >= 10, "{marked} traces with findings, {clean} without");
}

fn binary(text: &[u8]) -> Vec<u8> {
    let mut reader = Reader::new(text).unwrap();
    let mut writer = OrderedWriter::new(Vec::new()).unwrap();
    let mut batch = Vec::new();
    loop {
        reader.next(&mut batch).unwrap();
        if batch.is_empty() {
            return writer.finish(reader.tables()).unwrap();
        }
        for event in &batch {
            writer.event(event, reader.tables()).unwrap();
        }
    }
}

/// Wording and numbering, whole.
#[test]
fn a_finding_says_who_where_and_what_to_do() {
    let text = "T1|begin|bank.Account.deposit(Account.java:10)\n\
                T1|r(bank.Account.balance@7)|bank.Account.deposit(Account.java:12)\n\
                T2|w(bank.Account.balance@7)|bank.Account.withdraw(Account.java:32)\n\
                T1|w(bank.Account.balance@7)|bank.Account.deposit(Account.java:16)\n\
                T1|end|bank.Account.deposit(Account.java:18)\n";
    let mut findings = findings(text.as_bytes(), Options::default(), false);
    findings.retain(|finding| finding.rule.id == "not-serializable");
    let [finding] = &findings[..] else { panic!("{} findings", findings.len()) };
    assert_eq!(finding.message, "`bank.Account.deposit` is not atomic: thread `T2` got in between (1) and (3)");
    assert_eq!(finding.fix, "hold one lock from (1) to (3), and wherever else `bank.Account.balance` is used");
    assert_eq!((finding.method.class.as_str(), finding.method.name.as_str()), ("bank.Account", "deposit"));
    assert_eq!(finding.variables.iter().collect::<Vec<_>>(), ["bank.Account.balance"]);
    let steps: Vec<_> = finding
        .steps
        .iter()
        .map(|step| (step.thread.0.as_str(), step.place.as_ref().and_then(|place| place.line), step.ran))
        .collect();
    assert_eq!(steps, [("T1", Some(12), true), ("T2", Some(32), true), ("T1", Some(16), true)]);
    assert_eq!(finding.interleaving, [1, 2, 3]);
}

#[test]
fn a_prediction_shows_entry_commit_point_and_offence_with_their_stacks() {
    let text = "T0|w(bank.Account.balance@7)|bank.Account.open(Account.java:5)\n\
                T2|w(bank.Account.balance@7)|bank.Account.withdraw(Account.java:32)\n\
                T1|begin|bank.Account.deposit(Account.java:10)\n\
                T1|r(bank.Account.balance@7)|bank.Account.seen(Account.java:12)|\
                bank.Account.seen(Account.java:12) < bank.Account.deposit(Account.java:11)\n\
                T1|w(bank.Account.balance@7)|bank.Account.deposit(Account.java:16)\n\
                T1|end|bank.Account.deposit(Account.java:18)\n";
    let mut findings = findings(text.as_bytes(), Options::default(), false);
    findings.retain(|finding| finding.detectors.contains("reduction"));
    let [finding] = &findings[..] else { panic!("{} findings", findings.len()) };
    assert_eq!(
        finding.message,
        "`bank.Account.deposit` may not be atomic: other threads can come in between (2) and (3)"
    );
    assert_eq!(finding.fix, "hold one lock from (2) to (3)");
    let lines = |places: &[location::Place]| places.iter().filter_map(|place| place.line).collect::<Vec<_>>();
    let steps: Vec<_> = finding
        .steps
        .iter()
        .map(|step| (step.thread.0.as_str(), step.place.as_ref().and_then(|place| place.line), lines(&step.callers)))
        .collect();
    let expected =
        [("T1", Some(10), vec![]), ("T1", Some(12), vec![11]), ("T1", Some(16), vec![]), ("T2", Some(32), vec![])];
    assert_eq!(steps, expected);
    assert_eq!(finding.interleaving, [1, 2, 4, 3]);
}

#[test]
fn what_did_not_run_is_marked() {
    let text = "T1|begin|bank.Account.deposit(Account.java:10)\n\
                T1|r(bank.Account.balance@7)|bank.Account.deposit(Account.java:12)\n\
                T1|spec(1:1)|bank.Account.deposit(Account.java:14)\n\
                T1|w(bank.Account.balance@7)|bank.Account.deposit(Account.java:16)\n\
                T1|merge(1)|bank.Account.deposit(Account.java:14)\n\
                T1|end|bank.Account.deposit(Account.java:18)\n\
                T2|w(bank.Account.balance@7)|bank.Account.withdraw(Account.java:32)\n";
    let findings = findings(text.as_bytes(), Options::default(), false);
    let [finding] = &findings[..] else { panic!("{} findings", findings.len()) };
    assert_eq!(finding.evidence, finding::Evidence::Predicted);
    assert_eq!(
        finding.message,
        "`bank.Account.deposit` may not be atomic: thread `T2` can come in between (1) and (3), on a way that this run did not take"
    );
    assert_eq!(finding.fix, "hold one lock from (1) to (3), and wherever else `bank.Account.balance` is used");
    let steps: Vec<_> = finding
        .steps
        .iter()
        .map(|step| (step.thread.0.as_str(), step.place.as_ref().and_then(|place| place.line), step.ran))
        .collect();
    assert_eq!(steps, [("T1", Some(12), true), ("T2", Some(32), true), ("T1", Some(16), false)]);
    assert_eq!(finding.interleaving, [1, 2, 3]);
}

/// Every finding of the purely dynamic mode is one of the hybrid one.
#[test]
fn commit_nodes_leaves_out_what_did_not_run() {
    let text = "A|begin|1\nA|r(x)|2\nA|spec(1:1)|3\nA|r(x)|4\nA|merge(1)|3\nA|w(y)|5\nA|end|6\nB|w(x)|7\nB|w(y)|8\n";
    let commit_nodes = DETECTORS.iter().find(|detector| detector.id == "commit-nodes").unwrap();
    assert!(!commit_nodes.default);
    let mut reader = Reader::new(text.as_bytes()).unwrap();
    let mut detector = (commit_nodes.start)(&Options::default());
    let mut batch = Vec::new();
    reader.next(&mut batch).unwrap();
    detector.on_events(&batch);
    let found = told(&detector.finish(reader.tables()));
    assert_eq!(found, ["not-atomic x1: A reads `x`, B writes `x`, B writes `y`, A writes `y`"]);
}

#[test]
fn locks_in_a_circle_are_told() {
    let remarks = |text: &str| {
        let mut reader = Reader::new(text.as_bytes()).unwrap();
        let hybrid = DETECTORS.iter().find(|detector| detector.id == "hybrid").unwrap();
        let mut detector = (hybrid.start)(&Options::default());
        let mut batch = Vec::new();
        reader.next(&mut batch).unwrap();
        detector.on_events(&batch);
        detector.conclude(reader.tables())
    };
    let one = "A|acq(l)|1\nA|acq(m)|2\nA|rel(m)|3\nA|rel(l)|4\n";
    let other = "B|acq(m)|1\nB|acq(l)|2\nB|rel(l)|3\nB|rel(m)|4\n";
    assert_eq!(
        remarks(&format!("{one}{other}")),
        ["threads take `l`, `m` in different orders and may wait for each other for ever; \
          what `hybrid` does not tell is atomic only if they do not"]
    );
    assert!(remarks(one).is_empty());
    assert!(remarks(&format!("{one}A|fork(B)|5\n{other}")).is_empty(), "one after the other");
    let under = |text: &str, thread: &str| format!("{thread}|acq(gate)|0\n{text}{thread}|rel(gate)|5\n");
    assert!(remarks(&format!("{}{}", under(one, "A"), under(other, "B"))).is_empty(), "under one lock");
}

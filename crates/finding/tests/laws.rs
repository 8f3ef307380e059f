//! Laws of merging and of fingerprints, on random findings.

use std::collections::BTreeSet;

use finding::{Evidence, Finding, RULES, SectionPair, Severity, Step, Thread, merge};
use location::{MethodPlace, Place};

const ROUNDS: u64 = 3000;

/// SplitMix64: small, and the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize].clone()
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            items.swap(index, self.below(index as u64 + 1) as usize);
        }
    }

    fn method(&mut self) -> MethodPlace {
        let class = self.pick(&["p.A", "p.B$1"]).to_owned();
        MethodPlace { class, name: self.pick(&["run", "lambda$run$0"]).to_owned(), descriptor: "()V".to_owned() }
    }

    fn place(&mut self, method: &MethodPlace) -> Place {
        let line = self.below(3) as u32;
        Place { method: method.clone(), pc: line * 7, file: Some("A.java".to_owned()), line: Some(line) }
    }

    fn finding(&mut self) -> Finding {
        let method = self.method();
        let mut variables = BTreeSet::new();
        for _ in 0..self.below(3) {
            variables.insert(self.pick(&["p.A.x", "p.A.y", "p.A.z"]).to_owned());
        }
        let sections =
            (self.below(2) == 0).then(|| SectionPair { first: self.place(&method), second: self.place(&method) });
        let place = self.place(&method);
        Finding {
            rule: self.pick(RULES),
            evidence: self.pick(&[Evidence::Pattern, Evidence::Predicted, Evidence::Observed, Evidence::Confirmed]),
            severity: self.pick(&[Severity::Note, Severity::Warning, Severity::Error]),
            detectors: [self.pick(&["lock-pattern", "serializability", "reduction"])].into(),
            message: format!("message {}", self.below(3)),
            method,
            variables,
            locks: [self.pick(&["this.a", "this.b"]).to_owned()].into(),
            steps: vec![Step {
                number: 1,
                thread: Thread::a(),
                place: Some(place),
                what: "step".to_owned(),
                ran: false,
                callers: Vec::new(),
            }],
            interleaving: vec![1],
            fix: "hold it".to_owned(),
            count: self.below(4) + 1,
            executions: self.below(4),
            sections,
        }
    }

    fn findings(&mut self) -> Vec<Finding> {
        (0..self.below(7)).map(|_| self.finding()).collect()
    }
}

fn shown(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| format!("{finding:?}")).collect()
}

#[test]
fn merging_again_changes_nothing() {
    for seed in 0..ROUNDS {
        let once = merge(Random(seed).findings());
        assert_eq!(shown(&merge(once.clone())), shown(&once), "seed {seed}");
    }
}

#[test]
fn the_order_of_findings_does_not_matter() {
    for seed in 0..ROUNDS {
        let mut random = Random(seed);
        let mut findings = random.findings();
        let expected = merge(findings.clone());
        random.shuffle(&mut findings);
        assert_eq!(shown(&merge(findings)), shown(&expected), "seed {seed}");
    }
}

#[test]
fn no_detector_and_no_evidence_is_lost() {
    for seed in 0..ROUNDS {
        let findings = Random(seed).findings();
        let merged = merge(findings.clone());
        assert!(merged.len() <= findings.len());
        assert_eq!(merged.is_empty(), findings.is_empty());
        let detectors = |findings: &[Finding]| -> BTreeSet<&str> {
            findings.iter().flat_map(|finding| finding.detectors.iter().copied()).collect()
        };
        assert_eq!(detectors(&merged), detectors(&findings), "seed {seed}");
        let evidence = |findings: &[Finding]| findings.iter().map(|finding| finding.evidence).max();
        assert_eq!(evidence(&merged), evidence(&findings), "seed {seed}");
        let precision = |findings: &[Finding]| findings.iter().map(|finding| finding.rule.precision).max();
        assert_eq!(precision(&merged), precision(&findings), "seed {seed}");
        for one in &findings {
            let kept = merged.iter().any(|kept| {
                kept.method == one.method
                    && kept.detectors.is_superset(&one.detectors)
                    && kept.evidence >= one.evidence
                    && kept.rule.precision >= one.rule.precision
            });
            assert!(kept, "seed {seed}: {one:?} is gone");
        }
    }
}

#[test]
fn findings_of_one_section_pair_are_one_and_the_precise_rule_wins() {
    let mut random = Random(1);
    let precise = Finding { rule: &finding::rules::REACQUIRED_LOCK, evidence: Evidence::Pattern, ..random.finding() };
    let sections = Some(SectionPair { first: random.place(&precise.method), second: random.place(&precise.method) });
    let precise = Finding { sections: sections.clone(), detectors: ["lock-pattern"].into(), ..precise };
    let broad = Finding {
        rule: &finding::rules::NOT_SERIALIZABLE,
        evidence: Evidence::Observed,
        detectors: ["serializability"].into(),
        message: "another".to_owned(),
        ..precise.clone()
    };
    let merged = merge(vec![broad, precise.clone()]);
    assert_eq!(merged.len(), 1);
    assert_eq!(merged[0].rule.id, "reacquired-lock");
    assert_eq!(merged[0].message, precise.message);
    assert_eq!(merged[0].evidence, Evidence::Observed);
    assert_eq!(merged[0].detectors, BTreeSet::from(["lock-pattern", "serializability"]));
}

#[test]
fn findings_of_different_methods_stay_apart() {
    let mut random = Random(2);
    let one = random.finding();
    let mut other = one.clone();
    other.method.name = "other".to_owned();
    other.sections = None;
    assert_eq!(merge(vec![one, other]).len(), 2);
}

#[test]
fn a_fingerprint_survives_edits_elsewhere() {
    for seed in 0..ROUNDS {
        let mut random = Random(seed);
        let finding = random.finding();
        let mut moved = finding.clone();
        for step in &mut moved.steps {
            let place = step.place.as_mut().unwrap();
            place.line = place.line.map(|line| line + 40);
            place.pc += 100;
        }
        moved.method.class = moved.method.class.replace("$1", "$2");
        moved.method.name = moved.method.name.replace("run$0", "run$5");
        moved.sections = None;
        moved.message.push_str(" in other words");
        moved.evidence = Evidence::Confirmed;
        moved.count += 1;
        assert_eq!(moved.fingerprint(), finding.fingerprint(), "seed {seed}");
    }
}

#[test]
fn a_fingerprint_tells_mistakes_apart() {
    for seed in 0..ROUNDS {
        let finding = Random(seed).finding();
        let mut others = [finding.clone(), finding.clone(), finding.clone(), finding.clone(), finding.clone()];
        let other_rule = RULES.iter().find(|rule| **rule != finding.rule).unwrap();
        others[0].rule = other_rule;
        others[1].method.class.push('X');
        others[2].method.descriptor = "(I)V".to_owned();
        others[3].variables.insert("p.A.new".to_owned());
        others[4].locks.insert("this.new".to_owned());
        for other in others {
            assert_ne!(other.fingerprint(), finding.fingerprint(), "seed {seed}");
        }
    }
}

/// Baselines and suppressions of users hold fingerprints: this value may never change.
#[test]
fn a_fingerprint_is_the_same_for_ever() {
    let mut finding = Random(0).finding();
    finding.rule = &finding::rules::REACQUIRED_LOCK;
    finding.method =
        MethodPlace { class: "bank.Account".to_owned(), name: "withdraw".to_owned(), descriptor: "(J)Z".to_owned() };
    finding.variables = ["bank.Ledger.balance".to_owned()].into();
    finding.locks = ["this".to_owned(), "this.ledger".to_owned()].into();
    assert_eq!(finding.fingerprint(), "a0f821811d6416da");
}

//! A finding and a report for the tests of all formats.

use std::rc::Rc;

use finding::{Evidence, Finding, Severity, Step, Thread, rules};
use location::{MethodPlace, Place};

use crate::{Inputs, Report, Skipped, SourceFile, Sources};

pub(crate) const ACCOUNT: &str = "package bank;

class Account {
    private final Object lock = new Object();
    private int balance;

    void deposit(int amount) {
        int seen;
        audit.note(amount);
        synchronized (lock) {
            seen = balance;
        }
        synchronized (lock) {
            balance = seen + amount;
        }
    }
}
";

pub(crate) fn place(file: &str, line: u32) -> Place {
    Place {
        method: MethodPlace {
            class: "bank.Account".to_owned(),
            name: "deposit".to_owned(),
            descriptor: "(I)V".to_owned(),
        },
        pc: line,
        file: Some(file.to_owned()),
        line: Some(line),
    }
}

pub(crate) fn step(number: u32, thread: Thread, place: Option<Place>, what: &str) -> Step {
    Step { number, thread, place, what: what.to_owned(), ran: false, callers: Vec::new() }
}

pub(crate) fn lost_update() -> Finding {
    let at = |line| Some(place("Account.java", line));
    Finding {
        rule: &rules::REACQUIRED_LOCK,
        evidence: Evidence::Pattern,
        severity: Severity::Warning,
        detectors: ["lock-pattern"].into(),
        message: "`balance` may change between (1) and (3), and the change is lost".to_owned(),
        method: place("Account.java", 1).method,
        variables: ["bank.Account.balance".to_owned()].into(),
        locks: ["this.lock".to_owned()].into(),
        steps: vec![
            step(1, Thread::a(), at(11), "`balance` read under `lock`"),
            step(2, Thread::a(), at(12), "`lock` released"),
            step(3, Thread::a(), at(14), "old value written back under `lock`"),
            step(4, Thread::b(), None, "`balance` written under `lock`"),
        ],
        interleaving: vec![1, 2, 4, 3],
        fix: "hold `lock` from (1) to (3)".to_owned(),
        count: 1,
        executions: 0,
        sections: None,
    }
}

pub(crate) fn report(findings: &[Finding]) -> Report<'_> {
    Report {
        version: "1.2.3",
        inputs: Inputs {
            classes: 3,
            methods: 12,
            skipped: vec![Skipped { path: "app.jar!/Bad.class".to_owned(), reason: "ends too early".to_owned() }],
            jdk: None,
            missing: Vec::new(),
        },
        run: None,
        findings,
        baseline: None,
    }
}

/// Every class has the same file.
pub(crate) struct OneFile(pub(crate) Rc<SourceFile>);

impl OneFile {
    pub(crate) fn new(text: &str) -> OneFile {
        OneFile(Rc::new(SourceFile::new("src/bank/Account.java".to_owned(), text)))
    }
}

impl Sources for OneFile {
    fn find(&self, _class: &str, _file: &str) -> Option<Rc<SourceFile>> {
        Some(self.0.clone())
    }
}

//! The rules. A rule is named for the defect; the detectors that find it are named for their algorithm.
//!
//! A new rule is a constant here, a line in [`RULES`], and a page in `docs/rules`, which `fissure explain` prints.

use crate::Severity;

/// A kind of defect.
#[derive(Debug)]
pub struct Rule {
    /// What users write to select or suppress it.
    pub id: &'static str,
    /// One line, lower case, no full stop.
    pub summary: &'static str,
    pub severity: Severity,
    /// The page in `docs/rules`, whole.
    pub page: &'static str,
    /// How much the rule says about the fix. Of two findings that are one, the rule with more wins.
    pub precision: u8,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.id == other.id
    }
}

impl Eq for Rule {}

pub static STALE_VALUE: Rule = Rule {
    id: "stale-value",
    summary: "shared data is read under a lock, the lock is let go, and the old value is written back under it",
    severity: Severity::Error,
    page: include_str!("../../../docs/rules/stale-value.md"),
    precision: 50,
};

pub static CHECK_THEN_ACT: Rule = Rule {
    id: "check-then-act",
    summary: "shared data is checked under a lock, the lock is let go, and the check decides what is then written",
    severity: Severity::Error,
    page: include_str!("../../../docs/rules/check-then-act.md"),
    precision: 40,
};

pub static TORN_WRITE: Rule = Rule {
    id: "torn-write",
    summary: "a change of data that belongs together is made in two sections, and another thread can see half of it",
    severity: Severity::Warning,
    page: include_str!("../../../docs/rules/torn-write.md"),
    precision: 34,
};

pub static TORN_READ: Rule = Rule {
    id: "torn-read",
    summary: "data that belongs together is read in two sections, and another thread can change it in between",
    severity: Severity::Warning,
    page: include_str!("../../../docs/rules/torn-read.md"),
    precision: 32,
};

pub static REACQUIRED_LOCK: Rule = Rule {
    id: "reacquired-lock",
    summary: "a lock is let go and taken again while another lock is held, so the whole is not atomic",
    severity: Severity::Warning,
    page: include_str!("../../../docs/rules/reacquired-lock.md"),
    precision: 20,
};

pub static SUPERFLUOUS_LOCK: Rule = Rule {
    id: "superfluous-lock",
    summary: "a lock is only ever taken while another one is held, so it keeps nobody out",
    severity: Severity::Note,
    page: include_str!("../../../docs/rules/superfluous-lock.md"),
    precision: 5,
};

pub static NOT_SERIALIZABLE: Rule = Rule {
    id: "not-serializable",
    summary: "another thread got in between the steps of a unit, and no order of whole units gives the same result",
    severity: Severity::Error,
    page: include_str!("../../../docs/rules/not-serializable.md"),
    precision: 10,
};

pub static NOT_SERIALIZABLE_TOGETHER: Rule = Rule {
    id: "not-serializable-together",
    summary: "several units, each undisturbed on its own, have no serial order together",
    severity: Severity::Error,
    page: include_str!("../../../docs/rules/not-serializable-together.md"),
    precision: 10,
};

pub static NOT_ATOMIC: Rule = Rule {
    id: "not-atomic",
    summary: "other threads can come in between the steps of a unit, though they need not have done so in this run",
    severity: Severity::Warning,
    page: include_str!("../../../docs/rules/not-atomic.md"),
    precision: 5,
};

/// All rules, in the order in which a newcomer should read them.
pub static RULES: &[&Rule] = &[
    &STALE_VALUE,
    &CHECK_THEN_ACT,
    &TORN_READ,
    &TORN_WRITE,
    &REACQUIRED_LOCK,
    &SUPERFLUOUS_LOCK,
    &NOT_ATOMIC,
    &NOT_SERIALIZABLE,
    &NOT_SERIALIZABLE_TOGETHER,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_pages_open_with_them() {
        for (index, rule) in RULES.iter().enumerate() {
            assert!(rule.page.starts_with(&format!("# {}\n", rule.id)), "page of {}", rule.id);
            assert!(RULES[..index].iter().all(|earlier| earlier.id != rule.id), "{} twice", rule.id);
        }
    }
}

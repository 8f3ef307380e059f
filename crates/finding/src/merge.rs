//! One mistake, one finding.

use crate::Finding;

/// Joins findings that tell the same mistake, and sorts the rest into the order of a report.
///
/// Two findings are one if they name the same pair of sections, or the same method with overlapping variables. The rule
/// that says most about the fix wins with its whole text; all detectors stay named; the highest evidence counts.
pub fn merge(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by(|a, b| b.rule.precision.cmp(&a.rule.precision).then_with(|| report_order(a, b)));
    let mut merged: Vec<Finding> = Vec::new();
    for finding in findings {
        match merged.iter_mut().find(|kept| same_mistake(kept, &finding)) {
            Some(kept) => absorb(kept, finding),
            None => merged.push(finding),
        }
    }
    merged.sort_by(report_order);
    merged
}

fn same_mistake(a: &Finding, b: &Finding) -> bool {
    if let (Some(first), Some(second)) = (&a.sections, &b.sections) {
        if first == second {
            return true;
        }
        // One detector told them apart on purpose. Asked of any common detector, not of equal sets: a finding gains
        // detectors while others are merged into it, and that must not make it the same as one it differed from.
        if a.rule == b.rule && !a.detectors.is_disjoint(&b.detectors) {
            return false;
        }
    }
    a.method == b.method && !a.variables.is_disjoint(&b.variables)
}

fn absorb(kept: &mut Finding, other: Finding) {
    kept.detectors.extend(other.detectors);
    kept.evidence = kept.evidence.max(other.evidence);
    kept.severity = kept.severity.max(other.severity);
    kept.count = kept.count.max(other.count);
    kept.executions = kept.executions.max(other.executions);
}

/// By place, then rule: what a reader of one file sees together stays together. The rest of the finding follows, so that
/// the order of a report never depends on which thread found what first.
fn report_order(a: &Finding, b: &Finding) -> std::cmp::Ordering {
    fn head(finding: &Finding) -> impl Ord {
        let Finding { method, rule, message, sections, .. } = finding;
        (&method.class, finding.place(), method, rule.id, message, sections)
    }
    fn rest(finding: &Finding) -> impl Ord {
        let Finding { steps, interleaving, variables, locks, detectors, evidence, severity, fix, .. } = finding;
        (steps, interleaving, variables, locks, detectors, evidence, severity, fix, (finding.count, finding.executions))
    }
    head(a).cmp(&head(b)).then_with(|| rest(a).cmp(&rest(b)))
}

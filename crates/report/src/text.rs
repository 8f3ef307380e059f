//! Text for people: what, why, what to do; the same step numbers in headline, source and table.

mod palette;
mod steps;
mod table;

use std::collections::BTreeSet;
use std::fmt::Write;

use finding::{Evidence, Finding};

use crate::{Known, Report, Sources, one_line};
pub use palette::Palette;

/// More skipped inputs than this are counted, not listed.
const SKIPPED_SHOWN: usize = 10;

/// So many missing classes are named; all are counted.
const MISSING_SHOWN: usize = 3;

pub(crate) fn render(report: &Report<'_>, sources: &dyn Sources, palette: Palette) -> String {
    let mut out = String::new();
    let mut hints = Hints::default();
    for finding in report.findings {
        write_finding(&mut out, finding, sources, palette, &mut hints);
        out.push('\n');
    }
    write_skipped(&mut out, report);
    write_missing(&mut out, &report.inputs.missing);
    for hint in hints.lines() {
        push_line(&mut out, format_args!("hint: {hint}"));
    }
    push_line(&mut out, format_args!("{}", summary(report)));
    out
}

/// What the reader could do to see more, said once per report.
#[derive(Default)]
struct Hints {
    no_source: bool,
    no_lines: bool,
}

impl Hints {
    fn lines(&self) -> impl Iterator<Item = &'static str> {
        let no_source =
            self.no_source.then_some("`--source-root DIR` shows source lines, DIR holding the top packages");
        let no_lines = self.no_lines.then_some("classes compiled with `-g` have line numbers");
        no_source.into_iter().chain(no_lines)
    }
}

fn write_finding(out: &mut String, finding: &Finding, sources: &dyn Sources, palette: Palette, hints: &mut Hints) {
    let label = palette.severity(finding.severity, &format!("{}[{}]", finding.severity.id(), finding.rule.id));
    push_line(out, format_args!("{label}: {}", palette.strong(&one_line(&finding.message))));
    steps::write(out, finding, sources, palette, hints);
    if finding.evidence > Evidence::Pattern || finding.count > 1 {
        push_line(out, format_args!("  evidence: {}", evidence(finding)));
    }
    table::write(out, finding, palette);
    if !finding.fix.is_empty() {
        push_line(out, format_args!("  {}: {}", palette.strong("help"), one_line(&finding.fix)));
    }
    push_line(out, format_args!("  more: fissure explain {}", finding.rule.id));
}

/// What stands behind a finding, and how often it was seen.
fn evidence(finding: &Finding) -> String {
    let (evidence, count) = (finding.evidence.id(), finding.count);
    if finding.executions > 0 && finding.steps.first().is_some_and(|step| !step.ran) {
        return format!("{evidence}: the run came by and went another way");
    }
    match (finding.executions as usize, finding.evidence) {
        (0, _) if count == 1 => format!("{evidence}, once"),
        (0, _) => format!("{evidence}, {count} times"),
        (executions, Evidence::Observed | Evidence::Confirmed) => {
            format!("{evidence} in {count} of {}", counted(executions, "execution", "executions"))
        }
        (executions, Evidence::Predicted | Evidence::Pattern) => {
            format!("{evidence} from {}", counted(executions, "execution", "executions"))
        }
    }
}

fn write_skipped(out: &mut String, report: &Report<'_>) {
    let skipped = &report.inputs.skipped;
    for skipped in skipped.iter().take(SKIPPED_SHOWN) {
        push_line(out, format_args!("skipped: {}: {}", one_line(&skipped.path), one_line(&skipped.reason)));
    }
    if skipped.len() > SKIPPED_SHOWN {
        push_line(
            out,
            format_args!("skipped: {} more, all listed with `--format json`", skipped.len() - SKIPPED_SHOWN),
        );
    }
}

/// Never an error: what a missing class does is taken for unknown.
fn write_missing(out: &mut String, missing: &[String]) {
    let examples: Vec<String> = missing.iter().take(MISSING_SHOWN).map(|class| one_line(class)).collect();
    let (examples, tell) = (examples.join(", "), "`--classpath` tells where");
    match missing.len() {
        0 => {}
        1 => push_line(out, format_args!("hint: 1 class is not known, {examples}: {tell} it is")),
        n if n <= MISSING_SHOWN => {
            push_line(out, format_args!("hint: {n} classes are not known, {examples}: {tell} they are"));
        }
        n => push_line(
            out,
            format_args!(
                "hint: {n} classes are not known, e.g. {examples}: {tell} they are, `--format json` lists all"
            ),
        ),
    }
}

fn summary(report: &Report<'_>) -> String {
    let inputs = &report.inputs;
    let found = match (report.findings.len(), &report.baseline) {
        (0, None) => "no findings".to_owned(),
        (0, Some(_)) => "no new findings".to_owned(),
        (n, None) => counted(n, "finding", "findings"),
        (n, Some(_)) => counted(n, "new finding", "new findings"),
    };
    let mut line = format!("{found} in ");
    // A trace comes without classes.
    if inputs.classes > 0 || report.run.is_none() {
        line += &counted(inputs.classes, "class", "classes");
    }
    if let Some(run) = &report.run {
        let comma = if inputs.classes > 0 { ", " } else { "" };
        let events = if run.events.seen == 1 { "event" } else { "events" };
        let _ = write!(line, "{comma}{} {events}", run.events.seen);
        if run.events.lost > 0 {
            let _ = write!(line, " ({} lost)", run.events.lost);
        }
    }
    if !inputs.skipped.is_empty() {
        // A trace may have several problems, and is one input.
        let paths: BTreeSet<&str> = inputs.skipped.iter().map(|skipped| skipped.path.as_str()).collect();
        let _ = write!(line, "; {} skipped", counted(paths.len(), "input", "inputs"));
    }
    if let Some(Known { known, gone }) = report.baseline {
        let _ = write!(line, "; {known} known by the baseline");
        if gone > 0 {
            let _ = write!(line, ", which has {gone} more that are gone");
        }
    }
    line
}

/// Threads that a trace gives no name are called by their number.
fn thread(name: &str) -> String {
    let name = one_line(name);
    if name.starts_with("thread ") { name } else { format!("thread {name}") }
}

fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Appends a line without trailing blanks.
fn push_line(out: &mut String, line: std::fmt::Arguments<'_>) {
    let start = out.len();
    let _ = out.write_fmt(line);
    let kept = out[start..].trim_end_matches(' ').len();
    out.truncate(start + kept);
    out.push('\n');
}

#[cfg(test)]
mod tests;

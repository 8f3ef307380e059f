//! What is said about a run beside its findings.

use finding::{Evidence, Finding};
use report::{Events, Inputs, Run, Skipped};

use super::watch::Watched;

/// All JVMs of a run together.
#[derive(Default)]
pub(super) struct Summary {
    jvms: u64,
    instrumented: u64,
    left_alone: u64,
    units: u64,
    seen: u64,
    lost: u64,
    forgot: u64,
    killed: u64,
    notes: Vec<String>,
    inputs: Inputs,
}

impl Summary {
    /// Adds a JVM; its findings, those of the code and those that the run supports.
    pub(super) fn take(&mut self, watched: Watched) -> Vec<Finding> {
        let Watched { checked, answered, recording, seen, lost } = watched;
        self.jvms += 1;
        self.instrumented += u64::from(recording.instrumented);
        self.left_alone += u64::from(recording.failed);
        self.units += answered.units;
        self.seen += seen;
        self.lost += lost;
        self.forgot += answered.forgot;
        self.killed += u64::from(!recording.ended);
        for note in recording.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        let Some(checked) = checked else { return answered.findings };
        self.inputs.classes = self.inputs.classes.max(checked.classes);
        self.inputs.methods = self.inputs.methods.max(checked.methods);
        self.inputs.jdk = self.inputs.jdk.take().or(Some(checked.jdk));
        for skipped in checked.skipped {
            if self.inputs.skipped.iter().all(|known| known.path != skipped.path) {
                self.inputs.skipped.push(Skipped { path: skipped.path, reason: skipped.reason });
            }
        }
        self.inputs.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        let is_supported = |suspected: &Finding| {
            answered.findings.iter().any(|found| {
                found.rule == suspected.rule && found.method == suspected.method && found.sections == suspected.sections
            })
        };
        let rest: Vec<Finding> = checked.findings.into_iter().filter(|finding| !is_supported(finding)).collect();
        answered.findings.into_iter().chain(rest).collect()
    }

    pub(super) fn inputs(&mut self) -> Inputs {
        std::mem::take(&mut self.inputs)
    }

    pub(super) fn run(&self) -> Run {
        Run {
            jvms: self.jvms,
            classes: self.instrumented,
            units: self.units,
            events: Events { seen: self.seen, kept: self.seen, lost: self.lost },
        }
    }

    /// The last lines: what was watched, and what was not.
    pub(super) fn lines(&self, unsupported: usize, least: Evidence) -> Vec<String> {
        let mut lines: Vec<String> = self.notes.iter().map(|note| format!("warning: {note}")).collect();
        if self.jvms == 0 {
            lines.push("warning: no JVM was watched: the program ran none, or none that takes the agent".to_owned());
            return lines;
        }
        if self.killed > 0 {
            lines.push(format!(
                "warning: {} ended without saying so; what it did last may be missing",
                jvms(self.killed)
            ));
        }
        if self.instrumented == 0 {
            lines.push(
                "warning: no class was instrumented, so nothing was seen: check `--include` and `--exclude`".to_owned(),
            );
        }
        if self.forgot > 0 {
            lines.push(format!(
                "warning: knowledge of older accesses was given up {} times to keep within `--max-memory`; findings may be missing",
                self.forgot
            ));
        }
        if self.lost > 0 {
            lines.push(format!("warning: {} events were lost", self.lost));
        }
        lines.push(format!(
            "watched {}: {} instrumented, {} left alone; {} ran, {}",
            jvms(self.jvms),
            counted(self.instrumented, "class", "classes"),
            self.left_alone,
            counted(self.units, "suspected unit", "suspected units"),
            counted(self.seen, "event", "events"),
        ));
        if unsupported > 0 && least > Evidence::Pattern {
            let (suspicion, is, has, them) = match unsupported {
                1 => ("suspicion", "is", "has", "it"),
                _ => ("suspicions", "are", "have", "them"),
            };
            let why = match least {
                Evidence::Predicted => format!("{is} not supported by this run"),
                _ => format!("{has} less evidence than `{}`", least.id()),
            };
            lines.push(format!("{unsupported} more {suspicion} {why}; `--min-evidence pattern` shows {them}"));
        }
        lines
    }
}

fn jvms(number: u64) -> String {
    counted(number, "JVM", "JVMs")
}

fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

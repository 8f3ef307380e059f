//! JSON, schema `fissure/1`: what scripts rely on.
//!
//! Field names and their order are part of the promise. New fields may come; none goes without a new schema.

use finding::{Finding, Step};
use location::Place;
use serde::Serialize;

use crate::{Report, Run};

pub(crate) fn render(report: &Report<'_>) -> String {
    let document = Document {
        schema: "fissure/1",
        tool: Tool { name: "fissure", version: report.version },
        inputs: Inputs {
            classes: report.inputs.classes,
            methods: report.inputs.methods,
            skipped: report
                .inputs
                .skipped
                .iter()
                .map(|skipped| Skipped { path: &skipped.path, reason: &skipped.reason })
                .collect(),
            jdk: report.inputs.jdk.as_deref(),
            missing: Missing { count: report.inputs.missing.len(), names: &report.inputs.missing },
        },
        run: report.run.as_ref().map(run),
        baseline: report
            .baseline
            .as_ref()
            .map(|baseline| BaselineObject { known: baseline.known, gone: baseline.gone }),
        findings: report.findings.iter().map(finding).collect(),
    };
    let mut text = serde_json::to_string_pretty(&document)
        .expect("strings, numbers and lists always have a JSON form, and writing to memory does not fail");
    text.push('\n');
    text
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    tool: Tool<'a>,
    inputs: Inputs<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<BaselineObject>,
    findings: Vec<FindingObject<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'static str,
    version: &'a str,
}

#[derive(Serialize)]
struct Inputs<'a> {
    classes: usize,
    methods: usize,
    skipped: Vec<Skipped<'a>>,
    jdk: Option<&'a str>,
    missing: Missing<'a>,
}

/// Classes that are named and not known: all of them.
#[derive(Serialize)]
struct Missing<'a> {
    count: usize,
    names: &'a [String],
}

#[derive(Serialize)]
struct Skipped<'a> {
    path: &'a str,
    reason: &'a str,
}

#[derive(Serialize)]
struct RunObject {
    jvms: u64,
    classes: u64,
    units: u64,
    events: EventsObject,
}

#[derive(Serialize)]
struct EventsObject {
    seen: u64,
    kept: u64,
    lost: u64,
}

/// How many findings are in the baseline, and how many of the baseline are not found any more.
#[derive(Serialize)]
struct BaselineObject {
    known: usize,
    gone: usize,
}

#[derive(Serialize)]
struct FindingObject<'a> {
    rule: &'a str,
    evidence: &'a str,
    severity: &'a str,
    detectors: Vec<&'a str>,
    message: &'a str,
    fingerprint: String,
    count: u64,
    /// How often what ought to be atomic was carried out, where a run was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    executions: Option<u64>,
    method: MethodObject<'a>,
    variables: Vec<&'a str>,
    locks: Vec<&'a str>,
    steps: Vec<StepObject<'a>>,
    interleaving: &'a [u32],
    fix: &'a str,
}

#[derive(Serialize)]
struct MethodObject<'a> {
    class: &'a str,
    name: &'a str,
    descriptor: &'a str,
}

#[derive(Serialize)]
struct StepObject<'a> {
    n: u32,
    thread: &'a str,
    class: Option<&'a str>,
    method: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    what: &'a str,
    ran: bool,
    /// Who called, the innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    callers: Vec<CallerObject<'a>>,
}

#[derive(Serialize)]
struct CallerObject<'a> {
    class: &'a str,
    method: &'a str,
    file: Option<&'a str>,
    line: Option<u32>,
}

fn run(run: &Run) -> RunObject {
    RunObject {
        jvms: run.jvms,
        classes: run.classes,
        units: run.units,
        events: EventsObject { seen: run.events.seen, kept: run.events.kept, lost: run.events.lost },
    }
}

fn finding(finding: &Finding) -> FindingObject<'_> {
    FindingObject {
        rule: finding.rule.id,
        evidence: finding.evidence.id(),
        severity: finding.severity.id(),
        detectors: finding.detectors.iter().copied().collect(),
        message: &finding.message,
        fingerprint: finding.fingerprint(),
        count: finding.count,
        executions: (finding.executions > 0).then_some(finding.executions),
        method: MethodObject {
            class: &finding.method.class,
            name: &finding.method.name,
            descriptor: &finding.method.descriptor,
        },
        variables: finding.variables.iter().map(String::as_str).collect(),
        locks: finding.locks.iter().map(String::as_str).collect(),
        steps: finding.steps.iter().map(step).collect(),
        interleaving: &finding.interleaving,
        fix: &finding.fix,
    }
}

fn step(step: &Step) -> StepObject<'_> {
    let place = step.place.as_ref();
    StepObject {
        n: step.number,
        thread: &step.thread.0,
        class: place.map(|place| place.method.class.as_str()),
        method: place.map(|place| place.method.name.as_str()),
        file: place.and_then(|place| place.file.as_deref()),
        line: place.and_then(|place| place.line),
        what: &step.what,
        ran: step.ran,
        callers: step.callers.iter().map(caller).collect(),
    }
}

fn caller(place: &Place) -> CallerObject<'_> {
    CallerObject {
        class: &place.method.class,
        method: &place.method.name,
        file: place.file.as_deref(),
        line: place.line,
    }
}

#[cfg(test)]
mod tests {
    use super::render;
    use crate::samples;
    use crate::{Events, Run};

    #[test]
    fn the_whole_document() {
        let findings = [samples::lost_update()];
        let mut report = samples::report(&findings);
        report.inputs.jdk = Some("embedded 17".to_owned());
        report.inputs.missing = vec!["javax.money.Money".to_owned(), "org.bank.Teller".to_owned()];
        let expected = r#"{
  "schema": "fissure/1",
  "tool": {
    "name": "fissure",
    "version": "1.2.3"
  },
  "inputs": {
    "classes": 3,
    "methods": 12,
    "skipped": [
      {
        "path": "app.jar!/Bad.class",
        "reason": "ends too early"
      }
    ],
    "jdk": "embedded 17",
    "missing": {
      "count": 2,
      "names": [
        "javax.money.Money",
        "org.bank.Teller"
      ]
    }
  },
  "findings": [
    {
      "rule": "reacquired-lock",
      "evidence": "pattern",
      "severity": "warning",
      "detectors": [
        "lock-pattern"
      ],
      "message": "`balance` may change between (1) and (3), and the change is lost",
      "fingerprint": "FINGERPRINT",
      "count": 1,
      "method": {
        "class": "bank.Account",
        "name": "deposit",
        "descriptor": "(I)V"
      },
      "variables": [
        "bank.Account.balance"
      ],
      "locks": [
        "this.lock"
      ],
      "steps": [
        {
          "n": 1,
          "thread": "A",
          "class": "bank.Account",
          "method": "deposit",
          "file": "Account.java",
          "line": 11,
          "what": "`balance` read under `lock`",
          "ran": false
        },
        {
          "n": 2,
          "thread": "A",
          "class": "bank.Account",
          "method": "deposit",
          "file": "Account.java",
          "line": 12,
          "what": "`lock` released",
          "ran": false
        },
        {
          "n": 3,
          "thread": "A",
          "class": "bank.Account",
          "method": "deposit",
          "file": "Account.java",
          "line": 14,
          "what": "old value written back under `lock`",
          "ran": false
        },
        {
          "n": 4,
          "thread": "B",
          "class": null,
          "method": null,
          "file": null,
          "line": null,
          "what": "`balance` written under `lock`",
          "ran": false
        }
      ],
      "interleaving": [
        1,
        2,
        4,
        3
      ],
      "fix": "hold `lock` from (1) to (3)"
    }
  ]
}
"#;
        assert_eq!(render(&report), expected.replace("FINGERPRINT", &findings[0].fingerprint()));
    }

    #[test]
    fn callers_stand_with_their_step() {
        let mut finding = samples::lost_update();
        finding.steps[0].callers = finding.steps[1].place.iter().cloned().collect();
        let findings = [finding];
        let text = render(&samples::report(&findings));
        assert_eq!(text.matches("\"callers\"").count(), 1, "only where there are any");
        let from = text.find("\"callers\"").expect("there are some");
        assert!(text[from..].contains("\"method\": \"deposit\""), "{text}");
    }

    #[test]
    fn a_run_stands_between_inputs_and_findings() {
        let mut report = samples::report(&[]);
        report.run = Some(Run { jvms: 1, classes: 2, units: 3, events: Events { seen: 6, kept: 5, lost: 4 } });
        let text = render(&report);
        let positions =
            ["inputs", "jdk", "run", "jvms", "classes\": 2", "units", "events", "seen", "kept", "lost", "findings"]
                .map(|name| text.find(&format!("\"{name}")).unwrap_or_else(|| panic!("no {name} in {text}")));
        assert!(positions.is_sorted(), "{text}");
    }

    #[test]
    fn hostile_names_stay_inside_their_strings() {
        let mut finding = samples::lost_update();
        finding.message = "\u{1b}[2J\"}],\u{0}\r\n\u{202e}".to_owned();
        let findings = [finding];
        let text = render(&samples::report(&findings));
        let read: serde_json::Value = serde_json::from_str(&text).expect("still JSON");
        assert_eq!(read["findings"][0]["message"], findings[0].message.as_str());
        assert!(!text.contains('\u{1b}') && !text.contains('\u{0}') && !text.contains('\r'));
    }
}

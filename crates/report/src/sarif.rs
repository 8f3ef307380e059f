//! SARIF 2.1.0: what code hosts and editors read.
//!
//! Every place has the method's name. A file is named only where its source is known: a guess would be a link to nowhere.
//! Steps stand twice, as flows of threads in the order that breaks, and as related places, since many viewers show only
//! those.

use std::collections::BTreeMap;

use finding::{Finding, RULES, Rule, Severity, Step};
use location::Place;
use serde::Serialize;

use crate::escape::one_line;
use crate::{Report, Sources};

/// More results than this are refused by code hosts.
const MOST_RESULTS: usize = 25_000;

pub(crate) fn render(report: &Report<'_>, sources: &dyn Sources) -> String {
    let shown = &report.findings[..report.findings.len().min(MOST_RESULTS)];
    let mut notifications: Vec<Notification> = report
        .inputs
        .skipped
        .iter()
        .map(|skipped| Notification::warning(format!("skipped {}: {}", skipped.path, skipped.reason)))
        .collect();
    if shown.len() < report.findings.len() {
        let left_out = report.findings.len() - shown.len();
        notifications.push(Notification::warning(format!("{left_out} more findings are left out")));
    }
    let log = Log {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        version: "2.1.0",
        runs: [Run {
            tool: Tool {
                driver: Driver {
                    name: "fissure",
                    semantic_version: report.version,
                    rules: RULES.iter().map(|rule| describe(rule)).collect(),
                },
            },
            // Findings are no failure, and neither is an input that could not be read.
            invocations: [Invocation { execution_successful: true, tool_execution_notifications: notifications }],
            column_kind: "utf16CodeUnits",
            results: shown.iter().map(|finding| result(finding, sources)).collect(),
        }],
    };
    let mut text = serde_json::to_string_pretty(&log)
        .expect("strings, numbers and lists always have a JSON form, and writing to memory does not fail");
    text.push('\n');
    text
}

#[derive(Serialize)]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Tool<'a>,
    invocations: [Invocation; 1],
    column_kind: &'static str,
    results: Vec<ResultObject<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    driver: Driver<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver<'a> {
    name: &'static str,
    semantic_version: &'a str,
    rules: Vec<RuleObject>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RuleObject {
    id: &'static str,
    short_description: Message,
    help: Help,
    default_configuration: Configuration,
    properties: RuleProperties,
}

#[derive(Serialize)]
struct Help {
    text: &'static str,
    markdown: &'static str,
}

#[derive(Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Serialize)]
struct RuleProperties {
    tags: [&'static str; 2],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    execution_successful: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_execution_notifications: Vec<Notification>,
}

#[derive(Serialize)]
struct Notification {
    level: &'static str,
    message: Message,
}

impl Notification {
    fn warning(text: String) -> Notification {
        Notification { level: "warning", message: Message::new(&text) }
    }
}

#[derive(Serialize)]
struct Message {
    text: String,
}

impl Message {
    fn new(text: &str) -> Message {
        Message { text: one_line(text) }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultObject<'a> {
    rule_id: &'static str,
    rule_index: Option<usize>,
    level: &'static str,
    message: Message,
    locations: [Location; 1],
    related_locations: Vec<Location>,
    code_flows: [CodeFlow; 1],
    partial_fingerprints: BTreeMap<&'static str, String>,
    properties: ResultProperties<'a>,
}

#[derive(Serialize)]
struct ResultProperties<'a> {
    evidence: &'static str,
    detectors: Vec<&'static str>,
    variables: Vec<&'a str>,
    locks: Vec<&'a str>,
    fix: &'a str,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    physical_location: Option<PhysicalLocation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<LogicalLocation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Text>,
}

/// A message that is kept in several places.
#[derive(Clone, Serialize)]
struct Text {
    text: String,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactLocation {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_base_id: Option<&'static str>,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct LogicalLocation {
    fully_qualified_name: String,
    kind: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CodeFlow {
    thread_flows: Vec<ThreadFlow>,
}

#[derive(Serialize)]
struct ThreadFlow {
    id: String,
    locations: Vec<FlowLocation>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FlowLocation {
    location: Location,
    execution_order: usize,
}

fn describe(rule: &Rule) -> RuleObject {
    RuleObject {
        id: rule.id,
        short_description: Message::new(rule.summary),
        help: Help { text: rule.page, markdown: rule.page },
        default_configuration: Configuration { level: level(rule.severity) },
        properties: RuleProperties { tags: ["concurrency", "atomicity"] },
    }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn result<'a>(finding: &'a Finding, sources: &dyn Sources) -> ResultObject<'a> {
    let fix = if finding.fix.is_empty() { String::new() } else { format!("; {}", finding.fix) };
    let whole = match finding.place() {
        Some(place) => location(place, sources),
        None => Location {
            id: None,
            physical_location: None,
            logical_locations: vec![method(&finding.method.class, &finding.method.name)],
            message: None,
        },
    };
    ResultObject {
        rule_id: finding.rule.id,
        rule_index: RULES.iter().position(|rule| rule.id == finding.rule.id),
        level: level(finding.severity),
        message: Message::new(&format!("{}{fix}", finding.message)),
        locations: [whole],
        related_locations: finding
            .steps
            .iter()
            .map(|step| Location { id: Some(step.number), ..of_step(step, sources) })
            .collect(),
        code_flows: [CodeFlow { thread_flows: thread_flows(finding, sources) }],
        partial_fingerprints: [("fissure/1", finding.fingerprint())].into(),
        properties: ResultProperties {
            evidence: finding.evidence.id(),
            detectors: finding.detectors.iter().copied().collect(),
            variables: finding.variables.iter().map(String::as_str).collect(),
            locks: finding.locks.iter().map(String::as_str).collect(),
            fix: &finding.fix,
        },
    }
}

/// The steps of each thread, in the order that breaks.
fn thread_flows(finding: &Finding, sources: &dyn Sources) -> Vec<ThreadFlow> {
    let mut flows: Vec<ThreadFlow> = Vec::new();
    let ordered = finding.interleaving.iter().filter_map(|n| finding.steps.iter().find(|step| step.number == *n));
    for (index, step) in ordered.enumerate() {
        let id = one_line(&step.thread.0);
        let found = FlowLocation { location: of_step(step, sources), execution_order: index + 1 };
        match flows.iter_mut().find(|flow| flow.id == id) {
            Some(flow) => flow.locations.push(found),
            None => flows.push(ThreadFlow { id, locations: vec![found] }),
        }
    }
    flows
}

fn of_step(step: &Step, sources: &dyn Sources) -> Location {
    let text = one_line(&format!("({}) thread {}: {}", step.number, step.thread.0, step.what));
    let empty = Location { id: None, physical_location: None, logical_locations: Vec::new(), message: None };
    let found = step.place.as_ref().map_or(empty, |place| location(place, sources));
    Location { message: Some(Text { text }), ..found }
}

fn location(place: &Place, sources: &dyn Sources) -> Location {
    let source = place.file.as_deref().and_then(|file| sources.find(&place.method.class, file));
    let physical_location = source.map(|source| PhysicalLocation {
        artifact_location: artifact(source.path()),
        region: place.line.filter(|line| *line > 0).map(|start_line| Region { start_line }),
    });
    let logical_locations = vec![method(&place.method.class, &place.method.name)];
    Location { id: None, physical_location, logical_locations, message: None }
}

fn method(class: &str, name: &str) -> LogicalLocation {
    LogicalLocation { fully_qualified_name: one_line(&format!("{class}.{name}")), kind: "function" }
}

/// A path below the working directory is told from the root of the sources, which is where code hosts start from.
fn artifact(path: &str) -> ArtifactLocation {
    let path = path.replace('\\', "/");
    let is_absolute = path.starts_with('/');
    let uri = escaped(path.trim_start_matches("./"));
    match is_absolute {
        true => ArtifactLocation { uri: format!("file://{uri}"), uri_base_id: None },
        false => ArtifactLocation { uri, uri_base_id: Some("%SRCROOT%") },
    }
}

/// What may not stand in a URI as it is, by its bytes.
fn escaped(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' | b'$' => uri.push(byte.into()),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use finding::RULES;
    use serde_json::Value;

    use super::*;
    use crate::{NoSources, SourceFile, samples};

    struct Known(&'static str);

    impl Sources for Known {
        fn find(&self, _class: &str, _file: &str) -> Option<Rc<SourceFile>> {
            Some(Rc::new(SourceFile::new(self.0.to_owned(), "")))
        }
    }

    fn log(findings: &[Finding], sources: &dyn Sources) -> Value {
        serde_json::from_str(&render(&samples::report(findings), sources)).expect("it is JSON")
    }

    #[test]
    fn a_finding_is_a_result_with_rule_place_and_fingerprint() {
        let findings = [samples::lost_update()];
        let log = log(&findings, &Known("src/bank/Account.java"));
        assert_eq!(log["version"], "2.1.0");
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"].as_array().map(Vec::len), Some(RULES.len()));
        let result = &run["results"][0];
        let index = result["ruleIndex"].as_u64().expect("it has one") as usize;
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
        assert_eq!(result["level"], "warning");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "src/bank/Account.java");
        assert_eq!(place["artifactLocation"]["uriBaseId"], "%SRCROOT%");
        assert_eq!(place["region"]["startLine"], 11);
        assert_eq!(result["partialFingerprints"]["fissure/1"], findings[0].fingerprint().as_str());
        // What was skipped is told, and is no failure.
        assert_eq!(run["invocations"][0]["executionSuccessful"], true);
        let skipped = &run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
        assert_eq!(skipped, "skipped app.jar!/Bad.class: ends too early");
    }

    #[test]
    fn threads_flow_in_the_order_that_breaks() {
        let findings = [samples::lost_update()];
        let log = log(&findings, &NoSources);
        let result = &log["runs"][0]["results"][0];
        let flows = result["codeFlows"][0]["threadFlows"].as_array().expect("there are some");
        let orders: Vec<(String, Vec<u64>)> = flows
            .iter()
            .map(|flow| {
                let order = |location: &Value| location["executionOrder"].as_u64().expect("a number");
                let locations = flow["locations"].as_array().expect("there are some");
                (flow["id"].as_str().expect("a text").to_owned(), locations.iter().map(order).collect())
            })
            .collect();
        assert_eq!(orders, [("A".to_owned(), vec![1, 2, 4]), ("B".to_owned(), vec![3])]);
        let related = result["relatedLocations"].as_array().expect("there are some");
        assert_eq!(related.len(), 4);
        assert!(related[3].get("physicalLocation").is_none(), "no place is known");
    }

    #[test]
    fn a_file_is_named_only_where_it_is_known() {
        let findings = [samples::lost_update()];
        let text = render(&samples::report(&findings), &NoSources);
        assert!(!text.contains("physicalLocation") && text.contains("bank.Account.deposit"), "{text}");
        let uri = |path| {
            log(&findings, &Known(path))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
            ["artifactLocation"]
            .clone()
        };
        assert_eq!(uri("/ö b/A.java")["uri"], "file:///%C3%B6%20b/A.java");
        assert!(uri("/b/A.java").get("uriBaseId").is_none());
        assert_eq!(uri("./a/A.java")["uri"], "a/A.java");
    }

    #[test]
    fn hostile_names_stay_inside_their_strings() {
        let mut finding = samples::lost_update();
        finding.message = "\u{1b}[2J\"}],\u{0}\r\n\u{202e}".to_owned();
        finding.steps[0].thread.0 = "\u{202e}x".to_owned();
        let text = render(&samples::report(&[finding]), &NoSources);
        assert!(serde_json::from_str::<Value>(&text).is_ok());
        assert!(!text.contains(['\u{1b}', '\u{0}', '\r', '\u{202e}']));
    }

    #[test]
    fn more_than_code_hosts_take_are_cut_and_counted() {
        let findings = vec![samples::lost_update(); MOST_RESULTS + 2];
        let log = log(&findings, &NoSources);
        assert_eq!(log["runs"][0]["results"].as_array().map(Vec::len), Some(MOST_RESULTS));
        let told = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"][1]["message"]["text"];
        assert_eq!(told, "2 more findings are left out");
    }
}

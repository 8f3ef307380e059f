//! `fissure explain`: the page of a rule.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use detect_static::DETECTORS;
use finding::RULES;

use crate::args::ExplainArgs;
use crate::nearest::nearest;
use crate::output;

pub(crate) fn run(args: &ExplainArgs) -> Result<ExitCode> {
    let text = match args.rule.as_deref() {
        None => list(),
        Some(name) => page(name)?,
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn page(name: &str) -> Result<String> {
    if let Some(rule) = RULES.iter().find(|rule| rule.id == name) {
        return Ok(rule.page.to_owned());
    }
    if let Some(detector) = DETECTORS.iter().find(|detector| detector.name == name) {
        return Ok(format!("{} is a detector: {}\n", detector.name, detector.summary));
    }
    if let Some(detector) = detect_dynamic::DETECTORS.iter().find(|detector| detector.id == name) {
        return Ok(format!("{} is a detector: {}\n", detector.id, detector.summary));
    }
    match nearest(name, RULES.iter().map(|rule| rule.id)) {
        Some(near) => bail!("there is no rule `{name}`; did you mean `{near}`?"),
        None => bail!("there is no rule `{name}`; `fissure explain` lists them"),
    }
}

fn list() -> String {
    let rules = RULES.iter().map(|rule| (rule.id, rule.summary.to_owned()));
    let detectors = DETECTORS.iter().map(|detector| {
        let default = if detector.default { "" } else { " (only if asked for)" };
        (detector.name, format!("{}{default}", detector.summary))
    });
    let mut text = String::from("rules, named for the defect; `fissure explain RULE` tells more\n");
    write_list(&mut text, rules.collect());
    text.push_str("\ndetectors, named for the algorithm; `fissure check --detector NAME` runs one alone\n");
    write_list(&mut text, detectors.collect());
    let detectors = detect_dynamic::DETECTORS.iter().map(|detector| {
        let default = if detector.default { "" } else { " (only if asked for)" };
        (detector.id, format!("{}{default}", detector.summary))
    });
    text.push_str("\ndetectors of recorded runs; `fissure analyze --detector NAME` runs one alone\n");
    write_list(&mut text, detectors.collect());
    text
}

fn write_list(text: &mut String, entries: Vec<(&str, String)>) {
    let width = entries.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, summary) in entries {
        let _ = writeln!(text, "  {name:width$}  {summary}");
    }
}

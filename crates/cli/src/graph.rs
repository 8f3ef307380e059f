//! `fissure show --graph`: what depends on what in a method, and around a finding.

use anyhow::{Result, bail};
use detect_static::{DETECTORS, Detector, Options};
use finding::{Finding, Thread};
use program::{CallGraph, MethodId, Program, Settings, Told, ToldStep, Whole};

/// Whether a word is a fingerprint, as `check --format json` has them, and no method.
pub(crate) fn is_fingerprint(word: &str) -> bool {
    word.len() == 16 && word.chars().all(|letter| matches!(letter, '0'..='9' | 'a'..='f'))
}

/// The graph of each method that has a finding with this fingerprint: of those that a check tells by default, else of those
/// that it tells if asked, else in the abstractions of the papers.
pub(crate) fn around(program: &Program, settings: &Settings, fingerprint: &str) -> Result<String> {
    let by_default: Vec<&Detector> = DETECTORS.iter().filter(|detector| detector.default).collect();
    let all: Vec<&Detector> = DETECTORS.iter().collect();
    let of_papers = Settings { paper: true, call_graph: CallGraph::Hierarchy, ..settings.clone() };
    let ways = [
        (by_default, Options::from(settings.clone())),
        (all.clone(), Options { notes: true, ..Options::from(settings.clone()) }),
        (all, Options::from(of_papers)),
    ];
    for (detectors, options) in ways {
        let checked = detect_static::check_with(program, &detectors, options.clone());
        let found: Vec<&Finding> =
            checked.findings.iter().filter(|finding| finding.fingerprint() == fingerprint).collect();
        if !found.is_empty() {
            let whole = Whole::in_full(program, options.settings);
            let graphs: Vec<String> = found.into_iter().filter_map(|finding| draw(&whole, finding)).collect();
            return Ok(graphs.join("\n"));
        }
    }
    bail!(
        "there is no finding `{fingerprint}` in {} classes; `fissure check --format json` tells the fingerprints",
        program.class_count()
    )
}

fn draw(whole: &Whole<'_>, finding: &Finding) -> Option<String> {
    let names = &whole.program.names;
    let is_it = |method: &MethodId| names.method_place(whole.program.method_name(*method)) == finding.method;
    let method = whole.program.methods().find(is_it)?;
    let steps = finding.steps.iter().map(|step| {
        let is_own = step.thread == Thread::a();
        let thread = if is_own { String::new() } else { format!("thread {}: ", step.thread.0) };
        let line = step.place.as_ref().and_then(|place| Some(format!(", {}:{}", place.file.as_ref()?, place.line?)));
        ToldStep {
            number: step.number,
            is_own,
            place: step.place.clone(),
            text: format!("{thread}{}{}", step.what, line.unwrap_or_default()),
        }
    });
    let told =
        Told { variables: finding.variables.clone(), steps: steps.collect(), order: finding.interleaving.clone() };
    program::show_graph_around(whole, method, &told)
}

#[cfg(test)]
mod tests {
    use super::is_fingerprint;

    #[test]
    fn fingerprints_are_no_methods() {
        assert!(is_fingerprint("0123456789abcdef"));
        for word in ["0123456789abcde", "Foo.bar", "0123456789abcdeF", "deposit"] {
            assert!(!is_fingerprint(word), "{word}");
        }
    }
}

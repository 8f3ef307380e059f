//! Findings that are known and put up with: a file that people review, one finding a line.
//!
//! A line has the fingerprint, which counts, and rule, method and variables, which are for people. Lines are sorted and
//! have no paths and no line numbers, so that the file changes only when findings do. Several findings may have one
//! fingerprint; each line stands for one of them, so that one more of the same is new.

use std::collections::BTreeMap;

use crate::Finding;

/// The first line; the number is that of the format.
const HEAD: &str = "# fissure baseline 1";
const HEAD_OF_ANY: &str = "# fissure baseline ";

/// Digits of a fingerprint.
const DIGITS: usize = 16;

/// Findings that are known.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Baseline {
    /// By fingerprint: how many there are.
    known: BTreeMap<String, usize>,
}

/// What a baseline makes of findings.
pub struct Divided {
    /// Those that are not known, in their order.
    pub new: Vec<Finding>,
    /// How many were known.
    pub known: usize,
    /// How many are known and no longer found.
    pub gone: usize,
}

/// Why a text is no baseline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoBaseline {
    /// It is something else.
    OtherKind,
    /// It is of a format that came later.
    Later,
    /// A line, counted from 1, does not begin with a fingerprint.
    Line(usize),
}

impl Baseline {
    pub fn parse(text: &str) -> Result<Baseline, NoBaseline> {
        let mut lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines();
        let head = lines.next().unwrap_or_default().trim_end();
        if head != HEAD {
            let is_later = head.strip_prefix(HEAD_OF_ANY).is_some_and(|number| number.parse::<u32>().is_ok());
            return Err(if is_later { NoBaseline::Later } else { NoBaseline::OtherKind });
        }
        let mut baseline = Baseline::default();
        for (index, line) in lines.enumerate() {
            let Some(fingerprint) = line.split_whitespace().next().filter(|word| !word.starts_with('#')) else {
                continue;
            };
            let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            if fingerprint.len() != DIGITS || !fingerprint.bytes().all(is_digit) {
                return Err(NoBaseline::Line(index + 2));
            }
            *baseline.known.entry(fingerprint.to_owned()).or_default() += 1;
        }
        Ok(baseline)
    }

    /// The file that makes these findings known.
    pub fn render(findings: &[Finding]) -> String {
        let mut lines: Vec<(String, String)> = findings
            .iter()
            .map(|finding| {
                let method = format!("{}.{}", finding.method.class, finding.method.name);
                let words = [finding.rule.id, &method].into_iter().chain(finding.variables.iter().map(String::as_str));
                let words: Vec<String> = words.map(printable).collect();
                (format!("{} {}", method, finding.rule.id), format!("{} {}", finding.fingerprint(), words.join(" ")))
            })
            .collect();
        lines.sort();
        let lines = lines.into_iter().map(|(_, line)| line + "\n");
        std::iter::once(format!("{HEAD}\n")).chain(lines).collect()
    }

    /// Leaves out what is known.
    pub fn divide(&self, findings: Vec<Finding>) -> Divided {
        let mut left = self.known.clone();
        let mut new = Vec::new();
        let mut known = 0;
        for finding in findings {
            match left.get_mut(&finding.fingerprint()) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    known += 1;
                }
                _ => new.push(finding),
            }
        }
        Divided { new, known, gone: left.values().sum() }
    }
}

/// A name as one word of a line: names of class files may have anything in them.
fn printable(name: &str) -> String {
    let kept = |character: char| character.is_alphanumeric() || character.is_ascii_graphic();
    name.chars().map(|character| if kept(character) { character } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use location::MethodPlace;

    use super::*;
    use crate::rules;

    fn finding(method: &str, variable: &str) -> Finding {
        let place = MethodPlace { class: "a.B".to_owned(), name: method.to_owned(), descriptor: "()V".to_owned() };
        let mut finding = Finding::suspected(&rules::STALE_VALUE, "stale-values", place, String::new());
        finding.variables.insert(variable.to_owned());
        finding
    }

    fn baseline(findings: &[Finding]) -> Baseline {
        Baseline::parse(&Baseline::render(findings)).expect("it was just written")
    }

    #[test]
    fn what_is_known_is_left_out_and_what_is_gone_is_counted() {
        let known = [finding("put", "a.B.x"), finding("get", "a.B.x")];
        let divided = baseline(&known).divide(vec![finding("get", "a.B.x"), finding("get", "a.B.y")]);
        assert_eq!((divided.new.len(), divided.known, divided.gone), (1, 1, 1));
        assert!(divided.new[0].variables.contains("a.B.y"));
    }

    #[test]
    fn one_more_of_the_same_is_new() {
        let twice = vec![finding("put", "a.B.x"), finding("put", "a.B.x")];
        assert_eq!(baseline(&twice[..1]).divide(twice.clone()).new.len(), 1);
        assert_eq!(baseline(&twice).divide(twice.clone()).new.len(), 0);
    }

    #[test]
    fn lines_are_sorted_and_hold_one_finding_each() {
        let findings = [finding("put", "a.B.x"), finding("get", "a.B\u{202e}\n.x y")];
        let text = Baseline::render(&findings);
        let names: Vec<&str> = text.lines().skip(1).map(|line| &line[DIGITS + 1..]).collect();
        assert_eq!(names, ["stale-value a.B.get a.B??.x?y", "stale-value a.B.put a.B.x"]);
    }

    #[test]
    fn what_is_no_baseline_says_why() {
        let parse = |text: &str| Baseline::parse(text).map(|baseline| baseline.known.len());
        assert_eq!(parse(""), Err(NoBaseline::OtherKind));
        assert_eq!(parse("<FindBugsFilter/>"), Err(NoBaseline::OtherKind));
        assert_eq!(parse("{\"schema\": \"fissure/1\"}"), Err(NoBaseline::OtherKind));
        assert_eq!(parse("# fissure baseline 2\n"), Err(NoBaseline::Later));
        assert_eq!(parse("# fissure baseline 1\n\nx y\n"), Err(NoBaseline::Line(3)));
        assert_eq!(parse("\u{feff}# fissure baseline 1\r\n# why\r\n0123456789abcdef stale-value a.B.c\r\n"), Ok(1));
    }
}

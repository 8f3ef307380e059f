//! Every rule has a page with all its parts.

use finding::Rule;

use super::tree::Tree;

const HEADINGS: &[&str] = &[
    "## What it is",
    "## Why it matters",
    "## Example",
    "## How it decides",
    "## What it misses",
    "## When it may be wrong",
    "## How to fix",
    "## References",
];

pub(crate) fn check(tree: &Tree, rules: &[&Rule]) -> Vec<String> {
    let mut wrong = Vec::new();
    for rule in rules {
        let path = page(rule.id);
        let Some(text) = tree.text(&path) else {
            wrong.push(format!("{path}: there is none"));
            continue;
        };
        if text.lines().next() != Some(&format!("# {}", rule.id)) {
            wrong.push(format!("{path}: the first line is not `# {}`", rule.id));
        }
        let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
        for heading in HEADINGS.iter().filter(|heading| !headings.contains(heading)) {
            wrong.push(format!("{path}: no `{heading}`"));
        }
        if HEADINGS.iter().all(|heading| headings.contains(heading)) && headings != HEADINGS {
            wrong.push(format!("{path}: the headings are in another order, or there are more"));
        }
    }
    let pages = tree.files().map(|(path, _)| path).filter(|path| path.starts_with("docs/rules/"));
    for path in pages.filter(|path| rules.iter().all(|rule| page(rule.id) != *path)) {
        wrong.push(format!("{path}: there is no such rule"));
    }
    wrong
}

fn page(rule: &str) -> String {
    format!("docs/rules/{rule}.md")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "docs/rules/reacquired-lock.md";

    fn wrong(text: &str) -> Vec<String> {
        check(&Tree::of(&[(PATH, text)]), &[&finding::rules::REACQUIRED_LOCK])
    }

    #[test]
    fn a_whole_page_passes() {
        assert_eq!(wrong(&format!("# reacquired-lock\n\n{}\n", HEADINGS.join("\n\n"))), [""; 0]);
    }

    #[test]
    fn what_a_page_lacks_is_told() {
        let text = format!("# another\n{}\n", HEADINGS[..7].join("\n"));
        assert_eq!(
            wrong(&text),
            [format!("{PATH}: the first line is not `# reacquired-lock`"), format!("{PATH}: no `## References`")]
        );
        let turned = format!("# reacquired-lock\n{}\n", HEADINGS.iter().rev().copied().collect::<Vec<_>>().join("\n"));
        assert_eq!(wrong(&turned), [format!("{PATH}: the headings are in another order, or there are more")]);
    }

    #[test]
    fn rules_without_page_and_pages_without_rule_are_told() {
        let tree = Tree::of(&[("docs/rules/old.md", "# old")]);
        assert_eq!(
            check(&tree, &[&finding::rules::REACQUIRED_LOCK]),
            [format!("{PATH}: there is none"), "docs/rules/old.md: there is no such rule".to_owned()]
        );
    }
}

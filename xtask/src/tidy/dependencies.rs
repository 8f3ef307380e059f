//! The dependency table in ARCHITECTURE.md is what the manifests say.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::Value;

use super::tree::Tree;

/// Test support: only tests and tasks may use it.
const TEST_SUPPORT: &str = "fixture";
const TASKS: &str = "xtask";

/// The crates of the workspace and which of them each one uses outside its tests.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Graph(BTreeMap<String, BTreeSet<String>>);

impl Graph {
    /// From the output of `cargo metadata`.
    pub(crate) fn parse(metadata: &str) -> Result<Graph> {
        let metadata: Value = serde_json::from_str(metadata).context("cargo metadata")?;
        let packages = metadata["packages"].as_array().context("no packages in cargo metadata")?;
        let name = |value: &Value| value["name"].as_str().map(str::to_owned);
        let crates: BTreeSet<String> = packages.iter().filter_map(name).collect();
        let mut graph = BTreeMap::new();
        for package in packages {
            let uses = package["dependencies"].as_array().context("no dependencies in cargo metadata")?;
            let uses = uses.iter().filter(|dependency| dependency["kind"] != "dev").filter_map(name);
            let package = name(package).context("a package without a name in cargo metadata")?;
            graph.insert(package, uses.filter(|used| crates.contains(used)).collect());
        }
        Ok(Graph(graph))
    }
}

pub(crate) fn check(tree: &Tree, graph: &Graph) -> Vec<String> {
    let table = tree.text("ARCHITECTURE.md").map(table).unwrap_or_default();
    let mut wrong = Vec::new();
    let mut complain = |line: String| wrong.push(format!("ARCHITECTURE.md: dependency table: {line}"));
    for (name, uses) in &graph.0 {
        match table.get(name) {
            None => complain(format!("no row for {name}")),
            Some(told) => {
                for missing in uses.difference(told) {
                    complain(format!("{name} uses {missing}, which its row does not have"));
                }
                for extra in told.difference(uses) {
                    complain(format!("{name} does not use {extra}, which its row has"));
                }
            }
        }
        if uses.contains(TEST_SUPPORT) && name != TASKS {
            complain(format!("{name} uses {TEST_SUPPORT} outside its tests"));
        }
    }
    for name in table.keys().filter(|name| !graph.0.contains_key(*name)) {
        complain(format!("there is no crate {name}"));
    }
    wrong
}

/// The rows below `| crate | may use |`.
fn table(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let mut lines = text.lines().skip_while(|line| cells(line) != ["crate", "may use"]);
    lines.next();
    let rows = lines.skip(1).take_while(|line| line.trim_start().starts_with('|'));
    let names = |cell: &str| -> BTreeSet<String> {
        let names = cell.split(',').map(|name| name.trim().trim_matches('`').to_owned());
        names.filter(|name| !name.is_empty() && name != "–").collect()
    };
    rows.filter_map(|row| match cells(row).as_slice() {
        [name, uses] => Some((name.trim_matches('`').to_owned(), names(uses))),
        _ => None,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = r#"{"packages": [
        {"name": "a", "dependencies": [{"name": "b", "kind": null}, {"name": "serde", "kind": null}]},
        {"name": "b", "dependencies": [{"name": "fixture", "kind": "dev"}]},
        {"name": "fixture", "dependencies": []}]}"#;

    const TABLE: &str = "text\n\n| crate | may use |\n|---|---|\n| `a` | `b` |\n| `b` | – |\n| `fixture` | – |\n\nmore";

    fn wrong(table: &str, metadata: &str) -> Vec<String> {
        check(&Tree::of(&[("ARCHITECTURE.md", table)]), &Graph::parse(metadata).unwrap())
            .into_iter()
            .map(|line| line.replace("ARCHITECTURE.md: dependency table: ", ""))
            .collect()
    }

    #[test]
    fn a_true_table_passes() {
        assert_eq!(wrong(TABLE, METADATA), [""; 0]);
    }

    #[test]
    fn every_difference_is_told() {
        assert_eq!(
            wrong(&TABLE.replace("| `a` | `b` |", "| `a` | – |"), METADATA),
            ["a uses b, which its row does not have"]
        );
        assert_eq!(
            wrong(&TABLE.replace("| `b` | – |", "| `b` | `a` |"), METADATA),
            ["b does not use a, which its row has"]
        );
        assert_eq!(
            wrong(&TABLE.replace("| `b` | – |", "| `c` | – |"), METADATA),
            ["no row for b", "there is no crate c"]
        );
        assert_eq!(wrong("no table", METADATA), ["no row for a", "no row for b", "no row for fixture"]);
    }

    #[test]
    fn test_support_stays_in_tests() {
        let metadata = METADATA.replace("\"dev\"", "null");
        assert_eq!(
            wrong(&TABLE.replace("| `b` | – |", "| `b` | `fixture` |"), &metadata),
            ["b uses fixture outside its tests"]
        );
    }
}

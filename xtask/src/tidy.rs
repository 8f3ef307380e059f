//! `./x tidy`: rules of this repository that no compiler knows.
//!
//! Each check takes the tree as text and returns what is wrong, so that a test can show it a wrong tree.

mod architecture;
mod dependencies;
mod fixtures;
mod machine;
mod rules;
mod rust;
mod tree;

use anyhow::{Result, bail};

use crate::process::{self, cargo};
use tree::Tree;

pub(crate) fn run() -> Result<()> {
    let tree = Tree::read()?;
    let metadata = process::output(cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let graph = dependencies::Graph::parse(&metadata)?;

    let mut wrong = dependencies::check(&tree, &graph);
    wrong.extend(architecture::check(&tree));
    wrong.extend(fixtures::check(&tree));
    wrong.extend(machine::check(&tree));
    wrong.extend(rules::check(&tree, finding::RULES));
    wrong.extend(rust::check(&tree));
    wrong.sort();
    for line in &wrong {
        println!("{line}");
    }
    match wrong.len() {
        0 => Ok(()),
        1 => bail!("tidy: one thing is wrong"),
        n => bail!("tidy: {n} things are wrong"),
    }
}

//! ARCHITECTURE.md names only what exists, and stays short.

use super::tree::Tree;

const FILE: &str = "ARCHITECTURE.md";
const LONGEST: usize = 300;
const EXTENSIONS: &[&str] = &[".rs", ".md", ".toml", ".java", ".sh"];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let Some(text) = tree.text(FILE) else { return vec![format!("{FILE}: there is none")] };
    let mut wrong = Vec::new();
    let length = text.lines().count();
    if length > LONGEST {
        wrong.push(format!("{FILE}: {length} lines, more than {LONGEST}"));
    }
    let mut in_block = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if in_block {
            continue;
        }
        for name in line.split('`').skip(1).step_by(2).filter(|name| is_path(name)) {
            if !tree.has(name) {
                wrong.push(format!("{FILE}:{number}: there is no {name}"));
            }
        }
    }
    wrong
}

fn is_path(name: &str) -> bool {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    let looks_like_one = name.contains('/') || EXTENSIONS.iter().any(|extension| name.ends_with(extension));
    is_plain && looks_like_one && !name.starts_with(['/', '.']) && !name.starts_with("target/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_exist_pass_and_others_are_told() {
        let text =
            "see `crates/cli` and `crates/cli/src/main.rs`\nnot `lib/modules/java`, `gone.rs` or `a::b`, `x y/z`\n";
        let tree = Tree::of(&[(FILE, text), ("crates/cli/src/main.rs", "")]);
        assert_eq!(
            check(&tree),
            ["ARCHITECTURE.md:2: there is no lib/modules/java", "ARCHITECTURE.md:2: there is no gone.rs"]
        );
    }

    #[test]
    fn a_long_or_missing_document_is_told() {
        assert_eq!(check(&Tree::of(&[(FILE, &"x\n".repeat(301))])), ["ARCHITECTURE.md: 301 lines, more than 300"]);
        assert_eq!(check(&Tree::of(&[])), ["ARCHITECTURE.md: there is none"]);
    }
}

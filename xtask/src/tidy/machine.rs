//! Nothing in the tree belongs to one machine: no home folders, no private package registries.

use super::tree::Tree;

/// Written in two parts, so that this file passes its own check.
const FOLDERS: &[(&str, &str)] = &[("/ho", "me/"), ("/Us", "ers/"), ("/ro", "ot/"), ("/wo", "rk/"), ("C:", "\\Users")];

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, text) in tree.files() {
        for (number, line) in (1..).zip(text.lines()) {
            for (head, tail) in FOLDERS {
                let folder = format!("{head}{tail}");
                if has_path(line, &folder) {
                    wrong.push(format!("{path}:{number}: a path of one machine: {folder}"));
                }
            }
        }
    }
    for line in tree.text("Cargo.lock").unwrap_or_default().lines() {
        if let Some(source) = line.strip_prefix("source = ")
            && source.trim_matches('"') != REGISTRY
        {
            wrong.push(format!("Cargo.lock: not from crates.io: {source}"));
        }
    }
    for path in [".cargo/config.toml", ".cargo/config"] {
        if tree.text(path).is_some_and(|text| text.contains("[source") || text.contains("[registries")) {
            wrong.push(format!("{path}: names a registry"));
        }
    }
    wrong
}

/// Whether the folder stands there as an absolute path, not as the middle of another path.
fn has_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder)
        .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || "._-*}".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_machine_are_told() {
        let text = FOLDERS.iter().map(|(head, tail)| format!("see `{head}{tail}x`\n")).collect::<String>();
        let wrong = check(&Tree::of(&[("README.md", &text)]));
        assert_eq!(wrong.len(), FOLDERS.len(), "{wrong:?}");
        assert!(wrong[0].starts_with("README.md:1: a path of one machine"));
    }

    #[test]
    fn parts_of_other_paths_pass() {
        assert_eq!(check(&Tree::of(&[("README.md", "see src/root/x, target/work/y and /usr/lib/jvm")])), [""; 0]);
    }

    #[test]
    fn a_private_registry_is_told() {
        let lock = format!("source = \"{REGISTRY}\"\nsource = \"registry+https://mirror.example/index\"\n");
        let wrong = check(&Tree::of(&[("Cargo.lock", &lock), (".cargo/config.toml", "[source.crates-io]")]));
        assert_eq!(
            wrong,
            [
                "Cargo.lock: not from crates.io: \"registry+https://mirror.example/index\"",
                ".cargo/config.toml: names a registry"
            ]
        );
    }
}

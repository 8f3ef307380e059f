//! Fixtures: well-formed marks with reasons, folders named for rules, and correct code beside every mistake.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fixture::JavaFile;

use super::tree::Tree;

const STATIC: &str = "fixtures/static/";

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    // Whether a folder has a file without marks, which is correct code.
    let mut has_correct: BTreeMap<&str, bool> = BTreeMap::new();
    for (path, text) in tree.files().filter(|(path, _)| path.starts_with("fixtures/") && path.ends_with(".java")) {
        let file = match JavaFile::new(PathBuf::from(path), text.to_owned()) {
            Ok(file) => file,
            Err(error) => {
                wrong.push(format!("{error:#}"));
                continue;
            }
        };
        if let Some((folder, _)) = path.strip_prefix(STATIC).and_then(|below| below.split_once('/')) {
            *has_correct.entry(folder).or_default() |= file.marks.is_empty();
        }
    }
    for (folder, has_correct) in has_correct {
        if finding::RULES.iter().all(|rule| rule.id.replace('-', "_") != folder) {
            wrong.push(format!("{STATIC}{folder}: no rule has this name"));
        }
        if !has_correct {
            wrong.push(format!("{STATIC}{folder}: no file without marks, as correct code that looks similar"));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_a_mistake_and_correct_code_passes() {
        let tree = Tree::of(&[
            ("fixtures/static/reacquired_lock/A.java", "x //~ reacquired-lock"),
            ("fixtures/static/reacquired_lock/B.java", "x"),
            ("fixtures/model/A.java", "x //= section"),
        ]);
        assert_eq!(check(&tree), [""; 0]);
    }

    #[test]
    fn a_mark_without_reason_is_told() {
        let tree = Tree::of(&[("fixtures/model/A.java", "x\ny //~ missed reacquired-lock")]);
        assert_eq!(
            check(&tree),
            ["fixtures/model/A.java: line 2: `missed` needs a rule and a reason: `//~ missed rule: reason`"]
        );
    }

    #[test]
    fn a_folder_of_another_name_or_without_correct_code_is_told() {
        let tree = Tree::of(&[("fixtures/static/locks/A.java", "x //~ reacquired-lock")]);
        assert_eq!(
            check(&tree),
            [
                "fixtures/static/locks: no rule has this name",
                "fixtures/static/locks: no file without marks, as correct code that looks similar"
            ]
        );
    }
}

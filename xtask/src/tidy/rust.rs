//! Rust files: an opening comment, a length that can be read, no silenced tests, IO only where it belongs.

use super::tree::Tree;

/// Lines of a file without its tests.
const LONGEST: usize = 500;

/// Files that may be longer, each with the reason.
const LONG_FILES: &[(&str, &str)] = &[];

/// Each in two parts, so that this file passes its own check.
const FORBIDDEN: &[(&str, &str, &str)] = &[
    ("#[ign", "ore", "a test that does not run tests nothing"),
    ("#[should", "_panic", "it passes for any panic: compare the message"),
    ("tod", "o!(", "what is not done yet is an issue"),
];

/// The parts of the standard library that reach outside the process.
const OUTSIDE: &[&str] = &["fs", "env", "process", "net"];

/// The crates that may use them.
const MAY_DO_IO: &[&str] = &["crates/cli/", "crates/agent/", "crates/recording/", "crates/fixture/", "xtask/"];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    check_with(tree, LONG_FILES)
}

fn check_with(tree: &Tree, long_files: &[(&str, &str)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| path.ends_with(".rs")) {
        if !text.starts_with("//!") {
            wrong.push(format!("{path}: does not open with `//!`"));
        }
        for (head, tail, reason) in FORBIDDEN {
            let word = format!("{head}{tail}");
            for (number, _) in (1..).zip(text.lines()).filter(|(_, line)| line.contains(&word)) {
                wrong.push(format!("{path}:{number}: `{word}`: {reason}"));
            }
        }
        let code = without_tests(path, text);
        let length = code.lines().count();
        if length > LONGEST && long_files.iter().all(|(long, _)| *long != path) {
            wrong.push(format!("{path}: {length} lines without tests, more than {LONGEST}"));
        }
        if MAY_DO_IO.iter().all(|start| !path.starts_with(start)) {
            for (number, line) in (1..).zip(code.lines()) {
                if let Some(module) = OUTSIDE.iter().find(|module| uses(line, module)) {
                    wrong.push(format!("{path}:{number}: `std::{module}`: only {} do IO", MAY_DO_IO.join(", ")));
                }
            }
        }
    }
    for (path, _) in long_files {
        let is_long = tree.text(path).is_some_and(|text| without_tests(path, text).lines().count() > LONGEST);
        if !is_long {
            wrong.push(format!("{path}: is listed as a long file and is none"));
        }
    }
    wrong
}

/// The text before the tests; nothing of a file that is all tests, or an example for developers.
fn without_tests<'a>(path: &str, text: &'a str) -> &'a str {
    let is_test = path.contains("/tests/") || path.ends_with("/tests.rs") || path.contains("/examples/");
    if is_test {
        return "";
    }
    match text.find("#[cfg(test)]\nmod ") {
        Some(at) => &text[..at],
        None => text,
    }
}

fn uses(line: &str, module: &str) -> bool {
    if line.trim_start().starts_with("//") {
        return false;
    }
    let plain = format!("std::{module}");
    let is_name = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let is_plain = line.match_indices(&plain).any(|(at, _)| is_name(&line[at + plain.len()..]));
    let grouped = line.split_once("std::{").map(|(_, names)| names.split([',', '{', '}', ';', ':']).map(str::trim));
    is_plain || grouped.is_some_and(|mut names| names.any(|name| name == module))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(path: &str, text: &str) -> Vec<String> {
        check_with(&Tree::of(&[(path, text)]), &[])
    }

    #[test]
    fn a_file_without_opening_comment_is_told() {
        assert_eq!(wrong("crates/a/src/lib.rs", "//! Good.\n"), [""; 0]);
        assert_eq!(wrong("crates/a/src/lib.rs", "use x;\n"), ["crates/a/src/lib.rs: does not open with `//!`"]);
    }

    #[test]
    fn silenced_tests_are_told() {
        for (head, tail, reason) in FORBIDDEN {
            let text = format!("//! A.\n    {head}{tail}\n");
            assert_eq!(
                wrong("crates/a/tests/a.rs", &text),
                [format!("crates/a/tests/a.rs:2: `{head}{tail}`: {reason}")]
            );
        }
    }

    #[test]
    fn a_long_file_is_told_and_tests_do_not_count() {
        let long = "//! A.\n".repeat(501);
        assert_eq!(
            wrong("crates/a/src/lib.rs", &long),
            ["crates/a/src/lib.rs: 501 lines without tests, more than 500"]
        );
        assert_eq!(wrong("crates/a/tests/all.rs", &long), [""; 0]);
        let tested = format!("//! A.\n#[cfg(test)]\nmod tests {{\n{}}}\n", "\n".repeat(600));
        assert_eq!(wrong("crates/a/src/lib.rs", &tested), [""; 0]);
    }

    #[test]
    fn a_long_file_with_a_reason_passes_until_it_is_short() {
        let excuse = [("crates/a/src/lib.rs", "a table")];
        let tree = |length| Tree::of(&[("crates/a/src/lib.rs", &"//! A.\n".repeat(length))]);
        assert_eq!(check_with(&tree(501), &excuse), [""; 0]);
        assert_eq!(check_with(&tree(500), &excuse), ["crates/a/src/lib.rs: is listed as a long file and is none"]);
    }

    #[test]
    fn io_outside_its_crates_is_told() {
        for line in ["use std::fs;", "std::process::exit(1)", "use std::{cell::Cell, env};", "std::net::TcpStream"] {
            let text = format!("//! A.\n{line}\n");
            assert_eq!(wrong("crates/a/src/lib.rs", &text).len(), 1, "{line}");
            assert_eq!(wrong("crates/cli/src/lib.rs", &text), [""; 0]);
            assert_eq!(wrong("crates/a/tests/a.rs", &text), [""; 0]);
            let tested = format!("//! A.\n#[cfg(test)]\nmod tests {{\n{line}\n}}\n");
            assert_eq!(wrong("crates/a/src/lib.rs", &tested), [""; 0]);
        }
        for line in ["env!(\"X\")", "// std::fs is not used", "std::fsync", "use std::{fmt, io};"] {
            assert_eq!(wrong("crates/a/src/lib.rs", &format!("//! A.\n{line}\n")), [""; 0], "{line}");
        }
    }
}

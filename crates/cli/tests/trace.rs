//! The commands on traces, from outside: forms, exit codes, damaged input.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const VIOLATED: &str = "A|begin|1\nA|r(x)|2\nB|w(x)|3\nA|w(x)|4\nA|end|5\n";
const FINE: &str = "A|begin|1\nA|r(x)|2\nA|w(x)|4\nA|end|5\nA|fork(B)|6\nB|w(x)|3\n";

fn fissure(words: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fissure"))
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses its arguments does not read.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn temporary(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

#[test]
fn findings_are_1_and_none_are_0_in_both_forms() {
    for (trace, expected) in [(VIOLATED, 1), (FINE, 0)] {
        let as_text = fissure(&["analyze", "-"], trace.as_bytes());
        assert_eq!(code(&as_text), expected, "{as_text:?}");
        let binary = fissure(&["trace", "-", "--to", "binary"], trace.as_bytes());
        assert_eq!(code(&binary), 0);
        let as_binary = fissure(&["analyze", "-"], &binary.stdout);
        assert_eq!(text(&as_binary.stdout), text(&as_text.stdout));
        let back = fissure(&["trace", "-", "--to", "text"], &binary.stdout);
        assert_eq!(text(&back.stdout), trace);
    }
    let json = text(&fissure(&["analyze", "--format", "json", "-"], VIOLATED.as_bytes()).stdout);
    assert!(json.contains(r#""rule": "not-serializable""#) && json.contains(r#""seen": 5"#), "{json}");
}

#[test]
fn a_file_is_read_and_another_is_written() {
    let (one, other) = (temporary("one.trace"), temporary("other.trace"));
    std::fs::write(&one, VIOLATED).unwrap();
    let (one, other) = (one.to_str().unwrap(), other.to_str().unwrap());
    assert_eq!(code(&fissure(&["trace", one, "--to", "binary", "-o", other], b"")), 0);
    assert_eq!(code(&fissure(&["analyze", other], b"")), 1);
    let same = fissure(&["trace", one, "--to", "text", "-o", one], b"");
    assert_eq!(code(&same), 2);
    assert_eq!(std::fs::read_to_string(one).unwrap(), VIOLATED, "the trace is still there");
}

#[test]
fn what_cannot_be_used_is_2_and_says_why() {
    for (words, input, told) in [
        (&["analyze", "-"][..], &b"PK\x03\x04"[..], "it is a zip or jar file"),
        (&["analyze", "-"], b"", "it is empty"),
        (&["analyze", "-"], b"\x93FIS\r\n\x1a\n\x09\0\0\0\0\0\0\0", "format 9"),
        (&["analyze", "-"], b"hello\n", "line 1"),
        (&["analyze", "no/such/file"], b"", "cannot read"),
        (&["analyze", "--detector", "serialisability", "-"], b"", "did you mean `serializability`?"),
        (&["trace", "-", "--to", "xml"], b"", "there are: text, binary"),
    ] {
        let output = fissure(words, input);
        assert_eq!(code(&output), 2, "{words:?}: {output:?}");
        let message = text(&output.stderr);
        assert!(message.contains(told) && message.lines().count() == 1, "{words:?}: {message}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_part_that_is_lost_is_told_and_the_rest_is_used() {
    let cut = fissure(&["trace", "-", "--to", "binary"], FINE.as_bytes()).stdout;
    // Without its end mark the trace is whole but for what may have come after.
    let output = fissure(&["analyze", "-"], &cut[..cut.len() - 24]);
    assert_eq!(code(&output), 3, "{output:?}");
    assert!(text(&output.stdout).contains("cut off"), "{output:?}");
    let violated = VIOLATED.replace("A|end|5", "A|ned|5");
    let output = fissure(&["analyze", "-"], violated.as_bytes());
    assert_eq!(code(&output), 1, "findings count though a line was lost");
    assert!(text(&output.stdout).contains("line 5: `ned` is no known operation"), "{output:?}");
    assert_eq!(code(&fissure(&["trace", "-", "--to", "text"], violated.as_bytes())), 3);
}

#[test]
fn a_joint_cycle_is_told_beside_a_violated_unit() {
    // C is violated, and through what it wrote it stands between A and B, which have no order on their own account.
    let lines = "C|begin|\nC|r(z)|1\nA|begin|\nB|begin|\nA|r(x)|2\nB|r(y)|3\nA|w(z)|4\nC|w(z)|5\nB|w(z)|6\nC|r(z)|7\n\
                 A|w(y)|8\nB|w(x)|9\nA|end|\nB|end|\nC|end|\n";
    let file = temporary("joint.trace");
    std::fs::write(&file, lines).unwrap();
    let output = text(&fissure(&["analyze", file.to_str().unwrap()], b"").stdout);
    assert!(output.contains("error[not-serializable]:"), "{output}");
    assert!(output.contains("error[not-serializable-together]: threads `A`, `B`"), "{output}");
}

#[test]
fn lock_order_counts_on_request() {
    let trace = "A|begin|1\nA|acq(l)|2\nA|rel(l)|3\nB|acq(l)|4\nB|rel(l)|5\nA|acq(l)|6\nA|rel(l)|7\nA|end|8\n";
    assert_eq!(code(&fissure(&["analyze", "--detector", "serializability", "-"], trace.as_bytes())), 0);
    assert_eq!(
        code(&fissure(&["analyze", "--detector", "serializability", "--lock-conflicts", "-"], trace.as_bytes())),
        1
    );
}

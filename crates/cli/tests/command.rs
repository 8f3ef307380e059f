//! The command from outside: what it prints, where, and how it ends.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use fixture::{Fixture, compile, test_jdk, workspace};

/// A folder of its own for one test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("fissure-command-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.join(below)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn fissure() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fissure"));
    command.stdin(Stdio::null()).env_remove("NO_COLOR");
    command
}

/// The class files of a correct program.
fn correct_classes() -> PathBuf {
    classes("fixtures/static/reacquired_lock/HeldThroughout.java")
}

fn classes(source: &str) -> PathBuf {
    let source = workspace().join(source);
    let fixture = [Fixture::new("correct".to_owned(), &[source]).unwrap()];
    let compiled = compile(&fixture, &test_jdk().unwrap(), &workspace().join("target/fixtures")).unwrap();
    compiled[0].classes.clone()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Trouble is exit code 2, nothing on standard output, and one line on standard error.
#[track_caller]
fn assert_trouble(output: &Output, part: &str) {
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert_eq!(text(&output.stdout), "");
    assert!(told.starts_with("error: ") && told.contains(part), "{told}");
    assert_eq!(told.matches('\n').count(), 1, "{told}");
}

#[test]
fn correct_code_is_quiet() {
    let output = fissure().arg("check").arg(correct_classes()).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).starts_with("no findings in "), "{}", text(&output.stdout));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn json_is_json_and_the_same_for_any_number_of_jobs() {
    let run = |jobs: &str| {
        let command = fissure().args(["check", "--format", "json", "--jobs", jobs]).arg(correct_classes()).output();
        command.unwrap().stdout
    };
    let json: serde_json::Value = serde_json::from_slice(&run("1")).unwrap();
    assert_eq!(json["schema"], "fissure/1");
    assert_eq!(json["tool"]["name"], "fissure");
    assert_eq!(json["findings"].as_array().unwrap().len(), 0);
    for jobs in ["1", "2", "7"] {
        assert_eq!(run(jobs), run("1"), "{jobs} jobs");
    }
}

#[test]
fn a_report_file_is_replaced_whole() {
    let folder = Folder::new();
    let (file, link) = (folder.path("report.json"), folder.path("link.json"));
    fs::write(&file, "x".repeat(100_000)).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("report.json", &link).unwrap();
    let classes = correct_classes();
    let output = fissure().args(["check", "--format", "json", "--output"]).args([&link, &classes]).output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout), text(&output.stderr)), (Some(0), "", ""));
    let printed = fissure().args(["check", "--format", "json"]).arg(&classes).output().unwrap();
    assert_eq!(fs::read(&file).unwrap(), printed.stdout);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(folder.names(), ["link.json", "report.json"]);
}

#[test]
fn a_report_goes_to_a_device_as_it_is() {
    let output = fissure().args(["check", "--output", "/dev/stdout"]).arg(correct_classes()).output().unwrap();
    assert!(text(&output.stdout).starts_with("no findings in "), "{}", text(&output.stderr));
}

#[test]
fn a_report_that_cannot_be_written_is_told() {
    let folder = Folder::new();
    let run = |path: &Path| fissure().args(["check", "--output"]).args([path, &correct_classes()]).output().unwrap();
    assert_trouble(&run(&folder.path("no/such/folder/report")), "cannot write `");
    assert_trouble(&run(&folder.0), "it is a directory");
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn wrong_usage_and_wrong_inputs_are_one_line() {
    let folder = Folder::new();
    fs::write(folder.path("notes.txt"), "no class").unwrap();
    fs::create_dir(folder.path("empty")).unwrap();
    let classes = correct_classes();
    let classes = classes.to_str().unwrap();
    let at = |below: &str| folder.path(below).to_str().unwrap().to_owned();
    for (words, part) in [
        (vec![], "no command given"),
        (vec!["check"], "missing <PATH>..."),
        (vec!["check", &at("nowhere")], "nowhere`"),
        (vec!["check", &at("notes.txt")], "notes.txt`"),
        (vec!["check", &at("empty")], "there are no class files in"),
        (vec!["check", "--jobs", "0", classes], "`0` is no value for `--jobs <N>`"),
        (vec!["check", "--format", "xml", classes], "there are: text, json"),
        (vec!["check", "--detector", "zzz", classes], "there is no detector `zzz`; `fissure explain` lists them"),
        (vec!["check", "--source-root", &at("nowhere"), classes], "cannot use source root"),
        (vec!["check", "--source-root", &at("notes.txt"), classes], "it is no directory"),
        (vec!["check", "--classpath", &at("nowhere.jar"), classes], "nowhere.jar`"),
        (vec!["check", "--jdk", &at("nowhere"), classes], "no JDK"),
        (vec!["explain", "reacquire-lock"], "did you mean `reacquired-lock`?"),
        (vec!["explain", "\u{1b}[2J\n"], r"there is no rule `\u{1b}[2J\u{a}`"),
    ] {
        assert_trouble(&fissure().args(&words).output().unwrap(), part);
    }
}

#[test]
fn explain_prints_pages_and_lists() {
    let page = fissure().args(["explain", "reacquired-lock"]).output().unwrap();
    assert_eq!(page.status.code(), Some(0));
    assert_eq!(text(&page.stdout), finding::rules::REACQUIRED_LOCK.page);
    let list = fissure().arg("explain").output().unwrap();
    for rule in finding::RULES {
        assert!(text(&list.stdout).contains(&format!("  {}  ", rule.id)), "{}", rule.id);
    }
    for detector in detect_static::DETECTORS {
        assert!(text(&list.stdout).contains(detector.name), "{}", detector.name);
    }
}

#[test]
fn help_and_version_go_to_standard_output() {
    let version = fissure().arg("--version").output().unwrap();
    assert_eq!(text(&version.stdout), format!("fissure {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(version.status.code(), Some(0));
    let help = fissure().args(["check", "--help"]).output().unwrap();
    assert!(text(&help.stdout).contains("--source-root <DIR>"));
    assert_eq!(help.status.code(), Some(0));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for words in [vec!["explain", "reacquired-lock"], vec!["check", correct_classes().to_str().unwrap()]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = fissure().args(&words).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{words:?}");
    }
}

#[test]
fn a_full_disk_is_told() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = fissure().args(["explain", "reacquired-lock"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_trouble(&output, "cannot write to standard output");
}

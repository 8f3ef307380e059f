//! The command from outside: what it prints, where, and how it ends.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use fixture::{Fixture, Folder, cache, compile, test_jdk, workspace};

fn fissure() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fissure"));
    command.stdin(Stdio::null()).env_remove("NO_COLOR");
    command
}

/// The class files of a correct program.
fn correct_classes() -> PathBuf {
    classes("fixtures/static/reacquired_lock/HeldThroughout.java")
}

/// The class files of a program with several mistakes, all in one class.
fn wrong_classes() -> PathBuf {
    classes("fixtures/static/reacquired_lock/Account.java")
}

/// A copy of the wrong program's class with another name for its source file, which must be as long.
fn with_source_file(name: &[u8; 12]) -> Vec<u8> {
    let mut bytes = fs::read(wrong_classes().join("Account.class")).expect("the class is there");
    let old = b"Account.java";
    let at = bytes.windows(old.len()).position(|window| window == old).expect("its source file is named");
    bytes[at..at + old.len()].copy_from_slice(name);
    bytes
}

fn classes(source: &str) -> PathBuf {
    let source = workspace().join(source);
    let fixture = [Fixture::new("correct".to_owned(), &[source]).expect("a fixture")];
    let compiled = compile(&fixture, &test_jdk().expect("a JDK"), &cache()).expect("it compiles");
    compiled[0].classes.clone()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
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
fn mistakes_are_told_and_end_with_1() {
    let root = workspace().join("fixtures/static/reacquired_lock");
    let output = fissure().args(["check", "--source-root"]).args([&root, &wrong_classes()]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "");
    let told = text(&output.stdout);
    assert!(told.starts_with("warning[reacquired-lock]: "), "{told}");
    assert!(told.contains("\n\nerror[check-then-act]: "), "{told}");
    assert!(told.contains("|     synchronized (ledger) {"), "{told}");
    assert!(told.ends_with(" in 1 class\n"), "{told}");
    assert!(!told.contains('\u{1b}'), "colours only on a terminal");
}

#[test]
fn a_baseline_leaves_out_what_is_known() {
    let folder = wrong_classes();
    let file = folder.join("known.baseline");
    let written = fissure().args(["check", "--write-baseline"]).arg(&file).arg(&folder).output().unwrap();
    assert_eq!(written.status.code(), Some(1), "they are told and kept");
    let known = fissure().args(["check", "--baseline"]).arg(&file).arg(&folder).output().unwrap();
    assert_eq!(known.status.code(), Some(0), "{}", text(&known.stdout));
    assert!(text(&known.stdout).starts_with("no new findings in "), "{}", text(&known.stdout));
    assert!(text(&known.stdout).contains(" known by the baseline\n"), "{}", text(&known.stdout));
    // With no line in it, all are new; one that is nowhere is gone.
    fs::write(&file, "# fissure baseline 1\n0123456789abcdef stale-value a.B.c\n").unwrap();
    let new = fissure().args(["check", "--format", "json", "--baseline"]).arg(&file).arg(&folder).output().unwrap();
    assert_eq!(new.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&new.stdout).unwrap();
    assert_eq!((&report["baseline"]["known"], &report["baseline"]["gone"]), (&0.into(), &1.into()));
    fs::write(&file, "<FindBugsFilter/>").unwrap();
    let wrong = fissure().args(["check", "--baseline"]).arg(&file).arg(&folder).output().unwrap();
    assert_trouble(&wrong, "is no baseline; `--write-baseline FILE` writes one");
    let missing = fissure().args(["check", "--baseline"]).arg(folder.join("nowhere")).arg(&folder).output().unwrap();
    assert_trouble(&missing, "cannot read baseline");
}

#[test]
fn what_is_damaged_is_skipped_and_told() {
    let folder = Folder::new();
    let whole = fs::read(correct_classes().join("HeldThroughout.class")).unwrap();
    fs::write(folder.path("Whole.class"), &whole).unwrap();
    fs::write(folder.path("Half.class"), &whole[..whole.len() / 2]).unwrap();
    let output = fissure().arg("check").arg(folder.top()).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("Half.class: "), "{}", text(&output.stdout));
    assert!(text(&output.stdout).ends_with("no findings in 1 class; 1 input skipped\n"), "{}", text(&output.stdout));

    // Findings weigh more than what is skipped.
    fs::copy(wrong_classes().join("Account.class"), folder.path("Account.class")).unwrap();
    let output = fissure().arg("check").arg(folder.top()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let json = fissure().args(["check", "--format", "json"]).arg(folder.top()).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["inputs"]["classes"], 2);
    assert_eq!(json["inputs"]["skipped"].as_array().unwrap().len(), 1);
    assert_ne!(json["inputs"]["skipped"][0]["reason"], "");
}

#[test]
fn a_source_file_outside_the_root_is_never_shown() {
    let folder = Folder::new();
    folder.file("secret", &"password\n".repeat(100));
    folder.file("a/b/src/Other.java", "");
    let class = folder.path("a/b/Account.class");
    let check = || {
        let output = fissure().arg("check").arg(&class).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        text(&output.stdout).to_owned()
    };

    // The same file within the root is shown, so the test can fail.
    fs::write(&class, with_source_file(b"nnnnn_secret")).unwrap();
    folder.file("a/b/src/nnnnn_secret", &"password\n".repeat(100));
    assert!(check().contains("password"));

    for name in [b"../../secret", b"./../.secret", b"/etc//passwd"] {
        fs::write(&class, with_source_file(name)).unwrap();
        let told = check();
        assert!(!told.contains("password") && !told.contains("root:"), "{told}");
    }
    fs::write(&class, with_source_file(b"Ac\x1b[2Jt.java")).unwrap();
    assert!(check().contains(r"(Ac\u{1b}[2Jt.java:"), "{}", check());
}

/// In the long run on all classes of a JDK, else on two small programs.
#[test]
fn the_number_of_jobs_changes_no_byte() {
    let is_long = std::env::var_os("FISSURE_LONG").is_some();
    let paths = match is_long {
        true => vec![test_jdk().unwrap().home.join("lib/modules")],
        false => vec![wrong_classes(), correct_classes()],
    };
    for format in ["text", "json"] {
        let run = |jobs: &str| {
            let output = fissure().args(["check", "--format", format, "--jobs", jobs]).args(&paths).output().unwrap();
            assert_eq!(output.status.code(), Some(1));
            output.stdout
        };
        let alone = run("1");
        assert!(text(&alone).contains("reacquired-lock"));
        for jobs in ["2", "3", "16"] {
            assert!(run(jobs) == alone, "{format} with {jobs} jobs differs");
        }
    }
}

#[test]
fn json_has_what_scripts_rely_on() {
    let output = fissure().args(["check", "--format", "json"]).arg(wrong_classes()).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["schema"], "fissure/1");
    assert_eq!(json["tool"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(json["inputs"]["classes"], 1);
    assert!(json.get("run").is_none());
    let finding = json["findings"].as_array().unwrap().iter().find(|one| one["method"]["name"] == "withdraw").unwrap();
    assert_eq!(finding["rule"], "check-then-act");
    assert_eq!(finding["evidence"], "pattern");
    assert_eq!(finding["method"]["class"], "Account");
    assert_eq!(finding["method"]["descriptor"], "(J)Z");
    assert_eq!(finding["fingerprint"].as_str().unwrap().len(), 16);
    let steps = finding["steps"].as_array().unwrap();
    assert!(steps.iter().any(|step| step["file"] == "Account.java" && step["line"].is_u64()));
    let numbers: Vec<&serde_json::Value> = steps.iter().map(|step| &step["n"]).collect();
    for number in finding["interleaving"].as_array().unwrap() {
        assert!(numbers.contains(&number), "{number} is no step");
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
    assert_trouble(&run(folder.top()), "it is a directory");
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
        (vec!["check", &at("nowhere")], "nowhere"),
        (vec!["check", &at("notes.txt")], "notes.txt"),
        (vec!["check", &at("empty")], "there are no class files in"),
        (vec!["check", "--jobs", "0", classes], "`0` is no value for `--jobs <N>`"),
        (vec!["check", "--format", "xml", classes], "there are: text, json"),
        (vec!["check", "--detector", "zzz", classes], "there is no detector `zzz`; `fissure explain` lists them"),
        (vec!["check", "--source-root", &at("nowhere"), classes], "cannot use source root"),
        (vec!["check", "--source-root", &at("notes.txt"), classes], "it is no directory"),
        (vec!["check", "--classpath", &at("nowhere.jar"), classes], "nowhere.jar"),
        (vec!["check", "--classpath", &at("notes.txt"), classes], "neither a directory nor an archive"),
        (vec!["check", "--jdk", &at("nowhere"), classes], "no JDK in"),
        (vec!["check", "--jdk", &at("empty"), classes], "there is neither lib/modules nor jmods nor lib/rt.jar"),
        (vec!["show", "--jdk", &at("nowhere"), "main", classes], "no JDK in"),
        (vec!["explain", "reacquire-lock"], "did you mean `reacquired-lock`?"),
        (vec!["explain", "\u{1b}[2J\n"], r"there is no rule `\u{1b}[2J\u{a}`"),
    ] {
        assert_trouble(&fissure().args(&words).output().unwrap(), part);
    }
}

#[test]
fn what_is_known_comes_from_the_model_a_jdk_and_a_class_path() {
    let classes = classes("fixtures/model/InnerClasses.java");
    let folder = Folder::new();
    // A class alone, whose fellows are elsewhere.
    let inner = fs::read_dir(&classes).unwrap().map(|entry| entry.unwrap().path());
    let inner: Vec<PathBuf> = inner.filter(|path| path.display().to_string().contains('$')).collect();
    assert!(!inner.is_empty());
    let alone = folder.path(inner[0].file_name().unwrap().to_str().unwrap());
    fs::copy(&inner[0], &alone).unwrap();
    let run = |words: &[&Path]| {
        let output = fissure().arg("check").arg(&alone).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    let told = run(&[]);
    assert!(told.contains("not known, ") && told.contains("`--classpath` tells where"), "{told}");
    assert!(told.ends_with("no findings in 1 class\n"), "{told}");
    let home = test_jdk().unwrap().home;
    for options in [
        vec!["--classpath".as_ref(), classes.as_path()],
        vec!["--classpath".as_ref(), &classes, "--jdk".as_ref(), &home],
    ] {
        assert_eq!(run(&options), "no findings in 1 class\n");
    }
    let json = |words: &[&Path]| -> serde_json::Value {
        serde_json::from_str(&run(&[&["--format".as_ref(), "json".as_ref()], words].concat())).unwrap()
    };
    assert_eq!(json(&[])["inputs"]["jdk"], "embedded 17");
    let missing = &json(&[])["inputs"]["missing"];
    assert_eq!(missing["names"].as_array().unwrap().len(), missing["count"].as_u64().unwrap() as usize);
    assert_ne!(missing["count"], 0);
    let in_one_line = |name: &serde_json::Value| told.contains(name.as_str().unwrap());
    assert!(missing["names"].as_array().unwrap().iter().take(3).all(in_one_line), "{missing} and {told}");
    assert_eq!(json(&["--classpath".as_ref(), &classes])["inputs"]["missing"]["count"], 0);
    let version = json(&["--jdk".as_ref(), &home])["inputs"]["jdk"].as_str().unwrap().to_owned();
    assert!(version.starts_with("JDK "), "{version}");
    let show = fissure().args(["show", "--classpath"]).args([&classes, Path::new("<init>"), &alone]).output().unwrap();
    assert_eq!(show.status.code(), Some(0), "{}", text(&show.stderr));
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

/// The one file in a folder of answers.
fn kept_answer(folder: &Path) -> PathBuf {
    let mut files =
        fs::read_dir(folder).expect("the folder was made").map(|entry| entry.expect("it can be read").path());
    let file = files.next().expect("an answer was kept");
    assert_eq!(files.next(), None, "one answer, and nothing half-written");
    file
}

#[test]
fn a_kept_answer_is_the_same_and_damage_is_told() {
    let folder = Folder::new();
    let cached = folder.path("made/here");
    let check = || fissure().args(["check", "--cache"]).arg(&cached).arg(wrong_classes()).output().unwrap();
    let plain = fissure().arg("check").arg(wrong_classes()).output().unwrap();
    for _ in 0..2 {
        let output = check();
        assert_eq!((text(&output.stdout), text(&output.stderr)), (text(&plain.stdout), ""));
        assert_eq!(output.status.code(), Some(1));
    }
    let file = kept_answer(&cached);
    let whole = fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 0x10;
    for bytes in [&damaged[..], &whole[..whole.len() - 1], b"another program's file", b""] {
        fs::write(&file, bytes).unwrap();
        let output = check();
        assert_eq!(text(&output.stdout), text(&plain.stdout));
        assert!(text(&output.stderr).contains("is damaged and is made anew"), "{}", text(&output.stderr));
        assert_eq!(fs::read(&file).unwrap(), whole, "it was mended");
    }
}

#[test]
fn an_answer_is_kept_for_these_classes_and_settings_only() {
    let folder = Folder::new();
    for (arguments, classes) in [
        (vec![], wrong_classes()),
        (vec![], correct_classes()),
        (vec!["--detector", "stale-values"], wrong_classes()),
        (vec![], wrong_classes()),
    ] {
        let plain = fissure().arg("check").args(&arguments).arg(&classes).output().unwrap();
        let cached =
            fissure().args(["check", "--cache"]).arg(folder.path("c")).args(arguments).arg(classes).output().unwrap();
        assert_eq!((text(&cached.stdout), cached.status), (text(&plain.stdout), plain.status));
    }
    assert_eq!(fs::read_dir(folder.path("c")).unwrap().count(), 3);
}

#[test]
fn several_runs_share_one_cache() {
    let folder = Folder::new();
    let start = || {
        let mut command = fissure();
        command.args(["check", "--cache"]).arg(folder.path("c")).arg(wrong_classes());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let plain = fissure().arg("check").arg(wrong_classes()).output().unwrap();
    let running: Vec<_> = (0..6).map(|_| start()).collect();
    for run in running {
        let output = run.wait_with_output().unwrap();
        assert_eq!((text(&output.stdout), text(&output.stderr)), (text(&plain.stdout), ""));
    }
    kept_answer(&folder.path("c"));
}

#[test]
fn a_cache_that_cannot_be_written_is_told_and_nothing_else_changes() {
    let folder = Folder::new();
    let file = folder.file("c", "a file, not a folder");
    let output = fissure().args(["check", "--cache"]).arg(&file).arg(wrong_classes()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("to the cache"), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(file).unwrap(), "a file, not a folder");
}

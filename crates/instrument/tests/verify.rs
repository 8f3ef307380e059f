//! Rewritten classes pass the JVM's verifier: a part of the JDK always, all of `java.base` and many jars in long runs.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failure here is a failed test, and figures are for people"
)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use classfile::archive::Contents;
use fixture::{Jdk, find_jdks, test_jdk};
use instrument::{Families, Plan};
use support::{ask_for_all_methods, folder, is_long, pack, probes, rewrite, run};

const VERIFY: &str = include_str!("java/Verify.java");

/// What the plan asks of classes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Events,
    /// Arms of branches as well.
    Arms,
    /// Activations and a unit of each.
    AllMethods,
}

/// Links rewritten classes in a loader of their own and tells which do not verify.
fn verify(jdk: &Jdk, contents: &Contents, asked: Asked, test: &str) -> Vec<String> {
    let folder = folder(test);
    let mut plan = Plan {
        probe_class: "probes/Probes".to_owned(),
        families: Families::ALL,
        joins_updates: true,
        speculates: asked == Asked::Arms,
        ..Plan::default()
    };
    if asked == Asked::AllMethods {
        plan.families = Families::NONE;
        ask_for_all_methods(contents, &mut plan);
    }
    let (classes, totals) = rewrite(contents, &plan);
    assert_eq!(totals.errors, Vec::<String>::new());
    fs::write(folder.join("pack"), pack(&classes)).unwrap();
    fs::write(folder.join("Verify.java"), VERIFY).unwrap();
    fs::write(folder.join("Probes.java"), probes("probes", "Probes", |_, _| String::new())).unwrap();
    run(Command::new(jdk.program("javac")).current_dir(&folder).args(["-d", ".", "Verify.java", "Probes.java"]));
    let mut command = Command::new(jdk.program("java"));
    command.current_dir(&folder).args(["-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp", ".", "Verify", "pack"]);
    let said = run(&mut command);
    println!("{test}: {totals}{}", said.lines().last().unwrap_or_default());
    said.lines().filter(|line| line.starts_with("bad ")).map(str::to_owned).collect()
}

/// Classes of one package of the JDK, which the application loader may define under no other circumstances.
fn module(jdk: &Jdk, start: &str) -> Contents {
    let mut contents = support::contents(&jdk.home.join("lib/modules"));
    contents.sources.retain(|source| source.path.contains(start));
    assert!(!contents.sources.is_empty());
    contents
}

#[test]
fn a_module_of_the_jdk() {
    let jdk = test_jdk().unwrap();
    let contents = module(&jdk, "jdk.compiler/");
    assert_eq!(verify(&jdk, &contents, Asked::Events, "module"), Vec::<String>::new());
    assert_eq!(verify(&jdk, &contents, Asked::Arms, "module-arms"), Vec::<String>::new());
    assert_eq!(verify(&jdk, &contents, Asked::AllMethods, "module-methods"), Vec::<String>::new());
}

/// Runs a JVM whose `java.base` is rewritten, which then verifies all of it.
fn boot(jdk: &Jdk, speculates: bool) {
    let folder = folder(&format!("boot-{}{}", jdk.feature, if speculates { "-arms" } else { "" }));
    let contents = module(jdk, "/java.base/");
    let (classes, totals) = rewrite(&contents, &Plan { families: Families::ALL, speculates, ..Plan::default() });
    assert_eq!(totals.errors, Vec::<String>::new());
    let patch = folder.join("patch");
    for (name, bytes) in &classes {
        let path = patch.join(format!("{name}.class"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    fs::write(folder.join("pack"), pack(&classes)).unwrap();
    fs::write(folder.join("Verify.java"), VERIFY).unwrap();
    let source = folder.join("probes/java/lang/Fissure.java");
    fs::create_dir_all(source.parent().unwrap()).unwrap();
    fs::write(&source, probes("java.lang", "Fissure", |_, _| String::new())).unwrap();
    let javac = || {
        let mut command = Command::new(jdk.program("javac"));
        command.current_dir(&folder);
        command
    };
    run(javac().args(["--patch-module", "java.base=probes", "-d", "patch", "probes/java/lang/Fissure.java"]));
    run(javac().args(["-d", ".", "Verify.java"]));
    let mut command = Command::new(jdk.program("java"));
    command.current_dir(&folder).args([
        "-XX:+UnlockDiagnosticVMOptions",
        "-XX:+BytecodeVerificationLocal",
        "-Xint",
        "--patch-module",
        "java.base=patch",
    ]);
    let said = run(command.args(["-cp", ".", "Verify", "pack", "boot"]));
    println!("JDK {}: {totals}{said}", jdk.version);
    let bad: Vec<&str> = said.lines().filter(|line| line.starts_with("bad ")).collect();
    assert_eq!(bad, Vec::<&str>::new());
}

#[test]
fn the_whole_of_java_base() {
    if is_long() {
        for jdk in find_jdks().unwrap().iter().filter(|jdk| jdk.feature >= 17) {
            boot(jdk, false);
            boot(jdk, true);
        }
    }
}

/// All classes of the other modules that a loader of the application may define. Some do not verify there whatever is done
/// to them, since the JVM's own classes do not know them: arms make no difference.
#[test]
fn all_other_modules() {
    if !is_long() {
        return;
    }
    for jdk in find_jdks().unwrap().iter().filter(|jdk| jdk.feature >= 17) {
        let mut contents = support::contents(&jdk.home.join("lib/modules"));
        contents.sources.retain(|source| !source.path.contains("/java.base/") && !source.path.contains("/java/"));
        let bad = |asked, name: &str| -> Vec<String> {
            let all = verify(jdk, &contents, asked, &format!("modules-{}-{name}", jdk.feature));
            all.iter().map(|line| line.split(':').next().unwrap().to_owned()).collect()
        };
        assert_eq!(bad(Asked::Arms, "arms"), bad(Asked::Events, "events"));
    }
}

/// The jars of the folder that `FISSURE_JARS` names.
#[test]
fn large_jars() {
    let Some(jars) = std::env::var_os("FISSURE_JARS").filter(|_| is_long()) else { return };
    let mut paths: Vec<PathBuf> = fs::read_dir(Path::new(&jars)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "jar"));
    paths.sort();
    let jdk = find_jdks().unwrap().pop().unwrap();
    let mut bad = Vec::new();
    for path in paths {
        let test = format!("jar-{}", path.file_stem().unwrap().display());
        let contents = support::contents(&path);
        bad.extend(verify(&jdk, &contents, Asked::Events, &test));
        bad.extend(verify(&jdk, &contents, Asked::Arms, &format!("{test}-arms")));
        bad.extend(verify(&jdk, &contents, Asked::AllMethods, &format!("{test}-methods")));
    }
    assert_eq!(bad, Vec::<String>::new());
}

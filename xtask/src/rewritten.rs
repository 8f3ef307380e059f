//! `./x judge rewritten`: the tool on programs that are written in another way and mean the same, so that it has to say the
//! same of them. `xtask/java/Rewrite.java` writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use fixture::{Jdk, cache, compile, fetch, programs, test_jdk};

use crate::judge::{self, Mode};
use crate::process;

/// The ways to write a program; the first is as it was, but printed anew.
const WAYS: [&str; 12] = [
    "same",
    "blocks",
    "conditions",
    "inverted",
    "nested",
    "getters",
    "setters",
    "arguments",
    "results",
    "loops",
    "delegates",
    "choices",
];

/// By program: what is said of it.
type Said = BTreeMap<String, BTreeSet<String>>;

pub(crate) fn run(cases: &Path, only: &str) -> Result<()> {
    let jdk = test_jdk()?;
    let writer = Writer::new(&jdk)?;
    let tool = judge::build()?;
    let mut first = None;
    let mut differences = 0;
    for way in WAYS {
        let folder = writer.write(cases, way)?;
        let said = ask(&tool, &jdk, &folder, only).with_context(|| format!("programs written with `{way}`"))?;
        let Some(plain) = &first else {
            first = Some(said);
            continue;
        };
        let found = compare(plain, &said);
        println!("{way:12} {} programs, {} differences", said.len(), found.len());
        found.iter().for_each(|line| println!("  {line}"));
        differences += found.len();
    }
    println!("{differences} differences");
    Ok(())
}

/// What is said of a program in one way only.
fn compare(plain: &Said, said: &Said) -> Vec<String> {
    let mut found = Vec::new();
    for (program, rewritten) in said {
        let Some(plain) = plain.get(program) else { continue };
        found.extend(plain.difference(rewritten).map(|gone| format!("gone {program}: {gone}")));
        found.extend(rewritten.difference(plain).map(|new| format!("new {program}: {new}")));
    }
    found
}

fn ask(tool: &Path, jdk: &Jdk, folder: &Path, only: &str) -> Result<Said> {
    let all = programs(folder)?;
    let (fixtures, truths): (Vec<_>, Vec<_>) = all.into_iter().filter(|(one, _)| one.name.contains(only)).unzip();
    let compiled = compile(&fixtures, jdk, &cache())?;
    let mut said = Said::new();
    for (one, truth) in compiled.iter().zip(&truths) {
        let answers = judge::ask(tool, one, truth, Mode::Check).with_context(|| one.fixture.name.clone())?;
        let names = answers.iter().map(|answer| method(&answer.class, &answer.method)).collect();
        said.insert(one.fixture.name.clone(), names);
    }
    Ok(said)
}

/// A method by the name that it has in every way: without the numbers that compilers give to lambdas, and for what does the
/// work of a method, that method.
fn method(class: &str, method: &str) -> String {
    let unnumbered = method.trim_end_matches(|letter: char| letter.is_ascii_digit());
    format!("{class}.{}", unnumbered.replace("Inner", ""))
}

/// Writes programs in other ways.
struct Writer {
    java: PathBuf,
    class_path: String,
}

impl Writer {
    fn new(jdk: &Jdk) -> Result<Writer> {
        let source = process::top().join("xtask/java");
        let jars = fetch(&source.join("pom.xml"), "what the rewriting of programs needs")?;
        let jars = jars.context("what rewrites programs cannot be fetched: the registry does not answer")?;
        let classes = cache().join("rewriting");
        let class_path = format!("{}/*", jars.display());
        let mut javac = Command::new(jdk.program("javac"));
        javac.arg("-cp").arg(&class_path).arg("-d").arg(&classes).arg(source.join("Rewrite.java"));
        process::run(&mut javac)?;
        Ok(Writer { java: jdk.program("java"), class_path: format!("{}:{class_path}", classes.display()) })
    }

    /// The folder with the programs that this way changes.
    fn write(&self, cases: &Path, way: &str) -> Result<PathBuf> {
        let folder = cache().join("rewritten").join(way);
        if folder.is_dir() {
            fs::remove_dir_all(&folder)?;
        }
        let mut java = Command::new(&self.java);
        java.args(["-cp", &self.class_path, "Rewrite"]).arg(cases).arg(&folder).arg(way);
        ensure!(java.status()?.success(), "cannot write the programs with `{way}`");
        Ok(folder)
    }
}

//! The class files in `runtime` are what its source says.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fixture::{Jdk, find_jdks, workspace};

/// The release that the class files are for, and whose compiler makes them.
const RELEASE: u32 = 17;

#[test]
fn the_class_files_are_what_the_source_says() {
    let jdks = find_jdks().unwrap();
    let Some(jdk) = jdks.iter().find(|jdk| jdk.feature == RELEASE) else {
        panic!("no JDK {RELEASE} found, which the runtime is compiled with")
    };
    let runtime = workspace().join("runtime");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("runtime");
    let _ = fs::remove_dir_all(&out);
    let mut compile = Command::new(jdk.program("javac"));
    compile.args(["-XDstringConcat=inline", "-g:none", "-proc:none", "-d"]).arg(&out);
    compile.arg("--patch-module").arg(format!("java.base={}", runtime.display())).args(files(&runtime, "java"));
    assert!(compile.status().unwrap().success());
    if std::env::var_os("FISSURE_BLESS").is_some() {
        for class in files(&out.join("java/lang"), "class") {
            fs::copy(&class, runtime.join("java/lang").join(class.file_name().unwrap())).unwrap();
        }
    }
    let (kept, made) = (decoded(jdk, &runtime), decoded(jdk, &out));
    assert!(kept == made, "runtime/java/lang/*.class is not what its source says: FISSURE_BLESS=1 makes it anew");
}

fn files(folder: &Path, kind: &str) -> Vec<PathBuf> {
    let below = if kind == "java" { folder.join("java/lang") } else { folder.to_owned() };
    let entries = fs::read_dir(below).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == kind)).collect();
    files.sort();
    files
}

/// All code of all classes, without the numbers of constants, which compilers choose.
fn decoded(jdk: &Jdk, folder: &Path) -> String {
    let output =
        Command::new(jdk.program("javap")).args(["-p", "-c"]).args(files(&folder.join("java/lang"), "class")).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(text.contains("class java.lang.Fissure"));
    let strip =
        |line: &str| line.split_whitespace().filter(|word| !word.starts_with('#')).collect::<Vec<_>>().join(" ");
    text.lines().filter(|line| !line.starts_with("Compiled from")).map(|line| strip(line) + "\n").collect()
}

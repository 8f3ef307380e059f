//! Rewritten classes for a real JVM: packs of them, the class of probes they call, and the programs that load them.
#![allow(dead_code, reason = "every test file uses a part")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use classfile::archive::{ArchiveReader, Contents, Kind};
use classfile::edit::ClassEditor;
use classfile::text_of;
use instrument::{PROBES, Plan, Rewritten, Sites, instrument};

pub(crate) fn is_long() -> bool {
    std::env::var_os("FISSURE_LONG").is_some()
}

/// A folder below `target` for this test, empty.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("instrument-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

pub(crate) fn contents(path: &Path) -> Contents {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut contents = Contents::default();
    let kind = Kind::of(&bytes).unwrap().expect("a jar or an image");
    ArchiveReader::default().read(&path.display().to_string(), kind, &bytes, &mut contents);
    contents
}

/// The name that a class gives itself.
pub(crate) fn name(bytes: &[u8]) -> Option<String> {
    ClassEditor::read(bytes).ok()?.name().map(|name| text_of(name).into_owned())
}

/// Classes with names, in the form that `Verify.java` reads.
pub(crate) fn pack(classes: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut pack = (classes.len() as u32).to_be_bytes().to_vec();
    for (name, bytes) in classes {
        for part in [name.as_bytes(), bytes] {
            pack.extend((part.len() as u32).to_be_bytes());
            pack.extend_from_slice(part);
        }
    }
    pack
}

#[derive(Default, Debug)]
pub(crate) struct Totals {
    pub(crate) classes: usize,
    pub(crate) unchanged: usize,
    pub(crate) sites: usize,
    pub(crate) branches: usize,
    pub(crate) left_branches: u32,
    pub(crate) seconds: f64,
    pub(crate) left_alone: Vec<String>,
    pub(crate) errors: Vec<String>,
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let speed = self.classes as f64 / self.seconds;
        let (classes, unchanged, sites) = (self.classes, self.unchanged, self.sites);
        writeln!(f, "{classes} classes, {unchanged} unchanged, {sites} sites, {speed:.0} classes/s")?;
        writeln!(f, "{} branches, {} left", self.branches, self.left_branches)?;
        self.left_alone.iter().try_for_each(|method| writeln!(f, "left alone: {method}"))
    }
}

/// A plan that asks for activations and a unit of every method.
pub(crate) fn ask_for_all_methods(contents: &Contents, plan: &mut Plan) {
    for source in &contents.sources {
        let Ok(class) = ClassEditor::read(&source.bytes) else { continue };
        let text = |constant| text_of(class.pool.utf8(constant).unwrap()).into_owned();
        for method in class.methods() {
            let name = text_of(class.name().unwrap());
            let entry = plan.methods.entry(&name, &text(method.name), &text(method.descriptor));
            entry.activations = true;
            entry.units = vec![1];
        }
    }
}

/// Rewrites all classes; those that cannot be rewritten stay as they were.
pub(crate) fn rewrite(contents: &Contents, plan: &Plan) -> (Vec<(String, Vec<u8>)>, Totals) {
    let mut sites = Sites::new();
    let mut totals = Totals::default();
    let mut classes = Vec::new();
    for source in &contents.sources {
        let Some(name) = name(&source.bytes) else { continue };
        if name.ends_with("module-info") {
            continue;
        }
        totals.classes += 1;
        let start = Instant::now();
        let rewritten = instrument(&source.bytes, plan, &mut sites);
        totals.seconds += start.elapsed().as_secs_f64();
        let bytes = match rewritten {
            Ok(Some(Rewritten { bytes, left_alone })) => {
                let tell = |method: &instrument::LeftAlone| format!("{name}.{}: {}", method.name, method.reason);
                totals.left_alone.extend(left_alone.iter().map(tell));
                bytes
            }
            Ok(None) => {
                totals.unchanged += 1;
                source.bytes.clone()
            }
            Err(error) => {
                totals.errors.push(format!("{name}: {error}"));
                source.bytes.clone()
            }
        };
        classes.push((name, bytes));
    }
    totals.sites = sites.sites().len();
    totals.branches = sites.branches().len();
    totals.left_branches = sites.left_branches;
    (classes, totals)
}

/// The source of a class with all probes, each of which does `body`.
pub(crate) fn probes(package: &str, class: &str, body: impl Fn(&str, &str) -> String) -> String {
    let mut source = format!("package {package};\npublic class {class} {{\n");
    for probe in PROBES {
        let descriptor = probe.descriptor.replace("Ljava/lang/Object;", "O");
        let (list, result) = descriptor.trim_start_matches('(').split_once(')').unwrap();
        let (result, given) = match result {
            "O" => ("Object", "return null;"),
            "I" => ("int", "return 0;"),
            _ => ("void", ""),
        };
        let parameter = |(index, kind): (usize, char)| match kind {
            'O' => format!("Object p{index}"),
            'J' => format!("long p{index}"),
            _ => format!("int p{index}"),
        };
        let parameters: Vec<String> = list.chars().enumerate().map(parameter).collect();
        let operands: Vec<String> = (0..parameters.len()).map(|index| format!("p{index}")).collect();
        // Those that give something tell nothing.
        let body = if given.is_empty() { body(probe.name, &operands.join(", ")) } else { String::new() };
        writeln!(source, "public static {result} {}({}) {{ {body} {given} }}", probe.name, parameters.join(", "))
            .unwrap();
    }
    source + "}\n"
}

pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{command:?} ends with {}\n{text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

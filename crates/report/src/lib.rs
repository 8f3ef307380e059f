//! Findings as people and scripts read them: one module per format.
//!
//! Does no IO: source lines come through [`Sources`], and what is rendered is returned as text.
//! Knows nothing of detectors: a new detector needs no change here.
//!
//! All names, messages and source lines are untrusted: a class file may carry anything. Each format escapes what could
//! act on its reader.

mod escape;
mod json;
mod sarif;
mod text;

use std::rc::Rc;

use finding::Finding;

pub use escape::one_line;
pub use text::Palette;

/// Everything that one analysis has to tell.
pub struct Report<'a> {
    /// The version of the tool.
    pub version: &'a str,
    pub inputs: Inputs,
    /// `None` for a purely static analysis.
    pub run: Option<Run>,
    /// In report order, as `finding::merge` leaves them.
    pub findings: &'a [Finding],
    /// `None` if there is no baseline.
    pub baseline: Option<Known>,
}

/// What a baseline has to do with the findings.
pub struct Known {
    /// Findings that are in it, and not told.
    pub known: usize,
    /// Those in it that are not found any more.
    pub gone: usize,
}

/// What was analysed.
#[derive(Default)]
pub struct Inputs {
    pub classes: usize,
    pub methods: usize,
    /// Sorted by path.
    pub skipped: Vec<Skipped>,
    /// Where knowledge of the JDK's classes came from, as `embedded 17`. `None` if there was none.
    pub jdk: Option<String>,
    /// Classes that are named and not known, with dots, sorted.
    pub missing: Vec<String>,
}

/// An input that was not analysed.
pub struct Skipped {
    pub path: String,
    pub reason: String,
}

/// What was watched, for a dynamic analysis.
pub struct Run {
    pub jvms: u64,
    pub classes: u64,
    pub units: u64,
    pub events: Events,
}

/// How many events a run had, how many of them were kept and how many were lost.
pub struct Events {
    pub seen: u64,
    pub kept: u64,
    pub lost: u64,
}

/// Source files, where there are any.
pub trait Sources {
    /// The file that the compiler recorded for a class: `class` with dots, `file` the bare name.
    fn find(&self, class: &str, file: &str) -> Option<Rc<SourceFile>>;
}

/// No source is known.
pub struct NoSources;

impl Sources for NoSources {
    fn find(&self, _class: &str, _file: &str) -> Option<Rc<SourceFile>> {
        None
    }
}

/// The text of a source file.
pub struct SourceFile {
    /// As users see it.
    path: String,
    lines: Vec<String>,
}

impl SourceFile {
    pub fn new(path: String, text: &str) -> SourceFile {
        SourceFile { path, lines: text.lines().map(str::to_owned).collect() }
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// Lines count from 1.
    pub fn line(&self, number: u32) -> Option<&str> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.lines.get(index).map(String::as_str)
    }
}

/// A way to write a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// For people.
    Text,
    /// For scripts: schema `fissure/1`.
    Json,
    /// For code hosts and editors: SARIF 2.1.0.
    Sarif,
}

impl Format {
    pub const ALL: &[Format] = &[Format::Text, Format::Json, Format::Sarif];

    pub fn id(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
            Format::Sarif => "sarif",
        }
    }

    /// Sources and colours are for those formats that show them.
    pub fn render(self, report: &Report<'_>, sources: &dyn Sources, palette: Palette) -> String {
        match self {
            Format::Text => text::render(report, sources, palette),
            Format::Json => json::render(report),
            Format::Sarif => sarif::render(report, sources),
        }
    }
}

#[cfg(test)]
mod samples;

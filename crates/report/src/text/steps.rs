//! The numbered steps of a finding: on source lines where source is known, else as stack frames.

use std::collections::BTreeMap;
use std::rc::Rc;

use finding::{Finding, Step};
use location::Place;

use super::{Hints, Palette, push_line, thread};
use crate::escape::width;
use crate::{SourceFile, Sources, one_line};

/// Code wider than this has its label on the next line.
const CODE_WIDTH: usize = 46;

const TAB: &str = "    ";

/// Steps with a place are shown. The others are left to the table, unless the table leaves them out.
pub(super) fn write(out: &mut String, finding: &Finding, sources: &dyn Sources, palette: Palette, hints: &mut Hints) {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut frames: Vec<(&Step, &Place)> = Vec::new();
    for step in &finding.steps {
        let Some(place) = &step.place else { continue };
        match on_source(place, sources) {
            // Each method on its own, so that steps of one thread stand together.
            Some((file, line)) => match groups.iter_mut().find(|group| group.is_in(&file, place)) {
                Some(group) => group.add(line, step),
                None => groups.push(Group::new(file, line, step, place)),
            },
            None => {
                hints.no_source |= place.line.is_some();
                hints.no_lines |= place.line.is_none() && !place.method.class.is_empty();
                frames.push((step, place));
            }
        }
    }
    for group in &groups {
        group.write(out, finding, palette);
    }
    for (step, place) in frames {
        push_line(out, format_args!("  {}", label(step, finding, palette)));
        push_line(out, format_args!("      at {}", frame(place)));
        for caller in &step.callers {
            push_line(out, format_args!("      at {}", frame(caller)));
        }
    }
    // Source lines have no room for callers: they follow.
    let on_lines = groups.iter().flat_map(|group| group.lines.values().flatten());
    for step in on_lines.filter(|step| !step.callers.is_empty()) {
        push_line(out, format_args!("  ({}) called", step.number));
        for caller in &step.callers {
            push_line(out, format_args!("      at {}", frame(caller)));
        }
    }
    for step in &finding.steps {
        if step.place.is_none() && !finding.interleaving.contains(&step.number) {
            push_line(out, format_args!("  {}", label(step, finding, palette)));
        }
    }
}

fn on_source(place: &Place, sources: &dyn Sources) -> Option<(Rc<SourceFile>, u32)> {
    let line = place.line?;
    let file = sources.find(&place.method.class, place.file.as_deref()?)?;
    // A file that ends before the line is not the one that was compiled.
    file.line(line)?;
    Some((file, line))
}

/// As the JVM prints it, so that development environments make it a link, but with the names that the source has. Places that a text trace names in words, or by
/// file and line, have no class: they are told as they are.
fn frame(place: &Place) -> String {
    if place.method.class.is_empty() {
        return match (place.method.name.as_str(), place.file.as_deref(), place.line) {
            ("", Some(file), Some(line)) => format!("{}:{line}", one_line(file)),
            (name, ..) => one_line(name),
        };
    }
    let (class, is_anonymous) = location::class_in_source(&place.method.class);
    let around = location::around_lambda(&place.method.name);
    let method = match around {
        Some("") => one_line(&class),
        Some(name) => one_line(&format!("{class}.{name}")),
        None => one_line(&format!("{class}.{}", place.method.name)),
    };
    let nameless = match (around.is_some(), is_anonymous) {
        (true, true) => ", a lambda in an anonymous class",
        (true, false) => ", a lambda",
        (false, true) => ", an anonymous class",
        (false, false) => "",
    };
    match (place.file.as_deref().map(one_line), place.line) {
        (Some(file), Some(line)) => format!("{method}({file}:{line}){nameless}"),
        (Some(file), None) => format!("{method}({file}) bytecode offset {}", place.pc),
        (None, _) => format!("{method}(Unknown Source) bytecode offset {}", place.pc),
    }
}

/// `(2) thread B: text`, the thread only where it is not the one that the finding is about.
fn label(step: &Step, finding: &Finding, palette: Palette) -> String {
    numbered(&[step.number], step, finding, palette)
}

fn numbered(numbers: &[u32], step: &Step, finding: &Finding, palette: Palette) -> String {
    let numbers: String = numbers.iter().map(|number| format!("({number})")).collect();
    let what = one_line(&step.what);
    let numbers = palette.strong(&numbers);
    match finding.steps.first() {
        Some(first) if first.thread != step.thread => {
            format!("{numbers} {}: {what}", thread(&step.thread.0))
        }
        _ => format!("{numbers} {what}"),
    }
}

/// The steps in one method.
struct Group<'a> {
    file: Rc<SourceFile>,
    first_line: u32,
    method: &'a location::MethodPlace,
    lines: BTreeMap<u32, Vec<&'a Step>>,
}

impl<'a> Group<'a> {
    fn new(file: Rc<SourceFile>, line: u32, step: &'a Step, place: &'a Place) -> Group<'a> {
        Group { file, first_line: line, method: &place.method, lines: BTreeMap::from([(line, vec![step])]) }
    }

    fn is_in(&self, file: &SourceFile, place: &Place) -> bool {
        self.file.path() == file.path() && *self.method == place.method
    }

    fn add(&mut self, line: u32, step: &'a Step) {
        self.lines.entry(line).or_default().push(step);
    }

    fn write(&self, out: &mut String, finding: &Finding, palette: Palette) {
        let head = format!("{}:{}", one_line(self.file.path()), self.first_line);
        let (class, is_anonymous) = location::class_in_source(&self.method.class);
        let owner = if is_anonymous { format!("an anonymous class of {class}") } else { class };
        let method = match (location::around_lambda(&self.method.name), is_anonymous) {
            (Some(""), _) => format!("a lambda of {owner}"),
            (Some(name), false) => format!("a lambda of {owner}.{name}"),
            (Some(name), true) => format!("a lambda of {name} of {owner}"),
            (None, false) => format!("{owner}.{}", self.method.name),
            (None, true) => format!("{} of {owner}", self.method.name),
        };
        push_line(out, format_args!("  {head} in {}", one_line(&method)));
        let code = self.code();
        let digits = self.lines.keys().next_back().map_or(1, |line| line.to_string().len());
        let column = code.values().map(|code| width(code)).filter(|&width| width <= CODE_WIDTH).max().unwrap_or(0);
        for (line, steps) in &self.lines {
            let code = &code[line];
            let gutter = palette.faint(&format!("{line:>digits$} |"));
            let below = palette.faint(&format!("{:>digits$} |", ""));
            let labels = labels(steps, finding, palette);
            let mut labels = labels.iter();
            if width(code) <= column {
                let blank = " ".repeat(column - width(code));
                let first = labels.next().map_or("", String::as_str);
                push_line(out, format_args!("    {gutter} {code}{blank}  {first}"));
            } else {
                push_line(out, format_args!("    {gutter} {code}"));
            }
            for label in labels {
                push_line(out, format_args!("    {below} {}  {label}", " ".repeat(column)));
            }
        }
    }

    /// The lines of code, tabs expanded, moved left by what all of them are indented.
    fn code(&self) -> BTreeMap<u32, String> {
        let expanded: BTreeMap<u32, String> = self
            .lines
            .keys()
            .map(|&line| {
                let code = self.file.line(line).unwrap_or("").trim_end().replace('\t', TAB);
                (line, one_line(&code))
            })
            .collect();
        let indent = expanded
            .values()
            .filter(|code| !code.is_empty())
            .map(|code| code.len() - code.trim_start_matches(' ').len())
            .min()
            .unwrap_or(0);
        expanded.into_iter().map(|(line, code)| (line, code.get(indent..).unwrap_or("").to_owned())).collect()
    }
}

/// One label per different text: a compiler may place two exits of one block on one line.
fn labels(steps: &[&Step], finding: &Finding, palette: Palette) -> Vec<String> {
    let mut merged: Vec<(Vec<u32>, &Step)> = Vec::new();
    for step in steps {
        match merged.iter_mut().find(|(_, same)| same.what == step.what && same.thread == step.thread) {
            Some((numbers, _)) => numbers.push(step.number),
            None => merged.push((vec![step.number], step)),
        }
    }
    merged.iter().map(|(numbers, step)| numbered(numbers, step, finding, palette)).collect()
}

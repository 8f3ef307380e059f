//! Names of outlines and summaries as the source would write them.

use std::fmt::Write;

use location::{FieldName, MethodName};

use crate::atomic::ATOMIC;
use crate::class::{MethodId, Program};
use crate::outline::{Action, Key, KeyStart, Member, Name, NameStep, Outline, SectionSet, Start};
use crate::path::{field_name, simple_name, source_name, static_name, step_into};
use crate::summary::{Access, Spot, Summaries};

/// Writes names as they are seen from one method.
pub struct Readable<'r> {
    program: &'r Program,
    method: MethodName,
    id: MethodId,
    is_static: bool,
    outline: Option<&'r Outline>,
}

impl<'r> Readable<'r> {
    pub fn new(program: &'r Program, summaries: &'r Summaries, method: MethodId) -> Readable<'r> {
        Readable {
            program,
            method: program.method_name(method),
            id: method,
            is_static: program.method(method).access.is_static(),
            outline: summaries.outline(method),
        }
    }

    pub fn name(&self, name: &Name) -> String {
        let names = &self.program.names;
        let mut text = match name.start {
            Start::Parameter(0) if !self.is_static => "this".to_owned(),
            Start::Parameter(position) => self.parameter(position),
            Start::Static(field) => self.static_field(field),
            Start::Class(class) if names.text(class.0) == ATOMIC => ATOMIC.to_owned(),
            Start::Class(class) => format!("{}.class", simple_name(names, class)),
            Start::New(_) => "a new object".to_owned(),
            Start::Result(event) => match self.outline.and_then(|outline| outline.events.get(event.index())) {
                Some(event) => match &event.action {
                    Action::Call { method, .. } => self.result(*method),
                    _ => "a result".to_owned(),
                },
                None => "a result".to_owned(),
            },
            Start::Element(_) => "an element".to_owned(),
            Start::Local(value) => self.local(value).unwrap_or_else(|| "an object".to_owned()),
            Start::Unknown => "*".to_owned(),
        };
        for step in &name.steps {
            match step {
                NameStep::Field(field) => step_into(&mut text, names, *field),
                NameStep::Constant(index) => {
                    let _ = write!(text, "[{index}]");
                }
                NameStep::Some => text.push_str("[…]"),
                NameStep::Element(key) => {
                    let _ = write!(text, "[{}]", self.key(*key));
                }
            }
        }
        text
    }

    /// What a call yields. An accessor that a compiler made is called like what it is for.
    fn result(&self, method: MethodName) -> String {
        let (program, names) = (self.program, &self.program.names);
        if let Some(called) = program.accessed(method) {
            return format!("{}()", names.text(called.name));
        }
        let accessor = program.accessor(method);
        match accessor.and_then(|accessor| program.mentions[accessor.index()].reads.first()) {
            Some(field) => names.text(field.name).to_owned(),
            None => format!("{}()", names.text(method.name)),
        }
    }

    fn static_field(&self, field: FieldName) -> String {
        let names = &self.program.names;
        match self.program.resolve_field(field).filter(|field| self.program.parameter_field(*field).is_some()) {
            Some(local) => match self.program.parameter_name(local) {
                Some(name) => names.text(name).to_owned(),
                None => "a local".to_owned(),
            },
            None => static_name(names, field),
        }
    }

    fn key(&self, key: Key) -> String {
        let start = match key.start {
            KeyStart::Parameter(0) if !self.program.method(self.id).access.is_static() => Some("this".to_owned()),
            KeyStart::Parameter(position) => Some(self.parameter(position)),
            KeyStart::Local(register) => self.local(register),
            KeyStart::Thread => Some("Thread.currentThread().getName()".to_owned()),
            KeyStart::Result(_) | KeyStart::Element(_) | KeyStart::Touched => None,
        };
        let start = start.unwrap_or_else(|| "…".to_owned());
        match key.field {
            Some(field) => format!("{start}.{}", self.program.names.text(field)),
            None => start,
        }
    }

    /// The source's name of a register.
    fn local(&self, value: u32) -> Option<String> {
        let body = self.program.body(self.id).ok()??;
        let value = body.instructions().map(|(value, _)| value).find(|own| own.index() as u32 == value)?;
        body.name(value).map(|name| source_name(self.program.names.text(name)).to_owned())
    }

    fn parameter(&self, position: u16) -> String {
        let named = self.outline.and_then(|outline| outline.parameters.get(usize::from(position)).copied().flatten());
        match named {
            Some(name) => source_name(self.program.names.text(name)).to_owned(),
            None => format!("parameter {position}"),
        }
    }

    pub fn variable(&self, access: &Access) -> String {
        let names = &self.program.names;
        match access.member {
            Member::Field(field) => format!("{}.{}", self.name(&access.base), field_name(names.text(field.name))),
            Member::Static(field) => static_name(names, field),
            Member::Elements => format!("elements of {}", self.name(&access.base)),
            Member::State(state) => format!("{} of {}", state.word(), self.name(&access.base)),
        }
    }

    pub(crate) fn spot(&self, spot: &Spot) -> String {
        let line = spot.line.map_or_else(|| format!("offset {}", spot.pc), |line| format!("line {line}"));
        if spot.method == self.method {
            line
        } else {
            format!("{line} of {}", self.program.names.readable_method(spot.method))
        }
    }

    pub(crate) fn inside(&self, sections: SectionSet) -> String {
        let list: Vec<String> = sections.iter().map(|section| section.to_string()).collect();
        if list.is_empty() { String::new() } else { format!(", in section {}", list.join(", ")) }
    }
}

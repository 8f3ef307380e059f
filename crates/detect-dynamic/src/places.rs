//! Places of a trace as findings name them.

use location::{MethodPlace, Place};
use trace::{Part, SiteId, StackId, Tables, UnitId, VariableId};

pub(crate) fn place(site: SiteId, tables: &Tables) -> Option<Place> {
    let frame = tables.frame(site)?;
    let file = tables.string(frame.file);
    Some(Place {
        method: MethodPlace {
            class: tables.string(frame.class).to_owned(),
            name: tables.string(frame.method).to_owned(),
            descriptor: tables.string(frame.descriptor).to_owned(),
        },
        pc: frame.pc,
        file: (!file.is_empty()).then(|| file.to_owned()),
        line: (frame.line != 0).then_some(frame.line),
    })
}

/// Who called, from the innermost caller outwards: the stack without its first site, which is the place itself.
pub(crate) fn callers(stack: StackId, tables: &Tables) -> Vec<Place> {
    tables.stack(stack).into_iter().skip(1).filter_map(|site| place(site, tables)).collect()
}

/// A variable as a reader knows it: which object it belongs to is another matter.
pub(crate) fn readable(variable: VariableId, tables: &Tables) -> String {
    let name = tables.variable_name(variable);
    let short = || name.rsplit('.').next().unwrap_or_default().to_owned();
    match tables.variable(variable).part {
        Part::Whole => format!("`{name}`"),
        Part::Element(index) => format!("element {index} of `{}`", short()),
        Part::Contents => format!("the contents of `{}`", short()),
    }
}

/// A unit as a headline calls it.
pub(crate) fn subject(site: SiteId, unit: UnitId, tables: &Tables) -> String {
    match (tables.frame(site), tables.unit_name(unit)) {
        (Some(frame), _) if frame.class.0 != 0 => {
            format!("`{}.{}`", tables.string(frame.class), tables.string(frame.method))
        }
        (_, "") => match tables.site_text(site) {
            site if site.is_empty() => "a unit".to_owned(),
            site => format!("the unit at `{site}`"),
        },
        (_, name) => format!("`{name}`"),
    }
}

/// The method that a unit began in, or what the trace says instead.
pub(crate) fn method_of(site: SiteId, unit: UnitId, tables: &Tables) -> MethodPlace {
    if let Some(place) = place(site, tables).filter(|place| !place.method.class.is_empty()) {
        return place.method;
    }
    let name = match unit {
        UnitId(0) => tables.site_text(site),
        unit => tables.unit_name(unit).to_owned(),
    };
    MethodPlace { class: String::new(), name, descriptor: String::new() }
}

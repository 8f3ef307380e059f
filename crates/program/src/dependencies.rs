//! The causal dependency graph of one method, callees included, as Graphviz DOT.
//!
//! Nodes are versions: a variable as it is read or written at one place in one section, a parameter, the result, a
//! place where two values come together. Edges go from what is read to what depends on it: by value (solid), by place
//! (dotted), by decision (dashed). Sections are boxes. What nothing depends on, and what depends on nothing, is left
//! out.
//!
//! Around a finding, its steps are told where they are: at a node, or as a note where the method has none for them. What
//! leads from one step to another is red, and grey arrows go from step to step in the order that breaks it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use location::Place;

use crate::class::{MethodId, Program};
use crate::readable::Readable;
use crate::summary::{Access, AccessId, Influences, Root, Spot, Summaries};
use crate::{Calls, Variable, Whole};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    Parameter(u16),
    Access(u32),
    Meeting(usize),
    Result,
    /// A step of a finding that the method has no node for.
    Note(u32),
}

impl Node {
    fn of(root: Root) -> Node {
        match root {
            Root::Parameter(position) => Node::Parameter(position),
            Root::Access(access) => Node::Access(access.0),
        }
    }

    fn id(self) -> String {
        match self {
            Node::Parameter(position) => format!("p{position}"),
            Node::Access(access) => format!("a{access}"),
            Node::Meeting(number) => format!("m{number}"),
            Node::Result => "result".to_owned(),
            Node::Note(step) => format!("s{step}"),
        }
    }
}

/// What a finding tells of a method, to be drawn into its graph.
pub struct Told {
    /// `pkg.Foo.field`
    pub variables: BTreeSet<String>,
    /// In the order of their numbers.
    pub steps: Vec<ToldStep>,
    /// Numbers of steps in the order that breaks the method.
    pub order: Vec<u32>,
}

pub struct ToldStep {
    pub number: u32,
    /// Whether it is of the thread that runs the method.
    pub is_own: bool,
    pub place: Option<Place>,
    pub text: String,
}

/// How an edge is drawn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    Value,
    Place,
    Decision,
}

/// The graph of a method; none if it was not summarised.
pub fn show_graph(whole: &Whole<'_>, method: MethodId) -> Option<String> {
    Drawing::of(whole.program, &whole.calls, &whole.summaries, method).map(|drawing| drawing.text())
}

/// The same around a finding of the method.
pub fn show_graph_around(whole: &Whole<'_>, method: MethodId, told: &Told) -> Option<String> {
    let mut drawing = Drawing::of(whole.program, &whole.calls, &whole.summaries, method)?;
    drawing.tell(told);
    Some(drawing.text())
}

struct Drawing<'d> {
    program: &'d Program,
    calls: &'d Calls,
    summaries: &'d Summaries,
    method: MethodId,
    edges: BTreeSet<(Node, Node, Edge)>,
    meetings: Vec<Spot>,
    /// Numbers of the steps that are at a node.
    numbers: BTreeMap<Node, Vec<u32>>,
    /// Nodes and edges that lead from one step to another.
    lit: BTreeSet<(Node, Node)>,
    notes: BTreeMap<u32, String>,
    /// From step to step.
    order: Vec<(Node, Node)>,
}

impl<'d> Drawing<'d> {
    fn of(program: &'d Program, calls: &'d Calls, summaries: &'d Summaries, method: MethodId) -> Option<Drawing<'d>> {
        let summary = summaries.summary(method)?;
        let mut drawing = Drawing {
            program,
            calls,
            summaries,
            method,
            edges: BTreeSet::new(),
            meetings: Vec::new(),
            numbers: BTreeMap::new(),
            lit: BTreeSet::new(),
            notes: BTreeMap::new(),
            order: Vec::new(),
        };
        for (index, access) in summary.accesses.iter().enumerate() {
            let node = Node::Access(index as u32);
            drawing.lead(&access.value, node, Edge::Value);
            drawing.lead(&access.address, node, Edge::Place);
            drawing.lead(&access.control, node, Edge::Decision);
        }
        drawing.lead(&summary.result, Node::Result, Edge::Value);
        for (spot, sides) in summaries.meetings(program, calls, method) {
            if sides.iter().filter(|side| side.iter().any(|from| matches!(from.root, Root::Access(_)))).count() < 2 {
                continue;
            }
            let node = drawing.meeting(spot);
            for side in &sides {
                drawing.lead(side, node, Edge::Value);
            }
        }
        Some(drawing)
    }

    fn meeting(&mut self, spot: Spot) -> Node {
        self.meetings.push(spot);
        Node::Meeting(self.meetings.len() - 1)
    }

    /// Puts the steps of a finding to the nodes that they tell of.
    fn tell(&mut self, told: &Told) {
        // Steps of the method itself, each with the nodes that are at its place. What is let go has the place of what was
        // done just before.
        let mut own: Vec<(u32, Vec<Node>)> = Vec::new();
        let mut before: Option<&Place> = None;
        for step in &told.steps {
            let place = step.place.as_ref().filter(|place| before != Some(*place));
            before = step.place.as_ref().filter(|_| step.is_own);
            if step.is_own {
                own.push((step.number, place.map(|place| self.at(place, &told.variables)).unwrap_or_default()));
            }
        }
        // One call in a loop is a step by what it reads, and once more by what it writes.
        for later in 1..own.len() {
            let (earlier, rest) = own.split_at_mut(later);
            let (_, nodes) = &mut rest[0];
            let (writes, reads): (Vec<Node>, Vec<Node>) = nodes.iter().partition(|node| self.is_write(**node));
            if let Some((_, same)) = earlier.iter_mut().find(|(_, same)| same == nodes)
                && !writes.is_empty()
                && !reads.is_empty()
            {
                *same = reads;
                *nodes = writes;
            }
        }
        self.meet_where_told(told, &own);
        for (number, nodes) in own.iter_mut().filter(|(_, nodes)| nodes.is_empty()) {
            let place = told.steps.iter().find(|step| step.number == *number).and_then(|step| step.place.as_ref());
            nodes.extend(place.and_then(|place| self.meeting_at(place)));
        }
        for (index, (_, from)) in own.iter().enumerate() {
            for (_, to) in &own[index + 1..] {
                self.lit
                    .extend(from.iter().flat_map(|from| to.iter().flat_map(move |to| [(*from, *to), (*to, *from)])));
            }
        }
        let edges: BTreeSet<(Node, Node)> = self.edges.iter().map(|(from, to, _)| (*from, *to)).collect();
        self.lit.retain(|edge| edges.contains(edge));
        let lit: BTreeSet<Node> = self.lit.iter().flat_map(|(from, to)| [*from, *to]).collect();
        let mut node_of: BTreeMap<u32, Node> = BTreeMap::new();
        for (number, mut nodes) in own {
            if nodes.iter().any(|node| lit.contains(node)) {
                nodes.retain(|node| lit.contains(node));
            }
            node_of.extend(nodes.first().map(|node| (number, *node)));
            for node in nodes {
                self.numbers.entry(node).or_default().push(number);
            }
        }
        for step in &told.steps {
            node_of.entry(step.number).or_insert_with(|| {
                self.notes.insert(step.number, step.text.clone());
                Node::Note(step.number)
            });
        }
        let order: Vec<Node> = told.order.iter().filter_map(|number| node_of.get(number)).copied().collect();
        self.order.extend(order.windows(2).filter(|two| two[0] != two[1]).map(|two| (two[0], two[1])));
    }

    /// Where values that the steps have read come together in what the method calls, if a step tells of it.
    fn meet_where_told(&mut self, told: &Told, own: &[(u32, Vec<Node>)]) {
        let read: Vec<u32> = own
            .iter()
            .flat_map(|(_, nodes)| nodes)
            .filter_map(|node| match node {
                Node::Access(access) => Some(*access),
                _ => None,
            })
            .collect();
        for (index, first) in read.iter().enumerate() {
            for second in &read[index + 1..] {
                let (a, b) = (AccessId(*first), AccessId(*second));
                let met = self.summaries.meeting(self.program, self.calls, self.method, a, b);
                let is_told = |spot: &Spot| {
                    let mut places =
                        told.steps.iter().filter(|step| step.is_own).filter_map(|step| step.place.as_ref());
                    places.any(|place| self.is_at(spot, place))
                };
                let Some(met) = met.filter(|met| is_told(&met.spot) && !self.meetings.contains(&met.spot)) else {
                    continue;
                };
                let node = self.meeting(met.spot);
                self.edges.extend([first, second].map(|access| (Node::Access(*access), node, Edge::Value)));
            }
        }
    }

    fn is_write(&self, node: Node) -> bool {
        match (node, self.summaries.summary(self.method)) {
            (Node::Access(access), Some(summary)) => summary.accesses[access as usize].is_write,
            _ => false,
        }
    }

    fn is_at(&self, spot: &Spot, place: &Place) -> bool {
        spot.pc == place.pc && self.program.names.method_place(spot.method) == place.method
    }

    fn meeting_at(&self, place: &Place) -> Option<Node> {
        self.meetings.iter().position(|spot| self.is_at(spot, place)).map(Node::Meeting)
    }

    /// The accesses of some variables that are at a place, or in a call there; where values come together there.
    fn at(&self, place: &Place, variables: &BTreeSet<String>) -> Vec<Node> {
        let accesses = self.summaries.summary(self.method).map_or(&[][..], |summary| &summary.accesses);
        let events = self.summaries.outline(self.method).map_or(&[][..], |outline| &outline.events);
        let name = self.program.names.method_place(self.program.method_name(self.method));
        let is_there = |access: &Access| {
            let event = events.get(access.event.index());
            name == place.method && event.is_some_and(|event| event.pc == place.pc) || self.is_at(&access.spot, place)
        };
        let is_told = |access: &Access| {
            let variable = Variable::of(self.program, access);
            variable.is_some_and(|variable| variables.contains(&variable.readable(self.program)))
        };
        let found = accesses.iter().enumerate().filter(|(_, access)| is_there(access) && is_told(access));
        found.map(|(index, _)| Node::Access(index as u32)).chain(self.meeting_at(place)).collect()
    }

    fn lead(&mut self, from: &Influences, to: Node, edge: Edge) {
        self.edges.extend(from.iter().map(|influence| (Node::of(influence.root), to, edge)));
    }

    fn text(&self) -> String {
        let summary = self.summaries.summary(self.method);
        let readable = Readable::new(self.program, self.summaries, self.method);
        let name = self.program.names.readable_method(self.program.method_name(self.method));
        let mut text = format!("digraph {} {{\n  rankdir=LR;\n  node [shape=box, style=rounded];\n", quoted(&name));
        // The innermost section has the node.
        let mut boxes: BTreeMap<Option<usize>, Vec<String>> = BTreeMap::new();
        let ends = self.edges.iter().flat_map(|(from, to, _)| [*from, *to]);
        let nodes: BTreeSet<Node> = ends.chain(self.numbers.keys().copied()).collect();
        for node in nodes {
            let access = match node {
                Node::Access(access) => summary.and_then(|summary| summary.accesses.get(access as usize)),
                _ => None,
            };
            let section = access.and_then(|access| access.held.iter().last());
            let label = self.label(&readable, node, access);
            let style = if self.numbers.contains_key(&node) { ", color=red" } else { "" };
            boxes.entry(section).or_default().push(format!("{} [label={}{style}];", node.id(), quoted(&label)));
        }
        for (section, nodes) in boxes {
            let lock = section.and_then(|section| summary.and_then(|summary| summary.sections.get(section)));
            if let (Some(section), Some(lock)) = (section, lock) {
                let label = format!("section on {}, {}", readable.name(&lock.lock), readable.spot(&lock.spot));
                let _ = writeln!(text, "  subgraph cluster_{section} {{\n    label={};", quoted(&label));
                nodes.iter().for_each(|node| text.push_str(&format!("    {node}\n")));
                text.push_str("  }\n");
            } else {
                nodes.iter().for_each(|node| text.push_str(&format!("  {node}\n")));
            }
        }
        for (number, note) in &self.notes {
            let label = format!("({number}) {note}");
            let _ = writeln!(text, "  {} [label={}, shape=note];", Node::Note(*number).id(), quoted(&label));
        }
        for (from, to, edge) in &self.edges {
            let style = match edge {
                Edge::Value => None,
                Edge::Place => Some("style=dotted"),
                Edge::Decision => Some("style=dashed"),
            };
            let color = self.lit.contains(&(*from, *to)).then_some("color=red, penwidth=2");
            let styles: Vec<&str> = style.into_iter().chain(color).collect();
            let styles = if styles.is_empty() { String::new() } else { format!(" [{}]", styles.join(", ")) };
            let _ = writeln!(text, "  {} -> {}{styles};", from.id(), to.id());
        }
        for (from, to) in &self.order {
            let _ = writeln!(text, "  {} -> {} [color=gray, constraint=false];", from.id(), to.id());
        }
        text.push_str("}\n");
        text
    }

    /// What a node is called, the numbers of its steps first.
    fn label(&self, readable: &Readable<'_>, node: Node, access: Option<&Access>) -> String {
        let label = match (node, access) {
            (Node::Parameter(position), _) => {
                readable.name(&crate::outline::Name::start(crate::outline::Start::Parameter(position)))
            }
            (Node::Meeting(number), _) => format!("meet, {}", readable.spot(&self.meetings[number])),
            (_, Some(access)) => {
                let what = if access.is_write { "written" } else { "read" };
                format!("{} {what}, {}", readable.variable(access), readable.spot(&access.spot))
            }
            _ => "result".to_owned(),
        };
        let numbers = self.numbers.get(&node).map_or(&[][..], Vec::as_slice);
        numbers.iter().rev().fold(label, |label, number| format!("({number}) {label}"))
    }
}

/// A string of DOT. Control characters become spaces: names come from class files.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(letter);
            }
            letter if letter.is_control() => quoted.push(' '),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn strings_cannot_be_left() {
        assert_eq!(quoted("a\"];\\\n"), "\"a\\\"];\\\\ \"");
    }
}

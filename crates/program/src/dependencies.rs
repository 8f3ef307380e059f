//! The causal dependency graph of one method, callees included, as Graphviz DOT.
//!
//! Nodes are versions: a variable as it is read or written at one place in one section, a parameter, the result, a
//! place where two values come together. Edges go from what is read to what depends on it: by value (solid), by place
//! (dotted), by decision (dashed). Sections are boxes. What nothing depends on, and what depends on nothing, is left
//! out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::class::{MethodId, Program};
use crate::readable::Readable;
use crate::summary::{Influences, Root, Summaries};
use crate::{Calls, Whole};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    Parameter(u16),
    Access(u32),
    Meeting(usize),
    Result,
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
        }
    }
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

struct Drawing<'d> {
    program: &'d Program,
    summaries: &'d Summaries,
    method: MethodId,
    edges: BTreeSet<(Node, Node, Edge)>,
    meetings: Vec<String>,
}

impl<'d> Drawing<'d> {
    fn of(program: &'d Program, calls: &Calls, summaries: &'d Summaries, method: MethodId) -> Option<Drawing<'d>> {
        let summary = summaries.summary(method)?;
        let mut drawing = Drawing { program, summaries, method, edges: BTreeSet::new(), meetings: Vec::new() };
        for (index, access) in summary.accesses.iter().enumerate() {
            let node = Node::Access(index as u32);
            drawing.lead(&access.value, node, Edge::Value);
            drawing.lead(&access.address, node, Edge::Place);
            drawing.lead(&access.control, node, Edge::Decision);
        }
        drawing.lead(&summary.result, Node::Result, Edge::Value);
        for (line, sides) in summaries.meetings(program, calls, method) {
            if sides.iter().filter(|side| side.iter().any(|from| matches!(from.root, Root::Access(_)))).count() < 2 {
                continue;
            }
            let node = Node::Meeting(drawing.meetings.len());
            drawing.meetings.push(line.map_or("meet".to_owned(), |line| format!("meet, line {line}")));
            for side in &sides {
                drawing.lead(side, node, Edge::Value);
            }
        }
        Some(drawing)
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
        let nodes: BTreeSet<Node> = self.edges.iter().flat_map(|(from, to, _)| [*from, *to]).collect();
        for node in nodes {
            let access = match node {
                Node::Access(access) => summary.and_then(|summary| summary.accesses.get(access as usize)),
                _ => None,
            };
            let label = match (node, access) {
                (Node::Parameter(position), _) => {
                    readable.name(&crate::outline::Name::start(crate::outline::Start::Parameter(position)))
                }
                (Node::Meeting(number), _) => self.meetings[number].clone(),
                (_, Some(access)) => {
                    let what = if access.is_write { "written" } else { "read" };
                    format!("{} {what}, {}", readable.variable(access), readable.spot(&access.spot))
                }
                _ => "result".to_owned(),
            };
            let section = access.and_then(|access| access.held.iter().last());
            boxes.entry(section).or_default().push(format!("{} [label={}];", node.id(), quoted(&label)));
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
        for (from, to, edge) in &self.edges {
            let style = match edge {
                Edge::Value => "",
                Edge::Place => " [style=dotted]",
                Edge::Decision => " [style=dashed]",
            };
            let _ = writeln!(text, "  {} -> {}{style};", from.id(), to.id());
        }
        text.push_str("}\n");
        text
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

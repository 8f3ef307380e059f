//! The interleaving as a table: a column per thread, time going down, within 80 columns.

use finding::{Finding, Step};

use super::{Palette, push_line, thread};
use crate::escape::width;
use crate::one_line;

const TABLE_WIDTH: usize = 80;
const INDENT: usize = 5;
/// With less room than this per column a table is harder to read than a list.
const NARROWEST: usize = 16;

pub(super) fn write(out: &mut String, finding: &Finding, palette: Palette) {
    let steps: Vec<&Step> = finding
        .interleaving
        .iter()
        .filter_map(|number| finding.steps.iter().find(|step| step.number == *number))
        .collect();
    if steps.is_empty() {
        return;
    }
    push_line(out, format_args!("  {}", palette.strong("one order of events that breaks it")));
    let threads = threads(finding, &steps);
    let separators = 3 * (threads.len() - 1);
    let room = TABLE_WIDTH - INDENT;
    if room < separators + NARROWEST * threads.len() {
        write_list(out, &steps);
    } else {
        write_table(out, &steps, &threads, room - separators);
    }
}

/// The thread that the finding is about first, then as they come.
fn threads<'a>(finding: &'a Finding, steps: &[&'a Step]) -> Vec<&'a str> {
    let mut threads: Vec<&str> = Vec::new();
    let about = finding.steps.iter().take(1).filter(|first| steps.iter().any(|step| step.thread == first.thread));
    for step in about.chain(steps.iter().copied()) {
        if !threads.contains(&step.thread.0.as_str()) {
            threads.push(&step.thread.0);
        }
    }
    threads
}

fn write_table(out: &mut String, steps: &[&Step], threads: &[&str], room: usize) {
    let headers: Vec<String> = threads.iter().map(|name| thread(name)).collect();
    let wanted: Vec<usize> = threads
        .iter()
        .zip(&headers)
        .map(|(thread, header)| {
            let cells = steps.iter().filter(|step| step.thread.0 == *thread).map(|step| width(&cell(step)));
            cells.chain([width(header)]).max().unwrap_or(0)
        })
        .collect();
    let widths = share(&wanted, room);
    let cut_headers: Vec<String> = headers.iter().zip(&widths).map(|(header, &width)| cut(header, width)).collect();
    write_row(out, &cut_headers.iter().map(String::as_str).collect::<Vec<_>>(), &widths);
    for step in steps {
        let column = threads.iter().position(|thread| *thread == step.thread.0).unwrap_or(0);
        let hang = format!("({}) ", step.number).len();
        for line in wrap(&cell(step), widths[column], hang) {
            let mut row = vec![""; threads.len()];
            row[column] = &line;
            write_row(out, &row, &widths);
        }
    }
}

fn write_row(out: &mut String, cells: &[&str], widths: &[usize]) {
    let padded: Vec<String> =
        cells.iter().zip(widths).map(|(cell, &room)| format!("{cell}{}", " ".repeat(room - width(cell)))).collect();
    push_line(out, format_args!("{:INDENT$}{}", "", padded.join(" | ")));
}

fn write_list(out: &mut String, steps: &[&Step]) {
    for step in steps {
        let text = format!("{}: {}", one_line(&step.thread.0), cell(step));
        for line in wrap(&text, TABLE_WIDTH - INDENT, 4) {
            push_line(out, format_args!("{:INDENT$}{line}", ""));
        }
    }
}

/// Without the backticks: in a table they cost more room than they help.
fn cell(step: &Step) -> String {
    format!("({}) {}", step.number, one_line(&step.what).replace('`', ""))
}

/// Columns get what they want where that fits, else the wide ones share what the narrow ones leave.
fn share(wanted: &[usize], room: usize) -> Vec<usize> {
    let mut widths = vec![0; wanted.len()];
    let mut open: Vec<usize> = (0..wanted.len()).collect();
    open.sort_by_key(|&column| wanted[column]);
    let mut left = room;
    for (done, &column) in open.iter().enumerate() {
        let fair = left / (open.len() - done);
        widths[column] = wanted[column].min(fair);
        left -= widths[column];
    }
    widths
}

/// The first words of a text, if not all fit.
fn cut(text: &str, room: usize) -> String {
    let mut lines = wrap(text, room, 0);
    let is_whole = lines.len() == 1;
    let mut line = lines.swap_remove(0);
    if !is_whole {
        while width(&line) >= room {
            line.pop();
        }
        line.push('…');
    }
    line
}

/// Breaks a text into lines of `room` columns; lines after the first are indented by `hang`. A word that no line has room
/// for is broken behind its dots, and inside of its parts only where these are too long as well.
fn wrap(text: &str, room: usize, hang: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let mut is_fresh = true;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let fits = width(word) + hang <= room;
        let parts = if fits { vec![word] } else { word.split_inclusive('.').collect() };
        for (number, part) in parts.into_iter().enumerate() {
            let gap = if is_fresh || number > 0 { "" } else { " " };
            if !is_fresh && width(&line) + gap.len() + width(part) > room {
                lines.push(std::mem::replace(&mut line, " ".repeat(hang)));
            } else {
                line.push_str(gap);
            }
            for character in part.chars() {
                let mut buffer = [0; 4];
                if width(&line) + width(character.encode_utf8(&mut buffer)) > room {
                    lines.push(std::mem::replace(&mut line, " ".repeat(hang)));
                }
                line.push(character);
            }
            is_fresh = false;
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_columns_leave_their_room_to_wide_ones() {
        assert_eq!(share(&[10, 20], 72), [10, 20]);
        assert_eq!(share(&[10, 100], 72), [10, 62]);
        assert_eq!(share(&[100, 100], 72), [36, 36]);
        assert_eq!(share(&[100, 5, 50], 69), [32, 5, 32]);
    }

    #[test]
    fn texts_are_wrapped_at_blanks_and_words_that_do_not_fit_are_broken() {
        assert_eq!(wrap("(1) read the old balance", 16, 4), ["(1) read the old", "    balance"]);
        assert_eq!(wrap("abcdefghij", 4, 0), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("(1) LongFactory.INSTANCE asked", 20, 4), ["(1) LongFactory.", "    INSTANCE asked"]);
        assert_eq!(cut("one two three four", 5), "one…");
        assert_eq!(cut("one", 5), "one");
        assert_eq!(wrap("口座口座", 5, 0), ["口座", "口座"]);
    }

    #[test]
    fn nothing_is_wider_than_its_room() {
        // Room for what lines are indented by, and for one wide character.
        for room in 6..30 {
            for text in ["a bb ccc dddd eeeee ffffff", "口座 口座口座口座口座 x", &"y".repeat(300)] {
                for line in wrap(text, room, 4) {
                    assert!(width(&line) <= room, "{line:?} in {room}");
                }
            }
        }
    }
}

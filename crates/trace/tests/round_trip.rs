//! What is written is read again: both forms, all kinds of events.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{Random, binary, events, read, tables, text};
use trace::{Action, ActivationId, Cause, Event, Form, Mode, Reader, SectionId, TraceError};

#[test]
fn binary_gives_back_every_event_and_name() {
    for seed in 0..60 {
        let mut tables = tables();
        let events = events(&mut Random::new(seed), &mut tables, 1 + seed as usize * 97);
        let whole = read(&binary(&events, &tables)).unwrap();
        assert_eq!(whole.events, events);
        assert!(whole.problems.is_empty(), "{:?}", whole.problems);
        for event in &events {
            assert_eq!(whole.tables.thread_name(event.thread), tables.thread_name(event.thread));
            assert_eq!(whole.tables.site_text(event.site), tables.site_text(event.site));
            assert_eq!(whole.tables.stack(event.stack), tables.stack(event.stack));
        }
    }
}

#[test]
fn text_gives_back_the_same_text() {
    for seed in 0..60 {
        let mut tables = tables();
        let events = events(&mut Random::new(seed), &mut tables, 500);
        let first = text(&events, &tables);
        let whole = read(first.as_bytes()).unwrap();
        assert!(whole.problems.is_empty(), "{:?}", whole.problems);
        assert_eq!(whole.events.len(), events.len());
        assert_eq!(text(&whole.events, &whole.tables), first);
        // Ids are handed out anew, but the kinds of events and who is who stay the same.
        for (one, other) in events.iter().zip(&whole.events) {
            assert_eq!(std::mem::discriminant(&one.action), std::mem::discriminant(&other.action));
            for (another, its) in events.iter().zip(&whole.events).take(50) {
                assert_eq!(one.thread == another.thread, other.thread == its.thread);
            }
        }
    }
}

#[test]
fn text_through_binary_stays_the_same() {
    let mut tables = tables();
    let events = events(&mut Random::new(5), &mut tables, 20_000);
    let first = text(&events, &tables);
    let from_text = read(first.as_bytes()).unwrap();
    let from_binary = read(&binary(&from_text.events, &from_text.tables)).unwrap();
    assert_eq!(text(&from_binary.events, &from_binary.tables), first);
}

#[test]
fn a_binary_event_takes_a_few_bytes() {
    let mut tables = tables();
    let events = events(&mut Random::new(5), &mut tables, 100_000);
    let bytes = binary(&events, &tables).len();
    assert!(bytes < events.len() * 8, "{bytes} bytes for {} events", events.len());
}

#[test]
fn the_exchanged_form_is_read_with_comments_blank_lines_and_other_line_ends() {
    let input = "\u{feff}# made by hand\r\n\r\nT1|begin_12|3\r\n  T1 | r(x) | 4 \nT1|w(x)|\nT1|acq(l)|5|\n\
                 // a comment\nT2|fork(T3)|7\nT2|join(T3)\nT1|endAtomic|9";
    let whole = read(input.as_bytes()).unwrap();
    assert!(whole.problems.is_empty(), "{:?}", whole.problems);
    assert_eq!(
        text(&whole.events, &whole.tables),
        "T1|begin(_12)|3\nT1|r(x)|4\nT1|w(x)|\nT1|acq(l)|5\nT2|fork(T3)|7\nT2|join(T3)|\nT1|end(Atomic)|9\n"
    );
}

#[test]
fn what_a_line_begins_with_stays_when_it_is_written_again() {
    // What opens a comment or a text in the first column must not be a thread's name elsewhere.
    let input = "\u{feff}A|r(x)|1\n\u{feff}A|w(x)|2\n \u{feff} \u{feff}A|r(x)|3\n #B|w(x)|4\n  //C|w(x)|5\n";
    let whole = read(input.as_bytes()).unwrap();
    let written = text(&whole.events, &whole.tables);
    assert_eq!(written, "A|r(x)|1\nA|w(x)|2\nA|r(x)|3\n");
    let again = read(written.as_bytes()).unwrap();
    assert_eq!(text(&again.events, &again.tables), written);
}

#[test]
fn names_of_any_characters_come_back_as_different_names() {
    let names = [
        "a",
        " a",
        "a\u{b}",
        "\u{a0}\u{feff}a",
        "#a",
        "/a",
        "a|b",
        "a\nb",
        "a\rb",
        "\u{85}",
        " ",
        "%20",
        "",
        "a{}",
        "a){s1}",
        "a < b",
    ];
    let mut tables = trace::Tables::default();
    let mut events = Vec::new();
    for name in names {
        let thread = tables.add_thread(name);
        let (variable, lock) = (tables.add_variable(name), tables.add_lock(name));
        let (unit, site) = (tables.add_unit(name), tables.add_site(name));
        let stack = tables.add_stack(site, trace::StackId(0));
        let acquire = Action::Acquire {
            lock,
            mode: Mode::Exclusive,
            cause: Cause::Section,
            section: SectionId(1),
            activation: ActivationId(2),
        };
        for action in [Action::UnitBegin { unit, activation: ActivationId(3) }, Action::Write { variable }, acquire] {
            events.push(Event { thread, site, stack, action });
        }
    }
    let first = text(&events, &tables);
    assert_eq!(first.lines().count(), events.len());
    let whole = read(first.as_bytes()).unwrap();
    assert!(whole.problems.is_empty(), "{:?}", whole.problems);
    assert_eq!(text(&whole.events, &whole.tables), first);
    for kind in 0..3 {
        let mut actions = Vec::new();
        for event in whole.events.iter().skip(kind).step_by(3) {
            assert!(!actions.contains(&event.action), "{:?} twice in {first}", event.action);
            actions.push(event.action);
        }
        assert_eq!(actions.len(), names.len());
    }
}

#[test]
fn wrong_lines_are_told_with_their_numbers_and_the_rest_is_used() {
    let input = "T1|r(x)|1\nT1|aqc(l)|2\nno bars here\n|w(x)|4\nT1|w(|5\nT1|acq()|6\nT1|exit(a)|7\nT2|w(x)|8\nT2|w(y";
    let whole = read(input.as_bytes()).unwrap();
    assert_eq!(whole.events.len(), 2);
    let told: Vec<&str> = whole.problems.listed().iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(
        told,
        [
            "line 2: `aqc(l)` is no known operation",
            "line 3: `no bars here` has no `|`: expected thread|operation|place",
            "line 4: the thread is missing before the first `|`",
            "line 5: `w(` has no `)` at its end",
            "line 6: `acq()` names nothing between its brackets",
            "line 7: `a` wants a number in `exit(a)`",
            "line 9: `w(y` has no `)` at its end; the trace ends in the middle of it",
        ]
    );
}

#[test]
fn the_form_is_told_by_content() {
    let tables = tables();
    assert_eq!(Reader::new(&binary(&[], &tables)[..]).unwrap().form(), Form::Binary);
    assert_eq!(Reader::new(&b"T1|r(x)|1\n"[..]).unwrap().form(), Form::Text);
    for (bytes, what) in [
        (&b""[..], "it is empty"),
        (b"PK\x03\x04rest", "it is a zip or jar file"),
        (b"\xca\xfe\xba\xbe\0\0\0\x41", "it is a class file"),
        (b"abc\0def", "it is a binary file of another kind"),
        (b"\x93FIS\n\x1a\n\0\0", "its header is damaged, perhaps by a transfer as text"),
        (b"\x93FIS\r\n\x1a\n\x01", "it ends in its header"),
    ] {
        match Reader::new(bytes) {
            Err(TraceError::Foreign(told)) => assert_eq!(told, what),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("{what}: read as a trace"),
        }
    }
    match read(b"hello\nworld\n") {
        Err(error) => assert_eq!(
            error.to_string(),
            "not a trace: no line of it is an event; line 1: `hello` has no `|`: expected thread|operation|place"
        ),
        Ok(_) => panic!("read as a trace"),
    }
    let mut newer = binary(&[], &tables);
    newer[8] = 9;
    match Reader::new(&newer[..]) {
        Err(error) => assert_eq!(
            error.to_string(),
            "the trace has format 9, and this version reads formats up to 2: use a newer fissure"
        ),
        Ok(_) => panic!("read as a trace"),
    }
}

//! Whole reports as text.

use finding::{Evidence, Finding, Thread};
use location::Place;

use super::render;
use crate::escape::width;
use crate::samples::{self, OneFile};
use crate::{Events, NoSources, Palette, Run, Skipped, Sources};

fn text(findings: &[Finding], sources: &dyn Sources) -> String {
    render(&samples::report(findings), sources, Palette::Plain)
}

/// The lines of the table alone.
fn table(text: &str) -> Vec<&str> {
    let lines = text.lines().skip_while(|line| *line != "  one order of events that breaks it").skip(1);
    lines.take_while(|line| line.starts_with("     ")).collect()
}

#[test]
fn steps_stand_on_source_lines() {
    let expected = "\
warning[reacquired-lock]: `balance` may change between (1) and (3), and the change is lost
  src/bank/Account.java:11 in bank.Account.deposit
    11 |     seen = balance;           (1) `balance` read under `lock`
    12 | }                             (2) `lock` released
    14 |     balance = seen + amount;  (3) old value written back under `lock`
  one order of events that breaks it
     thread A                              | thread B
     (1) balance read under lock           |
     (2) lock released                     |
                                           | (4) balance written under lock
     (3) old value written back under lock |
  help: hold `lock` from (1) to (3)
  more: fissure explain reacquired-lock

skipped: app.jar!/Bad.class: ends too early
1 finding in 3 classes; 1 input skipped
";
    assert_eq!(text(&[samples::lost_update()], &OneFile::new(samples::ACCOUNT)), expected);
}

#[test]
fn without_source_steps_are_frames_and_one_hint_says_why() {
    let findings = [samples::lost_update(), samples::lost_update()];
    let text = text(&findings, &NoSources);
    let expected = "  (2) `lock` released
      at bank.Account.deposit(Account.java:12)
  (3) old value written back under `lock`
";
    assert!(text.contains(expected), "{text}");
    assert_eq!(text.matches("hint:").count(), 1, "{text}");
}

#[test]
fn a_file_that_is_too_short_is_not_the_source() {
    let text = text(&[samples::lost_update()], &OneFile::new("package bank;\n"));
    assert!(text.contains("at bank.Account.deposit(Account.java:11)"), "{text}");
}

#[test]
fn without_line_numbers_the_offset_is_shown() {
    let mut finding = samples::lost_update();
    let hide = |place: &mut Option<Place>, file: Option<&str>| {
        if let Some(place) = place {
            place.line = None;
            place.file = file.map(str::to_owned);
        }
    };
    hide(&mut finding.steps[0].place, Some("Account.java"));
    hide(&mut finding.steps[1].place, None);
    let text = text(&[finding], &OneFile::new(samples::ACCOUNT));
    assert!(text.contains("at bank.Account.deposit(Account.java) bytecode offset 11\n"), "{text}");
    assert!(text.contains("at bank.Account.deposit(Unknown Source) bytecode offset 12\n"), "{text}");
    assert!(text.contains("hint: classes compiled with `-g` have line numbers\n"), "{text}");
}

#[test]
fn steps_on_one_line_share_it() {
    let mut finding = samples::lost_update();
    finding.steps[1].place = Some(samples::place("Account.java", 11));
    let other_exit = samples::step(5, Thread::a(), Some(samples::place("Account.java", 11)), "`lock` released");
    finding.steps.push(other_exit);
    let text = text(&[finding], &OneFile::new(samples::ACCOUNT));
    let expected = "
    11 | seen = balance;           (1) `balance` read under `lock`
       |                           (2)(5) `lock` released
    14 | balance = seen + amount;  (3) old value written back under `lock`
";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn steps_in_two_files_are_grouped_and_the_other_thread_is_named() {
    struct ByName;
    impl Sources for ByName {
        fn find(&self, _class: &str, file: &str) -> Option<std::rc::Rc<crate::SourceFile>> {
            Some(std::rc::Rc::new(crate::SourceFile::new(format!("src/{file}"), samples::ACCOUNT)))
        }
    }
    let mut finding = samples::lost_update();
    let mut elsewhere = samples::place("Bank.java", 14);
    elsewhere.method.class = "bank.Bank".to_owned();
    finding.steps[3].place = Some(elsewhere);
    let text = text(&[finding], &ByName);
    let expected = "
  src/Bank.java:14 in bank.Bank.deposit
    14 | balance = seen + amount;  (4) thread B: `balance` written under `lock`
";
    assert!(text.contains(expected), "{text}");
    assert_eq!(text.matches("src/Account.java").count(), 1, "{text}");
}

#[test]
fn a_label_of_a_long_line_stands_below_it() {
    let mut source: Vec<String> = samples::ACCOUNT.lines().map(str::to_owned).collect();
    source[10] = format!("\t\tseen = {};", "x".repeat(60));
    let text = text(&[samples::lost_update()], &OneFile::new(&source.join("\n")));
    let expected = "
    11 | seen = xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx;
       |                               (1) `balance` read under `lock`
";
    // The tab counts as four columns: line 12 is indented by eight blanks, as is this one.
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_step_that_is_nowhere_else_is_listed() {
    let mut finding = samples::lost_update();
    finding.interleaving.clear();
    let text = text(&[finding], &OneFile::new(samples::ACCOUNT));
    assert!(text.contains("  (4) thread B: `balance` written under `lock`\n"), "{text}");
    assert!(!text.contains("one order of events"), "{text}");
}

#[test]
fn tables_keep_to_80_columns() {
    for thread_count in 1..8 {
        for what in ["short", &"many words of a rather long explanation ".repeat(9), &"口".repeat(200)] {
            let mut finding = samples::lost_update();
            finding.steps = (0..thread_count * 2)
                .map(|n| {
                    let thread = Thread(format!("http-nio-8080-exec-number-{}", n % thread_count));
                    samples::step(n + 1, thread, None, what)
                })
                .collect();
            finding.interleaving = (1..=thread_count * 2).collect();
            let text = text(&[finding], &NoSources);
            let table = table(&text);
            assert!(table.len() > thread_count as usize * 2 - 1, "{text}");
            for line in table {
                assert!(width(line) <= 80, "{line}");
            }
        }
    }
}

#[test]
fn the_thread_in_question_has_the_first_column() {
    let mut finding = samples::lost_update();
    finding.interleaving = vec![4, 1, 2, 3];
    let text = text(&[finding], &NoSources);
    assert!(table(&text)[0].trim_start().starts_with("thread A"), "{text}");
}

#[test]
fn nothing_from_a_class_file_reaches_the_terminal_raw() {
    let hostile = "\u{1b}[2J\u{202e}\r\n::stop-commands::x\u{0}";
    let mut finding = samples::lost_update();
    finding.message = hostile.to_owned();
    finding.fix = hostile.to_owned();
    finding.method.class = hostile.to_owned();
    for step in &mut finding.steps {
        step.what = format!("{} {hostile}", step.number);
        step.thread = Thread(hostile.to_owned());
        if let Some(place) = &mut step.place {
            place.method.class = hostile.to_owned();
            place.method.name = hostile.to_owned();
            place.file = Some(hostile.to_owned());
        }
    }
    let findings = [finding];
    let mut report = samples::report(&findings);
    report.inputs.skipped = vec![Skipped { path: hostile.to_owned(), reason: hostile.to_owned() }];
    let source = OneFile::new(&format!("{hostile}\n").repeat(20));
    for sources in [&NoSources as &dyn Sources, &source] {
        let text = render(&report, sources, Palette::Plain);
        let bad = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(bad, None, "{text:?}");
        assert!(!text.lines().any(|line| line.starts_with("::")), "{text}");
    }
}

#[test]
fn evidence_of_a_run_is_told() {
    let mut finding = samples::lost_update();
    finding.evidence = Evidence::Observed;
    finding.count = 12;
    assert!(text(&[finding], &NoSources).contains("\n  evidence: observed, 12 times\n"));
}

#[test]
fn no_findings_and_many_skipped_inputs() {
    let mut report = samples::report(&[]);
    let skipped = (0..12).map(|n| Skipped { path: format!("{n:02}.class"), reason: "ends too early".to_owned() });
    report.inputs.skipped = skipped.collect();
    let text = render(&report, &NoSources, Palette::Plain);
    assert!(text.ends_with(
        "skipped: 09.class: ends too early
skipped: 2 more, all listed with `--format json`
no findings in 3 classes; 12 inputs skipped
"
    ));
}

#[test]
fn several_problems_of_one_input_are_one_input() {
    let mut report = samples::report(&[]);
    let skipped =
        ["cut off", "no end mark"].map(|reason| Skipped { path: "a.trace".to_owned(), reason: reason.to_owned() });
    report.inputs.skipped = skipped.into();
    let text = render(&report, &NoSources, Palette::Plain);
    assert!(text.ends_with("skipped: a.trace: no end mark\nno findings in 3 classes; 1 input skipped\n"), "{text}");
}

#[test]
fn places_by_file_and_line_and_threads_by_number() {
    let mut finding = samples::lost_update();
    for place in finding.steps.iter_mut().filter_map(|step| step.place.as_mut()) {
        place.method.class.clear();
        place.method.name.clear();
    }
    finding.steps[0].thread = Thread("thread 7".to_owned());
    let text = text(&[finding], &NoSources);
    assert!(text.contains("\n      at Account.java:"), "{text}");
    assert!(text.contains(" thread 7 ") && !text.contains("thread thread"), "{text}");
}

#[test]
fn colours_change_nothing_but_colours() {
    let findings = [samples::lost_update()];
    let report = samples::report(&findings);
    let sources = OneFile::new(samples::ACCOUNT);
    let coloured = render(&report, &sources, Palette::Colour);
    assert!(coloured.starts_with("\u{1b}[1;33mwarning[reacquired-lock]\u{1b}[0m: "));
    let mut plain = String::new();
    for (index, part) in coloured.split('\u{1b}').enumerate() {
        plain.push_str(if index == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    assert_eq!(plain, render(&report, &sources, Palette::Plain));
}

#[test]
fn missing_classes_are_counted_and_some_are_named() {
    let told = |missing: &[&str]| {
        let mut report = samples::report(&[]);
        report.inputs.skipped.clear();
        report.inputs.missing = missing.iter().map(|class| (*class).to_owned()).collect();
        render(&report, &NoSources, Palette::Plain)
    };
    assert_eq!(told(&[]), "no findings in 3 classes\n");
    assert_eq!(
        told(&["a.B\u{1b}"]),
        "hint: 1 class is not known, a.B\\u{1b}: `--classpath` tells where it is\nno findings in 3 classes\n"
    );
    assert!(
        told(&["a.B", "c.D"])
            .starts_with("hint: 2 classes are not known, a.B, c.D: `--classpath` tells where they are")
    );
    assert!(told(&["a", "b", "c", "d"]).starts_with(
        "hint: 4 classes are not known, e.g. a, b, c: `--classpath` tells where they are, `--format json` lists all\n"
    ));
}

#[test]
fn a_trace_with_places_in_words_has_neither_classes_nor_offsets() {
    let mut finding = samples::lost_update();
    let place = finding.steps[0].place.as_mut().expect("the sample has a place");
    (place.method.class, place.method.name) = (String::new(), "the till".to_owned());
    (place.file, place.line) = (None, None);
    let findings = [finding];
    let mut report = samples::report(&findings);
    report.inputs.classes = 0;
    report.inputs.skipped.clear();
    report.run = Some(Run { jvms: 1, classes: 0, units: 1, events: Events { seen: 5, kept: 5, lost: 0 } });
    let text = render(&report, &NoSources, Palette::Plain);
    assert!(text.contains("\n      at the till\n"), "{text}");
    assert!(text.ends_with("\n1 finding in 5 events\n"), "{text}");
}

//! Units cut from text traces, and the plain twin of the search: every other thread's accesses, tried one by one.

use finding::{Detour, Evidence, Finding, Suspicion, rules};
use location::{MethodPlace, Place};
use trace::Reader;

use super::{Answered, Pairs};
use crate::random::Random;

pub(super) fn method(name: &str) -> MethodPlace {
    MethodPlace { class: "C".to_owned(), name: name.to_owned(), descriptor: "()V".to_owned() }
}

pub(super) fn at(name: &str, pc: u32) -> Place {
    Place { method: method(name), pc, file: None, line: None }
}

/// `m` ought to be atomic from any of `first` to any of `second`.
pub(super) fn suspicion(first: &[Place], second: &[Place], is_told: bool) -> Suspicion {
    let finding = Finding::suspected(&rules::STALE_VALUE, "stale-values", method("m"), String::new());
    let (first, second) = (first.to_vec(), second.to_vec());
    let least = Evidence::Predicted;
    Suspicion {
        finding,
        first,
        second,
        is_told,
        least,
        is_one_variable: false,
        is_split: false,
        detour: Detour::default(),
    }
}

pub(super) fn answer(text: &str, suspicions: Vec<Suspicion>) -> Answered {
    answer_within(1 << 20, text, suspicions)
}

fn answer_within(most_records: usize, text: &str, suspicions: Vec<Suspicion>) -> Answered {
    let mut reader = Reader::new(text.as_bytes()).expect("it is text");
    let mut pairs = Pairs::new(suspicions, most_records);
    let mut batch = Vec::new();
    loop {
        reader.next(&mut batch).expect("memory can be read");
        if batch.is_empty() {
            break;
        }
        pairs.on_events(&batch, reader.tables());
    }
    assert!(reader.problems().is_empty(), "{:?}", reader.problems());
    pairs.finish(reader.tables())
}

/// The evidence for a suspicion of `m`, from offset 1 to offset 2.
fn evidence(text: &str, is_told: bool) -> Option<Evidence> {
    let answered = answer(text, vec![suspicion(&[at("m", 1)], &[at("m", 2)], is_told)]);
    answered.findings.first().map(|finding| finding.evidence)
}

pub(super) const PREDICTED: Option<Evidence> = Some(Evidence::Predicted);
const OBSERVED: Option<Evidence> = Some(Evidence::Observed);

/// A unit of thread A: `read` at offset 1 in one section, `write` at offset 2 in the next.
fn unit(read: &str, write: &str) -> String {
    format!(
        "A|enter(C.m:()V:1)|\nA|acq(l)|\nA|{read}|C.m:()V@1\nA|rel(l)|\nA|acq(l)|\nA|{write}|C.m:()V@2\nA|rel(l)|\nA|exit(1)|\n"
    )
}

#[test]
fn a_write_of_another_thread_can_be_put_in_between() {
    let other = "B|acq(l)|\nB|w(x)|\nB|rel(l)|\n";
    let unit = unit("r(x)", "w(x)");
    assert_eq!(evidence(&format!("{other}{unit}"), false), PREDICTED);
    assert_eq!(evidence(&format!("{unit}{other}"), false), PREDICTED, "later, too");
    assert_eq!(evidence(&unit, true), None, "nobody else");
    assert_eq!(evidence(&format!("{}{unit}", other.replace("w(x)", "w(y)")), true), None, "another variable");
    assert_eq!(evidence(&format!("{}{unit}", other.replace("w(x)", "r(x)")), true), None, "two reads");
}

#[test]
fn what_did_come_in_between_is_observed() {
    let text = unit("r(x)", "w(x)").replacen("A|rel(l)|\n", "A|rel(l)|\nB|acq(l)|\nB|w(x)|\nB|rel(l)|\n", 1);
    assert_eq!(evidence(&text, false), OBSERVED);
}

#[test]
fn a_suspicion_may_need_to_be_observed() {
    let found = |text: &str| {
        let suspicion = suspicion(&[at("m", 1)], &[at("m", 2)], false);
        answer(text, vec![Suspicion { least: Evidence::Observed, ..suspicion }]).findings.len()
    };
    let other = "B|acq(l)|\nB|w(x)|\nB|rel(l)|\n";
    let unit = unit("r(x)", "w(x)");
    assert_eq!(found(&format!("{unit}{other}")), 0);
    assert_eq!(found(&unit.replacen("A|rel(l)|\n", &format!("A|rel(l)|\n{other}"), 1)), 1);
}

#[test]
fn a_lock_around_the_whole_keeps_out_whoever_takes_it() {
    let unit = format!("A|acq(o)|\n{}A|rel(o)|\n", unit("r(x)", "w(x)"));
    assert_eq!(evidence(&format!("{unit}B|acq(o)|\nB|w(x)|\nB|rel(o)|\n"), true), None);
    assert_eq!(evidence(&format!("{unit}B|acq(l)|\nB|w(x)|\nB|rel(l)|\n"), true), PREDICTED);
    let shared = unit.replace("acq(o)", "acqs(o)").replace("rel(o)", "rels(o)");
    assert_eq!(evidence(&format!("{shared}B|acqs(o)|\nB|w(x)|\nB|rels(o)|\n"), true), PREDICTED, "both share it");
    assert_eq!(evidence(&format!("{shared}B|acq(o)|\nB|w(x)|\nB|rel(o)|\n"), true), None, "one has it alone");
}

#[test]
fn start_join_and_barriers_keep_out_what_came_before_or_after() {
    let unit = unit("r(x)", "w(x)");
    assert_eq!(evidence(&format!("B|w(x)|\nB|fork(A)|\n{unit}"), true), None, "before the start");
    assert_eq!(evidence(&format!("B|fork(A)|\nB|w(x)|\n{unit}"), true), PREDICTED, "after the start");
    assert_eq!(evidence(&format!("{unit}B|join(A)|\nB|w(x)|\n"), true), None, "after the join");
    assert_eq!(evidence(&format!("{unit}A|arrive(b:1)|\nB|leave(b:1)|\nB|w(x)|\n"), true), None, "after the barrier");
    assert_eq!(evidence(&format!("{unit}A|arrive(b:1)|\nB|w(x)|\n"), true), PREDICTED, "beside the barrier");
    // Over two hops.
    assert_eq!(evidence(&format!("{unit}A|fork(C)|\nC|fork(B)|\nB|w(x)|\n"), true), None);
}

#[test]
fn what_a_barrier_does_for_all_comes_between_their_arrivals_and_their_leaving() {
    let barrier = "java.util.concurrent.CyclicBarrier@9";
    let unit = unit("r(x)", "w(x)");
    let arrive = |thread: &str| format!("{thread}|arrive({barrier}:0)|\n");
    let leave = |thread: &str| format!("{thread}|leave({barrier}:0)|\n");
    let acts = format!("{}{}B|w(x)|\n", arrive("A"), arrive("B"));
    let (a, b) = (leave("A"), leave("B"));
    assert_eq!(evidence(&format!("{unit}{acts}{b}{a}"), true), None, "before");
    assert_eq!(evidence(&format!("{acts}{b}{a}{unit}"), true), None, "after");
    assert_eq!(evidence(&format!("{acts}{a}{unit}{b}"), true), None, "after, and the order of leaving means nothing");
    assert_eq!(evidence(&format!("{acts}{b}{a}{unit}B|w(x)|\n"), true), PREDICTED, "once all have left");
    // Of who waits it may be told that it went on before it is told what it waited for.
    let late = format!("{}{}{a}{unit}B|w(x)|\n{b}", arrive("A"), arrive("B"));
    assert_eq!(evidence(&late, true), None, "told late");
    assert_eq!(evidence(&format!("{late}{}", unit.replace("A|", "C|")), true), PREDICTED, "who does not wait");
    let late = format!("{}B|w(x)|\n{}{a}{unit}{b}", arrive("B"), arrive("A"));
    assert_eq!(evidence(&late, true), None, "the arrival, too");
}

#[test]
fn two_variables_need_an_other_thread_that_touches_both_in_order() {
    let unit = unit("w(x)", "w(y)");
    assert_eq!(evidence(&format!("{unit}B|acq(l)|\nB|r(x)|\nB|r(y)|\nB|rel(l)|\n"), false), PREDICTED);
    assert_eq!(evidence(&format!("{unit}B|acq(l)|\nB|r(x)|\nB|rel(l)|\n"), false), None);
    assert_eq!(evidence(&format!("{unit}B|acq(l)|\nB|r(x)|\nB|rel(l)|\nC|r(y)|\n"), false), None, "two threads");
    assert_eq!(evidence(&format!("{unit}B|r(y)|\nB|r(x)|\n"), false), None, "the other way round");
    assert_eq!(evidence(&format!("{unit}B|acq(l)|\nB|r(x)|\nB|rel(l)|\n"), true), PREDICTED, "told without a run");
}

#[test]
fn two_sections_of_another_thread_are_no_way_around_a_lock_that_is_held() {
    let unit = format!("A|acq(o)|\n{}A|rel(o)|\n", unit("w(x)", "w(y)"));
    assert_eq!(evidence(&format!("{unit}B|r(x)|\nB|acq(o)|\nB|rel(o)|\nB|r(y)|\n"), false), None);
    assert_eq!(evidence(&format!("{unit}B|acq(p)|\nB|r(x)|\nB|r(y)|\nB|rel(p)|\n"), false), PREDICTED);
}

#[test]
fn a_unit_goes_from_the_latest_first_to_the_next_second_over_a_back_edge() {
    let suspicions = || vec![suspicion(&[at("m", 9)], &[at("m", 4)], false)];
    let round = |object: u32| format!("A|w(C.x@{object})|C.m:()V@4\nA|r(C.x@{object})|C.m:()V@9\n");
    let text = format!("A|enter(C.m:()V:1)|\n{}{}A|exit(1)|\n", round(1), round(2));
    // The read of the first object is followed by the write of the second: a write of either alone fits neither.
    assert!(answer(&format!("{text}B|w(C.x@1)|\n"), suspicions()).findings.is_empty());
    let text = format!("A|enter(C.m:()V:1)|\n{}{}A|exit(1)|\n", round(1), round(1));
    let answered = answer(&format!("{text}B|w(C.x@1)|\n"), suspicions());
    assert_eq!((answered.findings.len(), answered.units), (1, 1));
}

#[test]
fn both_parts_belong_to_one_activation() {
    let read = "A|acq(l)|\nA|r(x)|C.get:()V@1\nA|rel(l)|\n";
    let write = "A|acq(l)|\nA|w(x)|C.set:()V@2\nA|rel(l)|\n";
    let suspicions = || vec![suspicion(&[at("get", 1)], &[at("set", 2)], false)];
    let found = |text: String| answer(&text, suspicions()).findings.len();
    let other = "B|w(x)|\n";
    assert_eq!(found(format!("{other}A|enter(C.m:()V:1)|\n{read}{write}A|exit(1)|\n")), 1, "in callees");
    assert_eq!(
        found(format!("{other}A|enter(C.m:()V:1)|\n{read}A|exit(1)|\nA|enter(C.m:()V:2)|\n{write}A|exit(2)|\n")),
        0,
        "two activations"
    );
    assert_eq!(found(format!("{other}{read}{write}")), 0, "outside");
    // The inner activation of a recursive method has its own pair.
    let inner = format!("A|enter(C.m:()V:2)|\n{write}A|exit(2)|\n");
    assert_eq!(found(format!("{other}A|enter(C.m:()V:1)|\n{read}{inner}A|exit(1)|\n")), 0, "recursion");
    assert_eq!(found(format!("{other}A|enter(C.m:()V:1)|\n{read}{inner}{write}A|exit(1)|\n")), 1, "after recursion");
}

#[test]
fn starting_and_joining_end_a_unit_and_waiting_does_not() {
    let unit = |between: &str| {
        format!(
            "A|enter(C.m:()V:1)|\nA|acq(l)|\nA|r(x)|C.m:()V@1\n{between}A|w(x)|C.m:()V@2\nA|rel(l)|\nA|exit(1)|\nB|acq(l)|\nB|w(x)|\nB|rel(l)|\n"
        )
    };
    assert_eq!(evidence(&unit(""), true), None, "under one lock");
    assert_eq!(evidence(&unit("A|wrel(l)|\nA|wacq(l)|\n"), true), PREDICTED, "`wait` lets the lock go");
    assert_eq!(evidence(&unit("A|wrel(l)|\nA|fork(C)|\nA|wacq(l)|\n"), true), None, "a start divides");
    assert_eq!(evidence(&unit("A|wrel(l)|\nA|join(C)|\nA|wacq(l)|\n"), true), None, "a join divides");
}

#[test]
fn overlapping_units_are_judged_each_on_its_own() {
    let suspicions =
        vec![suspicion(&[at("m", 1)], &[at("m", 3)], false), suspicion(&[at("m", 2)], &[at("m", 4)], false)];
    let text = "A|enter(C.m:()V:1)|\nA|r(x)|C.m:()V@1\nA|r(y)|C.m:()V@2\nA|w(x)|C.m:()V@3\nA|w(y)|C.m:()V@4\nB|w(y)|\n";
    let answered = answer(text, suspicions);
    assert_eq!((answered.findings.len(), answered.units, answered.unsupported), (1, 2, 0));
}

#[test]
fn what_the_creator_does_before_others_know_the_object_disturbs_nobody() {
    let unit = unit("r(C.x@7)", "w(C.x@7)");
    let prepared = "B|new(7)|\nB|w(C.x@7)|\n";
    assert_eq!(evidence(&format!("{prepared}{unit}"), true), None, "handed over");
    assert_eq!(evidence(&format!("{prepared}{unit}B|w(C.x@7)|\n"), true), PREDICTED, "and used again");
    assert_eq!(evidence(&format!("B|new(8)|\nB|w(C.x@7)|\n{unit}"), true), PREDICTED, "another object");
}

#[test]
fn another_thread_that_begins_the_same_unit_is_enough_for_what_is_told() {
    let unit = unit("r(x)", "w(x)");
    let rival = "B|enter(C.m:()V:2)|\nB|acq(l)|\nB|r(x)|C.m:()V@1\nB|rel(l)|\nB|exit(2)|\n";
    let looks = rival.replace("C.m:()V:2", "C.look:()V:2");
    assert_eq!(evidence(&format!("{unit}{looks}"), true), None, "not in the method");
    assert_eq!(evidence(&format!("{unit}{rival}"), true), PREDICTED);
    assert_eq!(evidence(&format!("{unit}{rival}"), false), None, "only suspected");
    assert_eq!(evidence(&format!("{unit}{}", rival.replace("C.m:()V@1", "C.look:()V@1")), true), None, "only looks");
    let unit = format!("A|acq(o)|\n{unit}A|rel(o)|\n");
    assert_eq!(evidence(&format!("{unit}B|acq(o)|\n{rival}B|rel(o)|\n"), true), None, "kept out");
}

#[test]
fn another_thread_in_the_same_method_under_the_same_lock_is_enough_for_what_is_told() {
    let evidence = |text: &str, is_one_variable: bool| {
        let suspicion = suspicion(&[at("m", 1)], &[at("m", 2)], true);
        answer(text, vec![Suspicion { is_one_variable, ..suspicion }]).findings.first().map(|finding| finding.evidence)
    };
    let unit = unit("r(x)", "w(x)");
    let other = "B|enter(C.m:()V:2)|\nB|acq(l)|\nB|r(y)|\nB|rel(l)|\nB|exit(2)|\n";
    assert_eq!(evidence(&format!("{unit}{other}"), true), PREDICTED);
    assert_eq!(evidence(&format!("{unit}{other}"), false), None, "nobody knows what it would have done");
    assert_eq!(evidence(&format!("{unit}{}", other.replace("(l)", "(k)")), true), None, "another lock: another object");
    assert_eq!(evidence(&format!("{unit}{}", other.replace("C.m", "C.n")), true), None, "another method");
    assert_eq!(evidence(&format!("{unit}A|fork(B)|\n{other}"), true), None, "later");
    let kept_out = format!("A|acq(o)|\n{unit}A|rel(o)|\nB|acq(o)|\n{other}B|rel(o)|\n");
    assert_eq!(evidence(&kept_out, true), None, "under a lock around it");
    let whole = format!("A|acq(l)|\n{unit}A|rel(l)|\n");
    assert_eq!(evidence(&format!("{whole}{other}"), true), None, "the lock is held throughout");
    let element = unit.replace("(x)", "(int[]@3[1])");
    assert_eq!(evidence(&format!("{element}{other}"), true), None, "the lock may be for other elements");
}

#[test]
fn a_branch_that_was_not_taken_is_filled_in_for_what_is_told() {
    let asked = |text: &str, is_told: bool, is_one_variable: bool| {
        let suspicion = suspicion(&[at("m", 1)], &[at("m", 2)], is_told);
        let answered = answer(text, vec![Suspicion { is_one_variable, ..suspicion }]);
        answered.findings.first().map(|finding| finding.evidence)
    };
    let half = "A|enter(C.m:()V:1)|\nA|acq(l)|\nA|r(x)|C.m:()V@1\nA|rel(l)|\nA|exit(1)|\n";
    let other = "B|acq(l)|\nB|w(x)|\nB|rel(l)|\n";
    assert_eq!(asked(&format!("{half}{other}"), true, true), PREDICTED);
    assert_eq!(asked(&format!("{other}{half}"), true, true), PREDICTED);
    assert_eq!(asked(&format!("{half}{other}"), true, false), None, "nobody knows what it would have written");
    assert_eq!(asked(&format!("{half}{other}"), false, true), None, "only suspected");
    assert_eq!(asked(half, true, true), None, "nobody else");
    assert_eq!(asked(&format!("{half}{}", other.replace("w(x)", "r(x)")), true, true), None, "only looks");
    // Another execution shows what a second part is about.
    let ran = "A|enter(C.m:()V:2)|\nA|r(x)|C.m:()V@1\nA|w(y)|C.m:()V@2\nA|exit(2)|\nA|fork(B)|\n";
    let closes = "B|acq(l)|\nB|w(x)|\nB|r(y)|\nB|rel(l)|\n";
    assert_eq!(asked(&format!("{ran}{closes}{half}"), true, false), PREDICTED, "as it went before");
    assert_eq!(asked(&format!("{ran}{closes}"), true, false), None, "which was over");
    assert_eq!(asked(&format!("{ran}{closes}{}", half.replace("r(x)", "r(z)")), true, false), None, "another box");
    // Who only begins the same is something only if some execution went on.
    let rival = half.replace("A|", "B|").replace(":1)", ":4)").replace("exit(1)", "exit(4)");
    let elsewhere = "C|enter(C.m:()V:5)|\nC|r(z)|C.m:()V@1\nC|w(z)|C.m:()V@2\nC|exit(5)|\n";
    assert_eq!(asked(&format!("{half}{rival}"), true, true), None, "nobody went on");
    assert_eq!(asked(&format!("{half}{rival}{elsewhere}"), true, true), PREDICTED, "somebody did");
    // Where threads meet before the second part, a first part alone is no unit.
    let meets = "A|enter(C.m:()V:3)|\nA|r(x)|C.m:()V@1\nA|r(x)|C.m:()V@1\nA|arrive(b:1)|\nA|leave(b:1)|\n";
    let met = format!("{meets}A|w(x)|C.m:()V@2\nA|exit(3)|\n");
    assert_eq!(asked(&format!("{met}{other}"), true, true), None, "they meet");
    assert_eq!(asked(&format!("{meets}A|exit(3)|\n{other}"), true, true), PREDICTED, "there is no second");
    assert_eq!(
        asked(&format!("A|acq(o)|\n{half}A|rel(o)|\nB|acq(o)|\n{other}B|rel(o)|\n"), true, true),
        None,
        "kept out"
    );
    assert_eq!(asked(&format!("{other}B|fork(A)|\n{half}"), true, true), None, "before the start");
}

#[test]
fn what_one_call_does_alone_is_that_calls_business() {
    let suspicions = || vec![suspicion(&[at("inner", 1)], &[at("inner", 2)], true)];
    let inner = |number: u32, accesses: &str| format!("A|enter(C.inner:()V:{number})|\n{accesses}A|exit({number})|\n");
    let (read, write) = ("A|r(x)|C.inner:()V@1\n", "A|w(x)|C.inner:()V@2\n");
    let found = |calls: String| {
        answer(&format!("A|enter(C.m:()V:1)|\n{calls}A|exit(1)|\nB|w(x)|\n"), suspicions()).findings.len()
    };
    assert_eq!(found(inner(2, &format!("{read}{write}"))), 0);
    assert_eq!(found(inner(2, read) + &inner(3, write)), 1, "two calls");
    assert_eq!(found(format!("{read}{}", inner(3, write))), 1, "outside and inside");
}

#[test]
fn parts_that_are_tasks_make_a_unit_wherever_they_run() {
    let suspicions = || vec![Suspicion { is_split: true, ..suspicion(&[at("get", 1)], &[at("set", 2)], true) }];
    let evidence = |text: &str| answer(text, suspicions()).findings.first().map(|finding| finding.evidence);
    let (read, write) = ("A|r(x)|C.get:()V@1\n", "|w(x)|C.set:()V@2\n");
    assert_eq!(evidence(&format!("{read}A{write}C|w(x)|\n")), PREDICTED, "in one thread");
    assert_eq!(evidence(&format!("{read}A|arrive(t:1)|\nB|leave(t:1)|\nB{write}C|w(x)|\n")), PREDICTED, "handed on");
    assert_eq!(evidence(&format!("{read}A|arrive(t:1)|\nC|w(x)|\nB|leave(t:1)|\nB{write}")), OBSERVED, "in between");
    assert_eq!(evidence(&format!("{read}B{write}C|w(x)|\n")), None, "another task");
    assert_eq!(evidence(&format!("{read}A|arrive(t:1)|\nB|leave(t:1)|\nB{write}A|w(x)|\n")), None, "its own threads");
}

#[test]
fn volatile_accesses_that_overlap_are_not_observed() {
    let text = |interval: &str| {
        format!(
            "A|enter(C.m:()V:1)|\nA|vr(x){{b1,a3}}|C.m:()V@1\nB|vw(x){{{interval}}}|\nA|vw(x){{b9,a10}}|C.m:()V@2\n"
        )
    };
    assert_eq!(evidence(&text("b4,a8"), false), OBSERVED);
    assert_eq!(evidence(&text("b2,a8"), false), PREDICTED);
}

#[test]
fn who_takes_turns_by_something_else_is_kept_apart() {
    let done = |thread: &str, what: &str, site: &str| format!("{thread}|w({what})|P.{site}:()V@1\n");
    let unit = |thread: &str| unit("r(C.x@7)", "w(C.x@7)").replace("A|", &format!("{thread}|"));
    let turn = |thread: &str, what: &str, give: &str| {
        format!("{}{}{}", done(thread, what, "take"), unit(thread), done(thread, what, give))
    };
    let pool = |thread: &str| turn(thread, "Pool.free@9", "give");
    let turns = ["A", "B", "A", "C", "B", "A"].map(pool).concat();
    assert_eq!(evidence(&turns, true), None);
    assert_eq!(evidence(&["A", "B"].map(pool).concat(), true), PREDICTED, "it may be chance");
    assert_eq!(evidence(&format!("{turns}{}", unit("B")), true), PREDICTED, "not taken out");
    let kept = format!("{}{}", pool("B"), unit("B"));
    assert_eq!(evidence(&format!("{turns}{kept}{}", pool("A")), true), PREDICTED, "used after it was given back");
    let jobs = ["A", "B", "A", "C", "B", "A"].map(|thread| turn(thread, "Jobs.queue@9", "take")).concat();
    assert_eq!(evidence(&jobs, true), PREDICTED, "each takes something, and gives nothing back");
    let others = [("A", 1), ("B", 2), ("A", 3), ("C", 4), ("B", 5), ("A", 6)];
    let others = others.map(|(thread, number)| turn(thread, &format!("Log.lines@{number}"), "give")).concat();
    assert_eq!(evidence(&others, true), PREDICTED, "never the same thing");
    // Each hands it on to the next by a queue of their own.
    let stage = |thread: &str, from: u32, to: u32| {
        let (take, give) = (format!("Queue@{from}{{}}"), format!("Queue@{to}{{}}"));
        format!("{}{}{}", done(thread, &take, "take"), unit(thread), done(thread, &give, "give"))
    };
    let line = ["A", "B", "C", "D", "E"].iter().zip(20..).map(|(thread, queue)| stage(thread, queue, queue + 1));
    assert_eq!(evidence(&line.collect::<String>(), true), None, "from stage to stage");
    // The event of who put it there may come after what the other one does with it.
    let overlapping: String = ["A", "B", "A", "B", "A"].iter().zip(["B", "A", "B", "A", "B"]).enumerate().map(|(turn, (thread, next))| {
        let (first, last) = (turn * 10, turn * 10 + 5);
        format!(
            "{}{next}|mu(Queue@9{{}}){{b{},a{}}}|P.take:()V@1\n{next}|r(C.x@7)|\n{thread}|mw(Queue@9{{}}){{b{first},a{last}}}|P.give:()V@1\n",
            unit(thread), first + 1, last - 1
        )
    }).collect();
    assert_eq!(evidence(&overlapping, true), None, "told late");
    // What may wait is told in two parts, and the other one may be done before the second.
    let waiting = "A|mr(Queue@9{}){b0,a20}|P.give:()V@1\nB|mu(Queue@9{}){b2,a3}|P.take:()V@1\nB|r(C.x@7)|\n\
                   A|mw(Queue@9{}){b21,a22}|P.give:()V@1\n";
    let waiting = (0..4).map(|turn| {
        let later = |text: &str, number: u32| text.replace(&format!("{number},"), &format!("{},", number + turn * 30));
        let text = [0, 2, 21].iter().fold(waiting.to_owned(), |text, number| later(&text, *number));
        let text = [20, 3, 22]
            .iter()
            .fold(text, |text, number| text.replace(&format!("a{number}}}"), &format!("a{}}}", number + turn * 30)));
        let (a, b) = if turn % 2 == 0 { ("A|", "B|") } else { ("B|", "A|") };
        format!("{}{}", unit("A"), text).replace("A|", "?|").replace("B|", b).replace("?|", a)
    });
    assert_eq!(evidence(&waiting.collect::<String>(), true), None, "told in two parts");
    let between = unit("A").replacen("A|rel(l)|\n", &format!("A|rel(l)|\n{}", pool("B")), 1);
    let between = format!("{}{between}{}", done("A", "Pool.free@9", "take"), done("A", "Pool.free@9", "give"));
    assert_eq!(evidence(&format!("{turns}{between}"), true), OBSERVED);
}

#[test]
fn the_order_of_threads_outlives_what_is_forgotten() {
    let unit = unit("r(x)", "w(x)");
    let tasks: String = (0..5000).map(|task| format!("M|arrive(t{task}:0)|\nW|leave(t{task}:0)|\nW|w(y)|\n")).collect();
    let asked = |text: &str| {
        let answered = answer_within(500, text, vec![suspicion(&[at("m", 1)], &[at("m", 2)], true)]);
        assert!(answered.forgot > 0 && answered.forgot < 5000, "{}", answered.forgot);
        answered.findings.first().map(|finding| finding.evidence)
    };
    assert_eq!(asked(&format!("{unit}{tasks}M|w(x)|\n")), PREDICTED);
    assert_eq!(asked(&format!("{unit}M|join(A)|\n{tasks}M|w(x)|\n")), None, "after it was over");
    assert_eq!(asked(&format!("{unit}M|join(A)|\n{tasks}W|w(x)|\n")), None, "by way of a task");
    assert_eq!(
        asked(&format!("{unit}A|arrive(late:0)|\n{tasks}M|leave(late:0)|\nM|w(x)|\n")),
        None,
        "waited for since"
    );
}

#[test]
fn two_accesses_of_one_section_fit_under_a_lock_whichever_section_of_many_it_is() {
    let unit = "A|acq(o)|\nA|enter(C.m:()V:1)|\nA|r(x)|C.m:()V@1\nA|r(y)|C.m:()V@2\nA|exit(1)|\nA|rel(o)|\n";
    let both = "B|acq(l)|\nB|w(x)|\nB|w(y)|\nB|rel(l)|\n";
    let one = |variable: &str| format!("B|acq(l)|\nB|w({variable})|\nB|rel(l)|\n");
    assert_eq!(evidence(&format!("{unit}{both}"), false), PREDICTED);
    assert_eq!(evidence(&format!("{unit}{both}{}", one("y")), false), PREDICTED, "the first one");
    assert_eq!(evidence(&format!("{unit}{}{both}", one("x")), false), PREDICTED, "the last one");
    assert_eq!(evidence(&format!("{unit}{}{}", one("x"), one("y")), false), None, "it may take the lock in between");
}

/// One thread with a unit, others with sections; the twin tries every pair of accesses of every other thread.
#[test]
fn the_search_agrees_with_trying_every_pair() {
    let rounds = if std::env::var_os("FISSURE_LONG").is_some() { 200_000 } else { 25_000 };
    let mut supported = 0;
    for seed in 0..rounds {
        let mut random = Random::new(seed);
        let name = |random: &mut Random, names: &[&'static str]| names[random.below(names.len() as u64) as usize];
        let outer = random.one_in(2).then(|| name(&mut random, &["k", "l"]));
        let kinds = ["r", "w"];
        let (p, q) = (name(&mut random, &kinds), name(&mut random, &kinds));
        let (x, y) = (name(&mut random, &["x", "y"]), name(&mut random, &["x", "y"]));
        let mut text = String::new();
        outer.into_iter().for_each(|lock| text += &format!("A|acq({lock})|\n"));
        // Locks inside the unit: none, one for each part, one for both, or one handed over to the next.
        let (a, b) = (name(&mut random, &["k", "l", "m"]), name(&mut random, &["k", "l", "m"]));
        let acq = |lock: &str| format!("A|acq({lock})|\n");
        let rel = |lock: &str| format!("A|rel({lock})|\n");
        let (before, between, after, kept) = match random.below(4) {
            0 => Default::default(),
            1 => (acq(a), rel(a) + &acq(b), rel(b), None),
            2 => (acq(a), String::new(), rel(a), Some(a)),
            _ => (acq(a), acq(b) + &rel(a), rel(b), (a == b).then_some(a)),
        };
        let throughout: Vec<&str> = outer.into_iter().chain(kept).collect();
        text += &format!("A|enter(C.m:()V:1)|\n{before}A|{p}({x})|C.m:()V@1\n");
        text += &format!("{between}A|{q}({y})|C.m:()V@2\n{after}A|exit(1)|\n");
        outer.into_iter().for_each(|lock| text += &format!("A|rel({lock})|\n"));
        let mut expected = false;
        for thread in ["B", "C"] {
            // Sections of one thread, each under one lock or none.
            let mut done: Vec<(usize, Option<&str>, &str, &str)> = Vec::new();
            for section in 0..1 + random.below(2) as usize {
                let lock = (!random.one_in(3)).then(|| name(&mut random, &["k", "l", "m"]));
                lock.into_iter().for_each(|lock| text += &format!("{thread}|acq({lock})|\n"));
                for _ in 0..1 + random.below(2) {
                    let (kind, variable) = (name(&mut random, &kinds), name(&mut random, &["x", "y", "z"]));
                    text += &format!("{thread}|{kind}({variable})|\n");
                    done.push((section, lock, kind, variable));
                }
                lock.into_iter().for_each(|lock| text += &format!("{thread}|rel({lock})|\n"));
            }
            for (i, a) in done.iter().enumerate() {
                for b in &done[i..] {
                    let conflict = |kind: &str, variable: &str, other: &(usize, Option<&str>, &str, &str)| {
                        variable == other.3 && (kind == "w" || other.2 == "w")
                    };
                    let is_out = |lock: Option<&str>| lock.is_some_and(|lock| throughout.contains(&lock));
                    let free = !is_out(a.1) && !is_out(b.1);
                    // Under a lock that is held throughout, only one stretch without a lock taken or one section.
                    let close = throughout.is_empty() || (a.0 == b.0 && (a.1.is_some() || std::ptr::eq(a, b)));
                    expected |= free && close && conflict(p, x, a) && conflict(q, y, b);
                }
            }
        }
        let found = evidence(&text, false).is_some();
        assert_eq!(found, expected, "seed {seed}\n{text}");
        supported += u64::from(found);
    }
    assert!(supported > rounds / 20 && supported < rounds * 3 / 4, "{supported} of {rounds}");
}

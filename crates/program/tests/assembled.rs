//! Code that no compiler of today writes: subroutines, odd handlers, all forms of stack instructions, extreme sizes.

mod support;

use classfile::{ClassSource, Constant};
use program::ir::{Body, Op};
use program::{ControlDependence, Known, Problem, Program, Sections};
use support::assembler::{Assembler, Code, Guard};
use support::laws;

const NULL: u8 = 1;
const INT_1: u8 = 4;
const LONG_0: u8 = 9;
const LONG_1: u8 = 10;
const LOAD_0: u8 = 26;
const REFERENCE_LOAD_0: u8 = 42;
const STORE_REFERENCE_0: u8 = 75;
const STORE_REFERENCE_1: u8 = 76;
const STORE_REFERENCE_2: u8 = 77;
const POP: u8 = 87;
const ADD: u8 = 96;
const IF_EQUAL: u8 = 153;
const IF_NOT_EQUAL: u8 = 154;
const GOTO: u8 = 167;
const JSR: u8 = 168;
const RET: u8 = 169;
const TABLE_SWITCH: u8 = 170;
const RETURN: u8 = 177;
const GET_FIELD: u8 = 180;
const CALL_STATIC: u8 = 184;
const THROW: u8 = 191;
const CAST: u8 = 192;
const ENTER: u8 = 194;
const EXIT: u8 = 195;
const WIDE: u8 = 196;

/// The last version that allows subroutines without doubt.
const OLD: u16 = 48;

fn load(bytes: Vec<u8>) -> Program {
    let program = Program::load(vec![ClassSource { path: "Made.class".to_owned(), bytes }], Known::default());
    assert_eq!(program.skipped(), []);
    program
}

/// The body of the only method, which keeps the laws.
fn translate(descriptor: &str, max_locals: u16, code: &Code, guards: &[Guard]) -> Result<Body, String> {
    let mut assembler = Assembler::new("Made", "java/lang/Object", OLD);
    assembler.method("run", descriptor, max_locals, &code.bytes(), guards);
    only_body(&load(assembler.finish()))
}

fn only_body(program: &Program) -> Result<Body, String> {
    let method = program.methods().next().expect("there is one method");
    let body = program.body(method).map_err(|unreadable| unreadable.reason.to_string())?.expect("it has code");
    laws::check(&body).unwrap_or_else(|broken| panic!("{broken}"));
    Sections::of(&body, program);
    ControlDependence::of(&body);
    Ok(body)
}

#[test]
fn a_subroutine_is_copied_for_each_call() {
    let code = Code::default().jump(JSR, "sub").jump(JSR, "sub").op(&[RETURN]).label("sub").op(&[
        STORE_REFERENCE_0,
        0,
        RET,
        0,
    ]);
    // Three pieces of the main part, and the subroutine twice.
    assert_eq!(translate("()V", 1, &code, &[]).unwrap().block_count(), 5);
}

#[test]
fn subroutines_inside_subroutines() {
    let code = Code::default()
        .jump(JSR, "outer")
        .op(&[RETURN])
        .label("outer")
        .op(&[STORE_REFERENCE_0])
        .jump(JSR, "inner")
        .op(&[RET, 0])
        .label("inner")
        .op(&[STORE_REFERENCE_1, RET, 1]);
    assert_eq!(translate("()V", 2, &code, &[]).unwrap().block_count(), 5);
}

#[test]
fn a_return_to_the_outer_of_two_calls() {
    let code = Code::default()
        .jump(JSR, "outer")
        .op(&[RETURN])
        .label("outer")
        .op(&[STORE_REFERENCE_0])
        .jump(JSR, "inner")
        .op(&[RET, 0])
        .label("inner")
        .op(&[STORE_REFERENCE_1, RET, 0]);
    // What stands behind the inner call is never reached.
    assert_eq!(translate("()V", 2, &code, &[]).unwrap().block_count(), 4);
}

#[test]
fn a_subroutine_in_a_loop() {
    let code = Code::default()
        .label("loop")
        .jump(JSR, "sub")
        .op(&[LOAD_0])
        .jump(IF_NOT_EQUAL, "loop")
        .op(&[RETURN])
        .label("sub")
        .op(&[STORE_REFERENCE_2, RET, 2]);
    // The entry, since the loop begins at the first instruction.
    assert_eq!(translate("(I)V", 3, &code, &[]).unwrap().block_count(), 5);
}

#[test]
fn wrong_subroutines_are_errors() {
    let recursive = Code::default().label("sub").op(&[STORE_REFERENCE_0]).jump(JSR, "sub").op(&[RETURN]);
    let error = translate("()V", 1, &Code::default().op(&[RET, 0]), &[]).unwrap_err();
    assert!(error.contains("`ret` outside a subroutine"), "{error}");
    let entered = Code::default().jump(JSR, "sub").label("sub").op(&[STORE_REFERENCE_0]).jump(JSR, "sub").op(&[RETURN]);
    let error = translate("()V", 1, &entered, &[]).unwrap_err();
    assert!(error.contains("a subroutine calls itself"), "{error}");
    assert!(translate("()V", 1, &recursive, &[]).is_err());
}

/// Each level calls the next one twice: copies would double at every level.
#[test]
fn subroutines_do_not_multiply_without_end() {
    let mut code = Code::default();
    const LEVELS: [&str; 24] = [
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v",
        "w", "x",
    ];
    code = code.jump(JSR, "a").op(&[RETURN]);
    for (slot, level) in LEVELS.iter().enumerate() {
        code = code.label(level).op(&[58, slot as u8]);
        if let Some(next) = LEVELS.get(slot + 1) {
            code = code.jump(JSR, next).jump(JSR, next);
        }
        code = code.op(&[RET, slot as u8]);
    }
    let error = translate("()V", 30, &code, &[]).unwrap_err();
    assert!(error.contains("too complex"), "{error}");
}

#[test]
fn a_jump_to_the_first_instruction_gets_an_entry_of_its_own() {
    let code = Code::default().label("start").op(&[LOAD_0]).jump(IF_NOT_EQUAL, "start").op(&[RETURN]);
    let body = translate("(I)V", 1, &code, &[]).unwrap();
    assert_eq!(body.block_count(), 3);
}

#[test]
fn handlers_without_a_range_are_nothing() {
    let code = Code::default().op(&[NULL, POP]).label("mid").op(&[RETURN]).label("handler").op(&[POP, RETURN]);
    let (mid, handler) = (code.at("mid"), code.at("handler"));
    for (start, end) in [(mid, mid), (mid, 0)] {
        let body = translate("()V", 1, &code, &[Guard { start, end, handler }]).unwrap();
        assert_eq!(body.block_count(), 1);
    }
}

#[test]
fn a_handler_that_covers_itself() {
    let mut assembler = Assembler::new("Made", "java/lang/Object", OLD);
    let call = assembler.method_ref("Other", "work", "()V");
    let code = Code::default()
        .indexed(CALL_STATIC, call)
        .op(&[RETURN])
        .label("handler")
        .op(&[POP])
        .indexed(CALL_STATIC, call)
        .label("end")
        .op(&[RETURN]);
    let guard = Guard { start: 0, end: code.at("end"), handler: code.at("handler") };
    assembler.method("run", "()V", 1, &code.bytes(), &[guard]);
    let body = only_body(&load(assembler.finish())).unwrap();
    let (id, handler) = body.blocks().find(|(_, block)| block.pc == u32::from(code.at("handler"))).unwrap();
    assert!(handler.handlers.contains(&id));
}

#[test]
fn a_monitor_that_its_own_handler_covers_is_one_section() {
    let code = Code::default()
        .op(&[REFERENCE_LOAD_0, ENTER])
        .label("start")
        .op(&[REFERENCE_LOAD_0, EXIT, RETURN])
        .label("handler")
        .op(&[REFERENCE_LOAD_0, EXIT, THROW])
        .label("end");
    let mut assembler = Assembler::new("Made", "java/lang/Object", OLD);
    let guards = ["start", "handler"].map(|from| Guard {
        start: code.at(from),
        end: code.at("end") - 1,
        handler: code.at("handler"),
    });
    assembler.method("run", "(Ljava/lang/Object;)V", 1, &code.bytes(), &guards);
    let program = load(assembler.finish());
    let body = only_body(&program).unwrap();
    let sections = Sections::of(&body, &program);
    assert_eq!(sections.iter().len(), 1);
    assert_eq!(sections.problems(), []);
    assert!(sections.iter().all(|(_, section)| section.ends.len() == 1));
}

#[test]
fn stack_instructions_in_all_forms() {
    // Instructions, then a call that takes the whole stack: what it gets is what the stack held.
    let (one, two, three, four) = (4, 5, 6, 7);
    let cases: &[(&[u8], &str, &[i64])] = &[
        (&[one, 89], "(II)V", &[1, 1]),
        (&[one, two, 90], "(III)V", &[2, 1, 2]),
        (&[one, two, three, 91], "(IIII)V", &[3, 1, 2, 3]),
        (&[LONG_0, two, 91], "(IJI)V", &[2, 0, 2]),
        (&[one, two, 92], "(IIII)V", &[1, 2, 1, 2]),
        (&[LONG_1, 92], "(JJ)V", &[1, 1]),
        (&[one, two, three, 93], "(IIIII)V", &[2, 3, 1, 2, 3]),
        (&[two, LONG_1, 93], "(JIJ)V", &[1, 2, 1]),
        (&[one, two, three, four, 94], "(IIIIII)V", &[3, 4, 1, 2, 3, 4]),
        (&[two, three, LONG_0, 94], "(JIIJ)V", &[0, 2, 3, 0]),
        (&[LONG_0, two, three, 94], "(IIJII)V", &[2, 3, 0, 2, 3]),
        (&[LONG_0, LONG_1, 94], "(JJJ)V", &[1, 0, 1]),
        (&[one, two, 95], "(II)V", &[2, 1]),
        (&[one, two, three, 88], "(I)V", &[1]),
        (&[one, LONG_0, 88], "(I)V", &[1]),
    ];
    for (instructions, descriptor, expected) in cases {
        let mut assembler = Assembler::new("Made", "java/lang/Object", OLD);
        let call = assembler.method_ref("Other", "take", descriptor);
        let code = Code::default().op(instructions).indexed(CALL_STATIC, call).op(&[RETURN]);
        assembler.method("run", "()V", 0, &code.bytes(), &[]);
        let body = only_body(&load(assembler.finish())).unwrap();
        let taken = body.instructions().find_map(|(_, instruction)| match instruction.op {
            Op::Call { arguments, .. } => Some(body.operands(arguments)),
            _ => None,
        });
        let values: Vec<i64> = taken
            .unwrap()
            .iter()
            .map(|value| match body.op(*value) {
                Op::Constant(Constant::Int(value)) => i64::from(*value),
                Op::Constant(Constant::Long(value)) => *value,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(values, *expected, "{instructions:?} {descriptor}");
    }
}

#[test]
fn code_that_is_never_reached_is_not_translated() {
    // The additions would find an empty stack.
    let code = Code::default().jump(GOTO, "end").op(&[ADD, ADD]).label("end").op(&[NULL, THROW, ADD, RETURN]);
    let body = translate("()V", 0, &code, &[]).unwrap();
    assert_eq!(body.block_count(), 2);
}

#[test]
fn wide_instructions() {
    let code = Code::default()
        .op(&[INT_1, WIDE, 54, 1, 44])
        .op(&[WIDE, 132, 1, 44, 0xfe, 0x0c])
        .op(&[WIDE, 21, 1, 44, POP])
        .jump(JSR, "sub")
        .op(&[RETURN])
        .label("sub")
        .op(&[WIDE, 58, 1, 45, WIDE, RET, 1, 45]);
    let body = translate("()V", 400, &code, &[]).unwrap();
    let added = body.instructions().any(|(_, instruction)| instruction.op == Op::Constant(Constant::Int(-500)));
    assert!(added);
}

#[test]
fn a_switch_with_very_many_cases() {
    const CASES: i32 = 10_000;
    let mut bytes = vec![LOAD_0, TABLE_SWITCH, 0, 0];
    let end = 4 + 12 + 4 * CASES - 1;
    for word in [end, 0, CASES - 1] {
        bytes.extend_from_slice(&word.to_be_bytes());
    }
    for _ in 0..CASES {
        bytes.extend_from_slice(&end.to_be_bytes());
    }
    bytes.push(RETURN);
    let body = translate("(I)V", 1, &Code::default().op(&bytes), &[]).unwrap();
    assert_eq!(body.block_count(), 2);
    assert_eq!(body.block(program::ir::BlockId::ENTRY).successors.len(), CASES as usize + 1);
}

#[test]
fn code_of_the_greatest_size() {
    let mut bytes = vec![0; 65_534];
    bytes.push(RETURN);
    assert_eq!(translate("()V", 0, &Code::default().op(&bytes), &[]).unwrap().value_count(), 1);
    let mut branches = Vec::new();
    while branches.len() < 65_530 {
        branches.extend([LOAD_0, IF_EQUAL, 0, 4, 0]);
    }
    branches.push(RETURN);
    assert!(translate("(I)V", 1, &Code::default().op(&branches), &[]).unwrap().block_count() > 10_000);
}

/// A chain as long as the code must not become a recursion as deep.
#[test]
fn long_chains_of_loads_and_casts() {
    let mut assembler = Assembler::new("Made", "java/lang/Object", OLD);
    let next = assembler.field_ref("Made", "next", "LMade;");
    let class = assembler.class("Made");
    for (name, opcode, index) in [("loads", GET_FIELD, next), ("casts", CAST, class)] {
        let mut code = Code::default().op(&[REFERENCE_LOAD_0]);
        for _ in 0..21_000 {
            code = code.indexed(opcode, index);
        }
        code = code.op(&[89, STORE_REFERENCE_1, ENTER, 43, EXIT, RETURN]);
        assembler.method(name, "(LMade;)V", 2, &code.bytes(), &[]);
    }
    let program = load(assembler.finish());
    for method in program.methods() {
        let body = program.body(method).unwrap().unwrap();
        laws::check(&body).unwrap();
        let sections = Sections::of(&body, &program);
        assert_eq!(sections.problems(), []);
        let locks: Vec<String> =
            sections.iter().map(|(_, section)| section.lock.readable(&body, &program.names)).collect();
        let is_chain = program.names.text(program.method(method).name) == "loads";
        assert_eq!(locks, [if is_chain { "*" } else { "parameter 0" }]);
    }
}

/// As many sections as fit, each begun in a block of its own and none ended.
#[test]
fn too_many_sections_are_listed_and_not_followed() {
    let mut bytes = Vec::new();
    while bytes.len() < 65_500 {
        bytes.extend([REFERENCE_LOAD_0, ENTER, 27, IF_EQUAL, 0, 4, 0]);
    }
    bytes.push(RETURN);
    let mut assembler = Assembler::new("Made", "java/lang/Object", OLD);
    assembler.method("run", "(Ljava/lang/Object;I)V", 2, &bytes, &[]);
    let program = load(assembler.finish());
    let body = only_body(&program).unwrap();
    let sections = Sections::of(&body, &program);
    assert!(sections.is_empty());
    assert_eq!(sections.problems(), [Problem::TooComplex]);
}

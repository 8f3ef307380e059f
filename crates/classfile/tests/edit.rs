//! The code editor, told by the reader: edited code is the old code with insertions, and everything that names a place
//! still names the same one.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod jdk;

use classfile::edit::{ClassEditor, EditError, Limit, LocalsAtHandler, Place, Snippet, op};
use classfile::{Class, Code, Operation};
use location::Names;

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// What was inserted at one instruction, in numbers of `nop`.
#[derive(Clone, Copy, Default)]
struct Inserted {
    before: usize,
    after: usize,
}

fn nops(count: usize) -> Snippet {
    let mut snippet = Snippet::new();
    for _ in 0..count {
        snippet.simple(0, 0);
    }
    snippet
}

/// Every target of an instruction.
fn targets(operation: &Operation) -> Vec<u32> {
    match operation {
        Operation::Branch { target, .. } | Operation::Goto(target) | Operation::JumpSubroutine(target) => vec![*target],
        Operation::Switch(switch) => {
            std::iter::once(switch.default).chain(switch.cases.iter().map(|(_, target)| *target)).collect()
        }
        _ => Vec::new(),
    }
}

/// An instruction without its targets.
fn shape(operation: &Operation) -> String {
    match operation {
        Operation::Branch { condition, against, .. } => format!("{condition:?} {against:?}"),
        Operation::Goto(_) => "goto".to_owned(),
        Operation::JumpSubroutine(_) => "jsr".to_owned(),
        Operation::Switch(switch) => {
            format!("switch {:?}", switch.cases.iter().map(|(key, _)| *key).collect::<Vec<_>>())
        }
        other => format!("{other:?}"),
    }
}

#[track_caller]
fn compare(old: &Code, new: &Code, inserted: &[Inserted], at_entry: usize, context: &str) {
    let mut at = 0;
    let skip = |at: &mut usize, count: usize| {
        for _ in 0..count {
            assert!(matches!(new.instructions[*at].operation, Operation::Nop), "{context}");
            *at += 1;
        }
    };
    skip(&mut at, at_entry);
    // Where each old instruction is now: with what runs before it, and itself.
    let (mut starts, mut itself) = (Vec::new(), Vec::new());
    for (instruction, inserted) in old.instructions.iter().zip(inserted) {
        starts.push(new.instructions[at].pc);
        skip(&mut at, inserted.before);
        assert_eq!(shape(&new.instructions[at].operation), shape(&instruction.operation), "{context}");
        itself.push(at);
        at += 1;
        skip(&mut at, inserted.after);
    }
    let end = new.instructions.get(at).map(|instruction| instruction.pc);
    let index = |pc: u32| old.instructions.binary_search_by_key(&pc, |one| one.pc).unwrap();
    let start = |pc: u32| starts[index(pc)];
    for (instruction, at) in old.instructions.iter().zip(&itself) {
        let expected: Vec<u32> = targets(&instruction.operation).into_iter().map(start).collect();
        assert_eq!(targets(&new.instructions[*at].operation), expected, "{context} at {}", instruction.pc);
    }
    for (old_handler, handler) in old.handlers.iter().zip(&new.handlers) {
        // What follows a monitorenter belongs to the range that begins there.
        let entering = index(old_handler.start).checked_sub(1);
        let entering = entering.filter(|at| matches!(old.instructions[*at].operation, Operation::MonitorEnter));
        let from = entering.map_or(start(old_handler.start), |at| new.instructions[itself[at] + 1].pc);
        assert_eq!((handler.start, handler.handler), (from, start(old_handler.handler)), "{context}");
        let last = old.instructions.partition_point(|one| one.pc < old_handler.end) - 1;
        let behind = new.instructions.get(itself[last] + 1).map_or(handler.end, |one| one.pc);
        assert_eq!(handler.end, behind, "{context}: a handler ends with its last instruction");
    }
    for ((pc, line), moved) in old.lines.iter().zip(&new.lines) {
        assert_eq!((start(*pc), *line), *moved, "{context}");
    }
    for (local, moved) in old.locals.iter().zip(&new.locals) {
        let position = old.instructions.partition_point(|one| one.pc < local.end);
        let expected = starts.get(position).copied().or(end).unwrap_or(moved.end);
        assert_eq!((moved.start, moved.end, moved.slot), (start(local.start), expected, local.slot), "{context}");
    }
}

/// Inserts at random places of every method, and compares.
fn edit_at_random(bytes: &[u8], random: &mut Random) -> usize {
    let names = Names::new();
    let class = Class::read(bytes).unwrap();
    let mut editor = ClassEditor::read(bytes).unwrap();
    let mut edits = Vec::new();
    for method in 0..editor.methods().len() {
        let Some(mut code) = editor.code(method).unwrap() else { continue };
        let mut inserted = vec![Inserted::default(); code.instruction_count()];
        let at_entry = random.below(3) as usize;
        code.insert_at_entry(&nops(at_entry));
        for (index, inserted) in inserted.iter_mut().enumerate() {
            let instruction = code.instruction(index);
            if random.below(3) == 0 {
                inserted.before = random.below(4) as usize;
                code.insert(instruction.pc, Place::Before, &nops(inserted.before));
            }
            let ends_here = matches!(
                instruction.opcode,
                op::GOTO | op::TABLESWITCH | op::LOOKUPSWITCH | op::IRETURN..=op::RETURN | op::ATHROW
            );
            if random.below(3) == 0 && !ends_here {
                inserted.after = 1;
                code.insert(instruction.pc, Place::After, &nops(1));
            }
        }
        match editor.set_code(method, code) {
            Ok(()) => edits.push((method, at_entry, inserted)),
            Err(EditError::Limit(_)) => {}
            Err(EditError::Class(error)) => panic!("{error}"),
        }
    }
    let edited = editor.finish();
    let new = Class::read(&edited).unwrap();
    let header = class.header(&names).unwrap();
    assert_eq!(format!("{header:?}"), format!("{:?}", new.header(&names).unwrap()));
    for (method, at_entry, inserted) in &edits {
        let old = class.code(*method, &names).unwrap().unwrap();
        let new = new.code(*method, &names).unwrap().unwrap();
        let has_far_jumps = new.instructions.last().unwrap().pc > 0x7fff;
        if old.instructions.iter().all(|one| !matches!(one.operation, Operation::Nop)) && !has_far_jumps {
            let context = format!("{}.{}", names.text(header.name.0), names.text(header.methods[*method].name));
            compare(&old, &new, inserted, *at_entry, &context);
        }
    }
    edits.len()
}

#[test]
fn edits_keep_all_places() {
    let contents = jdk::classes();
    let step = if std::env::var_os("FISSURE_LONG").is_some() { 1 } else { 40 };
    let mut random = Random(88_172_645_463_325_252);
    let edited: usize =
        contents.sources.iter().step_by(step).map(|source| edit_at_random(&source.bytes, &mut random)).sum();
    assert!(edited > 1_000);
}

#[test]
fn unedited_classes_stay_byte_by_byte() {
    for source in jdk::classes().sources.iter().step_by(50) {
        let editor = ClassEditor::read(&source.bytes).unwrap();
        assert!(!editor.is_edited());
        assert_eq!(editor.finish(), source.bytes, "{}", source.path);
    }
}

/// A class with one method, `static void m()`, of this code, and no frames.
fn class_with(code: &[u8], major: u16) -> Vec<u8> {
    let mut bytes = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0];
    bytes.extend(major.to_be_bytes());
    bytes.extend(8u16.to_be_bytes());
    for text in ["C", "java/lang/Object", "m", "()V", "Code"] {
        bytes.push(1);
        bytes.extend((text.len() as u16).to_be_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes.extend([7, 0, 1, 7, 0, 2]);
    bytes.extend([0, 1, 0, 6, 0, 7, 0, 0, 0, 0, 0, 1]);
    bytes.extend([0, 8, 0, 3, 0, 4, 0, 1, 0, 5]);
    bytes.extend((12 + code.len() as u32).to_be_bytes());
    bytes.extend([0, 2, 0, 1]);
    bytes.extend((code.len() as u32).to_be_bytes());
    bytes.extend_from_slice(code);
    bytes.extend([0, 0, 0, 0, 0, 0]);
    bytes
}

/// Puts so many `nop` before the instruction at `pc`.
fn stretched(bytes: &[u8], pc: u32, count: usize) -> Result<Code, EditError> {
    let mut editor = ClassEditor::read(bytes).unwrap();
    let mut code = editor.code(0).unwrap().unwrap();
    code.insert(pc, Place::Before, &nops(count));
    editor.set_code(0, code)?;
    Ok(Class::read(&editor.finish()).unwrap().code(0, &Names::new()).unwrap().unwrap())
}

#[test]
fn jumps_that_no_longer_reach_become_far_ones() {
    // 0: goto 4; 3: nop; 4: jsr 8; 7: return; 8: astore_0; 9: ret 0
    let bytes = class_with(&[167, 0, 4, 0, 168, 0, 4, 177, 75, 169, 0], 48);
    let code = stretched(&bytes, 3, 40_000).unwrap();
    assert!(matches!(code.instructions[0].operation, Operation::Goto(40_006)));
    // A far jump is two bytes longer.
    assert_eq!(code.instructions[1].pc, 5);
    let jsr = &code.instructions[40_002];
    assert!(matches!(jsr.operation, Operation::JumpSubroutine(target) if target == jsr.pc + 4));
}

#[test]
fn conditional_jumps_are_turned_round() {
    // 0: iconst_0; 1: ifeq 5; 4: nop; 5: return
    let bytes = class_with(&[3, 153, 0, 4, 0, 177], 48);
    let code = stretched(&bytes, 4, 40_000).unwrap();
    let end = code.instructions.last().unwrap().pc;
    let Operation::Branch { condition, target, .. } = code.instructions[1].operation else { panic!() };
    assert_eq!((condition, target), (classfile::Condition::NotEqual, code.instructions[3].pc));
    assert!(matches!(code.instructions[2].operation, Operation::Goto(target) if target == end));
    // Backward as well, over the limit by one.
    // 0: nop; 1: aconst_null; 2: ifnull 0; 5: return
    let bytes = class_with(&[0, 1, 198, 255, 254, 177], 48);
    assert_eq!(stretched(&bytes, 1, 32_766).unwrap().instructions.len(), 32_766 + 4);
    assert_eq!(stretched(&bytes, 1, 32_767).unwrap().instructions.len(), 32_767 + 5);
}

/// The same class with a table of frames: `same` frames at these distances.
fn with_frames(mut bytes: Vec<u8>, code_length: usize, distances: &[u8]) -> Vec<u8> {
    // The name of the table takes the place of a constant that nobody needs for this: it is added as the last one.
    let pool_end = bytes.windows(6).position(|window| window == [7, 0, 1, 7, 0, 2]).unwrap() + 6;
    let mut name = vec![1, 0, 13];
    name.extend(b"StackMapTable");
    let grown = name.len();
    bytes.splice(pool_end..pool_end, name);
    bytes[9] += 1;
    let code_attribute = pool_end + grown + 12 + 10;
    let table = 2 + distances.len() as u32;
    let length = 12 + code_length as u32 + 6 + table;
    bytes[code_attribute..code_attribute + 4].copy_from_slice(&length.to_be_bytes());
    let end = bytes.len() - 4;
    let mut attributes = vec![0, 1, 0, 8];
    attributes.extend(table.to_be_bytes());
    attributes.extend((distances.len() as u16).to_be_bytes());
    attributes.extend_from_slice(distances);
    attributes.extend([0, 0]);
    bytes.splice(end.., attributes);
    bytes
}

#[test]
fn a_turned_jump_needs_a_frame_that_is_there() {
    // 0: iconst_0; 1: ifeq 5; 4: nop; 5: return
    let code = [3, 153, 0, 4, 0, 177];
    let with_one = with_frames(class_with(&code, 52), code.len(), &[5]);
    assert!(stretched(&with_one, 4, 10).is_ok());
    assert_eq!(stretched(&with_one, 4, 40_000).unwrap_err(), EditError::Limit(Limit::Jump));
    let with_both = with_frames(class_with(&code, 52), code.len(), &[4, 0]);
    assert!(stretched(&with_both, 4, 40_000).is_ok());
}

#[test]
fn code_beyond_the_limit_is_refused() {
    let bytes = class_with(&[0, 177], 52);
    assert!(stretched(&bytes, 1, 65_533).is_ok());
    assert_eq!(stretched(&bytes, 1, 65_534).unwrap_err(), EditError::Limit(Limit::Code));
}

#[test]
fn switches_are_padded_anew() {
    // 0: iconst_0; 1: tableswitch default 20, 0 -> 20; 20: return
    let mut code = vec![3, 170, 0, 0];
    for word in [19i32, 0, 0, 19] {
        code.extend(word.to_be_bytes());
    }
    code.push(177);
    let bytes = class_with(&code, 48);
    for count in 0..9 {
        let code = stretched(&bytes, 1, count).unwrap();
        let Operation::Switch(switch) = &code.instructions[count + 1].operation else { panic!() };
        let end = code.instructions.last().unwrap().pc;
        assert_eq!((switch.default, switch.cases.as_slice()), (end, &[(0, end)][..]));
    }
}

#[test]
fn added_handlers_come_last() {
    let bytes = class_with(&[0, 177], 48);
    let mut editor = ClassEditor::read(&bytes).unwrap();
    let mut code = editor.code(0).unwrap().unwrap();
    let mut rethrow = Snippet::new();
    rethrow.simple(op::ATHROW, -1);
    code.add_handler(std::iter::once(0..code.end()).collect(), &rethrow, LocalsAtHandler::Nothing);
    editor.set_code(0, code).unwrap();
    let edited = editor.finish();
    let code = Class::read(&edited).unwrap().code(0, &Names::new()).unwrap().unwrap();
    assert_eq!((code.handlers[0].start, code.handlers[0].end, code.handlers[0].handler), (0, 2, 2));
    assert!(matches!(code.instructions[2].operation, Operation::Throw));
}

#[test]
fn damaged_classes_never_panic() {
    let contents = jdk::classes();
    let rounds = if std::env::var_os("FISSURE_LONG").is_some() { 50_000 } else { 3_000 };
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for _ in 0..rounds {
        let source = &contents.sources[random.below(contents.sources.len() as u64) as usize];
        let mut bytes = source.bytes.clone();
        for _ in 0..=random.below(6) {
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(4) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes[at] = random.below(256) as u8,
                2 => bytes[at] ^= 1 << random.below(8),
                _ => bytes[at] = [0, 1, 127, 128, 255][random.below(5) as usize],
            }
        }
        let Ok(mut editor) = ClassEditor::read(&bytes) else { continue };
        for method in 0..editor.methods().len() {
            let Ok(Some(mut code)) = editor.code(method) else { continue };
            code.uninitialized_this(&editor.pool, [b"A", b"java/lang/Object"]);
            for index in 0..code.instruction_count() {
                code.insert(code.instruction(index).pc, Place::Before, &nops(3));
            }
            let _ = editor.set_code(method, code);
        }
        editor.finish();
    }
}

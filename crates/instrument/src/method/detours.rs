//! Monitors that are left in a handler which covers itself.
//!
//! Compilers have such a handler for every `synchronized` block: it keeps the exception, leaves the monitor and throws on,
//! and if leaving the monitor throws, it starts again. A call in it is more than the first compiler of the JVM can take. So
//! the probe runs on the way to the handler.

use classfile::edit::{CodeEditor, op};
use rustc_hash::FxHashMap;

/// By the offset of the `monitorexit`: the handler, and the variable that has the lock.
pub(super) fn find(code: &CodeEditor<'_>) -> FxHashMap<u32, (u32, u16)> {
    let handlers = code.handlers_that_cover_themselves();
    if handlers.is_empty() {
        return FxHashMap::default();
    }
    let count = code.instruction_count();
    let jumped_to: Vec<u32> = (0..count).flat_map(|index| code.jump_targets(index)).collect();
    let firsts = (0..count.saturating_sub(2)).filter(|index| handlers.contains(&code.instruction(*index).pc));
    let found = firsts.filter_map(|first| {
        let [keep, load, leave] = [0, 1, 2].map(|step| code.instruction(first + step));
        let lock = match load.opcode {
            op::ALOAD => u16::from(*load.bytes.get(1)?),
            42..=45 => u16::from(load.opcode - 42),
            _ => return None,
        };
        let is_kept = matches!(keep.opcode, op::ASTORE | 75..=op::ASTORE_3);
        let is_entered_above = [keep, load, leave].iter().all(|one| !jumped_to.contains(&one.pc));
        let kept_in = match keep.opcode {
            op::ASTORE => u16::from(*keep.bytes.get(1)?),
            _ => u16::from(keep.opcode.checked_sub(75)?),
        };
        let is_handler = kept_in != lock && is_kept && leave.opcode == op::MONITOREXIT && is_entered_above;
        is_handler.then_some((leave.pc, (keep.pc, lock)))
    });
    found.collect()
}

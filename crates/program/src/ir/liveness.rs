//! Which locals are read later, so that paths that meet need no phi for the others.

use classfile::{Code, Operation};

use super::blocks::Blocks;

/// For each block, the set of locals that are live where it starts. Slots are packed: only those that code names.
pub(super) struct Liveness {
    words: usize,
    live: Vec<u64>,
}

impl Liveness {
    pub(super) fn compute(code: &Code, blocks: &Blocks) -> Liveness {
        let words = usize::from(code.max_locals).div_ceil(64);
        let mut uses = vec![0u64; words * blocks.list.len()];
        let mut defines = vec![0u64; words * blocks.list.len()];
        for (number, block) in blocks.list.iter().enumerate() {
            let row = number * words..(number + 1) * words;
            let (uses, defines) = (&mut uses[row.clone()], &mut defines[row]);
            for instruction in &code.instructions[block.first..block.end] {
                match instruction.operation {
                    Operation::Load(_, slot) => mark_use(uses, defines, slot),
                    Operation::Increment(slot, _) => {
                        mark_use(uses, defines, slot);
                        mark(defines, slot);
                    }
                    Operation::Store(_, slot) => mark(defines, slot),
                    _ => {}
                }
            }
        }
        let mut live = vec![0u64; words * blocks.list.len()];
        let mut row = vec![0u64; words];
        let mut changed = true;
        while changed {
            changed = false;
            for (number, block) in blocks.list.iter().enumerate().rev() {
                let own = number * words;
                row.fill(0);
                for successor in &block.successors {
                    join(&mut row, &live[successor * words..]);
                }
                for word in 0..words {
                    row[word] = uses[own + word] | (row[word] & !defines[own + word]);
                }
                // A handler sees the locals as they were at the block's start.
                for handler in &block.handlers {
                    join(&mut row, &live[handler * words..]);
                }
                let old = &mut live[own..own + words];
                if *old != *row {
                    old.copy_from_slice(&row);
                    changed = true;
                }
            }
        }
        Liveness { words, live }
    }

    pub(super) fn is_live(&self, block: usize, slot: usize) -> bool {
        self.live[block * self.words + slot / 64] >> (slot % 64) & 1 != 0
    }
}

fn mark(set: &mut [u64], slot: u16) {
    if let Some(word) = set.get_mut(usize::from(slot) / 64) {
        *word |= 1 << (slot % 64);
    }
}

fn mark_use(uses: &mut [u64], defines: &[u64], slot: u16) {
    let defined = defines.get(usize::from(slot) / 64).is_some_and(|word| word >> (slot % 64) & 1 != 0);
    if !defined {
        mark(uses, slot);
    }
}

fn join(into: &mut [u64], from: &[u64]) {
    for (word, other) in into.iter_mut().zip(from) {
        *word |= other;
    }
}

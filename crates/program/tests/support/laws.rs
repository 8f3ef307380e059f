//! Laws that every body keeps, whatever code it was made from.

use program::ir::{BlockId, Body, Op, Predecessor, Value, ValueType};

/// The first law that a body breaks, if it breaks one.
pub(crate) fn check(body: &Body) -> Result<(), String> {
    blocks_cover_all_instructions(body)?;
    edges_agree(body)?;
    phis_fit(body)?;
    ends_are_ends(body)?;
    definitions_come_first(body)
}

fn blocks_cover_all_instructions(body: &Body) -> Result<(), String> {
    let mut next = 0;
    for (block, _) in body.blocks() {
        for (value, _) in body.instructions_of(block) {
            if value.index() != next {
                return Err(format!("b{} has v{} where v{next} comes next", block.index(), value.index()));
            }
            if body.block_of(value) != block {
                return Err(format!("v{} is in b{} and says otherwise", value.index(), block.index()));
            }
            next += 1;
        }
    }
    if next == body.value_count() { Ok(()) } else { Err(format!("only {next} instructions are in blocks")) }
}

fn edges_agree(body: &Body) -> Result<(), String> {
    if !body.block(BlockId::ENTRY).predecessors.is_empty() {
        return Err("the entry has a predecessor".to_owned());
    }
    for (id, block) in body.blocks() {
        let targets = block.successors.iter().map(|target| (*target, false));
        for (target, exceptional) in targets.chain(block.handlers.iter().map(|target| (*target, true))) {
            let own = Predecessor { block: id, exceptional };
            let known = body.block(target).predecessors.iter().filter(|known| **known == own).count();
            if known != 1 {
                return Err(format!("b{} is {known} times a predecessor of b{}", id.index(), target.index()));
            }
        }
        for predecessor in &block.predecessors {
            let from = body.block(predecessor.block);
            let targets = if predecessor.exceptional { &from.handlers } else { &from.successors };
            if !targets.contains(&id) {
                return Err(format!("b{} does not lead to b{}", predecessor.block.index(), id.index()));
            }
        }
        if id != BlockId::ENTRY && block.predecessors.is_empty() {
            return Err(format!("b{} is reached from nowhere", id.index()));
        }
    }
    Ok(())
}

fn phis_fit(body: &Body) -> Result<(), String> {
    for (id, block) in body.blocks() {
        let mut is_head = true;
        for (value, instruction) in body.instructions_of(id) {
            match instruction.op {
                Op::Phi(operands) => {
                    let count = body.operands(operands).len();
                    if !is_head || count != block.predecessors.len() {
                        return Err(format!("the phi v{} has {count} operands, or is not first", value.index()));
                    }
                }
                _ => is_head = false,
            }
        }
    }
    Ok(())
}

/// What ends a block stands only at its end, and has as many ways on as it needs.
fn ends_are_ends(body: &Body) -> Result<(), String> {
    for (id, block) in body.blocks() {
        let last = body.terminator(id);
        for (value, instruction) in body.instructions_of(id) {
            let ways = match instruction.op {
                Op::Branch { .. } => 2,
                Op::Switch { keys, .. } => body.switch_keys(keys).len() + 1,
                Op::Return(_) | Op::Throw(_) => 0,
                _ if Some(value) == last => 1,
                _ => continue,
            };
            if Some(value) != last || ways != block.successors.len() {
                return Err(format!("b{} ends with v{} and has {} ways on", id.index(), value.index(), ways));
            }
        }
    }
    Ok(())
}

fn definitions_come_first(body: &Body) -> Result<(), String> {
    let dominators = Dominators::of(body);
    for (id, block) in body.blocks() {
        for (value, instruction) in body.instructions_of(id) {
            if let Op::Phi(operands) = instruction.op {
                for (operand, from) in body.operands(operands).iter().zip(&block.predecessors) {
                    let defined = body.block_of(*operand);
                    // A handler sees what was there when the block that threw began.
                    let is_at_start = matches!(body.op(*operand), Op::Phi(_) | Op::Caught | Op::Parameter(_));
                    let is_there = match from.exceptional {
                        true if defined == from.block => is_at_start,
                        _ => dominators.dominates(defined, from.block),
                    };
                    if *operand != value && !is_there {
                        return Err(format!("v{} is not there for the phi v{}", operand.index(), value.index()));
                    }
                }
                continue;
            }
            let mut broken = None;
            body.for_each_operand(&instruction.op, |operand: Value| {
                let defined = body.block_of(operand);
                let is_there = if defined == id { operand < value } else { dominators.dominates(defined, id) };
                if !is_there || body.instruction(operand).value_type == ValueType::Void {
                    broken = Some(operand);
                }
            });
            if let Some(operand) = broken {
                return Err(format!("v{} is not there for v{}", operand.index(), value.index()));
            }
        }
    }
    Ok(())
}

/// Immediate dominators; blocks are in reverse postorder.
struct Dominators(Vec<usize>);

impl Dominators {
    fn of(body: &Body) -> Dominators {
        let mut immediate = vec![usize::MAX; body.block_count()];
        immediate[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for (id, block) in body.blocks().skip(1) {
                let mut best = usize::MAX;
                for predecessor in &block.predecessors {
                    let mut other = predecessor.block.index();
                    if immediate[other] == usize::MAX {
                        continue;
                    }
                    if best == usize::MAX {
                        best = other;
                    }
                    while best != other {
                        while other > best {
                            other = immediate[other];
                        }
                        while best > other {
                            best = immediate[best];
                        }
                    }
                }
                if immediate[id.index()] != best {
                    immediate[id.index()] = best;
                    changed = true;
                }
            }
        }
        Dominators(immediate)
    }

    fn dominates(&self, above: BlockId, below: BlockId) -> bool {
        let mut walk = below.index();
        while walk > above.index() {
            walk = self.0[walk];
        }
        walk == above.index()
    }
}

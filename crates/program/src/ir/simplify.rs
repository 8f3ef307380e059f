//! Drops phis that choose between one value and itself, and closes the gaps.

use location::ClassName;

use super::{Body, Op, Operands, Value, ValueType};

pub(super) fn simplify(mut body: Body, object: ClassName) -> Body {
    // Most code has no place where paths meet with different values.
    if let Some(forward) = forward_trivial_phis(&body) {
        compact(&mut body, &forward);
    }
    settle_phi_types(&mut body, object);
    body
}

/// For each register, the one that stands for it; none if each stands for itself.
fn forward_trivial_phis(body: &Body) -> Option<Vec<Value>> {
    let phis: Vec<(Value, Operands)> = body
        .instructions()
        .filter_map(|(value, instruction)| match instruction.op {
            Op::Phi(operands) => Some((value, operands)),
            _ => None,
        })
        .collect();
    if phis.is_empty() {
        return None;
    }
    let mut forward: Vec<Value> = (0..body.instructions.len() as u32).map(Value).collect();
    // In reverse postorder one pass settles all but phis of loops that wait for each other.
    let (mut changed, mut is_any) = (true, false);
    while changed {
        changed = false;
        for (phi, operands) in &phis {
            if forward[phi.index()] != *phi {
                continue;
            }
            let mut only = None;
            let mut trivial = true;
            for operand in body.operands(*operands) {
                let operand = resolve(&mut forward, *operand);
                if operand == *phi || only == Some(operand) {
                    continue;
                }
                if only.is_some() {
                    trivial = false;
                    break;
                }
                only = Some(operand);
            }
            if let (true, Some(only)) = (trivial, only) {
                forward[phi.index()] = only;
                (changed, is_any) = (true, true);
            }
        }
    }
    if !is_any {
        return None;
    }
    for index in 0..forward.len() {
        forward[index] = resolve(&mut forward, Value(index as u32));
    }
    Some(forward)
}

/// Follows a chain of replacements, and shortens it.
fn resolve(forward: &mut [Value], value: Value) -> Value {
    let mut end = value;
    while forward[end.index()] != end {
        end = forward[end.index()];
    }
    let mut walk = value;
    while forward[walk.index()] != end {
        walk = std::mem::replace(&mut forward[walk.index()], end);
    }
    end
}

/// Takes the forwarded phis out and renumbers all registers.
fn compact(body: &mut Body, forward: &[Value]) {
    let mut number = vec![0u32; forward.len()];
    let mut next = 0;
    for (index, stands) in forward.iter().enumerate() {
        number[index] = next;
        if stands.index() == index {
            next += 1;
        } else if body.names[stands.index()].is_none() {
            body.names[stands.index()] = body.names[index];
        }
    }
    let renumber = |value: Value| Value(number[forward[value.index()].index()]);
    for operand in &mut body.operands {
        *operand = renumber(*operand);
    }
    for block in &mut body.blocks {
        block.first = number.get(block.first as usize).copied().unwrap_or(next);
        block.end = number.get(block.end as usize).copied().unwrap_or(next);
    }
    let mut position = 0;
    body.instructions.retain(|_| {
        let keep = forward[position].index() == position;
        position += 1;
        keep
    });
    let mut position = 0;
    body.names.retain(|_| {
        let keep = forward[position].index() == position;
        position += 1;
        keep
    });
    for instruction in &mut body.instructions {
        for value in instruction.op.registers().into_iter().flatten() {
            *value = renumber(*value);
        }
    }
}

/// A phi was given the type of the operand that was known first. It keeps it only if all agree; `null` agrees with any.
fn settle_phi_types(body: &mut Body, object: ClassName) {
    for index in 0..body.instructions.len() {
        let Op::Phi(operands) = body.instructions[index].op else { continue };
        let mut settled = body.instructions[index].value_type;
        if !matches!(settled, ValueType::Reference(_) | ValueType::Null) {
            continue;
        }
        for operand in body.operands(operands) {
            let other = body.instructions[operand.index()].value_type;
            if settled == ValueType::Null {
                settled = other;
            } else if other != settled && other != ValueType::Null {
                settled = ValueType::Reference(object);
            }
        }
        body.instructions[index].value_type = settled;
    }
}

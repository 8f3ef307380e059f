//! What a method keeps in local variables for its probes: the thread's state, and whether the arrays of a loop are quiet.

use std::collections::BTreeMap;

use classfile::edit::LocalType;

use super::*;

/// How many arrays of a loop one question is about.
const ASKED_AT_ONCE: usize = 4;

/// Where a method keeps whether the arrays of a loop need no probe: since before the loop, and since one of its turns.
#[derive(Clone, Copy)]
pub(super) struct QuietLocals {
    pub(super) before: u16,
    pub(super) now: u16,
}

impl MethodRewriter<'_, '_, '_> {
    /// Has the method keep what probes are to know of the thread, if it has several or is in a loop, and whether arrays are
    /// quiet in its loops. It keeps so many numbers more, the first of which is given.
    pub(super) fn keep_thread(&mut self, more: usize) -> Result<u16, Failure> {
        let mut probes = 0;
        for index in 0..self.code.instruction_count() {
            let instruction = self.code.instruction(index);
            let has_probe = match instruction.opcode {
                op::GETFIELD | op::PUTFIELD => self.has_plain_probe(instruction, false)?,
                op::GETSTATIC | op::PUTSTATIC => self.has_plain_probe(instruction, true)?,
                op::IALOAD..=op::SALOAD | op::IASTORE..=op::SASTORE => self.context.plan.families.arrays,
                _ => self.code.jump_targets(index).iter().any(|target| *target <= instruction.pc) && probes > 0,
            };
            probes += u32::from(has_probe);
        }
        if self.context.plan.families.monitors {
            self.detours = detours::find(&self.code);
        }
        let initial = self.initial_locals()?;
        if probes < 2 && more == 0 {
            if !self.detours.is_empty() {
                self.code.lasting_locals(initial, Vec::new())?;
            }
            return Ok(0);
        }
        let loops =
            if self.context.plan.families.arrays { loops::find(&self.code, &self.class.pool) } else { Vec::new() };
        let quiet = loops.iter().flat_map(|found| &found.accesses).copied().collect();
        let stamped =
            if self.context.plan.families.arrays { stamps::find(&self.code, &quiet) } else { BTreeMap::new() };
        let before = 2 * loops.len() + stamped.len();
        let numbers = before + more;
        let object = self.class.pool.add_class(b"java/lang/Object")?;
        let mut types = vec![LocalType::Object(object)];
        types.extend((0..numbers).map(|_| LocalType::Int));
        let first = self.code.lasting_locals(initial, types)?;
        self.thread = Some(first);
        self.call(Probe::Thread)?;
        self.snippet.store(Kind::Reference, first);
        for number in 0..numbers as u16 {
            self.snippet.push_int(0, &mut self.class.pool)?.store(Kind::Int, first + 1 + number);
        }
        self.code.insert_at_entry(&self.snippet);
        self.snippet.clear();
        self.is_edited = true;
        for (number, (_, found)) in (0..).zip(stamped) {
            let stamp = first + 1 + 2 * loops.len() as u16 + number;
            // Another array in the variable.
            for store in found.stores {
                self.snippet.push_int(0, &mut self.class.pool)?.store(Kind::Int, stamp);
                self.insert(store, Place::After);
            }
            self.stamps.extend(found.reads.into_iter().map(|read| (read, stamp)));
        }
        for (number, found) in (0..).zip(loops) {
            let before = first + 1 + 2 * number;
            self.ask_before(&found, QuietLocals { before, now: before + 1 })?;
        }
        Ok(first + 1 + before as u16)
    }

    /// Asks before a loop whether its arrays are quiet, and if not, in its first turns.
    fn ask_before(&mut self, found: &loops::Loop, locals: QuietLocals) -> Result<(), Failure> {
        for (number, (&array, &kinds)) in found.arrays.iter().enumerate() {
            self.snippet.load(Kind::Reference, array);
            self.push_thread()?;
            self.snippet.push_int(kinds, &mut self.class.pool)?;
            self.call(Probe::Quiet)?;
            if number > 0 {
                self.snippet.simple(op::IAND, -1);
            }
        }
        self.snippet.store(Kind::Int, locals.before);
        self.snippet.push_int(0, &mut self.class.pool)?.store(Kind::Int, locals.now);
        self.insert(found.before, Place::After);
        self.quiet.extend(found.accesses.iter().map(|pc| (*pc, locals)));
        if found.arrays.len() > ASKED_AT_ONCE {
            return Ok(());
        }
        let mut all_kinds = 0;
        let mut arrays = found.arrays.iter();
        for place in 0..ASKED_AT_ONCE {
            match arrays.next() {
                Some((&array, &kinds)) => {
                    self.snippet.load(Kind::Reference, array);
                    all_kinds |= kinds << (2 * place);
                }
                None => {
                    self.snippet.push_null();
                }
            }
        }
        self.push_thread()?;
        self.snippet.push_int(all_kinds, &mut self.class.pool)?;
        self.snippet.load(Kind::Int, locals.before).load(Kind::Int, locals.now);
        self.call(Probe::QuietNow)?;
        self.snippet.store(Kind::Int, locals.now);
        self.insert(found.header, Place::Before);
        Ok(())
    }

    fn has_plain_probe(&mut self, instruction: RawInstruction<'_>, is_static: bool) -> Result<bool, Failure> {
        let found = self.field(instruction, is_static)?;
        Ok(found.is_some_and(|(_, kind, _)| kind != FieldKind::Volatile))
    }

    /// What the method starts with in its local variables.
    pub(super) fn initial_locals(&mut self) -> Result<Vec<LocalType>, Failure> {
        let mut initial = Vec::new();
        if !self.access.is_static() {
            let class = self.class.this_class();
            initial.push(match self.name {
                b"<init>" => LocalType::UninitializedThis,
                _ => LocalType::Object(class),
            });
        }
        let mut rest = self.descriptor.strip_prefix(b"(").unwrap_or_default();
        while rest.first().is_some_and(|first| *first != b')') {
            let Some((kind, length)) = calls::one_kind(rest) else { break };
            let (one, after) = rest.split_at(length);
            initial.push(match kind {
                Kind::Int => LocalType::Int,
                Kind::Float => LocalType::Float,
                Kind::Long => LocalType::Long,
                Kind::Double => LocalType::Double,
                Kind::Reference => {
                    let name = one.strip_prefix(b"L").and_then(|name| name.strip_suffix(b";")).unwrap_or(one);
                    LocalType::Object(self.class.pool.add_class(name)?)
                }
            });
            rest = after;
        }
        Ok(initial)
    }

    /// Pushes what probes are to know of the thread.
    pub(super) fn push_thread(&mut self) -> Result<(), Failure> {
        match self.thread {
            Some(local) => {
                self.snippet.load(Kind::Reference, local);
                Ok(())
            }
            None => self.call(Probe::Thread),
        }
    }
}

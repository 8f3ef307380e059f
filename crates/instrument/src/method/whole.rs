//! Probes for a method as a whole: the monitor of a synchronized method, activations and units, each with an end however
//! the method ends.

use std::ops::Range;

use super::*;
use classfile::edit::LocalsAtHandler;

/// Where the monitor of a synchronized method is.
#[derive(Clone, Copy)]
enum Monitor {
    None,
    This,
    Class,
}

impl MethodRewriter<'_, '_, '_> {
    pub(super) fn watch_whole(&mut self) -> Result<(), Failure> {
        let monitor = match (self.access.is_synchronized(), self.access.is_static()) {
            _ if !self.context.plan.families.monitors => Monitor::None,
            (false, _) => Monitor::None,
            (true, false) if self.code.keeps_this() => Monitor::This,
            (true, false) => return Err(Failure::Method(Reason::LostThis)),
            (true, true) if self.class.major_version() >= FIRST_WITH_CLASS_CONSTANTS => Monitor::Class,
            (true, true) => return Err(Failure::Method(Reason::NoClassConstant)),
        };
        self.insert_hooks()?;
        let has_end = self.plan.activations || !self.plan.units.is_empty();
        if matches!(monitor, Monitor::None) && !has_end {
            return Ok(());
        }
        let site = self.site(0, What::Method);
        self.push_start(monitor, site)?;
        self.place_start()?;
        for index in 0..self.code.instruction_count() {
            let instruction = self.code.instruction(index);
            if instruction.is_return() {
                self.push_end(monitor, instruction.pc)?;
                self.insert(instruction.pc, Place::Before);
            }
        }
        self.push_end(monitor, 0)?;
        self.snippet.simple(op::ATHROW, -1);
        let locals = match monitor {
            Monitor::This => LocalsAtHandler::This { class: self.class.this_class(), parameters: self.parameters()? },
            _ => LocalsAtHandler::Nothing,
        };
        self.code.add_handler(self.complete_ranges(), &self.snippet, locals);
        self.snippet.clear();
        Ok(())
    }

    /// How many parameters the method has.
    fn parameters(&self) -> Result<u16, Failure> {
        let kinds = calls::kinds(self.descriptor);
        let (parameters, _) = kinds.ok_or_else(|| Error::Malformed("a method has a bad descriptor".to_owned()))?;
        // The JVM allows 255 slots.
        Ok(parameters.len() as u16)
    }

    fn insert_hooks(&mut self) -> Result<(), Failure> {
        for hook in self.plan.hooks.clone() {
            self.snippet.load(Kind::Reference, hook.local).push_int(hook.code, &mut self.class.pool)?;
            self.call(Probe::Hook)?;
            if !hook.at_end {
                self.place_start()?;
                continue;
            }
            for index in 0..self.code.instruction_count() {
                let instruction = self.code.instruction(index);
                if instruction.is_return() {
                    self.code.insert(instruction.pc, Place::Before, &self.snippet);
                }
            }
            self.snippet.clear();
            self.is_edited = true;
        }
        Ok(())
    }

    /// Tells that an object is new, where the constructor of its first instrumented class has it complete.
    pub(super) fn mark_fresh(&mut self) -> Result<(), Failure> {
        if self.uninitialized.is_empty() || !self.code.keeps_this() {
            return Ok(());
        }
        let super_name = self.context.super_name;
        let completing = unescaped::completing(&self.code, &self.class.pool, super_name, &self.uninitialized);
        if completing.is_empty() {
            return Ok(());
        }
        if self.context.plan.skips_unescaped {
            self.unescaped = unescaped::behind(&self.code, &self.class.pool, super_name, &completing);
        }
        if !self.context.has_identity {
            // Nothing says whose the object is. What nobody else writes is no surprise here all the same.
            let constant: FxHashSet<u32> = (0..self.code.instruction_count())
                .map(|index| self.code.instruction(index))
                .filter(|instruction| self.unescaped.contains(&instruction.pc) && self.is_constant(*instruction))
                .map(|instruction| instruction.pc)
                .collect();
            self.unescaped = constant;
            return Ok(());
        }
        let identity = self.context.identity();
        self.snippet.load(Kind::Reference, 0);
        self.push_thread()?;
        self.snippet.push_int(identity as i32, &mut self.class.pool)?;
        self.call(Probe::Fresh)?;
        for pc in completing {
            self.code.insert(pc, Place::After, &self.snippet);
        }
        self.snippet.clear();
        self.is_edited = true;
        Ok(())
    }

    /// Puts what starts the method at its entry; in a constructor, where `this` has just become an object.
    fn place_start(&mut self) -> Result<(), Failure> {
        self.is_edited = true;
        if self.uninitialized.is_empty() {
            self.code.insert_at_entry(&self.snippet);
            self.snippet.clear();
            return Ok(());
        }
        let completing: Vec<u32> = (1..self.code.instruction_count())
            .filter(|index| self.uninitialized[index - 1] && !self.uninitialized[*index])
            .map(|index| self.code.instruction(index - 1))
            .filter(|instruction| instruction.opcode == op::INVOKESPECIAL)
            .map(|instruction| instruction.pc)
            .collect();
        if completing.is_empty() {
            return Err(Failure::Method(Reason::LateThis));
        }
        for pc in completing {
            self.code.insert(pc, Place::After, &self.snippet);
        }
        self.snippet.clear();
        Ok(())
    }

    fn push_start(&mut self, monitor: Monitor, site: i32) -> Result<(), Failure> {
        if !matches!(monitor, Monitor::None) {
            self.push_monitor(monitor);
            self.snippet.push_int(site, &mut self.class.pool)?;
            self.call(Probe::Entered)?;
        }
        if self.plan.activations {
            self.snippet.push_int(site, &mut self.class.pool)?;
            self.call(Probe::Enter)?;
        }
        for unit in self.plan.units.clone() {
            self.snippet.push_int(unit, &mut self.class.pool)?.push_int(site, &mut self.class.pool)?;
            self.call(Probe::Begin)?;
        }
        Ok(())
    }

    /// The opposite of what the start does, in the opposite order.
    fn push_end(&mut self, monitor: Monitor, pc: u32) -> Result<(), Failure> {
        let site = self.site(pc, What::Method);
        for unit in self.plan.units.clone().into_iter().rev() {
            self.snippet.push_int(unit, &mut self.class.pool)?.push_int(site, &mut self.class.pool)?;
            self.call(Probe::End)?;
        }
        if self.plan.activations {
            self.snippet.push_int(site, &mut self.class.pool)?;
            self.call(Probe::Exit)?;
        }
        if !matches!(monitor, Monitor::None) {
            self.push_monitor(monitor);
            self.snippet.push_int(site, &mut self.class.pool)?;
            self.call(Probe::Leaving)?;
        }
        Ok(())
    }

    fn push_monitor(&mut self, monitor: Monitor) {
        match monitor {
            Monitor::None => {}
            Monitor::This => {
                self.snippet.load(Kind::Reference, 0);
            }
            Monitor::Class => {
                let class = self.class.this_class();
                self.snippet.load_constant(class);
            }
        }
    }

    /// The code that an added handler may cover: in a constructor, where `this` is an object for sure.
    fn complete_ranges(&self) -> Vec<Range<u32>> {
        let mut ranges: Vec<Range<u32>> = Vec::new();
        for index in 0..self.code.instruction_count() {
            let start = self.code.instruction(index).pc;
            if self.uninitialized.get(index) == Some(&true) {
                continue;
            }
            let end = start + self.code.instruction(index).bytes.len() as u32;
            match ranges.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => ranges.push(start..end),
            }
        }
        ranges
    }
}

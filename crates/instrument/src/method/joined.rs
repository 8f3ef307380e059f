//! The probes of reads that are told together.

use super::*;

impl MethodRewriter<'_, '_, '_> {
    /// Finds reads that one probe can tell; whether there are any.
    pub(super) fn join_reads(&mut self) -> Result<bool, Failure> {
        if !self.context.plan.joins_reads || !self.context.plan.families.fields {
            return Ok(false);
        }
        let mut watched = vec![groups::Watched::Not; self.code.instruction_count()];
        for (index, watched) in watched.iter_mut().enumerate() {
            let instruction = self.code.instruction(index);
            if instruction.opcode == op::GETFIELD {
                *watched = match (self.field(instruction, false)?, instruction.constant()) {
                    (None, _) => groups::Watched::Not,
                    (Some((_, FieldKind::Plain, _)), _) => groups::Watched::Plain,
                    (Some((_, FieldKind::Unknown, _)), Some(constant)) => groups::Watched::Perhaps(constant),
                    _ => groups::Watched::Orders,
                };
            }
        }
        let keeps_this = !self.access.is_static() && self.code.keeps_this();
        for stretch in groups::find(&self.code, &self.class.pool, keeps_this, |index| watched[index]) {
            if let Some(first) = stretch.first() {
                self.stretches.insert(first, stretch.unknown);
            }
            for group in stretch.groups {
                self.joined.extend(&group.reads);
                self.groups.insert(group.reads[0], group);
            }
        }
        Ok(!self.joined.is_empty())
    }

    /// The probe of a read that is told with others, of which it may be the first. Its object is on the stack.
    pub(super) fn insert_joined(
        &mut self,
        instruction: RawInstruction<'_>,
        index: usize,
        field: u32,
        plain: u16,
    ) -> Result<(), Failure> {
        if let Some(unknown) = self.stretches.remove(&index) {
            let numbers = self.fields(&unknown)?;
            self.push_all(&numbers)?;
            self.call(Probe::ArePlain)?;
            self.snippet.store(Kind::Int, plain);
        }
        self.snippet.dup();
        let Some(group) = self.groups.remove(&index) else {
            self.push_thread()?;
            let site = self.site(instruction.pc, What::Read(field));
            self.snippet.load(Kind::Int, plain);
            self.push_all(&[field as i32, site])?;
            self.call(Probe::ReadUnless)?;
            self.insert(instruction.pc, Place::Before);
            return Ok(());
        };
        let numbers = self.fields(&group.reads)?;
        // Their sites have numbers one after the other.
        let mut sites = Vec::new();
        for (&index, &number) in group.reads.iter().zip(&numbers) {
            sites.push(self.site(self.code.instruction(index).pc, What::Read(number as u32)));
        }
        match group.other.filter(|_| group.sure < group.reads.len()) {
            Some(other) => self.snippet.load(Kind::Reference, other),
            None => self.snippet.dup(),
        };
        self.push_thread()?;
        self.snippet.load(Kind::Int, plain);
        self.push_all(&[group.sure as i32])?;
        self.push_all(&numbers)?;
        self.push_all(&sites[..1])?;
        self.call(Probe::Reads)?;
        self.insert(instruction.pc, Place::Before);
        Ok(())
    }

    /// The numbers of the fields that these instructions read, and -1 where there is none.
    fn fields(&mut self, reads: &[usize]) -> Result<[i32; groups::MOST], Failure> {
        let mut numbers = [-1; groups::MOST];
        for (number, &index) in numbers.iter_mut().zip(reads) {
            let instruction = self.code.instruction(index);
            *number = self.field(instruction, false)?.map_or(-1, |(field, _, _)| field as i32);
        }
        Ok(numbers)
    }

    fn push_all(&mut self, numbers: &[i32]) -> Result<(), Failure> {
        for number in numbers {
            self.snippet.push_int(*number, &mut self.class.pool)?;
        }
        Ok(())
    }
}

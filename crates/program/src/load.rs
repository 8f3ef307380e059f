//! Reads classes into a [`Program`].

use classfile::{Class, ClassSource, Error, Header, Skipped};
use location::{MethodName, Names};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::class::{ClassEntry, ClassId, Program};
use crate::derived::DerivedLocks;
use crate::lock;

impl Program {
    /// Reads the classes, in parallel. What cannot be read is in [`Program::skipped`].
    ///
    /// Of two classes with one name the first counts, as on a class path.
    pub fn load(sources: Vec<ClassSource>) -> Program {
        let names = Names::new();
        let read: Vec<Result<(ClassSource, Header, Vec<bool>), Skipped>> = sources
            .into_par_iter()
            .map(|source| match read(&source.bytes, &names) {
                Ok((header, may_lock)) => Ok((source, header, may_lock)),
                Err(reason) => Err(Skipped { path: source.path, reason: reason.to_string() }),
            })
            .collect();
        let mut skipped = Vec::new();
        let mut by_name: FxHashMap<_, usize> = FxHashMap::default();
        let mut classes: Vec<ClassEntry> = Vec::with_capacity(read.len());
        for class in read {
            match class {
                Ok((source, header, may_lock)) => {
                    if header.access.is_module() || by_name.contains_key(&header.name) {
                        continue;
                    }
                    by_name.insert(header.name, classes.len());
                    classes.push(ClassEntry {
                        header,
                        bytes: source.bytes,
                        path: source.path,
                        first_method: 0,
                        first_field: 0,
                        may_lock,
                    });
                }
                Err(unread) => skipped.push(unread),
            }
        }
        skipped.sort();
        classes.sort_by(|a, b| names.text(a.header.name.0).cmp(names.text(b.header.name.0)));
        let mut program = Program {
            names,
            classes,
            by_name: FxHashMap::default(),
            class_of_method: Vec::new(),
            class_of_field: Vec::new(),
            skipped,
            derived_locks: DerivedLocks::default(),
        };
        program.number();
        program.derived_locks = DerivedLocks::find(&program);
        program
    }

    fn number(&mut self) {
        for (index, entry) in self.classes.iter_mut().enumerate() {
            let class = ClassId(index as u32);
            self.by_name.insert(entry.header.name, class);
            entry.first_method = self.class_of_method.len() as u32;
            entry.first_field = self.class_of_field.len() as u32;
            self.class_of_method.extend(entry.header.methods.iter().map(|_| class));
            self.class_of_field.extend(entry.header.fields.iter().map(|_| class));
        }
    }
}

/// The head of a class, and which of its methods may contain a section.
fn read(bytes: &[u8], names: &Names) -> Result<(Header, Vec<bool>), Error> {
    let class = Class::read(bytes)?;
    let header = class.header(names)?;
    let mut may_lock = vec![false; header.methods.len()];
    let is_lock = |method: MethodName| lock::may_be_lock_operation(names.text(method.name));
    class.scan(names, is_lock, |index, scan| may_lock[index] = scan.monitors || scan.calls);
    for (method, may_lock) in header.methods.iter().zip(&mut may_lock) {
        *may_lock |= method.access.is_synchronized();
    }
    Ok((header, may_lock))
}

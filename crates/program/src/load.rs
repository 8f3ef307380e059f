//! Reads classes into a [`Program`]: those that are checked, and what is known of the classes that they name.

use classfile::{Class, ClassSource, Error, Header, Mention, Skipped, classes_in};
use location::{ClassName, Names, Symbol};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::class::{ClassEntry, ClassId, Counts, Program, Roots};
use crate::derived::DerivedLocks;
use crate::known::{Known, Platform};
use crate::lock;
use crate::texts::Texts;
use crate::wrapper::Wrappers;

impl Program {
    /// Reads the classes to check, in parallel, and looks up the classes that they name and what those inherit from.
    /// What cannot be read is in [`Program::skipped`], what is nowhere in [`Program::missing`].
    ///
    /// Of two classes with one name the first counts, as on a class path.
    pub fn load(sources: Vec<ClassSource>, known: Known) -> Program {
        let names = Names::new();
        let (read, mentioned) = read_all(sources, &names);
        let mut skipped = Vec::new();
        let mut checked: Vec<ClassEntry> = Vec::with_capacity(read.len());
        let mut seen: FxHashSet<ClassName> = FxHashSet::default();
        for class in read {
            match class {
                Ok(entry) if entry.header.access.is_module() || !seen.insert(entry.header.name) => {}
                Ok(entry) => checked.push(entry),
                Err(unread) => skipped.push(unread),
            }
        }
        let jdk = known.platform.version().to_owned();
        let LookedUp { found, missing, skipped: unread } = look_up(mentioned, seen, known, &names);
        skipped.extend(unread);
        skipped.sort();
        sort_by_name(&mut checked, &names);

        let mut program = Program {
            roots: Roots::of(&names),
            names,
            classes: checked,
            checked: Counts::default(),
            by_name: FxHashMap::default(),
            class_of_method: Vec::new(),
            class_of_field: Vec::new(),
            skipped,
            missing,
            jdk,
            derived_locks: DerivedLocks::default(),
            wrappers: Wrappers::default(),
        };
        program.number(0);
        program.checked = Counts { classes: program.classes.len(), methods: program.class_of_method.len() };
        program.classes.extend(found);
        program.number(program.checked.classes);
        program.derived_locks = DerivedLocks::find(&program);
        program.wrappers = Wrappers::find(&program);
        program.mark_callers_of_wrappers();
        program
    }

    /// A call of a wrapper is an operation of a lock, which the first look at the code could not know.
    fn mark_callers_of_wrappers(&mut self) {
        if self.wrappers.is_empty() {
            return;
        }
        let names = self.wrappers.names(self);
        let found: Vec<Vec<usize>> = self.classes[..self.checked.classes]
            .par_iter()
            .map(|entry| {
                let mut callers = Vec::new();
                if let Ok(class) = Class::read(&entry.bytes) {
                    class.scan(|name| names.contains(name), |index, scan| callers.extend(scan.calls.then_some(index)));
                }
                callers
            })
            .collect();
        for (entry, callers) in self.classes.iter_mut().zip(found) {
            for caller in callers {
                entry.may_lock[caller] = true;
            }
        }
    }

    /// Gives numbers to the classes from this one on, and to their members.
    fn number(&mut self, first: usize) {
        for (index, entry) in self.classes.iter_mut().enumerate().skip(first) {
            let class = ClassId(index as u32);
            self.by_name.insert(entry.header.name, class);
            entry.first_method = self.class_of_method.len() as u32;
            entry.first_field = self.class_of_field.len() as u32;
            self.class_of_method.extend(entry.header.methods.iter().map(|_| class));
            self.class_of_field.extend(entry.header.fields.iter().map(|_| class));
        }
    }
}

fn sort_by_name(classes: &mut [ClassEntry], names: &Names) {
    classes.sort_by_cached_key(|class| names.text(class.header.name.0));
}

/// A thread reads so many classes before it hands over what they name: fewer repeat more names, more leave threads idle.
const READ_AT_LEAST: usize = 64;

/// Reads classes, in the order of their sources, and collects which classes they name.
fn read_all(sources: Vec<ClassSource>, names: &Names) -> (Vec<Result<ClassEntry, Skipped>>, FxHashSet<ClassName>) {
    let parts: Vec<(Vec<_>, Vec<_>)> = sources
        .into_par_iter()
        .with_min_len(READ_AT_LEAST)
        .fold(
            || (Vec::new(), Mentioned::default()),
            |(mut classes, mut mentioned), source| {
                classes.push(read(source, names, Some(&mut mentioned)));
                (classes, mentioned)
            },
        )
        .map(|(classes, mentioned)| (classes, mentioned.classes.iter().map(|class| names.class(class)).collect()))
        .collect();
    let (mut classes, mut mentioned) = (Vec::new(), FxHashSet::default());
    for (more, names) in parts {
        classes.extend(more);
        mentioned.extend(names);
    }
    (classes, mentioned)
}

/// Takes a class apart as far as its head and a quick look at its code.
fn read(source: ClassSource, names: &Names, mentioned: Option<&mut Mentioned>) -> Result<ClassEntry, Skipped> {
    match try_read(&source.bytes, names, mentioned) {
        Ok((header, may_lock, calls_lock)) => Ok(ClassEntry {
            header,
            bytes: source.bytes,
            path: source.path,
            first_method: 0,
            first_field: 0,
            may_lock,
            calls_lock,
        }),
        Err(reason) => Err(Skipped { path: source.path, reason: reason.to_string() }),
    }
}

/// The head of a class, which of its methods may contain a section, and which call what may be a lock.
fn try_read(
    bytes: &[u8],
    names: &Names,
    mentioned: Option<&mut Mentioned>,
) -> Result<(Header, Vec<bool>, Vec<bool>), Error> {
    let class = Class::read(bytes)?;
    let header = class.header(names)?;
    let mut may_lock = vec![false; header.methods.len()];
    let mut calls_lock = may_lock.clone();
    class.scan(lock::may_be_lock_operation, |index, scan| {
        may_lock[index] = scan.monitors || scan.calls;
        calls_lock[index] = scan.calls;
    });
    for (method, may_lock) in header.methods.iter().zip(&mut may_lock) {
        *may_lock |= method.access.is_synchronized();
    }
    if let Some(mentioned) = mentioned.filter(|_| !header.access.is_module()) {
        mentioned.add(&class, &header, names);
    }
    Ok((header, may_lock, calls_lock))
}

/// Which classes the classes to check name.
#[derive(Default)]
struct Mentioned {
    classes: Texts,
    /// Descriptors whose classes are among `classes`: those that code uses ...
    used: Texts,
    /// ... and those of declared members.
    declared: FxHashSet<Symbol>,
}

impl Mentioned {
    fn add(&mut self, class: &Class<'_>, header: &Header, names: &Names) {
        class.mentions(|mention| match mention {
            Mention::Class(array) if array.starts_with('[') => self.add_descriptor(array),
            Mention::Class(class) => self.add_class(class),
            Mention::Descriptor(descriptor) => self.add_descriptor(descriptor),
        });
        let fields = header.fields.iter().map(|field| field.descriptor);
        for descriptor in fields.chain(header.methods.iter().map(|method| method.descriptor)) {
            if self.declared.insert(descriptor) {
                classes_in(names.text(descriptor)).for_each(|class| self.add_class(class));
            }
        }
    }

    fn add_class(&mut self, class: &str) {
        self.classes.insert(class);
    }

    fn add_descriptor(&mut self, descriptor: &str) {
        if self.used.insert(descriptor) {
            classes_in(descriptor).for_each(|class| self.add_class(class));
        }
    }
}

struct LookedUp {
    /// Sorted by name.
    found: Vec<ClassEntry>,
    /// Sorted by text.
    missing: Vec<ClassName>,
    skipped: Vec<Skipped>,
}

/// Finds the classes that are mentioned and not checked, and what they inherit from.
fn look_up(
    mentioned: FxHashSet<ClassName>,
    mut seen: FxHashSet<ClassName>,
    mut known: Known,
    names: &Names,
) -> LookedUp {
    let mut result = LookedUp { found: Vec::new(), missing: Vec::new(), skipped: Vec::new() };
    let mut wanted: Vec<ClassName> = mentioned.into_iter().filter(|class| seen.insert(*class)).collect();
    while !wanted.is_empty() {
        wanted.sort_by_cached_key(|class| names.text(class.0));
        let before = result.found.len();
        let mut rest = wanted;
        if let Some(class_path) = &mut known.class_path {
            rest = find(class_path.as_mut(), rest, names, &mut result);
        }
        rest = match &mut known.platform {
            Platform::Installed { classes, .. } => find(classes.as_mut(), rest, names, &mut result),
            Platform::Embedded(jdk) => {
                let texts: Vec<&str> = rest.iter().map(|class| names.text(class.0)).collect();
                let mut missing = Vec::new();
                for (class, header) in rest.into_iter().zip(jdk.classes(&texts, names)) {
                    match header {
                        Some(header) => result.found.push(without_code(header, jdk.version())),
                        None => missing.push(class),
                    }
                }
                missing
            }
        };
        result.missing.extend(rest);
        let parents = result.found[before..]
            .iter()
            .flat_map(|entry| entry.header.super_class.iter().chain(&entry.header.interfaces));
        wanted = parents.copied().filter(|parent| seen.insert(*parent)).collect();
    }
    sort_by_name(&mut result.found, names);
    result.missing.sort_by_cached_key(|class| names.text(class.0));
    result
}

/// Looks classes up in one place, and returns those that are not there.
fn find(
    finder: &mut dyn crate::Finder,
    wanted: Vec<ClassName>,
    names: &Names,
    result: &mut LookedUp,
) -> Vec<ClassName> {
    let texts: Vec<&str> = wanted.iter().map(|class| names.text(class.0)).collect();
    let sources = finder.find(&texts);
    let read: Vec<(ClassName, Option<Result<ClassEntry, Skipped>>)> = wanted
        .into_par_iter()
        .zip(sources)
        .map(|(class, source)| (class, source.map(|source| source.and_then(|source| read(source, names, None)))))
        .collect();
    let mut rest = Vec::new();
    for (class, entry) in read {
        match entry {
            Some(Ok(entry)) if entry.header.name == class => result.found.push(entry),
            // A file of the right name with another class in it, as where the case of letters does not count.
            Some(Ok(_)) | None => rest.push(class),
            Some(Err(unread)) => {
                result.skipped.push(unread);
                result.missing.push(class);
            }
        }
    }
    rest
}

/// A class of which no bytes are at hand.
fn without_code(header: Header, path: &str) -> ClassEntry {
    let may_lock = header.methods.iter().map(|method| method.access.is_synchronized()).collect();
    let calls_lock = vec![false; header.methods.len()];
    ClassEntry {
        header,
        bytes: Vec::new(),
        path: path.to_owned(),
        first_method: 0,
        first_field: 0,
        may_lock,
        calls_lock,
    }
}

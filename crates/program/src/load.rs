//! Reads classes into a [`Program`]: those that are checked, and what is known of the classes that they name.

use std::sync::Arc;

use classfile::{CallKind, Class, ClassSource, Error, Header, KnownClass, Mention, Reference, Skipped, classes_in};
use location::{ClassName, FieldName, MethodName, Names, Symbol};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::claimed;
use crate::class::{ClassEntry, ClassId, Counts, Entry, FieldId, Mentions, MethodId, Parents, Program, Roots};
use crate::derived::DerivedLocks;
use crate::getter::Getters;
use crate::known::{Known, Platform};
use crate::lock;
use crate::own_lock;
use crate::tickets;
use crate::token::Tokens;
use crate::wrapper::Wrappers;

impl Program {
    /// Reads the classes to check, in parallel, and looks up the classes that they name and what those inherit from.
    /// What cannot be read is in [`Program::skipped`], what is nowhere in [`Program::missing`].
    ///
    /// Of two classes with one name the first counts, as on a class path.
    pub fn load(sources: Vec<ClassSource>, known: Known) -> Program {
        let names = Names::new();
        let operations = lock::operation_names(&names);
        let (read, mentioned) = read_all(sources, &names, &operations);
        let mut skipped = Vec::new();
        let mut checked: Vec<Entry> = Vec::with_capacity(read.len());
        let mut seen: FxHashSet<ClassName> = FxHashSet::default();
        for class in read {
            match class {
                Ok(entry) if entry.header.access.is_module() || !seen.insert(entry.header.name) => {}
                Ok(entry) => checked.push(entry),
                Err(unread) => skipped.push(unread),
            }
        }
        let jdk = known.platform.version().to_owned();
        let LookedUp { found, missing, skipped: unread } = look_up(mentioned, seen, known, &names, &operations);
        skipped.extend(unread);
        skipped.sort();
        sort_by_name(&mut checked, &names);

        let mut program = Program {
            roots: Roots::of(&names),
            names,
            classes: checked,
            checked: Counts::default(),
            by_name: FxHashMap::default(),
            parents: Vec::new(),
            fields_by_name: FxHashMap::default(),
            class_of_method: Vec::new(),
            class_of_field: Vec::new(),
            parameters: Vec::new(),
            skipped,
            missing,
            jdk,
            mentions: Arc::default(),
            made: Arc::default(),
            derived_locks: DerivedLocks::default(),
            wrappers: Wrappers::default(),
            getters: Getters::default(),
            tokens: Tokens::default(),
        };
        program.number(0);
        program.checked = Counts { classes: program.classes.len(), methods: program.class_of_method.len() };
        program.classes.extend(found);
        program.number(program.checked.classes);
        program.link_parents();
        program.collect_mentions();
        program.number_parameters();
        program.settle_lock_calls();
        program.derived_locks = DerivedLocks::find(&program);
        program.getters = Getters::find(&program);
        program.find_tokens();
        program.find_wrappers();
        program
    }

    fn link_parents(&mut self) {
        let of = |entry: &Entry| Parents {
            super_class: entry.header.super_class.and_then(|parent| self.class(parent)),
            interfaces: entry.header.interfaces.iter().filter_map(|parent| self.class(*parent)).collect(),
        };
        self.parents = self.classes.par_iter().map(of).collect();
    }

    fn collect_mentions(&mut self) {
        let mut mentions = Vec::with_capacity(self.class_of_method.len());
        let mut made = FxHashSet::default();
        for entry in &mut self.classes {
            mentions.append(&mut entry.mentions);
            made.extend(std::mem::take(&mut entry.makes));
        }
        (self.mentions, self.made) = (Arc::new(mentions), Arc::new(made));
    }

    /// What is named like an operation of a lock need not be one: that takes the class that has it.
    fn settle_lock_calls(&mut self) {
        let is_operation = |method: MethodId| {
            let mut calls = self.mentions[method.index()].calls.iter();
            calls.any(|(_, called)| lock::operation(self, *called).is_some())
        };
        let methods: Vec<MethodId> = self.methods().filter(|method| self.calls_lock(*method)).collect();
        let calling: Vec<bool> = methods.par_iter().map(|method| is_operation(*method)).collect();
        for (method, is_calling) in methods.into_iter().zip(calling) {
            let class = self.class_of(method);
            let entry = &mut self.classes[class.0 as usize];
            let index = (method.0 - entry.first_method) as usize;
            entry.calls_lock[index] = is_calling;
            entry.may_lock[index] |= is_calling;
        }
    }

    /// What takes from a queue that is as good as a lock, or puts back there, locks.
    fn find_tokens(&mut self) {
        self.tokens = Tokens::find(self);
        if self.tokens.is_empty() {
            return;
        }
        let methods: Vec<MethodId> = self.methods().filter(|method| self.tokens.concern(self, *method)).collect();
        for method in methods {
            let class = self.class_of(method);
            let entry = &mut self.classes[class.0 as usize];
            let index = (method.0 - entry.first_method) as usize;
            entry.calls_lock[index] = true;
            entry.may_lock[index] = true;
        }
    }

    /// A call of a wrapper is an operation of a lock, which the first look at the code could not know; so its caller may
    /// be a wrapper in turn.
    fn find_wrappers(&mut self) {
        let mut found = Wrappers::find(self, |method| self.calls_lock(method));
        found.extend(own_lock::find(self));
        found.extend(tickets::find(self));
        found.extend(claimed::find(self));
        while !found.is_empty() {
            let callers: Vec<MethodId> = (self.methods().collect::<Vec<_>>())
                .into_par_iter()
                .filter(|method| {
                    self.mentions[method.index()].calls.iter().any(|(_, called)| found.may_be(self, *called))
                })
                .collect();
            for caller in &callers {
                let class = self.class_of(*caller);
                let entry = &mut self.classes[class.0 as usize];
                entry.may_lock[(caller.0 - entry.first_method) as usize] = true;
            }
            self.wrappers.extend(found);
            found = Wrappers::find(self, |method| callers.binary_search(&method).is_ok());
        }
    }

    /// Gives numbers to the classes from this one on, and to their members.
    fn number(&mut self, first: usize) {
        let (mut methods, mut fields) = (0, 0);
        for entry in &self.classes[first..] {
            methods += entry.header.methods.len();
            fields += entry.header.fields.len();
        }
        self.by_name.reserve(self.classes.len() - first);
        self.class_of_method.reserve(methods);
        self.class_of_field.reserve(fields);
        self.fields_by_name.reserve(fields);
        for (index, entry) in self.classes.iter_mut().enumerate().skip(first) {
            let class = ClassId(index as u32);
            self.by_name.insert(entry.header.name, class);
            entry.first_method = self.class_of_method.len() as u32;
            entry.first_field = self.class_of_field.len() as u32;
            self.class_of_method.extend(entry.header.methods.iter().map(|_| class));
            for field in &entry.header.fields {
                let name = FieldName { class: entry.header.name, name: field.name, descriptor: field.descriptor };
                // Of two with one name, which no compiler makes, the first counts.
                self.fields_by_name.entry(name).or_insert(FieldId(self.class_of_field.len() as u32));
                self.class_of_field.push(class);
            }
        }
    }
}

fn sort_by_name(classes: &mut [Entry], names: &Names) {
    classes.par_sort_by_cached_key(|class| names.text(class.header.name.0));
}

/// A thread reads so many classes before it hands over what they name: fewer repeat more names, more leave threads idle.
const READ_AT_LEAST: usize = 64;
const READ_AT_MOST: usize = 512;

/// Reads classes, in the order of their sources, and collects which classes they name.
fn read_all(
    sources: Vec<ClassSource>,
    names: &Names,
    operations: &FxHashSet<Symbol>,
) -> (Vec<Result<Entry, Skipped>>, FxHashSet<ClassName>) {
    let parts: Vec<(Vec<_>, Mentioned)> = sources
        .into_par_iter()
        .with_min_len(READ_AT_LEAST)
        .with_max_len(READ_AT_MOST)
        .fold(
            || (Vec::new(), Mentioned::default()),
            |(mut classes, mut mentioned), source| {
                classes.push(read(source, names, operations, Some(&mut mentioned)));
                (classes, mentioned)
            },
        )
        .collect();
    let mut classes = Vec::with_capacity(parts.iter().map(|(classes, _)| classes.len()).sum());
    let mut mentioned = FxHashSet::default();
    for (more, of_these) in parts {
        classes.extend(more);
        mentioned.extend(of_these.classes);
    }
    (classes, mentioned)
}

/// Takes a class apart as far as its head and a quick look at its code.
fn read(
    source: ClassSource,
    names: &Names,
    operations: &FxHashSet<Symbol>,
    mentioned: Option<&mut Mentioned>,
) -> Result<Entry, Skipped> {
    match try_read(&source.bytes, names, operations, mentioned) {
        Ok(Read { header, known, may_lock, calls_lock, mentions, makes }) => Ok(Box::new(ClassEntry {
            header,
            known,
            bytes: source.bytes,
            path: source.path,
            first_method: 0,
            first_field: 0,
            may_lock,
            calls_lock,
            mentions,
            makes,
        })),
        Err(reason) => Err(Skipped { path: source.path, reason: reason.to_string() }),
    }
}

/// What one look at a class shows.
struct Read {
    header: Header,
    known: KnownClass,
    /// By method: whether it has a monitor, whether it calls what is named like an operation of a lock, and what it names.
    may_lock: Vec<bool>,
    calls_lock: Vec<bool>,
    mentions: Vec<Mentions>,
    makes: Vec<ClassName>,
}

fn try_read(
    bytes: &[u8],
    names: &Names,
    operations: &FxHashSet<Symbol>,
    mentioned: Option<&mut Mentioned>,
) -> Result<Read, Error> {
    let class = Class::read(bytes)?;
    let header = class.header(names)?;
    let count = header.methods.len();
    let (mut may_lock, mut calls_lock) = (vec![false; count], vec![false; count]);
    let mut mentions = Vec::with_capacity(count);
    let mut own = Gathering::default();
    let (mut makes, mut broken) = (Vec::new(), Vec::new());
    // What stands before trouble counts as named.
    let _ = class.references(names, |index, reference| {
        while mentions.len() < index {
            mentions.push(own.take());
        }
        match reference {
            Reference::Call(kind, method) => own.calls.push((kind, method)),
            Reference::Lambda(method) => {
                // `Part::new` makes objects wherever it is called.
                if names.text(method.name) == "<init>" {
                    makes.push(method.class);
                }
                own.lambdas.push(method);
            }
            Reference::Read(field) => own.reads.push(field),
            Reference::Write(field) => own.writes.push(field),
            Reference::New(class) => makes.push(class),
            Reference::Monitor => may_lock[index] = true,
            Reference::Trouble => broken.push(index),
        }
    });
    while mentions.len() < count {
        mentions.push(own.take());
    }
    for (index, own) in mentions.iter().enumerate() {
        // Of code that cannot be decoded nothing is known of locks.
        let is_whole = !broken.contains(&index);
        calls_lock[index] = is_whole && own.calls.iter().any(|(_, called)| operations.contains(&called.name));
        may_lock[index] &= is_whole;
        may_lock[index] |= header.methods[index].access.is_synchronized();
    }
    if let Some(mentioned) = mentioned.filter(|_| !header.access.is_module()) {
        mentioned.add(&class, &header, names);
    }
    let known = class.into_known();
    Ok(Read { header, known, may_lock, calls_lock, mentions, makes: take_unique(&mut makes).into_vec() })
}

/// What a method's code names, as it comes. The lists are used again for the next method.
#[derive(Default)]
struct Gathering {
    calls: Vec<(CallKind, MethodName)>,
    lambdas: Vec<MethodName>,
    reads: Vec<FieldName>,
    writes: Vec<FieldName>,
}

impl Gathering {
    fn take(&mut self) -> Mentions {
        Mentions {
            calls: take_unique(&mut self.calls),
            lambdas: take_unique(&mut self.lambdas),
            reads: take_unique(&mut self.reads),
            writes: take_unique(&mut self.writes),
        }
    }
}

/// Takes the first of equal items out. Lists are short but for generated code, which gets a set.
fn take_unique<T: Copy + Eq + std::hash::Hash>(items: &mut Vec<T>) -> Box<[T]> {
    const FEW: usize = 16;
    if items.len() > FEW {
        let mut seen = FxHashSet::default();
        items.retain(|item| seen.insert(*item));
    } else {
        let mut kept = 0;
        for index in 0..items.len() {
            if !items[..kept].contains(&items[index]) {
                items[kept] = items[index];
                kept += 1;
            }
        }
        items.truncate(kept);
    }
    let taken = items.as_slice().into();
    items.clear();
    taken
}

/// Which classes the classes to check name.
#[derive(Default)]
struct Mentioned {
    classes: FxHashSet<ClassName>,
    /// Descriptors whose classes are among `classes`.
    descriptors: FxHashSet<Symbol>,
}

impl Mentioned {
    fn add(&mut self, class: &Class<'_>, header: &Header, names: &Names) {
        class.mentions(names, |mention| match mention {
            Mention::Class(class) if names.text(class.0).starts_with('[') => self.add_descriptor(class.0, names),
            Mention::Class(class) => {
                self.classes.insert(class);
            }
            Mention::Descriptor(descriptor) => self.add_descriptor(descriptor, names),
        });
        let fields = header.fields.iter().map(|field| field.descriptor);
        for descriptor in fields.chain(header.methods.iter().map(|method| method.descriptor)) {
            self.add_descriptor(descriptor, names);
        }
    }

    fn add_descriptor(&mut self, descriptor: Symbol, names: &Names) {
        if self.descriptors.insert(descriptor) {
            self.classes.extend(classes_in(names.text(descriptor)).map(|class| names.class(class)));
        }
    }
}

struct LookedUp {
    /// Sorted by name.
    found: Vec<Entry>,
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
    operations: &FxHashSet<Symbol>,
) -> LookedUp {
    let mut result = LookedUp { found: Vec::new(), missing: Vec::new(), skipped: Vec::new() };
    let mut wanted: Vec<ClassName> = mentioned.into_iter().filter(|class| seen.insert(*class)).collect();
    while !wanted.is_empty() {
        wanted.sort_by_cached_key(|class| names.text(class.0));
        let before = result.found.len();
        let mut rest = wanted;
        if let Some(class_path) = &mut known.class_path {
            rest = find(class_path.as_mut(), rest, names, operations, &mut result);
        }
        rest = match &mut known.platform {
            Platform::Installed { classes, .. } => find(classes.as_mut(), rest, names, operations, &mut result),
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
    operations: &FxHashSet<Symbol>,
    result: &mut LookedUp,
) -> Vec<ClassName> {
    let texts: Vec<&str> = wanted.iter().map(|class| names.text(class.0)).collect();
    let sources = finder.find(&texts);
    let read: Vec<(ClassName, Option<Result<Entry, Skipped>>)> = wanted
        .into_par_iter()
        .zip(sources)
        .map(|(class, source)| {
            (class, source.map(|source| source.and_then(|source| read(source, names, operations, None))))
        })
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
fn without_code(header: Header, path: &str) -> Entry {
    let may_lock = header.methods.iter().map(|method| method.access.is_synchronized()).collect();
    let calls_lock = vec![false; header.methods.len()];
    let mentions = vec![Mentions::default(); header.methods.len()];
    Box::new(ClassEntry {
        header,
        known: KnownClass::default(),
        bytes: Vec::new(),
        path: path.to_owned(),
        first_method: 0,
        first_field: 0,
        may_lock,
        calls_lock,
        mentions,
        makes: Vec::new(),
    })
}

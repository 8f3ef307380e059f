//! Makes a model of a JDK out of its classes.

use std::collections::BTreeMap;

use classfile::{Access, Class, ClassSource, Error, Header};
use location::{ClassName, Names};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::MAGIC;

/// Packages whose private fields matter: their classes are what locks and containers are made of.
const WITH_PRIVATE_FIELDS: [&str; 2] = ["java/lang/", "java/util/"];

/// Reads all classes of a JDK and selects what a model has: every class in a package that a module `java.*` or `jdk.*`
/// exports to all, and what those classes extend and implement. Left out are private fields but for those in `java.lang`,
/// `java.util` and below, and private methods that the compiler made. Sorted by name.
pub fn select(sources: &[ClassSource], names: &Names) -> Result<Vec<Header>, Error> {
    let mut exports: FxHashSet<String> = FxHashSet::default();
    let mut classes: FxHashMap<ClassName, Header> = FxHashMap::default();
    let read: Vec<_> = sources
        .par_iter()
        .map(|source| {
            let class = Class::read(&source.bytes)?;
            Ok((class.module()?, class.header(names)?))
        })
        .collect::<Result<_, Error>>()?;
    for (module, header) in read {
        match module {
            Some(module) if module.name.starts_with("java.") || module.name.starts_with("jdk.") => {
                exports.extend(module.exports);
            }
            Some(_) => {}
            None => {
                classes.insert(header.name, header);
            }
        }
    }
    let package = |name: ClassName| names.text(name.0).rsplit_once('/').map_or("", |(package, _)| package);
    let mut pending: Vec<ClassName> = classes.keys().copied().filter(|name| exports.contains(package(*name))).collect();
    let mut selected: BTreeMap<&str, Header> = BTreeMap::new();
    while let Some(name) = pending.pop() {
        if let Some(header) = classes.remove(&name) {
            pending.extend(header.super_class);
            pending.extend(&header.interfaces);
            selected.insert(names.text(name.0), without_private_members(header, names));
        }
    }
    Ok(selected.into_values().collect())
}

fn without_private_members(mut header: Header, names: &Names) -> Header {
    let name = names.text(header.name.0);
    if !WITH_PRIVATE_FIELDS.iter().any(|package| name.starts_with(package)) {
        header.fields.retain(|field| !field.access.is_private());
    }
    header.methods.retain(|method| !(method.access.is_private() && method.access.is_synthetic()));
    header
}

/// The model of these classes, which are sorted by name, under the version that reports tell. The same classes give the
/// same bytes.
pub fn encode(version: &str, classes: &[Header], names: &Names) -> Vec<u8> {
    let strings = Strings::of(classes, names);
    let mut index = Vec::new();
    let mut records = Vec::new();
    for header in classes {
        index.extend((records.len() as u32).to_le_bytes());
        let record = &mut records;
        let string = |text| strings.place(names.text(text));
        push(record, string(header.name.0));
        push(record, bits(header.access));
        push(record, header.super_class.map_or(0, |class| string(class.0) + 1));
        push(record, header.interfaces.len() as u32);
        for interface in &header.interfaces {
            push(record, string(interface.0));
        }
        push(record, header.fields.len() as u32);
        for field in &header.fields {
            push(record, string(field.name));
            push(record, string(field.descriptor));
            push(record, bits(field.access));
        }
        push(record, header.methods.len() as u32);
        for method in &header.methods {
            push(record, string(method.name));
            push(record, string(method.descriptor));
            push(record, bits(method.access));
        }
    }
    let major_version = classes.iter().map(|header| header.major_version).max().unwrap_or_default();
    let mut bytes = MAGIC.to_vec();
    for number in [u32::from(major_version), classes.len() as u32, records.len() as u32, strings.bytes.len() as u32] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.push(version.len() as u8);
    bytes.extend(version.as_bytes());
    bytes.extend(index);
    bytes.extend(records);
    bytes.extend(strings.bytes);
    bytes
}

/// All strings of a model. Those used most come first, so that their places are short numbers.
struct Strings<'n> {
    places: FxHashMap<&'n str, u32>,
    bytes: Vec<u8>,
}

impl<'n> Strings<'n> {
    fn of(classes: &[Header], names: &'n Names) -> Strings<'n> {
        let mut uses: BTreeMap<&str, u32> = BTreeMap::new();
        let mut add = |text| *uses.entry(names.text(text)).or_default() += 1;
        for header in classes {
            add(header.name.0);
            header.super_class.iter().chain(&header.interfaces).for_each(|class| add(class.0));
            header.fields.iter().for_each(|field| [field.name, field.descriptor].into_iter().for_each(&mut add));
            header.methods.iter().for_each(|method| [method.name, method.descriptor].into_iter().for_each(&mut add));
        }
        let mut by_use: Vec<(&str, u32)> = uses.into_iter().collect();
        // Stable, so that strings used equally often stay in their order.
        by_use.sort_by_key(|(_, uses)| std::cmp::Reverse(*uses));
        let mut strings = Strings { places: FxHashMap::default(), bytes: Vec::new() };
        for (text, _) in by_use {
            strings.places.insert(text, strings.bytes.len() as u32);
            push(&mut strings.bytes, text.len() as u32);
            strings.bytes.extend(text.as_bytes());
        }
        strings
    }

    fn place(&self, text: &str) -> u32 {
        self.places[text]
    }
}

fn bits(access: Access) -> u32 {
    access.bits().into()
}

fn push(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

//! The embedded model against a real JDK of the same release, where there is one.

use std::collections::BTreeMap;
use std::fs;

use classfile::Header;
use classfile::archive::{ArchiveReader, Contents, Kind};
use location::Names;
use program::jdk::{Jdk, encode, select};

/// The release of the embedded model.
const RELEASE: u32 = 17;

fn parents(header: &Header, names: &Names) -> Vec<String> {
    header.super_class.iter().chain(&header.interfaces).map(|parent| names.text(parent.0).to_owned()).collect()
}

#[test]
fn the_model_agrees_with_the_jdk() {
    let Some(jdk) = fixture::find_jdks().unwrap().into_iter().find(|jdk| jdk.feature == RELEASE) else {
        println!("there is no JDK {RELEASE} to compare with");
        return;
    };
    let image = fs::read(jdk.home.join("lib/modules")).unwrap();
    let mut contents = Contents::default();
    ArchiveReader::default().read("modules", Kind::Image, &image, &mut contents);
    let names = Names::new();
    let classes = select(&contents.sources, &names).unwrap();

    // What is written is read again.
    let bytes = encode("again", &classes, &names);
    let again = Jdk::read(&bytes).unwrap();
    assert_eq!(again.class_count(), classes.len());
    for original in &classes {
        let written = again.class(names.text(original.name.0), &names).unwrap();
        let mut expected = original.clone();
        expected.source_file = None;
        expected.enclosing = None;
        expected.annotations.clear();
        expected.fields.iter_mut().for_each(|field| field.annotations.clear());
        expected.methods.iter_mut().for_each(|method| {
            method.annotations.clear();
            method.has_code = false;
        });
        expected.major_version = written.major_version;
        assert_eq!(format!("{written:?}"), format!("{expected:?}"));
    }

    // Updates of a release may add and remove classes that nobody can name, and members; they keep the public hierarchy.
    let embedded = Jdk::embedded();
    let installed: BTreeMap<&str, &Header> = classes.iter().map(|header| (names.text(header.name.0), header)).collect();
    let is_public = |name: &str, header: &Header| name.starts_with("java/") && header.access.is_public();
    let mut compared = 0;
    for (name, header) in &installed {
        match embedded.class(name, &names) {
            Some(known) if name.starts_with("java/") => {
                assert_eq!(parents(&known, &names), parents(header, &names), "{name}");
                compared += 1;
            }
            None if is_public(name, header) => panic!("the model has no {name}; ./x jdk-model makes it anew"),
            _ => {}
        }
    }
    for name in embedded.class_names() {
        let is_gone = || embedded.class(name, &names).is_some_and(|header| is_public(name, &header));
        assert!(installed.contains_key(name) || !is_gone(), "JDK {} has no {name}", jdk.version);
    }
    assert!(compared > 3_000, "{compared}");
}

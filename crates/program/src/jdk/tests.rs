//! What the embedded model says, and what becomes of a damaged one.

use std::collections::BTreeSet;

use super::*;

fn class(name: &str, names: &Names) -> Header {
    Jdk::embedded().class(name, names).unwrap_or_else(|| panic!("no {name}"))
}

fn parents(name: &str) -> Vec<String> {
    let names = Names::new();
    let header = class(name, &names);
    header.super_class.iter().chain(&header.interfaces).map(|parent| names.text(parent.0).to_owned()).collect()
}

#[track_caller]
fn assert_inherits(chain: &[&str]) {
    for pair in chain.windows(2) {
        assert!(parents(pair[0]).contains(&pair[1].to_owned()), "{pair:?}");
    }
}

#[test]
fn well_known_classes() {
    assert_eq!(parents("java/lang/Object"), [""; 0]);
    assert_inherits(&["java/util/ArrayList", "java/util/List", "java/util/Collection", "java/lang/Iterable"]);
    assert_inherits(&["java/util/concurrent/locks/ReentrantLock", "java/util/concurrent/locks/Lock"]);
    let map = ["java/util/concurrent/ConcurrentHashMap", "java/util/concurrent/ConcurrentMap", "java/util/Map"];
    assert_inherits(&map);
    assert_inherits(&["java/util/Stack", "java/util/Vector", "java/util/AbstractList"]);
    let names = Names::new();
    assert!(class("java/util/Map", &names).access.is_interface());
    // Exported by `jdk.unsupported`.
    class("sun/misc/Unsafe", &names);
    // Not exported, but extended by a class that is.
    assert_inherits(&["java/lang/StringBuilder", "java/lang/AbstractStringBuilder"]);
    for not_there in ["", "java/lang/NoSuch", "java/lang/object", "sun/nio/ch/FileChannelImpl", "[I", "a/B"] {
        assert!(Jdk::embedded().class(not_there, &names).is_none(), "{not_there}");
    }
}

#[test]
fn members_have_their_flags() {
    let names = Names::new();
    let method = |class_name: &str, name: &str, descriptor: &str| {
        let header = class(class_name, &names);
        let found = header
            .methods
            .into_iter()
            .find(|method| names.text(method.name) == name && names.text(method.descriptor) == descriptor);
        let found = found.unwrap_or_else(|| panic!("no {class_name}.{name}{descriptor}"));
        assert!(!found.has_code);
        found.access
    };
    assert!(method("java/util/Vector", "add", "(Ljava/lang/Object;)Z").is_synchronized());
    assert!(!method("java/util/ArrayList", "add", "(Ljava/lang/Object;)Z").is_synchronized());
    assert!(method("java/lang/Object", "wait", "()V").is_final());
    assert!(method("java/lang/Object", "hashCode", "()I").is_native());
    assert!(method("java/util/List", "size", "()I").is_abstract());
    assert!(method("java/util/Collections", "synchronizedMap", "(Ljava/util/Map;)Ljava/util/Map;").is_static());
    assert!(method("java/lang/String", "compareTo", "(Ljava/lang/Object;)I").is_bridge());
    let field = |class_name: &str, name: &str| {
        let fields = class(class_name, &names).fields;
        fields.into_iter().find(|field| names.text(field.name) == name).map(|field| field.access)
    };
    assert!(field("java/util/ArrayList", "size").is_some_and(Access::is_private));
    assert!(field("java/util/concurrent/atomic/AtomicInteger", "value").is_some_and(Access::is_volatile));
    assert!(field("java/lang/System", "out").is_some_and(|access| access.is_static() && access.is_final()));
    assert!(field("javax/swing/Timer", "delay").is_none(), "private, and neither java.lang nor java.util");
}

#[test]
fn the_model_is_whole() {
    assert!(EMBEDDED.len() <= 3_000_000, "{} bytes are part of every binary", EMBEDDED.len());
    let jdk = Jdk::embedded();
    assert_eq!(jdk.version(), "embedded 17");
    let names = Names::new();
    let all: Vec<&str> = jdk.class_names().collect();
    assert!(all.len() == jdk.class_count() && all.len() > 8_000, "{}", all.len());
    assert!(all.is_sorted());
    let known: BTreeSet<&str> = all.iter().copied().collect();
    for (name, header) in all.iter().zip(jdk.classes(&all, &names)) {
        let header = header.unwrap_or_else(|| panic!("{name} cannot be decoded"));
        assert_eq!(names.text(header.name.0), *name);
        for parent in header.super_class.iter().chain(&header.interfaces) {
            assert!(known.contains(names.text(parent.0)), "{name} has a parent that is not there");
        }
    }
}

/// A small model, so that every byte of it can be damaged.
fn small() -> Vec<u8> {
    let names = Names::new();
    let classes = ["java/lang/Object", "java/lang/Runnable", "java/lang/Thread"].map(|name| class(name, &names));
    encode("small", &classes, &names)
}

#[test]
fn what_is_written_is_read_again() {
    let bytes = small();
    let jdk = Jdk::read(&bytes).unwrap();
    assert_eq!((jdk.version(), jdk.class_count()), ("small", 3));
    let names = Names::new();
    for name in jdk.class_names() {
        let (written, original) = (jdk.class(name, &names).unwrap(), class(name, &names));
        assert_eq!(format!("{written:?}"), format!("{original:?}"));
    }
}

#[test]
fn damaged_models_do_not_panic() {
    let bytes = small();
    let names = Names::new();
    for length in 0..bytes.len() {
        assert!(Jdk::read(&bytes[..length]).is_none(), "{length} bytes");
    }
    for at in 0..bytes.len() {
        for damage in [0x01, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= damage;
            let Some(jdk) = Jdk::read(&damaged) else { continue };
            let _ = jdk.class_names().count();
            for name in ["java/lang/Object", "java/lang/Runnable", "java/lang/Thread", "a/B"] {
                let _ = jdk.class(name, &names);
            }
        }
    }
}

//! Archives in which classes are looked up by name.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod jdk;
mod zip_writer;

use classfile::Class;
use classfile::archive::{ArchiveError, Kind, Library, Limits};
use zip_writer::{File, Zip, class, deflated, stored};

fn open(bytes: Vec<u8>) -> Library {
    let kind = Kind::of(&bytes).unwrap().unwrap();
    Library::open("a.jar".to_owned(), kind, Box::new(bytes), &Limits::default(), None).unwrap()
}

/// The path and content of what is found under a name.
fn found(library: &Library, name: &str) -> Option<(String, String)> {
    let source = library.read(name)?.unwrap();
    assert!(library.cost(name).unwrap() >= source.bytes.len() as u64);
    Some((source.path, String::from_utf8_lossy(&source.bytes[4..]).into_owned()))
}

#[track_caller]
fn assert_found(library: &Library, name: &str, path: &str, content: &str) {
    assert_eq!(found(library, name), Some((path.to_owned(), content.to_owned())));
}

#[test]
fn classes_are_found_by_their_name() {
    let library = open(Zip::of(&[
        deflated("a/B.class", &class("b")),
        stored("C.class", &class("c")),
        deflated("a/readme.txt", b"text"),
        deflated("WEB-INF/classes/w/W.class", &class("w")),
        stored("lib/inner.jar", &Zip::of(&[stored("i/Inner.class", &class("i"))])),
    ]));
    assert_found(&library, "a/B", "a.jar!/a/B.class", "b");
    assert_found(&library, "C", "a.jar!/C.class", "c");
    assert_found(&library, "w/W", "a.jar!/WEB-INF/classes/w/W.class", "w");
    for name in ["", "a", "B", "a/b", "a/B.class", "/a/B", "../a/B", "a/readme", "i/Inner", "[La/B;"] {
        assert!(library.read(name).is_none() && library.cost(name).is_none(), "{name}");
    }
}

#[test]
fn versions_count_in_a_multi_release_jar_alone() {
    let files = |manifest: &[u8]| -> Vec<File> {
        vec![
            deflated("META-INF/MANIFEST.MF", manifest),
            deflated("a/B.class", &class("old")),
            deflated("META-INF/versions/11/a/B.class", &class("new")),
            deflated("META-INF/versions/99/a/B.class", &class("future")),
        ]
    };
    let multi = open(Zip::of(&files(b"Multi-Release: true\n")));
    assert_found(&multi, "a/B", "a.jar!/META-INF/versions/11/a/B.class", "new");
    assert_found(&open(Zip::of(&files(b"\n"))), "a/B", "a.jar!/a/B.class", "old");
}

#[test]
fn a_jmod_has_its_classes_below_a_folder() {
    let zip = Zip::of(&[deflated("classes/a/B.class", &class("b")), deflated("bin/x", b"x")]);
    let library = open([b"JM\x01\x00", zip.as_slice()].concat());
    assert_found(&library, "a/B", "a.jar!/classes/a/B.class", "b");
}

#[test]
fn damage_and_limits_are_told_when_a_class_is_read() {
    let wrong = File { checksum: 1, ..deflated("Wrong.class", &class("wrong")) };
    let library = open(Zip::of(&[
        wrong,
        stored("NoClass.class", b"text"),
        deflated("Bomb.class", &vec![0; 2 << 20]),
        stored("Good.class", &class("good")),
    ]));
    assert!(matches!(library.read("Wrong"), Some(Err(ArchiveError::WrongChecksum { .. }))));
    assert!(matches!(library.read("NoClass"), Some(Err(ArchiveError::NotAClass(_)))));
    assert!(matches!(library.read("Bomb"), Some(Err(ArchiveError::Ratio { .. }))));
    assert_found(&library, "Good", "a.jar!/Good.class", "good");
}

#[test]
fn an_archive_without_directory_is_refused() {
    let bytes = Zip::of(&[stored("Good.class", &class("good"))]);
    let cut = bytes[..bytes.len() / 2].to_vec();
    assert!(Library::open(String::new(), Kind::Archive, Box::new(cut.clone()), &Limits::default(), None).is_err());
    assert!(Library::open(String::new(), Kind::Image, Box::new(cut), &Limits::default(), None).is_err());
}

#[test]
fn the_image_of_a_jdk_is_looked_up_without_modules() {
    let path = jdk::home().join("lib/modules");
    let data = std::fs::read(path).unwrap();
    let library = Library::open("modules".to_owned(), Kind::Image, Box::new(data), &Limits::default(), None).unwrap();
    let names = location::Names::new();
    for name in ["java/lang/Object", "java/util/concurrent/ConcurrentHashMap", "sun/misc/Unsafe"] {
        let source = library.read(name).unwrap().unwrap();
        let header = Class::read(&source.bytes).unwrap().header(&names).unwrap();
        assert_eq!(names.text(header.name.0), name);
    }
    let base = library.read("module-info").unwrap().unwrap();
    let module = Class::read(&base.bytes).unwrap().module().unwrap().unwrap();
    assert_eq!(module.name, "java.base");
    assert!(module.exports.contains(&"java/util/concurrent".to_owned()));
    assert!(!module.exports.contains(&"jdk/internal/misc".to_owned()), "exported to some modules only");
    assert!(module.version.is_some());
    assert!(library.read("java/lang/NoSuch").is_none());
}

//! The library models, held against the classes that they are about: what they name exists, and of the classes that
//! matter most nothing is forgotten.
//!
//! With `FISSURE_LIBRARIES` set to a folder of jars, the tables of other libraries are checked too.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use classfile::archive::{ArchiveReader, Contents, Kind};
use classfile::{Class, Header};
use location::{ClassName, Names};
use program::model::{Models, NamedMethod, Origin, immutable_classes, named_methods, task_entries};

/// Classes of a JDK or of jars, read when asked for.
struct Library {
    names: Names,
    bytes: BTreeMap<String, Vec<u8>>,
    headers: RefCell<BTreeMap<String, Option<Rc<Header>>>>,
}

impl Library {
    fn new(contents: Vec<Contents>) -> Library {
        let mut bytes = BTreeMap::new();
        for source in contents.into_iter().flat_map(|contents| contents.sources) {
            // `modules!/java.base/java/util/List.class`, `guava.jar!/com/google/...`
            let Some((archive, inside)) = source.path.split_once("!/") else { continue };
            let inside =
                if archive == "modules" { inside.split_once('/').map_or(inside, |(_, rest)| rest) } else { inside };
            bytes.entry(inside.trim_end_matches(".class").to_owned()).or_insert(source.bytes);
        }
        Library { names: Names::new(), bytes, headers: RefCell::default() }
    }

    fn jdk(home: &Path) -> Library {
        Library::new(vec![read("modules", &home.join("lib/modules"))])
    }

    fn header(&self, class: &str) -> Option<Rc<Header>> {
        let read = || {
            let bytes = self.bytes.get(class)?;
            Some(Rc::new(Class::read(bytes).expect("a class").header(&self.names).expect("a header")))
        };
        if let Some(known) = self.headers.borrow().get(class) {
            return known.clone();
        }
        let header = read();
        self.headers.borrow_mut().insert(class.to_owned(), header.clone());
        header
    }

    fn supertypes(&self, class: &str) -> Vec<ClassName> {
        let Some(header) = self.header(class) else { return Vec::new() };
        header.super_class.into_iter().chain(header.interfaces.iter().copied()).collect()
    }

    /// Whether a class or one of its ancestors declares a method that `is_wanted`.
    fn declares(&self, class: &str, is_wanted: &dyn Fn(&str, &str) -> bool) -> bool {
        let Some(header) = self.header(class) else { return false };
        let text = |symbol| self.names.text(symbol);
        header.methods.iter().any(|method| is_wanted(text(method.name), text(method.descriptor)))
            || self.supertypes(class).iter().any(|ancestor| self.declares(text(ancestor.0), is_wanted))
    }

    fn has(&self, method: &NamedMethod) -> bool {
        let is_wanted = |name: &str, descriptor: &str| method.matches(name, descriptor);
        match method.name {
            "<init>" => self.header(&method.class).is_some_and(|header| {
                let text = |symbol| self.names.text(symbol);
                header.methods.iter().any(|own| is_wanted(text(own.name), text(own.descriptor)))
            }),
            _ => self.declares(&method.class, &is_wanted),
        }
    }
}

fn read(name: &str, path: &Path) -> Contents {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let kind = Kind::of(&bytes).expect("it can be read").expect("an archive");
    let mut contents = Contents::default();
    ArchiveReader::default().read(name, kind, &bytes, &mut contents);
    contents
}

/// Tables are written for Java 17 and later; older classes lack some of what they name.
fn jdks() -> Vec<(u32, Library)> {
    let found = fixture::find_jdks().expect("these tests need a JDK");
    let mut jdks: Vec<_> = found.into_iter().filter(|jdk| jdk.feature >= 17).collect();
    jdks.dedup_by_key(|jdk| jdk.feature);
    assert!(!jdks.is_empty(), "these tests need a JDK of release 17 or later");
    jdks.into_iter().map(|jdk| (jdk.feature, Library::jdk(&jdk.home))).collect()
}

#[test]
fn every_method_of_the_tables_exists() {
    for (release, jdk) in jdks() {
        let of_jdk = |method: &NamedMethod| method.origin == Origin::Jdk && u32::from(method.since) <= release;
        let missing: BTreeSet<String> =
            named_methods().filter(of_jdk).filter(|method| !jdk.has(method)).map(|method| method.to_string()).collect();
        assert_eq!(missing, BTreeSet::new(), "named, but not in JDK {release}");
        for entry in task_entries().filter(|entry| entry.origin == Origin::Jdk) {
            let is_entry = |name: &str, descriptor: &str| name == entry.name && descriptor == entry.descriptor;
            assert!(jdk.declares(&entry.class, &is_entry), "{}.{}{}", entry.class, entry.name, entry.descriptor);
        }
        for (class, origin) in immutable_classes() {
            assert!(origin == Origin::Library || jdk.header(&class).is_some(), "no {class} in JDK {release}");
        }
    }
}

#[test]
fn methods_of_other_libraries_exist() {
    let Some(folder) = std::env::var_os("FISSURE_LIBRARIES") else { return };
    let entries = std::fs::read_dir(folder).expect("a folder of jars").flatten();
    let mut jars: Vec<_> = entries.map(|entry| entry.path()).collect();
    jars.retain(|path| path.extension().is_some_and(|extension| extension == "jar"));
    jars.sort();
    let mut contents: Vec<Contents> = jars.iter().map(|jar| read("jar", jar)).collect();
    // For what they inherit.
    let newest = fixture::find_jdks().expect("these tests need a JDK").pop().expect("a JDK");
    contents.push(read("modules", &newest.home.join("lib/modules")));
    let library = Library::new(contents);
    let of_library = |method: &NamedMethod| method.origin == Origin::Library;
    let (known, unknown): (Vec<_>, Vec<_>) =
        named_methods().filter(of_library).partition(|method| library.header(&method.class).is_some());
    let missing: BTreeSet<String> =
        known.iter().filter(|method| !library.has(method)).map(|method| method.to_string()).collect();
    assert_eq!(missing, BTreeSet::new());
    let classes: BTreeSet<_> = unknown.iter().map(|method| &method.class).collect();
    println!("not among the jars: {classes:?}");
}

/// The classes of which every public method needs a model.
const COMPLETE: &[&str] = &[
    "java/util/ArrayList",
    "java/util/BitSet",
    "java/util/HashMap",
    "java/util/Hashtable",
    "java/util/Vector",
    "java/util/concurrent/ConcurrentHashMap",
    "java/util/concurrent/CopyOnWriteArrayList",
    "java/util/concurrent/LinkedBlockingQueue",
    "java/util/concurrent/atomic/AtomicInteger",
    "java/util/concurrent/atomic/AtomicReference",
    "java/lang/StringBuffer",
];

/// Public methods that no table needs to speak of, and why. A class of its own or any.
const SAYS_NOTHING: &[(&str, &str, &str)] = &[
    ("*", "getClass", "the same for the object's whole life"),
    ("java/util/HashMap", "newHashMap", "makes an empty map, as unknown code may"),
    ("java/lang/StringBuffer", "equals hashCode", IDENTITY),
    ("java/util/concurrent/atomic/AtomicInteger", "equals hashCode", IDENTITY),
    ("java/util/concurrent/atomic/AtomicReference", "equals hashCode", IDENTITY),
];

const IDENTITY: &str = "compares objects, not what they hold";

fn says_nothing(class: &str, method: &str) -> bool {
    SAYS_NOTHING.iter().any(|(of, methods, _)| {
        (*of == "*" || *of == class) && methods.split_ascii_whitespace().any(|name| name == method)
    })
}

#[test]
fn nothing_is_forgotten() {
    for (release, jdk) in jdks() {
        let models = Models::new(&jdk.names);
        let mut forgotten = BTreeSet::new();
        for class in COMPLETE {
            for method in public_methods(&jdk, class) {
                let (name, descriptor) = method;
                if says_nothing(class, &name) {
                    continue;
                }
                let asked = jdk.names.method(class, &name, &descriptor);
                let mut supertypes = |class: ClassName, tell: &mut dyn FnMut(ClassName)| {
                    jdk.supertypes(jdk.names.text(class.0)).into_iter().for_each(tell);
                };
                if models.call(&jdk.names, asked, &mut supertypes).is_none() {
                    forgotten.insert(format!("{class}.{name}{descriptor}"));
                }
            }
        }
        assert_eq!(forgotten, BTreeSet::new(), "in JDK {release}");
    }
}

/// All methods that a client can call, inherited ones included; bridges say nothing of their own.
fn public_methods(jdk: &Library, class: &str) -> BTreeSet<(String, String)> {
    let header = jdk.header(class).expect("the class exists");
    let text = |symbol| jdk.names.text(symbol).to_owned();
    let mut methods: BTreeSet<(String, String)> = header
        .methods
        .iter()
        .filter(|method| method.access.is_public() && !method.access.is_synthetic())
        .map(|method| (text(method.name), text(method.descriptor)))
        .filter(|(name, _)| name != "<init>")
        .collect();
    for ancestor in jdk.supertypes(class) {
        methods.extend(public_methods(jdk, jdk.names.text(ancestor.0)));
    }
    methods
}

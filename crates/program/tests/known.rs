//! Classes that are known but not checked: where they come from, and what sees them.

use std::collections::BTreeMap;

use classfile::{ClassSource, Skipped};
use program::{Finder, Known, Program};

/// Writes small class files: a superclass, interfaces, other classes that the constant pool names, and one method
/// `void run()` that only returns.
struct ClassFile<'a> {
    name: &'a str,
    super_class: &'a str,
    interfaces: &'a [&'a str],
    mentions: &'a [&'a str],
}

impl<'a> ClassFile<'a> {
    fn new(name: &'a str) -> ClassFile<'a> {
        ClassFile { name, super_class: "java/lang/Object", interfaces: &[], mentions: &[] }
    }

    fn source(&self) -> ClassSource {
        let (mut pool, mut count) = (Vec::new(), 1u16);
        let mut utf8 = |text: &str| {
            pool.push(1);
            pool.extend((text.len() as u16).to_be_bytes());
            pool.extend(text.as_bytes());
            count += 1;
            count - 1
        };
        let members = ["run", "()V", "Code"].map(&mut utf8);
        let classes: Vec<&str> =
            [self.name, self.super_class].iter().chain(self.interfaces).chain(self.mentions).copied().collect();
        let texts: Vec<u16> = classes.iter().map(|class| utf8(class)).collect();
        let first = count;
        for text in texts {
            pool.push(7);
            pool.extend(text.to_be_bytes());
            count += 1;
        }
        let mut bytes = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52];
        let mut push = |number: u16| bytes.extend(number.to_be_bytes());
        push(count);
        bytes.extend(pool);
        let mut push = |number: u16| bytes.extend(number.to_be_bytes());
        [0x21, first, first + 1, self.interfaces.len() as u16].into_iter().for_each(&mut push);
        (0..self.interfaces.len() as u16).for_each(|index| push(first + 2 + index));
        // No fields, one method with one attribute: its code.
        [0, 1, 1, members[0], members[1], 1, members[2], 0, 13, 0, 1, 0, 1].into_iter().for_each(&mut push);
        bytes.push(0xb1);
        bytes.extend([0; 6]);
        ClassSource { path: format!("{}.class", self.name), bytes }
    }
}

/// A class path in memory.
#[derive(Default)]
struct Classes(BTreeMap<String, Result<Vec<u8>, String>>);

impl Classes {
    fn with(mut self, name: &str, class: &ClassFile<'_>) -> Classes {
        self.0.insert(name.to_owned(), Ok(class.source().bytes));
        self
    }

    fn known(self) -> Known {
        Known { class_path: Some(Box::new(self)), ..Known::default() }
    }
}

impl Finder for Classes {
    fn find(&mut self, classes: &[&str]) -> Vec<Option<Result<ClassSource, Skipped>>> {
        assert!(classes.is_sorted());
        let found = classes.iter().map(|name| {
            let path = format!("lib.jar!/{name}.class");
            Some(match self.0.remove(*name)? {
                Ok(bytes) => Ok(ClassSource { path, bytes }),
                Err(reason) => Err(Skipped { path, reason }),
            })
        });
        found.collect()
    }
}

fn load(classes: &[ClassFile<'_>], known: Known) -> Program {
    Program::load(classes.iter().map(ClassFile::source).collect(), known)
}

fn is_subtype(program: &Program, class: &str, ancestor: &str) -> bool {
    program.is_subtype(program.names.class(class), program.names.class(ancestor))
}

fn missing(program: &Program) -> Vec<&str> {
    program.missing().iter().map(|class| program.names.text(class.0)).collect()
}

#[test]
fn names_that_are_nowhere_are_missing_and_no_error() {
    let class = ClassFile {
        super_class: "b/Base",
        interfaces: &["a/Face", "java/util/List"],
        mentions: &["[[Lc/Element;", "[I", "java/lang/Thread"],
        ..ClassFile::new("app/Main")
    };
    let program = load(&[class], Known::default());
    assert_eq!(missing(&program), ["a/Face", "b/Base", "c/Element"]);
    assert_eq!(program.skipped(), []);
    assert_eq!(program.jdk(), "embedded 17");
    assert!(is_subtype(&program, "app/Main", "java/util/Collection"));
    assert!(is_subtype(&program, "java/lang/Thread", "java/lang/Runnable"));
    assert!(is_subtype(&program, "c/Element", "java/lang/Object"), "whatever it is");
    assert!(!is_subtype(&program, "c/Element", "java/lang/Runnable"));
}

#[test]
fn what_is_only_known_is_seen_but_not_visited() {
    let library = ClassFile { super_class: "lib/Base", ..ClassFile::new("lib/Tool") };
    let path = Classes::default().with("lib/Tool", &library).with("lib/Base", &ClassFile::new("lib/Base"));
    let main = ClassFile { mentions: &["lib/Tool", "java/util/Vector"], ..ClassFile::new("app/Main") };
    let program = load(&[main], path.known());
    assert_eq!((program.class_count(), program.method_count()), (1, 1));
    assert_eq!((program.classes().len(), program.methods().len()), (1, 1));
    assert!(program.known_class_count() > 5 && program.known_method_count() > 50);
    assert_eq!(program.visit_bodies(|_| true, |method, _| method).len(), 1);
    let id = |name| program.class(program.names.class(name)).unwrap_or_else(|| panic!("{name} is not known"));
    assert!(program.is_checked(id("app/Main")));
    for known in ["lib/Tool", "lib/Base", "java/util/Vector", "java/util/List", "java/lang/Object"] {
        assert!(!program.is_checked(id(known)), "{known}");
    }
    assert!(is_subtype(&program, "lib/Tool", "lib/Base"));
    assert_eq!(program.class_path(id("lib/Tool")), "lib.jar!/lib/Tool.class");
    // A class of the class path has code for those who ask, one of the model has none.
    let run = program.methods_of(id("lib/Tool")).next().unwrap();
    assert!(program.body(run).unwrap().is_some());
    let mut vector = program.methods_of(id("java/util/Vector"));
    assert!(vector.all(|method| matches!(program.body(method), Ok(None))));
    // Known classes come after all checked ones, each group by name.
    let names: Vec<&str> =
        program.known_classes().map(|class| program.names.text(program.header(class).name.0)).collect();
    assert_eq!(names[0], "app/Main");
    assert!(names[1..].is_sorted());
}

#[test]
fn a_class_path_comes_before_the_jdk() {
    let own = ClassFile { super_class: "lib/Base", ..ClassFile::new("java/util/Vector") };
    let path = Classes::default().with("java/util/Vector", &own).with("lib/Base", &ClassFile::new("lib/Base"));
    let main = ClassFile { mentions: &["java/util/Vector", "java/util/Stack"], ..ClassFile::new("app/Main") };
    let program = load(&[main], path.known());
    assert!(is_subtype(&program, "java/util/Stack", "lib/Base"));
    assert!(!is_subtype(&program, "java/util/Stack", "java/util/List"));
}

#[test]
fn a_checked_class_comes_before_all() {
    let own = ClassFile { interfaces: &["java/lang/Runnable"], ..ClassFile::new("java/util/Vector") };
    let path = Classes::default().with("java/util/Vector", &ClassFile::new("java/util/Vector"));
    let program = load(&[own], path.known());
    assert!(is_subtype(&program, "java/util/Vector", "java/lang/Runnable"));
    assert_eq!(program.class_count(), 1);
}

#[test]
fn of_two_classes_with_one_name_the_first_counts() {
    let first = ClassFile { super_class: "a/First", ..ClassFile::new("app/Main") };
    let second = ClassFile { super_class: "a/Second", ..ClassFile::new("app/Main") };
    let program = load(&[first, second], Known::default());
    assert_eq!(program.class_count(), 1);
    assert!(is_subtype(&program, "app/Main", "a/First") && !is_subtype(&program, "app/Main", "a/Second"));
}

#[test]
fn a_file_with_another_class_in_it_does_not_count() {
    let path = Classes::default().with("java/util/Vector", &ClassFile::new("java/util/vector"));
    let main = ClassFile { mentions: &["java/util/Vector"], ..ClassFile::new("app/Main") };
    let program = load(&[main], path.known());
    assert!(is_subtype(&program, "java/util/Vector", "java/util/List"));
}

#[test]
fn a_known_class_that_cannot_be_read_is_listed() {
    let mut path = Classes::default();
    path.0.insert("lib/Damaged".to_owned(), Ok(vec![0xca, 0xfe, 0xba, 0xbe, 0]));
    path.0.insert("lib/Refused".to_owned(), Err("too large".to_owned()));
    let main = ClassFile { mentions: &["lib/Damaged", "lib/Refused"], ..ClassFile::new("app/Main") };
    let program = load(&[main], path.known());
    let skipped: Vec<&str> = program.skipped().iter().map(|skipped| skipped.path.as_str()).collect();
    assert_eq!(skipped, ["lib.jar!/lib/Damaged.class", "lib.jar!/lib/Refused.class"]);
    assert_eq!(missing(&program), ["lib/Damaged", "lib/Refused"]);
}

#[test]
fn arrays_are_subtypes_as_their_elements_are() {
    let mentions = &["[Ljava/util/ArrayList;", "[[Ljava/util/ArrayList;", "[I", "[[I", "[Ljava/util/List;"];
    let program = load(&[ClassFile { mentions, ..ClassFile::new("app/Main") }], Known::default());
    for (array, ancestor) in [
        ("[I", "java/lang/Object"),
        ("[I", "java/lang/Cloneable"),
        ("[[I", "java/io/Serializable"),
        ("[[I", "[Ljava/lang/Object;"),
        ("[[I", "[Ljava/lang/Cloneable;"),
        ("[Ljava/util/ArrayList;", "[Ljava/util/List;"),
        ("[[Ljava/util/ArrayList;", "[[Ljava/util/List;"),
        ("[[Ljava/util/ArrayList;", "[Ljava/lang/Object;"),
        ("[I", "[I"),
    ] {
        assert!(is_subtype(&program, array, ancestor), "{array} is {ancestor}");
    }
    for (array, other) in [
        ("[I", "[J"),
        ("[I", "[Ljava/lang/Object;"),
        ("[Ljava/util/List;", "[Ljava/util/ArrayList;"),
        ("[Ljava/util/ArrayList;", "java/util/List"),
        ("[Ljava/util/ArrayList;", "[[Ljava/util/ArrayList;"),
        ("java/util/ArrayList", "[Ljava/util/ArrayList;"),
    ] {
        assert!(!is_subtype(&program, array, other), "{array} is no {other}");
    }
}

#[test]
fn a_hierarchy_in_circles_ends() {
    let a = ClassFile { super_class: "app/B", interfaces: &["app/A", "lib/X"], ..ClassFile::new("app/A") };
    let b = ClassFile { super_class: "app/A", interfaces: &["app/B"], ..ClassFile::new("app/B") };
    let x = ClassFile { super_class: "lib/X", interfaces: &["lib/X", "app/A"], ..ClassFile::new("lib/X") };
    let program = load(&[a, b], Classes::default().with("lib/X", &x).known());
    assert!(is_subtype(&program, "lib/X", "app/B"));
    assert!(!is_subtype(&program, "app/A", "app/C"));
}

#[test]
fn any_number_of_threads_gives_the_same() {
    let names: Vec<String> = (0..500).map(|number| format!("app/C{number}")).collect();
    let mentions = ["java/util/Vector", "z/Missing", "java/util/concurrent/locks/ReentrantLock", "a/Missing"];
    let told = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let classes: Vec<ClassFile<'_>> = names
                .iter()
                .enumerate()
                .map(|(number, name)| ClassFile { mentions: &mentions[number % 4..], ..ClassFile::new(name) })
                .collect();
            let program = load(&classes, Known::default());
            let classes = program.known_classes().map(|class| program.header(class).name);
            let mut told: Vec<String> = classes.map(|class| program.names.readable_class(class)).collect();
            told.extend(missing(&program).into_iter().map(str::to_owned));
            told
        })
    };
    let one = told(1);
    assert!(one.len() > 510);
    assert_eq!(told(2), one);
    assert_eq!(told(7), one);
}

//! Class paths and JDKs, right and wrong.

use std::ffi::OsStr;

use fixture::Folder;

use super::*;

fn open_places(paths: &[PathBuf]) -> Places {
    Places::open(paths, &InputOptions::default()).unwrap()
}

/// What opening with these options says, in one line and without the folder's own path.
fn trouble(folder: &Folder, classpath: Option<&str>, jdk: Option<&str>) -> String {
    let below = |name: &str| folder.path(name);
    let args = KnownArgs { classpath: classpath.map(|path| below(path).into()), jdk: jdk.map(below) };
    let error = match open(&args, &InputOptions::default()) {
        Ok(_) => panic!("{classpath:?} {jdk:?} can be used"),
        Err(error) => format!("{error:#}"),
    };
    error.replace(&format!("{}/", folder.top().display()), "")
}

const CLASS: &str = "\u{ca}";

#[test]
fn a_class_path_is_split_and_stars_are_jars() {
    let folder = Folder::new();
    for name in ["lib/b.jar", "lib/a.JAR", "lib/notes.txt", "lib/inner/c.jar", "lib/A.class", "own.jar"] {
        folder.file(name, "");
    }
    fs::create_dir(folder.path("lib/folder.jar")).unwrap();
    let at = |name: &str| folder.path(name);
    let text = std::env::join_paths([at("own.jar"), PathBuf::new(), at("lib/*"), at("classes")]).unwrap();
    assert_eq!(class_path(&text).unwrap(), [at("own.jar"), at("lib/a.JAR"), at("lib/b.jar"), at("classes")]);
    assert_eq!(class_path(OsStr::new("")).unwrap(), [""; 0].map(PathBuf::from));
    let error = class_path(at("nowhere/*").as_os_str()).unwrap_err().to_string();
    assert!(error.ends_with("nowhere`: no such file or directory"), "{error}");
}

#[test]
fn what_cannot_be_used_is_told_in_one_line() {
    let folder = Folder::new();
    folder.file("notes.txt", "text");
    fs::create_dir(folder.path("empty")).unwrap();
    fs::write(folder.path("A.class"), [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52]).unwrap();
    fs::write(folder.path("cut.jar"), b"PK\x03\x04 and no more").unwrap();
    for (path, told) in [
        ("nowhere.jar", "cannot use `--classpath`: cannot read `nowhere.jar`: no such file or directory"),
        (
            "notes.txt",
            "cannot use `--classpath`: cannot read `notes.txt`: neither a directory nor an archive of class files",
        ),
        (
            "A.class",
            "cannot use `--classpath`: cannot read `A.class`: neither a directory nor an archive of class files",
        ),
    ] {
        assert_eq!(trouble(&folder, Some(path), None), told);
    }
    let cut = trouble(&folder, Some("cut.jar"), None);
    assert!(cut.starts_with("cannot use `--classpath`: cannot read `cut.jar`: ") && !cut.contains('\n'), "{cut}");
    for (path, told) in [
        ("nowhere", "no JDK in `nowhere`: cannot read `nowhere`: no such file or directory"),
        ("empty", "no JDK in `empty`: there is neither lib/modules nor jmods nor lib/rt.jar"),
    ] {
        assert_eq!(trouble(&folder, None, Some(path)), told);
    }
    let text = trouble(&folder, None, Some("notes.txt"));
    assert!(text.starts_with("no JDK in `notes.txt`: "), "{text}");
}

#[test]
fn the_first_folder_with_a_class_counts() {
    let folder = Folder::new();
    for (name, last) in [("one/a/A.class", 1), ("two/a/A.class", 2), ("two/a/B.class", 2)] {
        folder.file(name, CLASS);
        fs::write(folder.path(name), [0xca, 0xfe, 0xba, 0xbe, last]).unwrap();
    }
    folder.file("two/a/Text.class", "text");
    fs::create_dir(folder.path("two/a/Folder.class")).unwrap();
    let mut places = open_places(&[folder.path("one"), folder.path("two")]);
    let found = places.find(&["a/A", "a/B", "a/C", "a/Folder", "a/Text"]);
    let last = |index: usize| found[index].as_ref().map(|found| found.as_ref().unwrap().bytes[4]);
    assert_eq!((last(0), last(1), last(2), last(3)), (Some(1), Some(2), None, None));
    let text = found[4].as_ref().unwrap().as_ref().unwrap_err();
    assert!(text.path.ends_with("two/a/Text.class") && text.reason.starts_with("not a class file"), "{text:?}");
}

#[test]
fn no_name_leads_out_of_a_folder() {
    let folder = Folder::new();
    folder.file("Outside.class", CLASS);
    folder.file("in/Inside.class", CLASS);
    let top = folder.path("in");
    let absolute = folder.path("Outside").display().to_string();
    let mut places = open_places(std::slice::from_ref(&top));
    for name in ["../Outside", "./../Outside", "a/../../Outside", absolute.as_str(), "..", "\0", ""] {
        assert!(places.find_one(name).is_none(), "{name}");
    }
    assert!(places.find_one("Inside").is_some());
}

#[test]
fn the_limit_on_bytes_is_told_once() {
    let folder = Folder::new();
    let names: Vec<String> = (0..9).map(|number| format!("A{number}")).collect();
    for name in &names {
        fs::write(folder.path(&format!("{name}.class")), [&[0xca, 0xfe, 0xba, 0xbe][..], &[0; 1000]].concat()).unwrap();
    }
    let limits = Limits { total: 5_100, ..Limits::default() };
    let options = InputOptions { limits, ..InputOptions::default() };
    let mut places = Places::open(&[folder.top().to_owned()], &options).unwrap();
    let texts: Vec<&str> = names.iter().map(String::as_str).collect();
    let found = places.find(&texts);
    let told: Vec<&str> = found
        .iter()
        .map(|found| match found {
            Some(Ok(_)) => "read",
            Some(Err(_)) => "refused",
            None => "none",
        })
        .collect();
    assert_eq!(told, ["read", "read", "read", "read", "read", "refused", "none", "none", "none"]);
}

#[test]
fn a_jdk_is_its_home_its_image_or_its_jmods() {
    let jdk = fixture::test_jdk().unwrap();
    let number = jdk.version.split(' ').next().unwrap();
    let version = |home: &Path| open_jdk(home, &InputOptions::default()).unwrap().version().to_owned();
    assert_eq!(version(&jdk.home), format!("JDK {number}"));
    let image = jdk.home.join("lib/modules");
    assert_eq!(version(&image), format!("JDK {number}"));
    // Without a `release` file the module tells.
    let folder = Folder::new();
    fs::create_dir(folder.path("lib")).unwrap();
    std::os::unix::fs::symlink(&image, folder.path("lib/modules")).unwrap();
    assert_eq!(version(folder.top()), format!("JDK {number}"));
    let jmod = jdk.home.join("jmods/java.base.jmod");
    if jmod.is_file() {
        assert_eq!(version(&jmod), format!("JDK {number}"));
        let home = Folder::new();
        fs::create_dir(home.path("jmods")).unwrap();
        std::os::unix::fs::symlink(&jmod, home.path("jmods/java.base.jmod")).unwrap();
        assert_eq!(version(home.top()), format!("JDK {number}"));
    }
}

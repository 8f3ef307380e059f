//! A directory of odd inputs, and paths that cannot be used.

use std::io::Write;

use super::*;

/// Paths of classes, and paths with reasons of what was skipped.
type Loaded = (Vec<String>, Vec<(String, String)>);

/// A directory that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("fissure-input-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Loads the paths, given relative to this directory, and shows them relative to it.
    fn load(&self, names: &[&str]) -> Result<Loaded> {
        let paths: Vec<_> = names.iter().map(|name| self.0.join(name)).collect();
        let inputs = load(&paths, &InputOptions::default())?;
        let relative = |path: &str| path.replace(&format!("{}/", self.0.display()), "");
        Ok((
            inputs.sources.iter().map(|source| relative(&source.path)).collect(),
            inputs.skipped.iter().map(|skipped| (relative(&skipped.path), relative(&skipped.reason))).collect(),
        ))
    }

    fn error(&self, name: &str) -> String {
        let error = self.load(&[name]).unwrap_err();
        format!("{error:#}").replace(&format!("{}/", self.0.display()), "")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const CLASS: &[u8] = b"\xca\xfe\xba\xbe\0\0\0\x34";

/// A zip file with one stored entry for each name.
fn jar(names: &[&str], content: &[u8]) -> Vec<u8> {
    let mut checksum = flate2::Crc::new();
    checksum.update(content);
    let sum = checksum.sum().to_le_bytes();
    let size = (content.len() as u32).to_le_bytes();
    let (mut data, mut directory) = (Vec::new(), Vec::new());
    for name in names {
        let offset = data.len() as u32;
        let length = (name.len() as u16).to_le_bytes();
        let common = [&[0; 10][..], &sum, &size, &size, &length, &[0, 0]].concat();
        data.extend([b"PK\x03\x04", &common[..], name.as_bytes(), content].concat());
        directory.extend([b"PK\x01\x02\0\0", &common[..], &[0; 10], &offset.to_le_bytes(), name.as_bytes()].concat());
    }
    let start = data.len() as u32;
    data.extend(&directory);
    data.write_all(b"PK\x05\x06\0\0\0\0").unwrap();
    data.extend((names.len() as u16).to_le_bytes().repeat(2));
    data.extend((directory.len() as u32).to_le_bytes());
    data.extend(start.to_le_bytes());
    data.extend([0, 0]);
    data
}

/// An empty JDK image.
fn image() -> Vec<u8> {
    [0xcafe_dada_u32, 1 << 16, 0, 0, 0, 0, 0].iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[test]
fn a_directory_of_odd_inputs() {
    let scratch = Scratch::new("odd");
    scratch.write("tree/b/B.class", CLASS);
    scratch.write("tree/a/A.class", CLASS);
    scratch.write("tree/a/Wrong.class", b"text");
    scratch.write("tree/a/Empty.class", b"");
    scratch.write("tree/a/readme.txt", b"text");
    scratch.write("tree/a/app.jar.original", &jar(&["Hidden.class"], CLASS));
    scratch.write("tree/a/modules", b"not an image");
    scratch.write("tree/lib/app.jar", &jar(&["x/X.class", "x/Y.class"], CLASS));
    scratch.write("tree/lib/broken.jar", b"PK\x03\x04");
    scratch.write("tree/lib/text.war", b"text");
    scratch.write("tree/lib/UPPER.JAR", &jar(&["u/U.class"], CLASS));
    fs::create_dir_all(scratch.0.join("tree/dir.jar")).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        // Into itself, to a sibling that is walked anyway, and nowhere.
        symlink(".", scratch.0.join("tree/a/self")).unwrap();
        symlink("../..", scratch.0.join("tree/a/up")).unwrap();
        symlink("../tree/b", scratch.0.join("tree/c")).unwrap();
        symlink("gone", scratch.0.join("tree/gone.jar")).unwrap();
        symlink("gone", scratch.0.join("tree/gone.txt")).unwrap();
    }

    let (sources, skipped) = scratch.load(&["tree"]).unwrap();
    assert_eq!(
        sources,
        [
            "tree/a/A.class",
            "tree/b/B.class",
            "tree/lib/UPPER.JAR!/u/U.class",
            "tree/lib/app.jar!/x/X.class",
            "tree/lib/app.jar!/x/Y.class",
        ]
    );
    let text = "not a class file: it starts with 74 65 78 74, not ca fe ba be";
    let no_directory = "not a zip archive, or cut off: it has no directory at its end";
    let mut expected = vec![
        ("tree/a/Empty.class", "not a class file: it is empty"),
        ("tree/a/Wrong.class", text),
        ("tree/lib/broken.jar", no_directory),
        ("tree/lib/text.war", no_directory),
    ];
    if cfg!(unix) {
        expected.insert(0, ("tree/gone.jar", "cannot be read: No such file or directory (os error 2)"));
    }
    let skipped: Vec<_> = skipped.iter().map(|(path, reason)| (path.as_str(), reason.as_str())).collect();
    assert_eq!(skipped, expected);
}

#[test]
fn given_files_are_told_by_their_content() {
    let scratch = Scratch::new("content");
    scratch.write("one.bin", CLASS);
    scratch.write("two.dat", &jar(&["T.class"], CLASS));
    scratch.write("script", &[b"#!/bin/sh\n", &jar(&["S.class"], CLASS)[..]].concat());
    let (sources, skipped) = scratch.load(&["two.dat", "script", "one.bin"]).unwrap();
    assert_eq!(sources, ["two.dat!/T.class", "script!/S.class", "one.bin"]);
    assert_eq!(skipped, []);
}

#[test]
fn paths_that_cannot_be_used() {
    let scratch = Scratch::new("unusable");
    scratch.write("text.jar", b"text");
    scratch.write("empty.class", b"");
    assert_eq!(scratch.error("none.jar"), "cannot read `none.jar`: no such file or directory");
    assert_eq!(scratch.error("text.jar"), "cannot read `text.jar`: neither a class file nor an archive of class files");
    assert_eq!(
        scratch.error("empty.class"),
        "cannot read `empty.class`: neither a class file nor an archive of class files"
    );
    assert_eq!(scratch.error("text.jar/below"), "cannot read `text.jar/below`: Not a directory (os error 20)");
    // A cut-off archive is an archive: it is listed, and the others are still read.
    scratch.write("cut.jar", &jar(&["C.class"], CLASS)[..40]);
    scratch.write("good.jar", &jar(&["G.class"], CLASS));
    let (sources, skipped) = scratch.load(&["cut.jar", "good.jar"]).unwrap();
    assert_eq!(sources, ["good.jar!/G.class"]);
    assert_eq!(skipped.len(), 1);
}

#[cfg(unix)]
#[test]
fn a_pipe_is_not_waited_for() {
    let scratch = Scratch::new("pipe");
    scratch.write("tree/A.class", CLASS);
    fs::create_dir_all(scratch.0.join("tree/lib")).unwrap();
    for name in ["tree/pipe.jar", "tree/lib/modules"] {
        let made = std::process::Command::new("mkfifo").arg(scratch.0.join(name)).status().unwrap();
        assert!(made.success());
    }
    assert_eq!(scratch.load(&["tree"]).unwrap(), (vec!["tree/A.class".to_owned()], vec![]));
    assert_eq!(scratch.error("tree/pipe.jar"), "cannot read `tree/pipe.jar`: neither a file nor a directory");
}

#[test]
fn a_jdk_home_is_its_image_alone() {
    let scratch = Scratch::new("home");
    scratch.write("jdk/lib/modules", &image());
    scratch.write("jdk/lib/jrt-fs.jar", &jar(&["J.class"], CLASS));
    scratch.write("jdk/jmods/java.base.jmod", &jar(&["classes/B.class"], CLASS));
    assert_eq!(scratch.load(&["jdk"]).unwrap(), (vec![], vec![]));
    let cut = &image()[..20];
    scratch.write("jdk/lib/modules", cut);
    let (sources, skipped) = scratch.load(&["jdk"]).unwrap();
    assert_eq!(sources, Vec::<String>::new());
    assert_eq!(skipped, [("jdk/lib/modules".to_owned(), "JDK image not readable: it is cut off".to_owned())]);
}

#[test]
fn the_limit_on_bytes_is_for_all_inputs_together() {
    let scratch = Scratch::new("limit");
    let large = [CLASS, &[0; 100_000]].concat();
    scratch.write("a/A.class", &large);
    scratch.write("a/B.class", &large);
    scratch.write("a/C.class", &large);
    scratch.write("b.jar", &jar(&["D.class"], &large));
    let limits = Limits { total: 150_000, ..Limits::default() };
    let paths = [scratch.0.join("a"), scratch.0.join("b.jar")];
    let inputs = load(&paths, &InputOptions { limits, release: None }).unwrap();
    assert_eq!(inputs.sources.len(), 1);
    assert_eq!(inputs.skipped.len(), 1);
    assert!(inputs.skipped[0].path.ends_with("a/B.class"));
    assert!(inputs.skipped[0].reason.starts_with("not read, nor anything after it"));
}

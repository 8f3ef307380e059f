//! Archives that are unusual but sound, and must be read to the last class.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod zip_writer;

use classfile::archive::{ArchiveReader, Contents, Kind, Limits};
use zip_writer::{Zip, class, classes, deflated, read, skipped, stored};

fn accepts(bytes: Vec<u8>, expected: &[(&str, &str)]) {
    assert_eq!(Kind::of(&bytes).unwrap(), Some(Kind::Archive));
    let contents = read(bytes);
    assert_eq!(classes(&contents), expected);
    assert_eq!(skipped(&contents), []);
}

#[test]
fn plain_jar_in_the_order_of_its_directory() {
    let zip = Zip::of(&[
        deflated("META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\n"),
        deflated("z/Z.class", &class("z")),
        stored("a/A.class", &class("a")),
        deflated("a/readme.txt", b"text"),
        deflated("module-info.class", &class("m")),
        stored("a/", b""),
    ]);
    accepts(zip, &[("a.jar!/z/Z.class", "z"), ("a.jar!/a/A.class", "a"), ("a.jar!/module-info.class", "m")]);
}

#[test]
fn spring_boot_jar_has_its_own_classes_before_its_libraries() {
    let library = Zip::of(&[deflated("lib/L.class", &class("l"))]);
    let packed = Zip::of(&[deflated("lib/P.class", &class("p"))]);
    let zip = Zip::of(&[
        stored("BOOT-INF/lib/l.jar", &library),
        deflated("BOOT-INF/lib/p.jar", &packed),
        deflated("org/springframework/boot/loader/Launcher.class", &class("launcher")),
        deflated("BOOT-INF/classes/app/App.class", &class("app")),
    ]);
    accepts(
        zip,
        &[
            ("a.jar!/org/springframework/boot/loader/Launcher.class", "launcher"),
            ("a.jar!/BOOT-INF/classes/app/App.class", "app"),
            ("a.jar!/BOOT-INF/lib/l.jar!/lib/L.class", "l"),
            ("a.jar!/BOOT-INF/lib/p.jar!/lib/P.class", "p"),
        ],
    );
}

#[test]
fn ear_with_war_with_jar() {
    let jar = Zip::of(&[deflated("j/J.class", &class("j"))]);
    let war = Zip::of(&[deflated("WEB-INF/classes/w/W.class", &class("w")), deflated("WEB-INF/lib/j.jar", &jar)]);
    let ear = Zip::of(&[deflated("web.war", &war)]);
    accepts(
        ear,
        &[("a.jar!/web.war!/WEB-INF/classes/w/W.class", "w"), ("a.jar!/web.war!/WEB-INF/lib/j.jar!/j/J.class", "j")],
    );
}

#[test]
fn executable_jar_behind_a_shell_script() {
    let script = b"#!/bin/sh\nexec java -jar \"$0\" \"$@\"\n";
    // Simply put together: offsets count from the start of the zip file.
    let jar = Zip::of(&[deflated("a/A.class", &class("a")), stored("a/B.class", &class("b"))]);
    let expected = [("a.jar!/a/A.class", "a"), ("a.jar!/a/B.class", "b")];
    accepts([&script[..], &jar].concat(), &expected);
    // Adjusted afterwards, as `zip -A` does: offsets count from the start of the file.
    let mut zip = Zip::default();
    zip.bytes = script.to_vec();
    zip.add(&deflated("a/A.class", &class("a")));
    zip.add(&stored("a/B.class", &class("b")));
    accepts(zip.finish(), &expected);
}

#[test]
fn jmod() {
    let zip = Zip::of(&[deflated("classes/a/A.class", &class("a")), deflated("bin/tool", b"\x7fELF")]);
    accepts([&b"JM\x01\x00"[..], &zip].concat(), &[("a.jar!/classes/a/A.class", "a")]);
}

#[test]
fn multi_release_jar() {
    let files = |manifest: &str| {
        Zip::of(&[
            deflated("META-INF/MANIFEST.MF", manifest.as_bytes()),
            deflated("a/A.class", &class("base")),
            deflated("META-INF/versions/11/a/A.class", &class("11")),
            deflated("META-INF/versions/21/a/A.class", &class("21")),
            deflated("META-INF/versions/99/a/A.class", &class("99")),
        ])
    };
    let chosen = |manifest, release| {
        let mut contents = Contents::default();
        ArchiveReader::new(Limits::default(), release).read("a.jar", Kind::Archive, &files(manifest), &mut contents);
        assert_eq!(skipped(&contents), []);
        classes(&contents).iter().map(|(_, content)| content.to_string()).collect::<Vec<_>>()
    };
    let multi = "Manifest-Version: 1.0\r\nMulti-Release: true\r\n";
    assert_eq!(chosen(multi, None), ["21"]);
    assert_eq!(chosen(multi, Some(17)), ["11"]);
    assert_eq!(chosen(multi, Some(8)), ["base"]);
    assert_eq!(chosen("Manifest-Version: 1.0\r\n", None), ["base"]);
}

#[test]
fn signed_jar() {
    let zip = Zip::of(&[
        deflated("META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\n\nName: a/A.class\nSHA-256-Digest: x\n"),
        deflated("META-INF/SIGNER.SF", b"Signature-Version: 1.0\n"),
        deflated("META-INF/SIGNER.RSA", b"\x30\x82"),
        deflated("a/A.class", &class("a")),
    ]);
    accepts(zip, &[("a.jar!/a/A.class", "a")]);
}

#[test]
fn extra_field_with_padding_that_is_no_field() {
    // JDK-8313765: seven bytes of padding were refused by a JDK update and broke jars in use.
    let mut padded = deflated("a/A.class", &class("a"));
    padded.extra = vec![0; 7];
    padded.directory_extra = vec![0; 7];
    // Aligned jars have extra fields longer than the reader's guess.
    let mut aligned = stored("a/B.class", &class("b"));
    aligned.extra = vec![0; 4096];
    accepts(Zip::of(&[padded, aligned]), &[("a.jar!/a/A.class", "a"), ("a.jar!/a/B.class", "b")]);
}

#[test]
fn data_descriptor_after_a_stored_entry() {
    let mut file = stored("a/A.class", &class("a"));
    file.has_descriptor = true;
    let mut packed = deflated("a/B.class", &class("b"));
    packed.has_descriptor = true;
    accepts(Zip::of(&[file, packed]), &[("a.jar!/a/A.class", "a"), ("a.jar!/a/B.class", "b")]);
}

#[test]
fn more_than_65535_entries() {
    let content = class("");
    let mut zip = Zip::default();
    for number in 0..70_000 {
        zip.add(&stored(format!("C{number}.class"), &content));
    }
    let contents = read(zip.finish());
    assert_eq!(contents.sources.len(), 70_000);
    assert_eq!(contents.sources[69_999].path, "a.jar!/C69999.class");
    assert_eq!(skipped(&contents), []);
}

#[test]
fn header_that_disagrees_with_the_directory() {
    let mut file = deflated("a/A.class", &class("a"));
    file.header_size = Some(7);
    accepts(Zip::of(&[file]), &[("a.jar!/a/A.class", "a")]);
}

#[test]
fn signature_of_the_final_record_inside_the_comment() {
    let mut zip = Zip::default();
    zip.add(&stored("a/A.class", &class("a")));
    accepts(zip.comment(b"PK\x05\x06 is how it starts").finish(), &[("a.jar!/a/A.class", "a")]);
}

#[test]
fn of_two_entries_with_one_name_the_later_is_read() {
    let zip = Zip::of(&[
        deflated("a/A.class", &class("first")),
        deflated("a/B.class", &class("b")),
        deflated("a/A.class", &class("second")),
    ]);
    accepts(zip, &[("a.jar!/a/B.class", "b"), ("a.jar!/a/A.class", "second")]);
}

#[test]
fn names_that_would_be_dangerous_to_extract() {
    let names: [&[u8]; 5] =
        [b"../x.class", b"/etc/x.class", b"C:\\x.class", b"a/x\0.class", "a/\u{202e}\u{1b}[2J.class".as_bytes()];
    let zip = Zip::of(&names.map(|name| deflated(name, &class("x"))));
    accepts(
        zip,
        &[
            ("a.jar!/../x.class", "x"),
            ("a.jar!//etc/x.class", "x"),
            ("a.jar!/C:\\x.class", "x"),
            ("a.jar!/a/x\\u{0}.class", "x"),
            ("a.jar!/a/\\u{202e}\\u{1b}[2J.class", "x"),
        ],
    );
}

#[test]
fn empty_archive() {
    accepts(Zip::of(&[]), &[]);
}

#[test]
fn one_and_many_threads_read_the_same() {
    let inner: Vec<_> = (0..20).map(|n| Zip::of(&[deflated(format!("I{n}.class"), &class("i"))])).collect();
    let mut files: Vec<_> = (0..3_000).map(|n| deflated(format!("p{}/C{n}.class", n % 7), &class("c"))).collect();
    files.extend(inner.iter().zip(0..).map(|(jar, n)| deflated(format!("lib/{n}.jar"), jar)));
    files.push(stored("Bad.class", b"none"));
    let zip = Zip::of(&files);
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        // A limit that is hit in the middle.
        pool.install(|| zip_writer::read_with(Limits { total: 1 << 20, ..Limits::default() }, zip.clone()))
    };
    let (one, four) = (on(1), on(4));
    assert!(one.sources.len() > 1_000 && one.sources.len() < 3_000, "{}", one.sources.len());
    assert_eq!(classes(&one), classes(&four));
    assert_eq!(skipped(&one), skipped(&four));
}

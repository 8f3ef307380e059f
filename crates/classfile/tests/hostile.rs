//! Archives that are damaged or made to hurt. Each ends in classes or in a clear reason, in little time and memory.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod zip_writer;

use std::io::Write;
use std::time::{Duration, Instant};

use classfile::archive::{Contents, Kind, Limits};
use flate2::{Compress, Compression, FlushCompress};
use zip_writer::{DEFLATED, File, STORED, Zip, class, classes, deflated, read, read_with, skipped, stored};

/// One sound class beside the trouble, which must always be found.
fn beside(trouble: File) -> Contents {
    let contents = read(Zip::of(&[trouble, deflated("Good.class", &class("good"))]));
    assert_eq!(classes(&contents), [("a.jar!/Good.class", "good")]);
    contents
}

fn refuses(trouble: File, reason: &str) {
    let contents = beside(trouble);
    let name = contents.skipped[0].path.strip_prefix("a.jar!/").expect("the entry is named");
    assert!(name == "Bad.class" || name == "bad.jar", "{name}");
    assert_eq!(skipped(&contents), [(format!("a.jar!/{name}").as_str(), reason)]);
}

#[test]
fn entries_that_cannot_be_read() {
    let file = deflated("Bad.class", &class("some content that is long enough"));
    refuses(File { flags: 1, ..file.clone() }, "encrypted");
    refuses(File { method: 12, ..file.clone() }, "compressed with method 12 (BZIP2), which is not supported");
    refuses(
        File { checksum: 0x12345678, ..stored("Bad.class", &class("x")) },
        "damaged entry: checksum ef6f670d where the archive states 12345678",
    );
    refuses(File { size: 35, ..file.clone() }, "damaged entry: more data than the 35 bytes that the archive states");
    refuses(File { size: 37, ..file.clone() }, "damaged entry: 36 bytes where the archive states 37");
    refuses(File { size: 4, ..stored("Bad.class", &class("x")) }, "damaged entry: 5 bytes where the archive states 4");
    let mut cut = file.clone();
    cut.packed.truncate(9);
    refuses(cut, "damaged entry: the compressed data is cut off");
}

#[test]
fn entries_that_are_no_classes() {
    refuses(stored("Bad.class", b""), "not a class file: it is empty");
    refuses(stored("Bad.class", b"\xca\xfe"), "not a class file: it has only 2 bytes");
    refuses(
        deflated("Bad.class", b"\xef\xbf\xbd\xef\xbf\xbd\0\0\0\x34"),
        "not a class file: it starts with ef bf bd ef, not ca fe ba be",
    );
    // The content of a symbolic link is where it leads.
    let link = File { mode: 0o120777, ..stored("Bad.class", b"/etc/passwd") };
    refuses(link, "not a class file: it starts with 2f 65 74 63, not ca fe ba be");
    refuses(deflated("bad.jar", b"just text"), "not a zip archive, or cut off: it has no directory at its end");
}

#[test]
fn other_files_under_the_name_of_a_jar() {
    for content in [&b"dex\n035\0"[..], b"", b"PK", &[0; 1000], b"text, longer than the record at the end of a zip"] {
        assert_eq!(Kind::of(&content).unwrap(), None);
        let contents = read(content.to_vec());
        assert_eq!(skipped(&contents), [("a.jar", "not a zip archive, or cut off: it has no directory at its end")]);
    }
}

#[test]
fn one_bad_class_among_10_000() {
    let mut files: Vec<_> = (0..9_999).map(|number| deflated(format!("C{number}.class"), &class("c"))).collect();
    files.insert(5_000, File { checksum: 1, ..stored("Bad.class", &class("x")) });
    let contents = read(Zip::of(&files));
    assert_eq!(contents.sources.len(), 9_999);
    assert_eq!(contents.skipped.len(), 1);
    assert_eq!(contents.skipped[0].path, "a.jar!/Bad.class");
}

fn small_jar() -> Vec<u8> {
    let inner = Zip::of(&[deflated("i/I.class", &class("inner"))]);
    Zip::of(&[
        deflated("META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\nMulti-Release: true\n"),
        deflated("a/A.class", &class("a")),
        stored("a/B.class", &class("b")),
        deflated("META-INF/versions/9/a/A.class", &class("nine")),
        stored("lib/stored.jar", &inner),
        deflated("lib/packed.jar", &inner),
    ])
}

#[test]
fn cut_off_anywhere() {
    let whole = small_jar();
    for length in 0..whole.len() {
        let contents = read(whole[..length].to_vec());
        // An archive that lies in the part that is left may be found; nothing else can be.
        assert!(contents.sources.iter().all(|source| source.bytes == class("inner")), "cut at {length}");
        assert!(!contents.skipped.is_empty() || !contents.sources.is_empty(), "cut at {length} went unnoticed");
    }
}

#[test]
fn directory_that_is_cut_off() {
    let zip = small_jar();
    let start = zip.windows(4).rposition(|bytes| bytes == b"PK\x01\x02").unwrap();
    let end = zip.windows(4).rposition(|bytes| bytes == b"PK\x05\x06").unwrap();
    // The last record is cut in half, and the record that follows the directory is put right behind it.
    let cut = [&zip[..start + 30], &zip[end..]].concat();
    let contents = read(cut);
    assert_eq!(contents.sources.len(), 0);
    assert_eq!(skipped(&contents), [("a.jar", "damaged archive: its directory cannot be read (it is cut off)")]);
}

#[test]
fn flipped_bits_anywhere() {
    let whole = small_jar();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    let mut changed = 0;
    for _ in 0..20_000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random() % 4 {
            let at = random() % bytes.len();
            bytes[at] ^= 1 << (random() % 8);
        }
        let contents = read(bytes);
        let known = [class("a"), class("b"), class("nine"), class("inner")];
        assert!(contents.sources.iter().all(|source| known.contains(&source.bytes)), "a checksum was not checked");
        changed += usize::from(!contents.skipped.is_empty());
    }
    assert!(changed > 5_000, "{changed}");
}

#[test]
fn nested_a_hundred_times() {
    let mut zip = Zip::of(&[deflated("C99.class", &class("innermost"))]);
    for depth in (1..100).rev() {
        zip = Zip::of(&[deflated(format!("C{depth}.class"), &class("c")), deflated("n.jar", &zip)]);
    }
    let contents = read(zip);
    assert_eq!(contents.sources.len(), 10);
    let path = format!("a.jar{}", "!/n.jar".repeat(10));
    assert_eq!(skipped(&contents), [(path.as_str(), "lies more than 10 archives deep, which is the limit")]);
}

/// Deflated zeros without end: `mebibytes` of them in about a kilobyte each.
fn zeros(mebibytes: usize) -> Vec<u8> {
    let mut compress = Compress::new(Compression::best(), false);
    let mut block = Vec::with_capacity(1 << 16);
    // A full flush ends at a byte and refers to nothing before it, so that the block can be repeated.
    compress.compress_vec(&vec![0; 1 << 20], &mut block, FlushCompress::Full).unwrap();
    let mut bytes = block.repeat(mebibytes);
    bytes.extend([3, 0]);
    bytes
}

#[test]
fn ten_gigabytes_in_one_entry() {
    let size = 10 << 30;
    let bomb = File { packed: zeros(10 << 10), size, method: DEFLATED, ..stored("Bad.class", b"") };
    refuses(bomb.clone(), "a class of 10 GiB is beyond the limit of 64 MiB");
    refuses(
        File { name: b"bad.jar".to_vec(), ..bomb.clone() },
        "10 GiB packed in 10 MiB is beyond the limit of 100 to 1",
    );
    // A lie about the size does not help.
    refuses(
        File { size: 1000, ..bomb.clone() },
        "damaged entry: more data than the 1000 bytes that the archive states",
    );
    refuses(
        File { size: 60 << 20, ..bomb },
        "damaged entry: more data than the 62914560 bytes that the archive states",
    );
}

#[test]
fn ratio_above_one_mebibyte_only() {
    let packed = zeros(2);
    let bomb = File { packed, size: 2 << 20, method: DEFLATED, ..stored("Bad.class", b"") };
    refuses(bomb, "2 MiB packed in 2 KiB is beyond the limit of 100 to 1");
    let mut small = class("");
    small.resize(1 << 20, b' ');
    let contents = read(Zip::of(&[deflated("A.class", &small)]));
    assert_eq!((contents.sources.len(), contents.skipped.len()), (1, 0));
}

#[test]
fn entries_that_overlap() {
    // 60,000 entries share one mebibyte of data: 58 GiB from 70 KB.
    let mut content = class("");
    content.resize(1 << 20, 0);
    let kernel = deflated("K.class", &content);
    let mut zip = Zip::default();
    let offset = zip.add(&kernel);
    for number in 0..60_000 {
        let name = format!("K{number}.class").into_bytes();
        zip.list(&File { name, ..kernel.clone() }, kernel.packed.len() as u64, offset);
    }
    let contents = read_with(Limits { total: 64 << 20, ..Limits::default() }, zip.finish());
    assert!(contents.sources.len() <= 64 && contents.sources.len() > 50, "{}", contents.sources.len());
    assert_eq!(
        skipped(&contents),
        [("a.jar", "not read, nor anything after it: the limit of 64 MiB in total is reached")]
    );
}

#[test]
fn archives_that_overlap() {
    // Every level names the one below 1,000 times in the same place: 10^27 archives.
    let mut zip = Zip::of(&[stored("C.class", &class("c"))]);
    for _ in 0..9 {
        let mut outer = Zip::default();
        let file = stored("n.jar", &zip);
        let offset = outer.add(&file);
        for number in 0..1_000 {
            let name = format!("n{number}.jar").into_bytes();
            outer.list(&File { name, ..file.clone() }, file.packed.len() as u64, offset);
        }
        zip = outer.finish();
    }
    let start = Instant::now();
    let contents = read_with(Limits { total: 64 << 20, ..Limits::default() }, zip);
    assert!(start.elapsed() < Duration::from_secs(60));
    assert_eq!(contents.skipped.len(), 1);
    assert!(contents.skipped[0].reason.ends_with("the limit of 64 MiB in total is reached"));
}

#[test]
fn forty_two() {
    // Five levels of 16 archives around a class of zeros, like 42.zip: 16 TiB in the end.
    let bomb = File { packed: zeros(16), size: 16 << 20, method: DEFLATED, ..stored("0.class", b"") };
    let mut zip = Zip::of(&[bomb]);
    for _ in 0..5 {
        let files: Vec<_> = (0..16).map(|number| deflated(format!("lib{number}.zip"), &zip)).collect();
        zip = Zip::of(&files);
    }
    let contents = read_with(Limits { total: 256 << 20, ..Limits::default() }, zip);
    assert_eq!(contents.sources.len(), 0);
    // A thousand lines, the number of the others, and the limit that ended it.
    assert_eq!(contents.skipped.len(), 1_002);
    assert!(contents.skipped[0].reason.ends_with("is beyond the limit of 100 to 1"), "{:?}", contents.skipped[0]);
    assert!(contents.skipped[1_000].reason.ends_with("the limit of 256 MiB in total is reached"));
    assert!(contents.skipped[1_001].reason.ends_with("more entries in it could not be used"));
}

#[test]
fn a_million_empty_entries() {
    for (ending, is_listed) in [("class", true), ("txt", false)] {
        let mut zip = Zip::default();
        for number in 0..1_000_000 {
            zip.list(&File { method: STORED, ..stored(format!("e{number}.{ending}"), b"") }, 0, 0);
        }
        let contents = read(zip.finish());
        assert_eq!(contents.sources.len(), 0);
        let first = contents.skipped.first().map(|skipped| skipped.reason.as_str());
        let limit = "has more than 100000 classes and archives, which is the limit; the rest was not read";
        assert_eq!(first, is_listed.then_some(limit));
        assert_eq!(contents.skipped.len(), if is_listed { 1_001 } else { 0 });
    }
}

#[test]
fn data_that_is_larger_packed_than_unpacked_counts_as_packed() {
    // Empty deflate blocks: megabytes to read for four bytes of content.
    let mut packed = Vec::new();
    let empty = [0, 0, 0, 0xff, 0xff];
    packed.write_all(&empty.repeat(1 << 20)).unwrap();
    packed.extend(deflated("", &class("")).packed);
    let file = File { packed, method: DEFLATED, ..stored("A0.class", &class("")) };
    let mut zip = Zip::default();
    let offset = zip.add(&file);
    for number in 1..1_000 {
        let name = format!("A{number}.class").into_bytes();
        zip.list(&File { name, ..file.clone() }, file.packed.len() as u64, offset);
    }
    let contents = read_with(Limits { total: 64 << 20, ..Limits::default() }, zip.finish());
    assert_eq!(contents.sources.len(), 12);
    assert_eq!(contents.skipped.len(), 1);
}

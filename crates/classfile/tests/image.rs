//! JDK images: made up ones in every state of damage, and that of the installed JDK.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod jdk;

use classfile::archive::{ArchiveReader, Contents, Kind};
use flate2::{Compression, write::ZlibEncoder};
use std::io::Write;

/// A resource of a made-up image.
struct Resource {
    module: &'static str,
    parent: &'static str,
    base: &'static str,
    extension: &'static str,
    /// As it lies in the image.
    data: Vec<u8>,
    /// Its size unpacked, if it is packed.
    unpacked: Option<u64>,
}

fn plain(base: &'static str, data: &[u8]) -> Resource {
    Resource { module: "m", parent: "a/b", base, extension: "class", data: data.to_vec(), unpacked: None }
}

#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

/// Writes an image; `methods` are strings to which packed resources refer, at offsets 1, 1 + length + 1, ...
fn image(order: Order, methods: &[&str], resources: &[Resource]) -> Vec<u8> {
    let number = |value: u32| match order {
        Order::Little => value.to_le_bytes(),
        Order::Big => value.to_be_bytes(),
    };
    let mut strings = vec![0];
    let mut add = |text: &str| {
        let at = strings.len() as u32;
        strings.extend(text.as_bytes());
        strings.push(0);
        if text.is_empty() { 0 } else { at }
    };
    for method in methods {
        add(method);
    }
    let (mut offsets, mut locations, mut data) = (Vec::new(), vec![0], Vec::new());
    for resource in resources {
        offsets.extend(number(locations.len() as u32));
        let size = resource.unpacked.unwrap_or(resource.data.len() as u64) as u32;
        let packed = resource.unpacked.map_or(0, |_| resource.data.len() as u32);
        let names = [resource.module, resource.parent, resource.base, resource.extension].map(&mut add);
        let values = [names[0], names[1], names[2], names[3], data.len() as u32, packed, size];
        for (kind, value) in (1u8..).zip(values) {
            if value != 0 {
                locations.push(kind << 3 | 3);
                locations.extend(value.to_be_bytes());
            }
        }
        locations.push(0);
        data.extend(&resource.data);
    }
    let count = resources.len() as u32;
    let header = [0xcafe_dada, 1 << 16, 0, count, count, locations.len() as u32, strings.len() as u32];
    let mut bytes: Vec<u8> = header.into_iter().flat_map(number).collect();
    bytes.extend(vec![0; offsets.len()]);
    for part in [offsets, locations, strings, data] {
        bytes.extend(part);
    }
    bytes
}

/// A layer of jlink's compression around `data`.
fn layer(method: u32, unpacked: usize, data: &[u8]) -> Vec<u8> {
    let mut bytes = 0xcafe_fafa_u32.to_le_bytes().to_vec();
    bytes.extend((data.len() as u64).to_le_bytes());
    bytes.extend((unpacked as u64).to_le_bytes());
    bytes.extend(method.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.push(1);
    bytes.extend(data);
    bytes
}

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn packed(base: &'static str, data: Vec<u8>, unpacked: usize) -> Resource {
    Resource { unpacked: Some(unpacked as u64), ..plain(base, &data) }
}

const CLASS: &[u8] = b"\xca\xfe\xba\xbe and more, and more, and more of it";
const ZIP: u32 = 1;
const COMPACT: u32 = 5;

fn read(bytes: &[u8]) -> Contents {
    assert_eq!(Kind::of(&bytes).unwrap(), Some(Kind::Image));
    let mut contents = Contents::default();
    ArchiveReader::default().read("modules", Kind::Image, &bytes, &mut contents);
    contents
}

fn sample(order: Order) -> Vec<u8> {
    let twice = layer(ZIP, CLASS.len() + 29, &zlib(&layer(COMPACT, CLASS.len(), CLASS)));
    let resources = [
        plain("Z", CLASS),
        packed("Packed", layer(ZIP, CLASS.len(), &zlib(CLASS)), CLASS.len()),
        packed("Twice", twice, CLASS.len()),
        plain("A", CLASS),
        Resource { extension: "properties", ..plain("text", b"key=value") },
        Resource { parent: "", ..plain("module-info", CLASS) },
        plain("Wrong", b"text"),
    ];
    image(order, &["zip", "compact-cp"], &resources)
}

#[test]
fn classes_are_sorted_and_unpacked() {
    for order in [Order::Little, Order::Big] {
        let contents = read(&sample(order));
        let paths: Vec<_> = contents.sources.iter().map(|source| source.path.as_str()).collect();
        let expected = [
            "modules!/m/a/b/A.class",
            "modules!/m/a/b/Packed.class",
            "modules!/m/a/b/Z.class",
            "modules!/m/module-info.class",
        ];
        assert_eq!(paths, expected);
        assert!(contents.sources.iter().all(|source| source.bytes == CLASS));
        let skipped: Vec<_> =
            contents.skipped.iter().map(|skipped| (skipped.path.as_str(), skipped.reason.as_str())).collect();
        assert_eq!(
            skipped,
            [
                ("modules!/m/a/b/Twice.class", "compressed with jlink's compact-cp, which is not supported"),
                ("modules!/m/a/b/Wrong.class", "not a class file: it starts with 74 65 78 74, not ca fe ba be"),
            ]
        );
    }
}

#[test]
fn a_packed_resource_that_claims_to_be_huge() {
    let bomb = packed("Bomb", layer(ZIP, 1 << 40, &zlib(CLASS)), CLASS.len());
    let contents = read(&image(Order::Little, &["zip"], &[bomb, plain("Good", CLASS)]));
    assert_eq!(contents.sources.len(), 1);
    assert_eq!(contents.skipped[0].reason, "JDK image not readable: the header of a compressed resource is damaged");
    let bomb = packed("Bomb", layer(ZIP, 1 << 40, &zlib(CLASS)), u32::MAX as usize);
    let contents = read(&image(Order::Little, &["zip"], &[bomb]));
    assert_eq!(contents.skipped[0].reason, "a class of 3 GiB is beyond the limit of 64 MiB");
}

#[test]
fn cut_off_anywhere() {
    let whole = sample(Order::Little);
    for length in 4..whole.len() {
        let contents = read(&whole[..length]);
        assert!(contents.sources.len() <= 4);
        assert!(contents.sources.iter().all(|source| source.bytes == CLASS));
        let is_noticed = contents.sources.is_empty() && contents.skipped.len() == 1 || contents.skipped.len() > 2;
        assert!(is_noticed || length >= whole.len() - 4, "cut at {length} went unnoticed: {contents:?}");
    }
}

#[test]
fn flipped_bits_anywhere() {
    let whole = sample(Order::Little);
    for at in 4..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            let contents = read(&bytes);
            assert!(contents.sources.len() + contents.skipped.len() <= 7, "at {at}: {contents:?}");
        }
    }
}

#[test]
fn another_version() {
    let mut bytes = sample(Order::Little);
    bytes[6] = 2;
    assert_eq!(read(&bytes).skipped[0].reason, "JDK image not readable: its format is not version 1");
}

#[test]
fn installed_jdk() {
    let contents = jdk::classes();
    assert!(contents.sources.len() > 5_000, "{}", contents.sources.len());
    assert_eq!(contents.skipped, []);
    assert!(contents.sources.is_sorted_by(|a, b| a.path < b.path));
    let object = contents.sources.iter().find(|source| source.path.ends_with("!/java.base/java/lang/Object.class"));
    assert!(object.expect("an image has java.lang.Object").bytes.windows(16).any(|bytes| bytes == b"java/lang/Object"));
}

//! Any bytes behind a right header: the reader, the detector and the writer must take what comes.
//!
//! `cargo +nightly fuzz run trace_binary`

#![no_main]

use detect_dynamic::{DETECTORS, Options};
use libfuzzer_sys::fuzz_target;
use trace::{MAGIC, Reader, TextWriter};

fuzz_target!(|payload: &[u8]| {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend_from_slice(payload);
    let Ok(mut reader) = Reader::new(&bytes[..]) else { return };
    let mut detectors: Vec<_> = DETECTORS.iter().map(|detector| (detector.start)(&Options::default())).collect();
    let mut writer = TextWriter::new(std::io::sink());
    let mut batch = Vec::new();
    while reader.next(&mut batch).is_ok() && !batch.is_empty() {
        for event in &batch {
            writer.event(event, reader.tables()).expect("a sink takes everything");
        }
        for detector in &mut detectors {
            detector.on_events(&batch);
        }
    }
    for mut detector in detectors {
        if detector.look_again() {
            let mut again = Reader::new(&bytes[..]).expect("it could be read before");
            while again.next(&mut batch).is_ok() && !batch.is_empty() {
                detector.on_events(&batch);
            }
        }
        detector.finish(reader.tables());
    }
});

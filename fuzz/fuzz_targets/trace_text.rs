//! Any text: the reader must take it, and what it understood must come back the same from both writers.
//!
//! `cargo +nightly fuzz run trace_text`

#![no_main]

use libfuzzer_sys::fuzz_target;
use trace::{OrderedWriter, Reader, TextWriter};

fuzz_target!(|bytes: &[u8]| {
    let Some((text, binary)) = rewrite(bytes) else { return };
    if text.is_empty() {
        return;
    }
    let (again, _) = rewrite(&text).expect("what was written can be read");
    assert_eq!(again, text);
    let (from_binary, _) = rewrite(&binary).expect("what was written can be read");
    assert_eq!(from_binary, text);
});

/// The trace in both forms.
fn rewrite(bytes: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut reader = Reader::new(bytes).ok()?;
    let mut text = TextWriter::new(Vec::new());
    let mut binary = OrderedWriter::new(Vec::new()).ok()?;
    let mut batch = Vec::new();
    loop {
        reader.next(&mut batch).ok()?;
        if batch.is_empty() {
            break;
        }
        for event in &batch {
            text.event(event, reader.tables()).ok()?;
            binary.event(event, reader.tables()).ok()?;
        }
    }
    Some((text.finish().ok()?, binary.finish(reader.tables()).ok()?))
}

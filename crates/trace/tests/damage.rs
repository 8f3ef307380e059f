//! Damaged traces: nothing panics, what is whole is used, and what is lost is told.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{Random, binary, events, read, tables, text};
use trace::Action;

fn rounds() -> u64 {
    if std::env::var_os("FISSURE_LONG").is_some() { 200_000 } else { 3_000 }
}

#[test]
fn a_damaged_chunk_costs_its_own_events_only() {
    let mut tables = tables();
    let events = events(&mut Random::new(1), &mut tables, 30_000);
    let mut bytes = binary(&events, &tables);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    let whole = read(&bytes).unwrap();
    let told = &whole.problems.listed()[0].message;
    assert!(told.contains("is damaged"), "{told}");
    assert_eq!(whole.problems.count(), 1);
    // All but one chunk is there, in order, with a gap told where it was.
    let gap = whole.events.iter().position(|event| event.action == Action::Lost { events: 0, all: true }).unwrap();
    assert_eq!(whole.events[..gap], events[..gap]);
    let rest = &whole.events[gap + 1..];
    assert_eq!(rest, &events[events.len() - rest.len()..]);
    let lost = events.len() - (whole.events.len() - 1);
    assert_eq!(whole.problems.lost_events(), lost as u64);
    assert!(lost > 1_000 && lost < 10_000, "{lost} events lost");
}

#[test]
fn a_cut_off_trace_gives_its_whole_chunks() {
    let mut tables = tables();
    let events = events(&mut Random::new(2), &mut tables, 20_000);
    let bytes = binary(&events, &tables);
    for cut in [bytes.len() - 1, bytes.len() - 24, bytes.len() / 2, bytes.len() / 3, 200, 40, 17] {
        let whole = read(&bytes[..cut]).unwrap();
        let came: Vec<_> = whole
            .events
            .iter()
            .filter(|event| !matches!(event.action, Action::Lost { all: true, events: 0 }))
            .collect();
        assert!(came.iter().zip(&events).all(|(one, other)| *one == other), "cut at {cut}");
        assert!(!whole.problems.is_empty(), "cut at {cut}");
    }
}

#[test]
fn flipped_cut_and_shuffled_bytes_never_panic() {
    let mut random = Random::new(3);
    let mut tables = tables();
    let events = events(&mut random, &mut tables, 300);
    let originals = [binary(&events, &tables), text(&events, &tables).into_bytes()];
    for _ in 0..rounds() {
        let mut bytes = originals[random.below(2) as usize].clone();
        for _ in 0..1 + random.below(8) {
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(5) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes[at] = random.below(256) as u8,
                2 => bytes.truncate(at.max(1)),
                3 => {
                    bytes.remove(at);
                    bytes.push(0);
                }
                _ => {
                    let piece: Vec<u8> = bytes[at..bytes.len().min(at + 30)].to_vec();
                    let to = random.below(bytes.len() as u64) as usize;
                    bytes.splice(to..to, piece);
                }
            }
        }
        if let Ok(whole) = read(&bytes) {
            // Whatever was read can be written.
            let _ = text(&whole.events, &whole.tables);
        }
    }
}

/// Damage that the checksum does not see, because it was made before the sum.
#[test]
fn senseless_payloads_with_right_checksums_never_panic_nor_eat_memory() {
    let mut random = Random::new(4);
    let mut tables = tables();
    let events = events(&mut random, &mut tables, 300);
    let original = binary(&events, &tables);
    let mut problems = 0;
    for _ in 0..rounds() {
        let mut bytes = original.clone();
        for _ in 0..1 + random.below(6) {
            let at = 40 + random.below(bytes.len() as u64 - 40) as usize;
            bytes[at] = random.below(256) as u8;
        }
        mend(&mut bytes);
        let whole = read(&bytes).unwrap();
        problems += u64::from(!whole.problems.is_empty());
        assert!(whole.events.len() < 2_000);
    }
    assert!(problems > 0);
}

/// Makes the checksums of all chunks right again, as far as chunks can be told.
fn mend(bytes: &mut [u8]) {
    const MARKER: [u8; 4] = *b"\xf1\x5c\xc4\x1e";
    let mut at = 16;
    while at + 24 <= bytes.len() && bytes[at..at + 4] == MARKER {
        let length = u32::from_le_bytes(bytes[at + 16..at + 20].try_into().unwrap()) as usize;
        let Some(payload) = bytes.get(at + 24..at + 24 + length) else { return };
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&bytes[at..at + 20]);
        hasher.update(payload);
        let sum = hasher.finalize().to_le_bytes();
        bytes[at + 20..at + 24].copy_from_slice(&sum);
        at += 24 + length;
    }
}

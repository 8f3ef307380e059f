//! Damage to class files: anywhere, or in the code of methods, where it gets past the reading of the class.

use std::ops::Range;

use super::Random;

/// Cuts the class off, flips bits, puts extreme bytes, or puts other instructions into its code.
pub(crate) fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    let codes = code_ranges(bytes).unwrap_or_default();
    match random.below(8) {
        0 => bytes.truncate(random.below(bytes.len())),
        1 | 2 => {
            for _ in 0..1 + random.below(8) {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
        }
        _ if codes.is_empty() => {
            let at = random.below(bytes.len());
            bytes[at] = 0xff;
        }
        kind => {
            for _ in 0..1 + random.below(12) {
                let code = codes[random.below(codes.len())].clone();
                if code.is_empty() {
                    continue;
                }
                let at = code.start + random.below(code.len());
                bytes[at] = match kind {
                    // Any opcode.
                    3 | 4 => random.below(202) as u8,
                    // A near jump, or a small index.
                    5 => random.below(16) as u8,
                    // Whatever else stands in the code.
                    _ => bytes[code.start + random.below(code.len())],
                };
            }
        }
    }
}

/// Where the code of each method is, with the exception table behind it. For undamaged classes only.
fn code_ranges(bytes: &[u8]) -> Option<Vec<Range<usize>>> {
    let u16_at = |at: usize| Some(usize::from(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?])));
    let u32_at = |at: usize| Some(u16_at(at)? << 16 | u16_at(at + 2)?);
    let mut names: Vec<Option<&[u8]>> = vec![None];
    let mut at = 10;
    while names.len() < u16_at(8)? {
        let size = match bytes.get(at)? {
            1 => {
                let length = u16_at(at + 1)?;
                names.push(bytes.get(at + 3..at + 3 + length));
                at += 3 + length;
                continue;
            }
            3 | 4 | 9..=12 | 17 | 18 => 5,
            5 | 6 => {
                names.push(None);
                9
            }
            15 => 4,
            7 | 8 | 16 | 19 | 20 => 3,
            _ => return None,
        };
        names.push(None);
        at += size;
    }
    at += 6;
    at += 2 + 2 * u16_at(at)?;
    let mut ranges = Vec::new();
    for _ in ["fields", "methods"] {
        let members = u16_at(at)?;
        at += 2;
        for _ in 0..members {
            let attributes = u16_at(at + 6)?;
            at += 8;
            for _ in 0..attributes {
                let length = u32_at(at + 2)?;
                if *names.get(u16_at(at)?)? == Some(b"Code") {
                    let code = u32_at(at + 10)?;
                    let handlers = u16_at(at + 14 + code)?;
                    ranges.push(at + 14..at + 14 + code);
                    ranges.push(at + 16 + code..at + 16 + code + 8 * handlers);
                }
                at += 6 + length;
            }
        }
    }
    Some(ranges)
}

#[test]
fn code_is_found() {
    let mut assembler = super::assembler::Assembler::new("Made", "java/lang/Object", 52);
    assembler.method("one", "()V", 0, &[0, 0, 177], &[]);
    assembler.method("two", "()V", 0, &[177], &[]);
    let bytes = assembler.finish();
    let ranges = code_ranges(&bytes).unwrap();
    let codes: Vec<&[u8]> = ranges.into_iter().map(|range| &bytes[range]).collect();
    assert_eq!(codes, [&[0, 0, 177][..], &[], &[177], &[]]);
}

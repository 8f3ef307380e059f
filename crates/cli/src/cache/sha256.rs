//! SHA-256, as FIPS 180-4 has it: two inputs with one hash are not to be feared.

pub(super) type Digest = [u8; 32];

/// The fractions of the cube roots of the first 64 primes.
#[rustfmt::skip]
const ROUND: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

/// The fractions of the square roots of the first 8 primes.
const START: [u32; 8] =
    [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];

pub(super) struct Sha256 {
    state: [u32; 8],
    /// Bytes that do not fill a block yet.
    rest: Vec<u8>,
    length: u64,
}

impl Sha256 {
    pub(super) fn new() -> Sha256 {
        Sha256 { state: START, rest: Vec::with_capacity(64), length: 0 }
    }

    pub(super) fn of(bytes: &[u8]) -> Digest {
        let mut hash = Sha256::new();
        hash.add(bytes);
        hash.finish()
    }

    /// Adds bytes with their number before them, so that no two lists of fields look alike.
    pub(super) fn field(&mut self, bytes: &[u8]) {
        self.add(&(bytes.len() as u64).to_le_bytes());
        self.add(bytes);
    }

    fn add(&mut self, mut bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if !self.rest.is_empty() {
            let (first, others) = bytes.split_at(bytes.len().min(64 - self.rest.len()));
            self.rest.extend_from_slice(first);
            bytes = others;
            if self.rest.len() < 64 {
                return;
            }
            let rest = std::mem::take(&mut self.rest);
            rest.as_chunks::<64>().0.iter().for_each(|block| self.block(block));
        }
        let (blocks, rest) = bytes.as_chunks::<64>();
        blocks.iter().for_each(|block| self.block(block));
        self.rest.extend_from_slice(rest);
    }

    pub(super) fn finish(mut self) -> Digest {
        let bits = self.length * 8;
        let zeros = (55 + 64 - self.rest.len() % 64) % 64;
        self.add(&[&[0x80][..], &vec![0; zeros], &bits.to_be_bytes()].concat());
        let mut digest = Digest::default();
        for (word, place) in self.state.iter().zip(digest.as_chunks_mut::<4>().0) {
            *place = word.to_be_bytes();
        }
        digest
    }

    fn block(&mut self, block: &[u8; 64]) {
        let mut words = [0u32; 64];
        for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
            *word = u32::from_be_bytes(*bytes);
        }
        for at in 16..64 {
            let (a, b) = (words[at - 15], words[at - 2]);
            let small = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
            let large = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
            words[at] = words[at - 16].wrapping_add(small).wrapping_add(words[at - 7]).wrapping_add(large);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = self.state;
        for (word, constant) in words.iter().zip(ROUND) {
            let of_e = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = (e & f) ^ (!e & g);
            let first = h.wrapping_add(of_e).wrapping_add(choice).wrapping_add(constant).wrapping_add(*word);
            let of_a = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let majority = (a & b) ^ (a & c) ^ (b & c);
            let second = of_a.wrapping_add(majority);
            (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(first), c, b, a, first.wrapping_add(second));
        }
        for (word, more) in self.state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *word = word.wrapping_add(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Sha256;

    fn hex(bytes: &[u8]) -> String {
        Sha256::of(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn hashes_are_those_of_the_standard() {
        assert_eq!(hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(
            hex(b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        );
        assert_eq!(hex(&[b'a'; 1_000_000]), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }

    #[test]
    fn pieces_do_not_matter() {
        let bytes: Vec<u8> = (0..1000u32).map(|at| (at * 7) as u8).collect();
        for size in [1, 3, 63, 64, 65, 200] {
            let mut hash = Sha256::new();
            bytes.chunks(size).for_each(|chunk| hash.add(chunk));
            assert_eq!(hash.finish(), Sha256::of(&bytes), "{size}");
        }
    }
}

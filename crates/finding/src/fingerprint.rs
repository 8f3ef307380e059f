//! A name for a finding that survives edits elsewhere in the file.
//!
//! Made of rule, class, method, variables and locks: no line numbers, no bytecode offsets. The numbers that compilers
//! give to lambdas and anonymous classes are left out, because a new lambda further up renumbers all below it.

use crate::Finding;

impl Finding {
    /// 16 hexadecimal digits.
    pub fn fingerprint(&self) -> String {
        let mut hash = Fnv::new();
        hash.field(self.rule.id);
        hash.field(&without_numbers(&self.method.class));
        hash.field(&without_numbers(&self.method.name));
        hash.field(&self.method.descriptor);
        for variable in &self.variables {
            hash.field(&without_numbers(variable));
        }
        hash.field("");
        for lock in &self.locks {
            hash.field(&without_numbers(lock));
        }
        format!("{:016x}", hash.0)
    }
}

/// Drops every run of digits that stands right behind a `$`: `Foo$1.lambda$run$0` becomes `Foo$.lambda$run$`.
fn without_numbers(name: &str) -> String {
    let mut kept = String::with_capacity(name.len());
    let mut after_dollar = false;
    for character in name.chars() {
        if after_dollar && character.is_ascii_digit() {
            continue;
        }
        after_dollar = character == '$';
        kept.push(character);
    }
    kept
}

/// FNV-1a, 64 bits: fixed for ever, unlike the standard library's hasher.
struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn field(&mut self, text: &str) {
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::without_numbers;

    #[test]
    fn compilers_numbers_are_dropped_and_names_kept() {
        assert_eq!(without_numbers("a.Foo$12.lambda$run$3"), "a.Foo$.lambda$run$");
        assert_eq!(without_numbers("a.Sha256$V2.x1"), "a.Sha256$V2.x1");
    }
}

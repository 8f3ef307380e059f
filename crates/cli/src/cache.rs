//! `--cache DIR`: answers of earlier checks, kept by everything that they depend on.
//!
//! An answer is found again only if this very program would give it: the name of its file is a hash over the program
//! itself, the settings, and all files that hold classes to check or to know. So nothing ever has to be thrown away,
//! and what is damaged is told and made anew. Files are written beside their place and moved there, so that two runs
//! never see half of one.

mod answer;

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

pub(crate) use answer::Answer;

use crate::input::Files;
use crate::output;

/// The first bytes of every file; the number changes with the form of what follows.
const MAGIC: &[u8] = b"fissure answer 2\n";

/// Large files are hashed in parts of this size, in parallel.
const PART: usize = 1 << 20;

type Digest = [u8; 32];

/// Everything that an answer depends on, as one number.
#[derive(PartialEq, Eq)]
pub(crate) struct Key(Digest);

impl Key {
    /// For the program that is running, and these settings.
    pub(crate) fn new(settings: &[String]) -> std::io::Result<Key> {
        let own = fs::read(std::env::current_exe()?)?;
        let mut hash = Hash::default();
        hash.field(MAGIC);
        hash.field(&of_content(&own));
        hash.field(env!("CARGO_PKG_VERSION").as_bytes());
        settings.iter().for_each(|setting| hash.field(setting.as_bytes()));
        Ok(Key(hash.finish()))
    }

    /// The same with what is in these files, in this order.
    pub(crate) fn with(self, files: &Files) -> Key {
        let of_file = |path: &PathBuf| {
            let mut hash = Hash::default();
            hash.field(path.as_os_str().as_encoded_bytes());
            match fs::read(path) {
                Ok(bytes) => hash.field(&of_content(&bytes)),
                // It will be listed as skipped, with this reason.
                Err(error) => hash.field(error.to_string().as_bytes()),
            }
            hash.finish()
        };
        let all: Vec<Digest> = files.paths.par_iter().map(of_file).collect();
        let mut hash = Hash::default();
        hash.field(&self.0);
        hash.field(&(all.len() as u64).to_le_bytes());
        all.iter().for_each(|file| hash.field(file));
        for skipped in &files.skipped {
            hash.field(skipped.path.as_bytes());
            hash.field(skipped.reason.as_bytes());
        }
        Key(hash.finish())
    }
}

/// A hash over several fields.
#[derive(Default)]
struct Hash(Sha256);

impl Hash {
    fn of(bytes: &[u8]) -> Digest {
        Sha256::digest(bytes).into()
    }

    /// Adds bytes with their number before them, so that no two lists of fields look alike.
    fn field(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn finish(self) -> Digest {
        self.0.finalize().into()
    }
}

fn of_content(bytes: &[u8]) -> Digest {
    let parts: Vec<Digest> = bytes.par_chunks(PART).map(Hash::of).collect();
    let mut hash = Hash::default();
    parts.iter().for_each(|part| hash.field(part));
    hash.finish()
}

/// The folder that holds answers.
pub(crate) struct Cache {
    folder: PathBuf,
}

impl Cache {
    pub(crate) fn new(folder: &Path) -> Cache {
        Cache { folder: folder.to_owned() }
    }

    fn file(&self, key: &Key) -> PathBuf {
        let name: String = key.0.iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{name}.answer"))
    }

    /// The answer of an earlier run. One that cannot be used is told, and is as good as none.
    pub(crate) fn get(&self, key: &Key) -> Option<Answer> {
        let path = self.file(key);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => {
                output::complain(&format!("cannot read `{}` from the cache: {error}", path.display()));
                return None;
            }
        };
        let answer = unsealed(key, &bytes).and_then(Answer::read);
        if answer.is_none() {
            output::complain(&format!("`{}` in the cache is damaged and is made anew", path.display()));
        }
        answer
    }

    /// Keeps an answer. Where that is not possible, it is told, and the run goes on.
    pub(crate) fn put(&self, key: &Key, answer: &Answer) {
        let path = self.file(key);
        let written = fs::create_dir_all(&self.folder).and_then(|()| output::replace(&path, &sealed(key, answer)));
        if let Err(error) = written {
            output::complain(&format!("cannot write `{}` to the cache: {error}", path.display()));
        }
    }
}

/// Magic, key, hash of what follows, answer.
fn sealed(key: &Key, answer: &Answer) -> Vec<u8> {
    let body = answer.write();
    [MAGIC, &key.0, &Hash::of(&body), &body].concat()
}

/// The answer's bytes, if all of them are as they were written, for this key.
fn unsealed<'b>(key: &Key, bytes: &'b [u8]) -> Option<&'b [u8]> {
    let rest = bytes.strip_prefix(MAGIC)?.strip_prefix(&key.0)?;
    let (hash, body) = rest.split_first_chunk::<32>()?;
    (Hash::of(body) == *hash).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(folder: &fixture::Folder, content: &str, setting: &str) -> Key {
        let paths = vec![folder.file("A.class", content)];
        let key = Key::new(&[setting.to_owned()]).expect("the test itself can be read");
        key.with(&Files { paths, skipped: Vec::new() })
    }

    #[test]
    fn keys_tell_inputs_and_settings_apart() {
        let folder = fixture::Folder::new();
        let long = "a".repeat(PART + 1);
        let keys = [("a", "x"), ("b", "x"), ("a", "y"), ("", "x"), (&long, "x"), (&long[1..], "x")]
            .map(|(content, setting)| key(&folder, content, setting).0);
        for (index, one) in keys.iter().enumerate() {
            assert!(!keys[..index].contains(one), "{index}");
        }
        assert_eq!(keys[0], key(&folder, "a", "x").0);
    }

    #[test]
    fn no_damaged_byte_goes_unnoticed() {
        let folder = fixture::Folder::new();
        let (key, other) = (key(&folder, "a", "x"), key(&folder, "b", "x"));
        let answer = answer::sample();
        let whole = sealed(&key, &answer);
        let read = unsealed(&key, &whole).and_then(Answer::read);
        assert_eq!(format!("{read:?}"), format!("{:?}", Some(answer)));
        assert!(unsealed(&other, &whole).is_none());
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            assert!(unsealed(&key, &damaged).is_none(), "byte {at}");
            assert!(unsealed(&key, &whole[..at]).is_none(), "cut at {at}");
        }
    }
}

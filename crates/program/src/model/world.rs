//! Calls that yield something else each time: the clock, chance, what is read from outside.

use location::{MethodName, Names};

/// Classes and the methods that do, `*` for all of them; a word that ends in `*` stands for all that begin so.
const EVER_NEW: &[(&str, &str)] = &[
    ("java/io/BufferedReader", "read*"),
    ("java/io/DataInput", "read*"),
    ("java/io/DataInputStream", "read*"),
    ("java/io/File", "createTempFile"),
    ("java/io/InputStream", "read*"),
    ("java/io/ObjectInputStream", "read*"),
    ("java/io/Reader", "read*"),
    ("java/lang/Math", "random"),
    ("java/lang/StrictMath", "random"),
    ("java/lang/System", "currentTimeMillis identityHashCode nanoTime"),
    ("java/lang/Thread", "currentThread"),
    ("java/nio/file/Files", "createTemp*"),
    ("java/security/KeyPairGenerator", "gen*"),
    ("java/security/SecureRandom", "*"),
    ("java/time/Clock", "*"),
    ("java/time/InstantSource", "*"),
    ("java/util/Calendar", "getInstance"),
    ("java/util/Random", "*"),
    ("java/util/Scanner", "next*"),
    ("java/util/SplittableRandom", "*"),
    ("java/util/UUID", "randomUUID"),
    ("java/util/concurrent/ThreadLocalRandom", "*"),
    ("java/util/random/RandomGenerator", "*"),
    ("javax/crypto/KeyGenerator", "generateKey"),
];

/// Constructors without arguments that ask the clock.
const OF_NOW: [&str; 2] = ["java/util/Date", "java/util/GregorianCalendar"];

/// Whether two calls with the same arguments may yield different things although nobody has written anything.
pub fn is_ever_new(names: &Names, method: MethodName) -> bool {
    let (class, name) = (names.text(method.class.0), names.text(method.name));
    let is_meant = |word: &str| match word.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == word,
    };
    EVER_NEW.iter().any(|(owner, methods)| *owner == class && methods.split_ascii_whitespace().any(is_meant))
        || class.starts_with("java/time/") && name == "now"
        || name == "<init>" && names.text(method.descriptor) == "()V" && OF_NOW.contains(&class)
}

//! Where classes come from.

/// The bytes of one class file, not yet read.
#[derive(Debug)]
pub struct ClassSource {
    /// Where it was found, as users see it: `app.jar!/lib/util.jar!/pkg/Foo.class`.
    pub path: String,
    pub bytes: Vec<u8>,
}

/// An input that could not be used. It is listed in every report: silence would look like "no bugs".
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Skipped {
    pub path: String,
    pub reason: String,
}

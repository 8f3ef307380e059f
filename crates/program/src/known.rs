//! Classes that are known but not checked: those of a class path, and those of a JDK.

use classfile::{ClassSource, Skipped};

use crate::jdk::Jdk;

/// A place where classes can be looked up by name. Opening files is the caller's part.
pub trait Finder: Send {
    /// For each binary name the class file, or why it cannot be read; `None` if there is none of this name.
    ///
    /// Names come sorted and each once in a lifetime, so that a limit on what is read leaves out the same classes in
    /// every run.
    fn find(&mut self, classes: &[&str]) -> Vec<Option<Result<ClassSource, Skipped>>>;
}

/// Where knowledge of the JDK's own classes comes from.
pub enum Platform {
    /// The model that is part of this program.
    Embedded(Jdk<'static>),
    /// A real JDK.
    Installed {
        /// As `JDK 25.0.1`.
        version: String,
        classes: Box<dyn Finder>,
    },
}

impl Platform {
    /// As reports tell it: `embedded 17`, `JDK 25.0.1`.
    pub fn version(&self) -> &str {
        match self {
            Platform::Embedded(jdk) => jdk.version(),
            Platform::Installed { version, .. } => version,
        }
    }
}

/// What is known beside the classes that are checked. A class path comes before the JDK.
pub struct Known {
    pub class_path: Option<Box<dyn Finder>>,
    pub platform: Platform,
}

impl Default for Known {
    fn default() -> Known {
        Known { class_path: None, platform: Platform::Embedded(Jdk::embedded()) }
    }
}

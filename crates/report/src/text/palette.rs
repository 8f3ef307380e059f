//! Colours, or none.

use finding::Severity;

/// Whether text is coloured. The command decides: a terminal, and no `NO_COLOR`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Palette {
    Plain,
    Colour,
}

impl Palette {
    pub(super) fn severity(self, severity: Severity, text: &str) -> String {
        match severity {
            Severity::Note => self.paint("1;36", text),
            Severity::Warning => self.paint("1;33", text),
            Severity::Error => self.paint("1;31", text),
        }
    }

    pub(super) fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(super) fn faint(self, text: &str) -> String {
        self.paint("34", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Palette::Plain => text.to_owned(),
            Palette::Colour => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

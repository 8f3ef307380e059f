//! The agent's options, as they stand behind `=` in `-agentpath:LIBRARY=OPTIONS`.
//!
//! They are separated by commas; `%` with two digits stands for a byte that would be taken for something else.

use std::fmt::{self, Write as _};
use std::path::PathBuf;

/// What the agent is told.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Where each JVM makes its folder.
    pub folder: PathBuf,
    /// Globs of classes to instrument; none means all that are not excluded.
    pub include: Vec<String>,
    /// Globs of classes to leave alone, beside those that always are.
    pub exclude: Vec<String>,
    /// Whether every access is kept.
    pub no_filter: bool,
    /// Most bytes of records; 0 is no limit.
    pub limit: u64,
    /// Most bytes of records that wait to be read by somebody who gives their space back; 0 is no limit.
    pub backlog: u64,
    /// Whether the agent writes the trace itself, with its records packed.
    pub packs: bool,
    /// Whether arms of branches that are not taken are told.
    pub speculates: bool,
    /// Whether each JVM asks for a plan in its folder, and waits for it before the application starts.
    pub waits_for_plan: bool,
}

/// Why options are wrong, in one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionsError(String);

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OptionsError {}

impl Options {
    pub fn parse(text: &str) -> Result<Options, OptionsError> {
        let mut options = Options::default();
        for option in text.split(',').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
            let value = || match value {
                Some(value) => unescape(value),
                None => Err(OptionsError(format!("option `{name}` needs a value"))),
            };
            match name {
                "folder" => options.folder = PathBuf::from(value()?),
                "include" => options.include.push(value()?),
                "exclude" => options.exclude.push(value()?),
                "no-filter" => options.no_filter = true,
                "speculate" => options.speculates = true,
                "pack" => options.packs = true,
                "plan" => match value()?.as_str() {
                    "wait" => options.waits_for_plan = true,
                    other => return Err(OptionsError(format!("`{other}` is no way to get a plan"))),
                },
                "limit" => {
                    let value = value()?;
                    options.limit = value.parse().map_err(|_| OptionsError(format!("`{value}` is no limit")))?;
                }
                "backlog" => {
                    let value = value()?;
                    options.backlog = value.parse().map_err(|_| OptionsError(format!("`{value}` is no limit")))?;
                }
                _ => return Err(OptionsError(format!("there is no option `{name}`"))),
            }
        }
        if options.folder.as_os_str().is_empty() {
            return Err(OptionsError("option `folder` is missing".to_owned()));
        }
        Ok(options)
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "folder={}", escape(&self.folder.to_string_lossy()))?;
        for glob in &self.include {
            write!(f, ",include={}", escape(glob))?;
        }
        for glob in &self.exclude {
            write!(f, ",exclude={}", escape(glob))?;
        }
        if self.no_filter {
            f.write_str(",no-filter")?;
        }
        if self.speculates {
            f.write_str(",speculate")?;
        }
        if self.limit != 0 {
            write!(f, ",limit={}", self.limit)?;
        }
        if self.backlog != 0 {
            write!(f, ",backlog={}", self.backlog)?;
        }
        if self.packs {
            f.write_str(",pack")?;
        }
        if self.waits_for_plan {
            f.write_str(",plan=wait")?;
        }
        Ok(())
    }
}

/// Also escapes what a shell or `JDK_JAVA_OPTIONS` would cut at.
fn escape(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"/._-$+@:".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02x}");
        }
        out
    })
}

fn unescape(text: &str) -> Result<String, OptionsError> {
    let wrong = || OptionsError(format!("`{text}` is not escaped as it ought to be"));
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'%' {
            let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok()).ok_or_else(wrong)?;
            out.push(u8::from_str_radix(digits, 16).map_err(|_| wrong())?);
            rest = &after[2..];
        } else {
            out.push(byte);
            rest = after;
        }
    }
    String::from_utf8(out).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_survive() {
        let options = Options {
            folder: PathBuf::from("/tmp/a b,c=%/ä"),
            include: vec!["com.shop.**".to_owned(), "x*".to_owned()],
            exclude: vec!["$?".to_owned()],
            no_filter: true,
            speculates: true,
            limit: 77,
            backlog: 78,
            packs: true,
            waits_for_plan: true,
        };
        let text = options.to_string();
        assert!(!text.contains(' ') && text.is_ascii(), "{text}");
        assert_eq!(Options::parse(&text), Ok(options));
    }

    #[test]
    fn wrong_options_are_told() {
        for (text, told) in [
            ("", "option `folder` is missing"),
            ("folder=/x,colour=red", "there is no option `colour`"),
            ("folder", "option `folder` needs a value"),
            ("folder=/x,limit=much", "`much` is no limit"),
            ("folder=%4", "`%4` is not escaped as it ought to be"),
        ] {
            assert_eq!(Options::parse(text).unwrap_err().to_string(), told);
        }
    }
}

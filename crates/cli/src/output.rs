//! Where text goes: standard output, or a file that is replaced whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use report::Palette;

/// Colours for a terminal, unless `NO_COLOR` is set to anything.
pub(crate) fn palette(to_file: bool) -> Palette {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if to_file || refused || dumb || !io::stdout().is_terminal() { Palette::Plain } else { Palette::Colour }
}

/// Writes to standard output. A reader that stops reading, as `head` does, is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("cannot write to standard output"),
        _ => Ok(()),
    }
}

/// Writes to standard error, where standard output is the application's own.
pub(crate) fn print_apart(text: &str) -> Result<()> {
    match io::stderr().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("cannot write to standard error"),
        _ => Ok(()),
    }
}

/// Tells one line on standard error; a closed one is no error.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", report::one_line(line));
}

/// Writes a file by way of a temporary one beside it, so that no reader ever sees half of it.
/// What is no regular file, as `/dev/stdout` or a pipe, is written in place.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<()> {
    let cannot = || format!("cannot write `{}`", path.display());
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => bail!("{}: it is a directory", cannot()),
        Ok(metadata) if !metadata.is_file() => {
            let written =
                OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(text.as_bytes()));
            match written {
                Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).with_context(cannot),
                _ => Ok(()),
            }
        }
        // Through a symbolic link, so that the link stays one.
        Ok(_) => replace(&fs::canonicalize(path).with_context(cannot)?, text.as_bytes()).with_context(cannot),
        Err(_) => replace(path, text.as_bytes()).with_context(cannot),
    }
}

/// Writes a file that nobody sees before it is whole.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (mut file, temporary) = create_beside(path)?;
    let written = file.write_all(bytes).and_then(|()| file.flush()).and_then(|()| {
        drop(file);
        if let Ok(metadata) = fs::metadata(path) {
            fs::set_permissions(&temporary, metadata.permissions())?;
        }
        fs::rename(&temporary, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let name = path.file_name().ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "it has no file name"))?;
    for attempt in 0..100 {
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}-{attempt}.tmp", std::process::id()));
        let temporary = path.with_file_name(temporary);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((file, temporary)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, "temporary files of an earlier run are in the way"))
}

/// One line on standard error that tells what goes on, on a terminal only.
pub(crate) struct Progress {
    is_shown: bool,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress { is_shown: io::stderr().is_terminal() }
    }

    pub(crate) fn tell(&self, what: &str) {
        if self.is_shown {
            let _ = write!(io::stderr().lock(), "\r\u{1b}[K{}", report::one_line(what));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            let _ = write!(io::stderr().lock(), "\r\u{1b}[K");
        }
    }
}

//! Reads the classes of archives and decodes every instruction of every method; prints what it found and the most memory
//! it held. The reading benchmark runs it as a process of its own, and it is a quick way to try an archive.
//!
//! `decode [--threads N] [--read-only | --resolve | --sections | --whole] PATH...`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example speaks on the terminal")]

use std::fs::File;
use std::io;
use std::process::ExitCode;
use std::time::Instant;

use classfile::archive::{ArchiveReader, Contents, Kind, ReadAt};
use classfile::edit::ClassEditor;
use classfile::{Class, ClassSource, Error};
use location::Names;
use program::{Known, Program, Sections, Settings, Whole};
use rayon::prelude::*;

struct Input {
    file: File,
    size: u64,
}

impl ReadAt for Input {
    fn size(&self) -> u64 {
        self.size
    }

    #[cfg(unix)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, buffer, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&self.file, buffer, offset)
    }
}

/// How far classes are taken.
#[derive(Clone, Copy)]
enum Work {
    Read,
    Decode,
    Resolve,
    /// Methods that may contain a section as registers with their sections, the rest scanned: what a check begins with.
    Sections,
    /// The whole program with summaries of all that matters.
    Whole,
}

fn main() -> ExitCode {
    let mut threads = 2;
    let mut work = Work::Decode;
    let mut paths = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--threads" => threads = arguments.next().and_then(|number| number.parse().ok()).unwrap_or(threads),
            "--read-only" => work = Work::Read,
            "--resolve" => work = Work::Resolve,
            "--sections" => work = Work::Sections,
            "--whole" => work = Work::Whole,
            _ => paths.push(argument),
        }
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    match pool.map_err(io::Error::other).and_then(|pool| pool.install(|| run(&paths, work))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("decode: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(paths: &[String], work: Work) -> io::Result<()> {
    let start = Instant::now();
    let mut reader = ArchiveReader::default();
    let mut contents = Contents::default();
    for path in paths {
        let file = File::open(path).map_err(|error| io::Error::other(format!("{path}: {error}")))?;
        let size = file.metadata()?.len();
        let input = Input { file, size };
        match Kind::of(&input).map_err(io::Error::other)? {
            Some(kind) => reader.read(path, kind, &input, &mut contents),
            None => eprintln!("{path}: neither a class file nor an archive"),
        }
    }
    let read = start.elapsed();
    let names = Names::new();
    let counts: Vec<_> = match work {
        Work::Read => Vec::new(),
        Work::Decode => contents.sources.par_iter().map(decode).collect(),
        Work::Resolve => contents.sources.par_iter().map(|source| resolve(source, &names)).collect(),
        Work::Sections => sections(std::mem::take(&mut contents.sources)),
        Work::Whole => whole(std::mem::take(&mut contents.sources)),
    };
    let total = start.elapsed();

    let failed = counts.iter().filter(|count| count.is_err()).count();
    let (methods, instructions) =
        counts.iter().flatten().fold((0, 0), |(m, i), &(methods, instructions)| (m + methods, i + instructions));
    let bytes: usize = contents.sources.iter().map(|source| source.bytes.len()).sum();
    for skipped in &contents.skipped {
        println!("skipped {}: {}", skipped.path, skipped.reason);
    }
    for (source, error) in
        contents.sources.iter().zip(&counts).filter_map(|(s, count)| Some((s, count.as_ref().err()?)))
    {
        println!("not decoded {}: {error}", source.path);
    }
    println!("classes {}", contents.sources.len());
    println!("bytes {bytes}");
    println!("methods {methods}");
    println!("instructions {instructions}");
    println!("skipped {}", contents.skipped.len());
    println!("failed {failed}");
    println!("read_ms {:.1}", read.as_secs_f64() * 1e3);
    println!("total_ms {:.1}", total.as_secs_f64() * 1e3);
    println!("peak_kb {}", peak_memory().unwrap_or(0));
    Ok(())
}

/// Methods with a section and their sections; one entry per class read, so that the count of classes is told.
fn sections(sources: Vec<ClassSource>) -> Vec<Result<(usize, usize), Error>> {
    let program = Program::load(sources, Known::default());
    let found = program
        .visit_bodies(|method| program.may_lock(method), |_, body| Ok((1, Sections::of(&body, &program).iter().len())));
    found.into_iter().map(|found| found.unwrap_or_else(|unreadable| Err(unreadable.reason))).collect()
}

/// Methods with a summary and their sections.
fn whole(sources: Vec<ClassSource>) -> Vec<Result<(usize, usize), Error>> {
    let program = Program::load(sources, Known::default());
    let whole = Whole::of(&program, Settings::default());
    let summaries = program.methods().filter_map(|method| whole.summaries.summary(method));
    summaries.map(|summary| Ok((1, summary.sections.len()))).collect()
}

/// Methods and instructions of a class, each instruction decoded and dropped.
fn decode(source: &ClassSource) -> Result<(usize, usize), Error> {
    let class = ClassEditor::read(&source.bytes)?;
    let mut instructions = 0;
    for method in 0..class.methods().len() {
        instructions += class.code(method)?.map_or(0, |code| code.instructions().count());
    }
    Ok((class.methods().len(), instructions))
}

/// The same with operands looked up in the constant pool and names interned, as an analysis wants them.
fn resolve(source: &ClassSource, names: &Names) -> Result<(usize, usize), Error> {
    let class = Class::read(&source.bytes)?;
    let mut result = Ok(());
    let (mut methods, mut instructions) = (0, 0);
    class.codes(
        names,
        |_| true,
        |_, code| match code {
            Ok(code) => {
                methods += 1;
                instructions += code.map_or(0, |code| code.instructions.len());
            }
            Err(error) => result = Err(error),
        },
    );
    result.map(|()| (methods, instructions))
}

/// The largest resident set so far, where the system tells it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

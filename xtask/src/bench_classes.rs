//! How fast classes are read: a jar with all classes of the installed JDK, against `unzip -tq` of the same jar.
//!
//! Ratios of one run are what counts; times depend on the machine. The jars are made once and kept under `target/bench`.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use classfile::ClassSource;
use classfile::archive::{ArchiveReader, Contents, Kind};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::{CompressionMethod, ZipArchiveWriter};

/// Every time is the best of this many.
const RUNS: usize = 5;
/// Sizes that show whether the time is linear; the jar with all classes comes last.
const SIZES: [usize; 3] = [7_000, 14_000, usize::MAX];
const THREADS: usize = 2;

/// What the figures have to be for the jar with all classes.
const RATIO_LIMIT: f64 = 0.6;
const SECTIONS_LIMIT: f64 = 1.0;
const MEMORY_LIMIT_MB: f64 = 400.0;
const WHOLE_LIMIT: f64 = 1.5;
const WHOLE_MEMORY_LIMIT_MB: f64 = 600.0;

pub(crate) fn run() -> Result<()> {
    let jars = make_jars(&jdk_home()?)?;
    let decode = build_decoder()?;

    println!("classes of the JDK from a jar, {THREADS} threads, best of {RUNS}; ratios to unzip -tq of the same jar");
    println!("read: bytes; decoded: every instruction; resolved: with names and operands; sections: methods that may");
    println!("contain one as registers, the rest scanned; whole: the whole program with summaries of all that matters");
    println!(
        "{:>8} {:>8} {:>14} {:>14} {:>14} {:>14} {:>9} {:>8} {:>15} {:>8}",
        "classes", "unzip", "read", "decoded", "resolved", "sections", "us/class", "peak MB", "whole", "peak MB"
    );
    let mut last = None;
    for jar in &jars {
        let yardstick = best(|| unzip(jar))?;
        let read = measure(&decode, jar, &["--read-only"])?;
        let decoded = measure(&decode, jar, &[])?;
        let resolved = measure(&decode, jar, &["--resolve"])?;
        let sections = measure(&decode, jar, &["--sections"])?;
        let whole = measure(&decode, jar, &["--whole"])?;
        for run in [&decoded, &resolved] {
            ensure!(
                run.skipped == 0 && run.failed == 0,
                "{}: {} skipped, {} not decoded",
                jar.display(),
                run.skipped,
                run.failed
            );
        }
        let ratio = |time: Duration| time.as_secs_f64() / yardstick.as_secs_f64();
        let show = |time: Duration| format!("{:.3} ({:.2})", time.as_secs_f64(), ratio(time));
        println!(
            "{:>8} {:>8.3} {:>14} {:>14} {:>14} {:>14} {:>9.1} {:>8.0} {:>15} {:>8.0}",
            decoded.classes,
            yardstick.as_secs_f64(),
            show(read.time),
            show(decoded.time),
            show(resolved.time),
            show(sections.time),
            decoded.time.as_secs_f64() * 1e6 / decoded.classes as f64,
            sections.peak_mb.max(decoded.peak_mb),
            show(whole.time),
            whole.peak_mb,
        );
        let peak = sections.peak_mb.max(decoded.peak_mb);
        last = Some((ratio(decoded.time), ratio(sections.time), peak, ratio(whole.time), whole.peak_mb));
    }
    if let Some((ratio, sections, peak, whole, whole_peak)) = last {
        let verdict = |is_met| if is_met { "met" } else { "MISSED" };
        println!("decoding at most {RATIO_LIMIT} of unzip: {}", verdict(ratio <= RATIO_LIMIT));
        println!("sections at most {SECTIONS_LIMIT} of unzip: {}", verdict(sections <= SECTIONS_LIMIT));
        println!("memory at most {MEMORY_LIMIT_MB} MB: {}", verdict(peak <= MEMORY_LIMIT_MB));
        println!("the whole program at most {WHOLE_LIMIT} of unzip: {}", verdict(whole <= WHOLE_LIMIT));
        let is_met = whole_peak <= WHOLE_MEMORY_LIMIT_MB;
        println!("its memory at most {WHOLE_MEMORY_LIMIT_MB} MB: {}", verdict(is_met));
    }
    Ok(())
}

pub(crate) fn jdk_home() -> Result<PathBuf> {
    if let Some(home) = std::env::var_os("JAVA_HOME") {
        return Ok(home.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let javac = std::env::split_paths(&path)
        .map(|directory| directory.join("javac"))
        .find(|file| file.exists())
        .context("no JDK: set JAVA_HOME or put javac on the PATH")?
        .canonicalize()?;
    Ok(javac.parent().and_then(Path::parent).context("javac lies in no JDK")?.to_owned())
}

pub(crate) fn make_jars(home: &Path) -> Result<Vec<PathBuf>> {
    let image = home.join("lib/modules");
    let size = fs::metadata(&image).with_context(|| image.display().to_string())?.len();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench");
    fs::create_dir_all(&directory)?;
    // The size of the image tells one JDK from another well enough.
    let path = |count: usize| {
        directory.join(format!("jdk-{size}-{}.jar", if count == usize::MAX { "all".into() } else { count.to_string() }))
    };
    if SIZES.iter().all(|&count| path(count).exists()) {
        return Ok(SIZES.map(path).to_vec());
    }

    println!("making jars of the classes in {}", image.display());
    let bytes = fs::read(&image)?;
    ensure!(Kind::of(&bytes)? == Some(Kind::Image), "{}: not a JDK image", image.display());
    let mut contents = Contents::default();
    ArchiveReader::default().read("", Kind::Image, &bytes, &mut contents);
    for count in SIZES {
        // Spread over the modules, so that a small jar is like the large one.
        let total = contents.sources.len();
        let step = (total as f64 / count.min(total) as f64).max(1.0);
        let chosen = (0..count.min(total)).map(|index| &contents.sources[(index as f64 * step) as usize]);
        make_jar(&path(count), chosen)?;
    }
    Ok(SIZES.map(path).to_vec())
}

fn make_jar<'a>(path: &Path, sources: impl Iterator<Item = &'a ClassSource>) -> Result<()> {
    let unfinished = path.with_extension("unfinished");
    let mut jar = ZipArchiveWriter::new(BufWriter::new(File::create(&unfinished)?));
    for source in sources {
        let name = source.path.trim_start_matches("!/");
        let (mut entry, config) = jar.new_file(name).compression_method(CompressionMethod::DEFLATE).start()?;
        let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
        writer.write_all(&source.bytes)?;
        let (encoder, descriptor) = writer.finish()?;
        encoder.finish()?;
        entry.finish(descriptor)?;
    }
    jar.finish()?.flush()?;
    fs::rename(unfinished, path)?;
    Ok(())
}

/// Builds the example that is measured, and says where it is.
fn build_decoder() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--package", "xtask", "--example", "decode"])
        .current_dir(&root)
        .status()?;
    ensure!(status.success(), "the decoder does not build");
    Ok(root.join("target/release/examples/decode"))
}

pub(crate) fn best(mut measure: impl FnMut() -> Result<Duration>) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        best = best.min(measure()?);
    }
    Ok(best)
}

pub(crate) fn unzip(jar: &Path) -> Result<Duration> {
    let start = Instant::now();
    let status = Command::new("unzip").arg("-tq").arg(jar).stdout(Stdio::null()).status();
    let status = status.context("unzip is the yardstick and must be installed")?;
    ensure!(status.success(), "unzip -tq {} fails", jar.display());
    Ok(start.elapsed())
}

/// What one run of the decoder says of itself, with the time that the whole process took.
struct Measured {
    time: Duration,
    classes: usize,
    skipped: usize,
    failed: usize,
    peak_mb: f64,
}

/// The fastest of several runs, with the most memory that any of them took.
fn measure(decode: &Path, jar: &Path, options: &[&str]) -> Result<Measured> {
    let mut fastest: Option<Measured> = None;
    let mut peak_mb = 0.0_f64;
    for _ in 0..RUNS {
        let start = Instant::now();
        let output = Command::new(decode).args(["--threads", &THREADS.to_string()]).args(options).arg(jar).output()?;
        let time = start.elapsed();
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout)?;
        let figure = |name: &str| -> Result<usize> {
            let line = text.lines().rev().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            let Some(line) = line else { bail!("the decoder does not say {name}") };
            Ok(line.parse()?)
        };
        peak_mb = peak_mb.max(figure("peak_kb")? as f64 / 1e3);
        if fastest.as_ref().is_none_or(|fastest| time < fastest.time) {
            fastest = Some(Measured {
                time,
                classes: figure("classes")?,
                skipped: figure("skipped")?,
                failed: figure("failed")?,
                peak_mb: 0.0,
            });
        }
    }
    let fastest = fastest.context("no run")?;
    Ok(Measured { peak_mb, ..fastest })
}

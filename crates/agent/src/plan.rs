//! The plan that another process makes for this JVM: which methods are units, and whose activations are told.
//!
//! The agent writes `request` into the folder of the JVM (class path and working folder, a line each) and waits for
//! `plan`. Each line of that has a word, then what it is about, separated by tabs: `enter` and `unit` with class, name
//! and descriptor, `constant` with class, name and descriptor of a field, `include` and `exclude` with a glob. Other words are for later versions.

use std::path::Path;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use instrument::{Globs, Plan};

const REQUEST: &str = "request";
const PLAN: &str = "plan";
const PAUSE: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_secs(120);

/// `class_path` as the JVM had it when it loaded the agent: while it starts it answers no questions.
pub(crate) fn get(folder: &Path, class_path: &str, plan: &RwLock<Plan>) -> io::Result<()> {
    let working = std::env::current_dir()?;
    let working = working.display();
    let unfinished = folder.join(format!("{REQUEST}.tmp"));
    fs::write(&unfinished, format!("{class_path}\n{working}\n"))?;
    fs::rename(unfinished, folder.join(REQUEST))?;
    let text = wait(&folder.join(PLAN))?;
    let mut plan = plan.write().unwrap_or_else(PoisonError::into_inner);
    read(&text, &mut plan);
    Ok(())
}

fn wait(file: &Path) -> io::Result<String> {
    let begun = Instant::now();
    loop {
        match fs::read_to_string(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => return result,
        }
        if begun.elapsed() > LONGEST {
            return Err(io::Error::other("nobody made one in time"));
        }
        thread::sleep(PAUSE);
    }
}

/// The units of a plan are numbered in its order, from 1.
fn read(text: &str, plan: &mut Plan) {
    let (mut include, mut exclude) = (Vec::new(), Vec::new());
    let mut units = 0;
    for line in text.lines() {
        let words: Vec<&str> = line.split('\t').collect();
        match *words {
            ["enter", class, name, descriptor] => plan.methods.entry(class, name, descriptor).activations = true,
            ["unit", class, name, descriptor] => {
                units += 1;
                plan.methods.entry(class, name, descriptor).units.push(units);
            }
            ["constant", class, name, descriptor] if plan.skips_unescaped => {
                plan.constants.add(class, name, descriptor)
            }
            ["include", glob] => include.push(glob.to_owned()),
            ["exclude", glob] => exclude.push(glob.to_owned()),
            _ => {}
        }
    }
    if !include.is_empty() {
        plan.include = Globs::new(include);
    }
    if !exclude.is_empty() {
        plan.exclude.extend(exclude);
    }
}

//! temporary
use classfile::archive::{ArchiveReader, Contents, Kind, ReadAt};
use std::time::Instant;
struct Input {
    file: std::fs::File,
    size: u64,
}
impl ReadAt for Input {
    fn size(&self) -> u64 {
        self.size
    }
    fn read_at(&self, b: &mut [u8], o: u64) -> std::io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, b, o)
    }
}
fn main() {
    let mut reader = ArchiveReader::default();
    let mut contents = Contents::default();
    for path in std::env::args().skip(1) {
        let file = std::fs::File::open(&path).unwrap();
        let size = file.metadata().unwrap().len();
        let input = Input { file, size };
        reader.read(&path, Kind::of(&input).unwrap().unwrap(), &input, &mut contents);
    }
    let t = Instant::now();
    let program = program::Program::load(contents.sources, program::Known::default());
    println!("load {:?}", t.elapsed());
    let t = Instant::now();
    let calls = program::Calls::of(&program, program::CallGraph::Rapid);
    println!("calls {:?}", t.elapsed());
    let n = program.method_count();
    let mut l: Vec<bool> = program.methods().map(|m| program.may_lock(m)).collect();
    l.resize(program.known_method_count(), false);
    println!("methods {n} lock {}", l.iter().filter(|x| **x).count());
    let mut up = l.clone();
    for d in 1..=6 {
        let prev = up.clone();
        for m in program.methods() {
            if prev[m.index()] {
                for c in calls.callers(m) {
                    up[c.index()] = true;
                }
            }
        }
        println!("up {d}: {}", up.iter().filter(|x| **x).count());
        let mut down = up.clone();
        for e in 1..=4 {
            let prev = down.clone();
            for m in program.methods() {
                if prev[m.index()] {
                    for c in calls.callees(m) {
                        down[c.index()] = true;
                    }
                }
            }
            println!("   down {e}: {}", down.iter().filter(|x| **x).count());
        }
    }
    let t = Instant::now();
    let outs = program.visit_bodies(|m| up[m.index()], |_, b| program::outline::outline(&program, &b, |_| true));
    println!(
        "outlines {} {:?} events {}",
        outs.len(),
        t.elapsed(),
        outs.iter().flatten().map(|o| o.events.len()).sum::<usize>()
    );
    println!("event size {} access", std::mem::size_of::<program::outline::Event>());
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", status.lines().find(|l| l.starts_with("VmHWM")).unwrap());
}

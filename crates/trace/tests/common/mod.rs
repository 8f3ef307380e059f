//! Random events of all kinds, and short ways through the readers and writers.

#![allow(dead_code, reason = "each test uses its part")]

use trace::{
    Access, Action, ActivationId, BarrierId, BranchId, Cause, Event, Interval, LockId, MethodId, Mode, ObjectId,
    OrderedWriter, Problems, Ran, Reader, SectionId, SiteId, StackId, SyncKind, Tables, TextWriter, ThreadId,
    TraceError, UnitId, VariableId,
};

pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % limit
    }
}

pub(crate) fn tables() -> Tables {
    let mut tables = Tables::default();
    for number in 0..5 {
        tables.add_thread(&format!("worker {number}"));
        tables.add_lock(&format!("pkg.Lock@{}", number + 1));
        tables.add_unit(&format!("unit{number}"));
        tables.add_barrier(&format!("gate{number}"));
    }
    // Two threads of one name are two threads.
    tables.add_thread("worker 0");
    for name in ["x", "pkg.Foo.field@12", "int[]@3[8]", "java.util.HashMap@4{}", "odd|name", "y"] {
        tables.add_variable(name);
    }
    for place in ["pkg.Foo.run:()V@7(Foo.java:12)", "345", "pkg.Foo.stop(Foo.java:13)"] {
        tables.add_site(place);
    }
    let inner = tables.add_stack(SiteId(1), StackId(0));
    tables.add_stack(SiteId(3), inner);
    tables
}

pub(crate) fn event(random: &mut Random, tables: &mut Tables) -> Event {
    let action = action(random, tables);
    Event {
        thread: ThreadId(random.below(6) as u32),
        site: SiteId(random.below(4) as u32),
        stack: StackId(if random.below(4) == 0 { random.below(3) as u32 } else { 0 }),
        action,
    }
}

fn action(random: &mut Random, tables: &mut Tables) -> Action {
    let variable = VariableId(random.below(6) as u32);
    let lock = LockId(random.below(5) as u32);
    let mode = if random.below(2) == 0 { Mode::Shared } else { Mode::Exclusive };
    let cause = if random.below(4) == 0 { Cause::Wait } else { Cause::Section };
    let activation = ActivationId(if random.below(2) == 0 { 0 } else { random.below(1 << 40) });
    match random.below(22) {
        0..=3 => Action::Read { variable },
        4..=6 => Action::Write { variable },
        7 => {
            let section = SectionId(random.below(3) as u32);
            Action::Acquire { lock, mode, cause, section, activation }
        }
        8 => Action::Release { lock, mode, cause },
        9 => Action::Start { child: ThreadId(random.below(6) as u32) },
        10 => Action::Join { child: ThreadId(random.below(6) as u32) },
        11 => Action::ThreadBegin,
        12 => Action::ThreadEnd,
        13 => Action::Arrive { barrier: BarrierId(random.below(5) as u32), generation: random.below(300) as u32 },
        14 => Action::Leave { barrier: BarrierId(random.below(5) as u32), generation: random.below(300) as u32 },
        15 => Action::Sync {
            variable,
            access: [Access::Read, Access::Write, Access::Update][random.below(3) as usize],
            kind: [SyncKind::Volatile, SyncKind::Atomic, SyncKind::Modelled][random.below(3) as usize],
            interval: if random.below(2) == 0 {
                None
            } else {
                let before = random.below(1 << 30);
                Interval::new(before, before + random.below(9))
            },
        },
        16 => Action::UnitBegin { unit: UnitId(random.below(6) as u32), activation },
        17 => Action::UnitEnd { unit: UnitId(random.below(6) as u32) },
        18 => {
            let method = MethodId(tables.add_string("pkg.Foo.run").0);
            Action::Enter { activation, method }
        }
        19 => Action::Exit { activation },
        20 => {
            let ran = if random.below(2) == 0 { Ran::Yes } else { Ran::Speculated };
            Action::ArmBegin { branch: BranchId(random.below(1 << 33)), arm: random.below(4) as u32, ran }
        }
        _ => match random.below(3) {
            0 => Action::ArmEnd { branch: BranchId(7) },
            1 => Action::New { object: ObjectId(random.below(1 << 50)) },
            _ => Action::Lost { events: random.below(1000), all: random.below(2) == 0 },
        },
    }
}

pub(crate) fn events(random: &mut Random, tables: &mut Tables, count: usize) -> Vec<Event> {
    (0..count).map(|_| event(random, tables)).collect()
}

pub(crate) fn binary(events: &[Event], tables: &Tables) -> Vec<u8> {
    let mut writer = OrderedWriter::new(Vec::new()).unwrap();
    for event in events {
        writer.event(event, tables).unwrap();
    }
    writer.finish(tables).unwrap()
}

pub(crate) fn text(events: &[Event], tables: &Tables) -> String {
    let mut writer = TextWriter::new(Vec::new());
    for event in events {
        writer.event(event, tables).unwrap();
    }
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

pub(crate) struct Whole {
    pub(crate) events: Vec<Event>,
    pub(crate) tables: Tables,
    pub(crate) problems: Problems,
    pub(crate) out_of_order: u64,
}

pub(crate) fn read(bytes: &[u8]) -> Result<Whole, TraceError> {
    let mut reader = Reader::new(Dribble(bytes, 0))?;
    let mut events = Vec::new();
    let mut batch = Vec::new();
    loop {
        reader.next(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        events.extend_from_slice(&batch);
    }
    Ok(Whole {
        events,
        tables: reader.tables().clone(),
        problems: reader.problems().clone(),
        out_of_order: reader.out_of_order(),
    })
}

/// Gives its bytes in uneven pieces, as a pipe does.
struct Dribble<'a>(&'a [u8], usize);

impl std::io::Read for Dribble<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1 = (self.1 * 7 + 13) % 4001;
        let length = buffer.len().min(self.0.len()).min(self.1 + 1);
        buffer[..length].copy_from_slice(&self.0[..length]);
        self.0 = &self.0[length..];
        Ok(length)
    }
}

//! The rule by which a recorder leaves accesses out, as a transformer of event streams.
//!
//! The recorder keeps one word per field: who accessed it last, in which of its segments, and how many reads and writes
//! of that segment were kept. A segment of a thread ends at everything that orders threads or bounds a unit, and where
//! the thread comes upon another thread's word: from there on its events can be reached by more than those before. An
//! access is left out only if the word is this thread's, of this segment, and enough of its kind were kept. Then the
//! kept one and the one left out are reached by the same, reach the same, and belong to the same unit.
//!
//! A word of another thread's segment that has reached the thread already brings nothing new, and ends no segment: data
//! that one thread made ready and others then read costs one segment, not one for each field. A thread learns of another
//! one's segment by a conflict with it, or by being started. No thread makes the same word twice all the same: two threads
//! cannot each have learned of the other's segment in their own.
//!
//! A field that several threads read without a write between has a state of its own with each reader's last segment; in
//! one word they would steal it from each other at every read.
//!
//! Why a segment must end at another thread's word: let t read x, then read what v wrote, then read x again. The second
//! read of x is reached by v and the first is not. Without it, a thread that then writes x is not after v.

use rustc_hash::{FxHashMap, FxHashSet};
use trace::{Action, Cause, Event, LockId, Mode, ObjectId, Ran, Tables, ThreadId, VariableId};

/// Who accessed a field last, and what of it was kept.
#[derive(Clone, Debug)]
enum Word {
    Untouched,
    Owned {
        thread: ThreadId,
        segment: u64,
        reads: u8,
        writes: u8,
    },
    /// Only read since its last write, by several threads: each with its segment and the reads kept in it. The second one
    /// made it so.
    ReadShared(Vec<(ThreadId, u64, u8)>),
}

/// Decides for each event of a stream whether a recorder keeps it.
pub struct Filter {
    /// How many accesses of a kind are kept in a segment.
    keep: u8,
    words: Vec<Word>,
    segments: Vec<u64>,
    /// By thread and other thread: the latest segment of the other that has reached it.
    learned: FxHashMap<(ThreadId, ThreadId), u64>,
    /// How often a thread holds a lock exclusively: taking it again is no event.
    held: FxHashMap<(ThreadId, LockId), u32>,
    /// For each thread that is in a branch: which of its open arms are speculated.
    arms: FxHashMap<ThreadId, Vec<bool>>,
    /// For each thread, the objects that it created and nobody else can know yet. Taking or leaving a lock, reading and
    /// the bounds of units make nothing known to others.
    fresh: FxHashMap<ThreadId, FxHashSet<ObjectId>>,
    /// For the test that shows what a looser rule loses.
    ends_at_foreign_words: bool,
}

impl Filter {
    /// Two of a kind are kept for detectors that look at pairs within a section.
    pub fn new() -> Filter {
        Filter::keeping(2)
    }

    /// One of a kind is enough where only serializability is judged.
    pub fn for_serializability() -> Filter {
        Filter::keeping(1)
    }

    fn keeping(keep: u8) -> Filter {
        Filter {
            keep,
            words: Vec::new(),
            segments: Vec::new(),
            learned: FxHashMap::default(),
            held: FxHashMap::default(),
            arms: FxHashMap::default(),
            fresh: FxHashMap::default(),
            ends_at_foreign_words: true,
        }
    }

    #[cfg(test)]
    pub(crate) fn looser() -> Filter {
        Filter { ends_at_foreign_words: false, ..Filter::keeping(1) }
    }

    /// Whether the event is kept. `tables` say to which object a variable belongs.
    pub fn keeps(&mut self, event: &Event, tables: &Tables) -> bool {
        let thread = event.thread;
        if self.is_speculating(event) {
            // What did not run leaves no word behind.
            return true;
        }
        match event.action {
            Action::Read { variable } | Action::Write { variable } if self.is_fresh(thread, variable, tables) => {
                // No word is left, either: whoever accesses it later got the object by an access that is kept and comes
                // after this one.
                false
            }
            Action::Read { variable } => self.read(thread, variable),
            Action::Write { variable } => self.write(thread, variable),
            Action::New { object } => {
                self.fresh.entry(thread).or_default().insert(object);
                true
            }
            Action::Sync { variable, access, interval, .. } => {
                self.end_segment(thread);
                self.fresh.remove(&thread);
                // With numbers of its own it has no place among plain accesses; without, it is one of them.
                if interval.is_none() {
                    let (reads, writes) = if access.writes() { (0, 1) } else { (1, 0) };
                    *self.word(variable) = Word::Owned { thread, segment: self.segment(thread), reads, writes };
                }
                true
            }
            Action::Acquire { lock, mode: Mode::Exclusive, cause: Cause::Section, .. } => {
                let depth = self.held.entry((thread, lock)).or_insert(0);
                *depth += 1;
                let outermost = *depth == 1;
                if outermost {
                    self.end_segment(thread);
                }
                outermost
            }
            Action::Release { lock, mode: Mode::Exclusive, cause: Cause::Section } => {
                let depth = self.held.entry((thread, lock)).or_insert(0);
                *depth = depth.saturating_sub(1);
                let outermost = *depth == 0;
                if outermost {
                    self.end_segment(thread);
                }
                outermost
            }
            Action::Start { child } => {
                let known: Vec<(ThreadId, u64)> =
                    self.learned.iter().filter(|((of, _), _)| *of == thread).map(|((_, by), at)| (*by, *at)).collect();
                self.learned.extend(known.into_iter().map(|(other, segment)| ((child, other), segment)));
                self.learned.insert((child, thread), self.segment(thread));
                self.end_segment(thread);
                self.fresh.remove(&thread);
                true
            }
            Action::Join { child } => {
                self.learned.insert((thread, child), self.segment(child));
                self.end_segment(thread);
                true
            }
            Action::Arrive { .. } => {
                self.end_segment(thread);
                self.fresh.remove(&thread);
                true
            }
            Action::Acquire { .. }
            | Action::Release { .. }
            | Action::UnitBegin { .. }
            | Action::UnitEnd { .. }
            | Action::Leave { .. }
            | Action::ThreadBegin
            | Action::ThreadEnd
            | Action::Lost { .. }
            | Action::ArmBegin { .. }
            | Action::ArmEnd { .. } => {
                self.end_segment(thread);
                true
            }
            Action::Enter { .. } | Action::Exit { .. } => true,
        }
    }

    /// Keeps the open arms, and says whether the event is inside a speculated one.
    fn is_speculating(&mut self, event: &Event) -> bool {
        match event.action {
            Action::ArmBegin { ran, .. } => {
                self.arms.entry(event.thread).or_default().push(ran == Ran::Speculated);
                false
            }
            Action::ArmEnd { .. } => {
                if let Some(arms) = self.arms.get_mut(&event.thread) {
                    arms.pop();
                    if arms.is_empty() {
                        self.arms.remove(&event.thread);
                    }
                }
                false
            }
            Action::ThreadEnd | Action::Lost { .. } => {
                self.arms.remove(&event.thread);
                false
            }
            _ => !self.arms.is_empty() && self.arms.get(&event.thread).is_some_and(|arms| arms.contains(&true)),
        }
    }

    fn read(&mut self, thread: ThreadId, variable: VariableId) -> bool {
        let segment = self.segment(thread);
        let keep = self.keep;
        match self.word(variable) {
            Word::Owned { thread: owner, segment: last, reads, .. } if *owner == thread && *last == segment => {
                let kept = *reads < keep;
                *reads += u8::from(kept);
                kept
            }
            Word::Owned { thread: owner, segment: last, reads, writes: 0 } if *owner != thread => {
                let first = (*owner, *last, *reads);
                // Reads do not conflict, so nothing is learned.
                let segment = self.meet(thread, (first.0, first.1), false);
                *self.word(variable) = Word::ReadShared(vec![first, (thread, segment, 1)]);
                true
            }
            Word::Owned { thread: owner, segment: last, .. } => {
                let last = (*owner, *last);
                let segment = if last.0 == thread { segment } else { self.meet(thread, last, true) };
                *self.word(variable) = Word::Owned { thread, segment, reads: 1, writes: 0 };
                true
            }
            Word::ReadShared(readers) => match readers.iter_mut().find(|(reader, _, _)| *reader == thread) {
                Some((_, last, reads)) if *last == segment => {
                    let kept = *reads < keep;
                    *reads += u8::from(kept);
                    kept
                }
                Some((_, last, reads)) => {
                    (*last, *reads) = (segment, 1);
                    true
                }
                None => {
                    let (sharer, its_segment, _) = readers[1];
                    let segment = self.meet(thread, (sharer, its_segment), false);
                    if let Word::ReadShared(readers) = self.word(variable) {
                        readers.push((thread, segment, 1));
                    }
                    true
                }
            },
            Word::Untouched => {
                *self.word(variable) = Word::Owned { thread, segment, reads: 1, writes: 0 };
                true
            }
        }
    }

    fn write(&mut self, thread: ThreadId, variable: VariableId) -> bool {
        // What is written to a place that others may know can be one of the fresh objects.
        self.fresh.remove(&thread);
        let segment = self.segment(thread);
        let keep = self.keep;
        match self.word(variable) {
            Word::Owned { thread: owner, segment: last, writes, .. } if *owner == thread && *last == segment => {
                let kept = *writes < keep;
                *writes += u8::from(kept);
                kept
            }
            Word::Owned { thread: owner, .. } if *owner == thread => {
                *self.word(variable) = Word::Owned { thread, segment, reads: 0, writes: 1 };
                true
            }
            Word::Owned { thread: owner, segment: last, .. } => {
                let last = (*owner, *last);
                let segment = self.meet(thread, last, true);
                *self.word(variable) = Word::Owned { thread, segment, reads: 0, writes: 1 };
                true
            }
            Word::ReadShared(_) => {
                if self.ends_at_foreign_words {
                    self.end_segment(thread);
                }
                let segment = self.segment(thread);
                *self.word(variable) = Word::Owned { thread, segment, reads: 0, writes: 1 };
                true
            }
            Word::Untouched => {
                *self.word(variable) = Word::Owned { thread, segment, reads: 0, writes: 1 };
                true
            }
        }
    }

    fn is_fresh(&self, thread: ThreadId, variable: VariableId, tables: &Tables) -> bool {
        let object = tables.variable(variable).object;
        self.fresh.get(&thread).is_some_and(|objects| objects.contains(&object))
    }

    /// The thread came upon the word of another thread's segment; its own segment from then on, which is a new one unless
    /// it had learned of that segment.
    fn meet(&mut self, thread: ThreadId, (other, segment): (ThreadId, u64), conflict: bool) -> u64 {
        let learned = self.learned.get(&(thread, other)).is_some_and(|&learned| learned >= segment);
        if !learned {
            if self.ends_at_foreign_words {
                self.end_segment(thread);
            }
            if conflict {
                self.learned.insert((thread, other), segment);
            }
        }
        self.segment(thread)
    }

    fn segment(&self, thread: ThreadId) -> u64 {
        self.segments.get(thread.index()).copied().unwrap_or(0)
    }

    fn end_segment(&mut self, thread: ThreadId) {
        if self.segments.len() <= thread.index() {
            self.segments.resize(thread.index() + 1, 0);
        }
        self.segments[thread.index()] += 1;
    }

    fn word(&mut self, variable: VariableId) -> &mut Word {
        if self.words.len() <= variable.index() {
            self.words.resize(variable.index() + 1, Word::Untouched);
        }
        &mut self.words[variable.index()]
    }
}

impl Default for Filter {
    fn default() -> Filter {
        Filter::new()
    }
}

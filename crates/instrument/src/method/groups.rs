//! Reads of several fields of one object in code that runs straight through.
//!
//! One probe before the first of them asks for all. Nothing lies between that could order threads, make an object known to
//! others or write a field, so that other threads cannot tell in which order these reads happen, and they are of one segment
//! unless a racing write is read in between. Where something between may throw, it is that another object is not there, and the probe is
//! given that object: the reads behind it are then told by nobody, as they do not happen.
//!
//! A field of a class that is not loaded yet may turn out to be volatile. So before the first probe it is asked whether all
//! fields of the stretch are known to be plain, and if not, each read has a probe of its own.

use classfile::edit::{CodeEditor, ConstantPool, op};
use rustc_hash::FxHashSet;

use super::calls::one_kind;
use super::loops::{duplicate, effect};

/// How many reads one probe is about, and how many unknown fields one question.
pub(super) const MOST: usize = 4;

/// What a read of a field is to the recorder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Watched {
    /// A probe that may stand elsewhere.
    Plain,
    /// The same if the field, by its constant, is not volatile.
    Perhaps(u16),
    /// None at all.
    Not,
    /// It may order threads.
    Orders,
}

/// Reads of fields of the object in one variable, by the positions of their instructions.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Group {
    pub(super) object: u16,
    pub(super) reads: Vec<usize>,
    /// The variable with another object that is needed to get beyond the first so many reads.
    pub(super) other: Option<u16>,
    pub(super) sure: usize,
}

/// Code that runs straight through and has groups.
#[derive(Default)]
pub(super) struct Joined {
    pub(super) groups: Vec<Group>,
    /// Reads of fields that are not known yet, one for each field.
    pub(super) unknown: Vec<usize>,
}

impl Joined {
    /// The first read of all.
    pub(super) fn first(&self) -> Option<usize> {
        self.groups.iter().map(|group| group.reads[0]).min()
    }
}

/// All groups of at least two reads. `keeps_this` says that the first variable has `this` throughout.
pub(super) fn find(
    code: &CodeEditor<'_>,
    pool: &ConstantPool<'_>,
    keeps_this: bool,
    mut watched: impl FnMut(usize) -> Watched,
) -> Vec<Joined> {
    let count = code.instruction_count();
    let mut targets: FxHashSet<u32> = code.handler_targets().collect();
    targets.extend((0..count).flat_map(|index| code.jump_targets(index)));
    let mut stretch = Stretch { keeps_this, ..Stretch::default() };
    for index in 0..count {
        let instruction = code.instruction(index);
        if targets.contains(&instruction.pc) {
            stretch.end();
        }
        let opcode = instruction.opcode;
        let followed = match opcode {
            op::ALOAD => instruction.bytes.get(1).map(|local| stretch.stack.push(Some((*local).into()))),
            42..=45 => {
                stretch.stack.push(Some((opcode - 42).into()));
                Some(())
            }
            op::DUP..=op::SWAP => {
                duplicate(opcode, &mut stretch.stack);
                Some(())
            }
            op::GETFIELD => {
                let field = instruction.constant().and_then(|constant| pool.field(constant));
                let kind = field.and_then(|[_, _, descriptor]| Some(one_kind(descriptor)?.0));
                kind.and_then(|kind| {
                    let object = stretch.stack.pop().flatten();
                    stretch.read(index, object, watched(index))?;
                    stretch.push(if kind.is_wide() { 2 } else { 1 });
                    Some(())
                })
            }
            _ if may_matter(opcode) || !code.jump_targets(index).is_empty() => None,
            _ => effect(opcode).map(|(popped, pushed)| {
                let left = stretch.stack.len().saturating_sub(popped);
                stretch.stack.truncate(left);
                stretch.push(pushed);
            }),
        };
        if followed.is_none() {
            stretch.end();
        }
    }
    stretch.end();
    stretch.found
}

/// Whether an instruction that only computes may throw, load a class, or store a reference in a variable.
fn may_matter(opcode: u8) -> bool {
    matches!(
        opcode,
        18 | 19 | op::ASTORE | 75..=78 | 46..=53 | op::IASTORE..=op::SASTORE | 108 | 109 | 112 | 113 | 190 | 192
    )
}

#[derive(Default)]
struct Stretch {
    keeps_this: bool,
    /// What lies on the stack, by slot: the variable that a reference comes from.
    stack: Vec<Option<u16>>,
    /// Variables whose objects are there, since something was read from them.
    there: FxHashSet<u16>,
    open: Vec<Group>,
    /// Fields that are not known, by their constants.
    constants: Vec<u16>,
    joined: Joined,
    found: Vec<Joined>,
}

impl Stretch {
    fn end(&mut self) {
        self.stack.clear();
        self.there.clear();
        self.constants.clear();
        self.close(|_| true);
        let joined = std::mem::take(&mut self.joined);
        if !joined.groups.is_empty() {
            self.found.push(joined);
        }
    }

    fn push(&mut self, slots: usize) {
        self.stack.resize(self.stack.len() + slots, None);
    }

    /// `None` if nothing may go from behind this read to before it.
    fn read(&mut self, index: usize, object: Option<u16>, watched: Watched) -> Option<()> {
        let object = object.filter(|_| watched != Watched::Orders)?;
        if let Watched::Perhaps(constant) = watched
            && !self.constants.contains(&constant)
        {
            if self.constants.len() == MOST {
                return None;
            }
            self.constants.push(constant);
            self.joined.unknown.push(index);
        }
        self.needs(object);
        if watched != Watched::Not {
            match self.open.iter_mut().find(|group| group.object == object) {
                Some(group) => group.reads.push(index),
                None => self.open.push(Group { object, reads: vec![index], other: None, sure: 0 }),
            }
            self.close(|group| group.reads.len() == MOST);
        }
        self.there.insert(object);
        Some(())
    }

    /// What comes now happens only if this object is there.
    fn needs(&mut self, object: u16) {
        if self.there.contains(&object) || self.keeps_this && object == 0 {
            return;
        }
        self.close(|group| group.other.is_some_and(|other| other != object));
        for group in self.open.iter_mut().filter(|group| group.other.is_none()) {
            group.other = Some(object);
            group.sure = group.reads.len();
        }
    }

    fn close(&mut self, is_done: impl Fn(&Group) -> bool) {
        let (done, open) = std::mem::take(&mut self.open).into_iter().partition::<Vec<_>, _>(is_done);
        self.open = open;
        self.joined.groups.extend(done.into_iter().filter(|group| group.reads.len() > 1));
    }
}

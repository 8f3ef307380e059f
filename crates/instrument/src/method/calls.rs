//! Probes around modelled calls.

use super::*;
use crate::call::{Operand, WatchedCall, flag};
use crate::sites::CallRow;

impl MethodRewriter<'_, '_, '_> {
    pub(super) fn watch_call(&mut self, instruction: RawInstruction<'_>) -> Result<(), Failure> {
        let constant = instruction.constant().unwrap_or(0);
        let Some([owner, name, descriptor]) = self.class.pool.method(constant) else {
            return Err(Error::BadCode { pc: instruction.pc, reason: "it names no method" }.into());
        };
        let Some((number, mut watched)) = self.watched_call(instruction)? else {
            return self.watch_publication(instruction.pc, owner, descriptor);
        };
        if watched.flags & flag::PERHAPS != 0 {
            self.watch_publication(instruction.pc, owner, descriptor)?;
            if instruction.opcode == op::INVOKESPECIAL {
                // Its own code tells, if the class above has any.
                return Ok(());
            }
        }
        if instruction.opcode == op::INVOKESPECIAL {
            watched.flags |= flag::ABOVE;
        }
        let Some((arguments, result)) = kinds(descriptor) else {
            return Err(Error::BadCode { pc: instruction.pc, reason: "it calls a method with a bad descriptor" }.into());
        };
        // What is not an object yet cannot be told to anybody.
        let has_receiver = instruction.opcode != op::INVOKESTATIC && name != b"<init>";
        for operand in [&mut watched.subject, &mut watched.operand] {
            let exists = match *operand {
                Operand::None => true,
                Operand::Receiver => has_receiver,
                Operand::Argument(index) => usize::from(index) < arguments.len(),
            };
            if !exists {
                *operand = Operand::None;
            }
        }
        if instruction.opcode == op::INVOKESTATIC {
            watched.flags |= flag::STATIC;
        }
        let site = self.site(instruction.pc, What::Call(number));
        self.insert_before(instruction.pc, watched, &arguments, site)?;
        self.insert_after(instruction.pc, watched, result, site)
    }

    /// The modelled method that a call names, as its number and what is told of it.
    pub(super) fn watched_call(
        &mut self,
        instruction: RawInstruction<'_>,
    ) -> Result<Option<(u32, WatchedCall)>, Failure> {
        let constant = instruction.constant().unwrap_or(0);
        let Some([owner, name, descriptor]) = self.class.pool.method(constant) else {
            return Err(Error::BadCode { pc: instruction.pc, reason: "it names no method" }.into());
        };
        let context = &mut *self.context;
        let found = context.calls.entry(constant).or_insert_with(|| {
            let sites = &mut *context.sites;
            let watched = sites.library.call(&sites.known, [owner, name, descriptor])?;
            let text = |bytes| text_of(bytes).into_owned();
            context.plan.families.has(watched.family).then(|| {
                let row =
                    CallRow { owner: text(owner), name: text(name), descriptor: text(descriptor), call: watched.call };
                (sites.add_call(row), watched)
            })
        });
        Ok(*found)
    }

    /// What code without probes is given may become known to other threads there.
    fn watch_publication(&mut self, pc: u32, owner: &[u8], descriptor: &[u8]) -> Result<(), Failure> {
        if self.context.plan.includes(owner) || !gives_objects(descriptor) {
            return Ok(());
        }
        self.push_thread()?;
        self.call(Probe::Published)?;
        self.insert(pc, Place::Before);
        Ok(())
    }

    fn insert_before(&mut self, pc: u32, watched: WatchedCall, arguments: &[Kind], site: i32) -> Result<(), Failure> {
        // What lies above the deepest value that is needed goes to scratch variables, and comes back.
        let depth = |operand| match operand {
            Operand::None => arguments.len(),
            Operand::Receiver => 0,
            Operand::Argument(index) => index.into(),
        };
        let deepest = depth(watched.subject).min(depth(watched.operand));
        let spilled = &arguments[deepest..];
        let slots = |kinds: &[Kind]| kinds.iter().map(|kind| if kind.is_wide() { 2 } else { 1 }).sum::<u16>();
        let first = self.code.scratch_locals(slots(spilled))?;
        let local = |index: usize| first + slots(&arguments[deepest..index]);
        for index in (deepest..arguments.len()).rev() {
            self.snippet.store(arguments[index], local(index));
        }
        let mut probe = Probe::CallBefore;
        for (operand, is_subject) in [(watched.subject, true), (watched.operand, false)] {
            match operand {
                Operand::Receiver if is_subject => self.snippet.dup(),
                // The subject, which is none then, lies on the receiver.
                Operand::Receiver => self.snippet.simple(op::POP, -1).dup().push_null().simple(op::SWAP, 0),
                Operand::Argument(index) if arguments[usize::from(index)] == Kind::Reference => {
                    self.snippet.load(Kind::Reference, local(index.into()))
                }
                Operand::Argument(index) if arguments[usize::from(index)] == Kind::Int && !is_subject => {
                    probe = Probe::CallBeforeInt;
                    self.snippet.load(Kind::Int, local(index.into()))
                }
                Operand::Argument(index) if arguments[usize::from(index)] == Kind::Long && !is_subject => {
                    probe = Probe::CallBeforeLong;
                    self.snippet.load(Kind::Long, local(index.into()))
                }
                _ => self.snippet.push_null(),
            };
        }
        let pool = &mut self.class.pool;
        self.snippet.push_int(watched.call.number() | watched.flags, pool)?.push_int(site, pool)?;
        self.call(probe)?;
        for (index, kind) in arguments.iter().enumerate().skip(deepest) {
            self.snippet.load(*kind, local(index));
        }
        self.insert(pc, Place::Before);
        Ok(())
    }

    fn insert_after(&mut self, pc: u32, watched: WatchedCall, result: Option<Kind>, site: i32) -> Result<(), Failure> {
        let probe = match result {
            Some(Kind::Reference) => {
                self.snippet.dup();
                Probe::CallAfterObject
            }
            Some(Kind::Int) => {
                self.snippet.dup();
                Probe::CallAfterInt
            }
            Some(Kind::Long) => {
                self.snippet.simple(op::DUP2, 2);
                Probe::CallAfterLong
            }
            Some(Kind::Float | Kind::Double) | None => Probe::CallAfter,
        };
        let pool = &mut self.class.pool;
        self.snippet.push_int(watched.call.number() | watched.flags, pool)?.push_int(site, pool)?;
        self.call(probe)?;
        self.insert(pc, Place::After);
        Ok(())
    }
}

/// Whether a method takes an object that could hold others. Text and numbers cannot.
fn gives_objects(descriptor: &[u8]) -> bool {
    const PLAIN: [&[u8]; 5] =
        [b"Ljava/lang/String;", b"Ljava/lang/Class;", b"Ljava/lang/Integer;", b"Ljava/lang/Long;", b"[C"];
    let mut rest = descriptor.strip_prefix(b"(").unwrap_or_default();
    while let Some((kind, length)) = one_kind(rest) {
        if kind == Kind::Reference && !PLAIN.contains(&&rest[..length]) {
            return true;
        }
        rest = &rest[length..];
    }
    false
}

/// The kinds of a method's arguments and of its result; `None` if the descriptor is malformed.
pub(crate) fn kinds(descriptor: &[u8]) -> Option<(Vec<Kind>, Option<Kind>)> {
    let mut rest = descriptor.strip_prefix(b"(")?;
    let mut arguments = Vec::new();
    // The JVM allows 255 slots.
    while rest.first()? != &b')' && arguments.len() <= 255 {
        let (kind, length) = one_kind(rest)?;
        arguments.push(kind);
        rest = &rest[length..];
    }
    let result = match rest.strip_prefix(b")")? {
        b"V" => None,
        result => Some(one_kind(result).filter(|(_, length)| *length == result.len())?.0),
    };
    Some((arguments, result))
}

/// The first type of a descriptor, and its length.
pub(super) fn one_kind(descriptor: &[u8]) -> Option<(Kind, usize)> {
    let dimensions = descriptor.iter().take_while(|byte| **byte == b'[').count();
    let (kind, length) = match descriptor.get(dimensions)? {
        b'B' | b'C' | b'I' | b'S' | b'Z' => (Kind::Int, 1),
        b'J' => (Kind::Long, 1),
        b'F' => (Kind::Float, 1),
        b'D' => (Kind::Double, 1),
        b'L' => (Kind::Reference, descriptor[dimensions..].iter().position(|byte| *byte == b';')? + 1),
        _ => return None,
    };
    Some((if dimensions > 0 { Kind::Reference } else { kind }, dimensions + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors() {
        let (arguments, result) = kinds(b"(I[[JLa/B;DZ)F").unwrap();
        assert_eq!(arguments, [Kind::Int, Kind::Reference, Kind::Reference, Kind::Double, Kind::Int]);
        assert_eq!(result, Some(Kind::Float));
        assert_eq!(kinds(b"()V"), Some((vec![], None)));
        for bad in [&b""[..], b"(", b"()", b"(V)V", b"(La)V", b"()II", b"([)V"] {
            assert_eq!(kinds(bad), None, "{bad:?}");
        }
    }
}

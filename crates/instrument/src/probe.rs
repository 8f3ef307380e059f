//! The methods that rewritten code calls.

use classfile::edit::{ConstantPool, Limit};

/// A probe's name and descriptor; all are `public static`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProbeMethod {
    pub name: &'static str,
    pub descriptor: &'static str,
}

/// The probes, in the order of [`PROBES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Probe {
    Read,
    Write,
    WriteReference,
    /// A read and the write that follows it.
    Update,
    ReadStatic,
    WriteStatic,
    WriteStaticReference,
    ReadElement,
    WriteElement,
    WriteReferenceElement,
    /// The same in a loop that asks whether its arrays need no probe.
    ReadElementInLoop,
    WriteElementInLoop,
    WriteReferenceElementInLoop,
    /// A read of an array in a variable, beside which the method keeps what the probe gives.
    ReadElementStamped,
    VolatileBefore,
    VolatileAfter,
    Entered,
    Leaving,
    Enter,
    Exit,
    Begin,
    End,
    Fresh,
    /// A reference goes to code that is not watched.
    Published,
    /// Gives what the others are to know of the thread.
    Thread,
    /// Before a loop: gives whether accesses to an array need no probe.
    Quiet,
    /// At the start of each turn of a loop whose arrays were not all quiet before it: the same, for all of them.
    QuietNow,
    /// Before a modelled call: its subject and an object.
    CallBefore,
    /// The same with an `int`.
    CallBeforeInt,
    /// The same with a `long`.
    CallBeforeLong,
    /// After a modelled call: its result.
    CallAfterObject,
    CallAfterInt,
    CallAfterLong,
    /// Nothing, or a result that tells nothing.
    CallAfter,
    /// Before a branch: its operand, and variables that its arms name.
    BranchInt,
    BranchInts,
    BranchObject,
    BranchObjects,
    /// Where arms come together.
    Joined,
    /// In a method of the platform.
    Hook,
}

/// How many variables a branch hands over.
pub(crate) const HANDED: usize = 6;

/// Behind the operands of a branch: variables, the thread, what the method keeps of open arms, how often a loop ran, the branch, and
/// what is known of it.
macro_rules! variables {
    () => {
        "Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;IIII)I"
    };
}

/// All that the class with the probes must have.
pub const PROBES: &[ProbeMethod] = &[
    method("read", "(Ljava/lang/Object;Ljava/lang/Object;II)V"),
    method("write", "(Ljava/lang/Object;Ljava/lang/Object;II)V"),
    method("writeReference", "(Ljava/lang/Object;Ljava/lang/Object;II)V"),
    method("update", "(Ljava/lang/Object;Ljava/lang/Object;III)V"),
    method("readStatic", "(Ljava/lang/Object;II)V"),
    method("writeStatic", "(Ljava/lang/Object;II)V"),
    method("writeStaticReference", "(Ljava/lang/Object;II)V"),
    method("readElement", "(Ljava/lang/Object;ILjava/lang/Object;I)V"),
    method("writeElement", "(Ljava/lang/Object;ILjava/lang/Object;I)V"),
    method("writeReferenceElement", "(Ljava/lang/Object;ILjava/lang/Object;I)V"),
    method("readElement", "(Ljava/lang/Object;ILjava/lang/Object;III)V"),
    method("writeElement", "(Ljava/lang/Object;ILjava/lang/Object;III)V"),
    method("writeReferenceElement", "(Ljava/lang/Object;ILjava/lang/Object;III)V"),
    method("readElementStamped", "(Ljava/lang/Object;ILjava/lang/Object;II)I"),
    method("volatileBefore", "(Ljava/lang/Object;II)V"),
    method("volatileAfter", "(II)V"),
    method("entered", "(Ljava/lang/Object;I)V"),
    method("leaving", "(Ljava/lang/Object;I)V"),
    method("enter", "(I)V"),
    method("exit", "(I)V"),
    method("begin", "(II)V"),
    method("end", "(II)V"),
    method("fresh", "(Ljava/lang/Object;Ljava/lang/Object;I)V"),
    method("published", "(Ljava/lang/Object;)V"),
    method("thread", "()Ljava/lang/Object;"),
    method("quiet", "(Ljava/lang/Object;Ljava/lang/Object;I)I"),
    method(
        "quietNow",
        "(Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;III)I",
    ),
    method("callBefore", "(Ljava/lang/Object;Ljava/lang/Object;II)V"),
    method("callBefore", "(Ljava/lang/Object;III)V"),
    method("callBefore", "(Ljava/lang/Object;JII)V"),
    method("callAfter", "(Ljava/lang/Object;II)V"),
    method("callAfter", "(III)V"),
    method("callAfter", "(JII)V"),
    method("callAfter", "(II)V"),
    method("branch", concat!("(I", variables!())),
    method("branch", concat!("(II", variables!())),
    method("branch", concat!("(Ljava/lang/Object;", variables!())),
    method("branch", concat!("(Ljava/lang/Object;Ljava/lang/Object;", variables!())),
    method("joined", "(Ljava/lang/Object;II)I"),
    method("hook", "(Ljava/lang/Object;I)V"),
];

const fn method(name: &'static str, descriptor: &'static str) -> ProbeMethod {
    ProbeMethod { name, descriptor }
}

/// The constants that name the probes in one class, made when they are first needed.
pub(crate) struct ProbeConstants<'p> {
    class: &'p [u8],
    constants: [Option<u16>; PROBES.len()],
}

impl<'p> ProbeConstants<'p> {
    pub(crate) fn new(class: &'p [u8]) -> ProbeConstants<'p> {
        ProbeConstants { class, constants: [None; PROBES.len()] }
    }

    /// The constant, and how many slots the probe takes and gives.
    pub(crate) fn get(&mut self, probe: Probe, pool: &mut ConstantPool<'_>) -> Result<(u16, u16, u16), Limit> {
        let index = probe as usize;
        let method = PROBES[index];
        let constant = match self.constants[index] {
            Some(constant) => constant,
            None => pool.add_method(self.class, method.name.as_bytes(), method.descriptor.as_bytes())?,
        };
        self.constants[index] = Some(constant);
        let (parameters, result) = method.descriptor.split_once(')').unwrap_or((method.descriptor, "V"));
        Ok((constant, slots(parameters), slots(result)))
    }
}

/// The slots of a probe's parameters or result, which are objects, `int` and `long`.
fn slots(descriptor: &str) -> u16 {
    let types = descriptor.replace("Ljava/lang/Object;", "O");
    types.chars().map(|one| if one == 'J' { 2 } else { u16::from("OI".contains(one)) }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_are_numbered_as_listed() {
        assert_eq!(PROBES[Probe::Read as usize].name, "read");
        assert_eq!(PROBES[Probe::Entered as usize].name, "entered");
        assert_eq!(PROBES.len(), Probe::Hook as usize + 1);
        assert_eq!((slots("(Ljava/lang/Object;IJ"), slots("V")), (4, 0));
    }
}

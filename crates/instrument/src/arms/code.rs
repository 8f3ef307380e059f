//! What an arm would do, as numbers that the runtime goes through (`runtime/java/lang/FissureThoughts.java` has the same
//! operations).
//!
//! Objects are in registers: the first ones are variables of the method that the branch hands over, the others are set by
//! operations before they are used. A register that is not set is an object that nobody knows.

use crate::probe::HANDED;

const READ: i32 = 1;
const WRITE: i32 = 2;
const READ_STATIC: i32 = 3;
const WRITE_STATIC: i32 = 4;
const ENTER: i32 = 5;
const LEAVE: i32 = 6;
const BRANCH: i32 = 7;
const BEGIN: i32 = 8;
const END: i32 = 9;
const AGAIN: i32 = 10;
const CLASS: i32 = 11;
const CALL: i32 = 12;
const INVOKE: i32 = 13;

/// In the place of a register: an object that is not known, or not wanted.
pub(crate) const NOTHING: i32 = -1;

/// A branch whose arms are told. Its number is its place in the table of branches.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct BranchRow {
    pub site: i32,
    /// The same for all branches of a method whose arms come together at one place.
    pub join: i32,
    /// The arm that stays in a loop which others leave.
    pub stays: Option<u32>,
    /// A bit for each arm that is over where it begins.
    pub empty: u32,
    /// How many registers the arms use.
    pub registers: u16,
    /// What each arm does; nothing if there is nothing to tell.
    pub arms: Vec<Vec<i32>>,
    /// Of a switch: its keys with their arms.
    pub keys: Vec<(i32, u32)>,
    /// Of a switch: the arm of all other keys.
    pub default: u32,
    /// Names of classes that the arms have as constants.
    pub names: Vec<String>,
}

impl BranchRow {
    /// All of it, in the order in which the runtime reads it.
    pub fn numbers(&self) -> Vec<i32> {
        let stays = self.stays.map_or(NOTHING, |arm| arm as i32);
        let mut all = vec![self.site, self.join, stays, self.empty as i32, self.registers.into()];
        all.push(self.arms.len() as i32);
        for arm in &self.arms {
            all.push(arm.len() as i32);
            all.extend(arm);
        }
        all.push(self.keys.len() as i32);
        for (key, arm) in &self.keys {
            all.extend([*key, *arm as i32]);
        }
        all.push(self.default as i32);
        put_names(&self.names, &mut all);
        all
    }
}

/// What a whole method would do, for arms that call it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Callee {
    pub code: Vec<i32>,
    /// By register: the slot of the variable, which is one of the parameters, that it has at first.
    pub handed: Vec<u16>,
    /// The register with the result.
    pub result: Option<u16>,
    pub registers: u16,
    /// Whether it is known to come to its end.
    pub ends: bool,
    /// Names of classes that the code has as constants.
    pub names: Vec<String>,
}

impl Callee {
    /// All of it, in the order in which the runtime reads it.
    pub fn numbers(&self) -> Vec<i32> {
        let mut all = vec![number(self.result), self.registers.into(), self.ends.into(), self.handed.len() as i32];
        all.extend(self.handed.iter().map(|slot| i32::from(*slot)));
        all.push(self.code.len() as i32);
        all.extend(&self.code);
        put_names(&self.names, &mut all);
        all
    }
}

fn put_names(names: &[String], all: &mut Vec<i32>) {
    all.push(names.len() as i32);
    for name in names {
        let units: Vec<i32> = name.encode_utf16().map(i32::from).collect();
        all.push(units.len() as i32);
        all.extend(units);
    }
}

/// The code of one arm while it is written.
pub(crate) struct ArmCode {
    numbers: Vec<i32>,
    /// How many operations may be events.
    events: usize,
    registers: u16,
}

/// A place in the code to come back to.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    length: usize,
    events: usize,
}

impl ArmCode {
    pub(crate) fn new() -> ArmCode {
        ArmCode { numbers: Vec::new(), events: 0, registers: HANDED as u16 }
    }

    pub(crate) fn events(&self) -> usize {
        self.events
    }

    pub(crate) fn registers(&self) -> u16 {
        self.registers
    }

    /// All of it, if any event may come of it.
    pub(crate) fn finish(self) -> Vec<i32> {
        if self.events > 0 { self.numbers } else { Vec::new() }
    }

    /// All of it, whether or not any event comes of it.
    pub(crate) fn all(self) -> Vec<i32> {
        self.numbers
    }

    pub(crate) fn register(&mut self) -> u16 {
        self.registers += 1;
        self.registers - 1
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { length: self.numbers.len(), events: self.events }
    }

    /// Takes back what came since, if no event can come of it; whether that is so.
    pub(crate) fn take_back(&mut self, mark: Mark) -> bool {
        let is_empty = self.events == mark.events;
        if is_empty {
            self.numbers.truncate(mark.length);
        }
        is_empty
    }

    /// A read; it counts as an event if the field is watched.
    pub(crate) fn read(&mut self, to: Option<u16>, object: u16, field: u32, site: i32, is_watched: bool) {
        self.numbers.extend([READ, number(to), object.into(), field as i32, site]);
        self.events += usize::from(is_watched);
    }

    pub(crate) fn write(&mut self, object: u16, field: u32, value: Option<u16>, site: i32) {
        self.numbers.extend([WRITE, object.into(), field as i32, number(value), site]);
        self.events += 1;
    }

    pub(crate) fn read_static(&mut self, to: Option<u16>, field: u32, site: i32, is_watched: bool) {
        self.numbers.extend([READ_STATIC, number(to), field as i32, site]);
        self.events += usize::from(is_watched);
    }

    pub(crate) fn write_static(&mut self, field: u32, value: Option<u16>, site: i32) {
        self.numbers.extend([WRITE_STATIC, field as i32, number(value), site]);
        self.events += 1;
    }

    /// What is in a section counts, not the section: one with nothing in it is told with what is around it.
    pub(crate) fn enter(&mut self, lock: Option<u16>, site: i32) {
        self.numbers.extend([ENTER, number(lock), site]);
    }

    pub(crate) fn leave(&mut self, lock: Option<u16>, site: i32) {
        self.numbers.extend([LEAVE, number(lock), site]);
    }

    pub(crate) fn branch(&mut self) {
        self.numbers.push(BRANCH);
    }

    pub(crate) fn begin(&mut self, arm: u32, site: i32) {
        self.numbers.extend([BEGIN, arm as i32, site]);
    }

    pub(crate) fn end(&mut self) {
        self.numbers.push(END);
    }

    /// From here on it is the second turn of a loop.
    pub(crate) fn again(&mut self) {
        self.numbers.push(AGAIN);
    }

    pub(crate) fn class(&mut self, to: u16, name: usize) {
        self.numbers.extend([CLASS, to.into(), name as i32]);
    }

    /// A call of a method whose code is known, or of what the receiver's class has for it; arguments by slot.
    pub(crate) fn invoke(&mut self, is_dispatched: bool, member: u32, to: Option<u16>, arguments: &[Option<u16>]) {
        self.numbers.extend([INVOKE, is_dispatched.into(), member as i32, number(to), arguments.len() as i32]);
        self.numbers.extend(arguments.iter().map(|one| number(*one)));
        self.events += 1;
    }

    pub(crate) fn call(&mut self, subject: Option<u16>, call: i32, site: i32, is_event: bool) {
        self.numbers.extend([CALL, number(subject), call, site]);
        self.events += usize::from(is_event);
    }
}

fn number(register: Option<u16>) -> i32 {
    register.map_or(NOTHING, i32::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JAVA: &str = include_str!("../../../../runtime/java/lang/FissureThoughts.java");

    #[test]
    fn operations_are_those_of_the_runtime() {
        for (name, operation) in [
            ("READ", READ),
            ("WRITE", WRITE),
            ("READ_STATIC", READ_STATIC),
            ("WRITE_STATIC", WRITE_STATIC),
            ("ENTER", ENTER),
            ("LEAVE", LEAVE),
            ("BRANCH", BRANCH),
            ("BEGIN", BEGIN),
            ("END", END),
            ("AGAIN", AGAIN),
            ("CLASS", CLASS),
            ("CALL", CALL),
            ("INVOKE", INVOKE),
        ] {
            assert!(JAVA.contains(&format!("private static final int {name} = {operation};")), "{name}");
        }
    }

    #[test]
    fn what_tells_nothing_is_taken_back() {
        let mut code = ArmCode::new();
        let mark = code.mark();
        let to = code.register();
        code.read(Some(to), 0, 7, 3, false);
        code.enter(Some(to), 4);
        assert!(code.take_back(mark));
        code.write(0, 7, None, 5);
        assert!(!code.take_back(mark));
        assert_eq!(code.finish(), [WRITE, 0, 7, NOTHING, 5]);
    }
}

//! Numbers that stand for things of the run. Each kind has its own type, so that a lock cannot be taken for a variable.

macro_rules! id {
    ($name:ident, $number:ty, $meaning:literal) => {
        #[doc = $meaning]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub $number);

        impl $name {
            /// The place of this id in a vector with one element per id.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(ThreadId, u32, "A thread of the run. Never used again for another thread.");
id!(VariableId, u32, "A field of one object, a static field, an array element, or the contents of a container.");
id!(LockId, u32, "Anything that is held: a monitor, a `Lock`, both halves of a `ReadWriteLock`.");
id!(SiteId, u32, "A place in code. 0 is an unknown place.");
id!(StackId, u32, "A site with its callers. 0 is an unknown stack.");
id!(StringId, u32, "A text of the trace's string table. 0 is the empty text.");
id!(UnitId, u32, "A stretch of code that ought to be atomic. 0 is a unit without a name.");
id!(SectionId, u32, "A critical section in the code. 0 is unknown.");
id!(MethodId, u32, "A method by its name in the string table.");
id!(BarrierId, u32, "A barrier, latch, phaser or future: what arrives is before what leaves.");
id!(ObjectId, u64, "An object of the run.");
id!(ActivationId, u64, "One execution of a method. 0 is unknown.");
id!(BranchId, u64, "One execution of a branch, with all its arms.");

//! One method: which instructions get which probes.

use classfile::edit::{ClassEditor, CodeEditor, Place, RawInstruction, Snippet, op};
use classfile::{Access, ArrayKind, Error, Kind, text_of};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::arms::{Callee, Flow};
use crate::constant::ConstantFields;
use crate::plan::{MethodPlan, Plan};
use crate::probe::{Probe, ProbeConstants};
use crate::rewrite::{Failure, Reason};
use crate::shadow::IDENTITY;
use crate::sites::{CallNumbers, FieldKind, FieldNumbers, FieldRow, MethodRow, SiteRow, Sites, What};

mod arms;
pub(crate) mod calls;
mod detours;
mod effects;
mod loops;
mod stamps;
mod summary;
mod thread;
pub(crate) mod unescaped;
mod updates;
mod whole;

use summary::Walker;

pub(crate) use effects::{Effect, effect_of, local_of};

/// The first version of class files in which code can name a class as a constant.
const FIRST_WITH_CLASS_CONSTANTS: u16 = 49;

/// What the methods of one class share.
pub(crate) struct ClassContext<'c> {
    pub(crate) plan: &'c Plan,
    /// If the class is on the class path.
    pub(crate) constants: Option<&'c ConstantFields>,
    pub(crate) name: &'c [u8],
    pub(crate) super_name: &'c [u8],
    pub(crate) file: Option<String>,
    /// Whether the class got the word for identity.
    pub(crate) has_identity: bool,
    pub(crate) identity: Option<u32>,
    pub(crate) probes: ProbeConstants<'c>,
    pub(crate) fields: FieldNumbers,
    /// Fields that are read for their values alone, by constant.
    pub(crate) values: FxHashMap<u16, u32>,
    pub(crate) calls: CallNumbers,
    pub(crate) sites: &'c mut Sites,
}

pub(crate) struct MethodRewriter<'r, 'a, 'c> {
    class: &'r mut ClassEditor<'a>,
    context: &'r mut ClassContext<'c>,
    code: CodeEditor<'a>,
    access: Access,
    name: &'a [u8],
    descriptor: &'a [u8],
    plan: MethodPlan,
    /// First offsets and lines.
    lines: Vec<(u16, u16)>,
    /// The number of the method's row, once it has a site.
    row: Option<u32>,
    /// Whether its branches may have probes.
    speculates: bool,
    /// By instruction, in constructors: whether `this` may not be an object yet.
    uninitialized: Vec<bool>,
    /// Where the method keeps what probes are to know of the thread, if it does.
    thread: Option<u16>,
    /// For accesses to arrays in loops, where it is kept whether they need no probe.
    quiet: FxHashMap<u32, thread::QuietLocals>,
    /// For reads of arrays, where the segment is kept in which enough of them were.
    stamps: FxHashMap<u32, u16>,
    /// By the offset of a `monitorexit` in a handler that covers itself: the handler, and the variable with the lock.
    detours: FxHashMap<u32, (u32, u16)>,
    /// In a constructor: writes to its own object that need no probe.
    unescaped: FxHashSet<u32>,
    /// Reads that share their probe with the write that follows, and such writes.
    updates: FxHashMap<u32, u32>,
    updating: FxHashSet<u32>,
    snippet: Snippet,
    is_edited: bool,
}

impl<'c> ClassContext<'c> {
    pub(crate) fn new(
        class: &ClassEditor<'c>,
        name: &'c [u8],
        plan: &'c Plan,
        constants: Option<&'c ConstantFields>,
        sites: &'c mut Sites,
    ) -> ClassContext<'c> {
        ClassContext {
            plan,
            constants,
            name,
            super_name: class.super_name().unwrap_or_default(),
            file: class.source_file().map(|file| text_of(file).into_owned()),
            has_identity: false,
            identity: None,
            probes: ProbeConstants::new(plan.probe_class.as_bytes()),
            fields: FieldNumbers::default(),
            values: FxHashMap::default(),
            calls: CallNumbers::default(),
            sites,
        }
    }

    /// The number of the class's own word for identity.
    fn identity(&mut self) -> u32 {
        let row = || FieldRow {
            class: text_of(self.name).into_owned(),
            owner: text_of(self.name).into_owned(),
            name: text_of(IDENTITY).into_owned(),
            descriptor: "J".to_owned(),
            is_static: false,
            kind: FieldKind::Plain,
        };
        *self.identity.get_or_insert_with(|| self.sites.add_field(row()))
    }
}

impl<'r, 'a, 'c> MethodRewriter<'r, 'a, 'c> {
    pub(crate) fn new(
        class: &'r mut ClassEditor<'a>,
        index: usize,
        code: CodeEditor<'a>,
        context: &'r mut ClassContext<'c>,
        speculates: bool,
    ) -> Result<MethodRewriter<'r, 'a, 'c>, Failure> {
        let method = &class.methods()[index];
        let text = |constant| class.pool.utf8(constant).ok_or(Error::Malformed("a method has no name".to_owned()));
        let (access, name, descriptor) = (method.access, text(method.name)?, text(method.descriptor)?);
        let uninitialized = match name {
            b"<init>" => code.uninitialized_this(&class.pool, [context.name, context.super_name]),
            _ => Vec::new(),
        };
        Ok(MethodRewriter {
            plan: context.plan.methods.get(context.name, name, descriptor).cloned().unwrap_or_default(),
            lines: code.lines(),
            class,
            context,
            code,
            access,
            name,
            descriptor,
            row: None,
            speculates,
            uninitialized,
            thread: None,
            quiet: FxHashMap::default(),
            stamps: FxHashMap::default(),
            detours: FxHashMap::default(),
            unescaped: FxHashSet::default(),
            updates: FxHashMap::default(),
            updating: FxHashSet::default(),
            snippet: Snippet::new(),
            is_edited: false,
        })
    }

    /// The code with its probes, if it has any.
    pub(crate) fn edited(self) -> Option<CodeEditor<'a>> {
        self.is_edited.then_some(self.code)
    }

    /// What the whole method would do, for arms that call it.
    pub(crate) fn callee(&mut self) -> Result<Option<Callee>, Failure> {
        let Some(flow) = Flow::of(&self.code) else { return Ok(None) };
        let initial = self.initial_locals()?;
        let slots = CodeEditor::slots_of(&initial);
        Walker::new(self, &flow, &slots).method().map(Some)
    }

    /// Whether a method of the class itself is private.
    fn is_private(&self, name: &[u8], descriptor: &[u8]) -> bool {
        let text = |index| self.class.pool.utf8(index);
        self.class.methods().iter().any(|method| {
            text(method.name) == Some(name) && text(method.descriptor) == Some(descriptor) && method.access.is_private()
        })
    }

    pub(crate) fn insert_probes(&mut self) -> Result<(), Failure> {
        let branches = self.find_branches()?;
        let first = self.keep_thread(branches.locals())?;
        self.watch_branches(&branches, first)?;
        self.mark_fresh()?;
        self.watch_whole()?;
        self.join_updates()?;
        let families = self.context.plan.families;
        for index in 0..self.code.instruction_count() {
            let instruction = self.code.instruction(index);
            match instruction.opcode {
                op::GETFIELD..=op::PUTFIELD => self.watch_field(instruction, index)?,
                op::GETSTATIC | op::PUTSTATIC => self.watch_static(instruction)?,
                op::IALOAD..=op::SALOAD if families.arrays => self.watch_load(instruction)?,
                op::IASTORE..=op::SASTORE if families.arrays => self.watch_store(instruction)?,
                op::INVOKEVIRTUAL..=op::INVOKEINTERFACE => self.watch_call(instruction)?,
                op::MONITORENTER if families.monitors => {
                    self.snippet.dup();
                    self.insert(instruction.pc, Place::Before);
                    let site = self.site(instruction.pc, What::Enter);
                    self.snippet.push_int(site, &mut self.class.pool)?;
                    self.call(Probe::Entered)?;
                    self.insert(instruction.pc, Place::After);
                }
                op::MONITOREXIT if families.monitors => {
                    let site = self.site(instruction.pc, What::Leave);
                    if let Some(&(handler, lock)) = self.detours.get(&instruction.pc) {
                        self.snippet.load(Kind::Reference, lock).push_int(site, &mut self.class.pool)?;
                        self.call(Probe::Leaving)?;
                        self.code.add_detour(handler, &self.snippet);
                        self.snippet.clear();
                        self.is_edited = true;
                        continue;
                    }
                    self.snippet.dup().push_int(site, &mut self.class.pool)?;
                    self.call(Probe::Leaving)?;
                    self.insert(instruction.pc, Place::Before);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn watch_field(&mut self, instruction: RawInstruction<'_>, index: usize) -> Result<(), Failure> {
        let is_write = instruction.opcode == op::PUTFIELD;
        let is_uninitialized = is_write && self.uninitialized.get(index) == Some(&true) && self.is_own(instruction);
        let is_unescaped = self.unescaped.contains(&instruction.pc);
        if is_write && !is_uninitialized && !is_unescaped {
            self.note_surprise(instruction);
        }
        let Some((field, kind, wide)) = self.field(instruction, false)? else { return Ok(()) };
        let is_reference = self.is_reference(instruction);
        if is_uninitialized || kind != FieldKind::Volatile && is_unescaped || self.updating.contains(&instruction.pc) {
            return Ok(());
        }
        if let Some(&write) = self.updates.get(&instruction.pc) {
            return self.watch_update(instruction.pc, write, field);
        }
        // The object goes to the top: [object] or [object value] are on the stack.
        match (is_write, wide) {
            (false, _) => self.snippet.dup(),
            (true, false) => self.snippet.simple(op::DUP2, 2).simple(op::POP, -1),
            (true, true) => {
                self.snippet.simple(op::DUP2_X1, 2).simple(op::POP2, -2).simple(op::DUP_X2, 1);
                &mut self.snippet
            }
        };
        let probe = match (kind, is_write) {
            (FieldKind::Volatile, _) => Probe::VolatileBefore,
            (_, false) => Probe::Read,
            (_, true) if is_reference => Probe::WriteReference,
            (_, true) => Probe::Write,
        };
        self.insert_access(instruction.pc, field, kind, is_write, probe)
    }

    /// The probe before a read that is told together with a write.
    fn watch_update(&mut self, read: u32, write: u32, field: u32) -> Result<(), Failure> {
        let sites = [self.site(read, What::Read(field)), self.site(write, What::Write(field))];
        self.snippet.dup();
        self.push_thread()?;
        self.snippet.push_int(field as i32, &mut self.class.pool)?;
        for site in sites {
            self.snippet.push_int(site, &mut self.class.pool)?;
        }
        self.call(Probe::Update)?;
        self.insert(read, Place::Before);
        Ok(())
    }

    /// Whether an instruction names a field that is as good as final.
    fn is_constant(&self, instruction: RawInstruction<'_>) -> bool {
        let named = self.class.pool.field(instruction.constant().unwrap_or(0));
        let constants = self.context.constants;
        named.zip(constants).is_some_and(|([owner, name, descriptor], all)| all.has(owner, name, descriptor))
    }

    /// Tells if code writes a field that no code was to write: code that was made or changed while the program runs.
    fn note_surprise(&mut self, instruction: RawInstruction<'_>) {
        let Some([owner, name, _]) = self.class.pool.field(instruction.constant().unwrap_or(0)) else { return };
        if self.is_constant(instruction) {
            let field = format!("{}.{}", text_of(owner), text_of(name)).replace('/', ".");
            let class = text_of(self.context.name).replace('/', ".");
            let note = format!(
                "accesses to `{field}` are missing: `{class}` writes it, which no class on the class path does"
            );
            self.context.sites.add_note(note);
        }
    }

    fn watch_static(&mut self, instruction: RawInstruction<'_>) -> Result<(), Failure> {
        let Some((field, kind, _)) = self.field(instruction, true)? else { return Ok(()) };
        let is_reference = self.is_reference(instruction);
        let is_write = instruction.opcode == op::PUTSTATIC;
        let probe = match (kind, is_write) {
            (FieldKind::Volatile, _) => {
                self.snippet.push_null();
                Probe::VolatileBefore
            }
            (_, false) => Probe::ReadStatic,
            (_, true) if is_reference => Probe::WriteStaticReference,
            (_, true) => Probe::WriteStatic,
        };
        self.insert_access(instruction.pc, field, kind, is_write, probe)
    }

    /// The probe before an access, whose object is pushed already, and the one after it if the field is volatile.
    fn insert_access(
        &mut self,
        pc: u32,
        field: u32,
        kind: FieldKind,
        is_write: bool,
        probe: Probe,
    ) -> Result<(), Failure> {
        let site = self.site(pc, if is_write { What::Write(field) } else { What::Read(field) });
        if kind != FieldKind::Volatile {
            self.push_thread()?;
        }
        self.snippet.push_int(field as i32, &mut self.class.pool)?.push_int(site, &mut self.class.pool)?;
        self.call(probe)?;
        self.insert(pc, Place::Before);
        if kind == FieldKind::Volatile {
            self.snippet.push_int(is_write.into(), &mut self.class.pool)?.push_int(site, &mut self.class.pool)?;
            self.call(Probe::VolatileAfter)?;
            self.insert(pc, Place::After);
        }
        Ok(())
    }

    fn watch_load(&mut self, instruction: RawInstruction<'_>) -> Result<(), Failure> {
        let kind = array_kind(instruction.opcode - op::IALOAD);
        let site = self.site(instruction.pc, What::ReadElement(kind));
        self.snippet.simple(op::DUP2, 2);
        if let Some(&stamp) = self.stamps.get(&instruction.pc) {
            self.push_thread()?;
            self.snippet.load(Kind::Int, stamp).push_int(site, &mut self.class.pool)?;
            self.call(Probe::ReadElementStamped)?;
            self.snippet.store(Kind::Int, stamp);
            self.insert(instruction.pc, Place::Before);
            return Ok(());
        }
        self.insert_element(instruction.pc, site, [Probe::ReadElement, Probe::ReadElementInLoop])
    }

    /// The probe before an access to an array, which is pushed already with its index; another one in a loop that asks.
    fn insert_element(&mut self, pc: u32, site: i32, [plain, in_loop]: [Probe; 2]) -> Result<(), Failure> {
        self.push_thread()?;
        let probe = match self.quiet.get(&pc) {
            Some(locals) => {
                self.snippet.load(Kind::Int, locals.before).load(Kind::Int, locals.now);
                in_loop
            }
            None => plain,
        };
        self.snippet.push_int(site, &mut self.class.pool)?;
        self.call(probe)?;
        self.insert(pc, Place::Before);
        Ok(())
    }

    fn watch_store(&mut self, instruction: RawInstruction<'_>) -> Result<(), Failure> {
        let kind = array_kind(instruction.opcode - op::IASTORE);
        let site = self.site(instruction.pc, What::WriteElement(kind));
        // From [array index value] to [array index value array index].
        if kind.kind().is_wide() {
            self.snippet.simple(op::DUP2_X2, 2).simple(op::POP2, -2).simple(op::DUP2_X2, 2);
        } else {
            self.snippet.simple(op::DUP_X2, 1).simple(op::POP, -1).simple(op::DUP2_X1, 2);
        }
        let probes = match kind {
            ArrayKind::Reference => [Probe::WriteReferenceElement, Probe::WriteReferenceElementInLoop],
            _ => [Probe::WriteElement, Probe::WriteElementInLoop],
        };
        self.insert_element(instruction.pc, site, probes)
    }

    /// Whether it touches a field that holds a reference.
    fn is_reference(&self, instruction: RawInstruction<'_>) -> bool {
        let named = self.class.pool.field(instruction.constant().unwrap_or(0));
        named.is_some_and(|[_, _, descriptor]| matches!(descriptor.first(), Some(b'L' | b'[')))
    }

    /// The field that an instruction touches, as its number, what is known of it, and whether its value takes two
    /// slots; `None` if it is not watched.
    fn field(
        &mut self,
        instruction: RawInstruction<'_>,
        is_static: bool,
    ) -> Result<Option<(u32, FieldKind, bool)>, Failure> {
        let constant = instruction.constant().unwrap_or(0);
        let Some([owner, name, descriptor]) = self.class.pool.field(constant) else {
            return Err(Error::BadCode { pc: instruction.pc, reason: "it names no field" }.into());
        };
        let families = self.context.plan.families;
        let context = &mut *self.context;
        let found = context.fields.entry(constant).or_insert_with(|| {
            let sites = &*context.sites;
            let access = sites.known.field(owner, name, descriptor);
            let access = access.or_else(|| sites.library.field(owner, name, descriptor));
            let kind = match access {
                Some(access) if access.is_final() => return None,
                Some(access) if access.is_volatile() => FieldKind::Volatile,
                Some(_) => FieldKind::Plain,
                None => FieldKind::Unknown,
            };
            let wanted = match (kind, is_static) {
                (FieldKind::Volatile, _) => families.volatiles,
                (_, false) => families.fields,
                (_, true) => families.statics,
            };
            let row = FieldRow {
                class: text_of(context.name).into_owned(),
                owner: text_of(owner).into_owned(),
                name: text_of(name).into_owned(),
                descriptor: text_of(descriptor).into_owned(),
                is_static,
                kind,
            };
            wanted.then(|| (context.sites.add_field(row), kind))
        });
        let wide = matches!(descriptor, b"J" | b"D");
        Ok(found.map(|(number, kind)| (number, kind, wide)))
    }

    /// The number of a field that is read for its value alone, whether it is watched or not.
    fn value_field(&mut self, instruction: RawInstruction<'_>, is_static: bool) -> Option<u32> {
        let constant = instruction.constant()?;
        let [owner, name, descriptor] = self.class.pool.field(constant)?;
        let context = &mut *self.context;
        Some(*context.values.entry(constant).or_insert_with(|| {
            context.sites.add_field(FieldRow {
                class: text_of(context.name).into_owned(),
                owner: text_of(owner).into_owned(),
                name: text_of(name).into_owned(),
                descriptor: text_of(descriptor).into_owned(),
                is_static,
                kind: FieldKind::Plain,
            })
        }))
    }

    /// Whether it touches a field of the class itself.
    fn is_own(&self, instruction: RawInstruction<'_>) -> bool {
        let field = self.class.pool.field(instruction.constant().unwrap_or(0));
        field.is_some_and(|[owner, _, _]| owner == self.context.name)
    }

    fn site(&mut self, pc: u32, what: What) -> i32 {
        let context = &mut *self.context;
        let is_shared = context.plan.speculates;
        let method = *self.row.get_or_insert_with(|| {
            let row = MethodRow {
                class: text_of(context.name).into_owned(),
                name: text_of(self.name).into_owned(),
                descriptor: text_of(self.descriptor).into_owned(),
                file: context.file.clone(),
            };
            if is_shared { context.sites.method_number(row) } else { context.sites.add_method(row) }
        });
        // Code has at most 65,535 bytes.
        let offset = pc as u16;
        let after = self.lines.partition_point(|(start, _)| *start <= offset);
        let line = after.checked_sub(1).map_or(0, |index| self.lines[index].1);
        let row = SiteRow { method, offset, line, what };
        if is_shared { context.sites.site_number(row) } else { context.sites.add_site(row) }
    }

    fn call(&mut self, probe: Probe) -> Result<(), Failure> {
        let (constant, slots, given) = self.context.probes.get(probe, &mut self.class.pool)?;
        self.snippet.call_static(constant, slots, given);
        Ok(())
    }

    fn insert(&mut self, pc: u32, place: Place) {
        self.code.insert(pc, place, &self.snippet);
        self.snippet.clear();
        self.is_edited = true;
    }
}

/// The kinds of arrays, in the order that loads and stores have them.
fn array_kind(index: u8) -> ArrayKind {
    match index {
        0 => ArrayKind::Int,
        1 => ArrayKind::Long,
        2 => ArrayKind::Float,
        3 => ArrayKind::Double,
        4 => ArrayKind::Reference,
        5 => ArrayKind::Byte,
        6 => ArrayKind::Char,
        _ => ArrayKind::Short,
    }
}

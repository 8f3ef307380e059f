//! References to methods that are watched where they are called, as `lock::unlock`: nothing of the class calls them, so
//! there is nowhere to put a probe. Such a class gets a method that makes the call, and the reference goes there, as if
//! `() -> lock.unlock()` had been written.
//!
//! References that can be serialised stay, since their form names the method. What a class was given when it was first
//! seen it gets again and nothing else: the JVM does not let a loaded class have other methods.

use classfile::edit::{BootstrapMethod, ClassEditor, EditError, Limit, Snippet, op};
use classfile::{Access, Error, Kind};
use location::around_lambda;
use rustc_hash::FxHashMap;

use crate::method::calls::kinds;
use crate::plan::Plan;
use crate::sites::Sites;

const PRIVATE_STATIC_SYNTHETIC: u16 = 0x0002 | 0x0008 | 0x1000;
/// Interfaces may have methods like that from this version on.
const FIRST_WITH_PRIVATE_IN_INTERFACES: u16 = 52;
/// Of the flags that `altMetafactory` gets.
const SERIALIZABLE: i32 = 1;

/// What a handle does, as class files number it.
mod handle {
    pub(super) const VIRTUAL: u8 = 5;
    pub(super) const STATIC: u8 = 6;
    pub(super) const NEW: u8 = 8;
    pub(super) const INTERFACE: u8 = 9;
}

/// The method that a reference means, and what its receiver is known to be.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Target {
    kind: u8,
    owner: Vec<u8>,
    name: Vec<u8>,
    descriptor: Vec<u8>,
    is_of_interface: bool,
    /// The descriptor of the receiver's type; empty without one.
    receiver: Vec<u8>,
}

/// A method that makes the call that a reference means.
#[derive(Clone, Debug)]
pub(crate) struct Bridge {
    target: Target,
    name: Vec<u8>,
    line: u16,
}

/// Where a bootstrap method is used.
struct Use<'a> {
    /// The types that the call site is given, with their parentheses.
    captured: &'a [u8],
    method: &'a [u8],
    line: u16,
}

/// The class with bridges, if it has references that need them.
pub(crate) fn add(
    mut class: ClassEditor<'_>,
    class_name: &[u8],
    plan: &Plan,
    sites: &mut Sites,
    was_seen: bool,
) -> Result<Option<Vec<u8>>, EditError> {
    let is_interface = class.access().is_interface();
    if is_interface && class.major_version() < FIRST_WITH_PRIVATE_IN_INTERFACES {
        return Ok(None);
    }
    let mut references = Vec::new();
    for (number, bootstrap) in class.bootstraps()?.into_iter().enumerate() {
        if let Some(target) = target(&class, class_name, &bootstrap) {
            references.push((number as u16, bootstrap, target));
        }
    }
    let mut bridges = sites.known.bridges.get(class_name).cloned().unwrap_or_default();
    if references.is_empty() && bridges.is_empty() {
        return Ok(None);
    }
    let uses = uses(&class)?;
    let mut used = Vec::new();
    for (number, bootstrap, target) in references {
        let Some(target) = uses.get(&number).and_then(|uses| with_receiver(target, &class, &bootstrap, uses)) else {
            continue;
        };
        let named = [&*target.owner, &*target.name, &*target.descriptor];
        let watched = sites.library.call(&sites.known, named);
        if !watched.is_some_and(|watched| plan.families.has(watched.family)) {
            continue;
        }
        let Some(first) = uses[&number].first() else { continue };
        let find = |line: Option<u16>| {
            bridges.iter().position(|bridge| bridge.target == target && line.is_none_or(|line| bridge.line == line))
        };
        let place = match find(Some(first.line)) {
            Some(place) => place,
            None if was_seen => match find(None) {
                Some(place) => place,
                None => continue,
            },
            None => {
                bridges.push(Bridge { target, name: free_name(&class, &bridges, first.method), line: first.line });
                bridges.len() - 1
            }
        };
        used.push((bootstrap, place));
    }
    if bridges.is_empty() {
        return Ok(None);
    }
    match build(&mut class, class_name, &bridges, &used) {
        Ok(()) => {}
        // Then the class has no room for probes either.
        Err(_) => return Ok(None),
    }
    sites.known.bridges.insert(class_name.into(), bridges);
    Ok(Some(class.finish()))
}

/// What the reference means that a bootstrap method makes an object of; `None` if it is code of the class itself, or may
/// not be changed.
fn target(class: &ClassEditor<'_>, class_name: &[u8], bootstrap: &BootstrapMethod) -> Option<Target> {
    let (_, factory) = class.pool.handle(bootstrap.handle)?;
    let flags = match class.pool.method(factory)? {
        [b"java/lang/invoke/LambdaMetafactory", b"metafactory", _] => 0,
        [b"java/lang/invoke/LambdaMetafactory", b"altMetafactory", _] => {
            class.pool.int(*bootstrap.arguments.get(3)?)?
        }
        _ => return None,
    };
    let (kind, constant) = class.pool.handle(*bootstrap.arguments.get(1)?)?;
    let [owner, name, descriptor] = class.pool.method(constant)?;
    let is_meant = matches!(kind, handle::VIRTUAL | handle::STATIC | handle::NEW | handle::INTERFACE);
    let is_own = || {
        class.methods().iter().any(|method| {
            [method.name, method.descriptor].map(|constant| class.pool.utf8(constant)) == [Some(name), Some(descriptor)]
        })
    };
    if flags & SERIALIZABLE != 0 || !is_meant || owner == class_name && is_own() {
        return None;
    }
    let is_of_interface = class.pool.is_of_interface(constant);
    let [owner, name, descriptor] = [owner, name, descriptor].map(<[u8]>::to_vec);
    Some(Target { kind, owner, name, descriptor, is_of_interface, receiver: Vec::new() })
}

/// The target with the type that its receiver has where the reference stands, which may be below the class that declares
/// the method. `None` if several places use the reference and differ in it.
fn with_receiver(
    mut target: Target,
    class: &ClassEditor<'_>,
    bootstrap: &BootstrapMethod,
    uses: &[Use<'_>],
) -> Option<Target> {
    if !matches!(target.kind, handle::VIRTUAL | handle::INTERFACE) {
        return Some(target);
    }
    let captured = uses.first()?.captured;
    if uses.iter().any(|one| one.captured != captured) {
        return None;
    }
    let declared = [&b"L"[..], &target.owner, b";"].concat();
    target.receiver = match captured {
        // Somebody else brings the receiver, and is asked for no more than it is taken for.
        b"(" => {
            let lambda = class.pool.method_type(*bootstrap.arguments.get(2)?)?;
            first_object(lambda).map_or_else(|| declared.clone(), <[u8]>::to_vec)
        }
        _ => first_object(captured)?.to_vec(),
    };
    let is_class = target.kind == handle::VIRTUAL && target.owner != b"java/lang/Object";
    if is_class && target.receiver != declared {
        target.owner = target.receiver[1..target.receiver.len() - 1].to_vec();
    }
    Some(target)
}

/// The first parameter of a descriptor, if it is an object and no array.
fn first_object(descriptor: &[u8]) -> Option<&[u8]> {
    let parameters = descriptor.strip_prefix(b"(").filter(|rest| rest.starts_with(b"L"))?;
    let end = parameters.iter().position(|byte| *byte == b';')?;
    Some(&parameters[..=end])
}

/// By bootstrap method, the call sites that it makes.
fn uses<'a>(class: &ClassEditor<'a>) -> Result<FxHashMap<u16, Vec<Use<'a>>>, Error> {
    let mut uses: FxHashMap<u16, Vec<Use<'a>>> = FxHashMap::default();
    for (index, method) in class.methods().iter().enumerate() {
        let Some(code) = class.code(index)? else { continue };
        let mut lines = None;
        for instruction in code.instructions().filter(|one| one.opcode == op::INVOKEDYNAMIC) {
            let constant = instruction.constant().unwrap_or(0);
            let (Some(bootstrap), Some(site), Some(method)) =
                (class.pool.bootstrap_of(constant), class.pool.call_site(constant), class.pool.utf8(method.name))
            else {
                continue;
            };
            let end = site.iter().position(|byte| *byte == b')').unwrap_or(0);
            let lines = lines.get_or_insert_with(|| code.lines());
            let after = lines.partition_point(|(start, _)| u32::from(*start) <= instruction.pc);
            let line = after.checked_sub(1).map_or(0, |at| lines[at].1);
            uses.entry(bootstrap).or_default().push(Use { captured: &site[..end], method, line });
        }
    }
    Ok(uses)
}

/// A name like those that compilers give to lambdas, which no other method has.
fn free_name(class: &ClassEditor<'_>, bridges: &[Bridge], around: &[u8]) -> Vec<u8> {
    let around = match around {
        b"<init>" => "new",
        b"<clinit>" => "static",
        // Text of class files without lone surrogates and zeros is text of ours.
        name => match std::str::from_utf8(name) {
            Ok(name) => around_lambda(name).filter(|name| !name.is_empty()).unwrap_or(name),
            Err(_) => "reference",
        },
    };
    let is_taken = |name: &[u8]| {
        let mut methods = class.methods().iter();
        methods.any(|method| class.pool.utf8(method.name) == Some(name)) || bridges.iter().any(|one| one.name == name)
    };
    let mut names = (0..).map(|number| format!("lambda${around}${number}").into_bytes());
    names.find(|name| !is_taken(name)).expect("numbers do not end")
}

/// Adds the methods, and lets the references that use them name them.
fn build(
    class: &mut ClassEditor<'_>,
    class_name: &[u8],
    bridges: &[Bridge],
    used: &[(BootstrapMethod, usize)],
) -> Result<(), Limit> {
    let is_interface = class.access().is_interface();
    let mut handles = Vec::new();
    for bridge in bridges {
        let descriptor = bridge.target.descriptor_of_bridge();
        let name = [&*bridge.name, &*descriptor];
        // Another agent may hand on what it was given.
        let is_there = class
            .methods()
            .iter()
            .any(|method| [method.name, method.descriptor].map(|constant| class.pool.utf8(constant)) == name.map(Some));
        if !is_there {
            let (code, locals) = bridge.target.code(class)?;
            class.add_method(Access::from_bits(PRIVATE_STATIC_SYNTHETIC), name, (&code, locals), bridge.line)?;
        }
        let method = match is_interface {
            true => class.pool.add_interface_method(class_name, &bridge.name, &descriptor)?,
            false => class.pool.add_method(class_name, &bridge.name, &descriptor)?,
        };
        handles.push(class.pool.add_handle(handle::STATIC, method)?);
    }
    for (bootstrap, place) in used {
        class.set_argument(bootstrap, 1, handles[*place]);
    }
    Ok(())
}

impl Target {
    /// It takes the receiver first, and gives what the method gives, or the new object.
    fn descriptor_of_bridge(&self) -> Vec<u8> {
        let end = self.descriptor.iter().position(|byte| *byte == b')').unwrap_or(0);
        let (parameters, result) = (&self.descriptor[1.min(end)..end], &self.descriptor[end..]);
        match self.kind {
            handle::NEW => [&b"("[..], parameters, b")L", &self.owner, b";"].concat(),
            _ => [&b"("[..], &self.receiver, parameters, result].concat(),
        }
    }

    /// The code of the bridge, and how many variables it has.
    fn code(&self, class: &mut ClassEditor<'_>) -> Result<(Snippet, u16), Limit> {
        let (arguments, result) = kinds(&self.descriptor_of_bridge()).ok_or(Limit::Locals)?;
        let mut code = Snippet::new();
        if self.kind == handle::NEW {
            code.naming(op::NEW, class.pool.add_class(&self.owner)?, 1).dup();
        }
        let mut locals = 0;
        for kind in arguments {
            code.load(kind, locals);
            locals += slots(kind);
        }
        let [owner, name, descriptor] = [&*self.owner, &*self.name, &*self.descriptor];
        let method = match self.is_of_interface {
            true => class.pool.add_interface_method(owner, name, descriptor)?,
            false => class.pool.add_method(owner, name, descriptor)?,
        };
        let given = result.map_or(0, slots);
        let grown = i32::from(given) - i32::from(locals);
        match self.kind {
            handle::INTERFACE => code.call_interface(method, u8::try_from(locals).map_err(|_| Limit::Locals)?, given),
            handle::STATIC => code.naming(op::INVOKESTATIC, method, grown),
            handle::NEW => code.naming(op::INVOKESPECIAL, method, -i32::from(locals) - 1),
            _ => code.naming(op::INVOKEVIRTUAL, method, grown),
        };
        let back = match result {
            Some(Kind::Int) => 0,
            Some(Kind::Long) => 1,
            Some(Kind::Float) => 2,
            Some(Kind::Double) => 3,
            Some(Kind::Reference) => 4,
            None => 5,
        };
        code.simple(op::IRETURN + back, 0);
        Ok((code, locals))
    }
}

fn slots(kind: Kind) -> u16 {
    if kind.is_wide() { 2 } else { 1 }
}

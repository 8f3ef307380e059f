//! A class at a time: which of its methods get probes, and what becomes of those that cannot.

use std::fmt;

use classfile::edit::{ClassEditor, EditError, Limit, Member};
use classfile::{Error, text_of};

use crate::arms::Callee;
use crate::bridges;
use crate::constant::ConstantFields;
use crate::method::{ClassContext, MethodRewriter};
use crate::plan::Plan;
use crate::shadow;
use crate::sites::Sites;

/// The JVM does not compile methods with more bytes of code.
const LONGEST_COMPILED: u32 = 8_000;

/// A class with probes.
#[derive(Clone, Debug)]
pub struct Rewritten {
    pub bytes: Vec<u8>,
    pub left_alone: Vec<LeftAlone>,
}

/// A method that could not get its probes, and stays as it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftAlone {
    pub name: String,
    pub descriptor: String,
    pub reason: Reason,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    Limit(Limit),
    /// A static synchronized method of a class that is too old to name itself in code.
    NoClassConstant,
    /// A synchronized method that stores something else where `this` was.
    LostThis,
    /// A constructor in which nobody can tell where `this` becomes an object.
    LateThis,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Limit(limit) => limit.fmt(f),
            Reason::NoClassConstant => f.write_str("its class is too old to name itself in code"),
            Reason::LostThis => f.write_str("it is synchronized and does not keep `this`"),
            Reason::LateThis => f.write_str("it is not clear where `this` is complete"),
        }
    }
}

/// Why a method gets no probes, or the whole class none.
pub(crate) enum Failure {
    Method(Reason),
    Class(Error),
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Failure {
        match error {
            EditError::Class(error) => Failure::Class(error),
            EditError::Limit(limit) => Failure::Method(Reason::Limit(limit)),
        }
    }
}

impl From<Limit> for Failure {
    fn from(limit: Limit) -> Failure {
        Failure::Method(Reason::Limit(limit))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Class(error)
    }
}

/// Who brings a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The loader of the class path: the fields that the plan calls constant are those of its classes.
    ClassPath,
    Elsewhere,
}

/// Rewrites a class that is not known to be on the class path.
pub fn instrument(bytes: &[u8], plan: &Plan, sites: &mut Sites) -> Result<Option<Rewritten>, EditError> {
    instrument_from(Origin::Elsewhere, bytes, plan, sites)
}

/// Rewrites a class after the plan and adds its sites to the tables. `None` if the plan wants nothing of it.
///
/// The same class, plan and tables always give the same result.
pub fn instrument_from(
    origin: Origin,
    bytes: &[u8],
    plan: &Plan,
    sites: &mut Sites,
) -> Result<Option<Rewritten>, EditError> {
    let mut class = ClassEditor::read(bytes)?;
    let constants = (origin == Origin::ClassPath).then_some(&plan.constants);
    let name = class.name().ok_or_else(|| Error::Malformed("it has no name".to_owned()))?;
    let is_included = plan.includes(name) && !class.access().is_module();
    let was_seen = sites.known.has(name);
    sites.known.learn(&class, is_included, constants);
    if !is_included {
        return Ok(None);
    }
    let bridged = bridges::add(ClassEditor::read(bytes)?, name, plan, sites, was_seen)?;
    if let Some(bridged) = &bridged {
        class = ClassEditor::read(bridged)?;
    }
    let mark = sites.mark();
    match rewrite(&mut class, name, plan, constants, sites) {
        Ok(left_alone) if class.is_edited() => Ok(Some(Rewritten { bytes: class.finish(), left_alone })),
        Ok(left_alone) if left_alone.is_empty() && bridged.is_none() => Ok(None),
        Ok(left_alone) => Ok(Some(Rewritten { bytes: bridged.unwrap_or_else(|| bytes.to_vec()), left_alone })),
        Err(error) => {
            sites.reset(mark);
            Err(error)
        }
    }
}

fn rewrite(
    class: &mut ClassEditor<'_>,
    name: &[u8],
    plan: &Plan,
    constants: Option<&ConstantFields>,
    sites: &mut Sites,
) -> Result<Vec<LeftAlone>, EditError> {
    let has_identity = plan.adds_fields && shadow::add_fields(class, name, plan, constants)?;
    let mut context = ClassContext { has_identity, ..ClassContext::new(class, name, plan, constants, sites) };
    let mut left_alone = Vec::new();
    for index in 0..class.methods().len() {
        let mut mark = context.sites.mark();
        let before = context.sites.branches().len();
        let mut done = rewrite_method(class, index, &mut context, plan.speculates);
        let is_huge = class.edited_length(index).is_some_and(|length| length > LONGEST_COMPILED);
        let has_branches = context.sites.branches().len() > before;
        if has_branches && (is_huge || matches!(done, Err(Failure::Method(_)))) {
            // Without the probes at its branches it may have room for the others, and the JVM may compile it.
            context.sites.reset(mark);
            mark = context.sites.mark();
            class.reset_code(index);
            done = rewrite_method(class, index, &mut context, false);
            context.sites.left_branches += u32::from(done.is_ok());
        }
        match done {
            Ok(()) => {}
            Err(Failure::Class(error)) => return Err(error.into()),
            Err(Failure::Method(reason)) => {
                context.sites.reset(mark);
                let method = &class.methods()[index];
                let text = |constant| text_of(class.pool.utf8(constant).unwrap_or_default()).into_owned();
                left_alone.push(LeftAlone { name: text(method.name), descriptor: text(method.descriptor), reason });
            }
        }
    }
    Ok(left_alone)
}

/// What a method would do, for arms that call it; `None` if the class has no code for it.
pub fn callee(
    origin: Origin,
    bytes: &[u8],
    plan: &Plan,
    sites: &mut Sites,
    [name, descriptor]: [&str; 2],
) -> Result<Option<Callee>, EditError> {
    let mut class = ClassEditor::read(bytes)?;
    let text = |index| class.pool.utf8(index).map(text_of);
    let is_meant = |method: &Member| {
        text(method.name).as_deref() == Some(name) && text(method.descriptor).as_deref() == Some(descriptor)
    };
    let (Some(index), Some(class_name)) = (class.methods().iter().position(is_meant), class.name()) else {
        return Ok(None);
    };
    let Some(code) = class.code(index)? else { return Ok(None) };
    let constants = (origin == Origin::ClassPath).then_some(&plan.constants);
    let mut context = ClassContext::new(&class, class_name, plan, constants, sites);
    let found = MethodRewriter::new(&mut class, index, code, &mut context, true).and_then(|mut one| one.callee());
    match found {
        Ok(found) => Ok(found),
        Err(Failure::Class(error)) => Err(error.into()),
        Err(Failure::Method(_)) => Ok(None),
    }
}

fn rewrite_method(
    class: &mut ClassEditor<'_>,
    index: usize,
    context: &mut ClassContext<'_>,
    speculates: bool,
) -> Result<(), Failure> {
    let Some(code) = class.code(index)? else { return Ok(()) };
    let mut rewriter = MethodRewriter::new(class, index, code, context, speculates)?;
    rewriter.insert_probes()?;
    if let Some(code) = rewriter.edited() {
        class.set_code(index, code)?;
    }
    Ok(())
}

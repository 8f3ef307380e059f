//! Types as descriptors write them: `(ILjava/lang/String;)[J`.

use location::{ClassName, Names};

use crate::Kind;

/// The type of a field, parameter or value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    Boolean,
    Byte,
    Char,
    Short,
    Int,
    Long,
    Float,
    Double,
    /// A class by binary name, an array by descriptor.
    Reference(ClassName),
}

impl Type {
    pub fn kind(self) -> Kind {
        match self {
            Type::Boolean | Type::Byte | Type::Char | Type::Short | Type::Int => Kind::Int,
            Type::Long => Kind::Long,
            Type::Float => Kind::Float,
            Type::Double => Kind::Double,
            Type::Reference(_) => Kind::Reference,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MethodDescriptor {
    pub parameters: Vec<Type>,
    /// `None` for `void`.
    pub result: Option<Type>,
}

/// The type that a field descriptor writes, or `None` if it is malformed.
pub fn parse_field(text: &str, names: &Names) -> Option<Type> {
    match one(text, names)? {
        (kind, "") => Some(kind),
        _ => None,
    }
}

/// The types that a method descriptor writes, or `None` if it is malformed.
pub fn parse_method(text: &str, names: &Names) -> Option<MethodDescriptor> {
    let mut rest = text.strip_prefix('(')?;
    let mut parameters = Vec::new();
    while !rest.starts_with(')') {
        let (parameter, after) = one(rest, names)?;
        parameters.push(parameter);
        rest = after;
    }
    let result = match &rest[1..] {
        "V" => None,
        result => Some(parse_field(result, names)?),
    };
    Some(MethodDescriptor { parameters, result })
}

/// How many parameters a method descriptor has, and the type that it returns, which may be `V`; `None` if a parameter is
/// malformed.
pub fn split_method(text: &str) -> Option<(usize, &str)> {
    let mut rest = text.strip_prefix('(')?;
    let mut count = 0;
    while !rest.starts_with(')') {
        let (dimensions, length) = length_of_one(rest)?;
        rest = &rest[dimensions + length..];
        count += 1;
    }
    Some((count, &rest[1..]))
}

/// The dimensions of the first type of `text`, and how long its element is.
fn length_of_one(text: &str) -> Option<(usize, usize)> {
    let dimensions = text.bytes().take_while(|byte| *byte == b'[').count();
    if dimensions > 255 {
        return None;
    }
    let element = &text[dimensions..];
    let length = match element.bytes().next()? {
        b'L' => element.find(';').filter(|end| *end > 1)? + 1,
        b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' => 1,
        _ => return None,
    };
    Some((dimensions, length))
}

/// The first type of `text`, and what follows it.
fn one<'t>(text: &'t str, names: &Names) -> Option<(Type, &'t str)> {
    let (dimensions, length) = length_of_one(text)?;
    let element = &text[dimensions..];
    let (whole, rest) = text.split_at(dimensions + length);
    if dimensions > 0 {
        return Some((Type::Reference(names.class(whole)), rest));
    }
    let kind = match element.as_bytes()[0] {
        b'B' => Type::Byte,
        b'C' => Type::Char,
        b'D' => Type::Double,
        b'F' => Type::Float,
        b'I' => Type::Int,
        b'J' => Type::Long,
        b'S' => Type::Short,
        b'Z' => Type::Boolean,
        _ => Type::Reference(names.class(&element[1..length - 1])),
    };
    Some((kind, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_parsed() {
        let names = Names::new();
        let parsed = parse_method("(I[[JLjava/lang/String;)V", &names).unwrap();
        assert_eq!(
            parsed.parameters,
            [Type::Int, Type::Reference(names.class("[[J")), Type::Reference(names.class("java/lang/String"))]
        );
        assert_eq!(parsed.result, None);
        assert_eq!(parse_method("()Z", &names).unwrap().result, Some(Type::Boolean));
        assert_eq!(split_method("(I[[JLjava/lang/String;)[LA;"), Some((3, "[LA;")));
        assert_eq!(split_method("()V"), Some((0, "V")));
        assert_eq!(split_method("(X)V"), None);
    }

    #[test]
    fn malformed_descriptors_are_told() {
        let names = Names::new();
        for bad in ["", "(", "()", "(V)V", "()VV", "(L;)V", "(Lx)V", "()[", "I", "(é)V", "()Lé"] {
            assert_eq!(parse_method(bad, &names), None, "{bad}");
        }
        for bad in ["", "V", "[", "L;", "Lx", "II"] {
            assert_eq!(parse_field(bad, &names), None, "{bad}");
        }
    }
}

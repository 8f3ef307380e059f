//! What a text is put together of, as compilers do it: by a dynamic call, or bit by bit in a builder that is made for it,
//! `new StringBuilder("station-").append(number).toString()`.

use crate::Program;
use crate::ir::{Body, Op, Value};

impl Program {
    /// The parts of a text that one expression puts together; none of what is no such text.
    pub(crate) fn text_parts(&self, body: &Body, text: Value) -> Vec<Value> {
        match *body.op(body.without_casts(text)) {
            Op::CallDynamic { dynamic, arguments } if body.dynamic(dynamic).lambda.is_none() => {
                body.operands(arguments).to_vec()
            }
            Op::Call { method, arguments, .. }
                if self.names.text(method.name) == "toString" && self.is_text_builder(method.class) =>
            {
                body.operands(arguments).first().map_or_else(Vec::new, |builder| self.written(body, *builder))
            }
            _ => Vec::new(),
        }
    }

    /// What calls that follow each other write into a builder, and what it was made with.
    fn written(&self, body: &Body, builder: Value) -> Vec<Value> {
        let mut parts = Vec::new();
        let mut builder = body.without_casts(builder);
        while let Op::Call { method, arguments, .. } = *body.op(builder)
            && self.names.text(method.name) == "append"
            && self.is_text_builder(method.class)
            && let [receiver, part] = *body.operands(arguments)
        {
            parts.push(part);
            builder = body.without_casts(receiver);
        }
        if !matches!(body.op(builder), Op::New(_)) {
            return Vec::new();
        }
        parts.extend(body.instructions().filter_map(|(_, instruction)| match instruction.op {
            Op::Call { method, arguments, .. } if self.names.text(method.name) == "<init>" => {
                match *body.operands(arguments) {
                    [made, part] if made == builder => Some(part),
                    _ => None,
                }
            }
            _ => None,
        }));
        parts
    }

    fn is_text_builder(&self, class: location::ClassName) -> bool {
        matches!(self.names.text(class.0), "java/lang/StringBuilder" | "java/lang/StringBuffer")
    }
}

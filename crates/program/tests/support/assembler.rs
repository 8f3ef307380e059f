//! Class files made by hand, byte by byte, for what no compiler writes.

/// A class with methods whose code is given as bytes. The constant pool has what code of tests names.
pub(crate) struct Assembler {
    pool: Vec<u8>,
    count: u16,
    methods: Vec<u8>,
    method_count: u16,
    this: u16,
    object: u16,
    code: u16,
    major: u16,
}

/// An entry of the exception table; `catches` 0 catches everything.
#[derive(Clone, Copy)]
pub(crate) struct Guard {
    pub(crate) start: u16,
    pub(crate) end: u16,
    pub(crate) handler: u16,
}

impl Assembler {
    pub(crate) fn new(name: &str, super_name: &str, major: u16) -> Assembler {
        let mut assembler = Assembler {
            pool: Vec::new(),
            count: 1,
            methods: Vec::new(),
            method_count: 0,
            this: 0,
            object: 0,
            code: 0,
            major,
        };
        assembler.this = assembler.class(name);
        assembler.object = assembler.class(super_name);
        assembler.code = assembler.utf8("Code");
        assembler
    }

    fn entry(&mut self, bytes: &[u8]) -> u16 {
        self.pool.extend_from_slice(bytes);
        self.count += 1;
        self.count - 1
    }

    pub(crate) fn utf8(&mut self, text: &str) -> u16 {
        let mut bytes = vec![1];
        bytes.extend_from_slice(&(text.len() as u16).to_be_bytes());
        bytes.extend_from_slice(text.as_bytes());
        self.entry(&bytes)
    }

    fn pair(&mut self, tag: u8, first: u16, second: u16) -> u16 {
        let (first, second) = (first.to_be_bytes(), second.to_be_bytes());
        self.entry(&[tag, first[0], first[1], second[0], second[1]])
    }

    pub(crate) fn class(&mut self, name: &str) -> u16 {
        let name = self.utf8(name).to_be_bytes();
        self.entry(&[7, name[0], name[1]])
    }

    fn member(&mut self, tag: u8, class: &str, name: &str, descriptor: &str) -> u16 {
        let class = self.class(class);
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        let name_and_type = self.pair(12, name, descriptor);
        self.pair(tag, class, name_and_type)
    }

    pub(crate) fn field_ref(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        self.member(9, class, name, descriptor)
    }

    pub(crate) fn method_ref(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        self.member(10, class, name, descriptor)
    }

    /// A static method.
    pub(crate) fn method(&mut self, name: &str, descriptor: &str, max_locals: u16, code: &[u8], guards: &[Guard]) {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        let mut body = Vec::new();
        body.extend_from_slice(&100u16.to_be_bytes());
        body.extend_from_slice(&max_locals.to_be_bytes());
        body.extend_from_slice(&(code.len() as u32).to_be_bytes());
        body.extend_from_slice(code);
        body.extend_from_slice(&(guards.len() as u16).to_be_bytes());
        for guard in guards {
            for part in [guard.start, guard.end, guard.handler, 0] {
                body.extend_from_slice(&part.to_be_bytes());
            }
        }
        body.extend_from_slice(&0u16.to_be_bytes());
        let attribute = self.code;
        self.raw_method(name, descriptor, Some((attribute, body.len() as u32, &body)));
    }

    /// A static method with an attribute of which nothing need be true.
    pub(crate) fn raw_method(&mut self, name: u16, descriptor: u16, attribute: Option<(u16, u32, &[u8])>) {
        for part in [0x0008, name, descriptor, u16::from(attribute.is_some())] {
            self.methods.extend_from_slice(&part.to_be_bytes());
        }
        if let Some((name, length, bytes)) = attribute {
            self.methods.extend_from_slice(&name.to_be_bytes());
            self.methods.extend_from_slice(&length.to_be_bytes());
            self.methods.extend_from_slice(bytes);
        }
        self.method_count += 1;
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.finish_with(&[], &[])
    }

    /// With interfaces, and attributes of the class as they are.
    pub(crate) fn finish_with(self, interfaces: &[u16], attributes: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0];
        let put = |part: u16, bytes: &mut Vec<u8>| bytes.extend_from_slice(&part.to_be_bytes());
        put(self.major, &mut bytes);
        put(self.count, &mut bytes);
        bytes.extend_from_slice(&self.pool);
        for part in [0x0021, self.this, self.object, interfaces.len() as u16] {
            put(part, &mut bytes);
        }
        for interface in interfaces {
            put(*interface, &mut bytes);
        }
        put(0, &mut bytes);
        put(self.method_count, &mut bytes);
        bytes.extend_from_slice(&self.methods);
        put(attributes.len() as u16, &mut bytes);
        for (name, content) in attributes {
            put(*name, &mut bytes);
            bytes.extend_from_slice(&(content.len() as u32).to_be_bytes());
            bytes.extend_from_slice(content);
        }
        bytes
    }
}

/// Code with labels in place of offsets.
#[derive(Default)]
pub(crate) struct Code {
    bytes: Vec<u8>,
    labels: Vec<(&'static str, usize)>,
    jumps: Vec<(usize, &'static str)>,
}

impl Code {
    pub(crate) fn op(mut self, bytes: &[u8]) -> Code {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// An instruction with an index into the constant pool.
    pub(crate) fn indexed(self, opcode: u8, index: u16) -> Code {
        let index = index.to_be_bytes();
        self.op(&[opcode, index[0], index[1]])
    }

    pub(crate) fn label(mut self, name: &'static str) -> Code {
        self.labels.push((name, self.bytes.len()));
        self
    }

    /// A jump with an offset of 16 bits.
    pub(crate) fn jump(mut self, opcode: u8, target: &'static str) -> Code {
        self.jumps.push((self.bytes.len(), target));
        self.op(&[opcode, 0, 0])
    }

    pub(crate) fn at(&self, name: &str) -> u16 {
        let (_, at) = self.labels.iter().find(|(label, _)| *label == name).expect("the label is there");
        *at as u16
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for (at, target) in &self.jumps {
            let offset = i16::try_from(i32::from(self.at(target)) - *at as i32).expect("it is near");
            bytes[at + 1..at + 3].copy_from_slice(&offset.to_be_bytes());
        }
        bytes
    }
}

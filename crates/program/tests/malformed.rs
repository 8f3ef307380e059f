//! Classes that are wrong in ways that have names. Each is skipped or analysed, and says which.

mod support;

use classfile::ClassSource;
use program::{ControlDependence, Known, Program, Sections};
use support::assembler::{Assembler, Code, Guard};

const RETURN: u8 = 177;

/// What is refused: classes and methods, with the reasons.
fn refusals(sources: Vec<Vec<u8>>) -> Vec<String> {
    let sources = (0..).zip(sources).map(|(number, bytes)| ClassSource { path: format!("{number}.class"), bytes });
    let program = Program::load(sources.collect(), Known::default());
    let mut refused: Vec<String> = program.skipped().iter().map(|skipped| skipped.reason.clone()).collect();
    let results = program.visit_bodies(
        |_| true,
        |_, body| {
            support::laws::check(&body).unwrap_or_else(|broken| panic!("{broken}"));
            Sections::of(&body, &program);
            ControlDependence::of(&body);
        },
    );
    refused.extend(results.into_iter().filter_map(|result| Some(result.err()?.reason.to_string())));
    refused
}

fn with_code(descriptor: &str, code: &[u8], guards: &[Guard]) -> Vec<u8> {
    let mut assembler = Assembler::new("Made", "java/lang/Object", 52);
    assembler.method("run", descriptor, 4, code, guards);
    assembler.finish()
}

/// One refusal, and its reason has this part.
#[track_caller]
fn refuses(bytes: Vec<u8>, part: &str) {
    let refused = refusals(vec![bytes]);
    assert!(refused.len() == 1 && refused[0].contains(part), "{refused:?}");
}

#[track_caller]
fn accepts(bytes: Vec<u8>) {
    assert_eq!(refusals(vec![bytes]), [""; 0]);
}

#[test]
fn files_that_are_no_class() {
    refuses(Vec::new(), "");
    refuses(b"EFBFBD".to_vec(), "");
    refuses(vec![0xca, 0xfe, 0xba, 0xbe], "");
    let mut more_constants_than_bytes = with_code("()V", &[RETURN], &[]);
    more_constants_than_bytes[8..10].copy_from_slice(&[0xff, 0xff]);
    refuses(more_constants_than_bytes, "");
}

#[test]
fn all_versions_are_tried() {
    for major in [45, 48, 52, 69, 70, 99] {
        let mut bytes = with_code("()V", &[RETURN], &[]);
        bytes[6..8].copy_from_slice(&u16::to_be_bytes(major));
        let refused = refusals(vec![bytes]);
        assert!(refused.is_empty() || major > 69, "{major}: {refused:?}");
    }
}

#[test]
fn lengths_of_code() {
    refuses(with_code("()V", &[], &[]), "empty");
    let mut full = vec![0; 65_535];
    full[65_534] = RETURN;
    accepts(with_code("()V", &full, &[]));
    // One byte too many for a real machine; here a reader may be generous, but must not break.
    full.push(RETURN);
    refusals(vec![with_code("()V", &full, &[])]);
}

#[test]
fn attribute_lengths_beyond_the_file() {
    let mut assembler = Assembler::new("Made", "java/lang/Object", 52);
    let (name, descriptor, code) = (assembler.utf8("run"), assembler.utf8("()V"), assembler.utf8("Code"));
    assembler.raw_method(name, descriptor, Some((code, u32::MAX, &[0; 8])));
    refuses(assembler.finish(), "");
}

#[test]
fn jumps_to_nowhere() {
    // Into the middle of an instruction, before the code, behind it, and off its end.
    refuses(with_code("()V", &[167, 0, 1, RETURN], &[]), "a jump does not go to an instruction");
    refuses(with_code("()V", &[167, 0xff, 0xf0, RETURN], &[]), "a jump leaves the code");
    refuses(with_code("()V", &[167, 0x7f, 0xff, RETURN], &[]), "a jump does not go to an instruction");
    refuses(with_code("()V", &[0, 0], &[]), "control runs off the end of the code");
}

#[test]
fn switches_without_sense() {
    let switch = |low: i32, high: i32| {
        let mut code = vec![3, 170, 0, 0];
        for word in [15, low, high] {
            code.extend_from_slice(&i32::to_be_bytes(word));
        }
        code.push(RETURN);
        with_code("()V", &code, &[])
    };
    // No case at all is harmless.
    accepts(switch(1, 0));
    assert_eq!(refusals(vec![switch(i32::MIN, i32::MAX)]).len(), 1);
    assert_eq!(refusals(vec![switch(0, 70_000)]).len(), 1);
}

#[test]
fn handlers_without_sense() {
    let code = [0, 0, 0, RETURN];
    for guard in [Guard { start: 0, end: 3, handler: 77 }, Guard { start: 9, end: 12, handler: 0 }] {
        assert_eq!(refusals(vec![with_code("()V", &code, &[guard])]).len(), 1);
    }
    // Ranges that overlap and catch each other, all around one call.
    let mut assembler = Assembler::new("Made", "java/lang/Object", 52);
    let call = assembler.method_ref("Other", "work", "()V");
    let code = Code::default().indexed(184, call).op(&[RETURN, 87]).indexed(184, call).op(&[RETURN]);
    let guards: Vec<Guard> =
        (0..500).map(|n| Guard { start: [0, 3, 4][n % 3], end: [8, 9, 8][n % 3], handler: 4 }).collect();
    assembler.method("run", "()V", 1, &code.bytes(), &guards);
    accepts(assembler.finish());
}

#[test]
fn stacks_and_locals_without_sense() {
    refuses(with_code("()V", &[87, RETURN], &[]), "the operand stack is empty");
    refuses(with_code("()V", &[21, 3, 87, RETURN], &[]), "a local is read that was never written");
    refuses(with_code("()V", &[21, 200, 87, RETURN], &[]), "a local is read that was never written");
    refuses(with_code("()V", &[4, 54, 200, RETURN], &[]), "a local is outside the frame");
    // One way leaves the local unset, or the stack at another depth.
    refuses(with_code("(I)V", &[26, 153, 0, 5, 4, 60, 27, 87, RETURN], &[]), "a local is read that was");
    refuses(with_code("(I)V", &[26, 153, 0, 4, 4, RETURN], &[]), "paths meet with stacks of different depth");
    refuses(with_code("(I)V", &[4, 26, 153, 0, 4, 87, RETURN], &[]), "paths meet with stacks of different depth");
    // A loop that pushes without end.
    refuses(with_code("()V", &[4, 167, 0xff, 0xff], &[]), "paths meet with stacks of different depth");
}

#[test]
fn descriptors_without_sense() {
    for descriptor in ["", "()", "(", "(Q)V", "(L)V", "()VV", "([[[[[", "V"] {
        let refused = refusals(vec![with_code(descriptor, &[RETURN], &[])]);
        assert_eq!(refused.len(), 1, "{descriptor}");
    }
    // Up to 255 dimensions are allowed.
    accepts(with_code(&format!("({}I)V", "[".repeat(255)), &[RETURN], &[]));
}

#[test]
fn hierarchies_that_go_in_circles() {
    let mut own_parent = Assembler::new("Own", "Own", 52);
    let lock = own_parent.method_ref("Own", "lock", "()V");
    let field = own_parent.field_ref("Own", "missing", "LOwn;");
    let code = Code::default().indexed(178, field).indexed(182, lock).op(&[RETURN]);
    own_parent.method("run", "()V", 1, &code.bytes(), &[]);
    accepts(own_parent.finish());

    let interface = |own: &str, other: &str| {
        let mut assembler = Assembler::new(own, "java/lang/Object", 52);
        let parent = assembler.class(other);
        let lock = assembler.method_ref(own, "unlock", "()V");
        let field = assembler.field_ref(own, "missing", "LOne;");
        let code = Code::default().indexed(178, field).indexed(182, lock).op(&[RETURN]);
        assembler.method("run", "()V", 1, &code.bytes(), &[]);
        assembler.finish_with(&[parent, parent], &[])
    };
    assert_eq!(refusals(vec![interface("One", "Two"), interface("Two", "One")]), [""; 0]);
}

#[test]
fn as_many_methods_as_a_class_can_have() {
    let mut assembler = Assembler::new("Made", "java/lang/Object", 52);
    let (name, descriptor) = (assembler.utf8("run"), assembler.utf8("()V"));
    for _ in 0..65_535 {
        assembler.raw_method(name, descriptor, None);
    }
    accepts(assembler.finish());
}

/// Annotations inside annotations, 10,000 deep: reading them must not be a recursion as deep.
#[test]
fn annotations_nested_very_deep() {
    for visible in ["RuntimeVisibleAnnotations", "RuntimeInvisibleAnnotations"] {
        let mut assembler = Assembler::new("Made", "java/lang/Object", 52);
        let (attribute, kind, element) = (assembler.utf8(visible), assembler.utf8("LA;"), assembler.utf8("e"));
        let mut content = vec![0, 1];
        for _ in 0..10_000 {
            // The type, one element, its name, and an annotation as its value.
            for part in [kind, 1, element] {
                content.extend_from_slice(&part.to_be_bytes());
            }
            content.push(b'@');
        }
        for part in [kind, 0] {
            content.extend_from_slice(&part.to_be_bytes());
        }
        assembler.method("run", "()V", 0, &[RETURN], &[]);
        refusals(vec![assembler.finish_with(&[], &[(attribute, content)])]);
    }
}

/// The same class in one run with 200 good ones: the good ones are analysed.
#[test]
fn one_bad_class_does_not_spoil_the_others() {
    let mut sources: Vec<Vec<u8>> = (0..200)
        .map(|number| {
            let mut assembler = Assembler::new(&format!("Made{number}"), "java/lang/Object", 52);
            assembler.method("run", "()V", 0, &[RETURN], &[]);
            assembler.finish()
        })
        .collect();
    sources[100].truncate(40);
    let sources: Vec<ClassSource> = (0..)
        .zip(sources)
        .map(|(number, bytes)| ClassSource { path: format!("many.jar!/{number:03}.class"), bytes })
        .collect();
    let program = Program::load(sources, Known::default());
    assert_eq!(program.class_count(), 199);
    let skipped: Vec<&str> = program.skipped().iter().map(|skipped| skipped.path.as_str()).collect();
    assert_eq!(skipped, ["many.jar!/100.class"]);
}

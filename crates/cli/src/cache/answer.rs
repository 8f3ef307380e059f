//! What a check has to tell, as bytes and back.
//!
//! Numbers have eight bytes, the lowest first; texts and lists have their length before them.

use detect_static::DETECTORS;
use finding::{Detour, Evidence, Finding, RULES, SectionPair, Severity, Step, Suspicion, Thread};
use location::{MethodPlace, Place};

/// What a check found, and what it looked at.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) classes: usize,
    pub(crate) methods: usize,
    pub(crate) jdk: String,
    /// Inputs, classes and methods that were not looked at, sorted.
    pub(crate) skipped: Vec<classfile::Skipped>,
    /// Classes that are named and not known.
    pub(crate) missing: Vec<String>,
    pub(crate) findings: Vec<Finding>,
    /// What a run is asked, and the plan for it; nothing where nobody is to run anything.
    pub(crate) suspicions: Vec<Suspicion>,
    pub(crate) plan: String,
}

impl Answer {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut to = Writer(Vec::new());
        to.number(self.classes as u64);
        to.number(self.methods as u64);
        to.text(&self.jdk);
        to.list(&self.skipped, |to, skipped| {
            to.text(&skipped.path);
            to.text(&skipped.reason);
        });
        to.list(&self.missing, |to, class| to.text(class));
        to.list(&self.findings, Writer::finding);
        to.list(&self.suspicions, Writer::suspicion);
        to.text(&self.plan);
        to.0
    }

    /// `None` if the bytes are no answer.
    pub(super) fn read(bytes: &[u8]) -> Option<Answer> {
        let mut from = Reader(bytes);
        let answer = Answer {
            classes: from.number()?.try_into().ok()?,
            methods: from.number()?.try_into().ok()?,
            jdk: from.text()?,
            skipped: from.list(|from| Some(classfile::Skipped { path: from.text()?, reason: from.text()? }))?,
            missing: from.list(Reader::text)?,
            findings: from.list(Reader::finding)?,
            suspicions: from.list(Reader::suspicion)?,
            plan: from.text()?,
        };
        from.0.is_empty().then_some(answer)
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend(text.as_bytes());
    }

    fn list<'l, T: 'l>(
        &mut self,
        items: impl IntoIterator<Item = &'l T, IntoIter: ExactSizeIterator>,
        write: impl Fn(&mut Writer, &'l T),
    ) {
        let items = items.into_iter();
        self.number(items.len() as u64);
        items.for_each(|item| write(self, item));
    }

    fn method(&mut self, method: &MethodPlace) {
        let MethodPlace { class, name, descriptor } = method;
        [class, name, descriptor].into_iter().for_each(|text| self.text(text));
    }

    fn place(&mut self, place: &Place) {
        let Place { method, pc, file, line } = place;
        self.method(method);
        self.number(u64::from(*pc));
        self.list(file.as_slice(), |to, file| to.text(file));
        self.list(line.as_slice(), |to, line| to.number(u64::from(*line)));
    }

    fn finding(&mut self, finding: &Finding) {
        // All fields by name: a new one has to come here, too.
        let Finding {
            rule,
            evidence,
            severity,
            detectors,
            message,
            method,
            variables,
            locks,
            steps,
            interleaving,
            fix,
            count,
            executions,
            sections,
        } = finding;
        self.text(rule.id);
        self.text(evidence.id());
        self.text(severity.id());
        self.list(detectors, |to, detector| to.text(detector));
        self.text(message);
        self.method(method);
        self.list(variables, |to, variable| to.text(variable));
        self.list(locks, |to, lock| to.text(lock));
        self.list(steps, |to, step| {
            let Step { number, thread, place, what, ran, callers } = step;
            to.number(u64::from(*number));
            to.text(&thread.0);
            to.list(place.as_slice(), Writer::place);
            to.text(what);
            to.number(u64::from(*ran));
            to.list(callers, Writer::place);
        });
        self.list(interleaving, |to, number| to.number(u64::from(*number)));
        self.text(fix);
        self.number(*count);
        self.number(*executions);
        self.list(sections.as_slice(), |to, SectionPair { first, second }| {
            to.place(first);
            to.place(second);
        });
    }

    fn suspicion(&mut self, suspicion: &Suspicion) {
        let Suspicion { finding, first, second, is_told, least, is_one_variable, is_split, detour } = suspicion;
        let Detour { approaches, touches, rewrites, witnesses, is_write } = detour;
        self.finding(finding);
        self.list(first, Writer::place);
        self.list(second, Writer::place);
        [is_told, is_one_variable, is_split, is_write].into_iter().for_each(|is| self.number(u64::from(*is)));
        self.text(least.id());
        self.list(approaches, Writer::method);
        self.list(touches, Writer::place);
        self.list(rewrites, Writer::place);
        self.list(witnesses, Writer::place);
    }
}

/// All evidence, by its name.
fn evidence(id: &str) -> Option<Evidence> {
    let all = [Evidence::Pattern, Evidence::Predicted, Evidence::Observed, Evidence::Confirmed];
    all.into_iter().find(|known| known.id() == id)
}

struct Reader<'b>(&'b [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    fn text(&mut self) -> Option<String> {
        let length = self.number()?.try_into().ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn list<T, L: FromIterator<T>>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<L> {
        let length = self.number()?;
        (0..length).map(|_| read(self)).collect()
    }

    /// What was written as a list of one, or of none.
    fn maybe<T>(&mut self, read: impl FnMut(&mut Self) -> Option<T>) -> Option<Option<T>> {
        let mut list: Vec<T> = self.list(read)?;
        (list.len() < 2).then(|| list.pop())
    }

    fn method(&mut self) -> Option<MethodPlace> {
        Some(MethodPlace { class: self.text()?, name: self.text()?, descriptor: self.text()? })
    }

    fn place(&mut self) -> Option<Place> {
        Some(Place {
            method: self.method()?,
            pc: self.small()?,
            file: self.maybe(Self::text)?,
            line: self.maybe(Self::small)?,
        })
    }

    fn finding(&mut self) -> Option<Finding> {
        let rule = self.text()?;
        let evidence = self.text()?;
        let severity = self.text()?;
        Some(Finding {
            rule: RULES.iter().find(|known| known.id == rule)?,
            evidence: self::evidence(&evidence)?,
            severity: [Severity::Note, Severity::Warning, Severity::Error]
                .into_iter()
                .find(|known| known.id() == severity)?,
            detectors: self.list(|from| {
                let name = from.text()?;
                DETECTORS.iter().map(|detector| detector.name).find(|known| *known == name)
            })?,
            message: self.text()?,
            method: self.method()?,
            variables: self.list(Self::text)?,
            locks: self.list(Self::text)?,
            steps: self.list(|from| {
                Some(Step {
                    number: from.small()?,
                    thread: Thread(from.text()?),
                    place: from.maybe(Self::place)?,
                    what: from.text()?,
                    ran: from.number()? != 0,
                    callers: from.list(Self::place)?,
                })
            })?,
            interleaving: self.list(Self::small)?,
            fix: self.text()?,
            count: self.number()?,
            executions: self.number()?,
            sections: self.maybe(|from| Some(SectionPair { first: from.place()?, second: from.place()? }))?,
        })
    }

    fn suspicion(&mut self) -> Option<Suspicion> {
        let (finding, first, second) = (self.finding()?, self.list(Self::place)?, self.list(Self::place)?);
        let mut flag = || Some(self.number()? != 0);
        let (is_told, is_one_variable, is_split, is_write) = (flag()?, flag()?, flag()?, flag()?);
        let least = evidence(&self.text()?)?;
        let (approaches, touches) = (self.list(Self::method)?, self.list(Self::place)?);
        let (rewrites, witnesses) = (self.list(Self::place)?, self.list(Self::place)?);
        let detour = Detour { approaches, touches, rewrites, witnesses, is_write };
        Some(Suspicion { finding, first, second, is_told, least, is_one_variable, is_split, detour })
    }
}

#[cfg(test)]
pub(super) fn sample() -> Answer {
    let method = MethodPlace { class: "a.B$C".to_owned(), name: "run".to_owned(), descriptor: "()V".to_owned() };
    let place = |line| Place { method: method.clone(), pc: 7, file: Some("B.java".to_owned()), line };
    let caller = place(Some(5));
    let step = |number, place| Step {
        number,
        thread: Thread::a(),
        place,
        what: "`é` read".to_owned(),
        ran: number == 1,
        callers: vec![caller.clone(); number as usize],
    };
    let finding = Finding {
        rule: RULES[0],
        evidence: Evidence::Pattern,
        severity: Severity::Warning,
        detectors: DETECTORS.iter().map(|detector| detector.name).collect(),
        message: "message".to_owned(),
        method: method.clone(),
        variables: ["a.B.x".to_owned(), "a.B.y".to_owned()].into(),
        locks: ["this".to_owned()].into(),
        steps: vec![step(1, Some(place(Some(3)))), step(2, None)],
        interleaving: vec![2, 1],
        fix: "fix".to_owned(),
        count: 4,
        executions: 7,
        sections: Some(SectionPair { first: place(None), second: place(Some(9)) }),
    };
    Answer {
        classes: 3,
        methods: 5,
        jdk: "embedded 17".to_owned(),
        skipped: vec![classfile::Skipped { path: "p".to_owned(), reason: "r".to_owned() }],
        missing: vec!["x.Y".to_owned()],
        findings: vec![Finding { sections: None, ..finding.clone() }, finding.clone()],
        suspicions: vec![Suspicion {
            finding,
            first: vec![place(None)],
            second: vec![place(Some(1)), place(Some(2))],
            is_told: true,
            least: Evidence::Observed,
            is_one_variable: false,
            is_split: true,
            detour: Detour {
                approaches: vec![method.clone()],
                touches: vec![place(Some(4))],
                rewrites: vec![place(Some(5))],
                witnesses: vec![place(Some(6))],
                is_write: true,
            },
        }],
        plan: "enter\ta/B\trun\t()V\n".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_half_of_it_is_not() {
        let answer = sample();
        let bytes = answer.write();
        assert_eq!(format!("{:?}", Answer::read(&bytes)), format!("{:?}", Some(answer)));
        for cut in 0..bytes.len() {
            assert!(Answer::read(&bytes[..cut]).is_none(), "cut at {cut}");
        }
        assert!(Answer::read(&[bytes.as_slice(), &[0]].concat()).is_none());
    }
}

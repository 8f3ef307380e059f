//! Which JVMs are watched, and which of their classes are instrumented.

/// Classes that are never instrumented: the platform's own, build tools, test drivers and other agents.
/// A name ends with `/` if all below it is meant.
const LEFT_ALONE: &[&str] = &[
    "java/",
    "javax/",
    "jdk/",
    "sun/",
    "com/sun/",
    "org/apache/maven/",
    "org/codehaus/plexus/",
    "org/codehaus/classworlds/",
    "org/gradle/",
    "worker/org/gradle/",
    "org/junit/",
    "junit/",
    "org/hamcrest/",
    "org/opentest4j/",
    "org/apiguardian/",
    "org/testng/",
    "org/mockito/",
    "net/bytebuddy/",
    "org/jacoco/",
    "org/objectweb/asm/",
    "org/aspectj/",
    "com/intellij/rt/",
    "kotlin/",
    "scala/",
    "groovy/",
    "org/codehaus/groovy/",
    "org/apache/groovy/",
];

/// Programs that build others, by the start of their main class: what they start may be watched, they are not.
const BUILDERS: &[&str] = &[
    "com.sun.tools.",
    "jdk.",
    "sun.tools.",
    "sun.security.tools.",
    "org.gradle.launcher.",
    "org.gradle.wrapper.",
    "org.gradle.process.internal.worker.GradleWorkerMain.compiler",
    "org.codehaus.plexus.classworlds.launcher.Launcher",
    "org.apache.maven.wrapper.",
    "org.apache.maven.cli.",
    "org.mvndaemon.",
    "org.jetbrains.kotlin.daemon.",
    "org.jetbrains.kotlin.cli.",
    "xsbt.boot.",
    "sbt.",
    "org.apache.tools.ant.",
];

/// Whether a JVM with this command (`sun.java.command`) is watched.
pub(crate) fn is_watched(command: &str) -> bool {
    let main = command.split_whitespace().next().unwrap_or_default();
    // A main class may have its module before it.
    let main = main.rsplit('/').next().unwrap_or(main);
    main.ends_with(".jar") || !BUILDERS.iter().any(|builder| main.starts_with(builder))
}

/// Decides about classes by their names.
pub(crate) struct Selection {
    include: Vec<String>,
    exclude: Vec<String>,
}

impl Selection {
    pub(crate) fn new(include: &[String], exclude: &[String]) -> Selection {
        let slashed = |globs: &[String]| globs.iter().map(|glob| glob.replace('.', "/")).collect();
        Selection { include: slashed(include), exclude: slashed(exclude) }
    }

    /// `class` is a name with slashes. What was asked for by name is instrumented even if it is usually left alone, but
    /// never the platform's own classes.
    pub(crate) fn takes(&self, class: &str) -> bool {
        if LEFT_ALONE[..5].iter().any(|start| class.starts_with(start)) {
            return false;
        }
        if self.exclude.iter().any(|glob| matches(glob, class)) {
            return false;
        }
        if !self.include.is_empty() {
            return self.include.iter().any(|glob| matches(glob, class));
        }
        !LEFT_ALONE.iter().any(|start| class.starts_with(start))
    }
}

/// `*` is anything within a package, `**` anything, `?` one character.
fn matches(glob: &str, name: &str) -> bool {
    let Some(first) = glob.chars().next() else { return name.is_empty() };
    if let Some(rest) = glob.strip_prefix("**") {
        return (0..=name.len()).filter(|&at| name.is_char_boundary(at)).any(|at| matches(rest, &name[at..]));
    }
    let mut after = name.chars();
    match first {
        '*' => {
            let within = name.find('/').unwrap_or(name.len());
            (0..=within).filter(|&at| name.is_char_boundary(at)).any(|at| matches(&glob[1..], &name[at..]))
        }
        '?' => after.next().is_some_and(|c| c != '/') && matches(&glob[1..], after.as_str()),
        _ => after.next() == Some(first) && matches(&glob[first.len_utf8()..], after.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_know_packages() {
        for (glob, name, expected) in [
            ("com/shop/*", "com/shop/Cart", true),
            ("com/shop/*", "com/shop/a/Cart", false),
            ("com/shop/**", "com/shop/a/Cart", true),
            ("**/Cart", "com/shop/a/Cart", true),
            ("**Cart", "Cart", true),
            ("C?rt", "Cart", true),
            ("C?rt", "C/rt", false),
            ("com/shop/Cart", "com/shop/Cart$1", false),
            ("com/shop/Cart*", "com/shop/Cart$1", true),
            ("", "", true),
        ] {
            assert_eq!(matches(glob, name), expected, "{glob} {name}");
        }
    }

    #[test]
    fn classes_are_chosen() {
        let all = Selection::new(&[], &[]);
        assert!(all.takes("bank/Account") && all.takes("Main"));
        assert!(!all.takes("java/lang/String") && !all.takes("org/junit/Test"));
        let some = Selection::new(&["org.junit.**".to_owned(), "java.**".to_owned()], &["**Test".to_owned()]);
        assert!(some.takes("org/junit/Assert") && !some.takes("org/junit/Test"));
        assert!(!some.takes("java/lang/String") && !some.takes("bank/Account"));
    }

    #[test]
    fn compilers_and_build_tools_are_left_alone() {
        assert!(!is_watched("jdk.compiler/com.sun.tools.javac.Main -d out A.java"));
        assert!(!is_watched("org.codehaus.plexus.classworlds.launcher.Launcher test"));
        assert!(is_watched("bank.Main") && is_watched("/tmp/app.jar x") && is_watched(""));
        assert!(is_watched("/t/surefire/surefirebooter1.jar /t a b"));
    }
}

//! Which JVMs are watched, and which of their classes are instrumented.

use instrument::Globs;

/// Packages of the platform itself.
const PLATFORM: &[&str] = &["java", "javax", "jdk", "sun", "com.sun"];

/// Packages that are not instrumented unless somebody asks for them: build tools, test drivers, other agents, the
/// libraries of languages.
const LEFT_ALONE: &[&str] = &[
    "org.apache.maven",
    "org.codehaus.plexus",
    "org.codehaus.classworlds",
    "org.gradle",
    "worker.org.gradle",
    "org.junit",
    "junit",
    "org.hamcrest",
    "org.opentest4j",
    "org.apiguardian",
    "org.testng",
    "org.mockito",
    "net.bytebuddy",
    "org.jacoco",
    "org.objectweb.asm",
    "org.aspectj",
    "com.intellij.rt",
    "kotlin",
    "scala",
    "groovy",
    "org.codehaus.groovy",
    "org.apache.groovy",
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
    // A JVM that only lets an agent into another one.
    "net.bytebuddy.agent.",
];

/// Whether a JVM with this command (`sun.java.command`) is watched.
pub(crate) fn is_watched(command: &str) -> bool {
    let main = command.split_whitespace().next().unwrap_or_default();
    // A main class may have its module before it.
    let main = main.rsplit('/').next().unwrap_or(main);
    main.ends_with(".jar") || !BUILDERS.iter().any(|builder| main.starts_with(builder))
}

/// The globs of classes to instrument (none for all), and of those to leave alone. What was asked for by name is
/// instrumented even if it is usually left alone, but never the platform's own classes.
pub(crate) fn globs(include: &[String], exclude: &[String]) -> (Globs, Globs) {
    let usually = if include.is_empty() { LEFT_ALONE } else { PLATFORM };
    let left_alone = PLATFORM.iter().chain(usually).map(|&start| start.to_owned());
    (Globs::new(include.iter().cloned()), Globs::new(left_alone.chain(exclude.iter().cloned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_chosen() {
        let takes = |include: &[&str], exclude: &[&str], class: &str| {
            let owned = |globs: &[&str]| globs.iter().map(|&glob| glob.to_owned()).collect::<Vec<String>>();
            let (include, exclude) = globs(&owned(include), &owned(exclude));
            let class = class.as_bytes();
            (include.is_empty() || include.matches(class)) && !exclude.matches(class)
        };
        assert!(takes(&[], &[], "bank/Account") && takes(&[], &[], "Main") && takes(&[], &[], "javafoo/Main"));
        assert!(!takes(&[], &[], "java/lang/String") && !takes(&[], &[], "org/junit/Test"));
        let include = ["org.junit.**", "java.**"];
        assert!(takes(&include, &["**Test"], "org/junit/Assert") && !takes(&include, &["**Test"], "org/junit/Test"));
        assert!(!takes(&include, &[], "java/lang/String") && !takes(&include, &[], "bank/Account"));
    }

    #[test]
    fn compilers_and_build_tools_are_left_alone() {
        assert!(!is_watched("jdk.compiler/com.sun.tools.javac.Main -d out A.java"));
        assert!(!is_watched("org.codehaus.plexus.classworlds.launcher.Launcher test"));
        assert!(is_watched("bank.Main") && is_watched("/tmp/app.jar x") && is_watched(""));
        assert!(is_watched("/t/surefire/surefirebooter1.jar /t a b"));
    }
}

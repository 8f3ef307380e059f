//! Output that only people see: the console and loggers.

use super::call::State::Chars;
use super::line::Gives::{self, Receiver};
use super::line::{Line, OWN, Table, computes, does, logs, table, writes};

/// Each call is a section on the stream, though which lock that is depends on the release.
const PRINTER: &[Line] = &[
    writes("print println write").prints(),
    writes("printf format append").gives(Receiver).prints(),
    writes("flush").prints(),
    does("checkError close").prints(),
];

/// Static fields that print to the console: class, field.
pub(crate) const CONSOLE: &[(&str, &str)] = &[("java/lang/System", "out"), ("java/lang/System", "err")];

const JUL: &[Line] = &[
    logs("log logp logrb severe warning info config fine finer finest entering exiting throwing"),
    does("isLoggable getLevel getName"),
];

/// Names shared by slf4j, log4j and commons-logging.
const LEVELS: &[Line] = &[logs("trace debug info warn error"), does("isTraceEnabled isDebugEnabled isInfoEnabled")];

const FATAL: &[Line] = &[logs("fatal")];

const SLF4J: &[Line] = &[
    does("isWarnEnabled isErrorEnabled getName"),
    does("atTrace atDebug atInfo atWarn atError atLevel makeLoggingEventBuilder"),
];

const SLF4J_BUILDER: &[Line] =
    &[logs("log"), logs("addArgument addKeyValue addMarker setCause setMessage").gives(Receiver)];

const LOG4J: &[Line] = &[
    logs("log catching printf logMessage"),
    // They return what they are given.
    logs("throwing(Throwable)").gives(Gives::Argument(0)),
    logs("throwing(Level,Throwable)").gives(Gives::Argument(1)),
    logs("entry exit traceEntry traceExit"),
    does("isWarnEnabled isErrorEnabled isFatalEnabled isEnabled getName getLevel"),
    does("atTrace atDebug atInfo atWarn atError atFatal atLevel always"),
];

const LOG4J_BUILDER: &[Line] = &[logs("log logAndGet"), logs("withThrowable withMarker withLocation").gives(Receiver)];

const LOG4J_1: &[Line] = &[logs("log l7dlog forcedLog assertLog"), does("isEnabledFor getLevel getName")];

const CONTEXT: &[Line] = &[does("put remove clear get")];

pub(crate) const TABLES: &[Table] = &[
    table("java/io", "PrintStream PrintWriter", Chars, &[PRINTER]).locked(OWN),
    table(
        "java/io",
        "Console",
        Chars,
        &[&[writes("printf format").gives(Receiver).prints(), does("readLine readPassword")]],
    ),
    table("java/lang", "System$Logger", Chars, &[&[logs("log"), does("isLoggable getName")]]),
    table("java/lang", "Throwable", Chars, &[&[logs("printStackTrace()")]]),
    table("java/util/logging", "Logger", Chars, &[JUL]),
    table("java/util/logging", "Handler", Chars, &[&[logs("publish flush")]]),
    table("java/lang", "IO", Chars, &[&[logs("print println")]]).since(25),
    table("org/slf4j", "Logger", Chars, &[LEVELS, SLF4J]).library(),
    table("org/slf4j/spi", "LoggingEventBuilder", Chars, &[SLF4J_BUILDER]).library(),
    table("org/slf4j", "MDC", Chars, &[CONTEXT]).library(),
    table("org/apache/logging/log4j", "Logger", Chars, &[LEVELS, FATAL, LOG4J]).library(),
    table("org/apache/logging/log4j", "LogBuilder", Chars, &[LOG4J_BUILDER]).library(),
    table("org/apache/log4j", "Category", Chars, &[LEVELS_1, FATAL, LOG4J_1]).library(),
    table("org/apache/log4j", "Logger", Chars, &[&[logs("trace"), does("isTraceEnabled")]]).library(),
    table(
        "org/apache/commons/logging",
        "Log",
        Chars,
        &[LEVELS, FATAL, &[does("isWarnEnabled isErrorEnabled isFatalEnabled")]],
    )
    .library(),
    table("org/jboss/logging", "BasicLogger", Chars, &[JBOSS]).library(),
    table("kotlin/io", "ConsoleKt", Chars, &[&[logs("print println"), computes("readLine readln")]]).library(),
    table("scala", "Console$ Predef$", Chars, &[&[logs("print println printf")]]).library(),
];

/// log4j 1 has `trace` in `Logger` alone.
const LEVELS_1: &[Line] = &[logs("debug info warn error"), does("isDebugEnabled isInfoEnabled")];

const JBOSS: &[Line] = &[
    logs("trace debug info warn error fatal log tracef debugf infof warnf errorf fatalf logf"),
    logs("tracev debugv infov warnv errorv fatalv logv"),
    does("isTraceEnabled isDebugEnabled isInfoEnabled isEnabled"),
];

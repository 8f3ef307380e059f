//! Events to findings: the dynamic detectors.
//!
//! A detector takes one event after the other, in an order that the run had, and keeps only what it needs to judge what
//! is still to come. It knows neither JVM nor files: an event stream is an event stream, from a file, a pipe or a test.


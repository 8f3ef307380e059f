//! Look-ups.

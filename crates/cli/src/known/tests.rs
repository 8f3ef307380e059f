//! Class paths and JDKs, right and wrong.

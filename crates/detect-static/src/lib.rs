//! detect-static

//! Look-up, and each question with a yes and a no.

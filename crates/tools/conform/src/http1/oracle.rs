//! Interpretations of a case by other HTTP implementations.

pub(crate) mod h11;
pub(crate) mod hyper;

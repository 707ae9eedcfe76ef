//! Readings of other HTTP implementations.

pub(crate) mod h11;
pub(crate) mod hyper;

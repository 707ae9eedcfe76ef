//! Other people's readings.

pub(crate) mod h11;
pub(crate) mod hyper;

//! tmp
use crate::keyspace::Keyspace;
impl Keyspace {
    pub(crate) fn about_to_change(&mut self, _db: usize, _slot: u32) {}
    pub(crate) fn about_to_flush(&mut self, _db: usize) {}
    pub(crate) fn about_to_swap(&mut self, _first: usize, _second: usize) {}
    pub(crate) fn inserted(&mut self, _db: usize, _slot: u32) {}
}

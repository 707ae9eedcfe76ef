//! Cache of ready responses. Each core has its own cache, so a cache hit accesses no memory that
//! cores share.

use std::num::NonZeroUsize;
use std::rc::Rc;

use http1::Target;
use image_plan::Accepts;
use lru::LruCache;

use crate::choice::Choice;
use crate::coding::Coding;
use crate::fields::Field;
use crate::file_request::TargetForm;
use crate::permission::Relevance;
use crate::representation::Representation;

/// Cache of responses that are ready to be sent. The least recently used response is evicted first.
#[derive(Debug)]
pub(crate) struct ReadyResponses {
    entries: LruCache<Box<[u8]>, Entry>,
    memory_bytes: u64,
    memory_bytes_max: u64,
    /// Rule that decides which parameters of a query distinguish responses.
    relevance: Relevance,
    /// Buffer in which keys are composed.
    key: Vec<u8>,
}

/// Parts of a request that select its ready response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadyKey<'t> {
    pub(crate) target: Target<'t>,
    /// Meaning of the target. A response was permitted for one form only, so a target of the other
    /// form must not get it.
    pub(crate) form: TargetForm,
    pub(crate) accepts: Accepts,
}

/// Ready response to one target and one set of accepted formats.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) representation: Rc<Representation>,
    /// The same response in the content codings that clients requested, indexed by coding. If a
    /// coding does not make the body smaller, its entry refers to the plain response.
    pub(crate) coded: [Option<Rc<Representation>>; Coding::COUNT],
    /// Time on the core's clock from which on the original is checked before the response is used.
    pub(crate) revalidate_at_ms: u64,
    /// Unix time in seconds until which clients may get the response; 0 if they cannot request the
    /// target themselves, or if no request of a client was permitted yet.
    pub(crate) clients_until_unix_s: u64,
    /// Fields that the grammar of the target adds to the response.
    pub(crate) added: Rc<[Field]>,
}

impl Entry {
    fn memory_bytes(&self) -> u64 {
        let coded = self.coded.iter().flatten();
        let coded = coded.filter(|coded| !Rc::ptr_eq(coded, &self.representation));
        let coded: u64 = coded.map(|coded| coded.memory_bytes()).sum();
        self.representation.memory_bytes() + coded
    }
}

impl ReadyResponses {
    /// Returns an empty cache for at most `entries_max` responses, whose bodies in memory have at
    /// most `memory_bytes_max` bytes in total.
    pub(crate) fn new(
        entries_max: NonZeroUsize,
        memory_bytes_max: u64,
        relevance: Relevance,
    ) -> ReadyResponses {
        ReadyResponses {
            entries: LruCache::new(entries_max),
            memory_bytes: 0,
            memory_bytes_max,
            relevance,
            key: Vec::new(),
        }
    }

    /// Returns the response with this key, even if the original must be checked before the response
    /// is used.
    pub(crate) fn get(&mut self, key: ReadyKey<'_>) -> Option<&mut Entry> {
        write_key(&mut self.key, key, self.relevance);
        self.entries.get_mut(&self.key[..])
    }

    /// Returns the ready response if it still matches `choice`. If it does, the next check of its
    /// original is postponed to `revalidate_at_ms`. If that check is already scheduled for a later
    /// time, its time does not change. Clients get the response until `clients_until_unix_s`, or
    /// until a later time that was set before.
    pub(crate) fn renew(
        &mut self,
        key: ReadyKey<'_>,
        choice: &Choice,
        revalidate_at_ms: u64,
        clients_until_unix_s: u64,
    ) -> Option<Rc<Representation>> {
        let entry = self.get(key)?;
        if !entry.representation.is(choice) {
            return None;
        }
        entry.revalidate_at_ms = entry.revalidate_at_ms.max(revalidate_at_ms);
        entry.clients_until_unix_s = entry.clients_until_unix_s.max(clients_until_unix_s);
        Some(Rc::clone(&entry.representation))
    }

    /// Adds a response, and evicts others until the limits are met.
    pub(crate) fn insert(&mut self, key: ReadyKey<'_>, entry: Entry) {
        write_key(&mut self.key, key, self.relevance);
        self.memory_bytes += entry.memory_bytes();
        let left = self.entries.push(self.key.as_slice().into(), entry);
        self.memory_bytes -= left.map_or(0, |(_, entry)| entry.memory_bytes());
        self.trim();
    }

    /// Returns `plain`, the response with this key, encoded in `coding`, if that encoding is ready.
    pub(crate) fn coded(
        &mut self,
        key: ReadyKey<'_>,
        plain: &Rc<Representation>,
        coding: Coding,
    ) -> Option<Rc<Representation>> {
        let entry = self.get(key)?;
        let is_current = Rc::ptr_eq(&entry.representation, plain);
        entry.coded[coding as usize].clone().filter(|_| is_current)
    }

    /// Adds `coded`, which is `plain` encoded in `coding`, if `plain` is still the response with
    /// this key.
    pub(crate) fn insert_coded(
        &mut self,
        key: ReadyKey<'_>,
        plain: &Rc<Representation>,
        (coding, coded): (Coding, &Rc<Representation>),
    ) {
        let Some(entry) = self.get(key) else {
            return;
        };
        if !Rc::ptr_eq(&entry.representation, plain) {
            return;
        }
        let before = entry.memory_bytes();
        entry.coded[coding as usize] = Some(Rc::clone(coded));
        let grown_bytes = entry.memory_bytes() - before;
        self.memory_bytes += grown_bytes;
        self.trim();
    }

    /// Evicts responses until the bodies fit into the memory limit.
    fn trim(&mut self) {
        while self.memory_bytes_max < self.memory_bytes {
            let Some((_, entry)) = self.entries.pop_lru() else {
                return;
            };
            self.memory_bytes -= entry.memory_bytes();
        }
    }
}

/// Writes the key of a response. Leaves out the parameters that are ignored: targets that differ
/// only in such parameters share an entry.
fn write_key(key: &mut Vec<u8>, parts: ReadyKey<'_>, relevance: Relevance) {
    key.clear();
    let ReadyKey { target, form, .. } = parts;
    let Accepts {
        avif,
        webp,
        jxl,
        heic,
        named,
    } = parts.accepts;
    let is_imgproxy = form == TargetForm::Imgproxy;
    let is_iiif = form == TargetForm::Iiif;
    let bits = [is_iiif, is_imgproxy, named, heic, jxl, avif, webp];
    key.push(bits.iter().fold(0, |key, bit| key << 1 | u8::from(*bit)));
    key.extend_from_slice(target.path.as_bytes());
    let Some(query) = target.query else {
        return;
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let is_signed = relevance.is_signed(query);
    let mut between = b'?';
    for pair in pairs.filter(|pair| is_signed || relevance.is_relevant(pair)) {
        key.push(between);
        key.extend_from_slice(pair.as_bytes());
        between = b'&';
    }
}

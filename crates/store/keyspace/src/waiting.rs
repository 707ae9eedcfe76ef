//! Keys that clients block on.

use std::collections::HashMap;

use bytes::Bytes;

/// For each database, the keys that clients block on, with the number of these clients.
#[derive(Debug)]
pub(crate) struct WaitedKeys {
    dbs: Vec<HashMap<Bytes, usize>>,
}

impl WaitedKeys {
    pub(crate) fn new(databases: usize) -> Self {
        Self {
            dbs: (0..databases).map(|_| HashMap::new()).collect(),
        }
    }

    /// Registers a client that blocks on this key.
    pub(crate) fn add(&mut self, db: usize, key: Bytes) {
        *self.dbs[db].entry(key).or_default() += 1;
    }

    /// Removes the registration of one client.
    pub(crate) fn remove(&mut self, db: usize, key: &Bytes) {
        if let Some(clients) = self.dbs[db].get_mut(key) {
            *clients -= 1;
            if *clients == 0 {
                self.dbs[db].remove(key);
            }
        }
    }

    /// Returns the key if clients block on it.
    #[inline]
    pub(crate) fn find(&self, db: usize, key: &[u8]) -> Option<&Bytes> {
        self.dbs[db].get_key_value(key).map(|(key, _)| key)
    }

    /// Returns, for one database, all keys that clients block on.
    pub(crate) fn keys(&self, db: usize) -> impl Iterator<Item = &Bytes> {
        self.dbs[db].keys()
    }
}

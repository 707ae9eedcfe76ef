//! Tests with a simulated disk that is full and also refuses to truncate a file.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;

use super::{Disk, Journal, Sum};
use crate::config::Fsync;

#[derive(Default)]
struct Sim {
    file: Vec<u8>,
    /// Maximum length of the file, in bytes.
    room: usize,
    can_truncate: bool,
    /// Number of refused truncations.
    refused: usize,
}

#[derive(Clone, Default)]
struct SimDisk(Arc<Mutex<Sim>>);

impl SimDisk {
    fn with<T>(&self, does: impl FnOnce(&mut Sim) -> T) -> T {
        does(&mut self.0.lock().expect("lock is not poisoned"))
    }

    fn until(&self, holds: impl Fn(&Sim) -> bool) {
        while !self.with(|sim| holds(sim)) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Disk for SimDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.with(|sim| sim.file.len() as u64))
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.with(|sim| {
            let written_len = bytes.len().min(sim.room.saturating_sub(sim.file.len()));
            sim.file.extend_from_slice(&bytes[..written_len]);
            match written_len == bytes.len() {
                true => Ok(()),
                false => Err(io::ErrorKind::StorageFull.into()),
            }
        })
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.with(|sim| {
            if !sim.can_truncate {
                sim.refused += 1;
                return Err(io::ErrorKind::Other.into());
            }
            sim.file.truncate(len as usize);
            Ok(())
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn nothing_is_appended_after_a_partial_batch() {
    let disk = SimDisk::default();
    let set = |value| [(0, ["SET", "k", value].map(Bytes::from).to_vec())];
    let started = Journal::start_on(
        Box::new(disk.clone()),
        0,
        Fsync::EverySecond,
        Sum::default(),
        Arc::default(),
    );
    let mut journal = started.expect("a thread");
    disk.with(|sim| sim.room = 60);
    journal.append(&set("1"));
    journal.write_out().expect("there is room");
    let whole = disk.with(|sim| sim.file.clone());
    journal.append(&set("2"));
    journal.write_out().expect_err("there is no room");

    // The disk has room again, but the partial batch cannot be cut off, so nothing may be appended.
    disk.with(|sim| sim.room = 1000);
    disk.until(|sim| 1 < sim.refused);
    assert_eq!(disk.with(|sim| sim.file.len()), 60);
    assert!(journal.fault().is_some());

    disk.with(|sim| sim.can_truncate = true);
    disk.until(|sim| sim.room == 1000 && 60 < sim.file.len());
    let expected = [&whole[..], b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\n2\r\n"].concat();
    assert_eq!(disk.with(|sim| sim.file.clone()), expected);
}

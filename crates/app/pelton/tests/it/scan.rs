//! `kill -9` at random times during a scan. The last complete index remains. The next scan writes
//! the same index as a full scan.
//!
//! `cargo xtask conform scan` kills a scan a hundred times.

use std::fs;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{Home, Server, eventually, pelton, repetitions};

const FLAC: &[u8] = include_bytes!("../../../../library/tags/testdata/sine.flac");
const OPUS: &[u8] = include_bytes!("../../../../library/tags/testdata/sine.opus");
const ALBUMS: usize = 40;
const TRACKS: usize = 10;

/// Pseudo-random numbers. The same seed yields the same numbers, so that failures can be
/// reproduced.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

fn scan(home: &Home, data: &str, full: bool) -> Child {
    let words = ["scan", "library", "--data", data];
    let mut command = pelton(home, words);
    command.args(full.then_some("--full")).stdout(Stdio::null());
    command.spawn().expect("the program that was just built")
}

fn index(home: &Home, data: &str) -> Vec<u8> {
    fs::read(home.directory().join(data).join("catalog/index")).expect("a scan has ended")
}

/// Runs a full scan into an empty directory, and returns the index and the duration.
fn clean(home: &Home) -> (Vec<u8>, Duration) {
    let begun = Instant::now();
    let ended = scan(home, "clean", true).wait().expect("a child of ours");
    assert!(ended.success());
    (index(home, "clean"), begun.elapsed())
}

/// Adds, replaces, moves or removes a few files.
fn change(home: &Home, round: usize, chance: &mut Chance) {
    for step in 0..=chance.below(20) {
        let folder = home
            .library()
            .join(format!("Album {}", chance.below(ALBUMS)));
        let track = folder.join(format!("{} - Song.flac", chance.below(TRACKS)));
        match chance.below(4) {
            0 if track.exists() => fs::remove_file(&track).expect("it is there"),
            1 if track.exists() => {
                let moved = home.library().join(format!("Moved {round}-{step}.flac"));
                fs::rename(&track, moved).expect("it is there");
            }
            _ => {
                fs::create_dir_all(&folder).expect("the home can be written");
                fs::write(&track, OPUS).expect("the home can be written");
            }
        }
    }
}

/// Returns the tracks of the server, once it has scanned the library.
fn tracks(server: &Server) -> Value {
    eventually("the scan", || {
        let scanned: Value = serde_json::from_str(server.get("/-/api/scan").text()).ok()?;
        scanned["ended"].as_str()?;
        serde_json::from_str(server.get("/-/api/tracks?limit=500").text()).ok()
    })
}

#[test]
fn an_index_that_is_truncated_while_it_is_served_does_no_harm() {
    let home = Home::new();
    for track in 0..300 {
        home.put(&format!("Album/{track} - Song.flac"), FLAC);
    }
    let server = Server::plain(&home, &[]);
    let before = tracks(&server);
    assert_eq!(before["total"], 300);
    // The server maps the file of the index and holds a lease on the file. This write waits until
    // the server has copied the index and released the lease. Without the lease, the write would
    // truncate the file while the server reads it.
    fs::write(home.data().join("catalog/index"), b"cut").expect("the home can be written");
    assert_eq!(tracks(&server), before);
    drop(server);
    let server = Server::plain(&home, &[]);
    assert_eq!(tracks(&server), before);
}

#[test]
fn killed_anywhere_it_leaves_a_whole_index_and_the_next_comes_to_the_same() {
    let home = Home::new();
    for (album, track) in (0..ALBUMS).flat_map(|album| (0..TRACKS).map(move |track| (album, track)))
    {
        home.put(&format!("Album {album}/{track} - Song.flac"), FLAC);
    }
    assert!(
        scan(&home, "data", false)
            .wait()
            .expect("a child of ours")
            .success()
    );
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let mut killed = 0;
    for round in 0..repetitions(12) {
        let before = index(&home, "data");
        change(&home, round, &mut chance);
        let (after, took) = clean(&home);
        let until = took.mul_f64(chance.below(1_000) as f64 / 900.0);
        let (begun, mut child) = (Instant::now(), scan(&home, "data", chance.below(2) == 0));
        while begun.elapsed() < until && child.try_wait().expect("a child of ours").is_none() {
            thread::park_timeout(Duration::from_micros(50));
        }
        child.kill().expect("a child of ours");
        let ended = child.wait().expect("a child of ours");
        killed += usize::from(!ended.success());
        let left = index(&home, "data");
        assert!(
            left == before || left == after,
            "round {round}: neither the last index nor the next"
        );
        assert!(
            scan(&home, "data", false)
                .wait()
                .expect("a child of ours")
                .success()
        );
        assert!(
            index(&home, "data") == after,
            "round {round}: another index than a clean scan's"
        );
    }
    println!("{killed} killed before their end");
    assert_ne!(killed, 0, "every scan came to its end");
}

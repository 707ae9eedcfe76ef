//! Protocol violations, such as replies that no honest worker sends, and writes to the answer's
//! file after the reply.

use crate::{Attack, SOCKET, Scene};
use sandbox_protocol::{AllegedReply, Status};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

pub(crate) const ATTACKS: &[(&str, Attack)] = &[
    ("wrong-id", |scene| {
        AllegedReply::new(scene.job.id ^ 1, Status::Done, (0, 0), 1)
    }),
    ("wrong-size", |scene| {
        AllegedReply::new(scene.job.id, Status::Done, (641, 480), 1)
    }),
    ("too-long", |scene| {
        AllegedReply::new(scene.job.id, Status::Done, (0, 0), 1 << 40)
    }),
    ("empty", |scene| {
        AllegedReply::new(scene.job.id, Status::Done, (0, 0), 0)
    }),
    ("garbage", |scene| {
        scene.say(&[0xff; 80]);
        honest(scene)
    }),
    ("giant", |scene| {
        scene.say(&[0; 4_096]);
        honest(scene)
    }),
    ("terminal-codes", |scene| {
        let reply = AllegedReply::new(scene.job.id, Status::Undecodable, (0, 0), 0);
        reply.with_detail("\u{1b}[2J")
    }),
    ("leave", |_| {
        // SAFETY: the call ends the process.
        unsafe { libc::_exit(7) }
    }),
    ("hang-up", |_| {
        // SAFETY: the descriptor belongs to this process, which no longer uses it.
        unsafe { libc::close(SOCKET) };
        loop {
            std::hint::spin_loop();
        }
    }),
    ("late", late),
    ("mapped", mapped),
    ("beyond", beyond),
];

fn honest(scene: &Scene<'_>) -> AllegedReply {
    scene.done(b"honest")
}

/// Replies, then writes to the answer's file until the server kills the process.
fn late(scene: &Scene<'_>) -> AllegedReply {
    let reply = honest(scene).to_bytes();
    scene.say(&reply);
    loop {
        // Once the server has sealed the answer, the write fails. The test relies on this failure.
        let _refused = scene.answer.write_at(b"LATER!", 0);
    }
}

/// Replies while the answer is still mapped for writing.
fn mapped(scene: &Scene<'_>) -> AllegedReply {
    let reply = honest(scene).to_bytes();
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let descriptor = scene.answer.as_raw_fd();
    // SAFETY: the call creates a new mapping of 4,096 bytes of a file that is at least as long.
    let map = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            4_096,
            protection,
            libc::MAP_SHARED,
            descriptor,
            0,
        )
    };
    assert_ne!(map, libc::MAP_FAILED, "a shared mapping is allowed");
    scene.say(&reply);
    loop {
        std::hint::spin_loop();
    }
}

/// Writes beyond the end of the answer's file.
fn beyond(scene: &Scene<'_>) -> AllegedReply {
    let end = scene.job.limits.output_bytes_max;
    match scene.answer.write_at(b"more", end) {
        Ok(_) => scene.done(b"escaped"),
        Err(_) => scene.result(-1),
    }
}

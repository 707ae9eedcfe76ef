//! Ways in which the test program uses its stream to a service.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};

fn line() -> File {
    // SAFETY: the descriptor is open from the start, and no other code owns it.
    File::from(unsafe { OwnedFd::from_raw_fd(3) })
}

fn input() -> Vec<u8> {
    let mut input = Vec::new();
    let read = std::io::stdin().read_to_end(&mut input);
    read.expect("standard input can be read");
    input
}

/// Sends each line of the standard input to the service of the job, waits for the answer to the
/// line, and prints all answers.
pub(crate) fn ask() {
    let mut line = line();
    let mut answers = Vec::new();
    for question in input().split_inclusive(|byte| *byte == b'\n') {
        if line.write_all(question).is_err() {
            break;
        }
        let mut answer = vec![0; question.len()];
        if line.read_exact(&mut answer).is_err() {
            break;
        }
        answers.extend(answer);
    }
    let written = std::io::stdout().write_all(&answers);
    written.expect("standard output takes it");
}

/// Sends its whole input at once, and does not wait for answers.
pub(crate) fn tell() {
    line().write_all(&input()).expect("the line takes it");
    println!("sent");
}

/// Writes requests and never reads an answer.
pub(crate) fn be_deaf() {
    let mut line = line();
    while line.write_all(b"and another thing\n").is_ok() {}
}

/// Waits for an answer although it sent no request.
pub(crate) fn listen() {
    let read = line().read(&mut [0]);
    println!("{}", read.is_ok());
}

//! A worker that attacks the sandbox in which it runs. A job's plan is the name of the attack,
//! followed by numbers.
//!
//! An attack that the kernel refuses is reported as [`Status::Unsupported`] with the error's
//! message. An attack that succeeds is reported as [`Status::Done`] with "escaped". After most
//! attacks, the kernel kills the child before it replies.

mod calls;
mod lies;
mod machine;
mod poison;
mod registers;
mod strain;

use sandbox_protocol::{AllegedReply, Job, Status};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;

#[global_allocator]
static HEAP: sandbox::inside::Heap = sandbox::inside::Heap;

/// Inputs of an attack.
struct Scene<'a> {
    job: &'a Job<'a>,
    original: &'a File,
    answer: &'a File,
    numbers: Vec<u64>,
}

/// Descriptor of the socket on which a child receives its job and replies.
const SOCKET: i32 = 4;

fn main() {
    sandbox::inside::serve(|| (), attack)
}

fn attack(job: &Job<'_>, original: &File, answer: &File) -> AllegedReply {
    let plan = std::str::from_utf8(job.plan).expect("plans of the tests are text");
    let mut words = plan.split(' ');
    let name = words.next().expect("split yields at least one word");
    let numbers = words.map(|word| word.parse().expect("numbers follow the word"));
    let scene = Scene {
        job,
        original,
        answer,
        numbers: numbers.collect(),
    };
    let attacks = calls::ATTACKS
        .iter()
        .chain(lies::ATTACKS)
        .chain(machine::ATTACKS)
        .chain(poison::ATTACKS)
        .chain(registers::ATTACKS)
        .chain(strain::ATTACKS);
    for (known, attack) in attacks {
        if *known == name {
            return attack(&scene);
        }
    }
    match name {
        "echo" => echo(&scene),
        "descriptors" => descriptors(&scene),
        "environment" => environment(&scene),
        _ => panic!("no attack has the name {name}"),
    }
}

type Attack = fn(&Scene<'_>) -> AllegedReply;

impl Scene<'_> {
    fn done(&self, bytes: &[u8]) -> AllegedReply {
        let written = self.answer.write_all_at(bytes, 0);
        written.expect("the answer is writable");
        AllegedReply::new(self.job.id, Status::Done, (0, 0), bytes.len() as u64)
    }

    /// Builds the reply for a system call that returned `returned`. If `returned` is -1, the reply
    /// contains the message for `errno`.
    fn result(&self, returned: i64) -> AllegedReply {
        if returned == -1 {
            let error = std::io::Error::last_os_error();
            let reply = AllegedReply::new(self.job.id, Status::Unsupported, (0, 0), 0);
            return reply.with_detail(&error.to_string());
        }
        self.done(b"escaped")
    }

    /// Sends a packet on the socket, in addition to the reply that `serve` sends.
    fn say(&self, bytes: &[u8]) {
        // SAFETY: pointer and length are those of a slice.
        let sent = unsafe { libc::write(SOCKET, bytes.as_ptr().cast(), bytes.len()) };
        assert_eq!(sent, bytes.len() as isize, "the server listens");
    }
}

fn echo(scene: &Scene<'_>) -> AllegedReply {
    let mut bytes = Vec::new();
    let mut original = scene.original;
    original
        .read_to_end(&mut bytes)
        .expect("the original is readable");
    scene.done(&bytes)
}

/// Answers with the numbers of all open descriptors. If the plan contains a number, only
/// descriptors below this number are tested.
fn descriptors(scene: &Scene<'_>) -> AllegedReply {
    let mut open = String::new();
    let end = scene.numbers.first().map_or(4_096, |end| *end as i32);
    for descriptor in 0..end {
        // SAFETY: the call changes nothing. For an open socket, it fails with ESPIPE.
        let at = unsafe { libc::lseek(descriptor, 0, libc::SEEK_CUR) };
        let error = std::io::Error::last_os_error().raw_os_error();
        if at != -1 || error != Some(libc::EBADF) {
            open.push_str(&format!("{descriptor} "));
        }
    }
    scene.done(open.trim_end().as_bytes())
}

fn environment(scene: &Scene<'_>) -> AllegedReply {
    let mut names: Vec<_> = std::env::vars().map(|(name, _)| name).collect();
    names.extend(std::env::args().skip(1));
    scene.done(format!("[{}]", names.join(" ")).as_bytes())
}

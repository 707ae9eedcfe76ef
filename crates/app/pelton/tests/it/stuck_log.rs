//! Processes that cannot write to stderr and stdout: the reader has closed the pipe, or does not
//! read.

use std::fs::File;
use std::io::{ErrorKind, PipeReader, Write as _, pipe};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::Signal;

use crate::harness::{Client, Home, eventually, media, pelton, signal};
use crate::store::{Dir, Store, ask, free_port};

/// State of the pipe's reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Gone,
    Idle,
}

const READERS: [Reader; 2] = [Reader::Gone, Reader::Idle];

/// Connects stdout and stderr of a command to a pipe whose reader is in the state `kind`. An idle
/// reader's pipe is full. Returns the idle reader, which the caller must keep open.
fn stick(command: &mut Command, kind: Reader) -> Option<PipeReader> {
    let (reader, mut writer) = pipe().expect("descriptors");
    let reader = match kind {
        Reader::Gone => None,
        Reader::Idle => {
            fcntl_setfl(writer.as_fd(), OFlags::NONBLOCK).expect("an open pipe");
            let mut write = || writer.write(&[b'\n'; 4096]).map_err(|err| err.kind());
            while write().is_ok() {}
            assert_eq!(write(), Err(ErrorKind::WouldBlock));
            fcntl_setfl(writer.as_fd(), OFlags::empty()).expect("an open pipe");
            Some(reader)
        }
    };
    let writer = File::from(OwnedFd::from(writer));
    command.stdout(writer.try_clone().expect("a descriptor"));
    command.stderr(writer);
    reader
}

fn end(child: &mut Child) -> ExitStatus {
    eventually("the process ends", || {
        child.try_wait().expect("a child of this process")
    })
}

#[test]
fn a_server_goes_on_and_ends_when_asked() {
    for kind in READERS {
        let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
        let address: SocketAddr = format!("127.0.0.1:{}", free_port())
            .parse()
            .expect("an address");
        let listen = address.to_string();
        let mut command = pelton(
            &home,
            ["serve", "--listen", &listen, "--log-level", "debug"],
        );
        command.args(["--access-log", "stderr"]).arg(home.library());
        let reader = stick(&mut command, kind);
        let mut child = command.stdin(Stdio::null()).spawn().expect("it starts");
        eventually("it listens", || TcpStream::connect(address).ok());
        let get = |accept: &str| {
            let mut client = Client::connect(address);
            client.request("GET", "/p.jpg?w=48", accept);
            client.response().status
        };
        assert_eq!(get("accept: image/webp\r\n"), 200, "{kind:?}");
        // The signal and the requests make the signal thread, a core and the access log write
        // lines.
        signal(child.id(), Signal::HUP);
        for _ in 0..20 {
            assert_eq!(get(""), 200, "{kind:?}");
        }
        signal(child.id(), Signal::TERM);
        assert_eq!(end(&mut child).code(), Some(0), "{kind:?}");
        drop(reader);
    }
}

#[test]
fn a_store_goes_on_and_ends_when_asked() {
    for kind in READERS {
        let dir = Dir::new("stuck");
        let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
        let reader = stick(&mut command, kind);
        let mut store = Store::start_as(command, &dir.0, &["--save", "3600 1"]);
        let mut client = store.client();
        assert_eq!(ask(&mut client, "SET a 1").expect("a reply"), "+OK");
        // Each of these connections writes a line to the log.
        for _ in 0..20 {
            ask(&mut store.client(), "POST / HTTP/1.1").expect("the end");
        }
        assert_eq!(ask(&mut client, "SAVE").expect("a reply"), "+OK");
        signal(store.child.id(), Signal::TERM);
        assert_eq!(end(&mut store.child).code(), Some(0), "{kind:?}");
        drop(reader);
    }
}

#[test]
fn commands_end_with_the_code_that_they_have_otherwise() {
    let home = Home::with(&[("a.mp3", b"no music"), ("b.flac", b"fLaC and no more")]);
    let library = home.library();
    let library = library.to_str().expect("a path in ASCII");
    let broken: &[(&[&str], Reader)] = &[
        (&["store", "--prot", "1"], Reader::Gone),
        (&["store", "--prot", "1"], Reader::Idle),
        (&["serve", "--qualty", "1"], Reader::Idle),
        (&["check"], Reader::Gone),
        (&["scan", library], Reader::Gone),
        (&["prefetch", library], Reader::Gone),
        (&["user", "list"], Reader::Gone),
    ];
    for (words, kind) in broken {
        let usual = pelton(&home, *words).output().expect("it starts");
        let mut command = pelton(&home, *words);
        let reader = stick(&mut command, *kind);
        let mut child = command.stdin(Stdio::null()).spawn().expect("it starts");
        let found = end(&mut child);
        assert_eq!(found.code(), usual.status.code(), "{words:?} {kind:?}");
        drop(reader);
    }
}

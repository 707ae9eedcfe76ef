//! One server per directory: a second one is refused, with the directory and the process id of the
//! first in the message.

use std::fs;
use std::net::TcpStream;
use std::process::{Command, Output};

use crate::harness::{Home, Server, eventually, pelton};
use crate::store::{Dir, Store, free_port};

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// Starts a second server, which must be refused with the process id of the first.
fn assert_refused(home: &Home, pid: u32) {
    let refused = pelton(home, ["serve", "--listen", "127.0.0.1:0"])
        .arg("--data")
        .arg(home.data())
        .arg(home.library())
        .output()
        .expect("it starts");
    let data = home.data();
    let expected = format!(
        "pelton: serve: data directory: {} is in use by process {pid} pelton serve\n\
         hint:   give each server a directory of its own, or end the process that uses this directory\n",
        data.display()
    );
    assert_eq!(stderr(&refused), expected);
    assert_eq!(refused.status.code(), Some(3));
}

#[test]
fn a_second_server_on_a_data_directory_is_refused() {
    let home = Home::with(&[("t.txt", b"text")]);
    let mut server = Server::plain(&home, &["--allowed-types", "txt"]);
    assert_refused(&home, server.pid());
    assert_eq!(server.get("/t.txt").status, 200);

    // After a handover, the new process holds the lock of the directory.
    server.upgrade();
    eventually("the new process holds the directory", || {
        let text = std::fs::read_to_string(home.data().join("lock")).ok()?;
        (text == format!("{} pelton serve\n", server.pid())).then_some(())
    });
    assert_refused(&home, server.pid());
    server.stop();

    // Neither an exit nor a crash blocks the next server.
    Server::plain(&home, &[]).kill();
    Server::plain(&home, &[]).stop();
}

#[test]
fn a_second_store_on_a_directory_is_refused() {
    let dir = Dir::new("held");
    let command = |port: &str, save: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
        command.args(["store", "--port", port, "--save", save, "--dir"]);
        command.arg(&dir.0);
        command
    };
    let store = Store::start(&dir.0, &["--save", "3600 1"]);
    // The store listens before it writes its process id.
    eventually("the lock file names the store", || {
        let text = fs::read_to_string(dir.0.join("lock")).ok()?;
        (!text.is_empty()).then_some(())
    });
    for save in ["3600 1", ""] {
        let refused = command(&free_port(), save).output().expect("it starts");
        let expected = format!(
            "store: directory: {} is in use by process {} pelton store\n",
            dir.0.display(),
            store.child.id()
        );
        assert!(stderr(&refused).contains(&expected), "{}", stderr(&refused));
        assert_eq!(refused.status.code(), Some(3));
    }
    store.kill();

    // Stores that write no snapshots may share a directory, as in Redis.
    let _one = Store::start(&dir.0, &["--save", ""]);
    let port = free_port();
    let mut other = command(&port, "").spawn().expect("it starts");
    eventually("the other listens", || {
        TcpStream::connect(format!("127.0.0.1:{port}")).ok()
    });
    other.kill().expect("it runs");
    other.wait().expect("it ends");
}

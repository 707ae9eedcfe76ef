//! A test program that was not written for cells. Its environment variable `DO` says what to do;
//! its input and output are the standard streams. As a persistent program, it reads one record per
//! request from standard input, and each record contains its own `DO`.

mod calls;
mod escape;
mod records;
mod services;
mod threads;

use std::io::{Read, Write};

fn main() {
    if std::env::args().any(|word| word == "--stall") {
        loop {
            std::hint::spin_loop();
        }
    }
    if std::env::var_os("PELTON_REQUESTS").is_some_and(|how| how == "records") {
        return records::serve();
    }
    let what = std::env::var("DO").unwrap_or_else(|_| String::from("nothing"));
    match what.as_str() {
        "nothing" => {}
        "tell" => tell(),
        "fail" => {
            eprintln!("no luck");
            std::process::exit(3);
        }
        "abort" => std::process::abort(),
        "long" => println!("{}", "x".repeat(1_000_000)),
        "loop" => loop {
            std::hint::spin_loop();
        },
        "calls" => {
            let seed = std::env::var("SEED").expect("the test names one");
            calls::any(seed.parse().expect("a number"));
        }
        "threads" => threads::work(),
        "threads-share" => threads::share_work(),
        "threads-many" => threads::many(),
        "threads-wait" => threads::wait(),
        "threads-loop" => threads::never_end(),
        "sleep" => std::thread::sleep(std::time::Duration::from_secs(1_000)),
        "read-blocked" => threads::read_blocked(),
        "thread-bomb" => threads::bomb(),
        "fork-bomb" => loop {
            // SAFETY: the child exits at once.
            if unsafe { libc::fork() } == 0 {
                std::process::exit(0);
            }
        },
        "allocate" => println!("{}", std::hint::black_box(vec![1_u8; 10_000_000_000]).len()),
        "ask" => services::ask(),
        "tell-service" => services::tell(),
        "deaf" => services::be_deaf(),
        "listen" => services::listen(),
        "open" => {
            let denied = std::fs::read("/etc/passwd").map(|_| ());
            let allowed = std::fs::read_to_string(file());
            println!("{:?} {allowed:?}", denied.map_err(|error| error.kind()));
        }
        "write" => {
            let written = std::fs::write(file(), "x");
            println!("{:?}", written.map_err(|error| error.kind()));
        }
        "escape" => escape::try_all(),
        "outlive" => escape::outlive(),
        "fork" => {
            // SAFETY: the child exits at once.
            match unsafe { libc::fork() } {
                0 => std::process::exit(0),
                child => println!("{}", 0 < child),
            }
        }
        "socket" => {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").map(|_| ());
            println!("{}", socket.is_err());
        }
        other => panic!("nothing to do is called {other}"),
    }
}

/// Returns the path of the file that the program may open for reading.
fn file() -> String {
    std::env::var("FILE").expect("the test names one")
}

fn tell() {
    let arguments: Vec<String> = std::env::args().collect();
    let mut variables: Vec<_> = std::env::vars()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    variables.sort();
    let mut input = String::new();
    std::io::stdin()
        .read_to_string(&mut input)
        .expect("standard input is text");
    let mut out = std::io::stdout().lock();
    writeln!(out, "arguments: {}", arguments.join(" ")).expect("standard output takes it");
    writeln!(out, "environment: {}", variables.join(" ")).expect("standard output takes it");
    writeln!(out, "input: {input}").expect("standard output takes it");
}

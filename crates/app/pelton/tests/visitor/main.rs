//! Program that the integration tests run in cells. Like an operator's program, it uses CGI on its
//! standard streams and knows nothing about cells. Its first argument selects the action; without
//! arguments, the query selects the action.

use std::env;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Number of runs in this process. It exceeds 1 if state survives a request.
static RUNS: AtomicU32 = AtomicU32::new(0);

fn main() {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let asked = env::args().nth(1);
    let asked = asked.unwrap_or_else(|| variable("QUERY_STRING"));
    let mut body = Vec::new();
    io::stdin()
        .read_to_end(&mut body)
        .expect("standard input can be read");
    match asked.as_str() {
        "" => {
            let mut variables: Vec<String> = env::vars()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            variables.sort();
            let text = variables.join("\n");
            say(format!("Content-Type: text/plain\n\n{text}\n").as_bytes());
            say(&body);
        }
        "count" => {
            let run = RUNS.fetch_add(1, Ordering::Relaxed) + 1;
            say(format!("Content-Type: text/plain\n\n{run}").as_bytes());
        }
        // The request's body contains commands. The reply to the PING after these commands marks
        // the end of their replies.
        "state" => {
            const END: &[u8] = b"+PONG\r\n";
            let number: i32 = variable("PELTON_STATE").parse().expect("a number");
            // SAFETY: PELTON_STATE contains the descriptor of an open connection to the store,
            // which the cell passes to this process. No other code in this process uses the
            // descriptor. Breaks if one process runs this action twice, because the first run
            // closes the descriptor.
            let mut store = std::fs::File::from(unsafe { OwnedFd::from_raw_fd(number) });
            let asked = [&body, &b"PING\r\n"[..]].concat();
            store.write_all(&asked).expect("the store hears");
            let mut answers = Vec::new();
            let mut piece = [0; 4_096];
            while !answers.ends_with(END) {
                match store.read(&mut piece).expect("the store answers") {
                    0 => break,
                    read => answers.extend_from_slice(&piece[..read]),
                }
            }
            let answers = answers.strip_suffix(END).unwrap_or(&answers);
            say(&[b"Content-Type: text/plain\n\n", answers].concat());
        }
        "upper" => say(&body.to_ascii_uppercase()),
        "reverse" => {
            body.reverse();
            say(&body);
        }
        "typed" => {
            let length = variable("CONTENT_LENGTH");
            let text = format!("{} {length}", variable("CONTENT_TYPE"));
            say(format!("Content-Type: text/typed\n\n{text}").as_bytes());
        }
        "missing" => {
            say(b"Status: 404 Not Found\nContent-Type: text/plain\nX-Own: 1\n\nno such thing")
        }
        "redirect" => say(b"Location: https://example.org/\n\n"),
        "elsewhere" => say(b"Location: /p.jpg?w=40&format=png\n\n"),
        "nonsense" => say(b"Status: nonsense\n\n"),
        "cached" => say(b"Content-Type: text/css\nCache-Control: max-age=9\n\na{}"),
        "crash" => std::process::abort(),
        "fail" => {
            eprintln!("no luck\x1b[31m today");
            std::process::exit(3);
        }
        "loop" => loop {
            std::hint::spin_loop();
        },
        looping if looping.starts_with("loop") => {
            let time = Duration::from_millis(looping[4..].parse().expect("a time"));
            let begin = Instant::now();
            while begin.elapsed() < time {
                std::hint::spin_loop();
            }
            say(b"Content-Type: text/plain\n\nover");
        }
        "arguments" => {
            let arguments: Vec<String> = env::args().collect();
            say(arguments.join("|").as_bytes());
        }
        "read" => {
            let path = env::args().nth(2).expect("a path");
            say(&std::fs::read(path).expect("it may be read"));
        }
        take if take.starts_with("take") => {
            let mebibytes: usize = take[4..].parse().expect("a number");
            let taken = std::hint::black_box(vec![1_u8; mebibytes << 20]);
            say((taken.len() >> 20).to_string().as_bytes());
        }
        write if write.starts_with("write") => {
            let kibibytes: usize = write[5..].parse().expect("a number");
            say(&vec![b'x'; kibibytes << 10]);
        }
        "grow" => {
            let mut kept: Vec<Vec<u8>> = Vec::new();
            loop {
                kept.push(vec![1; 16 << 20]);
            }
        }
        "long" => {
            let piece = vec![b'x'; 1 << 20];
            loop {
                say(&piece);
            }
        }
        work if work.starts_with("spin") => {
            let rounds: u64 = work[4..].parse().expect("a number of rounds");
            let sum = (0..rounds).fold(0_u64, |sum, round| std::hint::black_box(sum ^ round));
            say(format!("{sum}").as_bytes());
        }
        other => panic!("nothing to do is called {other}"),
    }
}

fn say(bytes: &[u8]) {
    io::stdout()
        .write_all(bytes)
        .expect("standard output takes it");
}

//! Operations whose CPU instructions a test counts: the HTTP work of a cache hit, commands of the
//! store from request bytes to reply bytes, and readers of tags.
//!
//! Without arguments, the program prints one line per operation: a name, and the number of
//! repetitions to measure. `operations NAME COUNT` prepares the operation called NAME, runs it
//! COUNT times, and prints a checksum of the results. `cargo xtask test instructions` runs each
//! operation with two counts under cachegrind; the difference between the two instruction counts is
//! the cost of the additional repetitions, without the preparation.
//!
//! Every operation does the same work each time: clocks and seeds are constants. Exit codes: 0 ok,
//! 2 usage.

#![forbid(unsafe_code)]

mod http;
mod store;
mod track;

use std::process::ExitCode;

/// Operation whose instructions are counted.
#[derive(Clone, Copy)]
struct Operation {
    name: &'static str,
    /// Number of repetitions that makes the cost of the program's start negligible.
    count: usize,
    /// Runs the operation the given number of times, and returns a checksum of the results.
    run: fn(usize) -> u64,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let operations = [http::OPERATIONS, store::OPERATIONS, track::OPERATIONS].concat();
    let Some(wanted) = arguments.next() else {
        for Operation { name, count, .. } in &operations {
            println!("{name} {count}");
        }
        return ExitCode::SUCCESS;
    };
    let operation = operations.iter().find(|operation| operation.name == wanted);
    let count = arguments.next().and_then(|count| count.parse().ok());
    let (Some(operation), Some(count)) = (operation, count) else {
        eprintln!("operations: the arguments must be the name of an operation and a count");
        return ExitCode::from(2);
    };
    println!("{}", (operation.run)(count));
    ExitCode::SUCCESS
}

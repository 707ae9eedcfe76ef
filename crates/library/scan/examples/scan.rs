//! Example program that scans a library several times, and prints the duration and the file counts
//! of each scan.
//!
//! `cargo run --release -p scan --example scan -- ROOT FOLDER [TIMES] [full]`

use scan::{Limits, Progress, ScanRequest, scan};
use std::path::Path;
use tags::Splits;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [root, folder, rest @ ..] = words.as_slice() else {
        eprintln!("ROOT FOLDER [TIMES] [full]");
        std::process::exit(2);
    };
    let times = rest
        .first()
        .map_or(1, |times| times.parse().expect("TIMES is a number"));
    for _ in 0..times {
        let order = ScanRequest {
            root: Path::new(root),
            folder: Path::new(folder),
            hidden: Path::new(folder),
            splits: &Splits::default(),
            limits: &Limits::default(),
            only: &[],
            full: rest.get(1).is_some_and(|word| word == "full"),
        };
        match scan(&order, None, &Progress::default()) {
            Err(err) => println!("{err}"),
            Ok((_, report)) => println!(
                "{} files, of which {} were opened; {} reads of {} bytes in all; walking took \
                 {:?}, reading {:?}, building the index {:?}; {} threads; the index has {} bytes",
                report.files,
                report.opened,
                report.reads,
                report.bytes,
                report.walk,
                report.read,
                report.build,
                report.readers,
                report.index_bytes,
            ),
        }
    }
}

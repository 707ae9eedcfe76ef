//! `conform slow`: slowhttptest attacks the server with thousands of clients that send heads and
//! bodies, or read responses, as slowly as they can.
//!
//! The server runs with its defaults. Once a second, slowhttptest also sends a normal request, and
//! the server must answer each normal request in time.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use toolkit::build::Build;
use toolkit::command::{output, timed};
use toolkit::debian;
use toolkit::stop::{Stop, at};

use crate::served::Served;

/// Number of attackers in each attack.
const ATTACKERS: &str = "4000";
/// Size of the served file, in bytes. It exceeds the size of the kernel's buffers for a client that
/// reads nothing.
const BODY_BYTES: usize = 8 << 20;

/// Name of each attack, and slowhttptest's arguments for it. An attack lasts twice as long as the
/// server's timeout against it.
const ATTACKS: &[(&str, &str)] = &[
    ("heads", "-H -i 5 -x 24 -l 30"),
    ("bodies", "-B -i 5 -s 60000 -x 24 -l 30"),
    ("readers", "-X -n 5 -w 10 -y 20 -z 32 -k 3 -l 130"),
    ("ranges", "-R -a 1 -b 3000 -l 30"),
];

/// Runs the attacks. The suite takes no arguments.
///
/// # Errors
/// When the attacks cannot be run, or when the server did not answer normal requests during an
/// attack.
pub(crate) fn run(root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    if !arguments.is_empty() {
        return Err(Stop::usage("conform slow takes no arguments"));
    }
    let mut build = Build::open(root)?;
    debian::ensure(&["slowhttptest"])?;
    let program = build.server()?;
    let folder = build.cache().join("conform-slow");
    let library = folder.join("library");
    fs::create_dir_all(&library).map_err(at(&library))?;
    let body = library.join("body.txt");
    fs::write(&body, "x".repeat(BODY_BYTES)).map_err(at(&body))?;
    let mut findings = Vec::new();
    for (name, words) in ATTACKS {
        let mut serve = Command::new(&program);
        serve
            .args(["serve", "library", "--data", "data"])
            .args(["--allowed-types", "txt", "--listen", "127.0.0.1:0"])
            .current_dir(&folder);
        let served = Served::start(&mut serve)?;
        let course = timed(name, || attack(name, words, served.http, &folder))?;
        // The server's count of timeouts is used, because an attacker may not notice for minutes
        // that its connection is closed: it still reads the bytes that arrived before the close, as
        // slowly as it can.
        let ended = served.metric("pelton_timeouts_total")?;
        println!(
            "slow {name}: {}; {ended} connections timed out",
            course.summary()
        );
        findings.extend(course.finding(name));
        if ended == 0 && *name != "ranges" {
            findings.push(format!(
                "slow {name}: the server must close slow connections, but closed none"
            ));
        }
    }
    match findings.is_empty() {
        true => Ok(ExitCode::SUCCESS),
        false => Err(Stop::findings(findings.join("\n"))),
    }
}

fn attack(name: &str, words: &str, port: u16, folder: &Path) -> Result<Course, Stop> {
    let mut command = Command::new("slowhttptest");
    command
        .args(words.split(' '))
        .args(["-c", ATTACKERS, "-r", "1000", "-p", "2"])
        .args(["-g", "-o", name, "-u"])
        .arg(format!("http://127.0.0.1:{port}/body.txt"))
        .current_dir(folder);
    output(&mut command)?;
    let report = folder.join(format!("{name}.csv"));
    let report = fs::read_to_string(&report).map_err(at(&report))?;
    Course::read(&report).ok_or_else(|| {
        Stop::host(format!(
            "cannot parse slowhttptest's report on the attack {name}"
        ))
    })
}

/// Summary of one attack, from slowhttptest's report, which has one line per second.
#[derive(Debug, Default, PartialEq, Eq)]
struct Course {
    seconds: usize,
    /// Number of seconds in which normal requests were not answered.
    unavailable: usize,
    /// Maximum number of attackers connected at the same time.
    connected_most: u64,
}

impl Course {
    /// Parses lines of `Seconds,Closed,Pending,Connected,Service Available`. The last value is 0 if
    /// the server was unavailable.
    fn read(report: &str) -> Option<Course> {
        let mut course = Course::default();
        for line in report.lines().skip(1) {
            let values: Vec<u64> = line
                .split(',')
                .map(|value| value.trim().parse().ok())
                .collect::<Option<_>>()?;
            let [_, _, _, connected, available] = values[..] else {
                return None;
            };
            course.seconds += 1;
            course.unavailable += usize::from(available == 0);
            course.connected_most = course.connected_most.max(connected);
        }
        (course.seconds != 0).then_some(course)
    }

    fn summary(&self) -> String {
        let Course {
            seconds,
            unavailable,
            connected_most,
        } = self;
        format!(
            "normal requests were answered during {} of the {seconds} seconds of the attack; at \
             most {connected_most} attackers were connected at once",
            seconds - unavailable
        )
    }

    fn finding(&self, name: &str) -> Option<String> {
        (self.unavailable != 0).then(|| {
            format!(
                "slow {name}: the server did not answer normal requests during {} seconds",
                self.unavailable
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Course;

    #[test]
    fn a_second_without_an_answer_is_a_finding() {
        let report = "Seconds,Closed,Pending,Connected,Service Available\n\
                      0,0,1,0,4000\n1,5,1,496,4000\n2,7,0,904,0\n3,900,0,4,4000\n";
        let course = Course::read(report).expect("it is a report");
        let expected = Course {
            seconds: 4,
            unavailable: 1,
            connected_most: 904,
        };
        assert_eq!(course, expected);
        assert!(course.finding("heads").is_some());
        assert_eq!(Course::read("Seconds\n"), None);
        assert_eq!(Course::read("Seconds\n1,2\n"), None);
    }
}

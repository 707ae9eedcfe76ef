//! `conform store-scripts`: sends scripts and functions to `pelton store` and to redis-server, in
//! both protocols, and compares the replies byte by byte. `store_scripts.txt` has the commands.
//!
//! At the end, each server restores the functions that the other server dumped.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::ExitCode;

use bytes::{Bytes, BytesMut};
use resp::{Reply, ReplyLimits};
use toolkit::build::Build;
use toolkit::debian;
use toolkit::stop::{EXIT_FINDINGS, Stop};

use crate::oracle::Oracle;
use crate::store::Served;

const COMMANDS: &str = include_str!("store_scripts.txt");
const LIBRARY: &str =
    "#!lua name=exchanged\nredis.register_function('f', function(keys) return keys[1] end)";

/// Runs the comparison, and prints the differences on stdout.
///
/// # Errors
/// When one of the servers cannot be installed, built or started.
pub(crate) fn run(root: PathBuf, _arguments: &[OsString]) -> Result<ExitCode, Stop> {
    let mut build = Build::open(root)?;
    debian::ensure(&["redis-server"])?;
    let server = build.server()?;
    let (mut compared, mut differences) = (0, 0);
    for protocol in ["2", "3"] {
        let served = Served::start(&server, &[])?;
        let mut pair = Pair::start(served.port())?;
        pair.difference(&words(&["HELLO", protocol, "SETNAME", "x"]))?;
        let lines = COMMANDS.lines();
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let args = resp::split_line(line.as_bytes());
            let args = args.ok_or_else(|| Stop::host(format!("quotes do not match: {line}")))?;
            compared += 1;
            if let Some((theirs, ours)) = pair.difference(&args)? {
                println!("--- {line}\nredis:  {theirs}\npelton: {ours}");
                differences += 1;
            }
        }
        differences += pair.exchange()?;
    }
    println!("{compared} commands, {differences} differences");
    Ok(match differences {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(EXIT_FINDINGS),
    })
}

/// The two servers that are compared.
struct Pair {
    oracle: Oracle,
    ours: TcpStream,
    input: BytesMut,
}

impl Pair {
    fn start(port: &str) -> Result<Pair, Stop> {
        let ours = TcpStream::connect(format!("127.0.0.1:{port}"));
        Ok(Pair {
            oracle: Oracle::start()?,
            ours: ours.map_err(|error| Stop::host(format!("the store: {error}")))?,
            input: BytesMut::new(),
        })
    }

    /// Sends a command to both servers. Returns their replies if the bytes differ.
    fn difference(&mut self, args: &[Bytes]) -> Result<Option<(String, String)>, Stop> {
        let (theirs, _) = self.oracle.ask(args)?;
        let (ours, _) = self.ask(args)?;
        // The greeting has the versions of the servers.
        let is_greeting = args[0].as_ref() == b"HELLO";
        let shown = || {
            (
                theirs.escape_ascii().to_string(),
                ours.escape_ascii().to_string(),
            )
        };
        Ok((theirs != ours && !is_greeting).then(shown))
    }

    /// Sends a command to our store, and returns its reply twice: as bytes, and parsed.
    fn ask(&mut self, args: &[Bytes]) -> Result<(Bytes, Reply), Stop> {
        let failed =
            |error: std::io::Error| Stop::host(format!("connection to the store failed: {error}"));
        let mut request = format!("*{}\r\n", args.len()).into_bytes();
        for arg in args {
            request.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
            request.extend_from_slice(arg);
            request.extend_from_slice(b"\r\n");
        }
        self.ours.write_all(&request).map_err(failed)?;
        let mut chunk = [0; 65_536];
        loop {
            let read = self.ours.read(&mut chunk).map_err(failed)?;
            if read == 0 {
                return Err(Stop::findings("the store closed the connection"));
            }
            self.input.extend_from_slice(&chunk[..read]);
            let mut rest = self.input.clone();
            let reply = Reply::take(&mut rest, &ReplyLimits::default());
            let reply = reply.map_err(|error| Stop::findings(format!("our reply: {error}")))?;
            if let Some(reply) = reply {
                let bytes = self.input.split_to(self.input.len() - rest.len());
                return Ok((bytes.freeze(), reply));
            }
        }
    }

    /// Makes each server restore and call the function that the other server dumped. Returns the
    /// number of differences.
    fn exchange(&mut self) -> Result<u64, Stop> {
        let load = words(&["FUNCTION", "LOAD", "REPLACE", LIBRARY]);
        let dump = words(&["FUNCTION", "DUMP"]);
        let call = words(&["FCALL", "f", "1", "key"]);
        self.oracle.ask(&load)?;
        self.ask(&load)?;
        let (_, theirs) = self.oracle.ask(&dump)?;
        let (_, ours) = self.ask(&dump)?;
        let (Reply::Bulk(theirs), Reply::Bulk(ours)) = (theirs, ours) else {
            println!("--- FUNCTION DUMP: no payload");
            return Ok(1);
        };
        let restore = |payload: Bytes| {
            let mut args = words(&["FUNCTION", "RESTORE", "FLUSH"]);
            args.insert(2, payload);
            args
        };
        let restored = [
            self.oracle.ask(&restore(ours))?.0,
            self.ask(&restore(theirs))?.0,
        ];
        let called = [self.oracle.ask(&call)?.0, self.ask(&call)?.0];
        let is_same = restored.iter().all(|reply| reply.as_ref() == b"+OK\r\n")
            && called
                .iter()
                .all(|reply| reply.as_ref() == b"$3\r\nkey\r\n");
        if !is_same {
            println!("--- FUNCTION RESTORE of the other's dump: {restored:?} {called:?}");
        }
        Ok(u64::from(!is_same))
    }
}

fn words(line: &[&str]) -> Vec<Bytes> {
    let words = line.iter();
    words
        .map(|word| Bytes::copy_from_slice(word.as_bytes()))
        .collect()
}

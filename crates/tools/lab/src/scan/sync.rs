//! First sync of a player, which fetches all songs page by page, by searches with an empty query.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use toolkit::stop::{Stop, at};

use crate::scratch::Scratch;
use crate::server::{Server, free_address};
use crate::stats::Spread;
use crate::{SharedFlags, client, table};

#[derive(Deserialize)]
pub(super) struct Definition {
    rounds: usize,
    /// Number of songs per response.
    page_songs: usize,
}

/// Size and duration of one sync.
#[derive(Serialize)]
pub(super) struct Sample {
    round: usize,
    songs: usize,
    answers: usize,
    bytes: usize,
    wall_us: u64,
    /// CPU time of the server for this sync.
    cpu_us: u64,
}

const WHO: &str = "u=lab&p=sesame&v=1.16.1&c=lab&f=json";

pub(super) fn run(
    given: &SharedFlags,
    library: &Path,
    definition: &Definition,
) -> Result<Vec<Sample>, Stop> {
    let data = Scratch::new("sync")?;
    let pelton = given.pelton()?;
    let address = free_address()?;
    let mut program = Command::new(pelton);
    program.arg("serve").arg(library);
    program.arg("--data").arg(data.path());
    program.args(["--listen", &address.to_string(), "--library-watch", "off"]);
    add_user(pelton, data.path())?;
    let library_is_there = |address| {
        let target = format!("/rest/getScanStatus?{WHO}");
        let response = client::get(address, &target, "*/*");
        response.is_ok_and(|response| {
            let body = String::from_utf8_lossy(&response.body).into_owned();
            body.contains("\"scanning\":false") && !body.contains("\"count\":0")
        })
    };
    let server = Server::start_until(program, address, library_is_there)?;
    let mut samples = Vec::new();
    for round in 0..given.rounds.unwrap_or(definition.rounds) {
        samples.push(sync(&server, round, definition.page_songs)?);
    }
    print(&samples);
    Ok(samples)
}

fn add_user(pelton: &Path, data: &Path) -> Result<(), Stop> {
    let mut add = Command::new(pelton);
    add.args(["user", "add", "lab", "--data"]).arg(data);
    let spawned = add.stdin(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = spawned.map_err(at(pelton))?;
    let mut stdin = child.stdin.take().expect("stdin is piped");
    stdin.write_all(b"sesame\n").map_err(at(pelton))?;
    drop(stdin);
    match child.wait().map_err(at(pelton))? {
        status if status.success() => Ok(()),
        status => Err(Stop::findings(format!("pelton user add failed: {status}"))),
    }
}

fn sync(server: &Server, round: usize, page_songs: usize) -> Result<Sample, Stop> {
    let cpu_before_us = server.cpu_us()?;
    let started = Instant::now();
    let (mut songs, mut answers, mut bytes) = (0, 0, 0);
    loop {
        let target = format!(
            "/rest/search3?query=&artistCount=0&albumCount=0&songCount={page_songs}&songOffset={songs}&{WHO}"
        );
        let response = server.get(&target, "*/*")?;
        let body = String::from_utf8_lossy(&response.body);
        let more = body.matches("\"isDir\":false").count();
        (songs, answers, bytes) = (songs + more, answers + 1, bytes + response.body.len());
        if more < page_songs {
            break;
        }
    }
    let wall_us = started.elapsed().as_micros() as u64;
    if songs == 0 {
        return Err(Stop::findings("no song was found"));
    }
    Ok(Sample {
        round,
        songs,
        answers,
        bytes,
        wall_us,
        cpu_us: server.cpu_us()? - cpu_before_us,
    })
}

fn print(samples: &[Sample]) {
    let row = |name: &str, value: fn(&Sample) -> f64| {
        let values: Vec<f64> = samples.iter().map(value).collect();
        Spread::of(&values).row(name)
    };
    let rows = [
        row("songs", |sample| sample.songs as f64),
        row("wall ms", |sample| sample.wall_us as f64 / 1e3),
        row("server's CPU ms", |sample| sample.cpu_us as f64 / 1e3),
        row("MiB", |sample| sample.bytes as f64 / f64::from(1 << 20)),
    ];
    table::print(
        "Download of the list of all songs by the Subsonic method search3",
        &["", "median", "range"],
        &rows,
    );
}

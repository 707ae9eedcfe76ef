//! Number of calls per second that a program in a cell makes to its store, one at a time and in
//! batches, as measured by the program.

use std::fs;
use std::process::Command;

use serde::Serialize;
use toolkit::stop::{Stop, at};

use super::contender::Way;
use crate::SharedFlags;
use crate::scratch::Scratch;
use crate::server::Server;
use crate::stats::Spread;
use crate::usage;

/// C program that sends `INCR` commands in batches, with one write per batch. The query string
/// `CALLS-BATCH` gives the total number of commands and the number per batch.
const SOURCE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(void) {
    static char asks[64 * 32], replies[1 << 16];
    long calls = 0, batch = 1;
    const char *query = getenv("QUERY_STRING");
    if (!query || sscanf(query, "%ld-%ld", &calls, &batch) != 2 || batch < 1 || 64 < batch)
        return 0;
    int length = 0;
    for (long ask = 0; ask < batch; ask++)
        length += sprintf(asks + length, "*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n");
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long done = 0; done < calls; done += batch) {
        if (write(3, asks, length) != length)
            return 1;
        for (long lines = 0; lines < batch;) {
            long count = read(3, replies, sizeof replies);
            if (count <= 0 || replies[0] == '-')
                return 2;
            while (count--)
                lines += replies[count] == '\n';
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) / 1e9;
    printf("Content-Type: text/plain\n\n%.0f", calls / seconds);
    return 0;
}
"#;

/// Calls per second with one backend and one batch size.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Calls {
    pub(super) backend: String,
    pub(super) batch: u32,
    pub(super) calls: u32,
    pub(super) per_second: Spread,
}

/// Runs the program in a backend, `rounds` times for each batch size.
pub(super) fn calls(
    given: &SharedFlags,
    scratch: &Scratch,
    way: Way,
    batches: &[u32],
    rounds: usize,
) -> Result<Vec<Calls>, Stop> {
    const CALLS: u32 = 32_000;
    let (source, program) = (scratch.join("calls.c"), scratch.join("calls"));
    fs::write(&source, SOURCE).map_err(at(&source))?;
    let mut compiler = Command::new("cc");
    compiler
        .args(["-O2", "-static", "-o"])
        .arg(&program)
        .arg(&source);
    usage::run(&mut compiler)?;
    let configuration = scratch.join("calls.toml");
    let table = format!(
        "[programs.calls]\npath = {:?}\nroute = \"/x/calls\"\nmax_state = \"1MiB\"\nmax_request_time = \"60s\"\n",
        program.display().to_string()
    );
    fs::write(&configuration, table).map_err(at(&configuration))?;
    let path = configuration.display().to_string();
    let settings = ["--config", &path, "--cell-backend", way.name()];
    let server = Server::pelton(&[], given, &scratch.join(way.name()), &settings)?;
    let mut samples = vec![Vec::new(); batches.len()];
    for _ in 0..rounds {
        for (batch, samples) in batches.iter().zip(&mut samples) {
            let response = server.get(&format!("/x/calls?{CALLS}-{batch}"), "*/*")?;
            let text = String::from_utf8_lossy(&response.body);
            let rate: Result<f64, _> = text.parse();
            samples.push(rate.map_err(|_| Stop::findings(format!("calls: {text}")))?);
        }
    }
    let rate = batches.iter().zip(samples).map(|(&batch, samples)| Calls {
        backend: way.name().to_owned(),
        batch,
        calls: CALLS,
        per_second: Spread::of(&samples),
    });
    Ok(rate.collect())
}

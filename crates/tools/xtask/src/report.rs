//! `cargo xtask lab report`: writes the public report of the benchmarks, a page of plots, from the
//! newest records.
//!
//! ```text
//! lab/record/*.toml ─► plots ─┐
//! stories of five systems ────┴─► HTML with SVG ─► docs/report/index.html
//! ```
//!
//! The page is one file without scripts, and requests nothing. A test checks that the committed
//! page equals the generated one.

mod chart;
mod html;
mod lines;
mod page;
mod plot;
mod program;
mod servers;
mod story;
#[cfg(test)]
mod tests;
mod web;

use std::fs;
use std::path::Path;

use toolkit::stop::{Stop, at};

use crate::record::Records;
use page::{Group, Section};

/// Generated page.
const DOCUMENT: &str = "docs/report/index.html";

/// Writes the page into the checkout at `root`.
///
/// # Errors
/// When a record cannot be read, or the page cannot be written.
pub(crate) fn write(root: &Path) -> Result<(), Stop> {
    let path = root.join(DOCUMENT);
    let folder = path.parent().expect("the page is in a folder");
    fs::create_dir_all(folder).map_err(at(folder))?;
    fs::write(&path, rendered(&Records::read(root)?)).map_err(at(&path))?;
    eprintln!("xtask: wrote {}", path.display());
    Ok(())
}

/// Returns the page that shows `records`.
fn rendered(records: &Records) -> String {
    let sections = [
        images(records),
        requests(records),
        cells(records),
        store(records),
        library(records),
    ];
    page::html(&sections, records)
}

fn images(records: &Records) -> Section {
    let (cpu, bytes) = web::conversions(records);
    let (lines, peaks) = web::timelines(records);
    Section {
        story: &story::IMAGES,
        groups: vec![
            Group {
                title: "CPU time of conversions",
                method: "One photograph after another, with an empty cache. Each program has the setting at \
                    which its results score like those of “Pelton quick”, by SSIMULACRA2. “Pelton better” \
                    includes the second, slower encoding in the background. Ratios are the CPU time of \
                    “Pelton quick”, divided by that of the other program.",
                lines: Vec::new(),
                plots: cpu,
            },
            Group {
                title: "Bytes of the converted photographs",
                method: "Sum over all photographs, at about equal quality: the mean score is beside the name. \
                    Ratios are the bytes of “Pelton quick”, which makes the first response, divided by \
                    those of the other program.",
                lines: Vec::new(),
                plots: bytes,
            },
            Group {
                title: "CPU and memory over time",
                method: "Each server converts all photographs once, one after another; its process tree is \
                    sampled every 100 ms. All rows of a plot have the same scales, and end when the \
                    server is done. Pages that processes share are counted once; the bars show the \
                    maximum of the memory.",
                lines,
                plots: peaks,
            },
            Group {
                title: "Cache hits of converted pictures",
                method: "CPU time of the server for a variant that exists already, with 64 connections, one \
                    core for the server and one for the client. nginx sends a file. Where WebP Server Go \
                    takes part, it sends an AVIF of its own, which has about the same size.",
                lines: Vec::new(),
                plots: web::hits(records),
            },
        ],
    }
}

fn requests(records: &Records) -> Section {
    Section {
        story: &story::REQUESTS,
        groups: vec![
            Group {
                title: "Small JSON responses, requests per second of one core",
                method: "The server has one core, and the client sends requests as fast as it can from another. \
                    The interval of a ratio follows from the lowest and highest value of each server over \
                    all rounds.",
                lines: Vec::new(),
                plots: web::throughput(records),
            },
            Group {
                title: "CPU time per request",
                method: "All servers send the same bytes on one core. “hyper” is a minimal server on the Rust \
                    library of this name, without limits, timeouts and metrics. Where libreactor takes \
                    part, it sends response heads of about 100 bytes; those of Pelton have about 520.",
                lines: Vec::new(),
                plots: web::requests(records),
            },
        ],
    }
}

fn cells(records: &Records) -> Section {
    Section {
        story: &story::CELLS,
        groups: vec![Group {
            title: "Throughput of small jobs",
            method: "Conversions over HTTP with all cores busy, and calls from a program to its \
                     store. “kept” sandboxes are not wiped. “no sandbox” is the same worker as a \
                     plain process; ratios are the rate of a sandbox, divided by the rate of “no \
                     sandbox”.",
            lines: Vec::new(),
            plots: servers::cells(records),
        }],
    }
}

fn store(records: &Records) -> Section {
    Section {
        story: &story::STORE,
        groups: vec![
            Group {
                title: "CPU time of commands",
                method: "P16 means that 16 commands are sent together. All stores have one thread on one core.",
                lines: Vec::new(),
                plots: servers::commands(records),
            },
            Group {
                title: "Memory, and latency during heavy work",
                method: "The interval of a ratio follows from the lowest and highest value of each store over all rounds.",
                lines: Vec::new(),
                plots: servers::store(records),
            },
        ],
    }
}

fn library(records: &Records) -> Section {
    Section {
        story: &story::LIBRARY,
        groups: vec![
            Group {
                title: "CPU time of a first scan",
                method: "16,000 generated tracks, in the page cache. Pelton's time includes building \
                    its index. “lofty” is the Rust library of this name with its defaults; “Musium's \
                    pattern” is Pelton's reader of tags with as many threads and the same order of \
                    read operations as the music server Musium. Neither of the two builds an index. The interval of a ratio follows from the lowest and highest \
                    value of each reader over all rounds.",
                lines: Vec::new(),
                plots: servers::reads(records),
            },
            Group {
                title: "Travel of the disk's head",
                method: "These values are computed from the positions of the files on the disk, not measured, because the machines of the benchmarks have no rotating disks.",
                lines: Vec::new(),
                plots: servers::travel(records),
            },
            Group {
                title: "Later scans",
                method: "Wall time of a scan of a library in which nothing or little has changed. No other program takes part.",
                lines: Vec::new(),
                plots: servers::library(records),
            },
        ],
    }
}

//! Number of covers per second that `pelton prefetch` makes from pictures embedded in music files.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};
use toolkit::stop::{Stop, at};

use crate::scratch::Scratch;
use crate::stats::Spread;
use crate::usage::run as run_command;
use crate::{SharedFlags, table};

#[derive(Deserialize)]
pub(super) struct Definition {
    rounds: usize,
    albums: u32,
    /// Side in pixels of each embedded picture.
    side_px: u32,
    /// Sides, in pixels, of the boxes into which each picture is scaled.
    boxes_px: Vec<u32>,
    /// Photograph that the embedded pictures are cut from.
    photograph: String,
}

/// Duration of one run of `pelton prefetch`.
#[derive(Serialize)]
pub(super) struct Sample {
    round: usize,
    /// True if the run makes only variants at low effort, which are not replaced afterwards.
    quick: bool,
    /// Sides, in pixels, of the boxes into which each picture was scaled.
    boxes_px: Vec<u32>,
    albums: u32,
    cores: usize,
    wall_us: u64,
}

/// Contender: one configuration of `pelton prefetch`.
#[derive(Clone, Copy)]
struct Arm {
    name: &'static str,
    quick: bool,
    /// True if covers are made in all sizes, false if only in the first size.
    all_boxes: bool,
    /// True if the program is pinned to the first core, while the other cores are idle.
    one_core: bool,
}

const ARMS: [Arm; 4] = [
    Arm {
        name: "all boxes, best, all cores",
        quick: false,
        all_boxes: true,
        one_core: false,
    },
    Arm {
        name: "all boxes, quick, all cores",
        quick: true,
        all_boxes: true,
        one_core: false,
    },
    Arm {
        name: "all boxes, quick, one core alone",
        quick: true,
        all_boxes: true,
        one_core: true,
    },
    Arm {
        name: "first box, quick, one core alone",
        quick: true,
        all_boxes: false,
        one_core: true,
    },
];

pub(super) fn run(given: &SharedFlags, definition: &Definition) -> Result<Vec<Sample>, Stop> {
    let scratch = Scratch::new("covers")?;
    let library = scratch.join("library");
    for album in 0..definition.albums {
        let picture = scratch.join("picture.jpg");
        let mut crop = Command::new("vips");
        crop.arg("crop")
            .arg(given.corpus.join(&definition.photograph));
        crop.arg(format!("{}[Q=90,strip]", picture.display()));
        crop.args(
            [album * 8, album * 4, definition.side_px, definition.side_px]
                .map(|number| number.to_string()),
        );
        run_command(&mut crop)?;
        let picture = fs::read(&picture).map_err(at(&picture))?;
        let folder = library.join(format!("Band {album}/Album {album}"));
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        fs::write(folder.join("1.flac"), song(album, &picture)).map_err(at(&folder))?;
    }
    let mut samples = Vec::new();
    for round in 0..given.rounds.unwrap_or(definition.rounds) {
        for arm in ARMS {
            let data = scratch.join(format!("data-{}", samples.len()));
            samples.push(prefetch(given, definition, (round, arm), &library, &data)?);
        }
    }
    print(&samples);
    Ok(samples)
}

fn prefetch(
    given: &SharedFlags,
    definition: &Definition,
    (round, arm): (usize, Arm),
    library: &Path,
    data: &Path,
) -> Result<Sample, Stop> {
    let boxes_px = match arm.all_boxes {
        true => &definition.boxes_px[..],
        false => &definition.boxes_px[..1],
    };
    let boxes: Vec<String> = boxes_px.iter().map(u32::to_string).collect();
    let pelton = given.pelton()?;
    let mut prefetch = match arm.one_core {
        true => {
            let mut bound = Command::new("taskset");
            bound.args(["--cpu-list", "0"]).arg(pelton);
            bound
        }
        false => Command::new(pelton),
    };
    prefetch
        .arg("prefetch")
        .arg(library)
        .arg("--data")
        .arg(data);
    prefetch.args([
        "--formats",
        "webp",
        "--log-level",
        "error",
        "--library-cover-sizes",
        &boxes.join(","),
    ]);
    if arm.quick {
        prefetch.arg("--quick");
    }
    let (_, usage) = run_command(&mut prefetch)?;
    let made = count(&data.join("variants"))?;
    let wanted = definition.albums as usize * boxes.len();
    if made != wanted {
        return Err(Stop::findings(format!(
            "{made} variants were created instead of {wanted}"
        )));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Sample {
        round,
        quick: arm.quick,
        boxes_px: boxes_px.to_vec(),
        albums: definition.albums,
        cores: if arm.one_core { 1 } else { cores },
        wall_us: usage.wall_us,
    })
}

/// Returns a FLAC file without audio: 4,096 samples per block, 44.1 kHz, stereo, 16 bits. Its
/// album, artist and MD5 field differ for each `number`, and `picture` is embedded as the front
/// cover.
fn song(number: u32, picture: &[u8]) -> Vec<u8> {
    let mut out = b"fLaC".to_vec();
    let mut info = vec![
        0x10, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x0a, 0xc4, 0x42, 0xf0, 0, 0, 0, 0,
    ];
    info.extend(u128::from(number).to_be_bytes());
    block(&mut out, 0, &info);
    let comments = [
        format!("ALBUM=Album {number}"),
        format!("ARTIST=Band {number}"),
    ];
    let mut text = 0_u32.to_le_bytes().to_vec();
    text.extend((comments.len() as u32).to_le_bytes());
    for comment in comments {
        text.extend((comment.len() as u32).to_le_bytes());
        text.extend(comment.as_bytes());
    }
    block(&mut out, 4, &text);
    let mime = b"image/jpeg";
    let mut front = 3_u32.to_be_bytes().to_vec();
    front.extend((mime.len() as u32).to_be_bytes());
    front.extend(mime);
    front.extend([0; 20]);
    front.extend((picture.len() as u32).to_be_bytes());
    front.extend(picture);
    block(&mut out, 0x80 | 6, &front);
    out
}

fn block(out: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    let [_, length @ ..] = (bytes.len() as u32).to_be_bytes();
    out.push(kind);
    out.extend(length);
    out.extend(bytes);
}

/// Counts the files of variants in a folder and its subfolders.
fn count(folder: &Path) -> Result<usize, Stop> {
    let mut files = 0;
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        match path.extension() {
            _ if path.is_dir() => files += count(&path)?,
            Some(ending) if ending == "webp" => files += 1,
            _ => {}
        }
    }
    Ok(files)
}

fn print(samples: &[Sample]) {
    let rows = ARMS.iter().enumerate().map(|(place, arm)| {
        let runs = samples.iter().skip(place).step_by(ARMS.len());
        let rate = |sample: &Sample| {
            let seconds = sample.wall_us as f64 / 1e6;
            f64::from(sample.albums) / seconds / sample.cores as f64
        };
        let rates: Vec<f64> = runs.map(rate).collect();
        Spread::of(&rates).row(arm.name)
    });
    table::print(
        "Covers per second and core",
        &["", "covers", "range"],
        &rows.collect::<Vec<_>>(),
    );
}

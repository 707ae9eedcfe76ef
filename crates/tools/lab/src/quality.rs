//! `lab quality`: for each JPEG quality, the setting of each encoder that gives equal quality.
//!
//! ```text
//! photograph ─ djpeg ─ Lanczos, smaller ─► reference ─ encoder ─► result ─ decoder ─► SSIMULACRA2
//!                                              └───────────────────────────────────────────┘
//! ```
//!
//! The decoders are dwebp, avifdec and djpeg.

use std::fs;
use std::path::Path;
use std::process::Command;

use image_plan::{Encoding, Packed, Size, Stage, Target};
use serde::{Deserialize, Serialize};
use toolkit::stop::{Stop, at};

use crate::converter::{self, Converter};
use crate::corpus::{self, Photograph};
use crate::judge::{self, Reference};
use crate::record::Record;
use crate::scratch::Scratch;
use crate::{SharedFlags, lanczos, netpbm, stats, table, usage};

/// Content of `lab/definitions/quality.toml`.
#[derive(Deserialize)]
struct Definition {
    photographs: Vec<String>,
    /// Divisor for both sides of a photograph. The reduction removes the artefacts of the
    /// photograph's own JPEG compression.
    shrink: u32,
    /// Quality settings that are tried with each encoder.
    settings: Vec<u8>,
    /// JPEG qualities for which a table states the settings of the other encoders that look the
    /// same. Each quality is one row of the table.
    knots: Vec<u8>,
}

/// Encoder whose relation between setting and quality is measured.
struct Encoder {
    name: &'static str,
    by: By,
}

enum By {
    /// Debian's cjpeg, with chroma at half the width and height (4:2:0) at every quality. Its
    /// quality settings are the scale that users know.
    Cjpeg,
    /// Pelton's worker; the function returns the encoding for a setting.
    Us(fn(u8) -> Encoding),
}

/// Encoders that are measured. The first one, cjpeg, defines the scale. The others are those of the
/// table in `image_plan::quality`, in the order of its columns.
const ENCODERS: [Encoder; 6] = [
    Encoder {
        name: "cjpeg",
        by: By::Cjpeg,
    },
    Encoder {
        name: "jpeg",
        by: By::Us(|quality| Encoding::Jpeg { quality }),
    },
    Encoder {
        name: "webp-m2",
        by: By::Us(|quality| webp(quality, 2)),
    },
    Encoder {
        name: "webp-m4",
        by: By::Us(|quality| webp(quality, 4)),
    },
    Encoder {
        name: "avif-s9",
        by: By::Us(|quality| avif(quality, 9)),
    },
    Encoder {
        name: "avif-s6",
        by: By::Us(|quality| avif(quality, 6)),
    },
];

const fn webp(quality: u8, method: u8) -> Encoding {
    Encoding::Webp {
        quality,
        method,
        lossless: false,
    }
}

const fn avif(quality: u8, speed: u8) -> Encoding {
    Encoding::Avif {
        quality,
        speed,
        lossless: false,
    }
}

/// Score and size of one encoded photograph.
struct Sample {
    encoder: &'static str,
    setting: u8,
    ssim2: f64,
    bytes: u64,
    bits_per_pixel: f64,
}

/// Scores and sizes of all photographs for one encoder at one setting.
#[derive(Serialize)]
struct Point {
    encoder: &'static str,
    setting: u8,
    ssim2_mean: f64,
    ssim2_p5: f64,
    ssim2_min: f64,
    bits_per_pixel: f64,
    /// Score of each photograph, in the order of the corpus.
    ssim2: Vec<f64>,
    bytes: Vec<u64>,
}

/// Row of the table of equal quality, for one quality setting of cjpeg. It has the setting at which
/// each other encoder reaches the same mean score.
#[derive(Serialize)]
struct Knot {
    jpeg: u8,
    ssim2: f64,
    /// Setting at which each encoder except cjpeg reaches `ssim2`, in the order of [`ENCODERS`].
    /// 100 if no setting reaches it.
    settings: Vec<f64>,
    /// Bits per pixel of all encoders at equal quality, cjpeg included.
    bits_per_pixel: Vec<f64>,
    /// For each encoder except cjpeg: its score at the setting that `image_plan::quality` uses at
    /// present, minus the score of cjpeg.
    deviation: Vec<f64>,
}

pub(crate) fn run(given: &SharedFlags) -> Result<(), Stop> {
    let (definition, raw): (Definition, _) = given.definition("quality")?;
    let converter = Converter::new(given.worker()?);
    let photographs = corpus::read(&given.corpus, &definition.photographs)?;
    let peers: [&[&str]; 3] = [
        &["djpeg", "-version"],
        &["dwebp", "-version"],
        &["avifdec", "--version"],
    ];
    let mut record = Record::begin("quality", &raw, &peers, &photographs);
    let scratch = Scratch::new("quality")?;
    let mut samples = Vec::new();
    for photograph in &photographs {
        eprintln!("lab: {} …", photograph.name);
        samples.extend(sample(photograph, &definition, &converter, &scratch)?);
    }
    let points = points(&samples, &definition.settings);
    let knots: Vec<_> = definition
        .knots
        .iter()
        .filter_map(|jpeg| knot(&points, *jpeg))
        .collect();
    print(&points, &knots);
    record.add("knots", &knots);
    record.add("points", &points);
    record.write(&given.record)
}

fn sample(
    photograph: &Photograph,
    definition: &Definition,
    converter: &Converter,
    scratch: &Scratch,
) -> Result<Vec<Sample>, Stop> {
    let decoded = judge::decode(&photograph.path, scratch)?;
    let reference = Reference::new(reduced(&decoded, definition.shrink))?;
    let source = scratch.join("reference.png");
    judge::write_png(reference.picture(), &source)?;
    let source_ppm = scratch.join("reference.ppm");
    fs::write(&source_ppm, netpbm::write(reference.picture())).map_err(at(&source_ppm))?;
    let bytes = fs::read(&source).map_err(at(&source))?;
    let facts = image_plan::probe(&bytes[..], bytes.len() as u64)
        .map_err(|err| Stop::findings(format!("{}: {err}", source.display())))?;
    let response = scratch.join("response");
    let mut samples = Vec::new();
    for Encoder { name, by } in &ENCODERS {
        for &setting in &definition.settings {
            match by {
                By::Cjpeg => cjpeg(setting, &source_ppm, &response)?,
                By::Us(encoding) => {
                    let plan = converter::reencode(&facts, encoding(setting));
                    converter.convert(&plan, &source, &response)?;
                }
            }
            let bytes = response.metadata().map_err(at(&response))?.len();
            samples.push(Sample {
                encoder: name,
                setting,
                ssim2: reference.score(&judge::decode(&response, scratch)?)?,
                bytes,
                bits_per_pixel: 8.0 * bytes as f64 / facts.stored.pixels() as f64,
            });
        }
    }
    Ok(samples)
}

fn cjpeg(setting: u8, source: &Path, response: &Path) -> Result<(), Stop> {
    let mut cjpeg = Command::new("cjpeg");
    cjpeg.args([
        "-quality",
        &setting.to_string(),
        "-sample",
        "2x2",
        "-optimize",
        "-dct",
        "int",
    ]);
    let (bytes, _) = usage::run(cjpeg.arg(source))?;
    fs::write(response, bytes).map_err(at(response))
}

fn reduced(picture: &Packed, shrink: u32) -> Packed {
    let Size {
        width_px,
        height_px,
    } = picture.size;
    lanczos::scale(picture, Size::new(width_px / shrink, height_px / shrink))
}

fn points(samples: &[Sample], settings: &[u8]) -> Vec<Point> {
    let mut points = Vec::new();
    for Encoder { name, .. } in &ENCODERS {
        for &setting in settings {
            let here = samples
                .iter()
                .filter(|sample| sample.encoder == *name && sample.setting == setting);
            let here: Vec<&Sample> = here.collect();
            let scores: Vec<f64> = here.iter().map(|sample| sample.ssim2).collect();
            let bits: Vec<f64> = here.iter().map(|sample| sample.bits_per_pixel).collect();
            let sorted = stats::sorted(&scores);
            points.push(Point {
                encoder: name,
                setting,
                ssim2_mean: rounded(stats::mean(&scores)),
                ssim2_p5: rounded(stats::quantile(&sorted, 0.05)),
                ssim2_min: rounded(sorted[0]),
                bits_per_pixel: rounded(stats::mean(&bits)),
                ssim2: scores.into_iter().map(rounded).collect(),
                bytes: here.iter().map(|sample| sample.bytes).collect(),
            });
        }
    }
    points
}

/// Rounds to a thousandth, which is far finer than visible differences, and short in a record.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Computes the row of the quality table for the JPEG quality `jpeg`. Returns `None` if cjpeg did
/// not run at this quality.
fn knot(points: &[Point], jpeg: u8) -> Option<Knot> {
    let scale = points
        .iter()
        .find(|point| point.encoder == ENCODERS[0].name && point.setting == jpeg)?;
    let mut settings = Vec::new();
    let mut bits_per_pixel = vec![scale.bits_per_pixel];
    let mut deviation = Vec::new();
    for (Encoder { name, .. }, native) in ENCODERS[1..].iter().zip(native(jpeg)) {
        let own: Vec<_> = points
            .iter()
            .filter(|point| point.encoder == *name)
            .collect();
        let curve = |value: fn(&Point) -> f64| -> Vec<(f64, f64)> {
            own.iter()
                .map(|point| (f64::from(point.setting), value(point)))
                .collect()
        };
        let quality = curve(|point| point.ssim2_mean);
        let setting = match quality.first() {
            Some((least, ssim2)) if scale.ssim2_mean < *ssim2 => *least,
            _ => stats::reaches(&quality, scale.ssim2_mean).unwrap_or(100.0),
        };
        settings.push(rounded(setting));
        let bits = stats::value(&curve(|point| point.bits_per_pixel), setting);
        bits_per_pixel.extend(bits.map(rounded));
        let now = stats::value(&quality, f64::from(native));
        deviation.extend(now.map(|ssim2| rounded(ssim2 - scale.ssim2_mean)));
    }
    Some(Knot {
        jpeg,
        ssim2: scale.ssim2_mean,
        settings,
        bits_per_pixel,
        deviation,
    })
}

/// Returns the settings that `image_plan` at present chooses for a requested quality, one for each
/// encoder except cjpeg.
fn native(quality_pct: u8) -> [u8; 5] {
    let ways = [
        (Target::Jpeg, Stage::Quick),
        (Target::Webp, Stage::Quick),
        (Target::Webp, Stage::Better),
        (Target::Avif, Stage::Quick),
        (Target::Avif, Stage::Better),
    ];
    ways.map(|(target, stage)| image_plan::quality::native(quality_pct, target, stage))
}

fn print(points: &[Point], knots: &[Knot]) {
    let rows: Vec<_> = points
        .iter()
        .map(|point| {
            vec![
                point.encoder.to_owned(),
                point.setting.to_string(),
                format!("{:.2}", point.ssim2_mean),
                format!("{:.1}", point.ssim2_p5),
                format!("{:.1}", point.ssim2_min),
                format!("{:.3}", point.bits_per_pixel),
            ]
        })
        .collect();
    let head = [
        "encoder",
        "setting",
        "SSIM2 mean",
        "p5",
        "min",
        "bits/pixel",
    ];
    table::print("Quality by setting", &head, &rows);
    let columns = |title: &str, what: fn(&Knot) -> &[f64], digits: usize| {
        let rows = knots.iter().map(|knot| {
            let mut row = vec![knot.jpeg.to_string(), format!("{:.2}", knot.ssim2)];
            row.extend(what(knot).iter().map(|value| format!("{value:.digits$}")));
            row
        });
        let rows: Vec<_> = rows.collect();
        let named = ENCODERS.len() + 2 - rows[0].len();
        let mut head = vec!["quality", "SSIM2"];
        head.extend(ENCODERS[named..].iter().map(|encoder| encoder.name));
        table::print(title, &head, &rows);
    };
    columns(
        "Encoder settings with the same mean SSIMULACRA2",
        |knot| &knot.settings,
        1,
    );
    columns(
        "Bits per pixel at these settings",
        |knot| &knot.bits_per_pixel,
        3,
    );
    columns(
        "SSIMULACRA2 at the settings that Pelton uses, minus that of cjpeg",
        |knot| &knot.deviation,
        2,
    );
}

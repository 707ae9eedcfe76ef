//! `lab quality`: which setting of each encoder looks like a JPEG of each quality.
//!
//! ```text
//! photograph ─ djpeg ─ Lanczos, smaller ─► reference ─ worker ─► answer ─ dwebp, avifdec, djpeg ─ SSIMULACRA2
//!                                              └───────────────────────────────────────────────────┘
//! ```

use picture::{Encoding, Packed, Size};
use serde::{Deserialize, Serialize};

use crate::converter::{self, Converter};
use crate::corpus::{self, Photograph};
use crate::judge::{self, Reference};
use crate::record::Record;
use crate::scratch::Scratch;
use crate::stop::{Stop, at};
use crate::{Given, lanczos, stats, table};

/// `lab/definitions/quality.toml`.
#[derive(Deserialize)]
struct Definition {
    photographs: Vec<String>,
    /// By how much each side of a photograph is reduced, so that the artefacts of its own JPEG vanish.
    shrink: u32,
    /// Settings tried of each encoder.
    settings: Vec<u8>,
    /// Rows of the table of equal quality.
    knots: Vec<u8>,
}

/// An encoder whose scale of quality is measured.
struct Encoder {
    name: &'static str,
    encoding: fn(u8) -> Encoding,
}

/// The scale of all, then the columns of `picture::quality`.
const ENCODERS: [Encoder; 5] = [
    Encoder {
        name: "jpeg",
        encoding: |quality| Encoding::Jpeg { quality },
    },
    Encoder {
        name: "webp-m2",
        encoding: |quality| webp(quality, 2),
    },
    Encoder {
        name: "webp-m4",
        encoding: |quality| webp(quality, 4),
    },
    Encoder {
        name: "avif-s9",
        encoding: |quality| avif(quality, 9),
    },
    Encoder {
        name: "avif-s6",
        encoding: |quality| avif(quality, 6),
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

/// One answer.
#[derive(Clone, Serialize)]
struct Sample {
    encoder: &'static str,
    setting: u8,
    photograph: String,
    ssim2: f64,
    bytes: u64,
    pixels: u64,
}

/// All answers of an encoder at one setting.
#[derive(Clone, Copy, Serialize)]
struct Point {
    encoder: &'static str,
    setting: u8,
    ssim2_mean: f64,
    ssim2_p5: f64,
    ssim2_min: f64,
    bits_per_pixel: f64,
}

/// Settings of equal mean quality.
#[derive(Serialize)]
struct Knot {
    jpeg: u8,
    ssim2: f64,
    /// In the order of [`ENCODERS`] after JPEG; 100 where even that does not reach the quality.
    settings: Vec<f64>,
    /// Of JPEG, then of the others at these settings.
    bits_per_pixel: Vec<f64>,
}

pub(crate) fn run(given: &Given) -> Result<(), Stop> {
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
    record.add("samples", &samples);
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
    let bytes = std::fs::read(&source).map_err(at(&source))?;
    let facts = picture::probe(&bytes[..], bytes.len() as u64)
        .map_err(|err| Stop::finding(format!("{}: {err}", source.display())))?;
    let answer = scratch.join("answer");
    let mut samples = Vec::new();
    for Encoder { name, encoding } in &ENCODERS {
        for &setting in &definition.settings {
            let plan = converter::reencode(&facts, encoding(setting));
            converter.convert(&plan, &source, &answer)?;
            samples.push(Sample {
                encoder: name,
                setting,
                photograph: photograph.name.clone(),
                ssim2: reference.score(&judge::decode(&answer, scratch)?)?,
                bytes: answer.metadata().map_err(at(&answer))?.len(),
                pixels: facts.stored.pixels(),
            });
        }
    }
    Ok(samples)
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
            let here: Vec<_> = here.collect();
            let mut scores: Vec<f64> = here.iter().map(|sample| sample.ssim2).collect();
            scores.sort_by(f64::total_cmp);
            let bits = |sample: &&Sample| 8.0 * sample.bytes as f64 / sample.pixels as f64;
            points.push(Point {
                encoder: name,
                setting,
                ssim2_mean: stats::mean(&scores),
                ssim2_p5: stats::quantile(&scores, 0.05),
                ssim2_min: scores[0],
                bits_per_pixel: stats::mean(&here.iter().map(bits).collect::<Vec<_>>()),
            });
        }
    }
    points
}

/// `None` when `jpeg` is no setting that was tried.
fn knot(points: &[Point], jpeg: u8) -> Option<Knot> {
    let scale = points
        .iter()
        .find(|point| point.encoder == "jpeg" && point.setting == jpeg)?;
    let mut settings = Vec::new();
    let mut bits_per_pixel = vec![scale.bits_per_pixel];
    for Encoder { name, .. } in &ENCODERS[1..] {
        let own: Vec<_> = points
            .iter()
            .filter(|point| point.encoder == *name)
            .collect();
        let curve = |value: fn(&Point) -> f64| -> Vec<(f64, f64)> {
            own.iter()
                .map(|point| (f64::from(point.setting), value(point)))
                .collect()
        };
        let setting =
            stats::reaches(&curve(|point| point.ssim2_mean), scale.ssim2_mean).unwrap_or(100.0);
        settings.push(setting);
        bits_per_pixel.extend(stats::value(&curve(|point| point.bits_per_pixel), setting));
    }
    Some(Knot {
        jpeg,
        ssim2: scale.ssim2_mean,
        settings,
        bits_per_pixel,
    })
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
    let rows: Vec<_> = knots
        .iter()
        .map(|knot| {
            let mut row = vec![knot.jpeg.to_string(), format!("{:.2}", knot.ssim2)];
            row.extend(knot.settings.iter().map(|setting| format!("{setting:.1}")));
            row.extend(knot.bits_per_pixel.iter().map(|bits| format!("{bits:.3}")));
            row
        })
        .collect();
    let mut head = vec!["JPEG", "SSIM2"];
    head.extend(ENCODERS[1..].iter().map(|encoder| encoder.name));
    head.extend(["bpp jpeg", "m2", "m4", "s9", "s6"]);
    table::print(
        "Settings of equal mean SSIMULACRA2, and bits per pixel there",
        &head,
        &rows,
    );
}

//! `lab image`: CPU time, bytes and quality of conversions, compared with `vips`, `cwebp`,
//! `avifenc`, and the servers WebP Server Go and imgproxy.
//!
//! ```text
//! photographs ─► contender ─► results ─ decoder ─► SSIMULACRA2 ─► its setting of equal quality
//!                    │                                                            │
//!                    └────────────── interleaved rounds: CPU time, bytes ◄────────┘
//! ```
//!
//! The decoders are dwebp, avifdec and djpeg.

mod contender;
mod overhead;

use image_plan::{Packed, Size};
use serde::{Deserialize, Serialize};
use toolkit::stop::Stop;

use crate::corpus::{self, Photograph};
use crate::judge::{self, Reference};
use crate::record::Record;
use crate::scratch::Scratch;
use crate::stats::{Ratio, Spread};
use crate::timeline::Moment;
use crate::{SharedFlags, lanczos, stats, table};
use contender::{Contender, Peer};

/// Number of threads that compute the quality scores of results. No time is measured while they
/// run.
const JUDGES: usize = 2;

/// Parts of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// Convert at full size to WebP and AVIF
    Full,
    /// Scale into a box of 512 × 512
    Fit,
    /// Run the same jobs with and without a cell
    Cell,
}

/// Content of `lab/definitions/image.toml`.
#[derive(Deserialize)]
struct Definition {
    photographs: Vec<String>,
    rounds: usize,
    full: Vec<Race>,
    fit: Vec<Race>,
    cell: overhead::Definition,
}

/// Comparison for one output format: Pelton's query, and the peers.
#[derive(Deserialize)]
struct Race {
    format: String,
    /// Query string of the requests to Pelton.
    query: String,
    /// Side in pixels of the square into which results must fit; `None` for full size.
    box_px: Option<u32>,
    peers: Vec<Peer>,
}

/// Quality and size of one contender's results over all photographs.
#[derive(Clone, Debug, Serialize)]
struct Scores {
    race: String,
    contender: String,
    setting: Option<u8>,
    ssim2_mean: f64,
    ssim2_min: f64,
    bytes: u64,
    answers: Vec<JudgedPicture>,
}

#[derive(Clone, Debug, Serialize)]
struct JudgedPicture {
    photograph: String,
    ssim2: f64,
    bytes: u64,
}

/// CPU time and wall time that one contender used in one round for all photographs together.
#[derive(Serialize)]
struct Sample {
    race: String,
    contender: String,
    round: usize,
    cpu_us: u64,
    wall_us: u64,
}

#[derive(Serialize)]
struct Summary {
    race: String,
    contender: String,
    cpu_s_per_mp: Spread,
    /// CPU time of Pelton's conversion at low effort (`quick`) divided by this contender's CPU
    /// time.
    quick_over_this: Ratio,
}

pub(crate) fn run(given: &SharedFlags, only: Option<Part>) -> Result<(), Stop> {
    let (definition, raw): (Definition, _) = given.definition("image")?;
    let mut photographs = corpus::read(&given.corpus, &definition.photographs)?;
    photographs.truncate(given.take.unwrap_or(usize::MAX));
    let peers: [&[&str]; 6] = [
        &["vips", "--version"],
        &["cwebp", "-version"],
        &["avifenc", "--version"],
        &["djpeg", "-version"],
        &["dwebp", "-version"],
        &["avifdec", "--version"],
    ];
    let mut record = Record::begin("image", &raw, &peers, &photographs);
    record.add_versions(&given.peers);
    let rounds = given.rounds.unwrap_or(definition.rounds);
    let wanted = |part| only.is_none_or(|only| only == part);
    let mut results = Results::default();
    for (part, races) in [(Part::Full, &definition.full), (Part::Fit, &definition.fit)] {
        for race in races.iter().filter(|_| wanted(part)) {
            let track = Comparison {
                given,
                race,
                photographs: &photographs,
                rounds,
            };
            track.run(&mut results)?;
        }
    }
    record.add("summaries", &results.summaries);
    record.add("samples", &results.samples);
    record.add("looks", &results.qualities);
    record.add("timelines", &results.timelines);
    if wanted(Part::Cell) {
        let jobs = overhead::run(given, &definition.cell, &photographs, rounds)?;
        record.add("cell", &jobs);
    }
    record.write(&given.record)
}

/// CPU time and memory of one contender's server over time, while it converts all photographs once.
#[derive(Serialize)]
struct Timeline {
    race: String,
    contender: String,
    peak_bytes: Option<u64>,
    moments: Vec<Moment>,
}

#[derive(Default)]
struct Results {
    qualities: Vec<Scores>,
    samples: Vec<Sample>,
    summaries: Vec<Summary>,
    timelines: Vec<Timeline>,
}

/// Comparison for one output format, with the photographs and the number of rounds.
struct Comparison<'a> {
    given: &'a SharedFlags,
    race: &'a Race,
    photographs: &'a [Photograph],
    rounds: usize,
}

impl Comparison<'_> {
    fn name(&self) -> String {
        match self.race.box_px {
            None => format!("full size to {}", self.race.format),
            Some(side) => format!("fit {side} to {}", self.race.format),
        }
    }

    fn run(&self, results: &mut Results) -> Result<(), Stop> {
        let ours = [
            ("pelton quick", false),
            ("pelton better", true),
            ("pelton quick again", false),
        ];
        let us = |(name, improve)| Contender::us(name, improve, self.given, &self.race.query);
        let mut contenders: Vec<Contender> = ours.into_iter().map(us).collect();
        let mut qualities = Vec::new();
        for contender in &contenders {
            qualities.push(self.measure_quality(contender)?);
        }
        let goal = qualities[0].ssim2_mean;
        for peer in &self.race.peers {
            if !peer.is_given(self.given) {
                eprintln!(
                    "lab: {}: {} is left out, because no option --peer gives its path",
                    self.name(),
                    peer.name
                );
                continue;
            }
            let (contender, quality) = self.calibrated(peer, goal)?;
            contenders.push(contender);
            qualities.push(quality);
        }
        let samples = self.rounds(&contenders)?;
        for contender in contenders.iter().filter(|it| !it.is_control()) {
            results.timelines.extend(self.timeline(contender)?);
        }
        let summaries = self.summaries(&contenders, &samples);
        print(&self.name(), &qualities, &summaries);
        results.qualities.extend(qualities);
        results.samples.extend(samples);
        results.summaries.extend(summaries);
        Ok(())
    }

    /// Runs a contender once and scores all its results.
    fn measure_quality(&self, contender: &Contender) -> Result<Scores, Stop> {
        let answers = Scratch::new("answers")?;
        contender.convert(self.photographs, &answers)?;
        let judged = |photograph: &Photograph, thread: usize| -> Result<JudgedPicture, Stop> {
            let scratch = Scratch::new(&format!("judge-{thread}"))?;
            let original = judge::decode(&photograph.path, &scratch)?;
            let path = answers.join(photograph.word());
            let response = judge::decode(&path, &scratch)?;
            let reference = Reference::new(self.reference(original, response.size)?)?;
            Ok(JudgedPicture {
                photograph: photograph.name.clone(),
                ssim2: reference.score(&response)?,
                bytes: path.metadata().map_err(toolkit::stop::at(&path))?.len(),
            })
        };
        let answers = shared_out(self.photographs, judged)?;
        let scores: Vec<f64> = answers.iter().map(|response| response.ssim2).collect();
        let quality = Scores {
            race: self.name(),
            contender: contender.name.clone(),
            setting: contender.setting(),
            ssim2_mean: stats::mean(&scores),
            ssim2_min: Spread::of(&scores).min,
            bytes: answers.iter().map(|response| response.bytes).sum(),
            answers,
        };
        let Scores {
            race,
            contender,
            setting,
            ssim2_mean,
            bytes,
            ..
        } = &quality;
        eprintln!("lab: {race}: {contender} {setting:?}: SSIM2 {ssim2_mean:.2}, {bytes} bytes");
        Ok(quality)
    }

    /// Returns the reference for scoring a result: the original, or for `fit` the original scaled
    /// to the result's size. The result's size is used because contenders round the sides of a
    /// fitted picture differently, by less than a pixel.
    fn reference(&self, original: Packed, response: Size) -> Result<Packed, Stop> {
        let Some(side) = self.race.box_px else {
            return Ok(original);
        };
        let factor =
            f64::from(side) / f64::from(original.size.width_px.max(original.size.height_px));
        let near =
            |side: u32, response: u32| (f64::from(side) * factor - f64::from(response)).abs() < 1.0;
        let (from, to) = (original.size, response);
        if !near(from.width_px, to.width_px) || !near(from.height_px, to.height_px) {
            return Err(Stop::findings(format!(
                "the size of the result, {to:?}, is not the size {from:?} scaled to fit the box"
            )));
        }
        Ok(lanczos::scale(&original, response))
    }

    /// Finds the setting of a peer at which its mean quality is nearest to `goal`, by bisection.
    fn calibrated(&self, peer: &Peer, goal: f64) -> Result<(Contender, Scores), Stop> {
        let (mut worse, mut better) = peer.bounds();
        let mut nearest: Option<(Contender, Scores)> = None;
        while worse <= better {
            let middle = (worse + better) / 2;
            let contender = Contender::peer(peer, middle, self.given, &self.race.format);
            let quality = self.measure_quality(&contender)?;
            if quality.ssim2_mean < goal {
                worse = middle + 1;
            } else {
                better = middle - 1;
            }
            let distance = |scores: &Scores| (scores.ssim2_mean - goal).abs();
            if nearest
                .as_ref()
                .is_none_or(|(_, best)| distance(&quality) < distance(best))
            {
                nearest = Some((contender, quality));
            }
        }
        nearest.ok_or_else(|| {
            Stop::usage(format!(
                "{}: the range `settings` in the definition of the benchmark is empty",
                peer.name
            ))
        })
    }

    /// Runs a contender once more and samples its server. `None` if the contender is not a server.
    fn timeline(&self, contender: &Contender) -> Result<Option<Timeline>, Stop> {
        let moments = contender.watch(self.photographs)?;
        Ok(moments.map(|moments| Timeline {
            race: self.name(),
            contender: contender.name.clone(),
            peak_bytes: moments.iter().map(|moment| moment.memory_bytes).max(),
            moments,
        }))
    }

    fn rounds(&self, contenders: &[Contender]) -> Result<Vec<Sample>, Stop> {
        let mut samples = Vec::new();
        for round in 0..self.rounds {
            eprintln!(
                "lab: {}: round {} of {}",
                self.name(),
                round + 1,
                self.rounds
            );
            for index in stats::order(contenders.len(), round) {
                let answers = Scratch::new("answers")?;
                let usage = contenders[index].convert(self.photographs, &answers)?;
                samples.push(Sample {
                    race: self.name(),
                    contender: contenders[index].name.clone(),
                    round,
                    cpu_us: usage.cpu_us,
                    wall_us: usage.wall_us,
                });
            }
        }
        Ok(samples)
    }

    fn summaries(&self, contenders: &[Contender], samples: &[Sample]) -> Vec<Summary> {
        let of = |name: &str| -> Vec<f64> {
            let own = samples.iter().filter(|sample| sample.contender == name);
            // Ratios compare samples of the same round, so the samples are sorted by round.
            let mut own: Vec<_> = own.collect();
            own.sort_by_key(|sample| sample.round);
            own.iter().map(|sample| sample.cpu_us as f64).collect()
        };
        let quick = of(&contenders[0].name);
        let megapixels = corpus::megapixels(self.photographs);
        let summary = |contender: &Contender| {
            let own = of(&contender.name);
            let per_mp: Vec<f64> = own.iter().map(|cpu_us| cpu_us / 1e6 / megapixels).collect();
            Summary {
                race: self.name(),
                contender: contender.name.clone(),
                cpu_s_per_mp: Spread::of(&per_mp),
                quick_over_this: Ratio::of(&quick, &own),
            }
        };
        contenders.iter().map(summary).collect()
    }
}

/// Runs `work` for each photograph on [`JUDGES`] threads. Returns the results in the order of the
/// photographs.
fn shared_out<T: Send>(
    photographs: &[Photograph],
    work: impl Fn(&Photograph, usize) -> Result<T, Stop> + Sync,
) -> Result<Vec<T>, Stop> {
    let work = &work;
    std::thread::scope(|scope| {
        let share = |thread: usize| {
            let own = photographs.iter().skip(thread).step_by(JUDGES);
            own.map(|photograph| work(photograph, thread))
                .collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..JUDGES)
            .map(|thread| scope.spawn(move || share(thread)))
            .collect();
        let mut shares: Vec<_> = threads
            .into_iter()
            .map(|thread| thread.join().expect("judges do not panic").into_iter())
            .collect();
        let turns = (0..photographs.len()).map(|turn| turn % JUDGES);
        turns
            .map(|turn| shares[turn].next().expect("each judge returned its share"))
            .collect()
    })
}

fn print(name: &str, qualities: &[Scores], summaries: &[Summary]) {
    let rows = qualities.iter().zip(summaries).map(|(quality, summary)| {
        let Spread { median, min, max } = summary.cpu_s_per_mp;
        let ratio = summary.quick_over_this;
        vec![
            quality.contender.clone(),
            quality
                .setting
                .map_or_else(|| "-".to_owned(), |setting| setting.to_string()),
            format!("{:.2}", quality.ssim2_mean),
            format!("{:.1}", quality.ssim2_min),
            quality.bytes.to_string(),
            format!("{median:.4}"),
            format!("{min:.4}…{max:.4}"),
            format!("{:.3}", ratio.median),
            format!("{:.3}…{:.3}", ratio.low, ratio.high),
        ]
    });
    let head = [
        "contender",
        "setting",
        "SSIM2",
        "min",
        "bytes",
        "CPU s/MP",
        "range",
        "quick/this",
        "95 %",
    ];
    table::print(name, &head, &rows.collect::<Vec<_>>());
}

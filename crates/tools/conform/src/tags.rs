//! `conform tags`: checks the crate `tags`, which reads the tags of music files. Compares its
//! results with the manifest of a generated library, and with those of mutagen and ffprobe.
//!
//! ```text
//! library ─┬─ tags ───────┬─► against the manifest: equal
//!          ├─ mutagen ────┼─► against tags: equal, or explained below
//!          └─ ffprobe ────┘   (some files only: each needs a process)
//! ```

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Parser as _;
use mediagen::{Expected, Line, MANIFEST};
use serde::Deserialize;
use tags::{Field, Limits, Media, Picture, ReadAt, Reader, Stored};
use toolkit::command::{output, succeed, timed, unstartable};
use toolkit::stop::{EXIT_FINDINGS, Stop, at};
use toolkit::{cache, debian};

const MUTAGEN: &str = "mutagen==1.48.1";
const SCRIPT: &str = include_str!("tags/mutagen.py");

/// Durations count as different if they differ by at least this number of milliseconds. Smaller
/// differences come from rounding, which each program does in its own way.
const DURATION_TOLERANCE_MS: u64 = 2;

/// Arguments after the suite's name.
#[derive(clap::Parser)]
#[command(name = "cargo xtask conform tags")]
struct Typed {
    /// Number of tracks in the library
    #[arg(long, default_value_t = 2000)]
    tracks: u32,
    /// Seed of the library
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of files to check with ffprobe
    #[arg(long, default_value_t = 100)]
    probed: usize,
}

/// Known difference between the results of `tags` and those of an oracle (mutagen or ffprobe), with
/// its cause.
struct Explained {
    /// Name of the oracle that reports the difference.
    oracle: &'static str,
    /// Suffix of the names of the files to which the explanation applies.
    suffix: &'static str,
    /// Property of a file, such as `channels`, that the oracle reports differently from `tags`.
    property: &'static str,
    /// Maximum distance between two durations that the explanation covers, in milliseconds; 0 if
    /// the property is not a duration.
    apart_ms: u64,
    why: &'static str,
}

const EXPLAINED: &[Explained] = &[
    Explained {
        oracle: "mutagen",
        suffix: ".m4a",
        property: "channels",
        apart_ms: 0,
        why: "mutagen trusts the channel count of the sample entry, which is 2 even for mono AAC; ffprobe agrees with Pelton",
    },
    Explained {
        oracle: "mutagen",
        suffix: "lying block.flac",
        property: "verdict",
        apart_ms: 0,
        why: "mutagen drops the block that ends beyond the end of the file, and reads no audio frames, so it does not notice that they are missing",
    },
    Explained {
        oracle: "mutagen",
        suffix: "head alone.wav",
        property: "verdict",
        apart_ms: 0,
        why: "mutagen accepts a file with a format but without samples, and a duration of zero",
    },
    Explained {
        oracle: "ffprobe",
        suffix: ".mp3",
        property: "duration",
        apart_ms: 60,
        why: "ffprobe counts the encoder's padding at the end, which the LAME header states; mutagen and Pelton leave it out",
    },
    Explained {
        oracle: "ffprobe",
        suffix: ".m4a",
        property: "duration",
        apart_ms: 24,
        why: "ffprobe leaves out the frame of encoder delay that the edit list names; mutagen and Pelton count that frame",
    },
    Explained {
        oracle: "ffprobe",
        suffix: ".opus",
        property: "duration",
        apart_ms: 8,
        why: "ffprobe counts the pre-skip, which players must not play (RFC 7845 §4.2)",
    },
];

/// One difference between the results of `tags` and those of the manifest or an oracle.
struct Difference {
    property: String,
    /// Distance between the two durations, in milliseconds; 0 if the property is not a duration.
    apart_ms: u64,
    text: String,
}

/// Properties of a file as an oracle or the manifest reports them.
#[derive(Debug, Default, Deserialize)]
struct Reported {
    error: Option<String>,
    #[serde(default)]
    duration_ms: f64,
    #[serde(default)]
    sample_rate_hz: u32,
    #[serde(default)]
    channels: u16,
    #[serde(default)]
    fields: BTreeMap<String, Vec<String>>,
    cover_bytes: Option<u64>,
}

/// File on disk, as a source of bytes for `tags`.
struct OnDisk(File);

impl ReadAt for OnDisk {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<usize> {
        self.0.read_at(buf, offset)
    }
}

pub(crate) fn run(_root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    let words = [OsString::from("conform tags")].into_iter();
    let typed = Typed::parse_from(words.chain(arguments.iter().cloned()));
    debian::ensure(&["python3-venv"])?;
    let cache = cache::folder()?;
    let folder = mediagen::prepared(typed.tracks, typed.seed)?;
    let manifest = folder.join(MANIFEST);
    let text = fs::read_to_string(&manifest).map_err(at(&manifest))?;
    let lines: Result<Vec<Line>, _> = text.lines().map(serde_json::from_str).collect();
    let lines = lines.map_err(|err| Stop::host(format!("{}: {err}", manifest.display())))?;
    let mut open = timed("comparison of the tags with the manifest", || {
        differences(&folder, &lines)
    })?;
    let reported = timed("mutagen", || mutagen(&cache, &folder, &lines))?;
    open.extend(compare("mutagen", &folder, &lines, &reported)?);
    let step = lines.len().div_ceil(typed.probed.max(1));
    let some: Vec<Line> = lines.iter().step_by(step).cloned().collect();
    let reported = timed("ffprobe", || ffprobe(&folder, &some))?;
    open.extend(compare("ffprobe", &folder, &some, &reported)?);
    for line in &open {
        println!("{line}");
    }
    println!(
        "{} files, {} unexplained differences",
        lines.len(),
        open.len()
    );
    Ok(match open.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(EXIT_FINDINGS),
    })
}

fn read(path: &Path) -> Result<Result<Media, tags::Error>, Stop> {
    let file = File::open(path).map_err(at(path))?;
    let len = file.metadata().map_err(at(path))?.len();
    Ok(Reader::new(Limits::default()).read(&OnDisk(file), len))
}

fn on_disk(folder: &Path, line: &Line) -> PathBuf {
    folder.join(std::ffi::OsStr::from_bytes(&line.path()))
}

/// Returns the differences between the results of `tags` and the manifest.
///
/// # Errors
/// When a file cannot be opened.
fn differences(folder: &Path, lines: &[Line]) -> Result<Vec<String>, Stop> {
    let mut found = Vec::new();
    for line in lines {
        let expected = match &line.expected {
            Expected::Verdict(verdict) => Reported {
                error: Some(verdict.clone()),
                ..Reported::default()
            },
            Expected::Music {
                duration_ms,
                sample_rate_hz,
                channels,
                fields,
                cover_bytes,
            } => {
                let mut by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
                for (name, value) in fields {
                    by_name.entry(name.clone()).or_default().push(value.clone());
                }
                Reported {
                    error: None,
                    duration_ms: *duration_ms as f64,
                    sample_rate_hz: *sample_rate_hz,
                    channels: *channels,
                    fields: by_name,
                    cover_bytes: *cover_bytes,
                }
            }
        };
        let differs = differs(&read(&on_disk(folder, line))?, &expected, true);
        let lines = differs.into_iter();
        found
            .extend(lines.map(|found| format!("{}: {} {}", line.path, found.property, found.text)));
    }
    Ok(found)
}

/// Returns the differences between `ours`, the result of `tags`, and `reported`, the report of an
/// oracle or the manifest. If `exact` is true, the kinds of errors must be equal, and a cover must
/// be in both or in neither.
fn differs(ours: &Result<Media, tags::Error>, reported: &Reported, exact: bool) -> Vec<Difference> {
    let verdict = |text| {
        vec![Difference {
            property: "verdict".to_owned(),
            apart_ms: 0,
            text,
        }]
    };
    let media = match (ours, &reported.error) {
        (Err(_), Some(_)) if !exact => return Vec::new(),
        (Err(err), Some(kind)) if format!("{:?}", err.kind) == *kind => return Vec::new(),
        (Err(err), error) => return verdict(format!("{:?} ({err}), not {error:?}", err.kind)),
        (Ok(_), Some(error)) => return verdict(format!("none, not {error}")),
        (Ok(media), None) => media,
    };
    let mut found = Vec::new();
    let apart = (media.audio.duration_ms as f64 - reported.duration_ms).abs();
    let mut check = |property: &str, ours: String, theirs: String| {
        if ours != theirs {
            found.push(Difference {
                property: property.to_owned(),
                apart_ms: if property == "duration" {
                    apart.ceil() as u64
                } else {
                    0
                },
                text: format!("{ours}, not {theirs}"),
            });
        }
    };
    let audio = &media.audio;
    // A duration that is NaN is always a difference.
    if apart.is_nan() || DURATION_TOLERANCE_MS as f64 <= apart {
        check(
            "duration",
            audio.duration_ms.to_string(),
            reported.duration_ms.to_string(),
        );
    }
    // Mutagen reports no rate for Opus.
    if reported.sample_rate_hz != 0 {
        check(
            "rate",
            audio.sample_rate_hz.to_string(),
            reported.sample_rate_hz.to_string(),
        );
    }
    check(
        "channels",
        audio.channels.to_string(),
        reported.channels.to_string(),
    );
    for (name, theirs) in &reported.fields {
        let field = Field::ALL.into_iter().find(|field| field.name() == name);
        let ours: Vec<&str> = field.map_or_else(Vec::new, |field| media.tags.all(field).collect());
        check(name, format!("{ours:?}"), format!("{theirs:?}"));
    }
    if exact || reported.cover_bytes.is_some() {
        let cover = media
            .cover()
            .map(|cover| plain_bytes(cover, reported.cover_bytes));
        check(
            "cover",
            format!("{cover:?}"),
            format!("{:?}", reported.cover_bytes),
        );
    }
    found
}

/// Returns the size of a cover in bytes, after decoding. If the cover is stored as base64, the
/// decoded size follows from the size of the text only to within two bytes. If the size that an
/// oracle reports (`reported`) is in that range, that size is returned.
fn plain_bytes(cover: &Picture, reported: Option<u64>) -> u64 {
    match cover.stored {
        Stored::Base64 | Stored::OggBase64 => {
            let plain = cover.bytes / 4 * 3 - u64::from(cover.skip);
            reported
                .filter(|reported| plain.abs_diff(*reported) < 3)
                .unwrap_or(plain)
        }
        _ => cover.bytes,
    }
}

/// Returns the unexplained differences between the results of `tags` and of an oracle, and prints
/// the number of each explained difference on stderr.
///
/// # Errors
/// When a file cannot be opened, or the oracle has not reported on all files.
fn compare(
    oracle: &str,
    folder: &Path,
    lines: &[Line],
    reported: &[Reported],
) -> Result<Vec<String>, Stop> {
    if lines.len() != reported.len() {
        return Err(Stop::host(format!(
            "{oracle} printed results for {} of {} files",
            reported.len(),
            lines.len()
        )));
    }
    let mut open = Vec::new();
    let mut counts = vec![0; EXPLAINED.len()];
    for (line, reported) in lines.iter().zip(reported) {
        for found in differs(&read(&on_disk(folder, line))?, reported, false) {
            let known = EXPLAINED.iter().position(|known| {
                known.oracle == oracle
                    && line.path.ends_with(known.suffix)
                    && found.property == known.property
                    && found.apart_ms <= known.apart_ms
            });
            match known {
                Some(known) => counts[known] += 1,
                None => {
                    let Difference { property, text, .. } = found;
                    open.push(format!("{oracle}: {}: {property} {text}", line.path));
                }
            }
        }
    }
    for (known, count) in EXPLAINED.iter().zip(counts) {
        if known.oracle == oracle {
            eprintln!(
                "conform: {oracle}: {count} × {} {}: {}",
                known.suffix, known.property, known.why
            );
        }
    }
    Ok(open)
}

/// Returns mutagen's reports on all files, from one process. Mutagen is installed into a virtual
/// environment in the cache.
fn mutagen(cache: &Path, folder: &Path, lines: &[Line]) -> Result<Vec<Reported>, Stop> {
    let venv = cache.join("mutagen");
    let python = venv.join("bin/python");
    if !python.is_file() {
        succeed(Command::new("python3").args(["-m", "venv"]).arg(&venv)).map_err(Stop::on_host)?;
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", MUTAGEN])
            .stdout(std::io::stderr());
        succeed(&mut pip).map_err(Stop::on_host)?;
    }
    let mut command = Command::new(&python);
    command
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|err| unstartable(&command, &err))?;
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let paths = lines.iter().map(|line| on_disk(folder, line));
    let paths: Vec<u8> = paths
        .flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat())
        .collect();
    let writing = std::thread::spawn(move || stdin.write_all(&paths));
    let done = child
        .wait_with_output()
        .map_err(|err| unstartable(&command, &err))?;
    let written = writing.join().expect("writing does not panic");
    written.map_err(|err| unstartable(&command, &err))?;
    let text = String::from_utf8_lossy(&done.stdout);
    let reported: Result<Vec<Reported>, _> = text.lines().map(serde_json::from_str).collect();
    reported.map_err(|err| Stop::host(format!("mutagen: {err}")))
}

/// The parts of ffprobe's output that are compared.
#[derive(Deserialize)]
struct Probed {
    #[serde(default)]
    streams: Vec<ProbedStream>,
}

#[derive(Deserialize)]
struct ProbedStream {
    codec_type: String,
    sample_rate: Option<String>,
    channels: Option<u16>,
    duration: Option<String>,
}

fn ffprobe(folder: &Path, lines: &[Line]) -> Result<Vec<Reported>, Stop> {
    let reported = lines.iter().map(|line| {
        let mut command = Command::new("ffprobe");
        command.args([
            "-v",
            "quiet",
            "-print_format",
            "json",
            "-show_streams",
            "-i",
        ]);
        command.arg(on_disk(folder, line));
        let refused = || Reported {
            error: Some("refused".to_owned()),
            ..Reported::default()
        };
        let Ok(text) = output(&mut command) else {
            return Ok(refused());
        };
        let probed: Probed =
            serde_json::from_str(&text).map_err(|err| Stop::host(format!("ffprobe: {err}")))?;
        let sound = probed
            .streams
            .into_iter()
            .find(|stream| stream.codec_type == "audio");
        let number = |text: Option<String>| text.and_then(|text| text.parse::<f64>().ok());
        Ok(sound.map_or_else(refused, |sound| Reported {
            duration_ms: number(sound.duration).unwrap_or(f64::NAN) * 1000.0,
            sample_rate_hz: number(sound.sample_rate).unwrap_or(0.0) as u32,
            channels: sound.channels.unwrap_or(0),
            ..Reported::default()
        }))
    });
    reported.collect()
}

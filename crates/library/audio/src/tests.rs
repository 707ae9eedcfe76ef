//! Tests of transcoding: valid files, whose output is compared with that of ffmpeg, and invalid
//! files.

mod garbage;
mod kernels;
mod round;

use std::io::Cursor;
use std::process::{Command, Stdio};

use audio_plan::{Checker, Codec, Gain, Plan};

use crate::{Error, Transcoded, transcode};

/// Returns a plan that transcodes a whole track of `seconds` seconds.
fn plan(codec: Codec, channels: u8, seconds: u64) -> Plan {
    Plan {
        codec,
        channels,
        bit_rate_bps: 64_000 * u32::from(channels),
        start_ms: 0,
        duration_ms: seconds * 1_000,
        gain: Gain::default(),
        title: "Für Elise".to_owned(),
        artist: String::new(),
        album: String::new(),
    }
}

/// Transcodes `original` by `plan` and verifies the output with a [`Checker`], as the server does.
fn transcoded(plan: &Plan, original: &[u8]) -> Result<Transcoded<Vec<u8>>, Error> {
    let transcoded = transcode(plan, Cursor::new(original), Vec::new())?;
    let mut checker = Checker::new(plan);
    assert_eq!(checker.take(&transcoded.sink), Ok(transcoded.sink.len()));
    assert_eq!(checker.finish(), Ok(transcoded.frames));
    Ok(transcoded)
}

/// Runs ffmpeg with `before`, `output_args` and `-` as arguments, in this order. Writes `input` to
/// its standard input and returns its standard output.
fn ffmpeg(before: &[&str], input: &[u8], output_args: &[&str]) -> Vec<u8> {
    use std::io::Write as _;
    let mut command = Command::new("ffmpeg");
    command
        .args(["-v", "error"])
        .args(before)
        .args(output_args)
        .arg("-");
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = pipes
        .spawn()
        .expect("ffmpeg, which `cargo xtask test` installs");
    let mut stdin = child.stdin.take().expect("it was asked for");
    let input = input.to_vec();
    // Another thread writes the input, because ffmpeg may stop reading until its output is read.
    let feeder = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("it ends");
    feeder.join().expect("no panic").ok();
    assert!(output.status.success(), "ffmpeg {output_args:?}");
    output.stdout
}

/// Decodes a file with ffmpeg to samples at 48 kHz. Returns one row per channel.
fn decoded(file: &[u8], channels: usize) -> Vec<Vec<f32>> {
    let count = channels.to_string();
    let output_args = ["-f", "f32le", "-ar", "48000", "-ac", &count];
    let bytes = ffmpeg(&["-i", "-"], file, &output_args);
    let (samples, _) = bytes.as_chunks();
    let samples: Vec<f32> = samples
        .iter()
        .map(|sample| f32::from_le_bytes(*sample))
        .collect();
    let channel = |channel| {
        samples
            .iter()
            .skip(channel)
            .step_by(channels)
            .copied()
            .collect()
    };
    (0..channels).map(channel).collect()
}

/// Finds the delay of `b` relative to `a`, from −`lag_max` to `lag_max` frames. Returns the delay,
/// and the similarity in decibels: the power of `a` divided by the power of the difference between
/// the two signals.
fn compare(a: &[f32], b: &[f32], lag_max: usize) -> (i64, f64) {
    let power = |samples: &mut dyn Iterator<Item = f64>| samples.map(|it| it * it).sum::<f64>();
    let end = a.len().min(b.len()) - lag_max;
    let difference = |lag: i64| {
        let pairs = (lag_max..end)
            .step_by(3)
            .map(|at| f64::from(a[at]) - f64::from(b[(at as i64 + lag) as usize]));
        power(&mut { pairs })
    };
    let lags = -(lag_max as i64)..=lag_max as i64;
    let best = lags.min_by(|one, other| difference(*one).total_cmp(&difference(*other)));
    let best = best.expect("there are some");
    let all = power(&mut (lag_max..end).step_by(3).map(|at| f64::from(a[at])));
    (best, 10.0 * (all / difference(best)).log10())
}

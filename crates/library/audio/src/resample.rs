//! Resampler to 48 kHz with a windowed sinc filter. The phase of an output sample is its position
//! between two input samples. The filter has one row of weights per phase.
//!
//! ```text
//! output sample n lies at n · M / L of the input, where L / M is 48,000 / rate in lowest terms
//! its phase is the remainder of n · M divided by L and selects one of the L rows of weights
//! ```

use audio_plan::SAMPLE_RATE_HZ;

use crate::error::Error;

/// Half the length of the filter, in samples at the input rate or 48 kHz, whichever is lower. For
/// input at 44.1 kHz and the Kaiser window of [`BETA`], the response falls by 90 dB between 20 and
/// 24 kHz. This is steep enough, because the Opus encoder removes everything above 20 kHz.
const REACH: u64 = 32;
/// Parameter of the Kaiser window, for an attenuation of 90 dB.
const BETA: f64 = 9.0;
/// Number of partial sums per dot product, which lets the compiler use vector instructions. It
/// fixes the order of additions, and so the exact result.
const LANES: usize = 8;
/// Maximum number of weights of a filter. Unusual sample rates have many phases and need many
/// weights.
const WEIGHTS_MAX: u64 = 4 << 20;

/// Resampler of one track.
pub(crate) struct Resampler {
    /// Filter, or `None` if the sample rate of the input is 48 kHz.
    filter: Option<Filter>,
    channels: Vec<Vec<f32>>,
    /// Number of samples per channel that were removed from the start of the buffers so far.
    dropped: u64,
    /// Number of samples per channel received so far.
    received: u64,
    /// Number of samples per channel produced so far.
    produced: u64,
}

struct Filter {
    rows: Vec<f32>,
    taps: usize,
    up: u64,
    down: u64,
}

impl Resampler {
    pub(crate) fn new(rate_hz: u32, channels: u8) -> Result<Resampler, Error> {
        let filter = match rate_hz == SAMPLE_RATE_HZ {
            true => None,
            false => Some(Filter::new(rate_hz.into())?),
        };
        // The buffers start with silence, because the first output sample also depends on earlier
        // input.
        let before = filter.as_ref().map_or(0, |filter| filter.taps / 2 - 1);
        Ok(Resampler {
            filter,
            channels: vec![vec![0.0; before]; channels.into()],
            dropped: 0,
            received: 0,
            produced: 0,
        })
    }

    /// Returns the input buffers, one per channel. The caller appends the same number of samples to
    /// each.
    pub(crate) fn inputs(&mut self) -> &mut [Vec<f32>] {
        &mut self.channels
    }

    /// Appends to `out` all frames that can be computed from the input so far. If `over` is true,
    /// the input is complete, and its last frames are computed as if silence followed.
    pub(crate) fn run(&mut self, over: bool, out: &mut Vec<f32>) {
        let Some(filter) = &self.filter else {
            let frames = self.channels[0].len();
            for frame in 0..frames {
                out.extend(self.channels.iter().map(|channel| channel[frame]));
            }
            self.channels.iter_mut().for_each(Vec::clear);
            return;
        };
        let before = filter.taps as u64 / 2 - 1;
        self.received = self.dropped + self.channels[0].len() as u64 - before;
        let mut output_max = u64::MAX;
        if over {
            output_max = (self.received * filter.up).div_ceil(filter.down);
            for channel in &mut self.channels {
                channel.resize(channel.len() + filter.taps, 0.0);
            }
        }
        let available = self.dropped + self.channels[0].len() as u64;
        while self.produced < output_max {
            let position = self.produced * filter.down;
            let (at, phase) = (position / filter.up, (position % filter.up) as usize);
            if available < at + filter.taps as u64 {
                break;
            }
            let begin = (at - self.dropped) as usize;
            let row = &filter.rows[phase * filter.taps..][..filter.taps];
            let channels = self.channels.iter();
            out.extend(channels.map(|channel| dot(&channel[begin..][..filter.taps], row)));
            self.produced += 1;
        }
        // Removes input samples that no later output sample depends on.
        let next = self.produced * filter.down / filter.up;
        let removable = (next - self.dropped).min(self.channels[0].len() as u64);
        for channel in &mut self.channels {
            channel.drain(..removable as usize);
        }
        self.dropped += removable;
    }
}

impl Filter {
    fn new(rate_hz: u64) -> Result<Filter, Error> {
        let to_hz = u64::from(SAMPLE_RATE_HZ);
        let divisor = gcd(rate_hz, to_hz);
        let (up, down) = (to_hz / divisor, rate_hz / divisor);
        let reach = (REACH * rate_hz).div_ceil(to_hz).max(REACH);
        let reach = reach.next_multiple_of(LANES as u64 / 2);
        let taps = 2 * reach;
        if WEIGHTS_MAX < up * taps {
            return Err(Error::unsupported(format!(
                "unsupported sample rate of {rate_hz} Hz"
            )));
        }
        let cutoff = (to_hz as f64 / rate_hz as f64).min(1.0);
        let mut rows = Vec::with_capacity((up * taps) as usize);
        for phase in 0..up {
            let weights = (0..taps).map(|tap| {
                let distance = (tap + 1) as f64 - reach as f64 - phase as f64 / up as f64;
                sinc(cutoff * distance) * kaiser(distance / reach as f64)
            });
            let weights: Vec<f64> = weights.collect();
            let sum: f64 = weights.iter().sum();
            rows.extend(weights.iter().map(|weight| (weight / sum) as f32));
        }
        Ok(Filter {
            rows,
            taps: taps as usize,
            up,
            down,
        })
    }
}

fn dot(samples: &[f32], weights: &[f32]) -> f32 {
    let (samples, weights) = (samples.as_chunks::<LANES>(), weights.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (samples, weights) in samples.0.iter().zip(weights.0) {
        for lane in 0..LANES {
            sums[lane] += samples[lane] * weights[lane];
        }
    }
    sums.iter().sum()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn sinc(x: f64) -> f64 {
    let angle = std::f64::consts::PI * x;
    if angle == 0.0 {
        1.0
    } else {
        angle.sin() / angle
    }
}

/// Returns the value of the Kaiser window at `x`, where 0 is the centre and ±1 are the edges.
fn kaiser(x: f64) -> f64 {
    let inside = 1.0 - x * x;
    if inside <= 0.0 {
        return 0.0;
    }
    bessel(BETA * inside.sqrt()) / bessel(BETA)
}

/// Returns the modified Bessel function of the first kind and order zero, computed by its series.
fn bessel(x: f64) -> f64 {
    const TERMS: u32 = 64;
    let (mut sum, mut term) = (1.0, 1.0);
    for n in 1..TERMS {
        let factor = x / 2.0 / f64::from(n);
        term *= factor * factor;
        sum += term;
    }
    sum
}

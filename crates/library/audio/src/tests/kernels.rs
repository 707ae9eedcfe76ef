use std::f64::consts::TAU;

use crate::decode::{ChannelOrder, FrameFormat};
use crate::mix::Mix;
use crate::resample::Resampler;

fn sine(hz: f64, rate: f64, count: usize) -> Vec<f32> {
    (0..count)
        .map(|at| (0.5 * (TAU * hz * at as f64 / rate).sin()) as f32)
        .collect()
}

/// Resamples `samples`, passed in pieces whose sizes cycle through `pieces`.
fn resampled(rate: u32, samples: &[f32], pieces: &[usize]) -> Vec<f32> {
    let mut resampler = Resampler::new(rate, 1).expect("a rate that is handled");
    let (mut out, mut rest) = (Vec::new(), samples);
    for piece in pieces.iter().cycle() {
        let (piece, following) = rest.split_at((*piece).min(rest.len()));
        resampler.inputs()[0].extend_from_slice(piece);
        rest = following;
        resampler.run(rest.is_empty(), &mut out);
        if rest.is_empty() {
            return out;
        }
    }
    unreachable!("pieces are cycled");
}

#[test]
fn every_rate_becomes_48_khz_with_each_sample_in_its_place() {
    for rate in [
        8_000, 11_025, 16_000, 22_050, 32_000, 37_800, 44_100, 48_000, 88_200, 96_000, 192_000,
    ] {
        for hz in [100.0, 0.39 * f64::from(rate).min(44_100.0)] {
            let count = rate as usize / 4 + 7;
            let out = resampled(rate, &sine(hz, rate.into(), count), &[4_096]);
            let expected = (count as u64 * 48_000).div_ceil(rate.into());
            assert_eq!(out.len() as u64, expected, "{rate}");
            let ideal = sine(hz, 48_000.0, out.len());
            // The ends are not compared, since the resampler treats the input as if silence
            // preceded and followed it.
            let inside = 1_000..out.len() - 1_000;
            let error = inside
                .map(|at| (out[at] - ideal[at]).abs())
                .fold(0.0, f32::max);
            assert!(error < 2e-4, "{rate} Hz, {hz} Hz: {error}");
        }
    }
}

#[test]
fn frequencies_above_24_khz_are_removed() {
    let out = resampled(96_000, &sine(30_000.0, 96_000.0, 20_000), &[4_096]);
    let loudest = out[500..out.len() - 500]
        .iter()
        .fold(0.0_f32, |most, it| most.max(it.abs()));
    assert!(loudest < 1e-4, "{loudest}");
}

#[test]
fn pieces_of_any_size_make_no_difference() {
    let samples = sine(440.0, 44_100.0, 5_000);
    let whole = resampled(44_100, &samples, &[5_000]);
    assert_eq!(resampled(44_100, &samples, &[1]), whole);
    assert_eq!(resampled(44_100, &samples, &[3, 700, 1, 64]), whole);
    assert_eq!(resampled(44_100, &[], &[1]), Vec::<f32>::new());
}

#[test]
fn rates_without_a_small_ratio_are_refused() {
    assert!(Resampler::new(767_999, 2).is_err());
}

/// Returns one row per input channel: the output of a mix when this channel has full scale and the
/// others are silent. The output is in percent of full scale.
fn mixed(order: ChannelOrder, channels: u8, out_channels: u8) -> Vec<Vec<i32>> {
    let shape = FrameFormat {
        rate_hz: 48_000,
        channels,
        order,
    };
    let mix = Mix::new(shape, out_channels);
    let rows = (0..channels).map(|channel| {
        let frame: Vec<f32> = (0..channels)
            .map(|at| f32::from(u8::from(at == channel)))
            .collect();
        let mut out = vec![Vec::new(); out_channels.into()];
        mix.run(&frame, &mut out);
        out.iter()
            .map(|samples| (samples[0] * 100.0).round() as i32)
            .collect()
    });
    rows.collect()
}

#[test]
fn channels_are_mixed_by_their_positions() {
    assert_eq!(mixed(ChannelOrder::Wave, 1, 1), [[100]]);
    assert_eq!(mixed(ChannelOrder::Wave, 1, 2), [[100, 100]]);
    assert_eq!(mixed(ChannelOrder::Wave, 2, 1), [[50], [50]]);
    assert_eq!(mixed(ChannelOrder::Vorbis, 2, 2), [[100, 0], [0, 100]]);
    let wave = [[41, 0], [0, 41], [29, 29], [0, 0], [29, 0], [0, 29]];
    assert_eq!(mixed(ChannelOrder::Wave, 6, 2), wave);
    let vorbis = [[41, 0], [29, 29], [0, 41], [29, 0], [0, 29], [0, 0]];
    assert_eq!(mixed(ChannelOrder::Vorbis, 6, 2), vorbis);
    let alac = [[29, 29], [41, 0], [0, 41], [29, 0], [0, 29], [0, 0]];
    assert_eq!(mixed(ChannelOrder::Alac, 6, 2), alac);
}

#[test]
fn no_mix_exceeds_full_scale() {
    for order in [ChannelOrder::Wave, ChannelOrder::Vorbis, ChannelOrder::Alac] {
        for channels in 1..=8 {
            for out_channels in [1, 2] {
                let rows = mixed(order, channels, out_channels);
                assert_eq!(rows.len(), channels.into());
                for column in 0..usize::from(out_channels) {
                    let sum: i32 = rows.iter().map(|row| row[column]).sum();
                    assert!(
                        (48..=102).contains(&sum),
                        "{order:?} {channels} {out_channels}: {sum}"
                    );
                }
            }
        }
    }
}

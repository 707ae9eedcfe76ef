//! Downmix of audio frames to one or two channels.

use crate::decode::{ChannelOrder, FrameFormat};

/// Position of the loudspeaker for which a channel is meant.
#[derive(Clone, Copy)]
enum Speaker {
    Left,
    Right,
    Centre,
    /// Low-frequency loudspeaker. Its channel is omitted from the downmix.
    Low,
    /// Loudspeaker at the left side or back left. `FarRight` is at the right side or back right,
    /// and `FarCentre` at the back centre.
    FarLeft,
    FarRight,
    FarCentre,
}

use Speaker::{Centre, FarCentre, FarLeft, FarRight, Left, Low, Right};

impl Speaker {
    /// Returns the weights with which this channel is added to the left and right outputs (ITU-R
    /// BS.775-3, table 2).
    const fn stereo_weights(self) -> (f32, f32) {
        const HALF_POWER: f32 = std::f32::consts::FRAC_1_SQRT_2;
        match self {
            Left => (1.0, 0.0),
            Right => (0.0, 1.0),
            Centre => (HALF_POWER, HALF_POWER),
            Low => (0.0, 0.0),
            FarLeft => (HALF_POWER, 0.0),
            FarRight => (0.0, HALF_POWER),
            FarCentre => (0.5, 0.5),
        }
    }
}

/// Returns the loudspeaker of each channel, in the order of the file format. Sources: RFC 9639
/// §9.1.3, the Vorbis I specification §4.3.9, and the channel layouts of ALAC.
const fn speakers(order: ChannelOrder, channels: u8) -> &'static [Speaker] {
    match (order, channels) {
        (_, 1) => &[Centre],
        (_, 2) => &[Left, Right],
        (ChannelOrder::Wave, 3) => &[Left, Right, Centre],
        (ChannelOrder::Vorbis, 3) => &[Left, Centre, Right],
        (ChannelOrder::Alac, 3) => &[Centre, Left, Right],
        (ChannelOrder::Wave | ChannelOrder::Vorbis, 4) => &[Left, Right, FarLeft, FarRight],
        (ChannelOrder::Alac, 4) => &[Centre, Left, Right, FarCentre],
        (ChannelOrder::Wave, 5) => &[Left, Right, Centre, FarLeft, FarRight],
        (ChannelOrder::Vorbis, 5) => &[Left, Centre, Right, FarLeft, FarRight],
        (ChannelOrder::Alac, 5) => &[Centre, Left, Right, FarLeft, FarRight],
        (ChannelOrder::Wave, 6) => &[Left, Right, Centre, Low, FarLeft, FarRight],
        (ChannelOrder::Vorbis, 6) => &[Left, Centre, Right, FarLeft, FarRight, Low],
        (ChannelOrder::Alac, 6) => &[Centre, Left, Right, FarLeft, FarRight, Low],
        (ChannelOrder::Wave, 7) => &[Left, Right, Centre, Low, FarCentre, FarLeft, FarRight],
        (ChannelOrder::Vorbis, 7) => &[Left, Centre, Right, FarLeft, FarRight, FarCentre, Low],
        (ChannelOrder::Alac, 7) => &[Centre, Left, Right, FarLeft, FarRight, FarCentre, Low],
        (ChannelOrder::Wave, _) => &[
            Left, Right, Centre, Low, FarLeft, FarRight, FarLeft, FarRight,
        ],
        (ChannelOrder::Vorbis, _) => &[
            Left, Centre, Right, FarLeft, FarRight, FarLeft, FarRight, Low,
        ],
        (ChannelOrder::Alac, _) => &[
            Centre, FarLeft, FarRight, Left, Right, FarLeft, FarRight, Low,
        ],
    }
}

/// Downmix of a channel layout to one or two channels.
pub(crate) struct Mix {
    /// Weights of the mix, with one row per input channel and one column per output channel.
    weights: Vec<[f32; 2]>,
    channels: usize,
}

impl Mix {
    pub(crate) fn new(shape: FrameFormat, channels: u8) -> Mix {
        let speakers = speakers(shape.order, shape.channels);
        let weights = match (shape.channels, channels) {
            // Mono and stereo originals are mixed without the weights of the loudspeakers.
            (1, _) => vec![[1.0, 1.0]],
            (2, 1) => vec![[0.5, 0.0], [0.5, 0.0]],
            (_, 1) => {
                let stereo_weights = speakers.iter().map(|speaker| speaker.stereo_weights());
                scaled(
                    stereo_weights
                        .map(|(left, right)| [(left + right) / 2.0, 0.0])
                        .collect(),
                )
            }
            _ => {
                let stereo_weights = speakers.iter().map(|speaker| speaker.stereo_weights());
                scaled(stereo_weights.map(|(left, right)| [left, right]).collect())
            }
        };
        Mix {
            weights,
            channels: channels.into(),
        }
    }

    /// Mixes the frames of `block` and appends the samples to `out`, which has one buffer per
    /// output channel.
    pub(crate) fn run(&self, block: &[f32], out: &mut [Vec<f32>]) {
        assert_eq!(out.len(), self.channels, "one buffer per channel");
        for frame in block.chunks_exact(self.weights.len()) {
            for (column, out) in out.iter_mut().enumerate() {
                let stereo_weights = frame.iter().zip(&self.weights);
                out.push(
                    stereo_weights
                        .map(|(sample, weights)| sample * weights[column])
                        .sum(),
                );
            }
        }
    }
}

/// Scales the weights so that the mix of inputs at full scale never exceeds full scale.
fn scaled(weights: Vec<[f32; 2]>) -> Vec<[f32; 2]> {
    let most = |column: usize| weights.iter().map(|row| row[column]).sum::<f32>();
    let most = most(0).max(most(1)).max(1.0);
    let rows = weights.iter();
    rows.map(|[left, right]| [left / most, right / most])
        .collect()
}

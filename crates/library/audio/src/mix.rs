//! Downmix to one or two channels.

use crate::decode::{Order, Shape};

/// Position of a channel's loudspeaker.
#[derive(Clone, Copy)]
enum Place {
    Left,
    Right,
    Centre,
    /// Low frequencies only, omitted in the downmix.
    Low,
    /// Left side or left back; the following variants likewise for the right and the centre.
    FarLeft,
    FarRight,
    FarCentre,
}

use Place::{Centre, FarCentre, FarLeft, FarRight, Left, Low, Right};

impl Place {
    /// Returns the weights for the left and the right output: ITU-R BS.775-3, table 2.
    const fn heard(self) -> (f32, f32) {
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

/// Returns the positions of a format's channels: RFC 9639 §9.1.3, the Vorbis I specification
/// §4.3.9, and the order of ALAC's channel layouts.
const fn places(order: Order, channels: u8) -> &'static [Place] {
    match (order, channels) {
        (_, 1) => &[Centre],
        (_, 2) => &[Left, Right],
        (Order::Wave, 3) => &[Left, Right, Centre],
        (Order::Vorbis, 3) => &[Left, Centre, Right],
        (Order::Alac, 3) => &[Centre, Left, Right],
        (Order::Wave | Order::Vorbis, 4) => &[Left, Right, FarLeft, FarRight],
        (Order::Alac, 4) => &[Centre, Left, Right, FarCentre],
        (Order::Wave, 5) => &[Left, Right, Centre, FarLeft, FarRight],
        (Order::Vorbis, 5) => &[Left, Centre, Right, FarLeft, FarRight],
        (Order::Alac, 5) => &[Centre, Left, Right, FarLeft, FarRight],
        (Order::Wave, 6) => &[Left, Right, Centre, Low, FarLeft, FarRight],
        (Order::Vorbis, 6) => &[Left, Centre, Right, FarLeft, FarRight, Low],
        (Order::Alac, 6) => &[Centre, Left, Right, FarLeft, FarRight, Low],
        (Order::Wave, 7) => &[Left, Right, Centre, Low, FarCentre, FarLeft, FarRight],
        (Order::Vorbis, 7) => &[Left, Centre, Right, FarLeft, FarRight, FarCentre, Low],
        (Order::Alac, 7) => &[Centre, Left, Right, FarLeft, FarRight, FarCentre, Low],
        (Order::Wave, _) => &[
            Left, Right, Centre, Low, FarLeft, FarRight, FarLeft, FarRight,
        ],
        (Order::Vorbis, _) => &[
            Left, Centre, Right, FarLeft, FarRight, FarLeft, FarRight, Low,
        ],
        (Order::Alac, _) => &[
            Centre, FarLeft, FarRight, Left, Right, FarLeft, FarRight, Low,
        ],
    }
}

/// Weights of a downmix.
pub(crate) struct Mix {
    /// One row per input channel, one column per output channel.
    weights: Vec<[f32; 2]>,
    channels: usize,
}

impl Mix {
    pub(crate) fn new(shape: Shape, channels: u8) -> Mix {
        let places = places(shape.order, shape.channels);
        let weights = match (shape.channels, channels) {
            // One or two channels map directly to the output, without the weights of loudspeakers
            // in a room.
            (1, _) => vec![[1.0, 1.0]],
            (2, 1) => vec![[0.5, 0.0], [0.5, 0.0]],
            (_, 1) => {
                let heard = places.iter().map(|place| place.heard());
                scaled(
                    heard
                        .map(|(left, right)| [(left + right) / 2.0, 0.0])
                        .collect(),
                )
            }
            _ => {
                let heard = places.iter().map(|place| place.heard());
                scaled(heard.map(|(left, right)| [left, right]).collect())
            }
        };
        Mix {
            weights,
            channels: channels.into(),
        }
    }

    /// Appends the mixed frames of `block`, one buffer per output channel.
    pub(crate) fn run(&self, block: &[f32], out: &mut [Vec<f32>]) {
        assert_eq!(out.len(), self.channels, "one buffer per channel");
        for frame in block.chunks_exact(self.weights.len()) {
            for (column, out) in out.iter_mut().enumerate() {
                let heard = frame.iter().zip(&self.weights);
                out.push(
                    heard
                        .map(|(sample, weights)| sample * weights[column])
                        .sum(),
                );
            }
        }
    }
}

/// Scales weights so that no sum of full-scale inputs exceeds full scale.
fn scaled(weights: Vec<[f32; 2]>) -> Vec<[f32; 2]> {
    let most = |column: usize| weights.iter().map(|row| row[column]).sum::<f32>();
    let most = most(0).max(most(1)).max(1.0);
    let rows = weights.iter();
    rows.map(|[left, right]| [left / most, right / most])
        .collect()
}

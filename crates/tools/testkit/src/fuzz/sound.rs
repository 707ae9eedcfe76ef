//! Fuzz targets for transcoded tracks and for the tables of MP4 files.

use audio_plan::{Checker, Codec, Gain, Plan, packets as read_packets};

/// Checks `bytes` as pages of Ogg: the verdict is the same regardless of how the bytes are cut into
/// pieces, and only complete pages are accepted.
pub fn pages(bytes: &[u8]) {
    let plan = Plan {
        codec: Codec::Flac,
        channels: 2,
        bit_rate_bps: 96_000,
        start_ms: 0,
        duration_ms: 10_000,
        gain: Gain::default(),
        title: String::new(),
        artist: String::new(),
        album: String::new(),
    };
    let mut whole = Checker::new(&plan);
    let at_once = whole.take(bytes);
    if let Ok(taken) = at_once {
        assert!(taken <= bytes.len());
        assert!(
            taken == bytes.len()
                || b"OggS\0".starts_with(&bytes[taken..bytes.len().min(taken + 5)])
        );
    }
    let mut piecewise = Checker::new(&plan);
    let mut begin = 0;
    for end in 1..=bytes.len() {
        match piecewise.take(&bytes[begin..end]) {
            Ok(taken) => begin += taken,
            Err(lie) => {
                assert_eq!(at_once, Err(lie));
                return;
            }
        }
    }
    assert_eq!(at_once, Ok(begin));
    assert_eq!(whole.finish(), piecewise.finish());
}

/// Checks `bytes` as the content of a `moov` box: the number of packets never exceeds the number of
/// packet sizes (4 bytes each) that fit into the box.
pub fn packets(bytes: &[u8]) {
    if let Ok(packets) = read_packets(bytes) {
        assert!(packets.spans.len() <= bytes.len() / 4);
        assert!(packets.cookie.len() <= bytes.len());
    }
}

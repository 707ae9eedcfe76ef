use proptest::prelude::*;

use crate::{
    AudioRequest, Checker, Codec, Decision, Format, Gain, Limits, MalformedPlan, Plan, RawReason,
    Source, StreamViolation, decide, page_crc,
};

fn plan() -> Plan {
    Plan {
        codec: Codec::Flac,
        channels: 2,
        bit_rate_bps: 96_000,
        start_ms: 1_500,
        duration_ms: 180_000,
        gain: Gain {
            track: Some(-1_000),
            album: None,
        },
        title: "Für Elise".to_owned(),
        artist: "エリーゼ".to_owned(),
        album: String::new(),
    }
}

/// Returns the decision as text. The first argument describes the original (codec, bit rate, number
/// of channels), the second the request (format, maximum bit rate, start position).
fn describe_decision(
    (codec, kbps, channels): (&str, u32, u8),
    (format, max, start_ms): (&str, u32, u64),
) -> String {
    let codec = match codec {
        "flac" => Some(Codec::Flac),
        "mp3" => Some(Codec::Mpeg),
        "opus" => Some(Codec::Opus),
        _ => None,
    };
    let source = Source {
        codec,
        bit_rate_kbps: kbps,
        duration_ms: 200_000,
        channels,
    };
    let request = AudioRequest {
        format: Format::named(format),
        bit_rate_kbps_max: max,
        start_ms,
    };
    match decide(&request, &source, &Limits::default()) {
        Decision::Raw(why) => format!("raw, {why:?}"),
        Decision::AfterEnd => "behind".to_owned(),
        Decision::Transcode(plan) => format!(
            "{} kb/s, {} ch, from {}",
            plan.bit_rate_bps / 1_000,
            plan.channels,
            plan.start_ms
        ),
    }
}

#[test]
fn players_get_what_they_ask_for_or_the_file() {
    let table = [
        // The player gets the original file, because it requests that file or the file satisfies
        // the request.
        (("flac", 900, 2), ("", 0, 0), "raw, AsRequested"),
        (("flac", 900, 2), ("raw", 96, 5_000), "raw, AsRequested"),
        (("mp3", 128, 2), ("", 320, 0), "raw, AsRequested"),
        (("mp3", 320, 2), ("", 320, 0), "raw, AsRequested"),
        (("mp3", 128, 2), ("mp3", 192, 0), "raw, AsRequested"),
        (("opus", 96, 2), ("opus", 128, 0), "raw, AsRequested"),
        (("opus", 96, 2), ("opus", 0, 0), "raw, AsRequested"),
        // The requested bit rate is lower than that of the original.
        (("flac", 900, 2), ("", 320, 0), "320 kb/s, 2 ch, from 0"),
        (("mp3", 320, 2), ("", 128, 0), "128 kb/s, 2 ch, from 0"),
        (("mp3", 320, 2), ("mp3", 128, 0), "128 kb/s, 2 ch, from 0"),
        (("opus", 160, 2), ("opus", 96, 0), "96 kb/s, 2 ch, from 0"),
        // A format that the server can produce is requested.
        (("flac", 900, 2), ("opus", 0, 0), "128 kb/s, 2 ch, from 0"),
        (("flac", 900, 2), ("OGG", 0, 0), "128 kb/s, 2 ch, from 0"),
        (("mp3", 96, 2), ("opus", 0, 0), "96 kb/s, 2 ch, from 0"),
        (("mp3", 96, 2), ("opus", 192, 0), "96 kb/s, 2 ch, from 0"),
        // The server cannot produce the requested format, and the original does not exceed the
        // requested bit rate.
        (("flac", 900, 2), ("mp3", 0, 0), "raw, AsRequested"),
        (("flac", 900, 2), ("flv", 1_000, 0), "raw, AsRequested"),
        // A start position is requested.
        (
            ("flac", 900, 2),
            ("", 0, 7_000),
            "128 kb/s, 2 ch, from 7000",
        ),
        (
            ("opus", 96, 2),
            ("opus", 0, 7_000),
            "96 kb/s, 2 ch, from 7000",
        ),
        (
            ("flac", 900, 2),
            ("opus", 0, 199_999),
            "128 kb/s, 2 ch, from 199999",
        ),
        (("flac", 900, 2), ("opus", 0, 200_000), "behind"),
        // The requested bit rate is outside the limits of the encoder.
        (("flac", 900, 2), ("", 1, 0), "6 kb/s, 2 ch, from 0"),
        (("flac", 4_000, 2), ("", 900, 0), "510 kb/s, 2 ch, from 0"),
        (("flac", 900, 1), ("", 500, 0), "255 kb/s, 1 ch, from 0"),
        (("flac", 3_000, 6), ("", 192, 0), "192 kb/s, 2 ch, from 0"),
        // First an original with an unknown number of channels, then originals without a decoder.
        (("flac", 900, 0), ("", 192, 0), "192 kb/s, 1 ch, from 0"),
        (("aac", 256, 2), ("opus", 96, 0), "raw, Undecodable"),
        (("aac", 256, 2), ("", 0, 5_000), "raw, Undecodable"),
    ];
    for (source, request, expected) in table {
        assert_eq!(
            describe_decision(source, request),
            expected,
            "{source:?} {request:?}"
        );
    }
}

#[test]
fn tracks_of_unknown_or_excessive_length_are_not_transcoded() {
    let request = AudioRequest {
        format: Format::Opus,
        bit_rate_kbps_max: 0,
        start_ms: 0,
    };
    for duration_ms in [0, 3_600_001] {
        let source = Source {
            codec: Some(Codec::Flac),
            bit_rate_kbps: 900,
            duration_ms,
            channels: 2,
        };
        let got = decide(&request, &source, &Limits::default());
        assert_eq!(got, Decision::Raw(RawReason::TooLong), "{duration_ms}");
    }
}

#[test]
fn replay_gain_is_converted_to_the_r128_level() {
    // R128 gains are in 1/256 dB relative to −23 LUFS (RFC 7845 §5.2.1), 5 dB below ReplayGain.
    assert_eq!(Gain::of_replay_gain(0), -1_280);
    assert_eq!(Gain::of_replay_gain(-610), -2_842);
    assert_eq!(Gain::of_replay_gain(i16::MIN), i16::MIN);
}

#[test]
fn a_plan_survives_the_wire_and_nothing_else_is_one() {
    let bytes = plan().to_bytes();
    assert!(Plan::is_plan(&bytes));
    assert_eq!(Plan::from_bytes(&bytes), Ok(plan()));
    for end in 0..bytes.len() {
        assert_eq!(
            Plan::from_bytes(&bytes[..end]),
            Err(MalformedPlan::Length),
            "cut at {end}"
        );
    }
    let long = [&bytes[..], b"x"].concat();
    assert_eq!(Plan::from_bytes(&long), Err(MalformedPlan::Length));
    for (at, value, expected) in [
        (0, b'X', MalformedPlan::Magic),
        (4, 0, MalformedPlan::Value),
        (4, 8, MalformedPlan::Value),
        (5, 3, MalformedPlan::Value),
        (6, 4, MalformedPlan::Value),
        (7, 1, MalformedPlan::Value),
        (14, 1, MalformedPlan::Value),
        (35, 1, MalformedPlan::Value),
        (36, 0xff, MalformedPlan::Value),
    ] {
        let mut other = bytes.clone();
        other[at] = value;
        assert_eq!(Plan::from_bytes(&other), Err(expected), "{at}");
    }
}

#[test]
fn texts_are_cut_between_characters() {
    let long = "é".repeat(100);
    assert_eq!(Plan::cut(&long).len(), 120);
    assert_eq!(Plan::cut(&format!("x{long}")).len(), 119);
}

fn page(flags: u8, granule: u64, number: u32, packets: &[&[u8]]) -> Vec<u8> {
    let mut page = b"OggS\0".to_vec();
    page.push(flags);
    page.extend(granule.to_le_bytes());
    page.extend(7_u32.to_le_bytes());
    page.extend(number.to_le_bytes());
    page.extend([0; 4]);
    let lengths: Vec<u8> = packets.iter().map(|packet| packet.len() as u8).collect();
    page.push(lengths.len() as u8);
    page.extend(lengths);
    packets.iter().for_each(|packet| page.extend(*packet));
    let crc = page_crc(&page);
    page[22..26].copy_from_slice(&crc.to_le_bytes());
    page
}

const HEAD: &[u8] = b"OpusHead\x01\x02\x38\x01\x44\xac\0\0\0\0\0";

fn track() -> Vec<Vec<u8>> {
    vec![
        page(2, 0, 0, &[HEAD]),
        page(0, 0, 1, &[b"OpusTags\0\0\0\0\0\0\0\0"]),
        page(0, 1_920, 2, &[b"abc", b"def"]),
        page(4, 2_712, 3, &[b"ghi"]),
    ]
}

fn check(pages: &[Vec<u8>]) -> Result<u64, StreamViolation> {
    let bytes = pages.concat();
    let mut checker = Checker::new(&plan());
    assert_eq!(checker.take(&bytes)?, bytes.len());
    checker.finish()
}

#[test]
fn a_valid_stream_is_accepted_and_timed() {
    assert_eq!(check(&track()), Ok(2_712 - 312));
}

#[test]
fn every_stream_violation_is_detected() {
    let with = |number: usize, page: Vec<u8>| {
        let mut pages = track();
        pages[number] = page;
        check(&pages)
    };
    let mono = [&HEAD[..9], b"\x01", &HEAD[10..]].concat();
    let mapped = [&HEAD[..18], b"\x01"].concat();
    assert_eq!(with(0, page(2, 0, 0, &[&mono])), Err(StreamViolation::Head));
    assert_eq!(
        with(0, page(2, 0, 0, &[&mapped])),
        Err(StreamViolation::Head)
    );
    assert_eq!(
        with(0, page(2, 0, 0, &[b"\x01vorbis"])),
        Err(StreamViolation::Head)
    );
    assert_eq!(
        with(1, page(0, 0, 1, &[b"OpusTag"])),
        Err(StreamViolation::Head)
    );
    assert_eq!(with(0, page(0, 0, 0, &[HEAD])), Err(StreamViolation::Order));
    assert_eq!(with(2, page(2, 0, 2, &[HEAD])), Err(StreamViolation::Order));
    assert_eq!(
        with(2, page(0, 1_920, 3, &[b"abc"])),
        Err(StreamViolation::Order)
    );
    assert_eq!(
        with(2, page(4, 1_920, 2, &[b"abc"])),
        Err(StreamViolation::Order)
    );
    assert_eq!(
        with(2, page(8, 1_920, 2, &[b"abc"])),
        Err(StreamViolation::Order)
    );
    assert_eq!(
        with(3, page(4, 1_919, 3, &[b"ghi"])),
        Err(StreamViolation::Time)
    );
    assert_eq!(
        with(3, page(4, 1 << 40, 3, &[b"ghi"])),
        Err(StreamViolation::Time)
    );
    assert_eq!(
        with(3, page(0, 2_712, 3, &[b"ghi"])),
        Err(StreamViolation::Truncated)
    );
    let mut short = track();
    short[2] = page(0, 10, 2, &[b"abc"]);
    short[3] = page(4, 20, 3, &[b"ghi"]);
    assert_eq!(check(&short), Err(StreamViolation::Time));
    for at in [5, 30, 60] {
        let mut bytes = track().concat();
        bytes[at] ^= 1;
        let verdict = Checker::new(&plan()).take(&bytes);
        assert_eq!(verdict, Err(StreamViolation::Checksum), "{at}");
    }
    assert_eq!(
        Checker::new(&plan()).take(b"RIFF"),
        Err(StreamViolation::NoPage)
    );
}

#[test]
fn the_checksum_is_that_of_other_programs() {
    // First page of a file that `opusenc` wrote, with the checksum that `opusenc` computed.
    let file = include_bytes!("../../tags/testdata/sine.opus");
    let page = &file[..28 + usize::from(file[27])];
    assert_eq!(page_crc(page).to_le_bytes(), page[22..26]);
}

proptest! {
    #[test]
    fn pages_are_verified_regardless_of_their_pieces(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0_usize..150) {
        let mut track = track().concat();
        let at = at.min(track.len());
        track.splice(at..at, bytes);
        testkit::fuzz::pages(&track);
    }

    #[test]
    fn no_bytes_reach_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        testkit::fuzz::pages(&bytes);
        testkit::fuzz::packets(&bytes);
    }
}

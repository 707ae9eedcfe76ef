use audio_plan::{Codec, Gain, Plan};

use super::{Client, Stream, judge};

const FLAC: Stream<'_> = Stream {
    container: "flac",
    codec: "flac",
    channels: 2,
    bit_rate_bps: 900_000,
    sample_rate_hz: 44_100,
    bits: 16,
};

fn plan(kbps: u32) -> Option<Plan> {
    Some(Plan {
        codec: Codec::Flac,
        channels: 2,
        bit_rate_bps: if kbps == 0 { 128 } else { kbps } * 1_000,
        start_ms: 0,
        duration_ms: 1_000,
        gain: Gain::default(),
        title: String::new(),
        artist: String::new(),
        album: String::new(),
    })
}

/// Describes the verdict: `direct` or the reasons against direct play, then the transcode.
fn verdict(client: &str) -> String {
    let client = Client::parse(client).expect("JSON");
    let verdict = judge(&client, &FLAC, plan);
    let direct = match verdict.can_direct_play() {
        true => "direct".to_owned(),
        false => verdict.reasons.join(", "),
    };
    let made = verdict.plan.map(|plan| (plan.bit_rate_bps, plan.channels));
    format!("{direct} | {made:?}")
}

#[test]
fn players_get_the_decision_for_their_profile() {
    let flac = r#""directPlayProfiles":[{"containers":["flac"],"audioCodecs":["flac"],"protocols":["http"]}]"#;
    let opus =
        r#""transcodingProfiles":[{"container":"ogg","audioCodec":"opus","protocol":"http"}]"#;
    let limit = |codec: &str, name: &str, comparison: &str, values: &str| {
        format!(
            r#""codecProfiles":[{{"type":"AudioCodec","name":"{codec}","limitations":[{{"name":"{name}","comparison":"{comparison}","values":[{values}],"required":true}}]}}]"#
        )
    };
    let table = [
        ("{}".to_owned(), " | None"),
        (format!("{{{flac}}}"), "direct | None"),
        (format!("{{{flac},{opus}}}"), "direct | Some((128000, 2))"),
        // Bit rate limit below the file's bit rate.
        (
            format!("{{{flac},{opus},\"maxAudioBitrate\":320000}}"),
            "AudioBitrateNotSupported | Some((320000, 2))",
        ),
        (
            format!("{{{flac},{opus},\"maxAudioBitrate\":320000,\"maxTranscodingAudioBitrate\":96000}}"),
            "AudioBitrateNotSupported | Some((96000, 2))",
        ),
        // Strings with commas and asterisks, as in former versions of the specification.
        (
            r#"{"directPlayProfiles":[{"container":"mp4,FLAC","audioCodec":"*","protocol":"*"}]}"#.to_owned(),
            "direct | None",
        ),
        (
            r#"{"directPlayProfiles":[{"container":"flac","audioCodec":"alac, flac","protocol":"http","maxAudioChannels":2}]}"#.to_owned(),
            "direct | None",
        ),
        // The server gives one reason per profile.
        (
            r#"{"directPlayProfiles":[
                {"containers":["mp3"],"audioCodecs":["mp3"],"protocols":["http"]},
                {"containers":["flac"],"audioCodecs":["pcm"],"protocols":[]},
                {"containers":["flac"],"audioCodecs":["flac"],"protocols":["hls"]},
                {"containers":[],"audioCodecs":[],"protocols":[],"maxAudioChannels":1}]}"#.to_owned(),
            "ContainerNotSupported, AudioCodecNotSupported, ProtocolNotSupported, AudioChannelsNotSupported | None",
        ),
        // The player must support the transcode too.
        (
            r#"{"transcodingProfiles":[{"container":"mp3","audioCodec":"mp3","protocol":"http"}]}"#.to_owned(),
            " | None",
        ),
        (
            r#"{"transcodingProfiles":[{"container":"opus","audioCodec":"opus","protocol":"hls"},
                {"container":"opus","audioCodec":"opus","protocol":"http","maxAudioChannels":1}]}"#.to_owned(),
            " | Some((128000, 1))",
        ),
        (
            format!("{{{opus},{}}}", limit("opus", "audioBitrate", "LessThanEqual", "\"64000\"")),
            " | Some((64000, 2))",
        ),
        (
            format!("{{{opus},{}}}", limit("opus", "audioSamplerate", "Equals", "\"44100\"")),
            " | None",
        ),
        // The player's limitations apply to the codec of the file.
        (
            format!("{{{flac},{}}}", limit("flac", "audioSamplerate", "LessThanEqual", "\"44099\"")),
            "AudioSamplerateNotSupported | None",
        ),
        (
            format!("{{{flac},{}}}", limit("flac", "audioBitdepth", "EqualsAny", "\"8|24\"")),
            "AudioBitdepthNotSupported | None",
        ),
        (
            format!("{{{flac},{}}}", limit("flac", "audioChannels", "Equals", "\"1\",\"2\"")),
            "direct | None",
        ),
        (
            format!("{{{flac},{}}}", limit("flac", "audioChannels", "NotEquals", "\"2\"")),
            "AudioChannelsNotSupported | None",
        ),
        (
            format!("{{{flac},{}}}", limit("mp3", "audioChannels", "NotEquals", "\"2\"")),
            "direct | None",
        ),
        (
            format!("{{{flac},{}}}", limit("flac", "audioProfile", "Equals", "\"x\"")),
            "direct | None",
        ),
    ];
    for (client, expected) in table {
        assert_eq!(verdict(&client), expected, "{client}");
    }
}

#[test]
fn what_is_no_profile_is_refused() {
    for body in ["", "[]", "{", "1", "null"] {
        assert!(Client::parse(body).is_err(), "{body}");
    }
    // Members whose values have unexpected types are ignored.
    let odd =
        r#"{"directPlayProfiles":[1,{"container":7,"maxAudioChannels":"x"}],"codecProfiles":{}}"#;
    assert_eq!(verdict(odd), "direct | None");
}

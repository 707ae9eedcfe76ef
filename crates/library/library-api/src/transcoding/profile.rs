//! Capabilities that a player describes, and the decision whether the player can play a stream.
//!
//! Players send lists in two forms: as JSON arrays, as in the present specification, and as strings
//! with values separated by commas or vertical bars, as in former versions of the specification.
//! Both forms are parsed. `*` and an empty or missing list mean that every value is supported.

use audio_plan::{Plan, SAMPLE_RATE_HZ};
use catalog::Track;
use serde_json::Value;
use tags::{Codec, Container, Media};

/// Maximum number of items that are parsed in each list that a player sends; players send a few.
const ROWS_MAX: usize = 64;

/// Capabilities of a player.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Client {
    /// Maximum bit rate that the player plays; 0 for no limit.
    bps_max: u64,
    /// Maximum bit rate of transcodes that the player accepts; 0 for no limit.
    transcoding_bps_max: u64,
    direct: Vec<Profile>,
    transcoding: Vec<Profile>,
    codecs: Vec<(String, Vec<Limitation>)>,
}

/// Streams that the player supports, as lists of values. An empty list means every value.
#[derive(Debug, Default, PartialEq)]
struct Profile {
    containers: Vec<String>,
    codecs: Vec<String>,
    protocols: Vec<String>,
    channels_max: Option<u64>,
}

/// Condition that a stream of a certain codec must meet.
#[derive(Debug, PartialEq)]
struct Limitation {
    name: String,
    comparison: String,
    values: Vec<String>,
    required: bool,
}

/// Properties of a stream, under the names that the protocol uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stream<'a> {
    pub(super) container: &'a str,
    pub(super) codec: &'a str,
    pub(super) channels: u8,
    pub(super) bit_rate_bps: u64,
    pub(super) sample_rate_hz: u32,
    pub(super) bits: u8,
}

/// Recommended way to play a track.
#[derive(Debug, PartialEq)]
pub(super) struct Verdict {
    /// Reasons why the player cannot play the file, one per direct-play profile; empty if the
    /// player can play it.
    pub(super) reasons: Vec<&'static str>,
    direct: bool,
    /// Plan of a transcode that the player can play, if there is one.
    pub(super) plan: Option<Plan>,
}

impl Verdict {
    pub(super) fn can_direct_play(&self) -> bool {
        self.direct
    }
}

impl Client {
    /// Parses the capabilities that a player sent.
    ///
    /// # Errors
    /// A message that says why `body` cannot be parsed.
    pub(super) fn parse(body: &str) -> Result<Client, String> {
        let json: Value = serde_json::from_str(body).map_err(|err| err.to_string())?;
        if !json.is_object() {
            return Err("the request body is not a JSON object".to_owned());
        }
        let rows = |name: &str| {
            let rows = json[name].as_array().into_iter().flatten();
            rows.take(ROWS_MAX).collect::<Vec<_>>()
        };
        let profiles = |name| rows(name).into_iter().map(Profile::read).collect();
        let codecs = rows("codecProfiles").into_iter().filter_map(|row| {
            let limitations = row["limitations"].as_array().into_iter().flatten();
            let limitations = limitations.take(ROWS_MAX).map(Limitation::read);
            let name = row["name"].as_str()?.to_ascii_lowercase();
            Some((name, limitations.collect()))
        });
        Ok(Client {
            bps_max: json["maxAudioBitrate"].as_u64().unwrap_or(0),
            transcoding_bps_max: json["maxTranscodingAudioBitrate"].as_u64().unwrap_or(0),
            direct: profiles("directPlayProfiles"),
            transcoding: profiles("transcodingProfiles"),
            codecs: codecs.collect(),
        })
    }

    /// Returns the reason why the player cannot play this stream, regardless of its profiles: the
    /// player's bit rate limit, or a limitation of the stream's codec. Returns `None` if neither
    /// applies.
    fn objection(&self, stream: &Stream<'_>) -> Option<&'static str> {
        if self.bps_max != 0 && self.bps_max < stream.bit_rate_bps {
            return Some("AudioBitrateNotSupported");
        }
        let of_codec = self.codecs.iter().filter(|(name, _)| name == stream.codec);
        let mut limitations = of_codec.flat_map(|(_, limitations)| limitations);
        limitations.find_map(|limitation| limitation.objection(stream))
    }
}

impl Profile {
    fn read(row: &Value) -> Profile {
        Profile {
            containers: texts(row, ["container", "containers"]),
            codecs: texts(row, ["audioCodec", "audioCodecs"]),
            protocols: texts(row, ["protocol", "protocols"]),
            channels_max: row["maxAudioChannels"].as_u64().filter(|max| *max != 0),
        }
    }

    fn objection(&self, stream: &Stream<'_>) -> Option<&'static str> {
        let has = |list: &[String], names: &[&str]| {
            list.is_empty() || list.iter().any(|word| names.contains(&&**word))
        };
        if !has(&self.protocols, &["http"]) {
            return Some("ProtocolNotSupported");
        }
        if !has(&self.containers, containers(stream.container)) {
            return Some("ContainerNotSupported");
        }
        if !has(&self.codecs, codecs(stream.codec)) {
            return Some("AudioCodecNotSupported");
        }
        let channels = u64::from(stream.channels);
        match self.channels_max.is_some_and(|max| max < channels) {
            true => Some("AudioChannelsNotSupported"),
            false => None,
        }
    }
}

impl Limitation {
    fn read(row: &Value) -> Limitation {
        let text = |name: &str| row[name].as_str().unwrap_or("").to_owned();
        Limitation {
            name: text("name"),
            comparison: text("comparison"),
            values: texts(row, ["value", "values"]),
            required: row["required"].as_bool().unwrap_or(false),
        }
    }

    /// Returns the reason why this limitation rejects a stream, if it does. A limitation that is
    /// optional or unknown to this server rejects no streams.
    fn objection(&self, stream: &Stream<'_>) -> Option<&'static str> {
        let (number, reason) = match &*self.name {
            "audioChannels" => (u64::from(stream.channels), "AudioChannelsNotSupported"),
            "audioBitrate" => (stream.bit_rate_bps, "AudioBitrateNotSupported"),
            "audioSamplerate" => (stream.sample_rate_hz.into(), "AudioSamplerateNotSupported"),
            "audioBitdepth" => (stream.bits.into(), "AudioBitdepthNotSupported"),
            _ => return None,
        };
        let values = self.values.iter();
        let values: Vec<u64> = values.filter_map(|value| value.parse().ok()).collect();
        let first = *values.first()?;
        let holds = match &*self.comparison {
            "LessThanEqual" => number <= first,
            "GreaterThanEqual" => first <= number,
            "Equals" | "EqualsAny" => values.contains(&number),
            "NotEquals" | "NotEqualsAny" => !values.contains(&number),
            _ => return None,
        };
        (self.required && !holds).then_some(reason)
    }
}

impl<'a> Stream<'a> {
    /// Describes the file of a track: its container, codec, channels and other properties.
    pub(super) fn of(media: &Media, track: &Track<'_>) -> Stream<'static> {
        let container = match media.container {
            Container::Flac => "flac",
            Container::Mpeg => "mp3",
            Container::Mp4 => "mp4",
            Container::Ogg => "ogg",
            Container::Wav => "wav",
            Container::Aiff => "aiff",
            Container::WavPack => "wv",
            Container::Monkey => "ape",
            Container::Musepack => "mpc",
            Container::Adts => "aac",
            Container::Dsf => "dsf",
            Container::TrueAudio => "tta",
            Container::Asf => "asf",
            Container::Matroska => "matroska",
        };
        let codec = match media.audio.codec {
            Codec::Flac => "flac",
            Codec::Mp1 => "mp1",
            Codec::Mp2 => "mp2",
            Codec::Mp3 => "mp3",
            Codec::Aac => "aac",
            Codec::Alac => "alac",
            Codec::Vorbis => "vorbis",
            Codec::Opus => "opus",
            Codec::Pcm => "pcm",
            Codec::WavPack => "wavpack",
            Codec::Monkey => "ape",
            Codec::Musepack => "musepack",
            Codec::Speex => "speex",
            Codec::Dsd => "dsd",
            Codec::TrueAudio => "tta",
            Codec::Wma => "wma",
            Codec::Other => "unknown",
        };
        Stream {
            container,
            codec,
            channels: u8::try_from(media.audio.channels).unwrap_or(u8::MAX),
            bit_rate_bps: u64::from(track.bitrate_kbps) * 1_000,
            sample_rate_hz: media.audio.sample_rate_hz,
            bits: media.audio.bits,
        }
    }

    /// Returns the stream that a plan produces.
    pub(super) fn made(plan: &Plan) -> Stream<'static> {
        Stream {
            container: "ogg",
            codec: "opus",
            channels: plan.channels,
            bit_rate_bps: plan.bit_rate_bps.into(),
            sample_rate_hz: SAMPLE_RATE_HZ,
            bits: 0,
        }
    }
}

/// Decides how `client` should play a track whose file is `source`. `plan` returns the plan of a
/// transcode of the track for a bit rate limit in kbit/s; 0 means unlimited.
pub(super) fn judge(
    client: &Client,
    source: &Stream<'_>,
    plan: impl Fn(u32) -> Option<Plan>,
) -> Verdict {
    let objections = client.direct.iter();
    let objections: Vec<_> = objections
        .map(|profile| {
            profile
                .objection(source)
                .or_else(|| client.objection(source))
        })
        .collect();
    let direct = objections.contains(&None);
    let reasons = match direct {
        true => Vec::new(),
        false => objections.into_iter().flatten().collect(),
    };
    let limits = [client.bps_max, client.transcoding_bps_max];
    let limits = limits.into_iter().filter(|limit| *limit != 0);
    let of_codec = client.codecs.iter().filter(|(name, _)| name == "opus");
    let of_codec = of_codec.flat_map(|(_, limitations)| limitations);
    let of_codec = of_codec.filter(|limitation| {
        limitation.name == "audioBitrate" && limitation.comparison == "LessThanEqual"
    });
    let of_codec = of_codec.filter_map(|limitation| limitation.values.first()?.parse().ok());
    let kbps = limits
        .chain(of_codec)
        .min()
        .map_or(0, |bps| (bps / 1_000).max(1));
    let plan = plan(u32::try_from(kbps).unwrap_or(0)).and_then(|plan| {
        let mut profiles = client.transcoding.iter();
        profiles.find_map(|profile| {
            let channels = match profile.channels_max {
                Some(1) => 1,
                _ => plan.channels,
            };
            let plan = Plan {
                channels,
                ..plan.clone()
            };
            let made = Stream::made(&plan);
            let objection = profile.objection(&made).or_else(|| client.objection(&made));
            objection.is_none().then_some(plan)
        })
    });
    Verdict {
        reasons,
        direct,
        plan,
    }
}

/// Returns the names that players use for the container `name`.
fn containers(name: &str) -> &[&str] {
    match name {
        "mp4" => &["mp4", "m4a", "m4b"],
        "ogg" => &["ogg", "oga", "opus"],
        "aiff" => &["aiff", "aif"],
        "mp3" => &["mp3", "mpeg"],
        "flac" => &["flac"],
        "wav" => &["wav"],
        "aac" => &["aac", "adts"],
        "wv" => &["wv"],
        "ape" => &["ape"],
        "mpc" => &["mpc"],
        "dsf" => &["dsf"],
        "tta" => &["tta"],
        "asf" => &["asf", "wma"],
        "matroska" => &["matroska", "mka", "webm"],
        _ => &[],
    }
}

/// Returns the names that players use for the codec `name`.
fn codecs(name: &str) -> &[&str] {
    match name {
        "pcm" => &["pcm", "wav", "aiff"],
        "mp3" => &["mp3"],
        "mp2" => &["mp2"],
        "flac" => &["flac"],
        "aac" => &["aac"],
        "alac" => &["alac"],
        "vorbis" => &["vorbis", "ogg"],
        "opus" => &["opus"],
        "wavpack" => &["wavpack", "wv"],
        "ape" => &["ape"],
        "musepack" => &["musepack", "mpc"],
        "dsd" => &["dsd"],
        "tta" => &["tta"],
        "wma" => &["wma"],
        _ => &[],
    }
}

/// Returns the items of a list in lower case. The list is the value of the members of `row` with
/// one of these names: an array, or a text with separators. If the list contains `*`, returns no
/// items.
fn texts(row: &Value, names: [&str; 2]) -> Vec<String> {
    let found = names.map(|name| &row[name]);
    let given = found.iter().flat_map(|value| match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        Value::String(text) => vec![&**text],
        _ => Vec::new(),
    });
    let words = given.flat_map(|text| text.split([',', '|'])).map(str::trim);
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .take(ROWS_MAX)
        .map(str::to_ascii_lowercase)
        .collect();
    match words.iter().any(|word| word == "*") {
        true => Vec::new(),
        false => words,
    }
}

#[cfg(test)]
mod tests;

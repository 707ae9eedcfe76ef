//! Transcoding: the endpoint `stream`, and two endpoints for players that describe their
//! capabilities. One of the two recommends a way to play a track, and the other sends the track in
//! that way.

mod profile;

use audio_plan::{AudioRequest, Decision, Format, Gain, Plan, Source, decide};
use catalog::{Content, Track};
use tags::{Codec, Container, Media};

use crate::call::{Call, Seen};
use crate::context::Context;
use crate::fault::Fault;
use crate::ids::Id;
use crate::index::Index;
use crate::params::encoded;
use crate::response::Response;
use crate::store::{Role, User};
use crate::write::Writer;
use profile::{Client, Stream, Verdict};

/// Track that a request names.
struct RequestedTrack<'a> {
    path: Vec<u8>,
    track: Track<'a>,
    media: Box<Media>,
}

impl RequestedTrack<'_> {
    fn source(&self) -> Source {
        source(&self.media, &self.track)
    }

    fn target(&self) -> String {
        format!("/{}", encoded(&self.path))
    }

    fn raw(&self) -> Response {
        Response::File {
            target: self.target(),
            disposition: None,
        }
    }
}

/// Returns the properties of a track's audio on which the decision to transcode depends.
fn source(media: &Media, track: &Track<'_>) -> Source {
    let codec = match (media.container, media.audio.codec) {
        (Container::Flac, Codec::Flac) => Some(audio_plan::Codec::Flac),
        (Container::Mpeg, Codec::Mp1 | Codec::Mp2 | Codec::Mp3) => Some(audio_plan::Codec::Mpeg),
        (Container::Ogg, Codec::Vorbis) => Some(audio_plan::Codec::Vorbis),
        (Container::Ogg, Codec::Opus) => Some(audio_plan::Codec::Opus),
        (Container::Wav, Codec::Pcm) => Some(audio_plan::Codec::Wav),
        (Container::Aiff, Codec::Pcm) => Some(audio_plan::Codec::Aiff),
        (Container::Mp4, Codec::Alac) => Some(audio_plan::Codec::Alac),
        _ => None,
    };
    Source {
        codec,
        bit_rate_kbps: track.bitrate_kbps,
        duration_ms: track.duration_ms.into(),
        channels: u8::try_from(media.audio.channels).unwrap_or(u8::MAX),
    }
}

fn requested_track<'c>(call: &'c Call<'_>, parameter: &str) -> Result<RequestedTrack<'c>, Fault> {
    let row = call.track_row(call.id(parameter)?);
    let track = row.and_then(|row| track_at(&call.index, row));
    track.ok_or_else(|| Fault::not_found("song"))
}

fn track_at(index: &Index, row: u32) -> Option<RequestedTrack<'_>> {
    let track = index.track(row)?;
    let entry = index.entry(track.file)?;
    match entry.content {
        Content::Music(media) => Some(RequestedTrack {
            path: entry.path,
            track,
            media,
        }),
        _ => None,
    }
}

/// Returns the start position in the parameter `name`, in milliseconds; 0 without the
/// parameter.
fn offset_ms(call: &Call<'_>, name: &str) -> Result<u64, Fault> {
    const SECONDS_MAX: f64 = 1e9;
    let seconds: f64 = call.number(name)?.unwrap_or(0.0);
    match (0.0..=SECONDS_MAX).contains(&seconds) {
        true => Ok((seconds * 1_000.0).round() as u64),
        false => Err(Fault::bad(name)),
    }
}

fn audio_limits(context: &Context) -> audio_plan::Limits {
    audio_plan::Limits {
        duration_ms_max: context.limits.transcoded_ms_max,
    }
}

/// Returns `plan` with the ReplayGain values and the names of track, artist and album for the tags
/// of the output.
fn with_tags(context: &Context, plan: Plan, requested: &RequestedTrack<'_>) -> Plan {
    let tagged = tags::Track::new(&requested.media, &requested.path, &context.splits);
    Plan {
        gain: Gain {
            track: tagged.track_gain_cdb.map(Gain::of_replay_gain),
            album: tagged.album_gain_cdb.map(Gain::of_replay_gain),
        },
        title: Plan::cut(requested.track.title),
        artist: Plan::cut(requested.track.artist),
        album: Plan::cut(tagged.album.as_deref().unwrap_or("")),
        ..plan
    }
}

fn transcoded(
    call: &Call<'_>,
    requested: &RequestedTrack<'_>,
    plan: Plan,
    accepted: Accepted,
) -> Response {
    Response::Transcoded {
        target: requested.target(),
        user: call.user.as_str().into(),
        plan: Box::new(with_tags(call.context, plan, requested)),
        allow_streaming: accepted.streaming,
        fallback_to_original: accepted.original,
    }
}

/// Writes the media type and the file suffix of the transcode that the endpoint `stream` sends to
/// this user. Writes nothing if the endpoint sends the file itself.
pub(crate) fn write_transcoded_members(
    call: &Call<'_>,
    out: &mut Writer,
    seen: &Seen<'_>,
    media: &Media,
    track: &Track<'_>,
) {
    let request = AudioRequest {
        format: Format::Any,
        bit_rate_kbps_max: bit_rate_kbps_max(seen.user, 0),
        start_ms: 0,
    };
    // Most users have no bit rate limit and get the file itself, so the decision is computed only
    // for users with a limit.
    if request.bit_rate_kbps_max != 0
        && let Decision::Transcode(_) =
            decide(&request, &source(media, track), &audio_limits(call.context))
    {
        out.text("transcodedContentType", CONTENT_TYPE);
        out.text("transcodedSuffix", audio_plan::SUFFIX);
    }
}

/// Responses that the client accepts; see `allow_streaming` and `fallback_to_original` of
/// [`Response::Transcoded`].
struct Accepted {
    streaming: bool,
    original: bool,
}

/// Media type of transcoded tracks. It has no parameters, because players compare it as text.
const CONTENT_TYPE: &str = "audio/ogg";

/// Returns the lower of the user's bit rate limit and the requested limit; 0 means unlimited.
pub(crate) fn bit_rate_kbps_max(user: Option<&User>, asked: u32) -> u32 {
    let own = user.map_or(0, |user| user.max_bit_rate_kbps);
    match (own, asked) {
        (0, only) | (only, 0) => only,
        (own, asked) => own.min(asked),
    }
}

/// Returns the track with the requested format, bit rate and start position. A client that requests
/// an estimate of the length gets the exact length, so its response starts only when the transcode
/// is complete.
pub(crate) fn stream(call: &Call<'_>, seen: &Seen<'_>) -> Result<Response, Fault> {
    seen.may(Role::Stream)?;
    let requested = requested_track(call, "id")?;
    let wants_length = call.flag("estimateContentLength")?.unwrap_or(false);
    let accepted = Accepted {
        streaming: !wants_length,
        original: true,
    };
    let request = AudioRequest {
        format: Format::named(call.params.first("format").unwrap_or("")),
        bit_rate_kbps_max: bit_rate_kbps_max(seen.user, call.number("maxBitRate")?.unwrap_or(0)),
        start_ms: offset_ms(call, "timeOffset")?,
    };
    match decide(&request, &requested.source(), &audio_limits(call.context)) {
        Decision::Raw(_) => Ok(requested.raw()),
        Decision::Transcode(plan) => Ok(transcoded(call, &requested, plan, accepted)),
        Decision::AfterEnd => Err(Fault::bad("timeOffset")),
    }
}

/// Returns the response to a request of the JSON API for the audio of the track in this row of the
/// index. Returns `None` if the index has no track in this row. `user` is empty for a guest.
pub(crate) fn stream_for_api(
    context: &Context,
    index: &Index,
    row: u32,
    request: &AudioRequest,
    user: &str,
) -> Option<Response> {
    let requested = track_at(index, row)?;
    match decide(request, &requested.source(), &audio_limits(context)) {
        Decision::Raw(_) | Decision::AfterEnd => Some(requested.raw()),
        Decision::Transcode(plan) => Some(Response::Transcoded {
            target: requested.target(),
            user: user.into(),
            plan: Box::new(with_tags(context, plan, &requested)),
            allow_streaming: true,
            fallback_to_original: true,
        }),
    }
}

/// Writes the recommended way to play a track, for a player that describes its capabilities.
pub(crate) fn decision(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    let requested = song(call)?;
    let client = Client::parse(call.body).map_err(|why| Fault::bad_body(&why))?;
    let stream = Stream::of(&requested.media, &requested.track);
    let verdict = profile::judge(&client, &stream, |kbps| {
        let request = AudioRequest {
            format: Format::Opus,
            bit_rate_kbps_max: bit_rate_kbps_max(seen.user, kbps),
            start_ms: 0,
        };
        match decide(&request, &requested.source(), &audio_limits(call.context)) {
            Decision::Transcode(plan) => Some(plan),
            Decision::Raw(_) | Decision::AfterEnd => None,
        }
    });
    out.object("transcodeDecision", |out| {
        write_verdict(out, &stream, &verdict)
    });
    Ok(())
}

fn write_verdict(out: &mut Writer, source: &Stream<'_>, verdict: &Verdict) {
    out.flag("canDirectPlay", verdict.can_direct_play());
    out.flag("canTranscode", verdict.plan.is_some());
    out.texts("transcodeReason", verdict.reasons.iter().copied());
    let error = match (verdict.can_direct_play(), &verdict.plan) {
        (false, None) => "the player supports neither the file nor any available transcode",
        _ => "",
    };
    out.text("errorReason", error);
    if let Some(plan) = &verdict.plan {
        out.text("transcodeParams", &parameters(plan));
    }
    out.object("sourceStream", |out| write_stream(out, source));
    if let Some(plan) = &verdict.plan {
        out.object("transcodeStream", |out| {
            write_stream(out, &Stream::made(plan))
        });
    }
}

fn write_stream(out: &mut Writer, stream: &Stream<'_>) {
    out.text("protocol", "http");
    out.text("container", stream.container);
    out.text("codec", stream.codec);
    out.number("audioChannels", stream.channels);
    out.number("audioBitrate", stream.bit_rate_bps as i64);
    out.text("audioProfile", "");
    out.number("audioSamplerate", stream.sample_rate_hz);
    out.number("audioBitdepth", stream.bits);
}

/// Returns the text that a player sends back to request this plan: bit rate and channels. The rest
/// of the plan follows from the track.
fn parameters(plan: &Plan) -> String {
    format!("opus-{}-{}", plan.bit_rate_bps / 1_000, plan.channels)
}

/// Returns the transcoded track. The client sends the parameters of the transcode, which it got
/// from an earlier `getTranscodeDecision`.
pub(crate) fn transcode_stream(call: &Call<'_>, seen: &Seen<'_>) -> Result<Response, Fault> {
    seen.may(Role::Stream)?;
    let requested = song(call)?;
    let malformed = || Fault::bad("transcodeParams");
    let parameters = call.text("transcodeParams")?;
    let parameters = parameters.strip_prefix("opus-").ok_or_else(malformed)?;
    let (kbps, channels) = parameters.split_once('-').ok_or_else(malformed)?;
    let bit_rate_kbps_max: u32 = kbps.parse().map_err(|_| malformed())?;
    let channels: u8 = match channels {
        "1" => 1,
        "2" => 2,
        _ => return Err(malformed()),
    };
    let request = AudioRequest {
        format: Format::Opus,
        bit_rate_kbps_max,
        start_ms: offset_ms(call, "offset")?,
    };
    match decide(&request, &requested.source(), &audio_limits(call.context)) {
        Decision::Transcode(plan) => {
            let channels = channels.min(plan.channels);
            let accepted = Accepted {
                streaming: true,
                original: false,
            };
            Ok(transcoded(
                call,
                &requested,
                Plan { channels, ..plan },
                accepted,
            ))
        }
        Decision::Raw(audio_plan::RawReason::AsRequested) => Ok(requested.raw()),
        Decision::Raw(_) => Err(Fault::bad("mediaId")),
        Decision::AfterEnd => Err(Fault::bad("offset")),
    }
}

/// Returns the song that the request names. Other media types, such as podcasts, are not offered.
fn song<'c>(call: &'c Call<'_>) -> Result<RequestedTrack<'c>, Fault> {
    match call.text("mediaType")? {
        "song" => match call.id("mediaId")? {
            Id::Track(_) => requested_track(call, "mediaId"),
            _ => Err(Fault::not_found("song")),
        },
        _ => Err(Fault::bad("mediaType")),
    }
}

//! Transcoded music: produced in cells, cached, and sent like any other file.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::backends::backends;
use crate::harness::{Home, Http2, Response, Server, eventually};
use crate::players::{ANN, ask, user};

const FLAC: &[u8] = include_bytes!("../../../../library/tags/testdata/sine.flac");

/// Returns a WAV file of noise at 8 kHz with this duration.
fn noise(seconds: u32) -> Vec<u8> {
    let bytes = seconds * 8_000;
    let mut file = b"RIFF".to_vec();
    file.extend((36 + bytes).to_le_bytes());
    file.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data");
    file.extend(bytes.to_le_bytes());
    let mut state = seconds;
    file.extend((0..bytes).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    }));
    file
}

/// Starts a server for a library with one user, and returns the ids of its songs by file name.
fn serve(home: &Home, flags: &[&str]) -> (Server, BTreeMap<String, String>) {
    let (code, _) = user(home, &["add", "ann"], "sesame\n");
    assert!(matches!(code, Some(0 | 2)), "{code:?}");
    let server = Server::plain(home, flags);
    let songs = eventually("the songs are indexed", || {
        let found = ask(&server, "search3?query=");
        let songs = found["searchResult3"]["song"].as_array()?.clone();
        (!songs.is_empty()).then_some(songs)
    });
    let text = |song: &Value, name: &str| song[name].as_str().expect("text").to_owned();
    let ids = songs.iter().map(|song| {
        let path = text(song, "path");
        let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
        (name, text(song, "id"))
    });
    let ids = ids.collect();
    (server, ids)
}

/// Returns the number of channels and of samples at 48 kHz, from the headers of an Ogg Opus file.
fn opus(file: &[u8]) -> (u8, u64) {
    assert!(file.starts_with(b"OggS\0\x02"), "a first page");
    assert_eq!(&file[28..37], b"OpusHead\x01");
    let skip = u16::from_le_bytes([file[38], file[39]]);
    let last = file.windows(5).rposition(|bytes| bytes == b"OggS\0");
    let last = &file[last.expect("pages")..];
    assert_eq!(last[5], 4, "a last page");
    let end = u64::from_le_bytes(*last[6..].first_chunk().expect("a head"));
    (file[37], end - u64::from(skip))
}

#[test]
fn the_api_streams_the_same_transcode_as_players_get() {
    let home = Home::with(&[("1.flac", FLAC)]);
    let (server, ids) = serve(&home, &["--require-login", "music"]);
    let id = &ids["1.flac"];
    let made = server.get(&format!(
        "/rest/stream?id={id}&format=opus&maxBitRate=64&{ANN}"
    ));
    assert_eq!(made.status, 200);
    let target = format!("/-/api/tracks/{id}/stream?format=opus&bitrate=64");
    let guest = server.get(&target);
    assert_eq!(guest.status, 401, "a file that needs a login");
    server.stop();
    let (server, _) = serve(&home, &[]);
    let stream = server.get(&target);
    assert_eq!(
        (stream.status, stream.field("cache-status")),
        (200, Some("Pelton; hit"))
    );
    assert_eq!(stream.body, made.body);
    let part = server.send("GET", &target, "range: bytes=100-199\r\n");
    assert_eq!((part.status, &part.body[..]), (206, &made.body[100..200]));
    let original = server.get(&format!("/-/api/tracks/{id}/stream?format=original"));
    assert_eq!((original.status, &original.body[..]), (200, FLAC));
    let refused = server.get(&format!("/-/api/tracks/{id}/stream?format=flac"));
    assert_eq!(refused.status, 400);
}

#[test]
fn a_track_is_made_once_and_then_is_a_file_like_any_other() {
    let home = Home::with(&[("1.flac", FLAC)]);
    let (server, ids) = serve(&home, &[]);
    let target = format!(
        "/rest/stream?id={}&format=opus&maxBitRate=64&{ANN}",
        ids["1.flac"]
    );
    let made = server.get(&target);
    assert_eq!(made.status, 200);
    assert_eq!(made.content_type(), "audio/ogg; codecs=opus");
    assert_eq!(
        made.field("cache-status"),
        Some("Pelton; fwd=uri-miss; stored")
    );
    assert_eq!(opus(&made.body), (1, 24_000));
    let again = server.get(&target);
    assert_eq!(again.field("cache-status"), Some("Pelton; hit"));
    assert_eq!((again.etag(), &again.body), (made.etag(), &made.body));
    // Ranges, validators and HEAD work in HTTP/1.1, and ranges in HTTP/2.
    let part = server.send("GET", &target, "range: bytes=100-199\r\n");
    assert_eq!((part.status, &part.body[..]), (206, &made.body[100..200]));
    let length = made.body.len();
    assert_eq!(
        part.field("content-range"),
        Some(&*format!("bytes 100-199/{length}"))
    );
    let fields = format!("range: bytes=100-199\r\nif-range: {}\r\n", made.etag());
    assert_eq!(server.send("GET", &target, &fields).status, 206);
    let other = "range: bytes=100-199\r\nif-range: \"other\"\r\n";
    assert_eq!(server.send("GET", &target, other).status, 200);
    let fields = format!("if-none-match: {}\r\n", made.etag());
    assert_eq!(server.send("GET", &target, &fields).status, 304);
    let head = server.send("HEAD", &target, "");
    assert_eq!(
        (head.status, head.body.len(), head.etag()),
        (200, 0, made.etag())
    );
    assert_eq!(head.field("content-length"), Some(&*length.to_string()));
    let beyond = server.send("GET", &target, &format!("range: bytes={length}-\r\n"));
    assert_eq!(beyond.status, 416);
    let mut http2 = Http2::connect(server.address());
    let part = http2.send("GET", &target, "range: bytes=100-199\r\n");
    assert_eq!((part.status, &part.body[..]), (206, &made.body[100..200]));
    assert_eq!(server.metrics().get("pelton_transcodes_total"), 1);
    server.stop();
    // The cached transcode survives a restart.
    let (server, _) = serve(&home, &[]);
    let kept = server.get(&target);
    assert_eq!(
        (kept.field("cache-status"), &kept.body),
        (Some("Pelton; hit"), &made.body)
    );
    server.stop();
}

#[test]
fn a_head_alone_tells_what_would_come() {
    let home = Home::with(&[("1.flac", FLAC)]);
    let (server, ids) = serve(&home, &[]);
    let target = format!("/rest/stream?id={}&format=opus&{ANN}", ids["1.flac"]);
    let head = server.send("HEAD", &target, "");
    let whole = server.get(&target);
    assert_eq!(
        head.field("content-length"),
        Some(&*whole.body.len().to_string())
    );
    assert_eq!(head.etag(), whole.etag());
    server.stop();
}

#[test]
fn a_player_gets_the_file_where_it_asks_for_no_less_and_a_part_where_it_begins_later() {
    let home = Home::with(&[("1.flac", FLAC)]);
    let (server, ids) = serve(&home, &[]);
    let id = &ids["1.flac"];
    let stream = |words: &str| server.get(&format!("/rest/stream?id={id}{words}&{ANN}"));
    for words in [
        "",
        "&format=raw&maxBitRate=32",
        "&format=mp3",
        "&maxBitRate=9999",
    ] {
        let raw = stream(words);
        assert_eq!(
            (raw.content_type(), &raw.body[..]),
            ("audio/flac", FLAC),
            "{words}"
        );
    }
    let download = format!("/rest/download?id={id}&format=opus&maxBitRate=32&{ANN}");
    assert_eq!(server.get(&download).body, FLAC);
    assert_eq!(
        opus(&stream("&format=opus&timeOffset=0.2").body),
        (1, 14_400)
    );
    let behind = stream("&format=opus&timeOffset=1");
    assert!(behind.text().contains("parameter timeOffset is invalid"));
    // Players may also request a transcode decision with a JSON document that lists the formats
    // they can play.
    let client = r#"{"transcodingProfiles":[{"container":"ogg","audioCodec":"opus"}]}"#;
    let mut player = server.connect();
    let fields = format!(
        "content-type: application/json\r\ncontent-length: {}\r\n",
        client.len()
    );
    let decide = format!("/rest/getTranscodeDecision?mediaId={id}&mediaType=song&{ANN}");
    player.request("POST", &decide, &fields);
    player.send(client);
    let response: Value = serde_json::from_str(player.response().text()).expect("JSON");
    let decision = &response["subsonic-response"]["transcodeDecision"];
    assert_eq!(decision["canTranscode"], true, "{response}");
    let parameters = decision["transcodeParams"].as_str().expect("text");
    let made = server.get(&format!(
        "/rest/getTranscodeStream?mediaId={id}&mediaType=song&offset=0.1&transcodeParams={parameters}&{ANN}"
    ));
    assert_eq!(opus(&made.body), (1, 19_200));
    server.stop();
}

#[test]
fn what_cannot_be_decoded_is_sent_as_it_is_and_not_tried_again() {
    let mut broken = FLAC.to_vec();
    // The head stays valid, so that the file is indexed as a track, but every audio frame is
    // overwritten.
    let frames = broken.windows(2).position(|bytes| bytes == [0xff, 0xf8]);
    let begin = frames.expect("blocks");
    broken[begin..].fill(0x55);
    let home = Home::with(&[("1.flac", &broken)]);
    let (server, ids) = serve(&home, &[]);
    let id = &ids["1.flac"];
    let stream = format!("/rest/stream?id={id}&format=opus&{ANN}");
    for _ in 0..2 {
        let raw = server.get(&stream);
        assert_eq!((raw.status, raw.content_type()), (200, "audio/flac"));
        assert_eq!(raw.body, broken);
    }
    let asked = format!(
        "/rest/getTranscodeStream?mediaId={id}&mediaType=song&transcodeParams=opus-128-1&{ANN}"
    );
    let refused = server.get(&asked);
    assert_eq!(refused.status, 422);
    assert!(
        refused.text().contains("cannot be decoded"),
        "{}",
        refused.text()
    );
    let metrics = server.metrics();
    // Only one conversion ran, and it failed. `stream` and `getTranscodeStream` have the same plan,
    // so the remembered failure applies to both.
    assert_eq!(metrics.sum("pelton_conversion_failures_total"), 1);
    assert_eq!(metrics.get("pelton_transcodes_total"), 0);
    server.stop();
}

#[test]
fn players_wait_for_their_turn_and_no_longer_than_they_may() {
    let home = Home::with(&[("long.wav", &noise(1_500)), ("short.wav", &noise(1))]);
    let one_at_a_time = ["--transcoding-concurrency", "1"];
    let (server, ids) = serve(&home, &one_at_a_time);
    let target = |name: &str, kbps: u32| {
        format!(
            "/rest/stream?id={}&format=opus&maxBitRate={kbps}&{ANN}",
            ids[name]
        )
    };
    let players = (32..52).map(|kbps| {
        let mut player = server.connect();
        player.request("GET", &target("short.wav", kbps), "");
        player
    });
    let players: Vec<_> = players.collect();
    for mut player in players {
        assert_eq!(player.response().status, 200);
    }
    server.stop();
    let impatient = [
        &one_at_a_time[..],
        &["--transcoding-max-queue-time", "100ms"],
    ]
    .concat();
    let (server, _) = serve(&home, &impatient);
    let mut first = server.connect();
    first.request("GET", &target("long.wav", 32), "");
    eventually("it is made", || {
        (server.metrics().get("pelton_transcodes_running") == 1).then_some(())
    });
    let busy = server.get(&target("short.wav", 60));
    assert_eq!(busy.status, 429);
    assert!(busy.field("retry-after").is_some());
    server.stop();
}

#[test]
fn more_than_may_be_made_at_a_time_is_to_come_again() {
    // The transcode of the long track is still in progress when the other requests arrive.
    let home = Home::with(&[("long.wav", &noise(1_500)), ("short.wav", &noise(1))]);
    let flags = [
        "--transcoding-concurrency",
        "1",
        "--transcoding-waiting-max",
        "0",
    ];
    let (server, ids) = serve(&home, &flags);
    let target = |name: &str, kbps: u32| {
        let words = format!("format=opus&maxBitRate={kbps}&estimateContentLength=true");
        format!("/rest/stream?id={}&{words}&{ANN}", ids[name])
    };
    let mut first = server.connect();
    first.request("GET", &target("long.wav", 32), "");
    eventually("it is made", || {
        (server.metrics().get("pelton_transcodes_running") == 1).then_some(())
    });
    let busy = server.get(&target("short.wav", 32));
    assert_eq!(busy.status, 429);
    let seconds: u64 = busy
        .field("retry-after")
        .expect("a time")
        .parse()
        .expect("a number");
    assert!((1..=60).contains(&seconds), "{seconds}");
    let failure: Value = serde_json::from_str(busy.text()).expect("what the player asked for");
    assert_eq!(failure["subsonic-response"]["status"], "failed");
    // Cached tracks, untranscoded files and pictures do not wait for a transcode.
    let raw = server.get(&format!("/rest/stream?id={}&{ANN}", ids["short.wav"]));
    assert_eq!(raw.status, 200);
    // Requests for the same track share one transcode.
    let mut second = server.connect();
    second.request("GET", &target("long.wav", 32), "");
    let (one, other) = (first.response(), second.response());
    assert_eq!((one.status, one.etag()), (200, other.etag()));
    assert_eq!(opus(&one.body), (1, 1_500 * 48_000));
    assert_eq!(server.get(&target("short.wav", 32)).status, 200);
    let metrics = server.metrics();
    assert_eq!(metrics.get("pelton_transcodes_refused_total"), 1);
    assert_eq!(metrics.get("pelton_transcodes_total"), 2);
    server.stop();
}

/// Decodes a chunked body, which must be complete.
fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = bytes.windows(2).position(|two| two == b"\r\n");
        let (size, rest) = bytes.split_at(end.expect("a chunk's size"));
        let size = usize::from_str_radix(str::from_utf8(size).expect("ASCII"), 16);
        let size = size.expect("a size");
        let (data, rest) = rest[2..].split_at(size);
        body.extend_from_slice(data);
        bytes = rest.strip_prefix(b"\r\n").expect("a chunk's end");
        if size == 0 {
            assert_eq!(bytes, b"");
            return body;
        }
    }
}

#[test]
fn a_long_track_is_heard_while_it_is_made() {
    for backend in backends() {
        let home = Home::with(&[("long.wav", &noise(900))]);
        let (server, ids) = serve(&home, &["--cell-backend", backend]);
        let target = |words: &str| {
            format!(
                "/rest/stream?id={}&format=opus&{words}&{ANN}",
                ids["long.wav"]
            )
        };
        let mut player = server.connect();
        let fast = target("maxBitRate=64");
        player.request("GET", &fast, "connection: close\r\n");
        let head = player.head();
        assert_eq!(
            server.metrics().get("pelton_transcodes_running"),
            1,
            "{backend}"
        );
        assert_eq!(
            (head.status, head.content_type()),
            (200, "audio/ogg; codecs=opus")
        );
        assert_eq!(head.field("transfer-encoding"), Some("chunked"));
        assert_eq!(head.field("content-length"), None);
        let track = unchunked(&player.rest());
        assert_eq!(opus(&track), (1, 900 * 48_000));
        let sent = server.metrics().get("pelton_http_body_bytes_total");
        assert!(track.len() as u64 <= sent, "{backend}: {sent} bytes sent");
        // The client gets the end of the body before the track is stored. Until the track is
        // stored, a new request joins the running transcode.
        eventually("the track is stored", || {
            let running = server.metrics().get("pelton_transcodes_running");
            (running == 0).then_some(())
        });
        // The cached body is identical, and has the entity tag that was sent before.
        let kept = server.get(&fast);
        assert_eq!(kept.field("cache-status"), Some("Pelton; hit"));
        assert!(kept.body == track, "{backend}");
        assert_eq!(kept.etag(), head.etag());
        // HTTP/2 has no chunked coding; the flag END_STREAM marks the end of a body.
        let slow = target("maxBitRate=48");
        let mut http2 = Http2::connect(server.address());
        let track = http2.send("GET", &slow, "");
        assert_eq!((track.status, track.field("content-length")), (200, None));
        assert!(server.get(&slow).body == track.body, "{backend}");
        // HTTP/1.0 requests, and requests with a range, a condition or `estimateContentLength`,
        // wait for the complete track.
        let part = server.send("GET", &target("maxBitRate=40"), "range: bytes=0-99\r\n");
        assert_eq!((part.status, part.body.len()), (206, 100));
        let whole = server.get(&target("maxBitRate=36&estimateContentLength=true"));
        assert_eq!(opus(&whole.body), (1, 900 * 48_000));
        let mut old = server.connect();
        let request = format!("GET {} HTTP/1.0\r\n\r\n", target("maxBitRate=34"));
        old.send(request);
        let response = old.rest();
        let body = response.windows(4).position(|four| four == b"\r\n\r\n");
        assert_eq!(
            opus(&response[body.expect("a head") + 4..]),
            (1, 900 * 48_000)
        );
        server.stop();
    }
}

#[test]
fn who_goes_while_a_track_is_made_leaves_it_to_the_next() {
    let home = Home::with(&[("long.wav", &noise(900))]);
    let (server, ids) = serve(&home, &[]);
    let target = format!("/rest/stream?id={}&format=opus&{ANN}", ids["long.wav"]);
    let mut player = server.connect();
    player.request("GET", &target, "");
    assert_eq!(player.head().status, 200);
    drop(player);
    eventually("it is made all the same, and kept", || {
        let metrics = server.metrics();
        (metrics.get("pelton_transcodes_total") == 1
            && metrics.get("pelton_transcodes_running") == 0)
            .then_some(())
    });
    let made = server.get(&target);
    assert_eq!(made.field("cache-status"), Some("Pelton; hit"));
    server.stop();
}

#[test]
fn nothing_is_made_where_the_operator_wants_that() {
    let home = Home::with(&[("1.flac", FLAC)]);
    let (server, ids) = serve(&home, &["--transcoding-longest", "0s"]);
    let raw = server.get(&format!(
        "/rest/stream?id={}&format=opus&{ANN}",
        ids["1.flac"]
    ));
    assert_eq!((raw.status, &raw.body[..]), (200, FLAC));
    server.stop();
}

/// Checks promise N10 of the specification, for audio: every backend yields the same bytes.
#[test]
fn every_backend_makes_the_same_bytes() {
    let files: [(&str, &[u8]); 7] = [
        ("1.flac", FLAC),
        (
            "2.mp3",
            include_bytes!("../../../../library/tags/testdata/sine.mp3"),
        ),
        (
            "3.ogg",
            include_bytes!("../../../../library/tags/testdata/sine.ogg"),
        ),
        (
            "4.opus",
            include_bytes!("../../../../library/tags/testdata/sine.opus"),
        ),
        (
            "5.wav",
            include_bytes!("../../../../library/tags/testdata/sine.wav"),
        ),
        (
            "6.aiff",
            include_bytes!("../../../../library/tags/testdata/sine.aiff"),
        ),
        (
            "7.m4a",
            include_bytes!("../../../../library/tags/testdata/sine-alac.m4a"),
        ),
    ];
    let made = backends().iter().map(|backend| {
        let home = Home::with(&files);
        let (server, ids) = serve(&home, &["--cell-backend", backend]);
        let bodies: Vec<Response> = ids
            .values()
            .map(|id| {
                server.get(&format!(
                    "/rest/stream?id={id}&format=opus&maxBitRate=24&{ANN}"
                ))
            })
            .collect();
        for (name, response) in ids.keys().zip(&bodies) {
            assert_eq!(response.status, 200, "{backend}: {name}");
            assert_eq!(
                response.content_type(),
                "audio/ogg; codecs=opus",
                "{backend}: {name}"
            );
        }
        assert_eq!(
            server.metrics().get("pelton_transcodes_total"),
            7,
            "{backend}"
        );
        server.stop();
        bodies
            .into_iter()
            .map(|response| response.body)
            .collect::<Vec<_>>()
    });
    let made: Vec<_> = made.collect();
    assert!(made.iter().all(|bodies| *bodies == made[0]));
}

//! Tests of responses to players that request a lower bit rate or another format than the original.

use serde_json::Value;

use super::scene::{Scene, ids};
use crate::Response;

const ANN: &str = "u=ann&p=sesame";

/// Describes the response: `raw` for the file, the plan of a transcode, or the error.
fn described(scene: &Scene, request: &str) -> String {
    match scene.respond(request, ANN) {
        Response::Original { .. } | Response::Motion { .. } => panic!("{request} is a download"),
        Response::Archive { .. } => panic!("{request} is an archive"),
        Response::Variant { .. } => panic!("{request} is a picture"),
        Response::Comparison { .. } => panic!("{request} is a comparison"),
        Response::File { .. } => "raw".to_owned(),
        Response::Transcoded {
            plan,
            fallback_to_original,
            allow_streaming,
            ..
        } => format!(
            "{}{} bit/s, {} ch, from {} ms of {}, {} by {} on {}, {:?}{}",
            if allow_streaming { "" } else { "whole, " },
            plan.bit_rate_bps,
            plan.channels,
            plan.start_ms,
            plan.duration_ms,
            plan.title,
            plan.artist,
            plan.album,
            plan.gain.track,
            if fallback_to_original { ", or raw" } else { "" }
        ),
        Response::Document { body, .. } => {
            let message = body.split("message=\"").nth(1);
            let message = message.and_then(|rest| rest.split('"').next());
            message.unwrap_or(&body).to_owned()
        }
    }
}

#[test]
fn a_stream_is_what_is_asked_for() {
    let scene = Scene::new("stream");
    let [_, _, song] = ids(&scene);
    let made = |rate: u32, start_ms: u32| {
        format!(
            "{rate}000 bit/s, 2 ch, from {start_ms} ms of 122000, Erstes Lied by Björk feat. Guest on Über, \
             Some(-3136), or raw"
        )
    };
    for (asked, expected) in [
        ("", "raw".to_owned()),
        ("&format=raw&maxBitRate=64&timeOffset=9", "raw".to_owned()),
        ("&maxBitRate=0", "raw".to_owned()),
        ("&maxBitRate=2000", "raw".to_owned()),
        ("&format=flac", "raw".to_owned()),
        ("&maxBitRate=192&estimateContentLength=false", made(192, 0)),
        (
            "&maxBitRate=192&estimateContentLength=true",
            format!("whole, {}", made(192, 0)),
        ),
        ("&format=mp3&maxBitRate=192", made(192, 0)),
        ("&format=opus", made(128, 0)),
        ("&timeOffset=30", made(128, 30_000)),
        (
            "&format=opus&maxBitRate=96&timeOffset=1.25",
            made(96, 1_250),
        ),
        (
            "&timeOffset=122",
            "parameter timeOffset is invalid".to_owned(),
        ),
        (
            "&timeOffset=-1",
            "parameter timeOffset is invalid".to_owned(),
        ),
        (
            "&timeOffset=nan",
            "parameter timeOffset is invalid".to_owned(),
        ),
        (
            "&maxBitRate=low",
            "parameter maxBitRate is invalid".to_owned(),
        ),
        (
            "&estimateContentLength=7",
            "parameter estimateContentLength is invalid".to_owned(),
        ),
    ] {
        let request = format!("stream?id={song}{asked}");
        assert_eq!(described(&scene, &request), expected, "{asked}");
    }
    let download = format!("download?id={song}&format=opus&maxBitRate=64");
    assert_eq!(described(&scene, &download), "raw");
}

#[test]
fn a_users_own_limit_holds_for_their_players_and_is_described() {
    let scene = Scene::new("limit");
    let [_, _, song] = ids(&scene);
    let child = |scene: &Scene| scene.json(&format!("getSong?id={song}"))["song"].clone();
    assert_eq!(child(&scene)["transcodedSuffix"], Value::Null);
    assert_eq!(
        scene.json("getUser?username=ann")["user"]["maxBitRate"],
        Value::Null
    );
    scene.ok("updateUser?username=ann&maxBitRate=160");
    // Another server with the same data directory reads the user's limit.
    let scene = scene.again();
    assert_eq!(
        scene.json("getUser?username=ann")["user"]["maxBitRate"],
        160
    );
    let limited = child(&scene);
    assert_eq!(limited["transcodedSuffix"], "opus");
    assert_eq!(limited["transcodedContentType"], "audio/ogg");
    assert!(described(&scene, &format!("stream?id={song}")).starts_with("160000 bit/s"));
    let less = format!("stream?id={song}&maxBitRate=96");
    assert!(described(&scene, &less).starts_with("96000 bit/s"));
    let more = format!("stream?id={song}&maxBitRate=320");
    assert!(described(&scene, &more).starts_with("160000 bit/s"));
    scene.ok("updateUser?username=ann&maxBitRate=0");
    assert_eq!(described(&scene, &format!("stream?id={song}")), "raw");
}

#[test]
fn the_limit_of_a_user_holds_in_the_json_api_too() {
    let scene = Scene::new("limited-api");
    let [_, _, song] = ids(&scene);
    let key = scene.store().add_key("bob", "page", 1).expect("a key");
    let bob = format!("Bearer {key}");
    let rate_bps = |query: &str, authorization: Option<&str>| {
        let target = format!("/tracks/{song}/stream{query}");
        match scene.api_answer("GET", &target, (authorization, None)) {
            Response::Transcoded { plan, .. } => Some(plan.bit_rate_bps),
            Response::File { .. } => None,
            other => panic!("{query}: {other:?}"),
        }
    };
    assert_eq!(rate_bps("", Some(&bob)), None);
    scene.ok("updateUser?username=bob&maxBitRate=160");
    for (query, expected) in [
        ("", Some(160_000)),
        ("?bitrate=320", Some(160_000)),
        ("?bitrate=96", Some(96_000)),
        ("?format=opus", Some(160_000)),
        ("?format=original", None),
    ] {
        assert_eq!(rate_bps(query, Some(&bob)), expected, "{query}");
    }
    assert_eq!(rate_bps("", None), None);
}

fn decide(scene: &Scene, song: &str, body: &str) -> Value {
    let request = format!("getTranscodeDecision?mediaId={song}&mediaType=song&f=json");
    match scene.respond_to_form(&request, ANN, body) {
        Response::Document { body, .. } => {
            let json: Value = serde_json::from_str(&body).expect("JSON");
            json["subsonic-response"].clone()
        }
        other => panic!("no document: {other:?}"),
    }
}

#[test]
fn a_decision_leads_to_its_stream() {
    let scene = Scene::new("decision");
    let [_, _, song] = ids(&scene);
    let client = r#"{"name":"a","platform":"b","maxTranscodingAudioBitrate":96000,
        "directPlayProfiles":[{"containers":["mp3"],"audioCodecs":["mp3"],"protocols":["http"]}],
        "transcodingProfiles":[{"container":"ogg","audioCodec":"opus","protocol":"http"}]}"#;
    let response = decide(&scene, &song, client);
    let decision = &response["transcodeDecision"];
    assert_eq!(decision["canDirectPlay"], false);
    assert_eq!(decision["canTranscode"], true);
    assert_eq!(decision["transcodeReason"][0], "ContainerNotSupported");
    assert_eq!(decision["errorReason"], "");
    assert_eq!(decision["sourceStream"]["codec"], "flac");
    assert_eq!(decision["sourceStream"]["audioSamplerate"], 44_100);
    assert_eq!(decision["transcodeStream"]["codec"], "opus");
    assert_eq!(decision["transcodeStream"]["audioBitrate"], 96_000);
    let parameters = decision["transcodeParams"].as_str().expect("text");
    let stream =
        format!("getTranscodeStream?mediaId={song}&mediaType=song&transcodeParams={parameters}");
    let made = described(&scene, &format!("{stream}&offset=20"));
    assert_eq!(
        made,
        "96000 bit/s, 2 ch, from 20000 ms of 122000, Erstes Lied by Björk feat. Guest on Über, Some(-3136)"
    );
    let mono = stream.replace("-2", "-1");
    assert!(described(&scene, &mono).starts_with("96000 bit/s, 1 ch"));
}

#[test]
fn what_makes_no_sense_is_refused_with_its_name() {
    let scene = Scene::new("refused");
    let [_, album, song] = ids(&scene);
    let response = decide(&scene, &song, "");
    let message = response["error"]["message"].as_str().expect("text");
    assert!(
        message.starts_with("the request body is invalid: "),
        "{message}"
    );
    let neither = decide(&scene, &song, "{}");
    let reason = &neither["transcodeDecision"]["errorReason"];
    assert!(reason.as_str().is_some_and(|text| !text.is_empty()));
    assert_eq!(decide(&scene, &album, "{}")["error"]["code"], 70);
    let stream = |words: &str| described(&scene, &format!("getTranscodeStream?{words}"));
    let whole = format!("mediaId={song}&mediaType=song");
    for parameters in ["", "opus", "opus-x-2", "opus-96-3", "mp3-96-2"] {
        let message = stream(&format!("{whole}&transcodeParams={parameters}"));
        assert_eq!(
            message, "parameter transcodeParams is invalid",
            "{parameters}"
        );
    }
    let message = stream(&format!("{whole}&transcodeParams=opus-96-2&offset=999"));
    assert_eq!(message, "parameter offset is invalid");
    let message = stream(&format!(
        "mediaId={song}&mediaType=podcast&transcodeParams=opus-96-2"
    ));
    assert_eq!(message, "parameter mediaType is invalid");
    assert_eq!(
        stream(&whole),
        "required parameter transcodeParams is missing"
    );
}

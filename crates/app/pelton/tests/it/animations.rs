//! Animated GIF, PNG and WebP: negotiation, operations, single frames, limits and damage.

use std::borrow::Cow;

use image_plan::Frames;

use crate::harness::{Home, Response, Server, media};

const WIDTH: u16 = 160;
const HEIGHT: u16 = 120;
const FRAMES: u16 = 12;

/// Returns a GIF in which a disc moves over noise. The same animation is smaller as a WebP.
fn moving() -> Vec<u8> {
    let palette: Vec<u8> = (0..=255_u8).flat_map(|at| [at, at / 2, 255 - at]).collect();
    let mut gif = Vec::new();
    let mut encoder = gif::Encoder::new(&mut gif, WIDTH, HEIGHT, &palette).expect("a header");
    encoder.set_repeat(gif::Repeat::Finite(4)).expect("written");
    for number in 0..FRAMES {
        let index = |at: usize| {
            let (x, y) = (at as i64 % i64::from(WIDTH), at as i64 / i64::from(WIDTH));
            let (dx, dy) = (x - 20 - 10 * i64::from(number), y - 60);
            match dx * dx + dy * dy < 200 {
                true => 255,
                false => ((x * x + y * 7 + x * y / 5) % 120) as u8,
            }
        };
        let frame = gif::Frame {
            width: WIDTH,
            height: HEIGHT,
            delay: 4 + number,
            buffer: Cow::Owned(
                (0..usize::from(WIDTH) * usize::from(HEIGHT))
                    .map(index)
                    .collect(),
            ),
            ..gif::Frame::default()
        };
        encoder.write_frame(&frame).expect("written");
    }
    drop(encoder);
    gif
}

/// Returns the durations of the frames of a WebP in milliseconds, and its number of plays.
fn timing(webp: &[u8]) -> (Vec<u32>, u16) {
    let (mut durations_ms, mut plays, mut at) = (Vec::new(), 1, 12);
    while at + 8 <= webp.len() {
        let data = at + 8;
        let length = u32::from_le_bytes(webp[at + 4..data].try_into().expect("four bytes"));
        match &webp[at..at + 4] {
            b"ANIM" => plays = u16::from_le_bytes([webp[data + 4], webp[data + 5]]),
            b"ANMF" => {
                let [low, middle, high] = [12, 13, 14].map(|byte| webp[data + byte]);
                durations_ms.push(u32::from_le_bytes([low, middle, high, 0]));
            }
            _ => {}
        }
        at = data + (length as usize).next_multiple_of(2);
    }
    (durations_ms, plays)
}

fn is_animated(response: &Response) -> bool {
    let facts = response.facts();
    assert_eq!(facts.animated, facts.frames != Frames::Exactly(1));
    facts.animated
}

#[test]
fn an_animation_becomes_webp_for_clients_that_accept_it() {
    let gif = moving();
    let home = Home::with(&[("a.gif", &gif)]);
    let server = Server::plain(&home, &[]);
    let whole = server.get_as("/a.gif", "image/avif,image/webp,*/*");
    assert_eq!((whole.status, whole.content_type()), (200, "image/webp"));
    assert_eq!(whole.field("vary"), Some("Accept"));
    assert!(whole.body.len() < gif.len());
    let expected: Vec<u32> = (0..u32::from(FRAMES))
        .map(|number| 40 + 10 * number)
        .collect();
    assert_eq!(timing(&whole.body), (expected.clone(), 5));
    let small = server.get_as("/a.gif?w=80&blur=1", "image/webp");
    assert_eq!(
        (small.content_type(), small.size()),
        ("image/webp", (80, 60))
    );
    assert_eq!(timing(&small.body), (expected, 5));
    for accept in ["*/*", "image/png", "image/avif"] {
        for query in ["", "?w=80"] {
            let other = server.get_as(&format!("/a.gif{query}"), accept);
            assert_eq!((other.status, &other.body), (200, &gif), "{query} {accept}");
            assert_eq!(other.field("vary"), Some("Accept"));
        }
    }
    let named = server.get_as("/a.gif?format=webp", "*/*");
    assert_eq!(
        (named.content_type(), &named.body),
        ("image/webp", &whole.body)
    );
    let still = server.get_as("/a.gif?format=jpeg", "*/*");
    assert_eq!((still.content_type(), &still.body), ("image/gif", &gif));
    server.stop();
}

#[test]
fn one_frame_is_a_still_picture() {
    let home = Home::with(&[("a.gif", &moving()), ("p.jpg", &media::photo(96, 64, 1))]);
    let server = Server::plain(&home, &[]);
    for (query, accept, media_type) in [
        ("animation=first", "image/webp", "image/webp"),
        ("animation=first&w=80", "*/*", "image/png"),
        ("frame=7", "image/avif,image/webp", "image/avif"),
        ("frame=12&format=jpeg", "*/*", "image/jpeg"),
    ] {
        let response = server.get_as(&format!("/a.gif?{query}"), accept);
        let got = (response.status, response.content_type());
        assert_eq!(got, (200, media_type), "{query}");
        assert!(!is_animated(&response), "{query}");
    }
    let etag = |target: &str| server.get_as(target, "image/webp").etag().to_owned();
    assert_eq!(etag("/a.gif?animation=first"), etag("/a.gif?frame=1"));
    assert_ne!(etag("/a.gif?frame=1"), etag("/a.gif?frame=7"));
    assert_eq!(etag("/p.jpg?w=48"), etag("/p.jpg?w=48&animation=first"));
    let jobs = server.metrics().jobs();
    let no_frame =
        |frames| format!("original has no such frame, its frames are numbered from 1 to {frames}");
    for (target, status, detail) in [
        ("/a.gif?frame=13", 404, no_frame(12)),
        ("/p.jpg?frame=2", 404, no_frame(1)),
        (
            "/a.gif?frame=0",
            400,
            "frame: must be a whole number from 1 to 65535".to_owned(),
        ),
        (
            "/a.gif?animation=last",
            400,
            "animation: must be all or first".to_owned(),
        ),
    ] {
        let response = server.get_as(target, "image/webp");
        assert_eq!(response.status, status, "{target}");
        assert!(response.text().contains(&detail), "{}", response.text());
    }
    assert_eq!(server.metrics().jobs(), jobs, "a refusal needs no worker");
    server.stop();
}

#[test]
fn the_description_of_an_animation_counts_its_frames() {
    let home = Home::with(&[("a.gif", &moving())]);
    let server = Server::plain(&home, &[]);
    let response = server.get("/a.gif?meta=full&w=80");
    let described: serde_json::Value = serde_json::from_str(response.text()).expect("JSON");
    assert_eq!(
        (&described["animated"], &described["frames"]),
        (&true.into(), &12.into())
    );
    assert_eq!(
        (&described["width"], &described["height"]),
        (&80.into(), &60.into())
    );
    assert!(described["blurhash"].is_string());
    server.stop();
}

/// Animations beyond a limit are sent unchanged, and requests that would change them are refused
/// without a job. One frame can still be requested.
#[test]
fn animations_beyond_the_limits_are_not_converted() {
    let gif = moving();
    let home = Home::with(&[("a.gif", &gif)]);
    for limit in [
        ["--limits-animation-frames-max", "11"],
        ["--limits-animation-pixels-max", "230000"],
    ] {
        let server = Server::plain(&home, &limit);
        let whole = server.get_as("/a.gif", "image/webp");
        assert_eq!((whole.status, &whole.body), (200, &gif), "{limit:?}");
        assert_eq!(
            server.get_as("/a.gif?w=80", "image/webp").status,
            422,
            "{limit:?}"
        );
        assert_eq!(server.metrics().jobs(), 0, "{limit:?}");
        let first = server.get_as("/a.gif?w=80&animation=first", "image/webp");
        assert_eq!((first.status, first.size()), (200, (80, 60)), "{limit:?}");
        server.stop();
    }
}

/// A damaged animation is never cut short.
#[test]
fn a_damaged_animation_is_sent_unchanged() {
    let gif = moving();
    let cut = &gif[..gif.len() * 3 / 4];
    let home = Home::with(&[("cut.gif", cut)]);
    let server = Server::plain(&home, &[]);
    let whole = server.get_as("/cut.gif", "image/webp");
    assert_eq!((whole.status, &whole.body[..]), (200, cut));
    assert_eq!(server.get_as("/cut.gif?w=80", "image/webp").status, 422);
    let first = server.get_as("/cut.gif?w=80&frame=1", "image/webp");
    assert_eq!((first.status, first.size()), (200, (80, 60)));
    server.stop();
}

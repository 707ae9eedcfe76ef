//! Tests that write one small profile in each format, and compare the result with literal text.

use std::time::{Duration, SystemTime};

use expect_test::expect;

use crate::profile::{Group, Image, Location, Profile, Stack};
use crate::{folded, pprof, svg};

fn small() -> Profile {
    let image = |name: &str| Image {
        name: name.to_owned(),
        build_id: "0a".to_owned(),
        has_names: true,
    };
    let place = |image, address, function: &str| Location {
        image,
        address,
        function: function.to_owned(),
    };
    let stack = |group, frames: &[usize], count| Stack {
        group,
        frames: frames.to_vec(),
        count,
    };
    Profile {
        begin: SystemTime::UNIX_EPOCH + Duration::from_secs(1),
        duration: Duration::from_secs(2),
        frequency_hz: 100,
        images: vec![image("[kernel]"), image("pelton"), image("worker")],
        program: Some(1),
        places: vec![
            place(1, 0x10, "main"),
            place(2, 0x20, "run"),
            place(2, 0x30, "av1_encode"),
            place(2, 0x34, "av1_encode"),
            place(1, 0x40, "<[u8; 4] as Hash>::hash"),
        ],
        stacks: vec![
            stack(Group::Server, &[4, 0], 1),
            stack(Group::Workers, &[2, 1], 6),
            stack(Group::Workers, &[3, 1], 2),
            stack(Group::Workers, &[], 1),
        ],
        lost: 3,
        refused: 0,
        has_kernel: true,
        issues: Vec::new(),
    }
}

#[test]
fn folded_stacks() {
    // Places of the same function are one frame, and a semicolon in a name does not separate
    // frames.
    expect![[r#"
        server;main;<[u8, 4] as Hash>::hash 1
        workers;[not kept] 1
        workers;run;av1_encode 8
    "#]]
    .assert_eq(&folded(&small()));
}

#[test]
fn flame_graph() {
    expect![[r##"
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 99" font-family="monospace" font-size="11">
        <rect width="100%" height="100%" fill="#fff"/>
        <text x="4" y="16">10 samples at 100 Hz in 2.0 s, 3 lost</text>
        <g><title>server: 1 samples, 10.0 %</title><rect x="0.0" y="58" width="120.0" height="16" fill="hsl(37 85% 73%)"/><text x="2.0" y="70">server</text></g>
        <g><title>main: 1 samples, 10.0 %</title><rect x="0.0" y="41" width="120.0" height="16" fill="hsl(39 85% 73%)"/><text x="2.0" y="53">main</text></g>
        <g><title>&lt;[u8; 4] as Hash&gt;::hash: 1 samples, 10.0 %</title><rect x="0.0" y="24" width="120.0" height="16" fill="hsl(15 85% 72%)"/><text x="2.0" y="36">&lt;[u8; 4] as Ha…</text></g>
        <g><title>workers: 9 samples, 90.0 %</title><rect x="120.0" y="58" width="1080.0" height="16" fill="hsl(15 85% 77%)"/><text x="122.0" y="70">workers</text></g>
        <g><title>[not kept]: 1 samples, 10.0 %</title><rect x="120.0" y="41" width="120.0" height="16" fill="hsl(15 85% 74%)"/><text x="122.0" y="53">[not kept]</text></g>
        <g><title>run: 8 samples, 80.0 %</title><rect x="240.0" y="41" width="960.0" height="16" fill="hsl(29 85% 76%)"/><text x="242.0" y="53">run</text></g>
        <g><title>av1_encode: 8 samples, 80.0 %</title><rect x="240.0" y="24" width="960.0" height="16" fill="hsl(27 85% 74%)"/><text x="242.0" y="36">av1_encode</text></g>
        </svg>
    "##]].assert_eq(&svg(&small()));
}

#[test]
fn names_with_control_characters_leave_the_picture_valid() {
    let mut profile = small();
    profile.places[0].function = "ma\u{1}in".to_owned();
    let picture = svg(&profile);
    assert!(picture.contains(">ma\u{fffd}in<"), "{picture}");
    assert!(!picture.contains('\u{1}'), "{picture}");
}

#[test]
fn protobuf() {
    let mut text = Vec::new();
    let bytes = pprof(&small()).expect("a vector takes all bytes");
    std::io::copy(
        &mut flate2::read::GzDecoder::new(bytes.as_slice()),
        &mut text,
    )
    .expect("the profile is gzip");
    expect![[r#"
        0a04080310040a040801100212110a02050112050180ade2041a040805100612110a020302120506
        808ece1c1a040805100712110a02040212050280dac4091a0408051007120f0a0012050180ade204
        1a04080510071a16080210808080808020188080808080402808300938011a110801100018808080
        808020280a300938011a1608031080808080804018808080808060280b300938012a060801100c18
        0c220f0801100218908080808020220208012a060802100d180d220f0802100318a0808080804022
        0208022a060803100e180e220f0803100318b0808080804022020803220f0804100318b480808080
        40220208032a060804100f180f220f0805100218c0808080802022020804488094ebdc035080a8d6
        b9075a04080110026080ade20432003203637075320b6e616e6f7365636f6e6473320773616d706c
        65733205636f756e74320770726f6365737332067365727665723207776f726b657273320670656c
        746f6e3202306132085b6b65726e656c5d3206776f726b657232046d61696e320372756e320a6176
        315f656e636f646532173c5b75383b20345d20617320486173683e3a3a68617368
    "#]]
    .assert_eq(&format!("{}\n", hex(&text)));
}

fn hex(bytes: &[u8]) -> String {
    let lines = bytes.chunks(40);
    let lines = lines.map(|line| {
        let digits = line.iter().map(|byte| format!("{byte:02x}"));
        digits.collect::<String>()
    });
    lines.collect::<Vec<_>>().join("\n")
}

use super::read_motion;
use crate::{ErrorKind, Limits};

/// First bytes of an MP4 file, with other bytes after them.
const VIDEO: &[u8] = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom0123456789";

/// Returns a JPEG file without pixels, with this XMP.
fn jpeg(xmp: &str) -> Vec<u8> {
    let xmp = [b"http://ns.adobe.com/xap/1.0/\0", xmp.as_bytes()].concat();
    let length = (xmp.len() as u16 + 2).to_be_bytes();
    let jpeg: [&[u8]; 5] = [
        b"\xff\xd8\xff\xe1",
        &length,
        &xmp,
        b"\xff\xda\0\x02",
        b"pixels\xff\xd9",
    ];
    jpeg.concat()
}

/// Returns the bytes of the video that is found in `file`, as text without control characters.
fn found(file: &[u8]) -> Option<String> {
    let range = read_motion(file, file.len() as u64, &Limits::default()).expect("no error")?;
    let text = String::from_utf8_lossy(&file[range.start as usize..range.end as usize]);
    Some(text.replace(char::is_control, ""))
}

const EXPECTED: &str = "ftypmp42mp42isom0123456789";

#[test]
fn the_first_version_states_the_distance_from_the_end() {
    let bytes = VIDEO.len();
    for xmp in [
        format!("<rdf:Description GCamera:MicroVideo=\"1\" GCamera:MicroVideoOffset=\"{bytes}\"/>"),
        format!("<x><GCamera:MicroVideoOffset>{bytes}</GCamera:MicroVideoOffset></x>"),
    ] {
        let file = [&jpeg(&xmp), VIDEO].concat();
        assert_eq!(found(&file).as_deref(), Some(EXPECTED), "{xmp}");
        assert_eq!(found(&jpeg(&xmp)), None, "the video was cut off");
    }
}

#[test]
fn the_second_version_lists_items() {
    let bytes = VIDEO.len();
    let video = format!("Item:Semantic='MotionPhoto' Item:Length='{bytes}'");
    let list = |items: &str| format!("<Container:Directory><rdf:Seq>{items}</rdf:Seq>");
    let primary = "<rdf:li><Container:Item Item:Semantic='Primary' Item:Length='0'/></rdf:li>";
    let last = format!("{primary}<rdf:li><Container:Item {video}/></rdf:li>");
    let file = [&jpeg(&list(&last)), VIDEO].concat();
    assert_eq!(found(&file).as_deref(), Some(EXPECTED));
    // A gain map may stand before the video, and another item after it.
    let middle = format!(
        "{primary}<rdf:li><Container:Item Item:Semantic='GainMap' Item:Length='3'/></rdf:li>\
         <rdf:li><Container:Item {video} Item:Padding='2'/></rdf:li>\
         <rdf:li rdf:parseType='Resource'><Item:Semantic>Depth</Item:Semantic>\
         <Item:Length>4</Item:Length></rdf:li>"
    );
    let file = [
        &jpeg(&list(&middle)),
        b"map".as_slice(),
        VIDEO,
        b"..",
        b"deep",
    ]
    .concat();
    assert_eq!(found(&file).as_deref(), Some(EXPECTED));
}

/// Returns a Samsung trailer with a block of this name.
fn trailer(name: &[u8], data: &[u8]) -> Vec<u8> {
    let block = [
        b"\0\0\x30\x0a",
        &(name.len() as u32).to_le_bytes()[..],
        name,
        data,
    ]
    .concat();
    let bytes = (block.len() as u32).to_le_bytes();
    let entry = [b"\0\0\x30\x0a", &bytes[..], &bytes].concat();
    let head = [
        b"SEFH",
        &106_u32.to_le_bytes()[..],
        &1_u32.to_le_bytes(),
        &entry,
    ]
    .concat();
    [
        block,
        head.clone(),
        (head.len() as u32).to_le_bytes().to_vec(),
        b"SEFT".to_vec(),
    ]
    .concat()
}

#[test]
fn a_samsung_trailer_names_its_block() {
    let file = [jpeg(""), trailer(b"MotionPhoto_Data", VIDEO)].concat();
    assert_eq!(found(&file).as_deref(), Some(EXPECTED));
    // If the offset in the XMP is wrong, as after an edit, the trailer is still found.
    let xmp = jpeg("<x GCamera:MicroVideoOffset='5'/>");
    let file = [xmp, trailer(b"MotionPhoto_Data", VIDEO)].concat();
    assert_eq!(found(&file).as_deref(), Some(EXPECTED));
    let file = [jpeg(""), trailer(b"Image_UTC_Data_1", VIDEO)].concat();
    assert_eq!(found(&file), None);
    let file = [jpeg(""), trailer(b"MotionPhoto_Data", b"no video in here")].concat();
    assert_eq!(found(&file), None);
}

#[test]
fn no_bytes_lead_to_a_panic_or_a_range_outside_the_file() {
    let samsung = [jpeg(""), trailer(b"MotionPhoto_Data", VIDEO)].concat();
    let google = [
        &jpeg("<rdf:li Length='3'/><rdf:li Semantic='MotionPhoto' Length='34'/>"),
        VIDEO,
    ]
    .concat();
    for file in [samsung, google] {
        for at in 0..file.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut changed = file.clone();
                changed[at] = byte;
                for len in [at, file.len()] {
                    let range = read_motion(&changed[..len], len as u64, &Limits::default());
                    let range = range.expect("memory is readable");
                    assert!(
                        range
                            .is_none_or(|range| range.end <= len as u64 && range.start < range.end)
                    );
                }
            }
        }
    }
}

#[test]
fn limits_and_failures_of_the_disk_are_errors() {
    let limits = Limits {
        reads_max: 0,
        ..Limits::default()
    };
    let err = read_motion(&jpeg("")[..], 100, &limits).expect_err("no read is allowed");
    assert_eq!(err.kind, ErrorKind::Limit);
    let numbers = "<rdf:li Length='18446744073709551615'/><rdf:li Semantic='MotionPhoto' \
                   Length='18446744073709551615' Padding='18446744073709551615'/>\
                   <rdf:li Length='1'/>";
    assert_eq!(found(&jpeg(numbers)), None);
}

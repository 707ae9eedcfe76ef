//! Tests of the place names of pictures: XMP in each of its forms, IPTC-IIM, and the formats that
//! contain them.

use super::pictures::{atom, entry};
use crate::{Limits, Place, ReadAt, read_photo_metadata};
use expect_test::{Expect, expect};
use std::cell::Cell;
use std::io;

const PHOTOSHOP: &[u8] = b"Photoshop 3.0\0";
const XMP: &[u8] = b"http://ns.adobe.com/xap/1.0/\0";

/// Returns an XMP text with `properties` in its description. It declares the usual namespaces.
fn xmp(attributes: &str, properties: &str) -> Vec<u8> {
    format!(
        "<?xpacket begin='' id='W5M0MpCehiHzreSzNTczkc9d'?><x:xmpmeta xmlns:x='adobe:ns:meta/'>
        <rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>
        <rdf:Description rdf:about='' {attributes}
            xmlns:photoshop='http://ns.adobe.com/photoshop/1.0/'
            xmlns:Iptc4xmpCore='http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/'
            xmlns:Iptc4xmpExt='http://iptc.org/std/Iptc4xmpExt/2008-02-29/'>
        {properties}</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end='w'?>"
    )
    .into_bytes()
}

/// Returns a JPEG file with these segments: marker and content.
fn jpeg(segments: &[(u8, &[u8])]) -> Vec<u8> {
    let mut out = vec![0xff, 0xd8];
    for (marker, content) in segments {
        out.extend([0xff, *marker]);
        out.extend((content.len() as u16 + 2).to_be_bytes());
        out.extend(*content);
    }
    out.extend([0xff, 0xda]);
    out
}

/// Returns a dataset of IPTC-IIM.
fn dataset(record: u8, number: u8, value: &[u8]) -> Vec<u8> {
    let length = (value.len() as u16).to_be_bytes();
    [&[0x1c, record, number], &length[..], value].concat()
}

/// Returns image resources of Photoshop, of which the second has `datasets`.
fn resources(datasets: &[u8]) -> Vec<u8> {
    let mut out = b"8BIM\x03\xed\x04name\0\0\0\0\x03odd\0".to_vec();
    out.extend(b"8BIM\x04\x04\0\0");
    out.extend((datasets.len() as u32).to_be_bytes());
    out.extend(datasets);
    out
}

/// Returns the places of a picture as the names of each, separated by slashes.
fn places(bytes: &[u8]) -> Vec<String> {
    let read = read_photo_metadata(bytes, bytes.len() as u64, &Limits::default());
    let places = read.expect("a sound picture").places;
    places.iter().map(shown).collect()
}

fn shown(place: &Place) -> String {
    let Place {
        name,
        sublocation,
        city,
        state,
        country,
    } = place;
    let names = [name, sublocation, city, state, country];
    names.map(|name| name.as_deref().unwrap_or("-")).join(" / ")
}

fn of_xmp(attributes: &str, properties: &str) -> Vec<String> {
    let content = [XMP, &xmp(attributes, properties)].concat();
    places(&jpeg(&[(0xe1, &content)]))
}

fn of_iptc(datasets: &[Vec<u8>]) -> Vec<String> {
    let content = [PHOTOSHOP, &resources(&datasets.concat())].concat();
    places(&jpeg(&[(0xed, &content)]))
}

fn check(found: &[String], expected: &Expect) {
    expected.assert_eq(&found.join("\n"));
}

#[test]
fn simple_properties_are_attributes_elements_or_lists() {
    let expected = expect!["- / Île & Quai / Paris / Île-de-France / France"];
    let attributes = of_xmp(
        "photoshop:City='Paris' photoshop:State='&#206;le-de-France'
         photoshop:Country='France' Iptc4xmpCore:Location='Île &amp; Quai'",
        "",
    );
    check(&attributes, &expected);
    let elements = of_xmp(
        "",
        "<photoshop:City>Paris</photoshop:City>
         <photoshop:State> Île-de-France </photoshop:State>
         <photoshop:Country><rdf:Alt><rdf:li xml:lang='x-default'>France</rdf:li>
            <rdf:li xml:lang='de'>Frankreich</rdf:li></rdf:Alt></photoshop:Country>
         <Iptc4xmpCore:Location><rdf:Bag><rdf:li>Île &amp; Quai</rdf:li></rdf:Bag>
         </Iptc4xmpCore:Location>",
    );
    check(&elements, &expected);
    let other_prefixes = of_xmp(
        "xmlns:ps='http://ns.adobe.com/photoshop/1.0/' ps:City='Oslo' photoshop:City=''",
        "<City xmlns='http://example.com/'>Rome</City><ps:Country><rdf:value>Norway</rdf:value>
         <ps:State>Qualifier</ps:State></ps:Country>
         <a xmlns:ps='http://example.com/'><ps:State>Texas</ps:State></a>",
    );
    check(&other_prefixes, &expect!["- / - / Oslo / - / Norway"]);
}

#[test]
fn structures_have_the_forms_of_rdf() {
    let found = of_xmp(
        "photoshop:City='Oslo'",
        "<Iptc4xmpExt:LocationShown><rdf:Bag>
            <rdf:li rdf:parseType='Resource'><Iptc4xmpExt:City>Bergen</Iptc4xmpExt:City>
                <Iptc4xmpExt:LocationName><rdf:Alt><rdf:li xml:lang='x-default'>Quay</rdf:li>
                <rdf:li xml:lang='no'>Bryggen</rdf:li></rdf:Alt></Iptc4xmpExt:LocationName></rdf:li>
            <rdf:li Iptc4xmpExt:City='Narvik' Iptc4xmpExt:CountryName='Norway'/>
            <rdf:li><rdf:Description Iptc4xmpExt:Sublocation='Old town'>
                <Iptc4xmpExt:ProvinceState>Troms</Iptc4xmpExt:ProvinceState>
                </rdf:Description></rdf:li>
            <rdf:li Iptc4xmpExt:City='Narvik' Iptc4xmpExt:CountryName='Norway'/>
            <rdf:li/></rdf:Bag></Iptc4xmpExt:LocationShown>
        <Iptc4xmpExt:LocationCreated rdf:parseType='Resource'>
            <Iptc4xmpExt:City>Voss</Iptc4xmpExt:City></Iptc4xmpExt:LocationCreated>
        <Iptc4xmpExt:City>outside of any structure</Iptc4xmpExt:City>
        <photoshop:Country>Norway</photoshop:Country>",
    );
    check(
        &found,
        &expect![[r#"
            - / - / Oslo / - / Norway
            - / - / Voss / - / -
            Quay / - / Bergen / - / -
            - / - / Narvik / - / Norway
            - / Old town / - / Troms / -"#]],
    );
}

#[test]
fn names_and_places_are_limited() {
    let long = "ü".repeat(300);
    let found = of_xmp(&format!("photoshop:City='{long}'"), "");
    assert_eq!(found, [format!("- / - / {} / - / -", "ü".repeat(128))]);
    let list = (0..100).map(|number| format!("<rdf:li Iptc4xmpExt:City='{number}'/>"));
    let found = of_xmp(
        "",
        &format!(
            "<Iptc4xmpExt:LocationShown>{}</Iptc4xmpExt:LocationShown>",
            list.collect::<String>()
        ),
    );
    assert_eq!((found.len(), &*found[7]), (8, "- / - / 7 / - / -"));
}

#[test]
fn iptc_is_read_in_its_encoding() {
    let utf8 = dataset(1, 90, b"\x1b%G");
    let all = |city: &[u8]| {
        [
            dataset(2, 25, b"keyword"),
            dataset(2, 90, city),
            dataset(2, 92, b"Altstadt"),
            dataset(2, 95, b"Bayern\0"),
            dataset(2, 101, b"Deutschland"),
            dataset(2, 90, b"Fulda"),
        ]
        .concat()
    };
    let expected = expect!["- / Altstadt / München / Bayern / Deutschland"];
    check(
        &of_iptc(&[utf8.clone(), all("München".as_bytes())]),
        &expected,
    );
    check(&of_iptc(&[all(b"M\xfcnchen")]), &expected);
    check(&of_iptc(&[all("München".as_bytes())]), &expected);
    let wrong = of_iptc(&[utf8, dataset(2, 90, b"M\xfcnchen")]);
    check(&wrong, &expect!["- / - / M\u{fffd}nchen / - / -"]);
    let extended = [&[0x1c, 2, 90, 0x80, 4, 0, 0, 0, 4][..], b"Oslo"].concat();
    check(&of_iptc(&[extended]), &expect!["- / - / Oslo / - / -"]);
    for odd in [
        &b"\x1c\x02\x5a\0\x05Oslo"[..],
        b"\x1c\x02\x5a\x80\xff\0\0\0\x04Oslo",
        b"\x1c\x02\x5a\x80\x09\xff\xff\xff\xff\xff\xff\xff\xff\xffOslo",
        b"\x1d\x02\x5a\0\x04Oslo",
        b"\x1c\x02\x5a",
    ] {
        assert_eq!(of_iptc(&[odd.to_vec()]), [""; 0], "{odd:?}");
    }
}

#[test]
fn xmp_takes_precedence_and_iptc_completes_it() {
    let iptc = [dataset(2, 90, b"IIM"), dataset(2, 101, b"Norway")].concat();
    let iptc = [PHOTOSHOP, &resources(&iptc)].concat();
    let thumbnail = [PHOTOSHOP, b"8BIM\x04\x0c\0\0\0\0\0\0"].concat();
    let xmp = [XMP, &xmp("photoshop:City='Oslo'", "")].concat();
    for segments in [
        [(0xed, &*thumbnail), (0xed, &*iptc), (0xe1, &*xmp)],
        [(0xe1, &*xmp), (0xe1, b"Exif\0\0MM"), (0xed, &*iptc)],
    ] {
        check(
            &places(&jpeg(&segments)),
            &expect!["- / - / Oslo / - / Norway"],
        );
    }
}

#[test]
fn every_format_is_read() {
    let expected = expect!["- / - / Oslo / - / -"];
    let text = xmp("photoshop:City='Oslo'", "");
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\x01IDATx0000".to_vec();
    png.extend((text.len() as u32 + 22).to_be_bytes());
    png.extend(b"iTXtXML:com.adobe.xmp\0\0\0\0\0");
    png.extend([&text[..], &[0; 4]].concat());
    check(&places(&png), &expected);
    let mut webp = b"RIFF\0\0\0\0WEBPVP8X\x03\0\0\0xyz\0XMP ".to_vec();
    webp.extend((text.len() as u32).to_le_bytes());
    webp.extend(&text);
    check(&places(&webp), &expected);
    let datasets = [dataset(2, 90, b"Oslo"), b"\0\0\0".to_vec()].concat();
    let resources = resources(&datasets);
    for (tag, kind, unit, value) in [
        (0x02bc, 1, 1, &text),
        (0x83bb, 4, 4, &datasets),
        (0x8649, 7, 1, &resources),
    ] {
        let mut tiff = b"MM\0\x2a\0\0\0\x08\0\x01".to_vec();
        tiff.extend(entry(tag, kind, (value.len() / unit) as u32, 26));
        tiff.extend([&[0; 4], &value[..]].concat());
        check(&places(&tiff), &expected);
    }
    check(&places(&heic(&text)), &expected);
}

/// Returns a HEIC of which the second item is XMP.
fn heic(text: &[u8]) -> Vec<u8> {
    let names = [
        b"\0\0\0\0\0\x02".to_vec(),
        atom(b"infe", b"\x02\0\0\0\0\x07\0\0mime\0text/plain\0"),
        atom(b"infe", b"\x02\0\0\0\0\x08\0\0mimex\0application/rdf+xml\0"),
    ];
    let names = atom(b"iinf", &names.concat());
    let places = |offset: u32| {
        let mut body = b"\0\0\0\0\x44\0\0\x01\0\x08\0\0\0\x01".to_vec();
        body.extend(offset.to_be_bytes());
        body.extend((text.len() as u32).to_be_bytes());
        atom(b"iloc", &body)
    };
    let head = atom(b"ftyp", b"heic\0\0\0\0mif1");
    let meta = |offset| atom(b"meta", &[&[0; 4][..], &names, &places(offset)].concat());
    let offset = (head.len() + meta(0).len() + 8) as u32;
    [head, meta(offset), atom(b"mdat", text)].concat()
}

/// Returns the names of the first place, with the number of reads.
fn with_reads(bytes: &[u8]) -> (Option<String>, u32) {
    let source = Counting(bytes, Cell::new(0));
    let read = read_photo_metadata(&source, bytes.len() as u64, &Limits::default());
    let places = read.expect("a sound picture").places;
    (places.first().map(shown), source.1.get())
}

/// Source that counts its reads.
struct Counting<'b>(&'b [u8], Cell<u32>);

impl ReadAt for Counting<'_> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.1.update(|reads| reads + 1);
        self.0.read_at(offset, buf)
    }
}

#[test]
fn pixels_are_not_read() {
    let text = xmp("photoshop:City='Oslo'", "");
    let exif = [b"Exif\0\0MM\0\x2a\0\0\0\x08\0\0", &[0; 30_000][..]].concat();
    let iptc = [PHOTOSHOP, &resources(&dataset(2, 101, b"Norway"))].concat();
    let mut photo = jpeg(&[
        (0xe1, &exif),
        (0xe1, &[XMP, &text].concat()),
        (0xed, &iptc),
        (0xe2, &[0; 3000]),
    ]);
    photo.extend(vec![0; 1 << 20]);
    let oslo = |names: &str| Some(names.to_owned());
    // The beginning, the end of the EXIF with its thumbnail and the XMP, and the end of the
    // profile.
    assert_eq!(with_reads(&photo), (oslo("- / - / Oslo / - / Norway"), 3));
    let chunk = |kind: &[u8], content: &[u8]| {
        let length = (content.len() as u32).to_be_bytes();
        [&length[..], kind, content, &[0; 4]].concat()
    };
    let text = [b"XML:com.adobe.xmp\0\0\0\0\0", &text[..]].concat();
    let pixels = chunk(b"IDAT", &[0; 8192]).repeat(1000);
    let magic = b"\x89PNG\r\n\x1a\n";
    let metadata = [chunk(b"eXIf", b"MM\0\x2a"), chunk(b"iTXt", &text)].concat();
    let before = [magic, &metadata[..], &pixels].concat();
    assert_eq!(with_reads(&before), (oslo("- / - / Oslo / - / -"), 1));
    // The search for metadata after the pixels ends at a limit, and the picture is sound.
    let (none, reads) = with_reads(&[magic, &pixels[..]].concat());
    assert_eq!((none, reads), (None, Limits::default().reads_max));
}

#[test]
fn truncated_and_changed_files_are_no_danger() {
    let datasets = [dataset(1, 90, b"\x1b%G"), dataset(2, 90, b"Oslo")].concat();
    let iptc = [PHOTOSHOP, &resources(&datasets)].concat();
    let xmp = [
        XMP,
        &xmp(
            "photoshop:City='Oslo'",
            "<photoshop:State>Oslo</photoshop:State>",
        ),
    ]
    .concat();
    let whole = jpeg(&[(0xed, &iptc), (0xe1, &xmp)]);
    let limits = Limits::default();
    for at in 0..whole.len() {
        let cut = &whole[..at];
        // A JPEG that ends before its first scan is broken; fewer than three bytes are no JPEG.
        let result = read_photo_metadata(cut, at as u64, &limits);
        assert_eq!(result.is_err(), 3 <= at, "cut at {at}");
        for byte in [0, b'<', b'\'', 0x1c, 0xff] {
            let mut changed = whole.clone();
            changed[at] = byte;
            if let Ok(read) = read_photo_metadata(&changed[..], changed.len() as u64, &limits) {
                let names = read.places.iter().flat_map(Place::names);
                assert!(names.map(str::len).sum::<usize>() < whole.len());
            }
        }
    }
}

//! Tests with files that are written by the test itself.

use image_plan::{Format, Layout, Packed, Raster, Size};

use crate::tests::pictures::{assert_decodes, of_samples};
use crate::{DecodeOptions, ErrorKind, decode};

/// Parts of a PSD of 2 × 1 pixels.
struct Parts {
    version: u8,
    bits: u8,
    mode: u8,
    channels: u8,
    palette: Vec<u8>,
    resources: Vec<u8>,
    layers: Vec<u8>,
    picture: Vec<u8>,
}

impl Parts {
    fn new(mode: u8, bits: u8, channels: u8, picture: &[u8]) -> Parts {
        Parts {
            version: 1,
            bits,
            mode,
            channels,
            palette: Vec::new(),
            resources: Vec::new(),
            layers: Vec::new(),
            picture: picture.to_vec(),
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut file = b"8BPS\0".to_vec();
        file.push(self.version);
        file.extend([0; 6]);
        file.extend([
            0,
            self.channels,
            0,
            0,
            0,
            1,
            0,
            0,
            0,
            2,
            0,
            self.bits,
            0,
            self.mode,
        ]);
        for section in [&self.palette, &self.resources] {
            file.extend((section.len() as u32).to_be_bytes());
            file.extend(section);
        }
        match self.version {
            2 => file.extend((self.layers.len() as u64).to_be_bytes()),
            _ => file.extend((self.layers.len() as u32).to_be_bytes()),
        }
        file.extend(&self.layers);
        file.extend(&self.picture);
        file
    }
}

#[track_caller]
fn check(parts: &Parts, samples: &[u8]) {
    let expected = of_samples(Size::new(2, 1), samples.to_vec());
    assert_decodes(Format::Psd, &parts.to_bytes(), &expected);
}

#[test]
fn every_colour_mode_is_decoded() {
    check(&Parts::new(0, 1, 1, &[0, 0, 0x40]), &[255, 0]);
    check(&Parts::new(1, 8, 1, &[0, 0, 7, 200]), &[7, 200]);
    check(
        &Parts::new(1, 16, 1, &[0, 0, 0x80, 0x80, 0xff, 0xff]),
        &[128, 255],
    );
    check(
        &Parts::new(3, 8, 3, &[0, 0, 1, 4, 2, 5, 3, 6]),
        &[1, 2, 3, 4, 5, 6],
    );
    let mut palette = vec![0; 768];
    for (component, level) in [(0, 11), (1, 12), (2, 13)] {
        palette[256 * component + 9] = level;
    }
    let indexed = Parts {
        palette,
        ..Parts::new(2, 8, 1, &[0, 0, 9, 0])
    };
    check(&indexed, &[11, 12, 13, 0, 0, 0]);
}

#[test]
fn ink_is_inverted() {
    let parts = Parts::new(4, 8, 4, &[0, 0, 255, 254, 250, 249, 5, 4, 0, 1]);
    let expected = Raster::Packed(Packed {
        size: Size::new(2, 1),
        layout: Layout::Cmyk,
        data: vec![0, 5, 250, 255, 1, 6, 251, 254],
    });
    assert_decodes(Format::Psd, &parts.to_bytes(), &expected);
}

#[test]
fn run_lengths_are_decoded_in_both_sizes_of_files() {
    // Each channel has one row: a run of two, a literal, and a run after a packet without meaning.
    let rows = [&[0xff, 9][..], &[1, 2, 5], &[128, 0xff, 3]];
    let lengths = [2_u8, 3, 3];
    let expected = [9, 2, 3, 9, 5, 3];
    let short: Vec<u8> = lengths.iter().flat_map(|length| [0, *length]).collect();
    let picture = [&[0, 1][..], &short, &rows.concat()].concat();
    check(&Parts::new(3, 8, 3, &picture), &expected);
    let long: Vec<u8> = lengths
        .iter()
        .flat_map(|length| [0, 0, 0, *length])
        .collect();
    let picture = [&[0, 1][..], &long, &rows.concat()].concat();
    let large = Parts {
        version: 2,
        ..Parts::new(3, 8, 3, &picture)
    };
    check(&large, &expected);
}

#[test]
fn transparency_is_freed_of_its_white_background() {
    let picture = [0, 0, 255, 128, 200, 128, 255, 128, 128, 255];
    // A negative number of layers means that the fourth channel is transparency. Half of a colour
    // of 145 mixed with half of white is 200.
    let with_layers = |count: i16| Parts {
        layers: [&[0, 0, 0, 2][..], &count.to_be_bytes()].concat(),
        ..Parts::new(3, 8, 4, &picture)
    };
    check(&with_layers(-1), &[255, 145, 255, 128, 128, 128, 128, 255]);
    check(&with_layers(1), &[255, 200, 255, 128, 128, 128]);
    check(
        &Parts::new(3, 8, 4, &picture),
        &[255, 200, 255, 128, 128, 128],
    );
}

#[test]
fn the_profile_is_found_among_the_resources() {
    let name = b"8BIM\x03\xe8\x03abc\0\0\0\x01z\0";
    let profile = [&b"8BIM\x04\x0f\0\0\0\0\0\x07"[..], b"profile\0"].concat();
    let parts = Parts {
        resources: [&name[..], &profile].concat(),
        ..Parts::new(1, 8, 1, &[0, 0, 7, 200])
    };
    let size = Size::new(2, 1);
    let decoded = decode(Format::Psd, &parts.to_bytes(), &DecodeOptions::whole(size));
    let decoded = decoded.expect("decodes");
    assert_eq!(decoded.profile.as_deref(), Some(&b"profile"[..]));
}

#[test]
fn other_modes_and_missing_pictures_are_refused() {
    let picture = [0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let no_picture = b"8BIM\x04\x21\0\0\0\0\0\x05\0\0\0\x01\0\0";
    let refused = [
        // Lab, 32 bits, too few channels, ZIP, and a file without a flattened picture.
        Parts::new(9, 8, 3, &picture),
        Parts::new(3, 32, 3, &picture),
        Parts::new(3, 8, 2, &picture),
        Parts::new(3, 8, 3, &[0, 2, 1, 2, 3]),
        Parts {
            resources: no_picture.to_vec(),
            ..Parts::new(3, 8, 3, &picture)
        },
    ];
    for parts in refused {
        let options = DecodeOptions::whole(Size::new(2, 1));
        let refusal = decode(Format::Psd, &parts.to_bytes(), &options).expect_err("refused");
        assert_eq!(refusal.kind, ErrorKind::Unsupported, "{refusal}");
    }
}

#[test]
fn a_picture_that_ends_early_is_damaged() {
    let file = Parts::new(3, 8, 3, &[0, 0, 1, 2]).to_bytes();
    let options = DecodeOptions::whole(Size::new(2, 1));
    let decoded = decode(Format::Psd, &file, &options).expect("one row");
    assert!(decoded.damaged);
}

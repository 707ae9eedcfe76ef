//! Tests of the composition of frames against a plain compositor, of durations and loops, and of
//! damaged files.

use std::borrow::Cow;

use gif::{DisposalMethod, Repeat};
use image_plan::{Encoding, Format, Layout, Packed, Raster, Size};

use super::{AnimationReader, Disposal};
use crate::{AnimationEncoder, DecodeOptions, Error, ErrorKind, decode, encode};

const CANVAS: Size = Size::new(8, 6);
/// Colours of the test pictures; the first one is transparent.
const COLOURS: [[u8; 4]; 5] = [
    [0, 0, 0, 0],
    [200, 30, 40, 255],
    [20, 180, 60, 255],
    [10, 20, 250, 255],
    [90, 160, 70, 100],
];
const LOSSLESS: Encoding = Encoding::Webp {
    quality: 80,
    method: 2,
    lossless: true,
};
const FORMATS: [Format; 3] = [Format::Gif, Format::Png, Format::Webp];

/// Frame of a test file.
#[derive(Clone, Copy)]
struct Drawn {
    /// Distance from the left edge, distance from the upper edge, width and height.
    area: (u32, u32, u32, u32),
    is_over: bool,
    disposal: Disposal,
    duration_ms: u32,
    /// Index of the first colour in [`COLOURS`], and whether the frame has translucent pixels.
    start: usize,
    is_translucent: bool,
}

impl Drawn {
    fn pixels(&self) -> Vec<[u8; 4]> {
        let colours = if self.is_translucent { 5 } else { 4 };
        let (.., width, height) = self.area;
        let numbers = 0..(width * height) as usize;
        let colour = |at: usize| COLOURS[(self.start + at * at / 3) % colours];
        numbers.map(colour).collect()
    }

    fn packed(&self) -> Packed {
        let (.., width, height) = self.area;
        Packed {
            size: Size::new(width, height),
            layout: Layout::Rgba,
            data: self.pixels().concat(),
        }
    }
}

/// Returns frames with every disposal and blending that `format` has.
fn scene(format: Format) -> Vec<Drawn> {
    let restore = match format {
        Format::Webp => Disposal::Clear,
        _ => Disposal::Restore,
    };
    let is_translucent = format != Format::Gif;
    let drawn = |area, is_over, disposal, duration_ms, start| Drawn {
        area,
        is_over: is_over || format == Format::Gif,
        disposal,
        duration_ms,
        start,
        is_translucent,
    };
    vec![
        drawn((0, 0, 8, 6), false, Disposal::Keep, 100, 1),
        drawn((2, 2, 3, 3), true, Disposal::Keep, 40, 2),
        drawn((4, 0, 4, 5), true, Disposal::Clear, 70, 3),
        drawn((0, 2, 5, 4), true, restore, 250, 1),
        drawn((2, 0, 2, 6), false, restore, 90, 0),
        drawn((6, 4, 2, 2), false, Disposal::Clear, 20, 4),
        drawn((0, 0, 8, 6), true, Disposal::Keep, 1000, 2),
    ]
}

/// Returns the canvas after each frame, composed as the specifications of the formats say.
fn compose(frames: &[Drawn]) -> Vec<Vec<u8>> {
    let mut canvas = vec![[0_u8; 4]; CANVAS.pixels() as usize];
    let mut pictures = Vec::new();
    for frame in frames {
        let before = canvas.clone();
        let (x, y, width, height) = frame.area;
        let places: Vec<usize> = (y..y + height)
            .flat_map(|row| {
                (x..x + width).map(move |column| (row * CANVAS.width_px + column) as usize)
            })
            .collect();
        for (place, drawn) in places.iter().zip(frame.pixels()) {
            canvas[*place] = match frame.is_over {
                true => blend(drawn, canvas[*place]),
                false => drawn,
            };
        }
        pictures.push(canvas.concat());
        for place in &places {
            match frame.disposal {
                Disposal::Keep => {}
                Disposal::Clear => canvas[*place] = [0; 4],
                Disposal::Restore => canvas[*place] = before[*place],
            }
        }
    }
    pictures
}

fn blend(drawn: [u8; 4], under: [u8; 4]) -> [u8; 4] {
    let [drawn_alpha, under_alpha] = [drawn, under].map(|pixel| f64::from(pixel[3]) / 255.0);
    let alpha = drawn_alpha + under_alpha * (1.0 - drawn_alpha);
    if drawn_alpha == 0.0 {
        return under;
    }
    let channel = |at: usize| {
        let under = f64::from(under[at]) * under_alpha * (1.0 - drawn_alpha);
        ((f64::from(drawn[at]) * drawn_alpha + under) / alpha).round() as u8
    };
    [
        channel(0),
        channel(1),
        channel(2),
        (alpha * 255.0).round() as u8,
    ]
}

/// Writes an animation that is played three times.
fn write(format: Format, frames: &[Drawn]) -> Vec<u8> {
    match format {
        Format::Gif => write_gif(frames),
        Format::Png => write_png(frames, false),
        _ => write_webp(frames),
    }
}

fn write_gif(frames: &[Drawn]) -> Vec<u8> {
    let palette: Vec<u8> = COLOURS[..4]
        .iter()
        .flat_map(|[r, g, b, _]| [*r, *g, *b])
        .collect();
    let mut file = Vec::new();
    let mut encoder = gif::Encoder::new(&mut file, 8, 6, &palette).expect("a header");
    encoder.set_repeat(Repeat::Finite(2)).expect("written");
    for (number, frame) in frames.iter().enumerate() {
        let (left, top, width, height) = frame.area;
        let index = |pixel: &[u8; 4]| COLOURS.iter().position(|colour| colour == pixel);
        let pixels = frame.pixels();
        let indexes = pixels
            .iter()
            .map(|pixel| index(pixel).expect("a known colour") as u8);
        let mut indexes: Vec<u8> = indexes.collect();
        if number == 1 {
            // The rows of an interlaced frame of three rows are stored in the order 0, 2, 1.
            let rows: Vec<Vec<u8>> = indexes.chunks(3).map(<[u8]>::to_vec).collect();
            indexes = [&rows[0][..], &rows[2], &rows[1]].concat();
        }
        let written = gif::Frame {
            left: left as u16,
            top: top as u16,
            width: width as u16,
            height: height as u16,
            interlaced: number == 1,
            transparent: Some(0),
            delay: (frame.duration_ms / 10) as u16,
            dispose: match frame.disposal {
                Disposal::Keep => DisposalMethod::Keep,
                Disposal::Clear => DisposalMethod::Background,
                Disposal::Restore => DisposalMethod::Previous,
            },
            buffer: Cow::Owned(indexes),
            ..gif::Frame::default()
        };
        encoder.write_frame(&written).expect("written");
    }
    drop(encoder);
    file
}

/// Writes an APNG. With `has_still`, another picture precedes the frames.
fn write_png(frames: &[Drawn], has_still: bool) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 8, 6);
    encoder.set_color(png::ColorType::Rgba);
    encoder
        .set_animated(frames.len() as u32, 3)
        .expect("frames");
    encoder.set_sep_def_img(has_still).expect("animated");
    let mut writer = encoder.write_header().expect("a header");
    if has_still {
        writer.write_image_data(&[77; 4 * 8 * 6]).expect("written");
    }
    for frame in frames {
        let (x, y, width, height) = frame.area;
        // The encoder compares a new size with the position of the previous frame, so the position
        // is reset first.
        writer.set_frame_position(0, 0).expect("inside");
        writer.set_frame_dimension(width, height).expect("inside");
        writer.set_frame_position(x, y).expect("inside");
        writer
            .set_frame_delay(frame.duration_ms as u16, 1000)
            .expect("animated");
        let blend = match frame.is_over {
            true => png::BlendOp::Over,
            false => png::BlendOp::Source,
        };
        writer.set_blend_op(blend).expect("animated");
        let dispose = match frame.disposal {
            Disposal::Keep => png::DisposeOp::None,
            Disposal::Clear => png::DisposeOp::Background,
            Disposal::Restore => png::DisposeOp::Previous,
        };
        writer.set_dispose_op(dispose).expect("animated");
        writer
            .write_image_data(&frame.packed().data)
            .expect("written");
    }
    writer.finish().expect("finished");
    file
}

fn chunk(name: &[u8; 4], payload: &[u8]) -> Vec<u8> {
    let mut chunk = [&name[..], &(payload.len() as u32).to_le_bytes(), payload].concat();
    chunk.resize(chunk.len().next_multiple_of(2), 0);
    chunk
}

fn write_webp(frames: &[Drawn]) -> Vec<u8> {
    let mut body = b"WEBP".to_vec();
    body.extend(chunk(b"VP8X", &[0x12, 0, 0, 0, 7, 0, 0, 5, 0, 0]));
    body.extend(chunk(b"ANIM", &[9, 9, 9, 9, 3, 0]));
    for (number, frame) in frames.iter().enumerate() {
        let (x, y, width, height) = frame.area;
        let still = Raster::Packed(frame.packed());
        let still = encode(&still, None, LOSSLESS).expect("encodes");
        let mut payload = Vec::new();
        for field in [x / 2, y / 2, width - 1, height - 1, frame.duration_ms] {
            payload.extend_from_slice(&field.to_le_bytes()[..3]);
        }
        let is_cleared = frame.disposal == Disposal::Clear;
        payload.push(u8::from(!frame.is_over) << 1 | u8::from(is_cleared));
        payload.extend_from_slice(&still[12..]);
        if number == 0 {
            payload.extend(chunk(b"XTRA", b"unknown"));
        }
        body.extend(chunk(b"ANMF", &payload));
    }
    chunk(b"RIFF", &body)
}

fn options() -> DecodeOptions {
    DecodeOptions::whole(CANVAS)
}

/// Pictures, durations and number of plays of an animation.
type Played = (Vec<Vec<u8>>, Vec<u32>, u16);

fn play(format: Format, file: &[u8], options: &DecodeOptions) -> Result<Played, Error> {
    let mut reader = AnimationReader::open(format, file, options)?;
    let (mut pictures, mut durations_ms) = (Vec::new(), Vec::new());
    while let Some(frame) = reader.next_frame()? {
        assert_eq!(
            (frame.picture.size, frame.picture.layout),
            (CANVAS, Layout::Rgba)
        );
        pictures.push(frame.picture.data.clone());
        durations_ms.push(frame.duration_ms);
    }
    Ok((pictures, durations_ms, reader.plays()))
}

#[test]
fn frames_are_composed_as_specified() {
    for format in FORMATS {
        let frames = scene(format);
        let file = write(format, &frames);
        let (pictures, durations_ms, plays) = play(format, &file, &options()).expect("decodes");
        assert_eq!(pictures, compose(&frames), "{format:?}");
        assert_eq!(durations_ms, [100, 40, 70, 250, 90, 20, 1000], "{format:?}");
        assert_eq!(plays, 3, "{format:?}");
    }
}

#[test]
fn one_frame_is_decoded_as_it_is_shown() {
    for format in FORMATS {
        let frames = scene(format);
        let file = write(format, &frames);
        for (number, expected) in compose(&frames).into_iter().enumerate() {
            let page = number as u16 + 1;
            let options = DecodeOptions { page, ..options() };
            let decoded = decode(format, &file, &options).expect("decodes");
            let Raster::Packed(packed) = decoded.raster else {
                panic!("{format:?}: planes");
            };
            let channels = packed.layout.channels();
            let kept = expected.chunks(4).flat_map(|pixel| &pixel[..channels]);
            assert!(packed.data.iter().eq(kept), "{format:?} {page}");
            assert!(!decoded.damaged);
        }
        let options = DecodeOptions {
            page: 8,
            ..options()
        };
        let error = decode(format, &file, &options).expect_err("no such frame");
        assert_eq!(error.kind, ErrorKind::Undecodable, "{format:?}");
    }
}

#[test]
fn a_picture_before_the_frames_of_a_png_is_skipped() {
    let frames = scene(Format::Png);
    let file = write_png(&frames, true);
    let (pictures, ..) = play(Format::Png, &file, &options()).expect("decodes");
    assert_eq!(pictures, compose(&frames));
    let decoded = decode(Format::Png, &file, &options()).expect("decodes");
    assert_eq!(
        decoded.raster,
        Raster::Packed(Packed {
            size: CANVAS,
            layout: Layout::Rgba,
            data: pictures[0].clone(),
        })
    );
}

#[test]
fn short_durations_become_100_ms_as_in_browsers() {
    for format in FORMATS {
        let mut frames = scene(format);
        (frames[1].duration_ms, frames[2].duration_ms) = (0, 10);
        let file = write(format, &frames);
        let (_, durations_ms, _) = play(format, &file, &options()).expect("decodes");
        assert_eq!(
            durations_ms,
            [100, 100, 100, 250, 90, 20, 1000],
            "{format:?}"
        );
    }
}

/// Encodes `pictures` losslessly, and returns the file.
fn encoded(pictures: &[Vec<u8>], durations_ms: &[u32], plays: u16) -> Vec<u8> {
    let mut encoder = AnimationEncoder::new(CANVAS, None, LOSSLESS).expect("an encoder");
    for (data, duration_ms) in pictures.iter().zip(durations_ms) {
        let picture = Packed {
            size: CANVAS,
            layout: Layout::Rgba,
            data: data.clone(),
        };
        encoder.add(&picture, *duration_ms).expect("added");
    }
    encoder.finish(plays).expect("encodes")
}

#[test]
fn a_lossless_animation_is_decoded_to_the_same_pictures() {
    for format in FORMATS {
        let pictures = compose(&scene(format));
        let durations_ms = [100, 40, 70, 250, 90, 20, 1000];
        let file = encoded(&pictures, &durations_ms, 0);
        let (decoded, decoded_ms, plays) = play(Format::Webp, &file, &options()).expect("decodes");
        assert_eq!(decoded, pictures, "{format:?}");
        assert_eq!(
            (&decoded_ms[..], plays),
            (&durations_ms[..], 0),
            "{format:?}"
        );
    }
}

#[test]
fn equal_pictures_become_one_frame_of_the_same_duration() {
    let pictures = compose(&scene(Format::Gif));
    let repeated = [
        &pictures[0],
        &pictures[0],
        &pictures[1],
        &pictures[1],
        &pictures[1],
    ];
    let repeated: Vec<Vec<u8>> = repeated.into_iter().cloned().collect();
    let file = encoded(&repeated, &[30, 40, 1 << 23, 1 << 23, 50], 65_535);
    let (decoded, durations_ms, plays) = play(Format::Webp, &file, &options()).expect("decodes");
    assert_eq!(decoded[..2], pictures[..2]);
    assert_eq!(durations_ms[0], 70);
    assert_eq!(durations_ms.iter().sum::<u32>(), 120 + (1 << 24));
    assert_eq!(plays, 65_535);
}

#[test]
fn a_profile_is_embedded() {
    let mut encoder =
        AnimationEncoder::new(CANVAS, Some(b"profile"), LOSSLESS).expect("an encoder");
    for frame in [scene(Format::Gif)[0], scene(Format::Gif)[6]] {
        encoder.add(&frame.packed(), 50).expect("added");
    }
    let file = encoder.finish(1).expect("encodes");
    let reader = AnimationReader::open(Format::Webp, &file, &options()).expect("an animation");
    assert_eq!(reader.profile(), Some(&b"profile"[..]));
}

#[test]
fn wrong_pictures_are_refused() {
    let mut encoder = AnimationEncoder::new(CANVAS, None, LOSSLESS).expect("an encoder");
    let picture = scene(Format::Gif)[0].packed();
    let small = scene(Format::Gif)[1].packed();
    for (picture, duration_ms) in [(&small, 50), (&picture, 0), (&picture, 1 << 24)] {
        let error = encoder.add(picture, duration_ms).expect_err("refused");
        assert_eq!(error.kind, ErrorKind::Failed);
    }
    assert_eq!(
        encoder.finish(1).expect_err("no frame").kind,
        ErrorKind::Failed
    );
}

/// A truncated animation is an error, even if it is cut between two frames.
#[test]
fn an_animation_is_never_shortened() {
    for format in FORMATS {
        let frames = scene(format);
        let file = write(format, &frames);
        for length in 0..file.len() {
            if let Ok((pictures, ..)) = play(format, &file[..length], &options()) {
                assert_eq!(pictures, compose(&frames), "{format:?} {length}");
            }
        }
    }
}

#[test]
fn too_many_frames_are_refused() {
    for format in FORMATS {
        let file = write(format, &scene(format));
        let mut options = options();
        options.limits.frames_max = 7;
        assert!(play(format, &file, &options).is_ok(), "{format:?}");
        options.limits.frames_max = 6;
        let error = play(format, &file, &options).expect_err("seven frames");
        assert_eq!(error.kind, ErrorKind::TooLarge, "{format:?}");
    }
}

#[test]
fn a_frame_larger_than_the_canvas_is_refused() {
    let mut file = Vec::new();
    let mut encoder = gif::Encoder::new(&mut file, 8, 6, &[0; 6]).expect("a header");
    for (width, height) in [(8, 6), (60_000, 1)] {
        let indexes = vec![0; usize::from(width) * usize::from(height)];
        let frame = gif::Frame::from_indexed_pixels(width, height, indexes, None);
        encoder.write_frame(&frame).expect("written");
    }
    drop(encoder);
    let error = play(Format::Gif, &file, &options()).expect_err("refused");
    assert_eq!(error.kind, ErrorKind::Unsupported);
}

/// Flips bits everywhere. No file may make the decoder panic, and each decoded animation has
/// pictures of the size of the canvas.
#[test]
fn damaged_files_do_not_panic() {
    for format in FORMATS {
        let file = write(format, &scene(format));
        let mut options = options();
        options.limits.frames_max = 20;
        for at in 0..file.len() {
            for bit in 0..8 {
                let mut damaged = file.clone();
                damaged[at] ^= 1 << bit;
                if let Ok((pictures, ..)) = play(format, &damaged, &options) {
                    assert!((1..=20).contains(&pictures.len()), "{format:?} {at} {bit}");
                }
            }
        }
    }
}

//! Tests that no lossy output is below the quality floor. The tests measure whole pictures, whereas
//! the worker measures only a sample of each.
//!
//! `cargo xtask conform pictures` runs the tests on all pictures of Debian's wallpaper packages
//! instead of a few synthetic ones.

use std::fs;
use std::path::Path;

use fast_ssim2::{PixelDescriptor, PixelSlice, Ssimulacra2Reference};
use image_plan::{
    Encoding, Facts, Format, Layout, Limits, Packed, Raster, Recipe, Size, Stage, Target,
};

/// Name of the environment variable that lists folders of pictures, separated by colons.
const FOLDERS: &str = "CONFORM_PICTURES";
const SCORE_MIN: f64 = 60.0;

/// Function that returns the colour of a drawing at a position.
type Paint = fn(u32, u32) -> [u8; 3];

fn drawn(size: Size, paint: Paint) -> Vec<u8> {
    let pixels = (0..size.height_px).flat_map(|y| (0..size.width_px).map(move |x| (x, y)));
    let raster = Raster::Packed(Packed {
        size,
        layout: Layout::Rgb,
        data: pixels.flat_map(|(x, y)| paint(x, y)).collect(),
    });
    codec::encode(&raster, None, Encoding::Png).expect("a PNG takes everything")
}

/// Returns a pseudorandom number for a position.
fn noise(x: u32, y: u32) -> u32 {
    let mixed = x.wrapping_mul(0x9e37_79b1) ^ y.wrapping_mul(0x85eb_ca77);
    (mixed ^ (mixed >> 15)).wrapping_mul(0x2c1b_3c6d) >> 24
}

fn grey(luma: u32) -> [u8; 3] {
    [luma as u8; 3]
}

/// Returns whether a pixel belongs to a pattern of strokes that resembles letters.
fn is_stroke(x: u32, y: u32) -> bool {
    let (column, row) = (x % 16, y % 24);
    row < 14
        && ((column < 2) || (row % 6 < 2 && column < 9))
        && !noise(x / 16, y / 24).is_multiple_of(4)
}

const DRAWINGS: [(&str, Paint); 4] = [
    ("stars in the dark", |x, y| {
        grey(match noise(x / 2, y / 2) {
            0..4 => 60,
            number => 6 + number % 5,
        })
    }),
    ("icons that are hardly lighter than their ground", |x, y| {
        grey(if is_stroke(x, y) { 57 } else { 52 })
    }),
    ("dark cloth", |x, y| {
        grey(20 + (x % 6 + y % 6) / 2 + noise(x, y) % 4)
    }),
    ("coloured text", |x, y| {
        match (is_stroke(x, y), y / 24 % 3) {
            (true, 0) => [220, 20, 20],
            (true, 1) => [20, 20, 220],
            (true, _) => [200, 0, 180],
            (false, _) => [255, 250, 240],
        }
    }),
];

/// Returns a PNG of almost transparent black. All its detail (steps and noise) is in the alpha
/// plane.
fn shadow(size: Size) -> Vec<u8> {
    let places = (0..size.height_px).flat_map(|y| (0..size.width_px).map(move |x| (x, y)));
    let alphas = places.map(|(x, y)| 20 + (x / 60 + y / 50) % 3 * 6 + noise(x / 2, y / 2) % 14);
    let raster = Raster::Packed(Packed {
        size,
        layout: Layout::Rgba,
        data: alphas.flat_map(|alpha| [0, 0, 0, alpha as u8]).collect(),
    });
    codec::encode(&raster, None, Encoding::Png).expect("a PNG takes everything")
}

/// Returns names and bytes of the pictures to convert.
fn pictures() -> Vec<(String, Vec<u8>)> {
    let mut pictures_found = Vec::new();
    match std::env::var(FOLDERS) {
        Ok(folders) => {
            for folder in folders.split(':') {
                collect(Path::new(folder), &mut pictures_found);
            }
            assert!(!pictures_found.is_empty(), "{folders}: no pictures");
        }
        Err(_) => {
            let size = Size::new(900, 700);
            pictures_found
                .extend(DRAWINGS.map(|(name, paint)| (name.to_owned(), drawn(size, paint))));
            pictures_found.push(("shadow".to_owned(), shadow(size)));
        }
    }
    pictures_found.sort();
    pictures_found
}

fn collect(folder: &Path, pictures_found: &mut Vec<(String, Vec<u8>)>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|err| panic!("{}: {err}", folder.display()));
    for entry in entries {
        let path = entry.expect("the folder can be read").path();
        // Symbolic links are skipped: Debian's packages of pictures use them to give one picture
        // several names.
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            collect(&path, pictures_found);
        } else {
            let bytes = fs::read(&path).expect("the picture can be read");
            pictures_found.push((path.display().to_string(), bytes));
        }
    }
}

fn decoded(format: Format, file: &[u8], size: Size) -> Packed {
    let options = codec::DecodeOptions::whole(size);
    let decoded = codec::decode(format, file, &options).expect("the worker's output");
    pixel::to_packed(decoded.raster)
}

/// Adds opaque alpha to RGB. Decoders drop alpha if all pixels are opaque, but two pictures can be
/// compared only in the same layout.
fn with_alpha(picture: Packed) -> Packed {
    match picture.layout {
        Layout::Rgb => {
            let (pixels, _) = picture.data.as_chunks::<3>();
            let pixels = pixels.iter().flat_map(|[r, g, b]| [*r, *g, *b, 255]);
            Packed {
                layout: Layout::Rgba,
                data: pixels.collect(),
                ..picture
            }
        }
        _ => picture,
    }
}

fn slice(picture: &Packed) -> PixelSlice<'_> {
    let Size {
        width_px,
        height_px,
    } = picture.size;
    let stride = 4 * width_px as usize;
    let descriptor = PixelDescriptor::RGBA8_SRGB;
    let slice = PixelSlice::new(&picture.data, width_px, height_px, stride, descriptor);
    slice.expect("its size is that of its pixels").erase()
}

/// Totals over all outputs of one format at one effort.
#[derive(Default)]
struct Tally {
    outputs: u32,
    bytes: u64,
    score: f64,
    least: f64,
}

fn facts(file: &[u8]) -> Option<Facts> {
    let facts = image_plan::probe(file, file.len() as u64).ok()?;
    (facts.unsupported.is_none() && !facts.animated).then_some(facts)
}

#[test]
fn no_lossy_output_is_below_the_floor() {
    let pictures = pictures();
    let kinds = [Target::Avif, Target::Webp, Target::Jpeg]
        .into_iter()
        .flat_map(|target| [(target, Stage::Quick), (target, Stage::Better)])
        // JPEG has only one level of effort, so its outputs for the two stages would be equal.
        .filter(|kind| *kind != (Target::Jpeg, Stage::Better));
    let kinds: Vec<_> = kinds.collect();
    let mut below = Vec::new();
    for width_px in [None, Some(640)] {
        let recipe = Recipe {
            width_px,
            ..Recipe::default()
        };
        let mut tallies: Vec<Tally> = kinds.iter().map(|_| Tally::default()).collect();
        for (name, file) in &pictures {
            let Some(facts) = facts(file) else {
                continue;
            };
            let convert_to = |target, stage| {
                let limits = Limits::default();
                let plan = image_plan::plan(&facts, &recipe, target, stage, &limits).expect("fits");
                let output = worker::convert(&plan, file).expect("a sound picture");
                let picture = decoded(target.format(), &output.bytes, plan.target);
                (output.bytes.len(), with_alpha(picture))
            };
            let (_, exact) = convert_to(Target::Png, Stage::Quick);
            let reference = Ssimulacra2Reference::new(&slice(&exact)).expect("it has pixels");
            for ((target, stage), tally) in kinds.iter().zip(&mut tallies) {
                // JPEG blends transparency over white, so the outputs cannot be compared.
                if *target == Target::Jpeg && facts.alpha {
                    continue;
                }
                let (bytes, picture) = convert_to(*target, *stage);
                let score = reference.compare(&slice(&picture)).expect("of one size");
                eprintln!("{name}, {width_px:?}: {target:?} {stage:?} {bytes} bytes, {score:.1}");
                if score < SCORE_MIN {
                    below.push(format!(
                        "{name}, {width_px:?}, {target:?}, {stage:?}: {score:.1}"
                    ));
                }
                tally.least = if tally.outputs == 0 {
                    score
                } else {
                    tally.least.min(score)
                };
                tally.outputs += 1;
                tally.bytes += bytes as u64;
                tally.score += score;
            }
        }
        for ((target, stage), tally) in kinds.iter().zip(&tallies) {
            eprintln!(
                "{width_px:?}: {target:?} {stage:?}: {} outputs, {} bytes, mean {:.2}, least {:.1}",
                tally.outputs,
                tally.bytes,
                tally.score / f64::from(tally.outputs),
                tally.least
            );
        }
    }
    assert!(below.is_empty(), "{below:#?}");
}

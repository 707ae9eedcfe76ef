//! Similarity of two pictures: their SSIMULACRA2 score, after decoding by programs that are not
//! ours.
//!
//! A score of 100 means identical, about 90 visually lossless, 70 high quality, 50 medium quality.
//! A difference of two points is visible if the pictures are side by side.

#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;
use std::process::Command;

use fast_ssim2::{PixelDescriptor, PixelSlice, Ssimulacra2Reference};
use image_plan::{Format, Layout, Packed};
use toolkit::stop::{Stop, at};

use crate::netpbm;
use crate::scratch::Scratch;
use crate::usage;

/// Reference picture, with the metric's intermediate results computed once.
pub(crate) struct Reference {
    picture: Packed,
    prepared: Ssimulacra2Reference,
}

impl Reference {
    pub(crate) fn new(picture: Packed) -> Result<Reference, Stop> {
        let prepared = Ssimulacra2Reference::new(&slice(&picture)?).map_err(unscored)?;
        Ok(Reference { picture, prepared })
    }

    pub(crate) fn picture(&self) -> &Packed {
        &self.picture
    }

    /// Returns the SSIMULACRA2 score of `other` against this reference.
    ///
    /// # Errors
    /// Returns an error if the two pictures differ in size: `other` is then not a version of this
    /// picture.
    pub(crate) fn score(&self, other: &Packed) -> Result<f64, Stop> {
        if other.size != self.picture.size {
            let line = format!(
                "the picture has the size {:?} instead of {:?}",
                other.size, self.picture.size
            );
            return Err(Stop::findings(line));
        }
        self.prepared.compare(&slice(other)?).map_err(unscored)
    }
}

fn slice(picture: &Packed) -> Result<PixelSlice<'_>, Stop> {
    assert_eq!(picture.layout, Layout::Rgb, "decoders here write RGB");
    let (width, height) = (picture.size.width_px, picture.size.height_px);
    let slice = PixelSlice::new(
        &picture.data,
        width,
        height,
        width as usize * 3,
        PixelDescriptor::RGB8_SRGB,
    );
    slice
        .map(|slice| slice.erase())
        .map_err(|err| Stop::findings(format!("ssimulacra2: {err}")))
}

fn unscored(err: fast_ssim2::Ssimulacra2Error) -> Stop {
    Stop::findings(format!("ssimulacra2: {err}"))
}

/// Decodes a file with the reference program for the file's format. The program comes from Debian's
/// packages; our codecs are never used.
///
/// # Errors
/// Returns an error if the program rejects the file. The benchmark must then stop, because it must
/// not measure a conversion that makes invalid files.
pub(crate) fn decode(path: &Path, scratch: &Scratch) -> Result<Packed, Stop> {
    let bytes = fs::read(path).map_err(at(path))?;
    let unreadable = || {
        Stop::findings(format!(
            "{}: the file cannot be decoded to a picture",
            path.display()
        ))
    };
    match Format::sniff(&bytes) {
        Some(Format::Jpeg) => {
            let mut djpeg = Command::new("djpeg");
            djpeg.args(["-dct", "int", "-pnm"]).arg(path);
            netpbm::read(&usage::run(&mut djpeg)?.0).ok_or_else(unreadable)
        }
        Some(Format::Webp) => {
            let mut dwebp = Command::new("dwebp");
            dwebp.args(["-quiet", "-ppm", "-o", "-", "--"]).arg(path);
            netpbm::read(&usage::run(&mut dwebp)?.0).ok_or_else(unreadable)
        }
        Some(Format::Avif) => {
            let png = scratch.join("decoded.png");
            let mut avifdec = Command::new("avifdec");
            avifdec.args([
                "--depth",
                "8",
                "--upsampling",
                "best",
                "--png-compress",
                "0",
            ]);
            usage::run(avifdec.arg("--").arg(path).arg(&png))?;
            read_png(&png)
        }
        Some(Format::Png) => read_png(path),
        _ => Err(unreadable()),
    }
}

/// Reads an 8-bit PNG as RGB and drops alpha, so alpha must be opaque or absent.
pub(crate) fn read_png(path: &Path) -> Result<Packed, Stop> {
    let failed = |err: png::DecodingError| Stop::findings(format!("{}: {err}", path.display()));
    let file = fs::File::open(path).map_err(at(path))?;
    let mut decoder = png::Decoder::new(std::io::BufReader::new(file));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(failed)?;
    let bytes = reader.output_buffer_size();
    let mut data = vec![0; bytes.expect("8-bit pictures of the corpus fit into memory")];
    let frame = reader.next_frame(&mut data).map_err(failed)?;
    let data = match frame.color_type {
        png::ColorType::Rgb => data,
        png::ColorType::Rgba => data
            .as_chunks()
            .0
            .iter()
            .flat_map(|[r, g, b, _]| [*r, *g, *b])
            .collect(),
        png::ColorType::Grayscale => data.iter().flat_map(|grey| [*grey; 3]).collect(),
        other => return Err(Stop::findings(format!("{}: {other:?}", path.display()))),
    };
    Ok(Packed {
        size: image_plan::Size::new(frame.width, frame.height),
        layout: Layout::Rgb,
        data,
    })
}

/// Writes an RGB picture as PNG, the lossless format in which encoders receive references.
pub(crate) fn write_png(picture: &Packed, path: &Path) -> Result<(), Stop> {
    let failed = |err: png::EncodingError| Stop::host(format!("{}: {err}", path.display()));
    let file = fs::File::create(path).map_err(at(path))?;
    let size = picture.size;
    let mut encoder =
        png::Encoder::new(std::io::BufWriter::new(file), size.width_px, size.height_px);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(&picture.data).map_err(failed)?;
    writer.finish().map_err(failed)
}

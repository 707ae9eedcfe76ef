//! Entry point for decoding all formats of originals.

use image_plan::Format;

use crate::animation::decode_frame;
use crate::{DecodeOptions, Decoded, Error};
use crate::{
    avif, bmp, gif, hdr, ico, jpeg, jxl, png, pnm, preview, psd, qoi, svg, tga, tiff, webp,
};

/// Decodes one picture of `bytes`, which must be a file of `format`: of an animation or a TIFF, the
/// frame or page with the number `options.page`; of an ICO, the largest picture.
///
/// | format | result |
/// |---|---|
/// | JPEG | full-range BT.601 planes in the file's subsampling; CMYK for CMYK and YCCK; else RGB |
/// | PNG, JPEG XL | RGB or RGBA; full-range grey planes with or without alpha |
/// | GIF, BMP, SVG | RGB or RGBA |
/// | WebP | limited-range BT.601 planes at 4:2:0 with or without alpha; RGB or RGBA if lossless |
/// | TIFF, PSD, PNM, TGA | RGB, RGBA or CMYK; full-range grey planes with or without alpha |
/// | ICO, QOI | RGB or RGBA; the grey planes of a PNG in an ICO |
/// | Radiance HDR | RGB, tone-mapped |
/// | AVIF | planes as in the file, with or without alpha; RGB or RGBA with the identity matrix |
/// | HEIC, camera raw | the largest embedded JPEG, as above |
///
/// Samples of more than 8 bits are rounded to 8. Alpha is straight, and omitted if all pixels are
/// opaque.
///
/// # Errors
/// [`ErrorKind::Undecodable`], [`ErrorKind::Unsupported`] and [`ErrorKind::TooLarge`] mean a fault
/// of the file, [`ErrorKind::OutOfMemory`] a lack of memory on the host, and [`ErrorKind::Failed`]
/// a bug of this program.
pub fn decode(format: Format, bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, Error> {
    match format {
        Format::Jpeg => jpeg::decode(bytes, options),
        Format::Png => png::decode(bytes, options),
        Format::Gif if options.page != 1 => decode_frame(format, bytes, options),
        Format::Gif => gif::decode(bytes, options),
        Format::Webp => webp::decode(bytes, options),
        Format::Avif => avif::decode(bytes, options),
        Format::Bmp => bmp::decode(bytes, options),
        Format::Tiff => tiff::decode(bytes, options),
        Format::Ico => ico::decode(bytes, options),
        Format::Tga => tga::decode(bytes, options),
        Format::Qoi => qoi::decode(bytes, options),
        Format::Pnm => pnm::decode(bytes, options),
        Format::Hdr => hdr::decode(bytes, options),
        Format::Psd => psd::decode(bytes, options),
        Format::Heif | Format::Raw => preview::decode(format, bytes, options),
        Format::Jxl => jxl::decode(bytes, options),
        Format::Svg | Format::Svgz => svg::decode(bytes, options),
    }
}

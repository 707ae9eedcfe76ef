//! Image information (§5): the text of an info.json.

use std::fmt::Write as _;

use super::{IIIF_CONTEXT, IIIF_TILE_PX, IiifLimits};
use crate::Size;

/// Properties of a picture that info.json states. The [`Display`](std::fmt::Display) output is the
/// JSON document.
#[derive(Clone, Copy, Debug)]
pub struct IiifInformation<'i> {
    /// Base URI of the picture. It has no control characters.
    pub id: &'i str,
    /// Size of the upright picture.
    pub size: Size,
    /// Limits on outputs.
    pub limits: IiifLimits,
}

impl IiifInformation<'_> {
    /// Returns the powers of two by which the picture is reduced, until it fits into one tile.
    fn scale_factors(&self) -> impl Iterator<Item = u32> {
        let longest = self.size.width_px.max(self.size.height_px);
        let last = longest.div_ceil(IIIF_TILE_PX).next_power_of_two();
        (0..=last.ilog2()).map(|power| 1 << power)
    }

    /// Returns the size of the whole picture, reduced by `factor`.
    fn reduced(&self, factor: u32) -> Size {
        let Size {
            width_px,
            height_px,
        } = self.size;
        Size::new(width_px.div_ceil(factor), height_px.div_ceil(factor))
    }
}

impl std::fmt::Display for IiifInformation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let IiifInformation { id, size, limits } = *self;
        // Some clients do not encode quotation marks in a URI.
        let id = id.replace('\\', "\\\\").replace('"', "\\\"");
        let factors: Vec<String> = self.scale_factors().map(|it| it.to_string()).collect();
        let mut sizes = String::new();
        let reduced: Vec<u32> = self.scale_factors().collect();
        let reduced = reduced.iter().rev().map(|factor| self.reduced(*factor));
        for Size {
            width_px,
            height_px,
        } in reduced.filter(|size| limits.admits(*size))
        {
            let comma = if sizes.is_empty() { "" } else { "," };
            write!(
                sizes,
                "{comma}{{\"width\":{width_px},\"height\":{height_px}}}"
            )?;
        }
        writeln!(
            f,
            "{{\"@context\":\"{IIIF_CONTEXT}\",\"id\":\"{id}\",\"type\":\"ImageService3\",\
             \"protocol\":\"http://iiif.io/api/image\",\"profile\":\"level2\",\
             \"width\":{},\"height\":{},\"maxWidth\":{},\"maxArea\":{},\"sizes\":[{sizes}],\
             \"tiles\":[{{\"width\":{IIIF_TILE_PX},\"scaleFactors\":[{}]}}],\
             \"preferredFormats\":[\"webp\",\"jpg\"],\"extraFormats\":[\"webp\",\"avif\"],\
             \"extraQualities\":[\"color\",\"gray\",\"bitonal\"],\
             \"extraFeatures\":[\"canonicalLinkHeader\",\"mirroring\",\"profileLinkHeader\",\
             \"rotationArbitrary\",\"sizeUpscaling\"]}}",
            size.width_px,
            size.height_px,
            limits.side_px_max,
            limits.pixels_max,
            factors.join(","),
        )
    }
}

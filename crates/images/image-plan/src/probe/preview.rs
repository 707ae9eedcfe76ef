//! Embedded JPEG previews: the part of HEIC, HEIF and camera raw files that Pelton converts. The
//! decoder uses the same search.

use super::facts::{Facts, ProbeError, ProbeErrorKind};
use super::head::HeaderReader;
use super::{cr3, heif, jpeg, raw};
use crate::{Format, Orientation};
use std::ops::Range;

/// Maximum number of embedded JPEGs whose headers are read. Cameras write two to four.
const PREVIEWS_MAX: usize = 16;

/// Embedded JPEG preview of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// Offset of the JPEG in the file.
    pub offset: u64,
    /// Length of the JPEG in bytes.
    pub len_bytes: u64,
    /// Properties of the JPEG, with the format of the file around it and the orientation of the
    /// picture.
    pub facts: Facts,
}

/// Place of a possible preview: a range of the file, and the orientation that the file states for
/// the JPEG in that range, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) range: Range<u64>,
    pub(super) orientation: Option<Orientation>,
}

/// Returns the largest preview of a file of `format`.
///
/// # Errors
/// [`ProbeErrorKind::NoPreview`] if no preview is found, because there is none or because the file
/// is malformed; [`ProbeErrorKind::Io`] if the file cannot be read.
pub(super) fn find(head: &mut HeaderReader<'_>, format: Format) -> Result<Preview, ProbeError> {
    let candidates = match format {
        Format::Heif => heif::candidates(head),
        _ if cr3::is_cr3(head)? => cr3::candidates(head),
        _ => raw::candidates(head),
    };
    let candidates = match candidates {
        Err(err) if err.kind == ProbeErrorKind::Io => return Err(err),
        // A malformed file counts as a file without previews.
        Err(_) => Vec::new(),
        Ok(candidates) => candidates,
    };
    let mut best: Option<Preview> = None;
    for candidate in candidates.into_iter().take(PREVIEWS_MAX) {
        let Some(preview) = read(head, format, &candidate)? else {
            continue;
        };
        let pixels = |preview: &Preview| preview.facts.stored.pixels();
        if best
            .as_ref()
            .is_none_or(|best| pixels(best) < pixels(&preview))
        {
            best = Some(preview);
        }
    }
    best.ok_or(ProbeError::new(
        ProbeErrorKind::NoPreview,
        "no embedded jpeg preview",
    ))
}

/// Reads the header of the JPEG at the place of `candidate`. Returns `None` if there is no JPEG, or
/// one that workers do not decode, such as the lossless JPEG of a sensor's data.
fn read(
    head: &mut HeaderReader<'_>,
    format: Format,
    candidate: &Candidate,
) -> Result<Option<Preview>, ProbeError> {
    let Range { start, end } = candidate.range;
    if end <= start || head.len_bytes() < end {
        return Ok(None);
    }
    let probed = head.within(candidate.range.clone(), |head| match head.array(0)? {
        [0xff, 0xd8, 0xff] => jpeg::probe(head).map(Some),
        _ => Ok(None),
    });
    let facts = match probed {
        Ok(Some(facts)) if facts.unsupported.is_none() && facts.stored.pixels() != 0 => facts,
        Ok(_) => return Ok(None),
        Err(err) if err.kind == ProbeErrorKind::Io => return Err(err),
        Err(_) => return Ok(None),
    };
    Ok(Some(Preview {
        offset: start,
        len_bytes: end - start,
        facts: Facts {
            format,
            orientation: candidate.orientation.unwrap_or(facts.orientation),
            ..facts
        },
    }))
}

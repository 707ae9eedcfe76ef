//! Place names in IPTC-IIM (Information Interchange Model 4.2), which JPEG files have within the
//! image resources of Photoshop.
//!
//! ```text
//! resources: "8BIM" · id u16 · name: length u8, letters, padded to even · length u32 ·
//!            data, padded to even
//! dataset:   0x1c · record u8 · number u8 · length u16 · value
//! extended:  0x1c · record u8 · number u8 · 0x8000 | bytes of the length u16 · length · value
//! ```
//!
//! All numbers are big-endian. The resource [`IPTC`] has the datasets.

use std::ops::Range;

use super::place::{Part, Place};
use crate::Error;
use crate::input::{Input, WINDOW_BYTES_MAX};
use crate::text;

/// Id of the resource with the datasets of IPTC-IIM.
const IPTC: u16 = 0x0404;
/// Maximum number of datasets that are read; a dataset is, for example, one keyword.
const DATASETS_MAX: usize = 1024;
/// Marker at the beginning of each dataset.
const MARKER: u8 = 0x1c;
/// Bit of a length that marks an extended dataset.
const EXTENDED: usize = 0x8000;

/// Values of dataset 1:90 that select UTF-8: the escape sequences of ISO 2022 for UTF-8 and its
/// implementation levels.
const UTF8: [&[u8]; 4] = [b"\x1b%G", b"\x1b%/G", b"\x1b%/H", b"\x1b%/I"];

/// Reads the place from image resources of Photoshop.
pub(super) fn read_resources(input: &mut Input<'_>, block: Range<u64>) -> Result<Place, Error> {
    let mut at = block.start;
    while at < block.end {
        input.part()?;
        let [b'8', b'B', b'I', b'M', high, low, name_bytes] = input.field(&(at..block.end), 0)?
        else {
            return Err(Error::malformed(
                "an image resource does not begin with 8BIM",
            ));
        };
        // The name and the byte of its length are padded together.
        let length_at = 6 + (1 + u64::from(name_bytes)).next_multiple_of(2);
        let bytes = u32::from_be_bytes(input.field(&(at..block.end), length_at)?);
        let start = at + length_at + 4;
        let end = start + u64::from(bytes);
        if u16::from_be_bytes([high, low]) == IPTC {
            return read_datasets(input, start..end.min(block.end));
        }
        at = end + end.saturating_sub(start) % 2;
    }
    Ok(Place::default())
}

/// Reads the place from datasets of IPTC-IIM. A broken dataset ends them.
pub(super) fn read_datasets(input: &mut Input<'_>, block: Range<u64>) -> Result<Place, Error> {
    let bytes = block.end.saturating_sub(block.start);
    let bytes = bytes.min(WINDOW_BYTES_MAX as u64) as usize;
    let datasets = Datasets(input.up_to(block.start, bytes)?);
    let mut is_utf8 = false;
    let mut values = Vec::new();
    for (record, number, value) in datasets.take(DATASETS_MAX) {
        let part = match (record, number) {
            (1, 90) => {
                is_utf8 = UTF8.contains(&value);
                continue;
            }
            (2, 90) => Part::City,
            (2, 92) => Part::Sublocation,
            (2, 95) => Part::State,
            (2, 101) => Part::Country,
            _ => continue,
        };
        values.push((part, value));
    }
    let mut place = Place::default();
    for (part, value) in values {
        let mut text = String::new();
        let value = whole_letters(value, is_utf8);
        match is_utf8 {
            true => text::utf8(value, &mut text),
            // The specification demands 1:90 for other encodings than ASCII, but many writers
            // leave it out and write ISO 8859-1 or UTF-8.
            false => text::latin1(value, &mut text),
        }
        place.set(part, &text);
    }
    Ok(place)
}

/// Returns a value without its last letter if that is incomplete in UTF-8: the specification limits
/// names to 32 or 64 bytes, and some writers divide a letter there. An ISO 8859-1 text has no valid
/// UTF-8 outside ASCII before its end.
fn whole_letters(value: &[u8], is_utf8: bool) -> &[u8] {
    match str::from_utf8(value) {
        Err(err) if err.error_len().is_none() => {
            let whole = &value[..err.valid_up_to()];
            if is_utf8 || !whole.is_ascii() {
                whole
            } else {
                value
            }
        }
        _ => value,
    }
}

/// Datasets in their order: record, number and value. Bytes of other structure end them.
struct Datasets<'b>(&'b [u8]);

impl<'b> Iterator for Datasets<'b> {
    type Item = (u8, u8, &'b [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let [MARKER, record, number, high, low, rest @ ..] = self.0 else {
            return None;
        };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let (length, rest) = match length & EXTENDED {
            0 => (length, rest),
            _ => {
                let (bytes, rest) = rest.split_at_checked(length & !EXTENDED)?;
                let length = bytes.iter().try_fold(0_usize, |length, byte| {
                    Some(length.checked_mul(256)? | usize::from(*byte))
                })?;
                (length, rest)
            }
        };
        let (value, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((*record, *number, value))
    }
}

#[cfg(test)]
mod tests {
    use super::whole_letters;

    #[test]
    fn a_divided_letter_at_the_end_is_left_out() {
        for (value, is_utf8, whole) in [
            ("Zürich".as_bytes(), false, "Zürich".as_bytes()),
            (b"Z\xc3\xbcrich \xc3", false, b"Z\xc3\xbcrich "),
            (b"Zurich \xc3", true, b"Zurich "),
            // ISO 8859-1
            (b"Orl\xe9", false, b"Orl\xe9"),
            (b"S\xe3o Jos\xe9", false, b"S\xe3o Jos\xe9"),
        ] {
            assert_eq!(whole_letters(value, is_utf8), whole);
        }
    }
}

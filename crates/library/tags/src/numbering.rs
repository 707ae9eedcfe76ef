//! Track and disc numbers in common notations.

/// Numbers parsed from the text of a track or disc number; 0 if missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbering {
    pub(crate) number: u16,
    pub(crate) total: u16,
    /// Disc number before a track number, as in `2-05`; 0 if missing.
    pub(crate) disc: u16,
    /// Side of a vinyl record, 1 for side A; 0 if missing.
    pub(crate) side: u16,
}

impl Numbering {
    /// Parses numbers such as `7`, `07/12`, `7 of 12`, `2-05`, `A1`, `B` and `Track 7`.
    pub(crate) fn parse(text: &str) -> Numbering {
        let text = text.trim();
        let at = text.find(|letter: char| letter.is_ascii_digit());
        let (before, rest) = text.split_at(at.unwrap_or(text.len()));
        let side = side(before.trim_end_matches([' ', '.', '-']));
        let Some((number, rest)) = leading_number(rest) else {
            let number = u16::from(side != 0);
            return Numbering {
                number,
                side,
                ..Numbering::default()
            };
        };
        // A hyphen between the letter of a side and the number is ignored, as in `A-1`. Any other
        // hyphen before the number is a minus sign, so the number is invalid.
        if before.ends_with('-') && side == 0 {
            return Numbering::default();
        }
        let behind = rest.strip_prefix('-').and_then(leading_number);
        let (disc, number, rest) = match behind {
            Some((second, rest)) if side == 0 => (number, second, rest),
            _ => (0, number, rest),
        };
        let rest = rest.trim_start();
        let total = rest.strip_prefix('/').or_else(|| rest.strip_prefix("of "));
        let total = total.and_then(|total| leading_number(total.trim_start()));
        let total = total.map_or(0, |(total, _)| total);
        Numbering {
            number,
            total,
            disc,
            side,
        }
    }
}

/// Returns the number of a record side given by a single letter, A to P: sixteen sides of eight
/// records.
fn side(text: &str) -> u16 {
    match *text.as_bytes() {
        [letter @ b'A'..=b'P'] => u16::from(letter - b'A') + 1,
        [letter @ b'a'..=b'p'] => u16::from(letter - b'a') + 1,
        _ => 0,
    }
}

fn leading_number(text: &str) -> Option<(u16, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit());
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    Some((digits.parse().ok()?, rest))
}

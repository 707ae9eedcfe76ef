//! LZF, the compression of long strings: literal runs, and references into the output so far.
//!
//! ```text
//! 000LLLLL               L + 1 literal bytes follow
//! LLLooooo oooooooo      copy L + 2 bytes from o + 1 bytes back; L = 7: one more length byte first
//! ```
//!
//! The left column shows the first one or two bytes of an item, bit by bit. The bits `L` form the
//! number L, and the bits `o` form the number o.

/// Maximum number of literal bytes per run.
const RUN_MAX: usize = 32;
/// Maximum distance of a reference.
const OFFSET_MAX: usize = 1 << 13;
/// Maximum number of bytes that one reference copies.
const COPY_MAX: usize = 264;

/// Decompresses `from` to exactly `len` bytes. Returns `None` if `from` is invalid or yields
/// another number of bytes.
pub(super) fn decompress(from: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut to = Vec::with_capacity(len);
    let mut at = 0;
    while at < from.len() {
        let control = usize::from(from[at]);
        at += 1;
        if control < RUN_MAX {
            let run = from.get(at..at + control + 1)?;
            to.extend_from_slice(run);
            at += control + 1;
        } else {
            let mut count = control >> 5;
            if count == 7 {
                count += usize::from(*from.get(at)?);
                at += 1;
            }
            let offset = (control & 0x1f) << 8 | usize::from(*from.get(at)?);
            at += 1;
            let start = to.len().checked_sub(offset + 1)?;
            // The source range may overlap the bytes being written.
            for index in start..start + count + 2 {
                to.push(to[index]);
            }
        }
        if len < to.len() {
            return None;
        }
    }
    (to.len() == len).then_some(to)
}

/// Appends `from` in compressed form, if this form is shorter than `from`. Returns whether the
/// compressed form was appended. Bytes beyond the first 64 KiB are not compressed.
pub(super) fn compress(from: &[u8], to: &mut Vec<u8>) -> bool {
    // `compress_by` clears its hash table for each string, so short strings use a small table.
    match from.len() {
        0..=128 => compress_by::<{ 1 << 7 }>(from, to),
        129..=1024 => compress_by::<{ 1 << 10 }>(from, to),
        _ => compress_by::<{ 1 << 13 }>(from, to),
    }
}

fn compress_by<const SLOTS: usize>(from: &[u8], to: &mut Vec<u8>) -> bool {
    let begin = to.len();
    // For each hash of three bytes: 1 plus the last position at which three bytes had this hash, or
    // 0 if there is none.
    let mut last_seen = [0_u16; SLOTS];
    let (mut at, mut literals) = (0, 0);
    while at + 2 < from.len() && at < usize::from(u16::MAX) {
        let three = u32::from_be_bytes([0, from[at], from[at + 1], from[at + 2]]);
        let hash = three.wrapping_mul(0x9e37_79b1) >> (32 - SLOTS.trailing_zeros());
        let last_position = std::mem::replace(&mut last_seen[hash as usize], at as u16 + 1);
        let last_position = usize::from(last_position).checked_sub(1);
        let last_position = last_position.filter(|&last_position| at - last_position <= OFFSET_MAX);
        let Some(last_position) = last_position
            .filter(|&last_position| from[last_position..last_position + 3] == from[at..at + 3])
        else {
            at += 1;
            continue;
        };
        let copy_max = (from.len() - at).min(COPY_MAX);
        let count = (3..copy_max)
            .find(|&it| from[last_position + it] != from[at + it])
            .unwrap_or(copy_max);
        put_literals(&from[literals..at], to);
        put_reference(at - last_position - 1, count - 2, to);
        at += count;
        literals = at;
        if from.len() <= to.len() - begin {
            break;
        }
    }
    put_literals(&from[literals..], to);
    let is_shorter = to.len() - begin < from.len();
    if !is_shorter {
        to.truncate(begin);
    }
    is_shorter
}

fn put_literals(literals: &[u8], to: &mut Vec<u8>) {
    for run in literals.chunks(RUN_MAX) {
        to.push(run.len() as u8 - 1);
        to.extend_from_slice(run);
    }
}

fn put_reference(offset: usize, count: usize, to: &mut Vec<u8>) {
    let high = (offset >> 8) as u8;
    if count < 7 {
        to.push((count as u8) << 5 | high);
    } else {
        to.push(7 << 5 | high);
        to.push((count - 7) as u8);
    }
    to.push(offset as u8);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Maximum length of the text that is compressed. It is shorter under Miri, because proptest
    /// generates each byte on its own.
    const TEXT_BYTES_MAX: usize = if cfg!(miri) { 600 } else { 3_000 };

    proptest! {
        #[test]
        fn compression_round_trips(bytes in prop::collection::vec(0..4u8, 0..TEXT_BYTES_MAX)) {
            let mut short = Vec::new();
            if compress(&bytes, &mut short) {
                prop_assert_eq!(decompress(&short, bytes.len()), Some(bytes));
            }
        }

        #[test]
        fn invalid_input_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), len in 0..600usize) {
            if let Some(long) = decompress(&bytes, len) {
                prop_assert_eq!(long.len(), len);
            }
        }
    }

    #[test]
    fn repetitive_text_is_compressed() {
        let bytes = b"abcabcabcabcabcabcabcabcabcabcabcabc";
        let mut short = Vec::new();
        assert!(compress(bytes, &mut short));
        assert!(short.len() < 12);
        assert_eq!(decompress(&short, bytes.len()).expect("sound"), bytes);
    }
}

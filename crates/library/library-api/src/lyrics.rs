//! Parser of lyrics. It converts bytes in an unknown encoding to lines, with their timestamps, if
//! any.
//!
//! ```text
//! [ar:Artist]                         metadata with a key of KEYS; not a line of the song
//! [offset:500]                        lines are to appear 500 ms sooner
//! [00:01.50][00:09.5]text             line that is sung twice
//! [00:01:50]<00:01.50>one <00:02.00>word after the other
//! ```
//! LRC has no standard. This parser reads the format of the program that introduced LRC. It also
//! accepts timestamps of single words, an addition of "enhanced LRC", and removes them.

#[cfg(test)]
mod tests;

use crate::library_access::LibraryAccess;

/// Keys of metadata in brackets. Other text in brackets may be sung, for example `[Chorus: all]`.
const KEYS: [&str; 12] = [
    "ti", "ar", "al", "au", "lr", "length", "by", "offset", "re", "tool", "ve", "la",
];
/// Maximum bytes of text in all lines of a song. A line with several timestamps counts once for
/// each of them. Lines above the limit are dropped, so that a small file cannot cause a huge
/// response.
const TEXT_BYTES_MAX: usize = 4 << 20;
/// Limit on the minutes of a timestamp. A timestamp with this number of minutes or more is treated
/// as text.
const MINUTES_MAX: u64 = 6000;

/// Characters of Windows-1252 for the bytes 0x80 to 0x9F, where ISO 8859-1 has control characters.
/// Bytes that Windows-1252 leaves undefined remain control characters.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Lyrics of a song.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lyrics {
    /// Offset of all lines in milliseconds. With a positive offset, lines appear sooner than their
    /// timestamps state; with a negative one, later.
    pub(crate) offset_ms: i64,
    /// Lines, ordered by timestamp if they have timestamps.
    pub(crate) lines: Vec<Line>,
}

/// Line of a song.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Timestamp at which the line is sung, from the start of the song. Either all lines of a song
    /// have a timestamp, or none has.
    pub(crate) start_ms: Option<u64>,
    pub(crate) text: String,
}

impl Lyrics {
    /// Returns the non-empty lyrics of a music file, those with timestamps first.
    pub(crate) fn of_file(library: &dyn LibraryAccess, path: &[u8]) -> Vec<Lyrics> {
        let texts = library.lyrics(path);
        let mut found: Vec<Lyrics> = texts.iter().map(|bytes| Lyrics::read(bytes)).collect();
        found.retain(|lyrics| lyrics.lines.iter().any(|line| !line.text.is_empty()));
        found.sort_by_key(|lyrics| !lyrics.is_synced());
        found
    }

    /// Parses lyrics. If any line has a timestamp, lines without a timestamp are dropped.
    pub(crate) fn read(bytes: &[u8]) -> Lyrics {
        let text = decoded(bytes);
        let (mut lyrics, mut kept_bytes) = (Lyrics::default(), 0);
        for line in text.lines() {
            let (times, rest) = times(line.trim());
            if times.is_empty()
                && let Some((key, value)) = header(rest)
            {
                if key.eq_ignore_ascii_case("offset") {
                    lyrics.offset_ms = value.parse().unwrap_or(lyrics.offset_ms);
                }
                continue;
            }
            let text = without_times(rest);
            let starts = times.iter().map(|&ms| Some(ms));
            let starts = starts.chain(times.is_empty().then_some(None));
            for start_ms in starts {
                kept_bytes += text.len();
                if kept_bytes <= TEXT_BYTES_MAX {
                    let text = text.clone();
                    lyrics.lines.push(Line { start_ms, text });
                }
            }
        }
        if lyrics.is_synced() {
            lyrics.lines.retain(|line| line.start_ms.is_some());
            lyrics.lines.sort_by_key(|line| line.start_ms);
        }
        lyrics
    }

    /// Returns whether the lines have timestamps.
    pub(crate) fn is_synced(&self) -> bool {
        self.lines.iter().any(|line| line.start_ms.is_some())
    }
}

/// Decodes text: UTF-16 if it begins with a byte order mark of UTF-16, otherwise UTF-8 if it is
/// valid, otherwise Windows-1252.
fn decoded(bytes: &[u8]) -> String {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let (units, _) = bytes.as_chunks::<2>();
        let letters = char::decode_utf16(units.iter().map(|&bytes| unit(bytes)));
        let letters = letters.map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER));
        letters.collect()
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => return utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => return utf16(rest, u16::from_be_bytes),
        _ => {}
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&byte| windows_1252(byte)).collect(),
    }
}

fn windows_1252(byte: u8) -> char {
    let at = usize::from(byte).checked_sub(0x80);
    let other = at.and_then(|at| WINDOWS_1252.get(at));
    other.copied().unwrap_or(char::from(byte))
}

/// Returns the timestamps at the beginning of a line, in milliseconds, and the text after them.
fn times(mut line: &str) -> (Vec<u64>, &str) {
    let mut found = Vec::new();
    while let Some((time, rest)) = line.strip_prefix('[').and_then(|it| it.split_once(']')) {
        let Some(ms) = time_ms(time) else {
            break;
        };
        found.push(ms);
        line = rest.trim_start();
    }
    (found, line)
}

/// Parses a timestamp `mm:ss` with an optional fraction of a second. The fraction follows a dot.
/// Some programs write another colon instead of the dot.
fn time_ms(time: &str) -> Option<u64> {
    let number = |digits: &str| -> Option<u64> {
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| digits.parse().ok())?
    };
    let (minutes, seconds) = time.trim().split_once(':')?;
    let (seconds, fraction) = seconds.split_once(['.', ':']).unwrap_or((seconds, ""));
    let minutes = number(minutes).filter(|minutes| *minutes < MINUTES_MAX)?;
    let seconds = number(seconds).filter(|seconds| *seconds < 60)?;
    // Digits beyond milliseconds are dropped.
    let ms: String = fraction.chars().chain("000".chars()).take(3).collect();
    let ms = number(&ms)?;
    Some(minutes * 60_000 + seconds * 1000 + ms)
}

/// Removes the timestamps of words, such as `<00:01.50>`, from a line.
fn without_times(line: &str) -> String {
    let (mut text, mut rest) = (String::new(), line);
    while let Some((before, behind)) = rest.split_once('<') {
        let word = behind
            .split_once('>')
            .filter(|(time, _)| time_ms(time).is_some());
        text.push_str(before);
        rest = match word {
            // If the removed timestamp has spaces on both sides, only the space before it is kept.
            Some((_, behind)) if text.is_empty() || text.ends_with(' ') => behind.trim_start(),
            Some((_, behind)) => behind,
            None => {
                text.push('<');
                behind
            }
        };
    }
    text.push_str(rest);
    text.truncate(text.trim_end().len());
    text
}

/// Parses a line of metadata, such as `[ar:Artist]`, into key and value.
fn header(line: &str) -> Option<(&str, &str)> {
    let inside = line.strip_prefix('[')?.strip_suffix(']')?;
    let (key, value) = inside.split_once(':')?;
    let key = key.trim();
    let is_known = KEYS.iter().any(|known| known.eq_ignore_ascii_case(key));
    is_known.then_some((key, value.trim()))
}

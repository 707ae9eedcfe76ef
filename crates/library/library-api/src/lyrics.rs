//! Lyrics: bytes in whatever encoding, as lines, with times where they have some.
//!
//! ```text
//! [ar:Somebody]                       about the song, by one of KEYS; no line of it
//! [offset:500]                        every line is to appear so many milliseconds sooner
//! [00:01.50][00:09.5]text             a line, sung twice
//! [00:01:50]<00:01.50>one <00:02.00>word after the other
//! ```
//! No standard has LRC: the form is that of its first program, with the times of words that "enhanced LRC" added.

#[cfg(test)]
mod tests;

/// Keys of what stands in brackets and is no line. Anything else there may be sung, as `[Chorus: all]` is.
const KEYS: [&str; 12] = [
    "ti", "ar", "al", "au", "lr", "length", "by", "offset", "re", "tool", "ve", "la",
];
/// Bytes of text that lines come to which are repeated; a file that says more is cut there, so that a short one cannot
/// become a huge answer.
const TEXT_BYTES_MAX: usize = 4 << 20;
/// A longer song has no lyrics.
const MINUTES_MAX: u64 = 6000;

/// What Windows-1252 has where ISO 8859-1 has control characters; those stay where it has nothing.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// The lyrics of a song.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lyrics {
    /// How much sooner lines are to appear than they say, in milliseconds; below 0, later.
    pub(crate) offset_ms: i64,
    /// In the order of times, where they have some.
    pub(crate) lines: Vec<Line>,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// When it is sung. All lines of a song have a time, or none has.
    pub(crate) start_ms: Option<u64>,
    pub(crate) text: String,
}

impl Lyrics {
    /// Reads them. Where any line has a time, those without are left out.
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

    /// Whether its lines have times.
    pub(crate) fn is_synced(&self) -> bool {
        self.lines.iter().any(|line| line.start_ms.is_some())
    }
}

/// Bytes as text: UTF-16 where a mark says so, UTF-8 where they are that, Windows-1252 otherwise.
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

/// The times that a line begins with, in milliseconds, and what follows them.
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

/// `mm:ss`, and with a fraction of a second behind a dot or, as some programs write it, another colon.
fn time_ms(time: &str) -> Option<u64> {
    let number = |digits: &str| -> Option<u64> {
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| digits.parse().ok())?
    };
    let (minutes, seconds) = time.trim().split_once(':')?;
    let (seconds, fraction) = seconds.split_once(['.', ':']).unwrap_or((seconds, ""));
    let minutes = number(minutes).filter(|minutes| *minutes < MINUTES_MAX)?;
    let seconds = number(seconds).filter(|seconds| *seconds < 60)?;
    // Three digits are milliseconds; nobody hears what more of them say.
    let ms: String = fraction.chars().chain("000".chars()).take(3).collect();
    let ms = number(&ms)?;
    Some(minutes * 60_000 + seconds * 1000 + ms)
}

/// The text of a line without the times of its words, `<mm:ss.xx>`.
fn without_times(line: &str) -> String {
    let (mut text, mut rest) = (String::new(), line);
    while let Some((before, behind)) = rest.split_once('<') {
        let word = behind
            .split_once('>')
            .filter(|(time, _)| time_ms(time).is_some());
        text.push_str(before);
        rest = match word {
            // Spaces on both sides of a time are one between words.
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

/// `[ar:Somebody]`: the key and what it says.
fn header(line: &str) -> Option<(&str, &str)> {
    let inside = line.strip_prefix('[')?.strip_suffix(']')?;
    let (key, value) = inside.split_once(':')?;
    let key = key.trim();
    let is_known = KEYS.iter().any(|known| known.eq_ignore_ascii_case(key));
    is_known.then_some((key, value.trim()))
}

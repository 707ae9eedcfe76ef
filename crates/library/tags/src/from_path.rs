//! Names derived from a file's path, for fields that the tags leave empty. Examples:
//!
//! ```text
//! Artist/1999 - Album/CD 2/07 - Title.flac    Artist - Album (1999)/2-07 Title.mp3
//! Artist - Title.ogg
//! ```

/// Values derived from a path.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PathNames {
    pub(crate) title: String,
    pub(crate) number: Option<u16>,
    pub(crate) disc: Option<u16>,
    pub(crate) album: Option<String>,
    pub(crate) artist: Option<String>,
    pub(crate) year: Option<u16>,
}

/// Parses a path relative to the library's root.
pub(crate) fn read(path: &[u8]) -> PathNames {
    let path = String::from_utf8_lossy(path);
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let file = parts.pop().unwrap_or_default();
    let mut named = PathNames::default();
    if let Some(disc) = parts.last().and_then(|folder| disc(folder)) {
        named.disc = Some(disc);
        parts.pop();
    }
    if let Some(folder) = parts.pop() {
        let (album, year) = without_year(&spaced(folder));
        named.year = year;
        match album.split_once(" - ") {
            Some((artist, album)) if parts.is_empty() => {
                named.artist = Some(artist.trim().to_owned());
                named.album = Some(album.trim().to_owned());
            }
            _ => {
                named.album = Some(album);
                named.artist = parts.pop().map(spaced);
            }
        }
    }
    let stem = match file.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => file,
    };
    named.file(&spaced(stem));
    named
}

impl PathNames {
    fn file(&mut self, stem: &str) {
        let mut rest = stem;
        if let Some((number, behind)) = leading_number(rest) {
            // `2-07` is track 7 on disc 2.
            let second = behind.strip_prefix('-').and_then(leading_number);
            let (disc, number, behind) = match second {
                Some((second, behind)) => (Some(number), second, behind),
                None => (None, number, behind),
            };
            let title = behind.trim_start_matches(['.', '-', '_', ')', ' ']);
            if !title.is_empty() && title.len() < behind.len() {
                self.disc = disc.or(self.disc);
                self.number = Some(number);
                rest = title;
            }
        }
        if let Some((artist, title)) = rest.split_once(" - ") {
            let known = self.artist.as_deref();
            if known.is_none_or(|known| known.eq_ignore_ascii_case(artist.trim())) {
                self.artist = Some(artist.trim().to_owned());
                rest = title;
            }
        }
        self.title = rest.trim().to_owned();
    }
}

/// Splits off a leading number of one to three digits.
fn leading_number(text: &str) -> Option<(u16, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text.get(..digits)?.parse().ok()?;
    (digits <= 3).then_some((number, &text[digits..]))
}

/// Returns the disc number of a folder called `CD1`, `Disc 2`, `disk-03` or the like.
fn disc(folder: &str) -> Option<u16> {
    let folder = folder.to_ascii_lowercase();
    let mut words = ["cd", "disc", "disk"].iter();
    let rest = words.find_map(|word| folder.strip_prefix(word))?;
    let (number, behind) = leading_number(rest.trim_start_matches([' ', '-', '_']))?;
    behind.is_empty().then_some(number)
}

/// Replaces underscores by spaces, unless the text has spaces.
fn spaced(text: &str) -> String {
    match text.contains(' ') {
        true => text.to_owned(),
        false => text.replace('_', " "),
    }
}

/// Splits off a year at either end: `1999 - Album`, `[1999] Album`, `Album (1999)`.
fn without_year(folder: &str) -> (String, Option<u16>) {
    let year = |text: &str| {
        let inner = text.trim_matches(['(', ')', '[', ']']);
        let is_year = inner.len() == 4 && inner.bytes().all(|byte| byte.is_ascii_digit());
        let year = inner
            .parse()
            .ok()
            .filter(|year| (1900..2100).contains(year));
        year.filter(|_| is_year)
    };
    if let Some((first, rest)) = folder.split_once(' ')
        && let Some(found) = year(first)
    {
        let rest = rest.trim_start_matches(['-', ' ']);
        if !rest.is_empty() {
            return (rest.to_owned(), Some(found));
        }
    }
    if let Some((rest, last)) = folder.rsplit_once(' ')
        && last.starts_with(['(', '['])
        && let Some(found) = year(last)
    {
        return (rest.trim_end().to_owned(), Some(found));
    }
    (folder.to_owned(), None)
}

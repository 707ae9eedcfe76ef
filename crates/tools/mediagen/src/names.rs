//! Invented names: random syllables, names in other scripts, and names that tag readers easily
//! misread.

use crate::random::Random;

const ONSETS: &[&str] = &[
    "b", "br", "d", "dr", "f", "fl", "g", "gr", "h", "j", "k", "kl", "l", "m", "n", "p", "r", "s",
    "st", "t", "v", "w", "z",
];
const VOWELS: &[&str] = &["a", "e", "i", "o", "u", "ai", "ea", "ou", "é", "ö", "å"];
const CODAS: &[&str] = &["", "", "l", "m", "n", "r", "s", "th", "ck", "nd"];
/// Complete names in scripts other than Latin, and two Latin names (the last two) with combining
/// accents.
const OTHERS: &[&str] = &[
    "夜の音楽",
    "青い山",
    "風と海",
    "음악의 밤",
    "موسيقى الليل",
    "מוזיקה בלילה",
    "Ночной поезд",
    "Μουσική",
    "Cafe\u{301} Noir",
    "Mo\u{308}torhaus",
];
/// Names that contain characters which often separate two names.
const TRAPS: &[&str] = &[
    "AB/CD",
    "Earth, Wind & Water",
    "Tom & Jerry",
    "P!nk & Co.",
    "Guns N’ Thorns",
];

pub(crate) const GENRES: &[&str] = &[
    "Rock",
    "Pop",
    "Jazz",
    "Classical",
    "Electronic",
    "Ambient",
    "Folk",
    "Hip-Hop",
    "Metal",
    "Soundtrack",
    "Chanson",
    "Drum & Bass",
    "Post-Rock",
    "Field Recording",
];

fn word(random: &mut Random) -> String {
    let syllables = random.within(1, 3);
    let mut word = String::new();
    for _ in 0..syllables {
        word.push_str(random.choose(ONSETS));
        word.push_str(random.choose(VOWELS));
    }
    word.push_str(random.choose(CODAS));
    let first = word.chars().next().map_or(0, char::len_utf8);
    word[..first].to_uppercase() + &word[first..]
}

fn words(random: &mut Random, first: usize, last: usize) -> String {
    let words: Vec<String> = (0..random.within(first, last))
        .map(|_| word(random))
        .collect();
    words.join(" ")
}

/// Returns the name of a person or a band.
pub(crate) fn artist(random: &mut Random) -> String {
    match random.below(100) {
        0..4 => random.choose(OTHERS).to_owned(),
        4..6 => random.choose(TRAPS).to_owned(),
        6..30 => format!("The {}", words(random, 1, 2)),
        _ => words(random, 1, 3),
    }
}

/// Returns the title of a song or an album.
pub(crate) fn title(random: &mut Random) -> String {
    match random.below(100) {
        0..4 => random.choose(OTHERS).to_owned(),
        4..8 => format!("{} ({})", words(random, 1, 3), words(random, 1, 1)),
        8..9 => format!("{}: {}?", words(random, 1, 2), words(random, 1, 4)),
        _ => words(random, 1, 4),
    }
}

/// Returns `name` as a file name: without slashes and without a leading dot.
pub(crate) fn file_name(name: &str) -> String {
    let name = name.replace(['/', ':', '?', '\0'], "_");
    name.trim_start_matches('.').to_owned()
}

//! Types of the files of a library, which are determined by the file name extension.

use catalog::Stat;

const MUSIC: &[&str] = &[
    "aac", "aif", "aifc", "aiff", "ape", "bwf", "dsf", "flac", "m4a", "m4b", "m4r", "mka", "mp+",
    "mp1", "mp2", "mp3", "mp4", "mpc", "mpga", "oga", "ogg", "opus", "spx", "tta", "wav", "wave",
    "weba", "webm", "wma", "wv",
];
/// Extensions of music formats that Pelton cannot read, with the names of the formats. The report
/// of a scan lists files with these extensions, so that users learn why the files are not in the
/// library.
const UNREAD: &[(&str, &str)] = &[
    ("aa", "Audible"),
    ("aax", "Audible"),
    ("ac3", "Dolby Digital"),
    ("amr", "AMR"),
    ("au", "Sun audio"),
    ("caf", "Core Audio"),
    ("dff", "DSDIFF"),
    ("dts", "DTS"),
    ("eac3", "Dolby Digital Plus"),
    ("mlp", "MLP"),
    ("ofr", "OptimFROG"),
    ("ra", "RealAudio"),
    ("shn", "Shorten"),
    ("snd", "Sun audio"),
    ("tak", "TAK"),
    ("thd", "Dolby TrueHD"),
    ("w64", "Wave64"),
];
/// Extensions of photographs. ICO is not among them, because icons of folders and programs are not
/// photographs.
const PICTURES: &[&str] = &[
    "arw", "avif", "bmp", "cr2", "cr3", "dng", "gif", "hdr", "heic", "heif", "jpeg", "jpg", "nef",
    "orf", "pam", "pbm", "pgm", "png", "pnm", "ppm", "psb", "psd", "qoi", "raf", "rw2", "tga",
    "tif", "tiff", "webp",
];
const PLAYLISTS: &[&str] = &["m3u", "m3u8"];

/// Type of a file, according to its file name extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Music,
    Picture,
    Playlist,
}

/// Music file, picture or playlist that was found in the folders of the library.
#[derive(Clone, Debug)]
pub(crate) struct FoundFile {
    pub(crate) path: Vec<u8>,
    pub(crate) stat: Stat,
    pub(crate) kind: Kind,
}

/// Returns the extension of a file name: the bytes after the last dot, if there is a dot.
pub(crate) fn ending(name: &[u8]) -> Option<&[u8]> {
    let dot = name.iter().rposition(|&byte| byte == b'.')?;
    Some(&name[dot + 1..])
}

/// Returns the name of the music format of the file if Pelton cannot read that format.
pub(crate) fn unread_format(path: &[u8]) -> Option<&'static str> {
    let ending = ending(path)?;
    let mut formats = UNREAD.iter();
    let found = formats.find(|(known, _)| ending.eq_ignore_ascii_case(known.as_bytes()));
    found.map(|(_, format)| *format)
}

/// Returns the type of a file according to its extension, or `None` if the file does not belong to
/// the library.
pub(crate) fn kind(name: &[u8]) -> Option<Kind> {
    let ending = ending(name)?;
    let is_one = |endings: &[&str]| {
        let mut endings = endings.iter();
        endings.any(|known| ending.eq_ignore_ascii_case(known.as_bytes()))
    };
    if is_one(MUSIC) {
        Some(Kind::Music)
    } else if is_one(PICTURES) {
        Some(Kind::Picture)
    } else if is_one(PLAYLISTS) {
        Some(Kind::Playlist)
    } else {
        None
    }
}

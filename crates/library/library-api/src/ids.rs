//! Ids as clients see them: two letters for the kind, a hyphen, and sixteen hexadecimal digits.

use catalog::{AlbumId, ArtistId, PhotoId, PlaylistId, TrackId};
use serde::{Deserialize, Serialize};

/// Id of an artist, album, track, playlist or photograph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) enum Id {
    Artist(ArtistId),
    Album(AlbumId),
    Track(TrackId),
    Playlist(u64),
    /// Playlist file of the library.
    Listing(PlaylistId),
    Photo(PhotoId),
}

impl Id {
    /// Parses an id; `None` if `text` is not an id.
    pub(crate) fn parse(text: &str) -> Option<Id> {
        let (kind, digits) = text.split_once('-')?;
        let is_plain = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = is_plain.then(|| u64::from_str_radix(digits, 16).ok())??;
        Some(match kind {
            "ar" => Id::Artist(ArtistId(number)),
            "al" => Id::Album(AlbumId(number)),
            "tr" => Id::Track(TrackId(number)),
            "pl" => Id::Playlist(number),
            "pf" => Id::Listing(PlaylistId(number)),
            "ph" => Id::Photo(PhotoId(number)),
            _ => return None,
        })
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Id::Artist(id) => write!(f, "ar-{:016x}", id.0),
            Id::Album(id) => write!(f, "al-{:016x}", id.0),
            Id::Track(id) => write!(f, "tr-{:016x}", id.0),
            Id::Playlist(number) => write!(f, "pl-{number:016x}"),
            Id::Listing(id) => write!(f, "pf-{:016x}", id.0),
            Id::Photo(id) => write!(f, "ph-{:016x}", id.0),
        }
    }
}

impl From<Id> for String {
    fn from(id: Id) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for Id {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Id, &'static str> {
        Id::parse(&text).ok_or("the text is not an id")
    }
}

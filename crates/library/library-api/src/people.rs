//! Who took part in a track, but for its artists.

use catalog::{ArtistId, Content};
use tags::{Role, Splits};

use crate::derived::Derived;
use crate::server::Index;
use crate::songs::tracks;

/// Somebody who took part.
pub(crate) struct Contributor<'t> {
    /// As OpenSubsonic calls it.
    pub(crate) role: &'static str,
    /// As the track has it.
    pub(crate) name: &'t str,
    /// An instrument.
    pub(crate) part: Option<&'t str>,
    /// The artist of this name; none where nobody of this name has a track or an album.
    pub(crate) row: Option<u32>,
}

impl Contributor<'_> {
    /// The id that an artist of this name would have. The protocol requires one, and clients tell people apart by it: so
    /// it is the same wherever the name stands, and that of the artist, should one come who is known by the name alone.
    /// Until then there is nothing to show behind it, and whoever asks for it is told so (error 70).
    pub(crate) fn id(&self) -> ArtistId {
        ArtistId::named(self.name)
    }
}

/// Everybody of whom a track's tags say what they did, in their order.
pub(crate) fn contributors<'t>(
    track: &'t tags::Track,
    derived: &Derived,
) -> impl Iterator<Item = Contributor<'t>> {
    track.people.iter().filter_map(|person| {
        Some(Contributor {
            role: role(person.role)?,
            name: &person.name,
            part: person.part.as_deref(),
            row: derived.artist(&person.name),
        })
    })
}

/// MusicBrainz's id of an artist, where one of their files gives it. The index keeps only what it hashes to, which tells
/// whose it is among all that a file gives.
pub(crate) fn musicbrainz_id(index: &Index, splits: &Splits, row: u32) -> Option<String> {
    let artist = index.artist(row)?;
    if artist.id == ArtistId::named(artist.name) {
        return None;
    }
    let albums = artist.albums.iter().filter_map(|&row| index.album(row));
    let mut tracks = albums.flat_map(|album| tracks(&album));
    tracks.find_map(|row| {
        let entry = index.entry(index.track(row)?.file)?;
        let Content::Music(media) = &entry.content else {
            return None;
        };
        let people = tags::Track::new(media, &entry.path, splits).people;
        let mut ids = people.into_iter().filter_map(|person| person.id);
        ids.find(|id| ArtistId::of_musicbrainz(id) == artist.id)
    })
}

/// How OpenSubsonic calls a role, but for those that have members of their own.
fn role(role: Role) -> Option<&'static str> {
    Some(match role {
        Role::Artist | Role::AlbumArtist => return None,
        Role::Composer => "composer",
        Role::Lyricist | Role::Writer => "lyricist",
        Role::Conductor => "conductor",
        Role::Performer => "performer",
        Role::Remixer => "remixer",
        Role::Arranger => "arranger",
        Role::Producer => "producer",
        Role::Engineer => "engineer",
        Role::Mixer => "mixer",
        Role::DjMixer => "djmixer",
    })
}

//! Contributors to a track other than its artists.

use catalog::ArtistId;
use tags::Role;

use crate::derived::Derived;

/// Person who contributed to a track.
pub(crate) struct Contributor<'t> {
    /// Role in OpenSubsonic's spelling.
    pub(crate) role: &'static str,
    /// Name as the track's tags give it.
    pub(crate) name: &'t str,
    /// Instrument of a performer, if the tags name it.
    pub(crate) part: Option<&'t str>,
    /// Row of the artist with this name; `None` if no track or album is by an artist of this name.
    pub(crate) row: Option<u32>,
}

impl Contributor<'_> {
    /// Returns the id of an artist with this name, even if the index has no such artist: the
    /// protocol requires an id, and clients distinguish people by their ids. The id depends on the
    /// name alone. So a person has the same id in every track, and the same id as an artist who is
    /// known by name only. If no artist has this id, a request for it gets error 70.
    pub(crate) fn id(&self) -> ArtistId {
        ArtistId::named(self.name)
    }
}

/// Returns the contributors of a track, except artists and album artists, in the order of the tags.
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

/// Returns OpenSubsonic's name for a role. Returns `None` for artists and album artists, which have
/// separate fields in responses.
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

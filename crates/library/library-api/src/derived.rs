//! Sort orders and lookup tables that are computed once per index, because many requests need them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use catalog::{ArtistId, Content, Stat, fold, identity};
use tags::Splits;

use crate::groups::{self, Composer};
use crate::index::{Index, own_albums, tracks};
use crate::timeline::Timeline;

/// Articles that sort orders ignore at the beginning of a name.
pub(crate) const ARTICLES: &str = "The El La Los Las Le Les Der Die Das";

/// Maximum time by which a file's modification time may be in the future. A modification time may
/// be in the future because the file was written on a machine whose clock is ahead.
const CLOCKS_APART_MS: i64 = 86_400_000;

/// Sort orders, dates and lookup tables of one index.
#[derive(Debug)]
pub(crate) struct Derived {
    /// Index from which the data was computed.
    pub(crate) index: Arc<Index>,
    /// Time of the last change to any file of an album, indexed by the album's row.
    pub(crate) album_ms: Vec<i64>,
    /// Rows of albums, the most recently changed first.
    pub(crate) newest: Vec<u32>,
    /// Rows of albums, ordered by artist, then by title.
    pub(crate) by_artist: Vec<u32>,
    /// Rows of the artists who have albums of their own, by the letter under which they are listed.
    pub(crate) letters: BTreeMap<String, Vec<u32>>,
    /// Rows of artists by the id that [`ArtistId::named`] derives from their name.
    artists: HashMap<ArtistId, u32>,
    /// MusicBrainz ids of artists, indexed by row. Each id is computed on first use, because this
    /// requires reading tags in the index.
    musicbrainz_ids: Vec<OnceLock<Option<String>>>,
    /// Photographs of the timeline, collected on first use.
    timeline: OnceLock<Timeline>,
    /// Composers by folded name, collected on first use.
    composers: OnceLock<BTreeMap<String, Composer>>,
    /// Time of the last change to any file of any album.
    pub(crate) changed_ms: i64,
}

impl Derived {
    /// Computes the sort orders, dates and lookup tables of `index`. File times later than `now_ms`
    /// are corrected by [`changed_ms`].
    pub(crate) fn new(index: &Arc<Index>, now_ms: i64) -> Derived {
        let counts = index.counts();
        let album_ms: Vec<i64> = (0..counts.albums)
            .map(|row| {
                index.album(row).map_or(0, |album| {
                    let files = tracks(&album).filter_map(|row| index.file(index.track(row)?.file));
                    let changed = files.map(|(_, stat)| changed_ms(&stat, now_ms));
                    changed.max().unwrap_or(0)
                })
            })
            .collect();
        let mut newest: Vec<u32> = (0..counts.albums).collect();
        newest.sort_by_key(|&row| std::cmp::Reverse(album_ms[row as usize]));
        let mut by_artist: Vec<u32> = (0..counts.albums).collect();
        by_artist.sort_by_cached_key(|&row| {
            let artist = index.album(row).map(|album| album.artist);
            (artist.map(|name| (fold(name), identity(name))), row)
        });
        let (mut letters, mut artists) = (BTreeMap::new(), HashMap::new());
        for row in 0..counts.artists {
            let Some(artist) = index.artist(row) else {
                continue;
            };
            artists.entry(ArtistId::named(artist.name)).or_insert(row);
            if !own_albums(index, row, &artist).is_empty() {
                let sort = if artist.sort.is_empty() {
                    artist.name
                } else {
                    artist.sort
                };
                let sort = fold(without_article(sort));
                let letters: &mut BTreeMap<String, Vec<(String, u32)>> = &mut letters;
                letters.entry(letter(&sort)).or_default().push((sort, row));
            }
        }
        let letters = letters.into_iter().map(|(letter, mut rows)| {
            rows.sort();
            (letter, rows.into_iter().map(|(_, row)| row).collect())
        });
        Derived {
            index: Arc::clone(index),
            changed_ms: album_ms.iter().copied().max().unwrap_or(0),
            letters: letters.collect(),
            album_ms,
            newest,
            by_artist,
            artists,
            musicbrainz_ids: (0..counts.artists).map(|_| OnceLock::new()).collect(),
            timeline: OnceLock::new(),
            composers: OnceLock::new(),
        }
    }

    /// Returns the photographs of the timeline.
    pub(crate) fn timeline(&self) -> &Timeline {
        self.timeline.get_or_init(|| Timeline::new(&self.index))
    }

    /// Returns all composers by folded name.
    pub(crate) fn composers(&self, splits: &Splits) -> &BTreeMap<String, Composer> {
        let collect = || groups::composers(&self.index, splits);
        self.composers.get_or_init(collect)
    }

    /// Returns the MusicBrainz id of the artist in this row of the index, if known.
    pub(crate) fn musicbrainz_id(&self, splits: &Splits, row: u32) -> Option<&str> {
        let kept = self.musicbrainz_ids.get(row as usize)?;
        let id = kept.get_or_init(|| musicbrainz_id(&self.index, splits, row));
        id.as_deref()
    }

    /// Returns the row of the artist with this name, if any.
    pub(crate) fn artist(&self, name: &str) -> Option<u32> {
        self.artists.get(&ArtistId::named(name)).copied()
    }
}

/// Returns the time of a file's last change, in milliseconds since 1970 and at most `now_ms`. If
/// the modification time is more than [`CLOCKS_APART_MS`] in the future, the clock that set it was
/// wrong, and the file's album could be listed as the newest for years. In that case, returns the
/// file's creation time, or 0 if the creation time is in the future too.
pub(crate) fn changed_ms(stat: &Stat, now_ms: i64) -> i64 {
    let [changed_ms, born_ms] = [stat.mtime_ns, stat.born_ns].map(|ns| ns.div_euclid(1_000_000));
    if changed_ms <= now_ms.saturating_add(CLOCKS_APART_MS) {
        changed_ms.min(now_ms)
    } else if born_ms <= now_ms {
        born_ms
    } else {
        0
    }
}

/// Returns the MusicBrainz id of an artist, if one of the artist's files contains it. The index
/// stores only a hash of this id, so the function hashes the ids in the files and compares the
/// hashes.
fn musicbrainz_id(index: &Index, splits: &Splits, row: u32) -> Option<String> {
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

fn without_article(name: &str) -> &str {
    let Some((first, rest)) = name.split_once(' ') else {
        return name;
    };
    let mut articles = ARTICLES.split(' ');
    match articles.any(|article| article.eq_ignore_ascii_case(first)) {
        true => rest,
        false => name,
    }
}

/// Initial consonants of Hangul syllables as stand-alone letters, in the order of the conjoining
/// jamo from U+1100 on.
const JAMO: [char; 19] = [
    'ㄱ', 'ㄲ', 'ㄴ', 'ㄷ', 'ㄸ', 'ㄹ', 'ㅁ', 'ㅂ', 'ㅃ', 'ㅅ', 'ㅆ', 'ㅇ', 'ㅈ', 'ㅉ', 'ㅊ', 'ㅋ',
    'ㅌ', 'ㅍ', 'ㅎ',
];

/// Returns the letter under which a name is listed, or `#` if the name does not begin with a
/// letter. `folded` is the name in the form that searches compare.
fn letter(folded: &str) -> String {
    match folded.chars().next() {
        // Converts a conjoining jamo, which fonts do not display alone, to the stand-alone letter.
        Some(first @ '\u{1100}'..='\u{1112}') => JAMO[first as usize - 0x1100].to_string(),
        Some(first) if first.is_alphabetic() => first.to_uppercase().collect(),
        _ => "#".to_owned(),
    }
}

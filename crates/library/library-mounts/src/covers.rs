//! Covers of the music: resolution of the id of a track, disc, album or artist to a picture in the
//! library.
//!
//! ```text
//! al-0123456789abcdef ─ Catalog::cover ─┬─ folder art ───────────► /Band/Album/cover.jpg?w=300
//!                                       └─ embedded ─ extracted ─► /-/art/ab/HASH.jpg?w=300
//! ```
//! Both results are ordinary request targets: the server negotiates, converts and caches the
//! pictures like any other picture of the library.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use catalog::{AlbumId, ArtistId, CoverOwner, CoverRules, TrackId};
use image_plan::Placeholder;
use openmetrics::Text;
use reactor::blocking;
use scan::{CoverLimits, ExtractError, Index, LibraryIndexer};
use server::Service;
use server::gate::Part;
use server::mount::{Mount, MountRequest, Reply};
use variants::library::{Library, LibraryPath, Wait};
use variants::placeholders::Placeholders;

use config::{Config, components};

/// Finder of the covers of tracks, discs, albums and artists.
#[derive(Debug)]
pub struct Covers {
    rules: CoverRules,
    /// Folder of covers that were extracted from music files, or `None` if the data directory is
    /// not writable.
    extracted: Option<scan::Covers>,
    /// Placeholders and library of the server's [`Service`], once [`Covers::attach`] has set them.
    seen: OnceLock<(Arc<Placeholders>, Arc<Library>)>,
}

impl Covers {
    /// Opens the folder of extracted covers, which may contain covers from before a restart.
    pub fn open(config: &Config) -> Covers {
        let library = &config.library;
        let limits = CoverLimits {
            bytes_max: library.covers_bytes_max.0,
            ..CoverLimits::default()
        };
        let extracted =
            scan::Covers::open(&config.root, &config.data.join(components::COVERS), limits);
        Covers {
            rules: CoverRules {
                track: library.cover_track.0.clone(),
                disc: library.cover_disc.0.clone(),
                album: library.cover_album.0.clone(),
                artist: library.cover_artist.0.clone(),
            },
            extracted: match extracted {
                Ok(extracted) => Some(extracted),
                Err(err) => {
                    tracing::warn!(%err, "cannot open the folder for extracted covers: embedded covers are not shown");
                    None
                }
            },
            seen: OnceLock::new(),
        }
    }

    /// Gives this finder access to the placeholders and the library of the server's `service`.
    pub(crate) fn attach(&self, service: &Service) {
        let seen = (
            Arc::clone(service.placeholders()),
            Arc::clone(service.library()),
        );
        assert!(
            self.seen.set(seen).is_ok(),
            "a process attaches only one service"
        );
    }

    /// Returns whether the object `of` has a cover.
    pub(crate) fn has(&self, catalog: &Index, of: CoverOwner) -> bool {
        catalog.cover(of, &self.rules).is_some()
    }

    /// Returns the placeholder of the cover of the object `of`, if the placeholder is known. May
    /// block, because the cover may have to be extracted from a file.
    pub(crate) fn placeholder(&self, catalog: &Index, of: CoverOwner) -> Option<Placeholder> {
        self.placeholder_at(&self.path(catalog, of)?)
    }

    /// Returns the placeholder of a picture, if it is known. May block on the file system.
    pub(crate) fn placeholder_at(&self, path: &LibraryPath) -> Option<Placeholder> {
        let (placeholders, library) = self.seen.get()?;
        placeholders.find(&library.identify(path, Wait::Allowed).ok()?)
    }

    /// Returns the request target (path and `query`) at which the cover of `of` is served. May
    /// block, because the picture may have to be extracted from a file.
    pub(crate) fn target(&self, catalog: &Index, of: CoverOwner, query: &str) -> Option<String> {
        let path = self.path(catalog, of)?;
        Some(match query {
            "" => path.target(),
            query => format!("{}?{query}", path.target()),
        })
    }

    /// Returns the path in the library of the cover of a track, album, artist or disc. May block,
    /// because the picture may have to be extracted from a file.
    pub fn path(&self, catalog: &Index, of: CoverOwner) -> Option<LibraryPath> {
        let cover = catalog.cover(of, &self.rules)?;
        let Some(inside) = &cover.inside else {
            return LibraryPath::from_relative(Path::new(OsStr::from_bytes(&cover.path)));
        };
        match self.extracted.as_ref()?.extract(&cover, inside) {
            Ok(name) => LibraryPath::from_target(&format!("{}/{name}", components::ART)),
            Err(ExtractError::Host(err)) => {
                tracing::error!(%err, "cannot store the cover");
                None
            }
            Err(err) => {
                tracing::info!(path = %cover.path.escape_ascii(), %err, "cannot extract the cover");
                None
            }
        }
    }
}

/// Parses the id of a cover: `tr-`, `al-` or `ar-` and a hexadecimal id, or `di-`, an album's id,
/// `-` and a disc number.
pub(crate) fn parse(catalog: &Index, id: &str) -> Option<CoverOwner> {
    let (kind, id) = id.split_once('-')?;
    let (id, disc) = match kind {
        "di" => id.split_once('-')?,
        _ => (id, ""),
    };
    let is_hex = id.len() == 16
        && id
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let id = is_hex.then(|| u64::from_str_radix(id, 16).expect("sixteen digits"))?;
    Some(match kind {
        "tr" => CoverOwner::Track(catalog.track_row(TrackId(id))?),
        "al" => CoverOwner::Album(catalog.album_row(AlbumId(id))?),
        "ar" => CoverOwner::Artist(catalog.artist_row(ArtistId(id))?),
        "di" => CoverOwner::Disc(catalog.album_row(AlbumId(id))?, disc.parse().ok()?),
        _ => return None,
    })
}

/// Mount that serves `/-/cover/ID?w=300`.
pub(crate) struct CoverMount {
    covers: Arc<Covers>,
    indexer: Arc<LibraryIndexer>,
}

impl CoverMount {
    /// Path prefix of the mount.
    pub(crate) const PREFIX: &str = "/-/cover";

    pub(crate) fn new(covers: Arc<Covers>, indexer: Arc<LibraryIndexer>) -> CoverMount {
        CoverMount { covers, indexer }
    }

    async fn reply(&self, request: MountRequest<'_>) -> Reply {
        if !matches!(request.method, "GET" | "HEAD") {
            let allow = ("allow".into(), "GET, HEAD".into());
            return plain(405, "method not allowed\n", Some(allow));
        }
        let id = request
            .path
            .strip_prefix(Self::PREFIX)
            .map(|rest| rest.trim_matches('/').to_owned());
        let query = request.query.unwrap_or("").to_owned();
        let (covers, catalog) = (Arc::clone(&self.covers), self.indexer.catalog());
        let found = blocking(move || {
            let of = parse(&catalog, &id?)?;
            covers.target(&catalog, of, &query)
        });
        match found.await {
            Some(target) => Reply::Internal {
                target,
                fields: Vec::new(),
            },
            None => plain(404, "no cover\n", None),
        }
    }
}

impl Mount for CoverMount {
    fn part(&self) -> Part {
        Part::Music
    }

    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        Box::pin(self.reply(request))
    }

    fn passes_queries(&self) -> bool {
        true
    }

    /// Returns true: covers that are embedded in music are stored under internal paths, which no
    /// client can request.
    fn reaches_internal(&self) -> bool {
        true
    }

    fn metrics(&self, text: &mut Text) {
        crate::music::metrics(&self.indexer.status(), text);
    }
}

fn plain(status: u16, text: &'static str, field: Option<server::mount::Field>) -> Reply {
    let mut fields: Vec<server::mount::Field> = vec![
        ("content-type".into(), "text/plain; charset=utf-8".into()),
        ("cache-control".into(), "no-store".into()),
        ("x-content-type-options".into(), "nosniff".into()),
    ];
    fields.extend(field);
    Reply::Whole {
        status,
        fields,
        body: text.into(),
    }
}

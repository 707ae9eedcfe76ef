//! Requests of visitors who have the link of a share: its page and its files. Nothing else of the
//! library can be reached through a share.
//!
//! ```text
//! ID ─► page    ID/tr-… ─► track    ID/cover ─► cover    ID/archive ─► all files, as ZIP
//! ID/ph-…/480 ─► photograph, 480 pixels high    ID/ph-…/original ─► unchanged file
//! ID/ph-…/motion ─► video of a motion photo     ID/video/PATH ─► video in the shared folder
//! ```

use std::collections::HashSet;
use std::sync::Arc;

use catalog::CoverOwner;

use super::content::{self, Photos};
use super::texts::Texts;
use super::{find_open, page};
use crate::context::Context;
use crate::derived::Derived;
use crate::downloads::{attachment, below_common_folder, numbered, targets};
use crate::ids::Id;
use crate::index::{self, Index};
use crate::page::whole;
use crate::params::{decoded, encoded};
use crate::response::Response;
use crate::store::{Share, SharedItem};

/// Heights in pixels of the photographs that visitors can get: two sizes for the grid of the page,
/// and one size for the viewer. By default, a prefetch creates the sizes for the grid in advance.
pub(super) const HEIGHTS_PX: [u32; 3] = [240, 480, 1440];

/// Request of a visitor.
#[derive(Clone, Copy, Debug)]
pub struct ShareRequest<'a> {
    /// Path below the mount of shares: the id of a share, optionally followed by the name of one of
    /// its files.
    pub path: &'a str,
    /// Number of photographs to skip.
    pub offset: usize,
    /// URL of the server's root, which may be relative to the request's URL, with a slash at its
    /// end.
    pub root: &'a str,
    /// URL of the folder with the style sheet and the script of the page.
    pub assets: &'a str,
    /// Nonce of the script element.
    pub nonce: &'a str,
    /// Value of the Accept-Language field; empty without the field.
    pub languages: &'a str,
    /// File name extensions of the videos that the server serves, in lower case.
    pub videos: &'a [&'a str],
    /// Present time, in milliseconds since 1970.
    pub now_ms: i64,
}

impl ShareRequest<'_> {
    /// Returns the texts of the page in the language that the visitor prefers.
    pub(super) fn texts(&self) -> &'static Texts {
        Texts::preferred(self.languages)
    }
}

/// Share that a visitor requests and may open, with its current content.
pub(super) struct OpenShare<'a> {
    pub(super) context: &'a Context,
    pub(super) index: Arc<Index>,
    pub(super) derived: Arc<Derived>,
    pub(super) share: Share,
    /// Name of the shared item, if it has one.
    pub(super) name: Option<String>,
    /// Rows of the shared tracks in the index.
    pub(super) tracks: Vec<u32>,
    pub(super) photos: Option<Photos>,
    /// File name extensions of videos.
    extensions: &'a [&'a str],
}

/// Returns the response to a visitor. May wait for the disk.
pub(crate) fn respond(context: &Context, request: &ShareRequest<'_>) -> Response {
    let (token, file) = request.path.split_once('/').unwrap_or((request.path, ""));
    let (index, derived) = context.index(request.now_ms);
    let visit = context.store.read(|state| {
        let share = find_open(state, token, request.now_ms)?;
        Some(OpenShare {
            context,
            name: content::name(&index, state, share),
            tracks: content::tracks(&index, state, share),
            photos: Photos::of(&index, share),
            share: share.clone(),
            extensions: request.videos,
            index: Arc::clone(&index),
            derived,
        })
    });
    let visit = match visit {
        Ok(visit) => visit,
        Err(err) => {
            tracing::error!(%err, cause = %err.source, "cannot read the shares");
            let body = whole(request.texts().unreadable, "");
            return html(503, body);
        }
    };
    let response = visit.and_then(|visit| match file {
        "" => {
            count_visit(context, token, request.now_ms);
            Some(html(200, page::render(&visit, token, request)))
        }
        "cover" => visit.cover(),
        "archive" => visit.archive(),
        file => visit.file(file),
    });
    response.unwrap_or_else(|| html(404, whole(request.texts().not_found, "")))
}

/// Records a visit of the share with the id `token`.
fn count_visit(context: &Context, token: &str, now_ms: i64) {
    context.visits(|visits| {
        let visited = visits.entry(token.to_owned()).or_default();
        visited.count = visited.count.saturating_add(1);
        visited.last_ms = now_ms;
    });
}

impl OpenShare<'_> {
    /// Returns the first track of the share that has a cover, if any.
    pub(super) fn cover_owner(&self) -> Option<CoverOwner> {
        let library = &self.context.library;
        let mut tracks = self.tracks.iter().map(|&row| CoverOwner::Track(row));
        tracks.find(|owner| library.has_cover(&self.index, *owner))
    }

    /// Returns the path of the shared folder, if visitors may get its videos. Videos have no
    /// variants, so the share must allow originals.
    fn video_folder(&self) -> Option<&str> {
        match &self.share.item {
            Some(SharedItem::Folder(path)) if self.share.allows_originals => Some(path),
            _ => None,
        }
    }

    /// Returns the paths of the videos that visitors can play. Reads the directories from disk.
    pub(super) fn videos(&self) -> Vec<Vec<u8>> {
        let library = &self.context.library;
        let folder = self.video_folder();
        folder.map_or_else(Vec::new, |folder| {
            library.videos_below(folder.as_bytes(), self.extensions)
        })
    }

    /// Returns the video with this path, if the shared folder contains it.
    fn video(&self, path: &str) -> Option<Response> {
        let path = decoded(path);
        let inside = path.strip_prefix(self.video_folder()?)?;
        let (parent, name) = path.rsplit_once('/')?;
        let is_plain = |name: &str| !name.is_empty() && !name.starts_with('.');
        // The first part is empty if the path continues with a slash after the shared folder.
        let mut parts = inside.split('/');
        if parts.next() != Some("") || !parts.all(is_plain) {
            return None;
        }
        let library = &self.context.library;
        let videos = library.videos(parent.as_bytes(), self.extensions);
        let is_there = videos.iter().any(|video| video == name.as_bytes());
        is_there.then(|| Response::File {
            target: format!("/{}", encoded(path.as_bytes())),
            disposition: None,
        })
    }

    /// Returns the paths of the files that visitors can download as an archive: the photographs and
    /// videos, if the share allows originals, or the tracks. A file occurs once.
    pub(super) fn archived_files(&self, videos: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let photos = self.photos.as_ref();
        let photos = photos.filter(|_| self.share.allows_originals);
        let photos = photos.map_or_else(Vec::new, |photos| photos.rows(&self.derived));
        let photos = photos.iter().map(|&row| Some(self.index.photo(row)?.file));
        let tracks = self.tracks.iter();
        let tracks = tracks.map(|&row| Some(self.index.track(row)?.file));
        let mut taken = HashSet::new();
        let files = photos.chain(tracks).flatten();
        let files = files.filter(|file| taken.insert(*file));
        let paths = files.filter_map(|file| Some(self.index.file(file)?.0));
        paths.chain(videos).collect()
    }

    /// Returns an archive of all files that visitors can download. Tracks have numbers before their
    /// names, so that they keep their order.
    fn archive(&self) -> Option<Response> {
        let paths = self.archived_files(self.videos());
        let names = match self.photos {
            Some(_) => below_common_folder(&paths),
            None => numbered(&paths),
        };
        let name = self.name.as_deref().unwrap_or(&self.share.description);
        let name = [name.replace('/', "_").as_bytes(), b".zip"].concat();
        (!paths.is_empty()).then(|| Response::Archive {
            files: targets(&paths).zip(names).collect(),
            disposition: attachment(&name),
        })
    }

    fn cover(&self) -> Option<Response> {
        let library = &self.context.library;
        let query = "w=480&h=480&fit=cover";
        let target = library.cover(&self.index, self.cover_owner()?, query)?;
        let disposition = None;
        Some(Response::File {
            target,
            disposition,
        })
    }

    /// Returns the response to a request for a track or a photograph. Returns `None` if the share
    /// does not contain it, or if its size is not offered.
    fn file(&self, file: &str) -> Option<Response> {
        if let Some(path) = file.strip_prefix("video/") {
            return self.video(path);
        }
        let Some((id, size)) = file.split_once('/') else {
            let row = index::track_row(&self.index, Id::parse(file)?)?;
            if !self.tracks.contains(&row) {
                return None;
            }
            let (path, _) = self.index.file(self.index.track(row)?.file)?;
            let target = format!("/{}", encoded(&path));
            let disposition = None;
            return Some(Response::File {
                target,
                disposition,
            });
        };
        let Id::Photo(id) = Id::parse(id)? else {
            return None;
        };
        let row = self.index.photo_row(id)?;
        let photos = self.photos.as_ref()?;
        if !photos.has(&self.index, &self.derived, row) {
            return None;
        }
        let (path, _) = self.index.file(self.index.photo(row)?.file)?;
        let target = format!("/{}", encoded(&path));
        if size == "original" && self.share.allows_originals {
            let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(&path);
            return Some(Response::Original {
                path: target,
                disposition: attachment(name),
            });
        }
        if size == "motion" && self.share.allows_originals {
            return match self.context.library.motion(&path) {
                Ok(video) => video.map(|video| Response::Motion {
                    path: target,
                    video,
                }),
                Err(err) => {
                    let path = String::from_utf8_lossy(&path);
                    tracing::warn!(%path, %err, "cannot read the picture to find its embedded video");
                    None
                }
            };
        }
        let height_px = HEIGHTS_PX.iter().find(|known| known.to_string() == size)?;
        let target = format!("{target}?h={height_px}");
        Some(match self.share.allows_originals {
            true => Response::File {
                target,
                disposition: None,
            },
            false => Response::Variant { target },
        })
    }
}

fn html(status: u16, body: String) -> Response {
    Response::Document {
        status,
        media_type: "text/html; charset=utf-8",
        body,
        allow: None,
    }
}

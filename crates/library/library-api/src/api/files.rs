//! Files of the library: the original of a picture or track, archives of several originals, and
//! tracks that are transcoded as the client requests.

use std::collections::HashSet;
use std::io;

use audio_plan::{AudioRequest, Format};

use super::{ApiCall, Refusal};
use crate::downloads::{attachment, below_common_folder, common_folder, targets};
use crate::ids::Id;
use crate::index::tracks;
use crate::library_access::MotionVideo;
use crate::params::encoded;
use crate::response::Response;
use crate::transcoding::{bit_rate_kbps_max, stream_for_api};

/// Name of an archive whose files have no common folder except the library's root.
const ARCHIVE_NAME: &str = "library";

/// Bit rates of an Opus encoder in kbit/s (RFC 6716 §2.1.1).
const BIT_RATES_KBPS: std::ops::RangeInclusive<usize> = 6..=510;

impl ApiCall<'_> {
    /// Returns the file or files that the request asks for, or `None` if it asks for a document.
    /// `parts` are the segments of the request's path.
    pub(super) fn files(&self, parts: &[&str]) -> Option<Result<Response, Refusal>> {
        match (parts, self.request.method) {
            ([kind @ ("pictures" | "tracks"), id, "original"], "GET" | "HEAD") => {
                Some(self.original(kind, id))
            }
            (["pictures", id, "motion"], "GET" | "HEAD") => Some(self.motion(id)),
            (["pictures", id, "compare"], "GET" | "HEAD") => Some(self.comparison(id)),
            (["tracks", id, "stream"], "GET" | "HEAD") => Some(self.stream(id)),
            (
                ["pictures" | "tracks", _, "original"]
                | ["pictures", _, "compare" | "motion"]
                | ["tracks", _, "stream"],
                _,
            ) => Some(Err(Refusal::Method("GET, HEAD"))),
            (["archive"], "POST") => Some(self.archive()),
            (["archive"], _) => Some(Err(Refusal::Method("POST"))),
            _ => None,
        }
    }

    /// Returns the original of a picture or track.
    fn original(&self, kind: &str, id: &str) -> Result<Response, Refusal> {
        let path = match (kind, Id::parse(id)) {
            ("pictures", Some(id @ Id::Photo(_))) | ("tracks", Some(id @ Id::Track(_))) => {
                self.paths(id).pop()
            }
            _ => None,
        };
        let path = path.ok_or(Refusal::NotFound)?;
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(&path);
        Ok(Response::Original {
            path: format!("/{}", encoded(&path)),
            disposition: attachment(name),
        })
    }

    /// Returns the video of a motion photo.
    fn motion(&self, id: &str) -> Result<Response, Refusal> {
        let path = self.picture_path(id)?;
        let video = self.motion_video(&path).map_err(|_| Refusal::Unreadable)?;
        Ok(Response::Motion {
            path: format!("/{}", encoded(&path)),
            video: video.ok_or(Refusal::NotFound)?,
        })
    }

    /// Returns the path of the picture with this id.
    pub(super) fn picture_path(&self, id: &str) -> Result<Vec<u8>, Refusal> {
        let id = Id::parse(id).filter(|id| matches!(id, Id::Photo(_)));
        let path = id.and_then(|id| self.paths(id).pop());
        path.ok_or(Refusal::NotFound)
    }

    /// Returns the place of the video in the picture at `path`, if it is a motion photo.
    ///
    /// # Errors
    /// The file cannot be read; the log says why.
    pub(super) fn motion_video(&self, path: &[u8]) -> io::Result<Option<MotionVideo>> {
        let found = self.context.library.motion(path);
        found.inspect_err(|err| {
            let path = String::from_utf8_lossy(path);
            tracing::warn!(%path, %err, "cannot read the picture to find its embedded video");
        })
    }

    /// Returns a track in the format and with the maximum bit rate that the request names. The bit
    /// rate limit of the user, if any, applies to every format but `original`. Without `format`,
    /// the track is transcoded to Opus only if the bit rate of the original exceeds the maximum.
    /// Returns the original if the server cannot transcode the track.
    fn stream(&self, id: &str) -> Result<Response, Refusal> {
        let (row, _) = self.track_row(id)?;
        let format = match self.request.params.first("format") {
            None => Format::Any,
            Some("original") => Format::Raw,
            Some("opus") => Format::Opus,
            Some(_) => return Err(Refusal::Bad("format")),
        };
        let requested_kbps_max = match self.number("bitrate")? {
            None => 0,
            Some(kbps) if BIT_RATES_KBPS.contains(&kbps) => kbps as u32,
            Some(_) => return Err(Refusal::Bad("bitrate")),
        };
        let (user, bit_rate_kbps_max) = self.context.store.read(|state| {
            // Guests share one name, so the queue of transcodes treats them as one user.
            let name = self.user(state).unwrap_or_default();
            let kbps_max = bit_rate_kbps_max(state.users.get(&name), requested_kbps_max);
            (name, kbps_max)
        })?;
        let request = AudioRequest {
            format,
            bit_rate_kbps_max,
            start_ms: 0,
        };
        let response = stream_for_api(self.context, &self.index, row, &request, &user);
        response.ok_or(Refusal::NotFound)
    }

    /// Returns the comparison of a picture's variant with its original. The request has the same
    /// parameters as a request for that variant.
    fn comparison(&self, id: &str) -> Result<Response, Refusal> {
        let path = encoded(&self.picture_path(id)?);
        Ok(Response::Comparison {
            target: match self.request.query {
                Some(query) => format!("/{path}?{query}"),
                None => format!("/{path}"),
            },
        })
    }

    /// Returns an archive of the originals of all pictures, tracks and albums that the parameters
    /// `id` name. Each file occurs in the archive once.
    fn archive(&self) -> Result<Response, Refusal> {
        let (mut ids, mut taken) = (HashSet::new(), HashSet::new());
        let mut paths = Vec::new();
        for id in self.request.params.all("id") {
            let id = Id::parse(id).ok_or(Refusal::NotFound)?;
            if !ids.insert(id) {
                continue;
            }
            let found = self.paths(id);
            if found.is_empty() {
                return Err(Refusal::NotFound);
            }
            paths.extend(found.into_iter().filter(|path| taken.insert(path.clone())));
        }
        if paths.is_empty() {
            return Err(Refusal::Bad("id"));
        }
        let folder = common_folder(&paths);
        let folder = folder.strip_suffix(b"/").unwrap_or(folder);
        let name = folder.rsplit(|&byte| byte == b'/').next();
        let name = name.filter(|name| !name.is_empty());
        let name = [name.unwrap_or(ARCHIVE_NAME.as_bytes()), b".zip"].concat();
        Ok(Response::Archive {
            files: targets(&paths).zip(below_common_folder(&paths)).collect(),
            disposition: attachment(&name),
        })
    }

    /// Returns the paths of a picture, a track or the tracks of an album. Returns no path for an
    /// object of another kind, or for an object that is not in the library.
    fn paths(&self, id: Id) -> Vec<Vec<u8>> {
        let track = |row| Some(self.index.track(row)?.file);
        let files: Vec<u32> = match id {
            Id::Photo(id) => {
                let photo = self.index.photo_row(id);
                let photo = photo.and_then(|row| self.index.photo(row));
                photo.map(|photo| photo.file).into_iter().collect()
            }
            Id::Track(id) => {
                let row = self.index.track_row(id);
                row.and_then(track).into_iter().collect()
            }
            Id::Album(id) => {
                let album = self.index.album_row(id);
                let album = album.and_then(|row| self.index.album(row));
                let rows = album.iter().flat_map(tracks);
                rows.filter_map(track).collect()
            }
            Id::Artist(_) | Id::Playlist(_) | Id::Listing(_) => Vec::new(),
        };
        let files = files.into_iter();
        files
            .filter_map(|file| Some(self.index.file(file)?.0))
            .collect()
    }
}

//! Plain JSON API of the library for web pages and scripts. Responses have no envelope, errors are
//! HTTP statuses, and long lists are split into pages.
//!
//! Reading needs no login, since the library's files can be read without a login, too. Changing a
//! user's data requires an API key, `Authorization: Bearer KEY`, or the session of a browser.

mod export;
mod favourites;
mod files;
mod folders;
mod groups;
mod items;
mod lyrics;
mod orders;
mod picture;
mod playlist_edit;
mod playlists;
mod shares;
mod timeline;

use std::io;
use std::sync::Arc;

use self::playlist_edit::Edit;
use crate::auth;
use crate::context::Context;
use crate::derived::Derived;
use crate::ids::Id;
use crate::index::{self, Index, albums_of, own_albums, tracks};
use crate::library_access::{MotionVideo, Watching};
use crate::params::{Params, decoded};
use crate::response::Response;
use crate::store::{Change, State, StoreError};
use crate::time::iso;
use crate::timeline::Timeline;
use crate::write::Writer;

/// Request of the JSON API.
#[derive(Clone, Debug)]
pub struct ApiRequest<'a> {
    /// HTTP method.
    pub method: &'a str,
    /// Path below the mount, such as `/albums`, percent-encoded.
    pub path: &'a str,
    /// Query as the client sent it, if any.
    pub query: Option<&'a str>,
    /// Parameters of the query.
    pub params: Params<'a>,
    /// Value of the Authorization field, if the request has one.
    pub authorization: Option<&'a str>,
    /// Session token of the request, if it has one. It is ignored if `authorization` is set.
    pub session: Option<&'a str>,
    /// File name extensions of the videos that the server serves, in lower case.
    pub videos: &'a [&'a str],
    /// Present time, in milliseconds since 1970.
    pub now_ms: i64,
}

/// Reason why a request of the JSON API is refused.
#[derive(Debug)]
enum Refusal {
    NotFound,
    /// The parameter of this name has an invalid value.
    Bad(&'static str),
    /// The path allows only these HTTP methods, as in the Allow field.
    Method(&'static str),
    Unauthorized,
    /// The user has reached the limit on stored data.
    Full,
    /// The index to which the request refers has been replaced.
    Replaced,
    /// The playlist has changed since the time that the request names.
    Changed,
    /// The user may not change this playlist.
    ReadOnly,
    /// The user may not create playlists.
    MayNotCreatePlaylists,
    /// The user is not an admin.
    NotAllowed,
    /// The user may not create or change shares.
    MayNotShare,
    Host,
    /// A file of the library cannot be read.
    Unreadable,
}

impl From<StoreError> for Refusal {
    fn from(err: StoreError) -> Refusal {
        tracing::error!(%err, cause = %err.source, "cannot read or store user data");
        Refusal::Host
    }
}

const JSON: &str = "application/json";

/// OpenAPI document that describes the API.
const OPENAPI: &str = include_str!("../../../../docs/openapi/pelton.json");

/// Response body with its media type.
struct Written {
    media_type: &'static str,
    body: String,
}

impl Written {
    fn json(body: String) -> Written {
        Written {
            media_type: JSON,
            body,
        }
    }
}

/// Request of the JSON API, with the index that the response describes.
pub(crate) struct ApiCall<'a> {
    pub(crate) context: &'a Context,
    pub(crate) index: Arc<Index>,
    pub(crate) derived: Arc<Derived>,
    pub(crate) request: &'a ApiRequest<'a>,
}

/// Returns the response to a request of the JSON API.
pub(crate) fn respond(context: &Context, request: &ApiRequest<'_>) -> Response {
    if let (None, Some(token)) = (request.authorization, request.session) {
        // Records that the session is used. A token that belongs to no session is ignored.
        drop(context.session_user(token, request.now_ms));
    }
    let (index, derived) = context.index(request.now_ms);
    let call = ApiCall {
        context,
        index,
        derived,
        request,
    };
    let parts = request.path.split('/').filter(|part| !part.is_empty());
    let parts: Vec<_> = parts.map(decoded).collect();
    let parts: Vec<&str> = parts.iter().map(|part| &**part).collect();
    let written = match call.files(&parts) {
        Some(Ok(response)) => return response,
        Some(Err(refusal)) => Err(refusal),
        None => call.respond(&parts),
    };
    let (status, media_type, body, allow) = match written {
        Ok(Written { media_type, body }) => (200, media_type, body, None),
        Err(refusal) => {
            let (status, body) = refusal.document();
            (status, JSON, body, refusal.allow())
        }
    };
    Response::Document {
        status,
        media_type,
        body,
        allow,
    }
}

impl Refusal {
    /// Returns the value of the Allow field, which a response with the status 405 must have (RFC
    /// 9110 §15.5.6).
    fn allow(&self) -> Option<&'static str> {
        match self {
            Refusal::Method(allow) => Some(allow),
            _ => None,
        }
    }

    /// Returns the HTTP status and the body of the response.
    fn document(&self) -> (u16, String) {
        let (status, title) = match self {
            Refusal::NotFound => (404, "no such resource".to_owned()),
            Refusal::Bad(name) => (400, format!("parameter {name} is invalid")),
            Refusal::Method(allow) => (405, format!("allowed here: {allow}")),
            Refusal::Unauthorized => (401, "a login or an API key is required".to_owned()),
            Refusal::Full => (403, "this user has reached a storage limit".to_owned()),
            Refusal::Replaced => (
                409,
                "the library has changed: load the list of months again".to_owned(),
            ),
            Refusal::Changed => (409, "the playlist has changed: load it again".to_owned()),
            Refusal::ReadOnly => (403, "this user may not change this playlist".to_owned()),
            Refusal::MayNotCreatePlaylists => (
                403,
                "this user may not create playlists: an admin must permit it".to_owned(),
            ),
            Refusal::NotAllowed => (
                403,
                "only an admin is authorized for this operation".to_owned(),
            ),
            Refusal::MayNotShare => (
                403,
                "this user may not create or change share links: an admin must permit it"
                    .to_owned(),
            ),
            Refusal::Unreadable => (503, "the file cannot be read at the moment".to_owned()),
            Refusal::Host => (
                503,
                "the server cannot read or store user data at the moment".to_owned(),
            ),
        };
        let mut out = Writer::new(false);
        out.braced(|out| {
            out.text("title", &title);
            out.number("status", status);
        });
        (status, out.finish())
    }
}

/// Writes the target of the video of the picture with this id, or `null` if the file cannot be
/// read. Writes nothing if the picture is not a motion photo.
fn write_motion(out: &mut Writer, id: &str, motion: &io::Result<Option<MotionVideo>>) {
    match motion {
        Ok(Some(_)) => out.text("motion", &format!("/-/api/pictures/{id}/motion")),
        Ok(None) => {}
        Err(_) => out.text_or_null("motion", None),
    }
}

impl ApiCall<'_> {
    /// Returns the document that the request asks for. `parts` are the segments of the request's
    /// path.
    fn respond(&self, parts: &[&str]) -> Result<Written, Refusal> {
        let file = match parts {
            ["playlists", name] => name.strip_suffix(export::EXTENSION),
            _ => None,
        };
        if let (Some(id), "GET" | "HEAD") = (file, self.request.method) {
            let media_type = export::MEDIA_TYPE;
            let body = self.export(id)?;
            return Ok(Written { media_type, body });
        }
        if let (["openapi.json"], "GET" | "HEAD") = (parts, self.request.method) {
            return Ok(Written::json(OPENAPI.to_owned()));
        }
        let json = match (parts, self.request.method) {
            (["tracks", id, "rating", rating], "PUT") => self.rate(id, rating),
            (["tracks", id, "plays"], "POST") => self.play(id),
            (["favourites", id], "PUT") => self.set_favourite(id, Some(self.request.now_ms)),
            (["favourites", id], "DELETE") => self.set_favourite(id, None),
            (["favourites", _], _) => Err(Refusal::Method("PUT, DELETE")),
            (["scan"], "POST") => self.start_scan(),
            (["scan"], "DELETE") => self.cancel_scan(),
            (["tracks", _, "rating", _], _) => Err(Refusal::Method("PUT")),
            (["tracks", _, "plays"], _) => Err(Refusal::Method("POST")),
            (["tracks", id, "lyrics"], "GET" | "HEAD") => self.lyrics(id),
            (_, "GET" | "HEAD") => self.get(parts),
            (["playlists", rest @ ..], _) => self.edit_playlists(rest),
            (["shares", rest @ ..], _) => self.edit_shares(rest),
            (["scan"], _) => Err(Refusal::Method("GET, HEAD, POST, DELETE")),
            _ => Err(Refusal::Method("GET, HEAD")),
        };
        json.map(Written::json)
    }

    /// Handles a request that changes a playlist of the user. `parts` are the segments of its path
    /// below `/playlists`.
    fn edit_playlists(&self, parts: &[&str]) -> Result<String, Refusal> {
        // Guests are refused before the parameters are parsed. The parameters, which may be many,
        // are parsed before the store is locked for the change.
        self.context.store.read(|state| self.user(state))??;
        match (parts, self.request.method) {
            ([], "POST") => self.create_playlist(),
            ([], _) => Err(Refusal::Method("GET, HEAD, POST")),
            ([id], "PUT") => self.change_playlist(id, Edit::Rename(self.playlist_name()?)),
            ([id], "DELETE") => self.delete_playlist(id),
            ([_], _) => Err(Refusal::Method("GET, HEAD, PUT, DELETE")),
            ([id, "tracks"], "PUT") => {
                self.change_playlist(id, Edit::Replace(self.parse_tracks()?))
            }
            ([id, "tracks"], "POST") => self.change_playlist(id, self.parse_insertion()?),
            ([id, "tracks"], "DELETE") => self.change_playlist(id, self.parse_removal()?),
            ([_, "tracks"], _) => Err(Refusal::Method("POST, PUT, DELETE")),
            ([id, "tracks", index], "PUT") => self.change_playlist(id, self.parse_move(index)?),
            ([_, "tracks", _], _) => Err(Refusal::Method("PUT")),
            _ => Err(Refusal::NotFound),
        }
    }

    fn get(&self, parts: &[&str]) -> Result<String, Refusal> {
        if parts == ["composers"] || self.request.params.first("composer").is_some() {
            // Collects the composers of a new index, which may take long, before the store is
            // locked.
            self.derived.composers(&self.context.splits);
        }
        let mut out = Writer::new(false);
        let mut result = Ok(());
        // The file is read before the store is locked, because reading may take long.
        let motion = match parts {
            ["pictures", id] => self
                .picture_path(id)
                .map(|path| self.motion_video(&path))
                .ok(),
            _ => None,
        };
        self.context.store.read(|state| {
            out.braced(|out| {
                result = self.write(parts, state, out);
                if let (["pictures", id], Some(motion), Ok(())) = (parts, motion, &result) {
                    write_motion(out, id, &motion);
                }
            });
        })?;
        result.map(|()| out.finish())
    }

    fn write(&self, parts: &[&str], state: &State, out: &mut Writer) -> Result<(), Refusal> {
        let counts = self.index.counts();
        match parts {
            [] | ["statistics"] => self.write_statistics(state, out),
            ["albums"] => {
                let rows = self.albums(state)?;
                self.write_page(out, rows, |out, row| self.write_album(out, state, row))?;
            }
            ["albums", id] => self.write_whole_album(out, state, id)?,
            ["artists"] => {
                let with_albums = |row: &u32| {
                    let artist = self.index.artist(*row);
                    artist.is_some_and(|artist| !own_albums(&self.index, *row, &artist).is_empty())
                };
                let rows = (0..counts.artists).filter(with_albums).collect();
                self.write_page(out, rows, |out, row| self.write_artist(out, row))?;
            }
            ["artists", id] => {
                let row = match Id::parse(id) {
                    Some(Id::Artist(id)) => self.index.artist_row(id),
                    _ => None,
                };
                let row = row.ok_or(Refusal::NotFound)?;
                self.write_artist(out, row);
                let artist = self.index.artist(row).ok_or(Refusal::NotFound)?;
                let albums = self.part(albums_of(&self.index, row, &artist))?;
                out.list("albums", albums, |out, row| {
                    self.write_album(out, state, row)
                });
            }
            ["tracks"] => {
                let rows = (0..counts.tracks).collect();
                self.write_page(out, rows, |out, row| self.write_track(out, state, row))?;
            }
            ["tracks", id] => {
                let (row, _) = self.track_row(id)?;
                self.write_track(out, state, row);
            }
            [kind @ ("genres" | "years" | "composers")] => self.write_groups(kind, out)?,
            ["pictures"] => {
                let rows = self.pictures()?;
                self.write_page(out, rows, |out, row| self.write_picture(out, row))?;
            }
            ["playlists"] => {
                let playlists = self.playlists(state);
                self.write_page(out, playlists, |out, it| {
                    self.write_listed_playlist(out, state, &it)
                })?;
            }
            ["playlists", id] => self.write_whole_playlist(out, state, id)?,
            ["shares"] => {
                let shares = self.shares(state)?;
                self.write_page(out, shares, |out, it| self.write_share(out, state, it))?;
            }
            ["search"] => self.write_found(state, out)?,
            ["scan"] => self.write_scan(out)?,
            _ => self.write_photos(parts, state, out)?,
        }
        Ok(())
    }

    fn write_whole_album(&self, out: &mut Writer, state: &State, id: &str) -> Result<(), Refusal> {
        let row = match Id::parse(id) {
            Some(Id::Album(id)) => self.index.album_row(id),
            _ => None,
        };
        let row = row.ok_or(Refusal::NotFound)?;
        self.write_album(out, state, row);
        let album = self.index.album(row).ok_or(Refusal::NotFound)?;
        out.list("tracks", self.part(tracks(&album))?, |out, row| {
            self.write_track(out, state, row)
        });
        Ok(())
    }

    /// Returns the page of `all` that the parameters `offset` and `limit` select. `limit` is at
    /// most the server's page size, and by default equal to the page size.
    fn part<T>(
        &self,
        all: impl IntoIterator<Item = T>,
    ) -> Result<impl Iterator<Item = T>, Refusal> {
        let offset = self.number("offset")?.unwrap_or(0);
        let page_max = self.context.limits.page_max;
        let limit = self.number("limit")?.unwrap_or(page_max).min(page_max);
        Ok(all.into_iter().skip(offset).take(limit))
    }

    /// Writes one page of `rows`: the total number of rows, the offset of the page, and its items.
    fn write_page<T>(
        &self,
        out: &mut Writer,
        rows: Vec<T>,
        mut item: impl FnMut(&mut Writer, T),
    ) -> Result<(), Refusal> {
        let offset = self.number("offset")?.unwrap_or(0);
        let limits = &self.context.limits;
        let limit = self.number("limit")?.unwrap_or(100).min(limits.page_max);
        out.number("total", rows.len() as u32);
        out.number("offset", offset as u32);
        out.list(
            "items",
            rows.into_iter().skip(offset).take(limit),
            |out, row| {
                item(out, row);
            },
        );
        Ok(())
    }

    fn number(&self, name: &'static str) -> Result<Option<usize>, Refusal> {
        let text = self.request.params.first(name);
        let number = text.map(|text| text.parse::<u32>().map(|number| number as usize));
        number.transpose().map_err(|_| Refusal::Bad(name))
    }

    fn track_row(&self, id: &str) -> Result<(u32, Id), Refusal> {
        let id = Id::parse(id).ok_or(Refusal::NotFound)?;
        let row = index::track_row(&self.index, id);
        Ok((row.ok_or(Refusal::NotFound)?, id))
    }

    fn write_found(&self, state: &State, out: &mut Writer) -> Result<(), Refusal> {
        let query = self.request.params.first("q").ok_or(Refusal::Bad("q"))?;
        let limits = catalog::Limits {
            found_max: self
                .number("limit")?
                .unwrap_or(20)
                .min(self.context.limits.page_max),
            ..catalog::Limits::default()
        };
        let kinds = self.kinds()?;
        let found = match kinds {
            [false, false, false, _] => catalog::Found::default(),
            _ => self.index.search(query, &limits),
        };
        let [artists, albums, tracks, pictures] = kinds;
        if artists {
            out.list("artists", found.artists, |out, row| {
                self.write_artist(out, row)
            });
        }
        if albums {
            out.list("albums", found.albums, |out, row| {
                self.write_album(out, state, row)
            });
        }
        if tracks {
            out.list("tracks", found.tracks, |out, row| {
                self.write_track(out, state, row)
            });
        }
        if pictures {
            let rows = Timeline::find(&self.index, query);
            let rows = rows.into_iter().rev().take(limits.found_max);
            out.list("pictures", rows, |out, row| self.write_picture(out, row));
        }
        Ok(())
    }

    /// Returns four flags, for artists, albums, tracks and pictures, in this order: true if the
    /// request asks for objects of this kind. A request without the parameter `kinds` asks for all
    /// four.
    fn kinds(&self) -> Result<[bool; 4], Refusal> {
        const KINDS: [&str; 4] = ["artists", "albums", "tracks", "pictures"];
        let Some(kinds) = self.request.params.first("kinds") else {
            return Ok([true; 4]);
        };
        match kinds.split(',').all(|kind| KINDS.contains(&kind)) {
            true => Ok(KINDS.map(|kind| kinds.split(',').any(|wanted| wanted == kind))),
            false => Err(Refusal::Bad("kinds")),
        }
    }

    fn write_statistics(&self, state: &State, out: &mut Writer) {
        let counts = self.index.counts();
        let albums = (0..counts.albums).filter_map(|row| self.index.album(row));
        let plays = state.users.values().flat_map(|user| user.plays.values());
        out.number("tracks", counts.tracks);
        out.number("albums", counts.albums);
        out.number("artists", counts.artists);
        out.number("genres", counts.genres);
        out.number("pictures", counts.photos);
        out.number("playlists", counts.playlists);
        out.number("files", counts.files);
        out.number(
            "durationSeconds",
            albums.map(|album| i64::from(album.duration_s)).sum::<i64>(),
        );
        out.number(
            "plays",
            plays.map(|plays| i64::from(plays.count)).sum::<i64>(),
        );
        out.number("users", state.users.len() as u32);
        out.number("indexBytes", self.index.bytes().len() as i64);
    }

    fn write_scan(&self, out: &mut Writer) -> Result<(), Refusal> {
        let scanning = self.context.library.scanning();
        out.flag("scanning", scanning.active);
        out.number("files", scanning.files as i64);
        if let Some(reading) = scanning.reading {
            out.object("reading", |out| {
                out.number("done", reading.done as i64);
                out.number("of", reading.of as i64);
                out.float("perSecond", reading.per_second);
                if let Some(left_s) = reading.left_s {
                    out.float("secondsLeft", left_s);
                }
            });
        }
        out.text_if("ended", scanning.ended_ms.map(iso).as_deref());
        out.text_if("failed", scanning.failed.as_deref());
        out.object("watch", |out| match &scanning.watch {
            Watching::Off => out.text("by", "nothing"),
            Watching::Inotify { folders } => {
                out.text("by", "inotify");
                out.number("folders", *folders as i64);
            }
            Watching::Polling { every_s, why } => {
                out.text("by", "polling");
                out.number("everySeconds", *every_s as i64);
                out.text("why", why);
            }
        });
        out.number("unsettled", scanning.unsettled as i64);
        let unreadable = self.context.library.unreadable(&self.index);
        self.write_faults(out, ("unreadable", "unreadableCount"), unreadable)?;
        let broken = self.index.broken_tags();
        self.write_faults(out, ("brokenTags", "brokenTagsCount"), broken)?;
        let missing: Vec<_> = self.index.missing().collect();
        out.number("missingCount", missing.len() as u32);
        out.list("missing", self.part(missing)?, |out, (path, target)| {
            out.text("playlist", &String::from_utf8_lossy(&path));
            out.text("entry", &target);
        });
        Ok(())
    }

    /// Writes two members: the member `count` holds the number of faulty files, and the member
    /// `name` holds one page of these files with their faults.
    fn write_faults(
        &self,
        out: &mut Writer,
        (name, count): (&str, &str),
        all: impl IntoIterator<Item = (Vec<u8>, String)>,
    ) -> Result<(), Refusal> {
        let all: Vec<_> = all.into_iter().collect();
        out.number(count, all.len() as u32);
        out.list(name, self.part(all)?, |out, (path, reason)| {
            out.text("path", &String::from_utf8_lossy(&path));
            out.text("reason", &reason);
        });
        Ok(())
    }

    fn user(&self, state: &State) -> Result<String, Refusal> {
        let ApiRequest {
            authorization,
            session,
            now_ms,
            ..
        } = *self.request;
        let user = match (authorization, session) {
            (Some(field), _) => {
                let key = field.strip_prefix("Bearer ");
                key.and_then(|key| auth::of_key(key.trim(), state))
            }
            (None, Some(token)) => self.context.session_owner(state, token, now_ms),
            (None, None) => None,
        };
        user.map(str::to_owned).ok_or(Refusal::Unauthorized)
    }

    fn rate(&self, id: &str, rating: &str) -> Result<String, Refusal> {
        let (_, id) = self.track_row(id)?;
        let rating = rating.parse::<u8>().ok().filter(|rating| *rating <= 5);
        let rating = rating.ok_or(Refusal::Bad("rating"))?;
        self.context.store.change(|state| {
            let user = self.user(state)?;
            self.check_quota(state, Change::Rating { user, id, rating })
        })??;
        Ok("{}".to_owned())
    }

    /// Returns a list that contains only `change`. Returns an error if the change would make the
    /// data of its user exceed the limit per user.
    fn check_quota(&self, state: &State, change: Change) -> Result<Vec<Change>, Refusal> {
        let bytes_max = self.context.limits.user_bytes_max;
        let changes = vec![change];
        match state.has_room(&changes, bytes_max) {
            true => Ok(changes),
            false => Err(Refusal::Full),
        }
    }

    /// Returns an error unless the request has the API key or the session of an admin.
    fn admin(&self, state: &State) -> Result<(), Refusal> {
        let user = state.users.get(&self.user(state)?);
        match user.is_some_and(|user| user.admin) {
            true => Ok(()),
            false => Err(Refusal::NotAllowed),
        }
    }

    /// Starts a scan of the requested folders, or of the whole library. Returns the progress of the
    /// scan.
    fn start_scan(&self) -> Result<String, Refusal> {
        self.context.store.read(|state| self.admin(state))??;
        let folders = self.request.params.all("folder").map(|folder| {
            let folder = folder.trim_matches('/');
            let mut names = folder.split('/');
            let is_below = names.all(|name| !name.is_empty() && !name.starts_with('.'));
            is_below.then(|| folder.as_bytes().to_vec())
        });
        let folders: Option<Vec<Vec<u8>>> = folders.collect();
        let folders = folders.ok_or(Refusal::Bad("folder"))?;
        self.context.library.scan(folders);
        self.get(&["scan"])
    }

    /// Cancels the running scan, and returns the progress that the scan had made.
    fn cancel_scan(&self) -> Result<String, Refusal> {
        self.context.store.read(|state| self.admin(state))??;
        let progress = self.get(&["scan"]);
        self.context.library.cancel_scan();
        progress
    }

    fn play(&self, id: &str) -> Result<String, Refusal> {
        let (_, id) = self.track_row(id)?;
        let at_ms = self.request.now_ms;
        self.context.store.change(|state| {
            let user = self.user(state)?;
            self.check_quota(state, Change::Play { user, id, at_ms })
        })??;
        Ok("{}".to_owned())
    }
}

//! Interfaces for players: the Subsonic protocol at `/rest/`, the same library as JSON at
//! `/-/api/`, a web player at `/-/plain/music`, and shares at `/-/share/`.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _};
use std::net::IpAddr;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use catalog::CoverOwner;
use image_plan::Placeholder;
use library_api::{
    ApiRequest, LibraryAccess, Limits, LoginError, MotionVideo, Params, Reading, Request, Response,
    Scanning, Server, ShareRequest, Store, StoreError, Watching,
};
use openmetrics::Text;
use reactor::blocking;
use scan::{Index, LibraryIndexer, Phase, ProgressSnapshot, Watch};
use server::archive::ArchiveFile;
use server::gate::{Credentials, Login, LoginFailure, Part, Users};
use server::media_type::VIDEOS;
use server::mount::{
    BusyResponse, Field, FileSection, Mount, MountRequest, Reply, TranscodeRequest,
};
use server::session_cookie;
use variants::library::{Library, LibraryPath, Missing, Mount as Directory};
use variants::source::FileSource;
use wall_clock::{since_1970, unix_ms};

use config::{Config, components};
use tokio::sync::Semaphore;

use web_assets::Assets;

use crate::covers::Covers;
use crate::page;
use crate::sessions::Sessions;

/// Maximum size of a lyrics file beside a song; larger files are ignored.
const LYRICS_BYTES_MAX: u64 = 1 << 20;
/// Extensions of lyrics files in their usual spellings; files with timed lines come first. Each
/// spelling is tried, so that the folder need not be listed.
const LYRICS: [&str; 6] = ["lrc", "LRC", "Lrc", "txt", "TXT", "Txt"];

/// Maximum number of entries that a search for videos reads from a folder.
const FOLDER_ENTRIES_MAX: usize = 20_000;

/// Maximum number of folders that a search for videos reads. Folders of lower depth come first.
const VIDEO_FOLDERS_MAX: usize = 1_000;
/// Maximum number of videos that a search in several folders returns.
const VIDEOS_MAX: usize = 1_000;

/// Server of the interfaces for players.
#[derive(Debug)]
pub(crate) struct Players {
    server: Arc<Server>,
    response_limit: Arc<ResponseLimit>,
}

/// Limit on the number of responses that are composed at the same time, on all cores together. A
/// list of a hundred thousand tracks takes more than a hundred megabytes while it is composed. The
/// limit on the memory of responses does not cover this memory, since it counts only finished
/// responses.
#[derive(Debug)]
struct ResponseLimit(Semaphore);

impl ResponseLimit {
    /// Runs `work` on a blocking thread, once the limit allows it.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let turn = self.0.acquire().await;
        let _turn = turn.expect("the semaphore is never closed");
        blocking(work).await
    }
}

/// Access to the library for `library_api`.
struct IndexedLibrary {
    indexer: Arc<LibraryIndexer>,
    covers: Arc<Covers>,
    /// Folder of the library's files, or `None` if it cannot be opened; then there are no lyrics.
    library: Option<Library>,
    /// Folder of users' avatars.
    avatars: PathBuf,
}

impl Players {
    /// Opens the store of users and their data.
    pub(crate) fn open(
        config: &Config,
        indexer: &Arc<LibraryIndexer>,
        covers: &Arc<Covers>,
    ) -> Result<Players, StoreError> {
        let store = Store::open(&config.data.join(components::USERS))?;
        let root = Directory {
            prefix: String::new(),
            directory: config.root.clone(),
            is_internal: false,
        };
        let library = Library::open(&[root], &config.data);
        let library = library.inspect_err(|(path, err)| {
            tracing::warn!(path = %path.display(), %err, "cannot open the library: lyrics are not available");
        });
        let library = IndexedLibrary {
            indexer: Arc::clone(indexer),
            covers: Arc::clone(covers),
            library: library.ok(),
            avatars: config.data.join(components::AVATARS),
        };
        let (library, store) = (Arc::new(library), Arc::new(store));
        let limits = Limits {
            transcoded_ms_max: components::transcoded_ms_max(config),
            ..Limits::default()
        };
        let server = Server::new(library, store, components::splits(config), limits);
        let response_limit = config.limits.player_responses_max.get() as usize;
        Ok(Players {
            server: Arc::new(server),
            response_limit: Arc::new(ResponseLimit(Semaphore::new(response_limit))),
        })
    }

    /// Returns the verifier of users' logins.
    pub(crate) fn users(&self) -> Arc<dyn Users> {
        Arc::new(SubsonicUsers(Arc::clone(&self.server)))
    }

    /// Returns the mounts for login, logout and the list of a user's sessions.
    pub(crate) fn sessions(&self, config: &Config) -> [(String, Arc<dyn Mount>); 2] {
        Sessions::mounts(&self.server, config)
    }

    /// Returns the mounts of all interfaces for players.
    pub(crate) fn mounts(&self, assets: Assets) -> [(String, Arc<dyn Mount>); 4] {
        let rest: Arc<dyn Mount> = Arc::new(Rest(
            Arc::clone(&self.server),
            Arc::clone(&self.response_limit),
        ));
        let api: Arc<dyn Mount> = Arc::new(Api(Arc::clone(&self.server)));
        let page: Arc<dyn Mount> = Arc::new(Page(Arc::clone(&self.server)));
        let shares: Arc<dyn Mount> = Arc::new(Shares {
            server: Arc::clone(&self.server),
            response_limit: Arc::clone(&self.response_limit),
            assets,
        });
        [
            (Rest::PREFIX.to_owned(), rest),
            (Api::PREFIX.to_owned(), api),
            (Page::PREFIX.to_owned(), page),
            (Shares::PREFIX.to_owned(), shares),
        ]
    }
}

/// Verifier of logins by the Authorization field or by a session.
pub(crate) struct SubsonicUsers(pub(crate) Arc<Server>);

impl Users for SubsonicUsers {
    fn log_in(&self, credentials: Credentials<'_>, peer: IpAddr) -> Result<Login, LoginFailure> {
        let now_ms = unix_ms() as i64;
        let user = match credentials {
            Credentials::Authorization(field) => self.0.log_in(field, peer, now_ms),
            Credentials::Session(token) => self.0.session_user(token, now_ms),
        };
        match user {
            Ok(user) => Ok(Login {
                is_admin: user.is_admin,
            }),
            Err(LoginError::Unknown) => Err(LoginFailure::Unknown),
            Err(LoginError::Guessing { wait_s }) => Err(LoginFailure::Guessing {
                retry_after_s: wait_s,
            }),
            Err(LoginError::Host) => Err(LoginFailure::Host),
        }
    }

    fn has_users(&self) -> Result<bool, LoginFailure> {
        self.0.has_users().map_err(|err| {
            tracing::error!(%err, cause = %err.source, "cannot read the users");
            LoginFailure::Host
        })
    }
}

impl LibraryAccess for IndexedLibrary {
    fn index(&self) -> Arc<Index> {
        self.indexer.catalog()
    }

    fn scanning(&self) -> Scanning {
        let status = self.indexer.status();
        let last = status.report.map_or(0, |report| report.files);
        let reading = |snapshot: &ProgressSnapshot| Reading {
            done: snapshot.read,
            of: snapshot.to_read,
            per_second: snapshot.per_second,
            left_s: snapshot.left.map(|left| left.as_secs_f64()),
        };
        let is_reading = |snapshot: &&ProgressSnapshot| snapshot.phase == Phase::Reading;
        Scanning {
            active: status.snapshot.is_some(),
            files: status.snapshot.map_or(last, |snapshot| snapshot.walked),
            reading: status.snapshot.as_ref().filter(is_reading).map(reading),
            ended_ms: status
                .ended
                .map(|ended| since_1970(ended).as_millis() as i64),
            failed: status.failed,
            unsettled: status.unsettled as u64,
            watch: match status.watch {
                Watch::Off => Watching::Off,
                Watch::Inotify { folders } => Watching::Inotify {
                    folders: folders as u64,
                },
                Watch::Polling { every, why } => Watching::Polling {
                    every_s: every.as_secs(),
                    why,
                },
            },
        }
    }

    fn unreadable(&self, index: &Index) -> Vec<(Vec<u8>, String)> {
        match self.indexer.status().report {
            // Use the report of the last scan, if any, because it also contains folders that cannot
            // be read. The index contains only files.
            Some(report) => {
                let faults = report.faults.iter();
                faults
                    .map(|fault| (fault.path.clone(), fault.reason.clone()))
                    .collect()
            }
            None => index.unreadable().collect(),
        }
    }

    fn scan(&self, folders: Vec<Vec<u8>>) {
        self.indexer.ask(folders);
    }

    fn cancel_scan(&self) {
        self.indexer.cancel();
    }

    fn cover(&self, index: &Index, of: CoverOwner, query: &str) -> Option<String> {
        self.covers.target(index, of, query)
    }

    fn has_cover(&self, index: &Index, of: CoverOwner) -> bool {
        self.covers.has(index, of)
    }

    fn placeholder(&self, index: &Index, of: CoverOwner) -> Option<Placeholder> {
        self.covers.placeholder(index, of)
    }

    fn placeholder_of_file(&self, path: &[u8]) -> Option<Placeholder> {
        let path = LibraryPath::from_relative(Path::new(OsStr::from_bytes(path)))?;
        self.covers.placeholder_at(&path)
    }

    fn videos(&self, folder: &[u8], extensions: &[&str]) -> Vec<Vec<u8>> {
        let list = || {
            let library = self.library.as_ref()?;
            let folder = match folder {
                b"" => None,
                path => Some(LibraryPath::from_relative(Path::new(OsStr::from_bytes(
                    path,
                )))?),
            };
            library
                .list_folder(folder.as_ref(), FOLDER_ENTRIES_MAX)
                .ok()
        };
        let files = list().map(|listed| listed.files).unwrap_or_default();
        let is_video = |name: &OsString| {
            let extension = Path::new(name).extension();
            extensions
                .iter()
                .any(|known| extension.is_some_and(|it| it.eq_ignore_ascii_case(known)))
        };
        let videos = files.into_iter().filter(is_video);
        videos.map(OsString::into_vec).collect()
    }

    fn videos_below(&self, folder: &[u8], extensions: &[&str]) -> Vec<Vec<u8>> {
        let Some(library) = &self.library else {
            return Vec::new();
        };
        let mut waiting = VecDeque::from([folder.to_vec()]);
        let mut found = Vec::new();
        for _ in 0..VIDEO_FOLDERS_MAX {
            let Some(folder) = waiting.pop_front() else {
                break;
            };
            let below = |name: Vec<u8>| [&folder[..], b"/", &name].concat();
            found.extend(self.videos(&folder, extensions).into_iter().map(below));
            let path = LibraryPath::from_relative(Path::new(OsStr::from_bytes(&folder)));
            let listed = path.map(|path| library.list_folder(Some(&path), FOLDER_ENTRIES_MAX));
            match listed {
                Some(Ok(listed)) => {
                    let folders = listed.folders.into_iter().map(OsString::into_vec);
                    waiting.extend(folders.map(below));
                }
                Some(Err(Missing::NotFound)) | None => {}
                Some(Err(err)) => {
                    let folder = String::from_utf8_lossy(&folder);
                    tracing::warn!(%folder, ?err, "cannot list a folder to find its videos");
                }
            }
        }
        found.sort_unstable();
        found.truncate(VIDEOS_MAX);
        found
    }

    fn motion(&self, path: &[u8]) -> io::Result<Option<MotionVideo>> {
        let path = LibraryPath::from_relative(Path::new(OsStr::from_bytes(path)));
        let (Some(path), Some(library)) = (path, &self.library) else {
            return Ok(None);
        };
        let (file, identity) = match library.open_original(&path) {
            Ok(opened) => opened,
            Err(Missing::NotFound) => return Ok(None),
            Err(Missing::Host(err)) => return Err(err),
            Err(Missing::WouldSleep) => return Err(io::ErrorKind::WouldBlock.into()),
        };
        let limits = tags::Limits::default();
        match tags::read_motion(&FileSource(&file), identity.size_bytes, &limits) {
            Ok(range) => Ok(range.map(|range| MotionVideo {
                etag: identity.etag(),
                range,
            })),
            Err(err) if err.kind == tags::ErrorKind::Io => Err(io::Error::other(err)),
            // A file that exceeds a limit counts as one without a video.
            Err(_) => Ok(None),
        }
    }

    fn avatar(&self, name: &str) -> Option<String> {
        let is_there = self.avatars.join(name).is_file();
        is_there.then(|| format!("{}/{name}", components::AVATAR))
    }

    fn lyrics(&self, path: &[u8]) -> Vec<Vec<u8>> {
        let Some(library) = &self.library else {
            return Vec::new();
        };
        let path = Path::new(OsStr::from_bytes(path));
        let open = |path: &Path| {
            library
                .open_original(&LibraryPath::from_relative(path)?)
                .ok()
        };
        let beside = LYRICS.iter().find_map(|extension| {
            let (file, identity) = open(&path.with_extension(extension))?;
            if LYRICS_BYTES_MAX < identity.size_bytes {
                return None;
            }
            let mut bytes = Vec::new();
            let read = file.take(LYRICS_BYTES_MAX).read_to_end(&mut bytes);
            read.is_ok().then_some(bytes)
        });
        if let Some(bytes) = beside {
            return vec![bytes];
        }
        let inside = open(path).and_then(|(file, identity)| {
            let mut reader = tags::Reader::new(tags::Limits::default());
            let media = reader.read(&FileSource(&file), identity.size_bytes).ok()?;
            let texts = media.tags.all(tags::Field::Lyrics);
            Some(texts.map(|text| text.as_bytes().to_vec()).collect())
        });
        inside.unwrap_or_default()
    }
}

/// Mount of the Subsonic protocol at `/rest/NAME`.
struct Rest(Arc<Server>, Arc<ResponseLimit>);

impl Rest {
    const PREFIX: &str = "/rest";

    async fn reply(&self, request: MountRequest<'_>) -> Reply {
        match request.method {
            "GET" | "HEAD" | "POST" => {}
            "OPTIONS" => return preflight(),
            _ => return not_allowed("GET, HEAD, POST, OPTIONS"),
        }
        let name = request.path.strip_prefix(Rest::PREFIX).unwrap_or("");
        let name = name.trim_matches('/').to_owned();
        let query = request.query.unwrap_or("").to_owned();
        // Invalid UTF-8 is replaced, since valid parameters do not contain it.
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let is_json = request.fields.clone().any(|(name, value)| {
            name.eq_ignore_ascii_case("content-type") && value.starts_with(b"application/json")
        });
        let (peer, base) = (request.peer, base(&request));
        let server = Arc::clone(&self.0);
        let response = self.1.blocking(move || {
            let mut params = Params::parse(&query);
            // Some players send JSON without its media type. Such a body is recognized by the `{`
            // at its start, with which no form begins.
            let is_form = !is_json && !body.trim_start().starts_with('{');
            params.extend(if is_form { &body } else { "" });
            let now_ms = unix_ms() as i64;
            let busy = server.busy(&params);
            let response = server.respond(&Request {
                name: &name,
                params,
                body: if is_form { "" } else { &body },
                peer,
                base,
                now_ms,
            });
            reply(response, busy)
        });
        response.await
    }
}

impl Mount for Rest {
    fn part(&self) -> Part {
        Part::Players
    }

    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        Box::pin(self.reply(request))
    }

    fn metrics(&self, text: &mut Text) {
        text.counter(
            "pelton_users_journal_damaged",
            "damaged parts of the users' journal that were skipped",
            self.0.damage().parts,
        );
    }

    /// Returns true, because the protocol sends passwords in queries.
    fn has_secret_queries(&self) -> bool {
        true
    }

    /// Returns true, because embedded covers and avatars have paths that clients cannot request.
    fn reaches_internal(&self) -> bool {
        true
    }
}

/// Mount of the JSON API at `/-/api/…`.
struct Api(Arc<Server>);

impl Api {
    const PREFIX: &str = "/-/api";

    async fn reply(&self, request: MountRequest<'_>) -> Reply {
        let path = request.path.strip_prefix(Api::PREFIX).unwrap_or("");
        let (path, method) = (path.to_owned(), request.method.to_owned());
        let query = request.query.map(str::to_owned);
        let mut authorization = request.fields.clone().filter_map(|(name, value)| {
            let is_it = name.eq_ignore_ascii_case("authorization");
            is_it.then(|| str::from_utf8(value).ok().map(str::to_owned))?
        });
        let authorization = authorization.next();
        let session = session_cookie::token(request.path, &request.fields, request.secure);
        let session = session.map(str::to_owned);
        let form = match is_form(&request) {
            true => String::from_utf8_lossy(&request.body).into_owned(),
            false => String::new(),
        };
        let videos = VIDEOS.into_iter().filter(|it| request.serves_extension(it));
        let videos: Vec<&str> = videos.collect();
        let server = Arc::clone(&self.0);
        let response = blocking(move || {
            let mut params = Params::parse(query.as_deref().unwrap_or_default());
            params.extend(&form);
            server.api(&ApiRequest {
                method: &method,
                path: &path,
                query: query.as_deref(),
                params,
                authorization: authorization.as_deref(),
                session: session.as_deref(),
                videos: &videos,
                now_ms: unix_ms() as i64,
            })
        });
        match response.await {
            response @ Response::Transcoded { .. } => {
                let busy = BusyResponse {
                    media_type: "application/json",
                    body: API_BUSY.into(),
                };
                transcoded(response, busy, fields(&[SAME_ORIGIN]))
            }
            other => to_reply(other),
        }
    }
}

impl Mount for Api {
    fn part(&self) -> Part {
        Part::Api
    }

    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        Box::pin(self.reply(request))
    }
}

/// Returns whether the media type of a request's body is that of an HTML form.
fn is_form(request: &MountRequest<'_>) -> bool {
    let mut fields = request.fields.clone();
    let media_type = fields.find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let media_type = media_type.and_then(|(_, value)| str::from_utf8(value).ok());
    media_type.is_some_and(|value| {
        let name = value.split(';').next().unwrap_or_default().trim();
        name.eq_ignore_ascii_case("application/x-www-form-urlencoded")
    })
}

/// Mount of the web player at `/-/plain/music`, optionally followed by an album's id.
struct Page(Arc<Server>);

impl Page {
    const PREFIX: &str = "/-/plain/music";
    /// Content security policy: the page loads only pictures and music of this server, and uses
    /// only the style in the page itself.
    const POLICY: &str = "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

    async fn reply(&self, request: MountRequest<'_>) -> Reply {
        if !matches!(request.method, "GET" | "HEAD") {
            return not_allowed("GET, HEAD");
        }
        let path = request.path.strip_prefix(Page::PREFIX).unwrap_or("");
        let (path, query) = (path.to_owned(), request.query.unwrap_or("").to_owned());
        let server = Arc::clone(&self.0);
        let now_ms = unix_ms() as i64;
        let page = move || server.page(Page::PREFIX, &path, &Params::parse(&query), now_ms);
        let mut reply = to_reply(blocking(page).await);
        if let Reply::Whole { fields, .. } = &mut reply {
            fields.push(("content-security-policy".into(), Page::POLICY.into()));
        }
        reply
    }
}

impl Mount for Page {
    fn part(&self) -> Part {
        Part::Music
    }

    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        Box::pin(self.reply(request))
    }
}

/// Mount of shares at `/-/share/ID`, for all clients that have the link.
struct Shares {
    server: Arc<Server>,
    response_limit: Arc<ResponseLimit>,
    /// Files of the web page, among them the script and the style sheet of shares.
    assets: Assets,
}

impl Shares {
    const PREFIX: &str = "/-/share";

    async fn reply(&self, request: MountRequest<'_>) -> Reply {
        if !matches!(request.method, "GET" | "HEAD") {
            return not_allowed("GET, HEAD");
        }
        let path = request.path.strip_prefix(Shares::PREFIX).unwrap_or("");
        let path = path.trim_start_matches('/').to_owned();
        let query = request.query.unwrap_or("").to_owned();
        let (root, nonce) = (page::root_of(request.path), page::nonce());
        let assets = format!("{root}-/app/{}/", self.assets.version());
        let policy = share_policy(&nonce);
        let languages = accepted_languages(&request);
        let videos = VIDEOS.into_iter().filter(|it| request.serves_extension(it));
        let videos: Vec<&str> = videos.collect();
        let server = Arc::clone(&self.server);
        let share = move || {
            let offset = Params::parse(&query).first("offset").map(str::parse);
            server.share(&ShareRequest {
                path: &path,
                offset: offset.and_then(Result::ok).unwrap_or(0),
                root: &root,
                assets: &assets,
                nonce: &nonce,
                languages: &languages,
                videos: &videos,
                now_ms: unix_ms() as i64,
            })
        };
        let mut reply = to_reply(self.response_limit.blocking(share).await);
        let (Reply::Whole { fields, .. }
        | Reply::Internal { fields, .. }
        | Reply::Variant { fields, .. }
        | Reply::Original { fields, .. }
        | Reply::Section { fields, .. }
        | Reply::Archive { fields, .. }) = &mut reply
        else {
            unreachable!("the response to a share is a document, a file or an archive");
        };
        fields.extend(self::fields(&[
            // Search engines must not list a link that a user has published.
            ("x-robots-tag", "noindex"),
            // Browsers must not send the link to other servers in the field Referer.
            ("referrer-policy", "no-referrer"),
            // Caches must not serve a share that was revoked.
            ("cache-control", "private, no-cache"),
        ]));
        if let Reply::Whole { fields, .. } = &mut reply {
            fields.retain(|(_, value)| &**value != "no-store");
            fields.push(("content-security-policy".into(), policy.into()));
            fields.push(("vary".into(), "accept-language".into()));
        }
        reply
    }
}

/// Returns the value of the Accept-Language field; empty without the field.
pub(crate) fn accepted_languages(request: &MountRequest<'_>) -> String {
    let mut fields = request.fields.clone();
    let found = fields.find(|(name, _)| name.eq_ignore_ascii_case("accept-language"));
    found.map_or_else(String::new, |(_, value)| {
        String::from_utf8_lossy(value).into_owned()
    })
}

/// Returns the Content-Security-Policy of a share's page. It allows one script, by its nonce, and
/// inline styles, because the page sets proportions and colours of photographs in `style`
/// attributes.
fn share_policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; \
         img-src 'self'; media-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
}

impl Mount for Shares {
    /// Returns the part of the server to which shares belong: the part whose handlers check
    /// credentials themselves. Here, the link is the credential.
    fn part(&self) -> Part {
        Part::Players
    }

    /// Returns true: the mount may respond with files that its visitors could not request by their
    /// paths. Shared music is served without a login even if the library's files need one.
    fn reaches_internal(&self) -> bool {
        true
    }

    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        Box::pin(self.reply(request))
    }
}

/// Returns the scheme and host of the URL to which a client sent its request.
fn base(request: &MountRequest<'_>) -> String {
    let scheme = if request.secure { "https" } else { "http" };
    let mut fields = request.fields.clone();
    let host = fields.find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let host = host.and_then(|(_, value)| str::from_utf8(value).ok());
    format!("{scheme}://{}", host.unwrap_or("localhost"))
}

/// Response field that allows requests from every origin, since web players run on any origin. The
/// value `*` excludes cookies, but players need none, since each request contains credentials.
const ANYWHERE: (&str, &str) = ("access-control-allow-origin", "*");

/// Response field for files that may need a login. It prevents pages of other sites from embedding
/// them.
const SAME_ORIGIN: (&str, &str) = ("cross-origin-resource-policy", "same-origin");

/// Body of a response of the JSON API while too many tracks wait to be transcoded.
const API_BUSY: &str = r#"{"title":"too many tracks wait to be transcoded","status":429}"#;

fn fields(listed: &[(&'static str, &'static str)]) -> Vec<Field> {
    let fields = listed.iter();
    fields
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect()
}

/// Converts an answer of `library_api` to a reply of the server. If the answer is a transcode that
/// cannot run at the moment, the server sends `busy` instead.
fn reply(response: Response, busy: Response) -> Reply {
    match response {
        Response::Transcoded { .. } => {
            let Response::Document {
                media_type, body, ..
            } = busy
            else {
                unreachable!("the response of a busy server is a document");
            };
            let busy = BusyResponse {
                media_type,
                body: body.into(),
            };
            transcoded(response, busy, fields(&[ANYWHERE]))
        }
        other => {
            let mut reply = to_reply(other);
            if let Reply::Whole { fields: sent, .. }
            | Reply::Internal { fields: sent, .. }
            | Reply::Archive { fields: sent, .. } = &mut reply
            {
                sent.extend(fields(&[ANYWHERE]));
            }
            reply
        }
    }
}

/// Converts an answer with a transcode to a reply. The server sends `busy` instead if the transcode
/// cannot run at the moment.
fn transcoded(response: Response, busy: BusyResponse, fields: Vec<Field>) -> Reply {
    let Response::Transcoded {
        target,
        user,
        plan,
        allow_streaming,
        fallback_to_original,
    } = response
    else {
        unreachable!("callers pass only transcodes");
    };
    Reply::Transcoded(TranscodeRequest {
        target,
        user,
        plan,
        allow_streaming,
        fallback_to_original,
        busy,
        fields,
    })
}

fn to_reply(response: Response) -> Reply {
    match response {
        Response::Transcoded { .. } => unreachable!("the caller passes these to `transcoded`"),
        Response::Comparison { target } => Reply::Comparison {
            target,
            fields: Vec::new(),
        },
        Response::Archive { files, disposition } => {
            let fields = vec![("content-disposition".into(), disposition.into())];
            let files = files
                .into_iter()
                .map(|(path, name)| ArchiveFile { path, name });
            Reply::Archive {
                files: files.collect(),
                fields,
            }
        }
        Response::Document {
            status,
            media_type,
            body,
            allow,
        } => {
            let mut fields = fields(&[
                ("content-type", media_type),
                ("cache-control", "no-store"),
                ("x-content-type-options", "nosniff"),
            ]);
            fields.extend(allow.map(|allow| ("allow".into(), allow.into())));
            Reply::Whole {
                status,
                fields,
                body: body.into(),
            }
        }
        Response::File {
            target,
            disposition,
        } => {
            let mut fields = Vec::new();
            fields.extend(disposition.map(|it| ("content-disposition".into(), it.into())));
            Reply::Internal { target, fields }
        }
        Response::Variant { target } => Reply::Variant {
            target,
            fields: Vec::new(),
        },
        Response::Motion { path, video } => Reply::Section {
            path,
            section: FileSection {
                etag: video.etag,
                range: video.range,
                media_type: "video/mp4",
            },
            fields: fields(&[SAME_ORIGIN]),
        },
        Response::Original { path, disposition } => {
            let fields = fields(&[SAME_ORIGIN]);
            let disposition = ("content-disposition".into(), disposition.into());
            Reply::Original {
                path,
                fields: fields.into_iter().chain([disposition]).collect(),
            }
        }
    }
}

fn preflight() -> Reply {
    Reply::Whole {
        status: 204,
        fields: fields(&[
            ("allow", "GET, HEAD, POST, OPTIONS"),
            ("access-control-allow-methods", "GET, HEAD, POST, OPTIONS"),
            ("access-control-allow-headers", "*"),
            ("access-control-max-age", "86400"),
            ANYWHERE,
        ]),
        body: bytes::Bytes::new(),
    }
}

fn not_allowed(allow: &'static str) -> Reply {
    Reply::Whole {
        status: 405,
        fields: fields(&[("allow", allow), ("cache-control", "no-store")]),
        body: bytes::Bytes::new(),
    }
}

//! Mounts: handlers of paths outside the library. The program that assembles the server gives each
//! mount a path prefix.
//!
//! ```text
//! request ─► a mount's prefix? ─yes─► body, read whole ─► Mount::answer ─┬─ Whole ─────► bytes
//!                  └─ no ─► the library ◄───────── another target ─ Internal
//!                                └─ transcoder ◄── a plan for it ─ Transcoded
//! ```

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::HeaderName;
use http1::{Fields as RequestFields, Method, Reject, Request, Target};
use tokio::time::Instant;

use crate::answer::{Answer, Fields, Payload, Shape};
use crate::archive::{Archive, ArchiveFile};
use crate::core::{Core, TranscodeBody};
use crate::gate::{Admission, Part, Users};
use crate::metrics::Served;
use crate::problem::Problem;
use crate::service::blocking;

/// Handler of all targets below one path prefix.
pub trait Mount: Send + Sync {
    /// Responds to one request. Runs on a core's thread and must not block it: work that sleeps
    /// belongs on `spawn_blocking` or on a separate thread. The future is dropped when the client
    /// disconnects.
    fn answer<'a>(&'a self, visit: MountRequest<'a>) -> Pin<Box<dyn Future<Output = Reply> + 'a>>;

    /// Appends the mount's metrics: OpenMetrics families with names of their own.
    fn metrics(&self, _out: &mut String) {}

    /// Returns whether queries may contain secrets. The access log then records the path only.
    fn has_secret_queries(&self) -> bool {
        false
    }

    /// Returns the part of the server that the mount belongs to, for access control.
    fn part(&self) -> Part {
        Part::Files
    }

    /// Returns whether its [`Reply::Internal`] may name targets that clients cannot: internal
    /// folders, and music that needs a login.
    fn reaches_internal(&self) -> bool {
        false
    }
}

/// Request to a mount.
#[derive(Clone, Debug)]
pub struct MountRequest<'a> {
    /// Name of the method. A mount may treat HEAD like GET: the body is omitted.
    pub method: &'a str,
    /// Whole path, as the client sent it.
    pub path: &'a str,
    /// Text behind the first `?`.
    pub query: Option<&'a str>,
    /// Fields in order.
    pub fields: RequestFields<'a>,
    /// Whole body.
    pub body: Bytes,
    /// Address of the client.
    pub peer: IpAddr,
    /// True if the request arrived over TLS.
    pub secure: bool,
}

/// Name and value of a field.
pub type Field = (Cow<'static, str>, Cow<'static, str>);

/// Response of a mount.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A complete response.
    Whole {
        /// Status from 200 to 599.
        status: u16,
        /// Fields except Content-Length, Date and those of the connection, which are ignored, as
        /// are invalid fields.
        fields: Vec<Field>,
        /// Body of the response.
        body: Bytes,
    },
    /// The library's response for another target, with negotiation, validators, ranges and HEAD.
    Internal {
        /// Path and query, escaped as in a request.
        target: String,
        /// Additional fields, which replace fields of the same name.
        fields: Vec<Field>,
    },
    /// A track, transcoded by a plan and sent like any file.
    Transcoded(Transcoding),
    /// Files of the library as one uncompressed ZIP archive.
    Archive {
        /// Files in order.
        files: Vec<ArchiveFile>,
        /// Fields as in [`Reply::Whole`], without Content-Type.
        fields: Vec<Field>,
    },
}

/// Transcoded track.
#[derive(Clone, Debug)]
pub struct Transcoding {
    /// Target as in [`Reply::Internal`].
    pub target: String,
    /// Plan of the transcoding.
    pub plan: Box<audio_plan::Plan>,
    /// User who sent the request: tracks of different users take turns.
    pub user: Arc<str>,
    /// True if the track may be sent while it is produced, without a length, unless the request has
    /// ranges or conditions.
    pub allow_streaming: bool,
    /// True if the original is an acceptable fallback; otherwise a failure is a problem document.
    pub fallback_to_original: bool,
    /// Body of the 429 response if too many tracks are waiting.
    pub busy: BusyResponse,
    /// Fields as in [`Reply::Internal`].
    pub fields: Vec<Field>,
}

/// Response to a player whose track cannot be produced now.
#[derive(Clone, Debug)]
pub struct BusyResponse {
    /// Media type of the body.
    pub media_type: &'static str,
    /// Body of the response.
    pub body: Bytes,
}

/// Mounts of a service with their prefixes. The longest matching prefix wins.
#[derive(Clone, Default)]
pub struct Mounts {
    table: Arc<[(String, Arc<dyn Mount>)]>,
    users: Option<Arc<dyn Users>>,
}

impl Mounts {
    /// Creates the mounts, each with its prefix, such as `/rest`, which matches itself and all
    /// paths below it.
    ///
    /// # Panics
    /// If a prefix does not begin with a slash, or ends with one.
    #[must_use]
    pub fn new(mut table: Vec<(String, Arc<dyn Mount>)>) -> Mounts {
        for (prefix, _) in &table {
            let is_path = prefix.starts_with('/') && !prefix.ends_with('/');
            assert!(is_path, "prefix {prefix:?}");
        }
        table.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        Mounts {
            table: table.into(),
            users: None,
        }
    }

    /// Returns the mounts together with the users who may log in.
    #[must_use]
    pub fn with_users(self, users: Option<Arc<dyn Users>>) -> Mounts {
        Mounts { users, ..self }
    }

    /// Returns the users who may log in, if there are any.
    pub(crate) fn users(&self) -> Option<&Arc<dyn Users>> {
        self.users.as_ref()
    }

    /// Returns the mount of `path`, if any.
    pub(crate) fn find(&self, path: &str) -> Option<&Arc<dyn Mount>> {
        let fits = |prefix: &str| {
            let below = path.strip_prefix(prefix);
            below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
        };
        let mut mounts = self.table.iter();
        mounts
            .find(|(prefix, _)| fits(prefix))
            .map(|(_, mount)| mount)
    }

    /// Returns the metrics of all mounts.
    pub(crate) fn metrics(&self) -> String {
        let mut out = String::new();
        for (_, mount) in self.table.iter() {
            mount.metrics(&mut out);
        }
        out
    }

    /// Returns the part of a request's target that may be logged.
    pub(crate) fn loggable<'t>(&self, target: &'t [u8]) -> &'t [u8] {
        let Some(end) = target.iter().position(|byte| *byte == b'?') else {
            return target;
        };
        // The path of an absolute URI counts.
        let path = str::from_utf8(&target[..end]).unwrap_or("");
        let path = match path.split_once("://") {
            Some((_, rest)) => rest.find('/').map_or("", |begin| &rest[begin..]),
            None => path,
        };
        match self.find(path) {
            Some(mount) if mount.has_secret_queries() => &target[..end],
            _ => target,
        }
    }
}

impl fmt::Debug for Mounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefixes = self.table.iter().map(|(prefix, _)| prefix);
        f.debug_list().entries(prefixes).finish()
    }
}

/// Context of a request, without its head.
#[derive(Debug)]
pub(crate) struct RequestContext {
    pub(crate) body: Upload,
    pub(crate) peer: IpAddr,
    /// Index of the listener that accepted the connection.
    pub(crate) listener: usize,
    pub(crate) secure: bool,
    /// True if the client's protocol supports bodies of unknown length.
    pub(crate) supports_streaming: bool,
}

/// Bodies of requests to mounts on one core whose responses are pending.
#[derive(Debug, Default)]
pub(crate) struct Uploads {
    /// Total size in bytes.
    bytes: Cell<usize>,
    /// Bodies that no mount has taken yet, oldest first.
    coming: RefCell<Vec<Rc<IncomingBody>>>,
}

/// Body that is being received.
#[derive(Debug)]
struct IncomingBody {
    begun: Instant,
    counted: Cell<usize>,
    /// Bytes so far; `None` after the body was dropped, or taken by a mount.
    bytes: RefCell<Option<Vec<u8>>>,
}

impl Uploads {
    /// Drops the oldest body that has been arriving for [`SLOW_TIME`] and is not `wanted`. Returns
    /// whether there was one.
    fn drop_slow_body(&self, wanted: Option<&Rc<IncomingBody>>) -> bool {
        let mut coming = self.coming.borrow_mut();
        let is_slow = |it: &Rc<IncomingBody>| {
            SLOW_TIME <= it.begun.elapsed() && wanted.is_none_or(|wanted| !Rc::ptr_eq(it, wanted))
        };
        let Some(at) = coming.iter().position(is_slow) else {
            return false;
        };
        let slow = coming.remove(at);
        *slow.bytes.borrow_mut() = None;
        self.bytes.set(self.bytes.get() - slow.counted.take());
        true
    }

    fn forget(&self, gone: &Rc<IncomingBody>) {
        self.coming.borrow_mut().retain(|it| !Rc::ptr_eq(it, gone));
    }
}

/// Time after which a body is dropped if its memory is needed. At a megabit per second, a form of
/// one MiB takes eight seconds.
const SLOW_TIME: Duration = Duration::from_secs(10);

/// Rejection of a body that arrived too slowly: RFC 9110 §15.5.9.
pub(crate) const TOO_SLOW: Reject = Reject {
    status: 408,
    reason: "the body arrived too slowly",
};

/// Body of a request to a mount. It counts among its core's bodies until the response.
#[derive(Debug)]
pub(crate) struct Upload {
    /// `None` until the first bytes arrive.
    coming: Option<Rc<IncomingBody>>,
    all: Rc<Uploads>,
}

/// Rejection of a body that was dropped.
const BODY_DROPPED: Reject = Reject {
    status: 408,
    reason: "the body arrived too slowly, and its memory was needed",
};

impl Upload {
    /// Returns an empty body that counts in `all`.
    pub(crate) fn new(all: &Rc<Uploads>) -> Upload {
        Upload {
            coming: None,
            all: Rc::clone(all),
        }
    }

    /// Appends received bytes. If all bodies of the core together would exceed `all_bytes_max`,
    /// slow ones are dropped; without a slow one, this body is refused.
    pub(crate) fn add(&mut self, part: &[u8], all_bytes_max: usize) -> Result<(), Reject> {
        const MEMORY_FULL: Reject = Reject {
            status: 503,
            reason: "too many request bodies are being received",
        };
        while all_bytes_max < self.all.bytes.get() + part.len() {
            if !self.all.drop_slow_body(self.coming.as_ref()) {
                return Err(MEMORY_FULL);
            }
        }
        let coming = self.coming.get_or_insert_with(|| {
            let coming = Rc::new(IncomingBody {
                begun: Instant::now(),
                counted: Cell::new(0),
                bytes: RefCell::new(Some(Vec::new())),
            });
            self.all.coming.borrow_mut().push(Rc::clone(&coming));
            coming
        });
        let mut bytes = coming.bytes.borrow_mut();
        bytes.as_mut().ok_or(BODY_DROPPED)?.extend_from_slice(part);
        coming.counted.set(coming.counted.get() + part.len());
        self.all.bytes.set(self.all.bytes.get() + part.len());
        Ok(())
    }

    /// Returns the received bytes.
    ///
    /// # Errors
    /// If the body was dropped.
    fn take(&mut self) -> Result<Bytes, Reject> {
        let Some(coming) = &self.coming else {
            return Ok(Bytes::new());
        };
        self.all.forget(coming);
        let bytes = coming.bytes.borrow_mut().take();
        bytes.map(Bytes::from).ok_or(BODY_DROPPED)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Some(coming) = &self.coming {
            self.all.forget(coming);
            self.all
                .bytes
                .set(self.all.bytes.get() - coming.counted.get());
        }
    }
}

impl Core {
    /// Lets `mount` respond.
    pub(crate) async fn call_mount(
        &self,
        mount: &dyn Mount,
        request: &Request<'_>,
        (came, passed): (&mut RequestContext, Admission),
    ) -> Answer {
        let body = match came.body.take() {
            Ok(body) => body,
            Err(reject) => {
                let problem = Problem::BadRequest {
                    status: reject.status,
                    phrase: reject.reason,
                };
                return self.problem_response(&problem, Shape::UNPARSED);
            }
        };
        let visit = MountRequest {
            method: request.method_name,
            path: request.target.path,
            query: request.target.query,
            fields: request.fields(),
            body,
            peer: came.peer,
            secure: came.secure,
        };
        match mount.answer(visit).await {
            Reply::Whole {
                status,
                fields,
                body,
            } => self.whole_response(status, fields, body, request.method == Method::Head),
            Reply::Internal { target, fields } => {
                let mut internal = *request;
                internal.target = split(&target);
                if request.method != Method::Head {
                    internal.method = Method::Get;
                }
                // A client may have supplied the target that the mount names.
                let mut answer = match mount.reaches_internal() {
                    true => self.internal_file_response(&internal).await,
                    false => self.respond_with_file(&internal, came, passed).await,
                };
                answer.added.extend(admitted(fields));
                answer
            }
            Reply::Transcoded(wanted) => {
                self.transcoded_response(wanted, request, came.supports_streaming)
                    .await
            }
            Reply::Archive { files, fields } => {
                let bodiless = request.method == Method::Head;
                self.archive_response(files, fields, bodiless).await
            }
        }
    }

    fn whole_response(
        &self,
        status: u16,
        fields: Vec<Field>,
        body: Bytes,
        bodiless: bool,
    ) -> Answer {
        let held = match bodiless || body.is_empty() {
            true => Some(body),
            false => self.hold(body),
        };
        match held {
            Some(body) => whole(status, fields, body, bodiless),
            None => self.memory_full_response(bodiless),
        }
    }

    async fn archive_response(
        &self,
        files: Vec<ArchiveFile>,
        fields: Vec<Field>,
        bodiless: bool,
    ) -> Answer {
        let library = Arc::clone(self.service.library());
        let archive = match blocking(move || Archive::plan(&library, files)).await {
            Ok(archive) => archive,
            Err(problem) => {
                let shape = Shape {
                    bodiless,
                    negotiable: false,
                };
                return self.problem_response(&problem, shape);
            }
        };
        let mut fields = admitted(fields);
        fields.push(("content-type".into(), "application/zip".into()));
        fields.push(("cache-control".into(), "private, no-store".into()));
        fields.push(("content-length".into(), archive.left().to_string().into()));
        Answer {
            status: 200,
            served: Served::Mount,
            fields: Fields::Listed(fields),
            added: Vec::new(),
            payload: match bodiless {
                true => Payload::None,
                false => Payload::Archive(Box::new(archive)),
            },
            request_id: None,
        }
    }

    async fn transcoded_response(
        &self,
        wanted: Transcoding,
        request: &Request<'_>,
        supports_streaming: bool,
    ) -> Answer {
        let allow_streaming = wanted.allow_streaming && supports_streaming && is_plain(request);
        let shape = Shape {
            bodiless: request.method == Method::Head,
            negotiable: false,
        };
        let mut internal = *request;
        internal.target = split(&wanted.target);
        if request.method != Method::Head {
            internal.method = Method::Get;
        }
        let path = internal.target.path;
        let heard = self.transcoded(path, &wanted.plan, &wanted.user, allow_streaming);
        let answer = match heard.await {
            Ok(TranscodeBody::Whole(representation)) => {
                self.representation_response(representation, &internal)
            }
            Ok(TranscodeBody::Growing(key, growing)) => self.streaming_response(&key, growing),
            Err(Problem::Busy { retry_after_s }) => {
                return busy_response(&wanted.busy, retry_after_s, shape.bodiless);
            }
            Err(problem) if wanted.fallback_to_original && problem.is_of_media() => {
                self.internal_file_response(&internal).await
            }
            Err(problem) => self.problem_response(&problem, shape),
        };
        Answer {
            added: admitted(wanted.fields),
            ..answer
        }
    }
}

/// Returns whether a request has neither ranges nor conditions.
fn is_plain(request: &Request<'_>) -> bool {
    let mut names = request.fields().map(|(name, _)| name);
    let is_part = |name: &str| {
        let name = name.to_ascii_lowercase();
        name == "range" || name.starts_with("if-")
    };
    request.method != Method::Head && !names.any(is_part)
}

fn busy_response(busy: &BusyResponse, retry_after_s: u64, bodiless: bool) -> Answer {
    let fields = vec![
        ("content-type".into(), busy.media_type.into()),
        ("cache-control".into(), "no-store".into()),
        ("retry-after".into(), retry_after_s.to_string().into()),
    ];
    whole(429, fields, busy.body.clone(), bodiless)
}

fn whole(status: u16, fields: Vec<Field>, body: Bytes, bodiless: bool) -> Answer {
    assert!(
        (200..600).contains(&status),
        "a mount responded with status {status}"
    );
    let mut fields = admitted(fields);
    // RFC 9110 §8.6: Content-Length of a 304 would describe another response.
    if !matches!(status, 204 | 304) {
        let length = body.len().to_string();
        fields.push(("content-length".into(), length.into()));
    }
    Answer {
        status,
        served: Served::Mount,
        fields: Fields::Listed(fields),
        added: Vec::new(),
        payload: match bodiless || matches!(status, 204 | 304) || body.is_empty() {
            true => Payload::None,
            false => Payload::Owned(body),
        },
        request_id: None,
    }
}

/// Fields that belong to the connection or the server.
const RESERVED_FIELDS: [&str; 9] = [
    "connection",
    "content-length",
    "date",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Returns the fields that a mount may set, with names in lower case.
fn admitted(fields: Vec<Field>) -> Vec<Field> {
    let judged = fields.into_iter().filter_map(|(name, value)| {
        let known = HeaderName::from_bytes(name.as_bytes()).ok();
        let Some(known) = known.filter(|known| !RESERVED_FIELDS.contains(&known.as_str())) else {
            tracing::debug!(%name, "field of a mount's response omitted: invalid or reserved name");
            return None;
        };
        let is_same = known.as_str() == name;
        let name = if is_same {
            name
        } else {
            known.as_str().to_owned().into()
        };
        Some((name, value))
    });
    judged.collect()
}

fn split(target: &str) -> Target<'_> {
    match target.split_once('?') {
        Some((path, query)) => Target {
            path,
            query: Some(query),
        },
        None => Target {
            path: target,
            query: None,
        },
    }
}

#[cfg(test)]
mod tests;

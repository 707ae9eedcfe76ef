//! What answers beside the library: whoever put this house together may give it a part of the URL space.
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
use crate::archive::{Archive, Wanted};
use crate::core::{Core, Heard};
use crate::gate::{Part, Passed, Users};
use crate::metrics::Served;
use crate::problem::Problem;
use crate::service::blocking;

/// Answers every target below a path of its own, beside the library.
pub trait Mount: Send + Sync {
    /// Answers one request. Runs on a core's thread and must not block it: what sleeps goes to `spawn_blocking` or to a
    /// thread of its own. Dropped when the client goes.
    fn answer<'a>(&'a self, visit: Visit<'a>) -> Pin<Box<dyn Future<Output = Reply> + 'a>>;

    /// Adds what it counts to the metrics, as families of OpenMetrics with names of its own.
    fn metrics(&self, _out: &mut String) {}

    /// Whether queries may hold secrets: the access log then keeps the path alone.
    fn has_secret_queries(&self) -> bool {
        false
    }

    /// Returns which part of the server it is, where it matters who asks.
    fn part(&self) -> Part {
        Part::Files
    }

    /// Returns whether its [`Reply::Internal`] may name what its client could not: internal directories, and music that takes
    /// a login.
    fn reaches_internal(&self) -> bool {
        false
    }
}

/// What a client asked of a mount.
#[derive(Clone, Debug)]
pub struct Visit<'a> {
    /// The method's name. HEAD may be answered as GET is: the body is left out.
    pub method: &'a str,
    /// The whole path, as the client wrote it.
    pub path: &'a str,
    /// What follows the first `?`.
    pub query: Option<&'a str>,
    /// The fields, in order.
    pub fields: RequestFields<'a>,
    /// The body, whole.
    pub body: Bytes,
    /// The client's address.
    pub peer: IpAddr,
    /// Whether it came over TLS.
    pub secure: bool,
}

/// A name and a value.
pub type Field = (Cow<'static, str>, Cow<'static, str>);

/// What a client gets from a mount.
#[derive(Clone, Debug)]
pub enum Reply {
    /// This.
    Whole {
        /// From 200 to 599.
        status: u16,
        /// All but Content-Length, Date and what concerns the connection; these are left out, and so is what is no field.
        fields: Vec<Field>,
        /// The body.
        body: Bytes,
    },
    /// What a client gets who asks the library for this target: negotiation, validators, ranges and HEAD included.
    Internal {
        /// Path and query, escaped as in a request.
        target: String,
        /// Fields more, or instead of those of the same name.
        fields: Vec<Field>,
    },
    /// What a plan makes of a track, as any file is sent.
    Transcoded(Transcoding),
    /// Files of the library as one ZIP, stored as they are.
    Archive {
        /// The files, in order.
        files: Vec<Wanted>,
        /// As of [`Reply::Whole`], but for Content-Type.
        fields: Vec<Field>,
    },
}

/// A track in fewer bytes.
#[derive(Clone, Debug)]
pub struct Transcoding {
    /// As of [`Reply::Internal`].
    pub target: String,
    /// The plan.
    pub plan: Box<audio_plan::Plan>,
    /// The user who asks: tracks of different users take turns.
    pub user: Arc<str>,
    /// Whether it may be sent while it is made, by and by and without its length, where the request has neither
    /// ranges nor conditions.
    pub pieces_do: bool,
    /// Whether the track as it is will do where it cannot be made; otherwise that is a problem document.
    pub raw_will_do: bool,
    /// What goes with 429, when as many are made as may be.
    pub busy: Apology,
    /// As of [`Reply::Internal`].
    pub fields: Vec<Field>,
}

/// What a player is told whose track cannot be made at the moment.
#[derive(Clone, Debug)]
pub struct Apology {
    /// Of the body.
    pub media_type: &'static str,
    /// What it says.
    pub body: Bytes,
}

/// The mounts of a service, and the paths they stand for. The longest that fits is the right one.
#[derive(Clone, Default)]
pub struct Mounts {
    table: Arc<[(String, Arc<dyn Mount>)]>,
    users: Option<Arc<dyn Users>>,
}

impl Mounts {
    /// Each mount with its prefix, such as `/rest`, which stands for itself and for all that is below it.
    ///
    /// # Panics
    /// When a prefix does not begin with a slash, or ends with one.
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

    /// The same mounts, beside users who may log in.
    #[must_use]
    pub fn with_users(self, users: Option<Arc<dyn Users>>) -> Mounts {
        Mounts { users, ..self }
    }

    /// Who may log in, if anybody may.
    pub(crate) fn users(&self) -> Option<&Arc<dyn Users>> {
        self.users.as_ref()
    }

    /// The mount that `path` belongs to.
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

    /// What all of them count.
    pub(crate) fn metrics(&self) -> String {
        let mut out = String::new();
        for (_, mount) in self.table.iter() {
            mount.metrics(&mut out);
        }
        out
    }

    /// So much of a request's target as may be logged.
    pub(crate) fn loggable<'t>(&self, target: &'t [u8]) -> &'t [u8] {
        let Some(end) = target.iter().position(|byte| *byte == b'?') else {
            return target;
        };
        // An absolute target is looked at from its path on.
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

/// What came with a request besides its head.
#[derive(Debug)]
pub(crate) struct Came {
    pub(crate) body: Upload,
    pub(crate) peer: IpAddr,
    /// By which it came.
    pub(crate) listener: usize,
    pub(crate) secure: bool,
    /// The client's protocol has bodies of unknown length.
    pub(crate) takes_pieces: bool,
}

/// Bodies of requests to mounts that one core has not answered yet.
#[derive(Debug, Default)]
pub(crate) struct Uploads {
    /// Of all of them.
    bytes: Cell<usize>,
    /// Those that no mount has taken yet, the oldest first.
    coming: RefCell<Vec<Rc<Coming>>>,
}

/// A body on its way.
#[derive(Debug)]
struct Coming {
    begun: Instant,
    counted: Cell<usize>,
    /// None once it was given up, or a mount has taken it.
    bytes: RefCell<Option<Vec<u8>>>,
}

impl Uploads {
    /// Gives the oldest body up that has been on its way for [`SLOW_TIME`] and is not `wanted`. Returns whether there is one.
    fn give_one_up(&self, wanted: Option<&Rc<Coming>>) -> bool {
        let mut coming = self.coming.borrow_mut();
        let is_slow = |it: &Rc<Coming>| {
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

    fn forget(&self, gone: &Rc<Coming>) {
        self.coming.borrow_mut().retain(|it| !Rc::ptr_eq(it, gone));
    }
}

/// A body that takes longer is given up when its room is needed. At a megabit a second, a form of a MiB takes eight.
const SLOW_TIME: Duration = Duration::from_secs(10);

/// The answer to a body that came too slowly: RFC 9110 §15.5.9.
pub(crate) const TOO_SLOW: Reject = Reject {
    status: 408,
    reason: "the body took too long",
};

/// The body of a request to a mount. It counts with its core's until its request is answered.
#[derive(Debug)]
pub(crate) struct Upload {
    /// None until something came.
    coming: Option<Rc<Coming>>,
    all: Rc<Uploads>,
}

/// A body that was given up.
const GIVEN_UP: Reject = Reject {
    status: 408,
    reason: "the body took too long, and its room was needed",
};

impl Upload {
    /// An empty one, counted in `all`.
    pub(crate) fn new(all: &Rc<Uploads>) -> Upload {
        Upload {
            coming: None,
            all: Rc::clone(all),
        }
    }

    /// Adds what came. Where all bodies of the core together would then be larger than `all_bytes_max`, slow ones are given
    /// up; without one, this is refused.
    pub(crate) fn add(&mut self, part: &[u8], all_bytes_max: usize) -> Result<(), Reject> {
        const NO_ROOM: Reject = Reject {
            status: 503,
            reason: "too many bodies are on their way",
        };
        while all_bytes_max < self.all.bytes.get() + part.len() {
            if !self.all.give_one_up(self.coming.as_ref()) {
                return Err(NO_ROOM);
            }
        }
        let coming = self.coming.get_or_insert_with(|| {
            let coming = Rc::new(Coming {
                begun: Instant::now(),
                counted: Cell::new(0),
                bytes: RefCell::new(Some(Vec::new())),
            });
            self.all.coming.borrow_mut().push(Rc::clone(&coming));
            coming
        });
        let mut bytes = coming.bytes.borrow_mut();
        bytes.as_mut().ok_or(GIVEN_UP)?.extend_from_slice(part);
        coming.counted.set(coming.counted.get() + part.len());
        self.all.bytes.set(self.all.bytes.get() + part.len());
        Ok(())
    }

    /// Hands out what came.
    ///
    /// # Errors
    /// It was given up.
    fn take(&mut self) -> Result<Bytes, Reject> {
        let Some(coming) = &self.coming else {
            return Ok(Bytes::new());
        };
        self.all.forget(coming);
        let bytes = coming.bytes.borrow_mut().take();
        bytes.map(Bytes::from).ok_or(GIVEN_UP)
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
    /// Has `mount` answer.
    pub(crate) async fn answer_mounted(
        &self,
        mount: &dyn Mount,
        request: &Request<'_>,
        (came, passed): (&mut Came, Passed),
    ) -> Answer {
        let body = match came.body.take() {
            Ok(body) => body,
            Err(reject) => {
                let problem = Problem::BadRequest {
                    status: reject.status,
                    phrase: reject.reason,
                };
                return self.answer_problem(&problem, Shape::UNREAD);
            }
        };
        let visit = Visit {
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
            } => self.answer_whole(status, fields, body, request.method == Method::Head),
            Reply::Internal { target, fields } => {
                let mut internal = *request;
                internal.target = split(&target);
                if request.method != Method::Head {
                    internal.method = Method::Get;
                }
                // What others name, a client might have had them name.
                let mut answer = match mount.reaches_internal() {
                    true => self.answer_file(&internal).await,
                    false => self.answer_public(&internal, came, passed).await,
                };
                answer.added.extend(admitted(fields));
                answer
            }
            Reply::Transcoded(wanted) => {
                self.answer_transcoded(wanted, request, came.takes_pieces)
                    .await
            }
            Reply::Archive { files, fields } => {
                let bodiless = request.method == Method::Head;
                self.answer_archive(files, fields, bodiless).await
            }
        }
    }

    fn answer_whole(&self, status: u16, fields: Vec<Field>, body: Bytes, bodiless: bool) -> Answer {
        let held = match bodiless || body.is_empty() {
            true => Some(body),
            false => self.hold(body),
        };
        match held {
            Some(body) => whole(status, fields, body, bodiless),
            None => self.answer_full(bodiless),
        }
    }

    async fn answer_archive(
        &self,
        files: Vec<Wanted>,
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
                return self.answer_problem(&problem, shape);
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

    async fn answer_transcoded(
        &self,
        wanted: Transcoding,
        request: &Request<'_>,
        takes_pieces: bool,
    ) -> Answer {
        let pieces_do = wanted.pieces_do && takes_pieces && is_plain(request);
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
        let heard = self.transcoded(path, &wanted.plan, &wanted.user, pieces_do);
        let answer = match heard.await {
            Ok(Heard::Whole(representation)) => self.answer_with(representation, &internal),
            Ok(Heard::Growing(key, growing)) => self.answer_growing(&key, growing),
            Err(Problem::Busy { retry_after_s }) => {
                return sorry(&wanted.busy, retry_after_s, shape.bodiless);
            }
            Err(problem) if wanted.raw_will_do && problem.is_of_media() => {
                self.answer_file(&internal).await
            }
            Err(problem) => self.answer_problem(&problem, shape),
        };
        Answer {
            added: admitted(wanted.fields),
            ..answer
        }
    }
}

/// Whether a request wants all of something, whatever it has already.
fn is_plain(request: &Request<'_>) -> bool {
    let mut names = request.fields().map(|(name, _)| name);
    let is_part = |name: &str| {
        let name = name.to_ascii_lowercase();
        name == "range" || name.starts_with("if-")
    };
    request.method != Method::Head && !names.any(is_part)
}

fn sorry(busy: &Apology, retry_after_s: u64, bodiless: bool) -> Answer {
    let fields = vec![
        ("content-type".into(), busy.media_type.into()),
        ("cache-control".into(), "no-store".into()),
        ("retry-after".into(), retry_after_s.to_string().into()),
    ];
    whole(429, fields, busy.body.clone(), bodiless)
}

fn whole(status: u16, fields: Vec<Field>, body: Bytes, bodiless: bool) -> Answer {
    assert!((200..600).contains(&status), "status {status} of a mount");
    let mut fields = admitted(fields);
    // RFC 9110 §8.6: a 304 would tell another answer's length.
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

/// Fields that are the connection's business, or ours.
const OURS: [&str; 9] = [
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

/// Those fields that a mount may set, their names in lower case.
fn admitted(fields: Vec<Field>) -> Vec<Field> {
    let judged = fields.into_iter().filter_map(|(name, value)| {
        let known = HeaderName::from_bytes(name.as_bytes()).ok();
        let Some(known) = known.filter(|known| !OURS.contains(&known.as_str())) else {
            tracing::debug!(%name, "a mount's field is left out");
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

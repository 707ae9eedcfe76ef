//! Routing: from a request to its response. Decides the handler, the representation, preconditions
//! and ranges. [`crate::head`] then writes the decision for HTTP/1.1 or HTTP/2.

use std::fs::File;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use conversion::growing::Growing;
use http1::conditional::{self, Verdict};
use http1::{Method, Request, accept, range};
use image_plan::Accepts;
use variants::cache::Key;
use variants::sealed::Sealed;

use crate::archive::Archive;
use crate::core::{Core, Reach};
use crate::favicon;
use crate::gallery::{PAGE, POLICY};
use crate::gate::Admission;
use crate::metrics::Served;
use crate::mount::{Field, RequestContext};
use crate::parted::Parted;
use crate::problem::Problem;
use crate::representation::{Bytes, Representation};
use crate::request_id::RequestId;
use crate::scheme::Scheme;
use crate::service::METRICS_PATH;

/// Response to one request, before it is written.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) served: Served,
    pub(crate) fields: Fields,
    /// Further fields, which replace fields of the same name. A mount adds them to a file of the
    /// library.
    pub(crate) added: Vec<Field>,
    pub(crate) payload: Payload,
    /// Request id that the body contains, if any.
    pub(crate) request_id: Option<RequestId>,
}

/// Fields of a response, without Date and the fields of the connection.
#[derive(Debug)]
pub(crate) enum Fields {
    /// Fields of a 200 response.
    Whole(Rc<Representation>),
    /// Fields of a 206 response with the bytes `start..end`.
    Part(Rc<Representation>, u64, u64),
    /// Fields of a 304 response.
    NotModified(Rc<Representation>),
    /// Fields of a response without a representation, in order.
    Listed(Vec<Field>),
}

/// Body that follows the head.
#[derive(Debug)]
pub(crate) enum Payload {
    None,
    Owned(bytes::Bytes),
    Memory(Arc<[u8]>, Range<usize>),
    File(Arc<File>, Range<u64>),
    Sealed(Arc<Sealed>, Range<u64>),
    /// Several ranges of a file.
    Parted(Box<Parted>),
    /// Transcoded track that is still being produced.
    Growing(Arc<Growing>),
    /// ZIP archive of several files, produced while it is sent.
    Archive(Box<Archive>),
}

impl Payload {
    pub(crate) fn len(&self) -> u64 {
        match self {
            // The length is unknown; bytes are counted as they are sent.
            Payload::None | Payload::Growing(_) => 0,
            Payload::Owned(bytes) => bytes.len() as u64,
            Payload::Archive(archive) => archive.left(),
            Payload::Parted(parted) => parted.length,
            Payload::Memory(_, range) => range.len() as u64,
            Payload::File(_, range) | Payload::Sealed(_, range) => range.end - range.start,
        }
    }
}

/// Response that is not a file.
struct Document {
    media_type: &'static str,
    text: String,
    /// Target of a redirect.
    location: Option<&'static str>,
}

/// Properties of a request that every response to it must respect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// True for HEAD: the body is omitted.
    pub(crate) bodiless: bool,
    /// True if another `Accept` could have produced another response.
    pub(crate) negotiable: bool,
}

impl Shape {
    /// Returns the shape for a request that could not be parsed.
    pub(crate) const UNPARSED: Shape = Shape {
        bodiless: false,
        negotiable: false,
    };
}

const ALLOW: &str = "GET, HEAD, OPTIONS";
/// RFC 7617 §2.1: names and passwords are UTF-8.
const CHALLENGE: &str = "Basic realm=\"Pelton\", charset=\"UTF-8\"";
/// Host faults need an operator, so clients are asked to back off.
const HOST_RETRY_AFTER_S: &str = "30";

impl Core {
    /// Returns the response if it needs no waiting: a cache hit, or a target of another listener.
    pub(crate) fn respond_if_ready(
        &self,
        listener: usize,
        request: &Request<'_>,
    ) -> Option<Answer> {
        if let Scheme::Redirect(https) = self.scheme(listener)
            && let Some(answer) = self.redirect_to_https(https, request)
        {
            return Some(answer);
        }
        if !matches!(request.method, Method::Get | Method::Head) {
            return None;
        }
        let representation = self.ready(request, accepts(request), Reach::Public)?;
        let passed = self.passes_ready(listener, request, &representation)?;
        let mut answer = self.representation_response(representation, request);
        if passed == Admission::Known {
            answer.make_private();
        }
        Some(answer)
    }

    /// Responds to all other requests: mounts, documents, errors, and pictures that must be looked
    /// up or converted. Text is compressed if the client accepts that.
    pub(crate) async fn respond_slowly(
        &self,
        request: &Request<'_>,
        came: &mut RequestContext,
    ) -> Answer {
        let shape = Shape {
            bodiless: request.method == Method::Head,
            negotiable: false,
        };
        let mut answer = match self.passes(request, came).await {
            Ok(passed) => self.respond_to_admitted(request, came, passed).await,
            Err(problem) => self.problem_response(&problem, shape),
        };
        self.admit_origin(request, &mut answer);
        self.encoded(answer, request).await
    }

    async fn respond_to_admitted(
        &self,
        request: &Request<'_>,
        came: &mut RequestContext,
        passed: Admission,
    ) -> Answer {
        let mut answer = match self.respond_outside_library(request, came, passed).await {
            Some(answer) => answer,
            None => return self.respond_with_file(request, came, passed).await,
        };
        if passed == Admission::Known {
            answer.make_private();
        }
        answer
    }

    /// Responds with a file to a client that passed the gate so far. The file may turn out to need
    /// a login.
    pub(crate) async fn respond_with_file(
        &self,
        request: &Request<'_>,
        came: &RequestContext,
        passed: Admission,
    ) -> Answer {
        let shape = Shape {
            bodiless: request.method == Method::Head,
            negotiable: true,
        };
        let made = self.make(request, accepts(request), Reach::Public);
        let judged = match made.await {
            Ok(representation) => {
                let passed = self.passes_with(passed, &representation, request, came);
                passed.await.map(|passed| (passed, representation))
            }
            Err(problem) => Err(problem),
        };
        match judged {
            Ok((passed, representation)) => {
                let mut answer = self.representation_response(representation, request);
                if passed == Admission::Known {
                    answer.make_private();
                }
                answer
            }
            Err(problem @ Problem::NotFound) => {
                self.respond_without_file(request, &problem, shape).await
            }
            Err(problem) => self.problem_response(&problem, shape),
        }
    }

    /// Responds to a target that is not a file: with the favicon, or with a redirect.
    async fn respond_without_file(
        &self,
        request: &Request<'_>,
        problem: &Problem,
        shape: Shape,
    ) -> Answer {
        if request.target.path == favicon::PATH {
            return favicon::answer(shape.bodiless);
        }
        match self.redirect_missing(request).await {
            Some(moved) => moved,
            None => self.problem_response(problem, shape),
        }
    }

    /// Responds with a mount, a document or an error if the target is not in the library.
    async fn respond_outside_library(
        &self,
        request: &Request<'_>,
        came: &mut RequestContext,
        passed: Admission,
    ) -> Option<Answer> {
        if let Some(preflight) = self.preflight_response(request) {
            return Some(preflight);
        }
        if let Some(mount) = self.service.mounts.find(request.target.path) {
            let answer = self.call_mount(&**mount, request, (came, passed));
            return Some(Box::pin(answer).await);
        }
        let shape = Shape {
            bodiless: request.method == Method::Head,
            negotiable: false,
        };
        match request.method {
            Method::Options => {
                let mut fields: Vec<Field> = vec![("allow".into(), ALLOW.into())];
                fields.extend(self.service.settings.cors.preflight(request));
                return Some(Answer {
                    status: 204,
                    served: Served::Other,
                    fields: Fields::Listed(fields),
                    added: Vec::new(),
                    payload: Payload::None,
                    request_id: None,
                });
            }
            Method::Other => {
                return Some(self.problem_response(&Problem::MethodNotAllowed, shape));
            }
            Method::Get | Method::Head => {}
        }
        Some(match self.document(request).await? {
            Ok(document) => self.document_response(document, shape),
            Err(problem) => self.problem_response(&problem, shape),
        })
    }

    /// Counts a body in memory until its client has received it. Returns `None` if the limit is
    /// reached.
    pub(crate) fn hold(&self, body: bytes::Bytes) -> Option<bytes::Bytes> {
        let bytes_max = self.service.settings.limits.mount_answers_bytes;
        self.service.answer_memory.hold(body, bytes_max)
    }

    /// Returns the response for a body that [`Core::hold`] refused.
    pub(crate) fn memory_full_response(&self, bodiless: bool) -> Answer {
        const RETRY_AFTER_S: u64 = 5;
        let problem = Problem::ResponseMemoryFull {
            retry_after_s: RETRY_AFTER_S,
        };
        let shape = Shape {
            bodiless,
            negotiable: false,
        };
        self.problem_response(&problem, shape)
    }

    fn document_response(&self, document: Document, shape: Shape) -> Answer {
        /// Shorter bodies are always sent, so that a full memory does not fail health checks.
        const HELD_BYTES_MIN: usize = 1_024;
        let length = document.text.len();
        let payload = if shape.bodiless || length == 0 {
            Payload::None
        } else if length < HELD_BYTES_MIN {
            Payload::Owned(document.text.into())
        } else {
            match self.hold(document.text.into()) {
                Some(body) => Payload::Owned(body),
                None => return self.memory_full_response(shape.bodiless),
            }
        };
        let mut fields: Vec<Field> = vec![
            ("content-type".into(), document.media_type.into()),
            ("cache-control".into(), "no-store".into()),
            ("x-content-type-options".into(), "nosniff".into()),
            ("content-security-policy".into(), POLICY.into()),
            ("content-length".into(), length.to_string().into()),
        ];
        fields.extend(
            document
                .location
                .map(|location| ("location".into(), location.into())),
        );
        Answer {
            status: if document.location.is_some() {
                303
            } else {
                200
            },
            served: Served::Other,
            fields: Fields::Listed(fields),
            added: Vec::new(),
            payload,
            request_id: None,
        }
    }

    /// Responds with the library's file at a target that the server itself composed.
    pub(crate) async fn internal_file_response(&self, request: &Request<'_>) -> Answer {
        let reach = Reach::Internal;
        if let Some(ready) = self.ready(request, accepts(request), reach) {
            return self.representation_response(ready, request);
        }
        let shape = Shape {
            bodiless: request.method == Method::Head,
            negotiable: true,
        };
        match self.make(request, accepts(request), reach).await {
            Ok(representation) => self.representation_response(representation, request),
            Err(problem) => self.problem_response(&problem, shape),
        }
    }

    /// Returns the document at a target, if the target names one.
    async fn document(&self, request: &Request<'_>) -> Option<Result<Document, Problem>> {
        const TEXT: &str = "text/plain; charset=utf-8";
        const HTML: &str = "text/html; charset=utf-8";
        const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        let plain = |media_type, text| Document {
            media_type,
            text,
            location: None,
        };
        Some(match request.target.path {
            "/" | "/-" => Ok(Document {
                media_type: TEXT,
                text: String::new(),
                location: Some(PAGE),
            }),
            "/healthz" | "/-/live" => Ok(plain(TEXT, "ok\n".to_owned())),
            "/-/ready" if self.reactor.is_draining() => Err(Problem::Host),
            "/-/ready" => Ok(plain(TEXT, "ready\n".to_owned())),
            METRICS_PATH => {
                self.reactor.publish();
                Ok(plain(METRICS, self.service.render_metrics()))
            }
            path if path.starts_with(PAGE) => self
                .service
                .gallery(path)
                .await
                .map(|text| plain(HTML, text)),
            path => match self.ask(&request.target) {
                Ok(ask) if ask.meta => {
                    let described = match self.service.library().path_for_clients(path) {
                        Some(path) => self.service.describe(&path, ask.recipe).await,
                        None => Err(Problem::NotFound),
                    };
                    described.map(|text| plain("application/json", text))
                }
                // An invalid query is reported by the code that looks up the file, since a missing
                // file takes precedence.
                _ => return None,
            },
        })
    }

    pub(crate) fn representation_response(
        &self,
        representation: Rc<Representation>,
        request: &Request<'_>,
    ) -> Answer {
        let validators = representation.validators(self.now_unix_s());
        let shape = Shape {
            bodiless: request.method == Method::Head,
            negotiable: representation.negotiated,
        };
        match conditional::evaluate(request, &validators) {
            Verdict::Proceed => {}
            Verdict::NotModified => {
                return Answer {
                    status: 304,
                    served: representation.served,
                    fields: Fields::NotModified(representation),
                    added: Vec::new(),
                    payload: Payload::None,
                    request_id: None,
                };
            }
            Verdict::PreconditionFailed => {
                return self.problem_response(&Problem::PreconditionFailed, shape);
            }
        }
        let length = representation.length;
        let (status, start, end) = match range::evaluate(request, &validators, length) {
            range::Served::Whole => (200, 0, length),
            range::Served::Part { start, end } => (206, start, end),
            range::Served::Parts(parts) => {
                return self.multipart_response(&representation, &parts, request);
            }
            range::Served::Unsatisfiable => {
                return self.problem_response(&Problem::RangeNotSatisfiable(length), shape);
            }
        };
        let payload = if shape.bodiless {
            Payload::None
        } else {
            representation.payload(start, end)
        };
        Answer {
            status,
            served: representation.served,
            fields: match status {
                200 => Fields::Whole(representation),
                _ => Fields::Part(representation, start, end),
            },
            added: self.reflected(request),
            payload,
            request_id: None,
        }
    }

    /// Responds with several ranges of a representation.
    fn multipart_response(
        &self,
        representation: &Representation,
        parts: &range::Parts,
        request: &Request<'_>,
    ) -> Answer {
        // The boundary contains the request id, which the author of the file could not know.
        let named = format!("{} {}", self.next_request_id(), self.now_unix_s());
        let boundary = &blake3::hash(named.as_bytes()).to_hex()[..32];
        let parted = Parted::new(representation, parts, boundary);
        Answer {
            status: 206,
            served: representation.served,
            fields: Fields::Listed(representation.parted_fields(boundary, parted.length)),
            added: self.reflected(request),
            payload: match parted.joined() {
                Some(body) => Payload::Owned(body.into()),
                None => Payload::Parted(Box::new(parted)),
            },
            request_id: None,
        }
    }

    /// Returns the fields that depend on the origin of `request`. Empty if all origins are treated
    /// alike.
    fn reflected(&self, request: &Request<'_>) -> Vec<Field> {
        let field = self.service.settings.cors.reflected(request);
        field.into_iter().collect()
    }

    /// Responds with a track that is still being produced and will be stored under `key`.
    pub(crate) fn streaming_response(&self, key: &Key, growing: Arc<Growing>) -> Answer {
        let age_s = self.service.settings.max_age_s;
        Answer {
            status: 200,
            served: Served::Miss,
            fields: Fields::Listed(vec![
                ("content-type".into(), audio_plan::MEDIA_TYPE.into()),
                ("etag".into(), format!("\"{key}\"").into()),
                (
                    "cache-control".into(),
                    format!("public, max-age={age_s}").into(),
                ),
                ("accept-ranges".into(), "bytes".into()),
                ("x-content-type-options".into(), "nosniff".into()),
                ("cache-status".into(), "Pelton; fwd=uri-miss; stored".into()),
            ]),
            added: Vec::new(),
            payload: Payload::Growing(growing),
            request_id: None,
        }
    }

    pub(crate) fn problem_response(&self, problem: &Problem, shape: Shape) -> Answer {
        let request_id = self.next_request_id();
        let text = problem.document(request_id);
        let mut fields: Vec<Field> = vec![
            ("content-type".into(), "application/problem+json".into()),
            ("cache-control".into(), "no-store".into()),
            ("x-content-type-options".into(), "nosniff".into()),
            ("content-length".into(), text.len().to_string().into()),
        ];
        if shape.negotiable {
            fields.push(("vary".into(), "Accept".into()));
        }
        fields.extend(match problem {
            Problem::Unauthorized => Some(("www-authenticate".into(), CHALLENGE.into())),
            Problem::Overloaded { retry_after_s }
            | Problem::ResponseMemoryFull { retry_after_s }
            | Problem::Busy { retry_after_s }
            | Problem::Guessing { retry_after_s } => {
                Some(("retry-after".into(), retry_after_s.to_string().into()))
            }
            Problem::Host => Some(("retry-after".into(), HOST_RETRY_AFTER_S.into())),
            Problem::MethodNotAllowed => Some(("allow".into(), ALLOW.into())),
            Problem::RangeNotSatisfiable(length) => {
                Some(("content-range".into(), format!("bytes */{length}").into()))
            }
            _ => None,
        });
        Answer {
            status: problem.status(),
            served: Served::Other,
            fields: Fields::Listed(fields),
            added: Vec::new(),
            payload: text_for(shape, text),
            request_id: Some(request_id),
        }
    }
}

fn text_for(shape: Shape, text: String) -> Payload {
    if shape.bodiless || text.is_empty() {
        Payload::None
    } else {
        Payload::Owned(text.into())
    }
}

impl Answer {
    /// Adds the operator's fields. Representations contain them already.
    pub(crate) fn complete(&mut self, core: &Core) {
        if let Fields::Listed(fields) = &mut self.fields {
            core.service.settings.headers.complete(fields);
        }
    }
}

impl Representation {
    fn payload(&self, start: u64, end: u64) -> Payload {
        match &self.bytes {
            _ if start == end => Payload::None,
            Bytes::Memory(bytes) => {
                Payload::Memory(Arc::clone(bytes), start as usize..end as usize)
            }
            Bytes::File(file) => Payload::File(Arc::clone(file), start..end),
            Bytes::Sealed(sealed) => {
                let range = sealed.start + start..sealed.start + end;
                Payload::Sealed(Arc::clone(sealed), range)
            }
        }
    }
}

/// Returns the formats that a request accepts.
fn accepts(request: &Request<'_>) -> Accepts {
    let [avif, webp] = accept::fold(request.accept(), &["image/avif", "image/webp"]);
    let named = accept::names(request.accept(), "image/");
    Accepts { avif, webp, named }
}

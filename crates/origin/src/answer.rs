//! From a request to its answer: the route, the representation, preconditions and ranges. [`crate::head`] puts what is
//! decided here into the words of a protocol.

use std::fs::File;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use http1::conditional::{self, Verdict};
use http1::{Method, Request, accept, range};
use picture::Accepts;

use crate::convert::Sealed;
use crate::core::{Core, ask};
use crate::gallery::{PAGE, POLICY};
use crate::growing::Growing;
use crate::library::LibraryPath;
use crate::metrics::Served;
use crate::mount::{Came, Field};
use crate::problem::Problem;
use crate::representation::{Bytes, Representation};
use crate::request_id::RequestId;
use crate::scheme::Scheme;
use crate::variants::Key;

/// What a request gets.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) served: Served,
    pub(crate) fields: Fields,
    /// More of them, or instead of those of the same name; for what a mount sent to the library.
    pub(crate) added: Vec<Field>,
    pub(crate) payload: Payload,
    /// The name that the answer itself gives to its request, if it does.
    pub(crate) request_id: Option<RequestId>,
}

/// The fields of an answer, but for Date and what concerns the connection.
#[derive(Debug)]
pub(crate) enum Fields {
    /// Of a 200.
    Whole(Rc<Representation>),
    /// Of a 206 with the bytes `start..end`.
    Part(Rc<Representation>, u64, u64),
    /// Of a 304.
    NotModified(Rc<Representation>),
    /// Of an answer that is no representation, in order.
    Listed(Vec<Field>),
}

/// The body to send behind the head.
#[derive(Debug)]
pub(crate) enum Payload {
    None,
    Owned(bytes::Bytes),
    Memory(Arc<[u8]>, Range<usize>),
    File(Arc<File>, Range<u64>),
    Sealed(Arc<Sealed>, Range<u64>),
    /// What is still being made, as long as it turns out to be.
    Growing(Arc<Growing>),
}

impl Payload {
    pub(crate) fn len(&self) -> u64 {
        match self {
            // What has gone out is told when it has.
            Payload::None | Payload::Growing(_) => 0,
            Payload::Owned(bytes) => bytes.len() as u64,
            Payload::Memory(_, range) => range.len() as u64,
            Payload::File(_, range) | Payload::Sealed(_, range) => range.end - range.start,
        }
    }
}

/// An answer that is no file.
struct Document {
    media_type: &'static str,
    text: String,
    /// Where to look instead.
    location: Option<&'static str>,
}

/// What a request says about the form of any answer to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// HEAD: everything but the body.
    pub(crate) bodiless: bool,
    /// The answer might have been another with another Accept.
    pub(crate) negotiable: bool,
}

impl Shape {
    /// To a request that could not be read.
    pub(crate) const UNREAD: Shape = Shape {
        bodiless: false,
        negotiable: false,
    };
}

const ALLOW: &str = "GET, HEAD, OPTIONS";
/// What is wrong with the host, an operator has to mend.
const HOST_RETRY_AFTER_S: &str = "30";

impl Core {
    /// Answers at once if that needs no waiting: a hit, or what belongs to another listener than this.
    pub(crate) fn answer_ready(&self, listener: usize, request: &Request<'_>) -> Option<Answer> {
        if let Scheme::Redirect(https) = self.scheme(listener)
            && let Some(answer) = self.answer_elsewhere(https, request)
        {
            return Some(answer);
        }
        if !matches!(request.method, Method::Get | Method::Head) {
            return None;
        }
        let representation = self.ready(&request.target, accepts(request))?;
        Some(self.answer_with(representation, request))
    }

    /// Answers everything else: mounts, documents, errors, and pictures that must be looked for or made.
    pub(crate) async fn answer_slowly(&self, request: &Request<'_>, came: &mut Came) -> Answer {
        if let Some(mount) = self.service.mounts.find(request.target.path) {
            return Box::pin(self.answer_mounted(&**mount, request, came)).await;
        }
        let shape = Shape {
            bodiless: request.method == Method::Head,
            negotiable: false,
        };
        match request.method {
            Method::Options => {
                return Answer {
                    status: 204,
                    served: Served::Other,
                    fields: Fields::Listed(vec![("allow".into(), ALLOW.into())]),
                    added: Vec::new(),
                    payload: Payload::None,
                    request_id: None,
                };
            }
            Method::Other => {
                return self.answer_problem(&Problem::MethodNotAllowed, shape);
            }
            Method::Get | Method::Head => {}
        }
        if let Some(document) = self.document(request).await {
            return match document {
                Ok(document) => answer_document(document, shape),
                Err(problem) => self.answer_problem(&problem, shape),
            };
        }
        self.answer_made(request).await
    }

    /// Answers with what the library has at the request's target, whatever else is there.
    pub(crate) async fn answer_file(&self, request: &Request<'_>) -> Answer {
        match self.ready(&request.target, accepts(request)) {
            Some(representation) => self.answer_with(representation, request),
            None => self.answer_made(request).await,
        }
    }

    async fn answer_made(&self, request: &Request<'_>) -> Answer {
        let shape = Shape {
            bodiless: request.method == Method::Head,
            negotiable: true,
        };
        match self.make(&request.target, accepts(request)).await {
            Ok(representation) => self.answer_with(representation, request),
            Err(problem) => self.answer_problem(&problem, shape),
        }
    }

    /// A document that is no file of the library, if the target names one.
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
            "/-/metrics" => {
                self.reactor.publish();
                Ok(plain(METRICS, self.service.render_metrics()))
            }
            path if path.starts_with(PAGE) => self
                .service
                .gallery(path)
                .await
                .map(|text| plain(HTML, text)),
            path => match ask(&request.target) {
                Ok(ask) if ask.meta => {
                    let described = match LibraryPath::from_target(path) {
                        Some(path) => self.service.describe(&path, ask.recipe).await,
                        None => Err(Problem::NotFound),
                    };
                    described.map(|text| plain("application/json", text))
                }
                // A query that does not fit is told by whoever looks for the file: a missing file comes first.
                _ => return None,
            },
        })
    }

    pub(crate) fn answer_with(
        &self,
        representation: Rc<Representation>,
        request: &Request<'_>,
    ) -> Answer {
        let validators = representation.validators();
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
                return self.answer_problem(&Problem::PreconditionFailed, shape);
            }
        }
        let length = representation.length;
        let (status, start, end) = match range::evaluate(request, &validators, length) {
            range::Served::Whole => (200, 0, length),
            range::Served::Part { start, end } => (206, start, end),
            range::Served::Unsatisfiable => {
                return self.answer_problem(&Problem::RangeNotSatisfiable(length), shape);
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
            added: Vec::new(),
            payload,
            request_id: None,
        }
    }

    /// What is being made, and will be under `key`.
    pub(crate) fn answer_growing(&self, key: &Key, growing: Arc<Growing>) -> Answer {
        let age_s = self.service.settings.max_age_s;
        Answer {
            status: 200,
            served: Served::Miss,
            fields: Fields::Listed(vec![
                ("content-type".into(), sound::MEDIA_TYPE.into()),
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

    pub(crate) fn answer_problem(&self, problem: &Problem, shape: Shape) -> Answer {
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
            Problem::Overloaded { retry_after_s } | Problem::Busy { retry_after_s } => {
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

fn answer_document(document: Document, shape: Shape) -> Answer {
    let mut fields: Vec<Field> = vec![
        ("content-type".into(), document.media_type.into()),
        ("cache-control".into(), "no-store".into()),
        ("x-content-type-options".into(), "nosniff".into()),
        ("content-security-policy".into(), POLICY.into()),
        (
            "content-length".into(),
            document.text.len().to_string().into(),
        ),
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
        payload: text_for(shape, document.text),
        request_id: None,
    }
}

fn text_for(shape: Shape, text: String) -> Payload {
    if shape.bodiless || text.is_empty() {
        Payload::None
    } else {
        Payload::Owned(text.into())
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

/// The formats a request says its client reads.
fn accepts(request: &Request<'_>) -> Accepts {
    let [avif, webp] = accept::fold(request.accept(), &["image/avif", "image/webp"]);
    Accepts { avif, webp }
}

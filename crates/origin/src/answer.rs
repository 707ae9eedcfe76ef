//! From a request to its answer: the route, the representation, preconditions and ranges, the head.

use std::fs::File;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use http1::conditional::{self, Verdict};
use http1::{Connection, Head, Method, Request, accept, range};
use picture::Accepts;

use crate::convert::Sealed;
use crate::core::{Core, ask};
use crate::gallery::{PAGE, POLICY};
use crate::library::LibraryPath;
use crate::metrics::Served;
use crate::problem::Problem;
use crate::representation::{Bytes, Representation};

/// An answer whose head was written.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) served: Served,
    pub(crate) payload: Payload,
}

/// The body to send behind the head.
#[derive(Debug)]
pub(crate) enum Payload {
    None,
    Text(String),
    Memory(Arc<[u8]>, Range<usize>),
    File(Arc<File>, Range<u64>),
    Sealed(Arc<Sealed>, Range<u64>),
}

impl Payload {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Payload::None => 0,
            Payload::Text(text) => text.len() as u64,
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
    connection: Connection,
    /// HEAD: everything but the body.
    bodiless: bool,
    /// The answer might have been another with another Accept.
    negotiable: bool,
}

impl Shape {
    /// To a request that could not be read.
    pub(crate) const CLOSING: Shape = Shape {
        connection: Connection::Close,
        bodiless: false,
        negotiable: false,
    };
}

const ALLOW: &str = "GET, HEAD, OPTIONS";
/// What is wrong with the host, an operator has to mend.
const HOST_RETRY_AFTER_S: &str = "30";

impl Core {
    /// Answers at once if that needs no waiting: a hit.
    pub(crate) fn answer_ready(
        &self,
        request: &Request<'_>,
        connection: Connection,
        out: &mut Vec<u8>,
    ) -> Option<Answer> {
        if !matches!(request.method, Method::Get | Method::Head) {
            return None;
        }
        let representation = self.ready(&request.target, accepts(request))?;
        Some(self.answer_with(&representation, request, connection, out))
    }

    /// Answers everything else: documents, errors, and pictures that must be looked for or made. The head closes
    /// the connection also where a drain began meanwhile.
    pub(crate) async fn answer_slowly(
        &self,
        request: &Request<'_>,
        connection: Connection,
        out: &mut Vec<u8>,
    ) -> Answer {
        // Asked when a head is written: a drain may begin while what is behind it is made.
        let shape = |negotiable| Shape {
            connection: self.last_if_draining(connection),
            bodiless: request.method == Method::Head,
            negotiable,
        };
        match request.method {
            Method::Options => {
                let head = Head::begin(out, 204)
                    .date(&self.reactor.clock().http_date())
                    .field("allow", ALLOW);
                head.finish(connection);
                return Answer {
                    status: 204,
                    served: Served::Other,
                    payload: Payload::None,
                };
            }
            Method::Other => {
                return self.answer_problem(&Problem::MethodNotAllowed, shape(false), out);
            }
            Method::Get | Method::Head => {}
        }
        if let Some(document) = self.document(request).await {
            return match document {
                Ok(document) => self.answer_document(document, shape(false), out),
                Err(problem) => self.answer_problem(&problem, shape(false), out),
            };
        }
        match self.make(&request.target, accepts(request)).await {
            Ok(representation) => {
                let connection = self.last_if_draining(connection);
                self.answer_with(&representation, request, connection, out)
            }
            Err(problem) => self.answer_problem(&problem, shape(true), out),
        }
    }

    fn last_if_draining(&self, connection: Connection) -> Connection {
        if self.reactor.is_draining() {
            Connection::Close
        } else {
            connection
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
            "/-/metrics" => Ok(plain(METRICS, self.service.render_metrics())),
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

    fn answer_with(
        &self,
        representation: &Rc<Representation>,
        request: &Request<'_>,
        connection: Connection,
        out: &mut Vec<u8>,
    ) -> Answer {
        let date = self.reactor.clock().http_date();
        let validators = representation.validators();
        let bodiless = request.method == Method::Head;
        let shape = Shape {
            connection,
            bodiless,
            negotiable: representation.negotiated,
        };
        match conditional::evaluate(request, &validators) {
            Verdict::Proceed => {}
            Verdict::NotModified => {
                representation.write_not_modified(out, &date, connection);
                return Answer {
                    status: 304,
                    served: representation.served,
                    payload: Payload::None,
                };
            }
            Verdict::PreconditionFailed => {
                return self.answer_problem(&Problem::PreconditionFailed, shape, out);
            }
        }
        let length = representation.length;
        let (status, start, end) = match range::evaluate(request, &validators, length) {
            range::Served::Whole => (200, 0, length),
            range::Served::Part { start, end } => (206, start, end),
            range::Served::Unsatisfiable => {
                return self.answer_problem(&Problem::RangeNotSatisfiable(length), shape, out);
            }
        };
        match status {
            200 => representation.write_whole(out, &date, connection),
            _ => representation.write_part(out, &date, connection, (start, end)),
        }
        let payload = if bodiless {
            Payload::None
        } else {
            representation.payload(start, end)
        };
        Answer {
            status,
            served: representation.served,
            payload,
        }
    }

    pub(crate) fn answer_problem(
        &self,
        problem: &Problem,
        shape: Shape,
        out: &mut Vec<u8>,
    ) -> Answer {
        let text = problem.document(self.next_request_id());
        let date = self.reactor.clock().http_date();
        let mut head = Head::begin(out, problem.status())
            .date(&date)
            .field("content-type", "application/problem+json")
            .field("cache-control", "no-store")
            .field("x-content-type-options", "nosniff")
            .content_length(text.len() as u64);
        if shape.negotiable {
            head = head.field("vary", "Accept");
        }
        head = match problem {
            Problem::Overloaded { retry_after_s } => {
                head.field("retry-after", retry_after_s.to_string())
            }
            Problem::Host => head.field("retry-after", HOST_RETRY_AFTER_S),
            Problem::MethodNotAllowed => head.field("allow", ALLOW),
            Problem::RangeNotSatisfiable(length) => head.content_range_unsatisfied(*length),
            _ => head,
        };
        head.finish(shape.connection);
        let payload = if shape.bodiless {
            Payload::None
        } else {
            Payload::Text(text)
        };
        Answer {
            status: problem.status(),
            served: Served::Other,
            payload,
        }
    }

    fn answer_document(&self, document: Document, shape: Shape, out: &mut Vec<u8>) -> Answer {
        let status = if document.location.is_some() {
            303
        } else {
            200
        };
        let mut head = Head::begin(out, status)
            .date(&self.reactor.clock().http_date())
            .field("content-type", document.media_type)
            .field("cache-control", "no-store")
            .field("x-content-type-options", "nosniff")
            .field("content-security-policy", POLICY)
            .content_length(document.text.len() as u64);
        if let Some(location) = document.location {
            head = head.field("location", location);
        }
        head.finish(shape.connection);
        let payload = if shape.bodiless {
            Payload::None
        } else {
            Payload::Text(document.text)
        };
        Answer {
            status,
            served: Served::Other,
            payload,
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
            Bytes::Sealed(sealed) => Payload::Sealed(Arc::clone(sealed), start..end),
        }
    }
}

/// The formats a request says its client reads.
fn accepts(request: &Request<'_>) -> Accepts {
    let [avif, webp] = accept::fold(request.accept(), &["image/avif", "image/webp"]);
    Accepts { avif, webp }
}

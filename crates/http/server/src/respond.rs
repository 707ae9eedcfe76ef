//! Responses with a representation, a track that is still being transcoded, or an error.
//! Preconditions and ranges apply to representations.

use std::rc::Rc;
use std::sync::Arc;

use conversion::growing::Growing;
use http1::conditional::{self, Verdict};
use http1::{Method, Request, range};
use variants::cache::Key;

use crate::core::Core;
use crate::fields::Field;
use crate::file_request::FileRequest;
use crate::metrics::Served;
use crate::parted::Parted;
use crate::problem::Problem;
use crate::representation::{Found, Representation};
use crate::response::{ALLOW, Fields, Payload, Response, Shape};

/// Value of WWW-Authenticate. RFC 7617 §2.1: `charset` says that names and passwords are UTF-8.
const CHALLENGE: &str = "Basic realm=\"Pelton\", charset=\"UTF-8\"";
/// Value of WWW-Authenticate for requests of this server's web page, which has a login form. RFC
/// 9110 §15.5.2 requires a challenge in every 401. For this challenge, unlike `Basic`, browsers
/// show no login window of their own.
const PAGE_CHALLENGE: &str = "Bearer realm=\"Pelton\"";
/// Seconds in Retry-After for a fault of the host, which an operator must fix.
const HOST_RETRY_AFTER_S: &str = "30";

impl Core {
    pub(crate) fn respond_with(&self, found: Found, request: &Request<'_>) -> Response {
        let mut response = self.representation_response(found.representation, request);
        if let Some(conversion) = found.conversion {
            response.report(conversion, &self.service.settings.headers);
        }
        response
    }

    pub(crate) fn representation_response(
        &self,
        representation: Rc<Representation>,
        request: &Request<'_>,
    ) -> Response {
        let validators = representation.validators(self.now_unix_s());
        let shape = Shape {
            bodiless: request.method == Method::Head,
            negotiable: representation.negotiated,
        };
        match conditional::evaluate(request, &validators) {
            Verdict::Proceed => {}
            Verdict::NotModified => {
                return Response {
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
            Payload::of(&representation, start, end)
        };
        Response {
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
    ) -> Response {
        // The boundary is a hash of the request id. The author of the file could not predict it, so
        // the file cannot contain it.
        let named = format!("{} {}", self.next_request_id(), self.now_unix_s());
        let boundary = &blake3::hash(named.as_bytes()).to_hex()[..32];
        let parted = Parted::new(representation, parts, boundary);
        Response {
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

    /// Returns the fields that depend on the Origin of `request`. The list is empty if the response
    /// is the same for all origins.
    fn reflected(&self, request: &Request<'_>) -> Vec<Field> {
        let field = self.service.settings.cors.reflected(request);
        field.into_iter().collect()
    }

    /// Responds with a track that is still being produced and will be stored under `key`.
    pub(crate) fn streaming_response(&self, key: &Key, growing: Arc<Growing>) -> Response {
        let age_s = self.service.settings.max_age_s;
        Response {
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

    /// Responds with a problem of the request `file`. Counts and logs the problem if a rule of the
    /// operator is its reason.
    pub(crate) fn file_problem_response(
        &self,
        problem: &Problem,
        file: &FileRequest<'_>,
        shape: Shape,
    ) -> Response {
        if let Some(denial) = problem.denial() {
            let unix_ms = self.reactor.clock().unix_secs() * 1000;
            let denials = &self.service.denials;
            denials.record(denial, file.target.path, file.peer, unix_ms);
        }
        self.problem_response(problem, shape)
    }

    /// Limits the time for which caches may keep a response to a request whose signature is void
    /// from `until_unix_s` on.
    pub(crate) fn limit_age(&self, response: &mut Response, until_unix_s: u64) {
        if until_unix_s != u64::MAX {
            let left_s = until_unix_s.saturating_sub(self.reactor.clock().unix_secs());
            response.limit_age(left_s);
        }
    }

    pub(crate) fn problem_response(&self, problem: &Problem, shape: Shape) -> Response {
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
            Problem::UnauthorizedPage => Some(("www-authenticate".into(), PAGE_CHALLENGE.into())),
            Problem::Overloaded { retry_after_s }
            | Problem::ResponseMemoryFull { retry_after_s }
            | Problem::Busy { retry_after_s }
            | Problem::TooManyConversions { retry_after_s }
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
        Response {
            status: problem.status(),
            served: Served::Other,
            fields: Fields::Listed(fields),
            added: Vec::new(),
            payload: text_for(shape, text),
            request_id: Some(request_id),
        }
    }

    /// Counts a body towards the memory limit of responses until it is sent. Returns `None` if the
    /// limit is reached.
    pub(crate) fn hold(&self, body: bytes::Bytes) -> Option<bytes::Bytes> {
        let bytes_max = self.service.settings.limits.mount_responses_bytes;
        self.service.response_memory.hold(body, bytes_max)
    }

    /// Returns the response for a body that [`Core::hold`] refused.
    pub(crate) fn memory_full_response(&self, bodiless: bool) -> Response {
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
}

fn text_for(shape: Shape, text: String) -> Payload {
    if shape.bodiless || text.is_empty() {
        Payload::None
    } else {
        Payload::Owned(text.into())
    }
}

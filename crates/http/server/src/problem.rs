//! Errors as clients see them: problem documents (RFC 9457) with a fixed public phrase and a
//! request id.

use std::fmt::Write as _;

use image_plan::Refusal;
use image_plan::iiif::IiifError;
use image_plan::imgproxy::ImgproxyError;
use serde_json::Value;
use variants::cache::Verdict;
use variants::library::{LibraryPath, Missing};

use crate::denial::Denial;
use crate::request_id::RequestId;
use crate::{iiif, imgproxy};

/// Reason why a request gets no representation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The request violates HTTP. The phrase names the violated rule. The connection closes.
    BadRequest {
        /// Status 4xx or 5xx from `http1`.
        status: u16,
        /// Name of the violated rule.
        phrase: &'static str,
    },
    /// A query parameter is invalid; the text names the parameter.
    BadParameter(String),
    /// An imgproxy URL is invalid.
    Imgproxy(ImgproxyError),
    /// A URL of the IIIF Image API is invalid.
    Iiif(IiifError),
    /// An imgproxy URL has expired.
    ExpiredUrl,
    /// The original does not exist, or it may not be served.
    NotFound,
    /// The original has fewer pages than the number of the requested page.
    NoPage {
        /// Number of pages of the original.
        pages: u16,
    },
    /// The original has fewer frames than the number of the requested frame.
    NoFrame {
        /// Number of frames of the original.
        frames: u32,
    },
    /// A request without TLS would be redirected to HTTPS, but no certificate matches its host.
    Misdirected,
    /// The method is not GET, HEAD or OPTIONS.
    MethodNotAllowed,
    /// The precondition in If-Match or If-Unmodified-Since is false.
    PreconditionFailed,
    /// The original, or the requested size, has more pixels or frames than a limit.
    TooLarge,
    /// The original cannot be decoded, and the request asks for a conversion.
    Undecodable,
    /// The requested conversion is not supported for an original of this type, or for an animation.
    Unsupported,
    /// The original is HEIC, HEIF or camera raw without an embedded JPEG preview, and the client
    /// asks for another format or does not name that of the original.
    NoPreview,
    /// The picture cannot be converted, and its original must not be sent.
    OriginalWithheld,
    /// The requested range lies outside a representation of this size in bytes.
    RangeNotSatisfiable(u64),
    /// A login is needed, or the credentials match no user.
    Unauthorized,
    /// A login is needed, and the page that sent the request has a form for it. The browser must
    /// not show its own login window.
    UnauthorizedPage,
    /// The user is not an admin.
    NotAllowed,
    /// Too many logins failed.
    Guessing {
        /// Seconds until the next try is allowed.
        retry_after_s: u64,
    },
    /// The requested host is not a name of this server.
    UnknownHost,
    /// A page of another origin tries to change something.
    ForeignOrigin,
    /// A request with a session cookie would change something. But its Origin field does not prove
    /// that a page of this server sent the request.
    ForeignSession,
    /// Too many transcodes are waiting.
    Busy {
        /// Seconds until a retry may succeed.
        retry_after_s: u64,
    },
    /// The archive would contain too many files.
    ArchiveTooLarge,
    /// The limit on memory for responses that clients have not read is reached.
    ResponseMemoryFull {
        /// Seconds until a retry may succeed.
        retry_after_s: u64,
    },
    /// Too many conversions are waiting.
    Overloaded {
        /// Seconds until a retry may succeed.
        retry_after_s: u64,
    },
    /// A rule of the operator refuses the request. The detail, if any, names the parameter.
    Denied {
        /// Rule that the request violates.
        denial: Denial,
        /// Description of the violation, for the client.
        detail: Option<String>,
    },
    /// The client's address has had too many conversions in the last minute.
    TooManyConversions {
        /// Seconds until a retry may succeed.
        retry_after_s: u64,
    },
    /// The conversion worker failed, and the original cannot be sent instead.
    Worker,
    /// The host failed, for example its disk.
    Host,
}

impl Problem {
    /// Returns the problem for a client if a conversion ended with `verdict`; `None` if the
    /// original can be sent.
    pub(crate) fn of_verdict(verdict: Verdict) -> Option<Problem> {
        match verdict {
            Verdict::Larger | Verdict::Unimproved => None,
            Verdict::Undecodable => Some(Problem::Undecodable),
            Verdict::Unsupported => Some(Problem::Unsupported),
            Verdict::TooCostly => Some(Problem::TooLarge),
            Verdict::Unencodable | Verdict::Faulty | Verdict::Quarantined => Some(Problem::Worker),
        }
    }

    /// Returns the problem for a path whose original cannot be opened. Logs errors of the host.
    #[must_use]
    pub fn of_missing(path: &LibraryPath, missing: Missing) -> Problem {
        match missing {
            Missing::NotFound | Missing::WouldSleep => Problem::NotFound,
            Missing::Host(err) => {
                tracing::error!(
                    path = %path.as_path().display(),
                    %err,
                    "the original cannot be opened"
                );
                Problem::Host
            }
        }
    }

    /// Returns the status code.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Problem::BadRequest { status, .. } => *status,
            Problem::BadParameter(_) => 400,
            Problem::Imgproxy(error) => imgproxy::status(error),
            Problem::Iiif(error) => iiif::status(error),
            Problem::Unauthorized | Problem::UnauthorizedPage => 401,
            Problem::NotAllowed
            | Problem::ForeignOrigin
            | Problem::ForeignSession
            | Problem::Denied { .. } => 403,
            Problem::NotFound
            | Problem::ExpiredUrl
            | Problem::NoPage { .. }
            | Problem::NoFrame { .. }
            | Problem::OriginalWithheld => 404,
            Problem::MethodNotAllowed => 405,
            Problem::PreconditionFailed => 412,
            Problem::NoPreview => 415,
            Problem::RangeNotSatisfiable(_) => 416,
            Problem::Misdirected | Problem::UnknownHost => 421,
            // These problems concern files of the library, so their status is 422: 413 is only for
            // content that the client sent (RFC 9110 §15.5.14).
            Problem::Undecodable
            | Problem::Unsupported
            | Problem::TooLarge
            | Problem::ArchiveTooLarge => 422,
            Problem::Busy { .. }
            | Problem::Guessing { .. }
            | Problem::TooManyConversions { .. } => 429,
            Problem::Worker => 500,
            Problem::Overloaded { .. } | Problem::ResponseMemoryFull { .. } | Problem::Host => 503,
        }
    }

    /// Returns the rule of the operator that refuses the request, if any.
    pub(crate) fn denial(&self) -> Option<Denial> {
        match self {
            Problem::Denied { denial, .. } => Some(*denial),
            Problem::TooManyConversions { .. } => Some(Denial::Rate),
            Problem::ExpiredUrl => Some(Denial::Expired),
            _ => None,
        }
    }

    /// Returns whether the original caused the problem, so that a retry would fail too.
    pub(crate) fn is_caused_by_original(&self) -> bool {
        matches!(
            self,
            Problem::Undecodable | Problem::Unsupported | Problem::TooLarge | Problem::Worker
        )
    }

    /// Returns the title of the problem document. The title is a fixed phrase, so that it reveals
    /// nothing about the host.
    #[must_use]
    pub fn title(&self) -> &'static str {
        match self {
            Problem::BadRequest { phrase, .. } => phrase,
            Problem::BadParameter(_) => "a query parameter is invalid",
            Problem::Imgproxy(error) => imgproxy::title(error),
            Problem::Iiif(error) => iiif::title(error),
            Problem::ExpiredUrl => "the URL has expired",
            Problem::NotFound => "no such picture",
            Problem::NoPage { .. } => "the picture has no such page",
            Problem::NoFrame { .. } => "the picture has no such frame",
            Problem::Unauthorized | Problem::UnauthorizedPage => "a login is needed",
            Problem::NotAllowed => "only an admin has access to this resource",
            Problem::Guessing { .. } => "too many logins have failed",
            Problem::UnknownHost => "the setting `hosts` does not list the requested host",
            Problem::ForeignOrigin => "the setting `origins` does not list the page's origin",
            Problem::ForeignSession => {
                "a request that changes data with a session cookie needs an Origin field that names the requested host"
            }
            Problem::Misdirected => "this server has no certificate for the requested host",
            Problem::MethodNotAllowed => "only GET, HEAD and OPTIONS are allowed here",
            Problem::PreconditionFailed => "the representation does not match the precondition",
            Problem::TooLarge => "the picture is too large for this server to convert",
            Problem::RangeNotSatisfiable(_) => {
                "the requested range lies outside the representation"
            }
            Problem::Undecodable => "the original cannot be decoded",
            Problem::Unsupported => "the original cannot be changed as requested",
            Problem::NoPreview => {
                "the original is HEIC or camera raw without an embedded JPEG preview, so it cannot be shown"
            }
            Problem::OriginalWithheld => {
                "this picture cannot be converted, and its original may not be sent"
            }
            Problem::Overloaded { .. } => "too many conversions are waiting",
            Problem::ArchiveTooLarge => {
                "the requested files are too many or too large for one archive"
            }
            Problem::ResponseMemoryFull { .. } => {
                "too many responses are waiting for clients to read them"
            }
            Problem::Busy { .. } => "too many transcodes in progress",
            Problem::Denied { denial, .. } => denial.title(),
            Problem::TooManyConversions { .. } => Denial::Rate.title(),
            Problem::Worker => "the conversion failed",
            Problem::Host => "the server cannot read or convert files at the moment",
        }
    }

    /// Returns the problem document as JSON. `request_id` identifies the request's line in the
    /// access log.
    #[must_use]
    pub(crate) fn document(&self, request_id: RequestId) -> String {
        let mut out = format!(
            "{{\"title\":{},\"status\":{}",
            Value::from(self.title()),
            self.status()
        );
        let detail = match self {
            Problem::BadParameter(detail) => Some(detail.clone()),
            Problem::Imgproxy(error) => Some(error.to_string()),
            Problem::Iiif(error) => Some(error.to_string()),
            Problem::Denied { detail, .. } => detail.clone(),
            Problem::NoPage { pages } => Some(Refusal::NoPage { pages: *pages }.to_string()),
            Problem::NoFrame { frames } => Some(Refusal::NoFrame { frames: *frames }.to_string()),
            _ => None,
        };
        if let Some(detail) = detail {
            write!(out, ",\"detail\":{}", Value::from(detail))
                .expect("writing to a string cannot fail");
        }
        writeln!(out, ",\"instance\":\"urn:pelton:request:{request_id}\"}}")
            .expect("writing to a string cannot fail");
        out
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        match refusal {
            Refusal::TooManyPixels { .. }
            | Refusal::ProfileTooLarge { .. }
            | Refusal::TooManyFrames { .. }
            | Refusal::AnimationTooLarge { .. } => Problem::TooLarge,
            Refusal::TargetTooLarge { .. } => Problem::BadParameter(refusal.to_string()),
            Refusal::SparseSource => Problem::Undecodable,
            Refusal::NoPage { pages } => Problem::NoPage { pages },
            Refusal::NoFrame { frames } => Problem::NoFrame { frames },
            Refusal::UnsupportedSource(_) | Refusal::AnimatedSource => Problem::Unsupported,
        }
    }
}

//! Responses of programs: a request passes through one program or a chain, and through the fallback
//! if a program fails.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cgi::{Limits, Response};
use image_plan::Format;
use sandbox::{Failure, FailureKind};
use server::mount::{Field, Mount, MountRequest, Reply, TranscodeRequest};

use super::programs::{Fallback, Programs, Route};
use super::unit::Unit;

/// Maximum run time of a fallback program.
const FALLBACK_TIME_MAX: Duration = Duration::from_secs(1);
/// Maximum size in bytes of the CGI variables of a request. The protocol of cells has the same
/// limit.
const VARIABLES_BYTES_MAX: usize = 32 << 10;
/// Media type of bytes whose format is unknown.
const BYTES: &str = "application/octet-stream";

/// Bytes that pass through a chain of programs, with their media type, if known.
struct Body {
    bytes: Bytes,
    content_type: Option<String>,
}

impl Body {
    /// Creates a body whose media type is detected from its first bytes, whatever type was
    /// declared.
    fn of(bytes: Bytes) -> Body {
        let content_type = Format::sniff(&bytes).map(|format| format.media_type().into());
        Body {
            bytes,
            content_type,
        }
    }

    /// Drops the media type, which the client declared, if browsers may run content of this type.
    fn inert(self) -> Body {
        let content_type = self.content_type.filter(|it| is_inert(it));
        Body {
            content_type,
            ..self
        }
    }
}

/// Returns whether browsers never run content of this media type.
fn is_inert(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or("").trim();
    let essence = essence.to_ascii_lowercase();
    let is_media = ["image/", "audio/", "video/"]
        .iter()
        .any(|begin| essence.starts_with(begin));
    essence == "text/plain" || is_media && essence != Format::Svg.media_type()
}

/// Returns whether `bytes` begins with `head`, without regard to ASCII case. Returns false if
/// `head` is empty.
fn starts_with_ignore_case(bytes: &[u8], head: &[u8]) -> bool {
    let begin = bytes.get(..head.len());
    !head.is_empty() && begin.is_some_and(|begin| begin.eq_ignore_ascii_case(head))
}

/// Reason why a route sends no output of its programs.
enum Stop {
    /// Status and text of the error response to a faulty request.
    Refused(u16, &'static str),
    /// Name of the program that failed, and its failure, which may be the host's fault.
    Failed(String, Failure),
}

impl Mount for Programs {
    fn respond<'a>(
        &'a self,
        mount_request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        Box::pin(async move {
            match self.route(mount_request.path) {
                Some(route) => route.respond(&mount_request).await,
                // A reload does not replace the mounts and the table in one step, so a mount may
                // have lost its route.
                None => problem(404, "no such program"),
            }
        })
    }
}

impl Route {
    async fn respond(&self, mount_request: &MountRequest<'_>) -> Reply {
        self.counts.requests.fetch_add(1, Ordering::Relaxed);
        let begin = Instant::now();
        let request_body = Body {
            bytes: mount_request.body.clone(),
            content_type: content_type(mount_request),
        };
        let (name, failure) = match self.chain(mount_request, &request_body).await {
            Ok(reply) => return timed(reply, begin, None),
            Err(Stop::Refused(status, phrase)) => return problem(status, phrase),
            Err(Stop::Failed(name, failure)) => (name, failure),
        };
        self.counts.failures.fetch_add(1, Ordering::Relaxed);
        let detail = &failure.detail;
        tracing::error!(program = name, detail, "program failed");
        let instead = match &self.fallback {
            Fallback::Tell => None,
            Fallback::Input => Some(document(200, Vec::new(), request_body.inert())),
            Fallback::Target(target) => Some(Reply::Internal {
                target: target.clone(),
                fields: Vec::new(),
            }),
            Fallback::Program(unit) => self.run_fallback(unit, mount_request, request_body).await,
        };
        match instead {
            Some(reply) => {
                self.counts.fallbacks.fetch_add(1, Ordering::Relaxed);
                timed(reply, begin, Some((&name, &failure)))
            }
            None => failed(&failure),
        }
    }

    /// Runs the stages in order. Each stage gets the output of the previous stage.
    async fn chain(
        &self,
        mount_request: &MountRequest<'_>,
        request_body: &Body,
    ) -> Result<Reply, Stop> {
        let mut body = Body {
            bytes: request_body.bytes.clone(),
            content_type: request_body.content_type.clone(),
        };
        let last = self.stages.len() - 1;
        for (number, unit) in self.stages.iter().enumerate() {
            match self.stage(unit, mount_request, &body, None).await? {
                // A document with status 200 and without `Location` is the input of the next
                // program. All other output goes to the client.
                ParsedOutput::Document(200, fields, next)
                    if number < last && !redirects(&fields) =>
                {
                    body = next;
                }
                other => return Ok(other.reply()),
            }
        }
        unreachable!("the last stage always returns")
    }

    /// Runs the fallback program and returns its reply. Returns `None` if this program fails too.
    async fn run_fallback(
        &self,
        unit: &Unit,
        mount_request: &MountRequest<'_>,
        request_body: Body,
    ) -> Option<Reply> {
        let parsed = self
            .stage(unit, mount_request, &request_body, Some(FALLBACK_TIME_MAX))
            .await;
        match parsed {
            Ok(parsed) => Some(parsed.reply()),
            Err(Stop::Refused(..)) => None,
            Err(Stop::Failed(name, failure)) => {
                let detail = failure.detail;
                tracing::error!(
                    program = name,
                    detail,
                    "the program that the setting on_error names has failed too"
                );
                None
            }
        }
    }

    async fn stage(
        &self,
        unit: &Unit,
        mount_request: &MountRequest<'_>,
        body: &Body,
        wall_max: Option<Duration>,
    ) -> Result<ParsedOutput, Stop> {
        let variables = self.variables(mount_request, body)?;
        let failed = |failure| Stop::Failed(unit.name.clone(), failure);
        let output = unit.run(variables, body.bytes.clone(), wall_max).await;
        ParsedOutput::read(&output.map_err(failed)?.bytes, &mount_request.body).map_err(
            |malformed| {
                failed(Failure {
                    kind: FailureKind::ProtocolViolation,
                    detail: format!(
                        "the head of the program's response is malformed: {malformed:?}"
                    ),
                })
            },
        )
    }

    fn variables(&self, mount_request: &MountRequest<'_>, body: &Body) -> Result<Vec<u8>, Stop> {
        let fields: Vec<_> = mount_request.fields.clone().collect();
        let peer = mount_request.peer.to_string();
        let request = cgi::Request {
            method: mount_request.method,
            script: &self.path,
            path: mount_request.path,
            query: mount_request.query,
            fields: &fields,
            content_type: body.content_type.as_deref().map(str::as_bytes),
            body_bytes: body.bytes.len() as u64,
            peer: &peer,
            secure: mount_request.secure,
        };
        match request.variables() {
            Ok(variables) if variables.len() <= VARIABLES_BYTES_MAX => Ok(variables),
            Ok(_) => Err(Stop::Refused(
                431,
                "the header fields are larger than a program can receive",
            )),
            Err(cgi::RequestError::Path) => Err(Stop::Refused(404, "no such path")),
        }
    }
}

/// Parsed output of a program.
enum ParsedOutput {
    Document(u16, Vec<Field>, Body),
    LocalRedirect(String),
}

impl ParsedOutput {
    /// Parses a program's output. A program that does not use CGI may copy the request's body to
    /// its output. If the output and the request's body begin with the same CGI header, the client
    /// wrote this header. The whole output is then treated as plain bytes: otherwise any web page
    /// could make a browser show arbitrary content in the name of this server.
    fn read(output: &Bytes, sent: &[u8]) -> Result<ParsedOutput, cgi::Malformed> {
        Ok(match Response::parse(output, &Limits::default())? {
            Response::Document { body_at, .. }
                if starts_with_ignore_case(sent, &output[..body_at]) =>
            {
                ParsedOutput::bytes(output)
            }
            Response::LocalRedirect(_) if starts_with_ignore_case(sent, output) => {
                ParsedOutput::bytes(output)
            }
            Response::Document {
                status,
                fields,
                body_at,
            } => {
                let owned = |(name, value): &(&str, &str)| {
                    (
                        Cow::Owned((*name).to_owned()),
                        Cow::Owned((*value).to_owned()),
                    )
                };
                let is_type = |(name, _): &&(&str, &str)| name.eq_ignore_ascii_case("content-type");
                let content_type = fields.iter().find(is_type).map(|(_, value)| *value);
                let body = Body {
                    bytes: output.slice(body_at..),
                    content_type: content_type.map(str::to_owned),
                };
                let others = fields.iter().filter(|field| !is_type(field));
                ParsedOutput::Document(status, others.map(owned).collect(), body)
            }
            Response::LocalRedirect(place) => ParsedOutput::LocalRedirect(place.to_owned()),
            Response::Bytes => ParsedOutput::bytes(output),
        })
    }

    fn bytes(output: &Bytes) -> ParsedOutput {
        ParsedOutput::Document(200, Vec::new(), Body::of(output.clone()))
    }

    fn reply(self) -> Reply {
        match self {
            ParsedOutput::Document(status, fields, body) => document(status, fields, body),
            ParsedOutput::LocalRedirect(target) => Reply::Internal {
                target,
                fields: Vec::new(),
            },
        }
    }
}

fn redirects(fields: &[Field]) -> bool {
    fields
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("location"))
}

fn content_type(mount_request: &MountRequest<'_>) -> Option<String> {
    let mut fields = mount_request.fields.clone();
    let (_, value) = fields.find(|(name, _)| name.eq_ignore_ascii_case("content-type"))?;
    std::str::from_utf8(value).ok().map(str::to_owned)
}

fn document(status: u16, mut fields: Vec<Field>, body: Body) -> Reply {
    let has_field = |name: &str, fields: &[Field]| {
        fields
            .iter()
            .any(|(other, _)| other.eq_ignore_ascii_case(name))
    };
    if !body.bytes.is_empty() || body.content_type.is_some() {
        let content_type = body.content_type.map_or(BYTES.into(), Cow::Owned);
        fields.push(("content-type".into(), content_type));
    }
    // The output of a program may differ each time. So it may be cached only if the program itself
    // sets `Cache-Control`.
    if !has_field("cache-control", &fields) {
        fields.push(("cache-control".into(), "no-store".into()));
    }
    if !has_field("x-content-type-options", &fields) {
        fields.push(("x-content-type-options".into(), "nosniff".into()));
    }
    Reply::Whole {
        status,
        fields,
        body: body.bytes,
    }
}

/// Adds the field `Server-Timing` with the duration of the request. If a program failed, the field
/// also contains the name of this program.
fn timed(mut reply: Reply, begin: Instant, failed: Option<(&str, &Failure)>) -> Reply {
    let took_ms = begin.elapsed().as_secs_f64() * 1e3;
    let mut timing = format!("program;dur={took_ms:.3}");
    if let Some((name, failure)) = failed {
        write!(timing, ", fallback;desc=\"{name} {}\"", cause(failure.kind))
            .expect("writing to a string cannot fail");
    }
    let (Reply::Whole { fields, .. }
    | Reply::Internal { fields, .. }
    | Reply::Variant { fields, .. }
    | Reply::Original { fields, .. }
    | Reply::Section { fields, .. }
    | Reply::Comparison { fields, .. }
    | Reply::Archive { fields, .. }
    | Reply::Transcoded(TranscodeRequest { fields, .. })) = &mut reply;
    fields.push(("server-timing".into(), timing.into()));
    reply
}

/// Returns a short name of a failure that reveals nothing about the host.
fn cause(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::TimedOut => "timed out",
        FailureKind::TooLarge => "too large",
        FailureKind::Host => "overloaded",
        FailureKind::ProtocolViolation => "malformed",
        FailureKind::Unencodable
        | FailureKind::Crashed
        | FailureKind::Undecodable
        | FailureKind::Unsupported
        | FailureKind::Cancelled => "crashed",
    }
}

fn failed(failure: &Failure) -> Reply {
    match failure.kind {
        FailureKind::Host => {
            let mut reply = problem(503, "too many requests wait for this program");
            if let Reply::Whole { fields, .. } = &mut reply {
                fields.push(("retry-after".into(), "1".into()));
            }
            reply
        }
        FailureKind::TimedOut => problem(504, "the program took too long"),
        _ => problem(502, "the program has failed"),
    }
}

fn problem(status: u16, title: &str) -> Reply {
    let text = serde_json::json!({ "title": title, "status": status }).to_string() + "\n";
    Reply::Whole {
        status,
        fields: vec![
            ("content-type".into(), "application/problem+json".into()),
            ("cache-control".into(), "no-store".into()),
            ("x-content-type-options".into(), "nosniff".into()),
        ],
        body: text.into(),
    }
}

/// Returns the 405 response of this crate's read-only mounts.
pub(super) fn method_not_allowed(methods: &'static str) -> Reply {
    let mut reply = problem(405, "this resource is read-only");
    if let Reply::Whole { fields, .. } = &mut reply {
        fields.push(("allow".into(), methods.into()));
    }
    reply
}

/// Checks at compile time that all cores of the server can share a route.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<Arc<Route>>();
};

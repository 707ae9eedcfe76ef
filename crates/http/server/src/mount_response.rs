//! Conversion of a mount's reply to a response. A reply may only name its body: a file of the
//! library, a transcoded track or the files of an archive. Such a body is opened or produced here.

use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use http::header::HeaderName;
use http1::{Method, Request, Target};
use reactor::blocking;

use crate::archive::{Archive, ArchiveFile};
use crate::core::Core;
use crate::fields::Field;
use crate::file_request::TargetOrigin;
use crate::gate::{Admission, Part};
use crate::lookup::TranscodeBody;
use crate::metrics::Served;
use crate::mount::{BusyResponse, FileSection, Mount, MountRequest, Reply, TranscodeRequest};
use crate::permission::Sender;
use crate::problem::Problem;
use crate::request_context::RequestContext;
use crate::response::{Fields, Payload, Response, Shape};

impl Core {
    /// Calls `mount` and converts its reply to a response.
    pub(crate) async fn call_mount(
        &self,
        mount: &dyn Mount,
        request: &Request<'_>,
        (context, admission): (&mut RequestContext, Admission),
    ) -> Response {
        let body = match context.body.take() {
            Ok(body) => body,
            Err(reject) => {
                let problem = Problem::BadRequest {
                    status: reject.status,
                    phrase: reject.reason,
                };
                return self.problem_response(&problem, Shape::UNPARSED);
            }
        };
        let mount_request = MountRequest {
            method: request.method_name,
            path: request.target.path,
            query: request.target.query,
            fields: request.fields(),
            body,
            peer: context.peer,
            secure: context.secure,
            require_login: self.service.settings.gate.login,
            allowed_types: &self.service.settings.allowed_types,
            only_types: &self.service.settings.only_types,
        };
        let reply = mount.respond(mount_request).await;
        let admission = match reply.has_library_content() && mount.part() == Part::Api {
            false => Ok(admission),
            true => self.check_files_of_api(admission, request, context).await,
        };
        match admission {
            Ok(admission) => {
                self.complete(reply, mount, request, (context, admission))
                    .await
            }
            Err(problem) => self.problem_response(&problem, shape_of(request)),
        }
    }

    /// Converts the reply of `mount` to a response.
    async fn complete(
        &self,
        reply: Reply,
        mount: &dyn Mount,
        request: &Request<'_>,
        (context, admission): (&RequestContext, Admission),
    ) -> Response {
        match reply {
            Reply::Whole {
                status,
                fields,
                body,
            } => self.whole_response(status, fields, body, request.method == Method::Head),
            Reply::Internal { target, fields } => {
                let response =
                    self.internal_response(&target, mount, request, (context, admission));
                let mut response = response.await;
                response.add(allowed_fields(fields));
                response
            }
            Reply::Variant { target, fields } => {
                let origin = match mount.reaches_internal() {
                    true => TargetOrigin::Internal,
                    false => TargetOrigin::Public,
                };
                let response = self.variant_response(&target, request, origin).await;
                completed(response, admission, fields)
            }
            Reply::Original { path, fields } => {
                let response = self.original_response(&path, request).await;
                completed(response, admission, fields)
            }
            Reply::Section {
                path,
                section,
                fields,
            } => {
                let response = self.section_response(&path, &section, request).await;
                completed(response, admission, fields)
            }
            Reply::Comparison { target, fields } => {
                let mut pictured = *request;
                pictured.target = split(&target);
                let peer = context.peer;
                let sender = Some(Sender { request, peer });
                let file = self.parse_file_request(&pictured, TargetOrigin::Public, sender);
                let mut response = self.comparison_response(&file, shape_of(request)).await;
                response.add(allowed_fields(fields));
                response
            }
            Reply::Transcoded(wanted) => {
                let streaming = context.supports_streaming;
                let mut response = self.transcoded_response(wanted, request, streaming).await;
                if admission == Admission::Known {
                    response.make_private();
                }
                response
            }
            Reply::Archive { files, fields } => {
                let bodiless = request.method == Method::Head;
                self.archive_response(files, fields, bodiless).await
            }
        }
    }

    /// Responds with the library's response for `target`, as `mount` has asked for `request`.
    async fn internal_response(
        &self,
        target: &str,
        mount: &dyn Mount,
        request: &Request<'_>,
        (context, admission): (&RequestContext, Admission),
    ) -> Response {
        let internal = internal_request(request, target);
        let peer = context.peer;
        let sender = Some(Sender { request, peer }).filter(|_| mount.passes_queries());
        // The target may contain text from a client, so only mounts that declare `reaches_internal`
        // may name internal folders.
        match mount.reaches_internal() {
            true => self.internal_file_response(&internal, sender).await,
            false => {
                let file = self.parse_file_request(&internal, TargetOrigin::Public, sender);
                let response = self.respond_with_file(&internal, &file, context, admission);
                response.await
            }
        }
    }

    /// Responds with the original at `path`.
    async fn original_response(&self, path: &str, request: &Request<'_>) -> Response {
        match self.find_original(path).await {
            Ok(original) => self.representation_response(original, request),
            Err(problem) => self.problem_response(&problem, shape_of(request)),
        }
    }

    /// Responds with a range of the original at `path`, which must be the version with this tag.
    async fn section_response(
        &self,
        path: &str,
        wanted: &FileSection,
        request: &Request<'_>,
    ) -> Response {
        let section = self.find_original(path).await.and_then(|original| {
            if original.identity.etag() != wanted.etag {
                // The client repeats the request, and the mount reads the new version.
                return Err(Problem::Host);
            }
            // The mount has the range from the file, so a range beyond its end is damage.
            let section = original.section(&wanted.range, wanted.media_type);
            section.ok_or(Problem::Undecodable)
        });
        match section {
            Ok(section) => self.representation_response(Rc::new(section), request),
            Err(problem) => self.problem_response(&problem, shape_of(request)),
        }
    }

    /// Responds with a variant of the picture that `target` names.
    async fn variant_response(
        &self,
        target: &str,
        request: &Request<'_>,
        origin: TargetOrigin,
    ) -> Response {
        let internal = internal_request(request, target);
        let file = self.parse_file_request(&internal, origin, None);
        match self.find_variant(&file).await {
            Ok(found) => self.respond_with(found, &internal),
            Err(problem) => self.problem_response(&problem, shape_of(&internal)),
        }
    }

    fn whole_response(
        &self,
        status: u16,
        fields: Vec<Field>,
        body: Bytes,
        bodiless: bool,
    ) -> Response {
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
    ) -> Response {
        let library = Arc::clone(self.service.library());
        let is_served = |file: &ArchiveFile| {
            let path = library.path_for_clients(&file.path);
            path.is_some_and(|path| self.service.admits(path.as_path()))
        };
        let planned = match files.iter().all(is_served) {
            true => blocking(move || Archive::plan(&library, files)).await,
            false => Err(Problem::NotFound),
        };
        let archive = match planned {
            Ok(archive) => archive,
            Err(problem) => {
                let shape = Shape {
                    bodiless,
                    negotiable: false,
                };
                return self.problem_response(&problem, shape);
            }
        };
        let mut fields = allowed_fields(fields);
        fields.push(("content-type".into(), "application/zip".into()));
        fields.push(("cache-control".into(), "private, no-store".into()));
        fields.push(("content-length".into(), archive.left().to_string().into()));
        Response {
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
        wanted: TranscodeRequest,
        request: &Request<'_>,
        supports_streaming: bool,
    ) -> Response {
        let allow_streaming = wanted.allow_streaming && supports_streaming && is_plain(request);
        let shape = shape_of(request);
        let internal = internal_request(request, &wanted.target);
        let path = internal.target.path;
        let track_lookup = self.find_track(path, &wanted.plan, &wanted.user, allow_streaming);
        let mut conversion = None;
        let response = match track_lookup.await {
            Ok(TranscodeBody::Whole(found)) => {
                conversion = found.conversion;
                self.representation_response(found.representation, &internal)
            }
            Ok(TranscodeBody::Growing(key, growing)) => self.streaming_response(&key, growing),
            Err(Problem::Busy { retry_after_s }) => {
                return busy_response(&wanted.busy, retry_after_s, shape.bodiless);
            }
            Err(problem) if wanted.fallback_to_original && problem.is_caused_by_original() => {
                self.internal_file_response(&internal, None).await
            }
            Err(problem) => self.problem_response(&problem, shape),
        };
        let mut response = Response {
            added: allowed_fields(wanted.fields),
            ..response
        };
        if let Some(conversion) = conversion {
            response.report(conversion, &self.service.settings.headers);
        }
        response
    }
}

/// Returns the response with the fields of a mount's reply. It is private if the client has logged
/// in.
fn completed(mut response: Response, admission: Admission, fields: Vec<Field>) -> Response {
    if admission == Admission::Known {
        response.make_private();
    }
    response.add(allowed_fields(fields));
    response
}

/// Returns a request for `target` with the fields of `request`, and with the method GET unless the
/// method is HEAD.
fn internal_request<'a>(request: &Request<'a>, target: &'a str) -> Request<'a> {
    let mut internal = *request;
    internal.target = split(target);
    if request.method != Method::Head {
        internal.method = Method::Get;
    }
    internal
}

/// Returns the properties of `request` that affect an error response. Such a response does not
/// depend on the field Accept.
fn shape_of(request: &Request<'_>) -> Shape {
    Shape {
        bodiless: request.method == Method::Head,
        negotiable: false,
    }
}

/// Returns whether the method of a request is not HEAD, and the request has neither a range nor a
/// precondition.
fn is_plain(request: &Request<'_>) -> bool {
    let mut names = request.fields().map(|(name, _)| name);
    let is_part = |name: &str| {
        let name = name.to_ascii_lowercase();
        name == "range" || name.starts_with("if-")
    };
    request.method != Method::Head && !names.any(is_part)
}

fn busy_response(busy: &BusyResponse, retry_after_s: u64, bodiless: bool) -> Response {
    let fields = vec![
        ("content-type".into(), busy.media_type.into()),
        ("cache-control".into(), "no-store".into()),
        ("retry-after".into(), retry_after_s.to_string().into()),
    ];
    whole(429, fields, busy.body.clone(), bodiless)
}

fn whole(status: u16, fields: Vec<Field>, body: Bytes, bodiless: bool) -> Response {
    assert!(
        (200..600).contains(&status),
        "a mount responded with status {status}"
    );
    let mut fields = allowed_fields(fields);
    // RFC 9110 §8.6: a 204 has no Content-Length. A 304 may have one, but only with the length of
    // the corresponding 200 response, which is unknown here.
    if !matches!(status, 204 | 304) {
        let length = body.len().to_string();
        fields.push(("content-length".into(), length.into()));
    }
    Response {
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

/// Names of fields that mounts cannot set, because they belong to the connection or to the server.
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

/// Returns the fields that a mount may set, with names in lower case. Drops all others.
fn allowed_fields(fields: Vec<Field>) -> Vec<Field> {
    let allowed = fields.into_iter().filter_map(|(name, value)| {
        let known = HeaderName::from_bytes(name.as_bytes()).ok();
        let Some(known) = known.filter(|known| !RESERVED_FIELDS.contains(&known.as_str())) else {
            tracing::debug!(%name, "a header field was removed from a response, because its name \
                                    is invalid or reserved");
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
    allowed.collect()
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

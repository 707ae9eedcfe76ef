//! Routing of a request to the part of the server that responds: the cache of ready responses, a
//! mount, a document, or a file of the library.

use http1::{Method, Request};

use crate::core::Core;
use crate::favicon;
use crate::fields::Field;
use crate::file_request::{FileRequest, TargetForm, TargetOrigin, accepts};
use crate::gallery::POLICY;
use crate::gate::Admission;
use crate::lookup::ReadyResponse;
use crate::metrics::Served;
use crate::paths::METRICS_PATH;
use crate::paths::{PAGE, PAGE_FROM_ROOT};
use crate::permission::Sender;
use crate::problem::Problem;
use crate::representation::Found;
use crate::request_context::RequestContext;
use crate::response::{ALLOW, Fields, Payload, Response, Shape};
use crate::scheme::Scheme;

/// Text that the server generates as a response, such as a page or the metrics.
pub(crate) struct Document {
    media_type: &'static str,
    text: String,
    /// Target of a redirect.
    location: Option<&'static str>,
}

impl Document {
    pub(crate) fn new(media_type: &'static str, text: String) -> Document {
        Document {
            media_type,
            text,
            location: None,
        }
    }
}

impl Core {
    /// Returns the response to a request if it needs no waiting: a cache hit, or a redirect to
    /// another listener.
    pub(crate) fn lookup(&self, listener: usize, request: &Request<'_>) -> Option<Response> {
        if let Scheme::Redirect(https) = self.scheme(listener)
            && let Some(response) = self.redirect_to_https(https, request)
        {
            return Some(response);
        }
        if !matches!(request.method, Method::Get | Method::Head) {
            return None;
        }
        let ready = self.lookup_ready(request, accepts(request), TargetOrigin::Public)?;
        let ReadyResponse {
            representation,
            clients_until_unix_s,
            added,
        } = ready;
        if self.is_refused_to(request, &representation) {
            return None;
        }
        let admission = self.check_ready_access(listener, request, &representation)?;
        let mut response = self.representation_response(representation, request);
        self.limit_age(&mut response, clients_until_unix_s);
        response.add_all(&added);
        if admission == Admission::Known {
            response.make_private();
        }
        Some(response)
    }

    /// Responds to requests for which [`Core::lookup`] returned nothing:
    /// - requests for mounts and documents;
    /// - requests for files that must be looked up or converted;
    /// - requests that get an error.
    ///
    /// Text is compressed if the client accepts a content coding.
    pub(crate) async fn respond(
        &self,
        request: &Request<'_>,
        context: &mut RequestContext,
    ) -> Response {
        let shape = Shape {
            bodiless: request.method == Method::Head,
            negotiable: false,
        };
        let mut response = match self.check_access(request, context).await {
            Ok(admission) => self.route(request, context, admission).await,
            Err(problem) => self.problem_response(&problem, shape),
        };
        self.allow_origin(request, &mut response);
        self.compress(response, request).await
    }

    /// Passes a request to the part of the server that responds. The request has passed the access
    /// checks.
    async fn route(
        &self,
        request: &Request<'_>,
        context: &mut RequestContext,
        admission: Admission,
    ) -> Response {
        let mut response = match self
            .respond_outside_library(request, context, admission)
            .await
        {
            Some(response) => response,
            None => {
                let peer = context.peer;
                let sender = Some(Sender { request, peer });
                let file = self.parse_file_request(request, TargetOrigin::Public, sender);
                // The function for files reports an invalid query too, but only after it has
                // checked the path.
                if !file.is_description() {
                    return self
                        .respond_with_file(request, &file, context, admission)
                        .await;
                }
                self.description_response(&file, request).await
            }
        };
        if admission == Admission::Known {
            response.make_private();
        }
        response
    }

    pub(crate) fn parse_file_request<'r>(
        &self,
        request: &Request<'r>,
        target_origin: TargetOrigin,
        sender: Option<Sender<'_>>,
    ) -> FileRequest<'r> {
        let now_unix_s = self.reactor.clock().unix_secs();
        FileRequest::parse(request, target_origin, sender, (&*self.service, now_unix_s))
    }

    /// Responds with the description of a picture as JSON.
    async fn description_response(
        &self,
        file: &FileRequest<'_>,
        request: &Request<'_>,
    ) -> Response {
        let shape = Shape {
            bodiless: request.method == Method::Head,
            negotiable: false,
        };
        let described = async {
            let (path, query) = (file.path()?, file.query()?);
            let described = self.service.describe(path, query.recipe, file.charged);
            described.await
        };
        match described.await {
            Ok(text) => self.document_response(Document::new("application/json", text), shape),
            Err(problem) => self.file_problem_response(&problem, file, shape),
        }
    }

    /// Responds with a file. The request has passed the access checks for its path, but the file
    /// itself may need a login.
    pub(crate) async fn respond_with_file(
        &self,
        request: &Request<'_>,
        file: &FileRequest<'_>,
        context: &RequestContext,
        admission: Admission,
    ) -> Response {
        let shape = Shape {
            bodiless: request.method == Method::Head,
            negotiable: true,
        };
        let outcome = match self.find(file).await {
            Ok(found) => {
                let admission =
                    self.check_file_access(admission, &found.representation, request, context);
                admission.await.map(|admission| (admission, found))
            }
            Err(problem) => Err(problem),
        };
        match outcome {
            Ok((admission, found)) => {
                let added = file.added_fields(found.representation.media_type());
                let mut response = self.respond_with(found, request);
                self.limit_age(&mut response, file.signed_until_unix_s());
                response.add_all(&added);
                if admission == Admission::Known {
                    response.make_private();
                }
                response
            }
            Err(Problem::NotFound) if file.form() == TargetForm::File => {
                self.respond_without_file(request, shape, context.listener)
                    .await
            }
            Err(problem) => self.file_problem_response(&problem, file, shape),
        }
    }

    /// Responds to a target that is not a file: with the favicon, the page of a folder, or a
    /// redirect.
    async fn respond_without_file(
        &self,
        request: &Request<'_>,
        shape: Shape,
        listener: usize,
    ) -> Response {
        if request.target.path == favicon::PATH {
            return favicon::response(shape.bodiless);
        }
        match self.folder_response(request, listener).await {
            Some(response) => response,
            None => self.not_found_response(request, shape),
        }
    }

    /// Responds to a target outside the library: with the reply of a mount, a document or an error.
    async fn respond_outside_library(
        &self,
        request: &Request<'_>,
        context: &mut RequestContext,
        admission: Admission,
    ) -> Option<Response> {
        if let Some(preflight) = self.preflight_response(request) {
            return Some(preflight);
        }
        let is_iiif = self.service.is_iiif(request.target.path);
        let mount = self.service.mounts.find(request.target.path);
        if let Some(mount) = mount.filter(|_| !is_iiif) {
            let response = self.call_mount(&**mount, request, (context, admission));
            return Some(Box::pin(response).await);
        }
        let shape = Shape {
            bodiless: request.method == Method::Head,
            negotiable: false,
        };
        match request.method {
            Method::Options => {
                let mut fields: Vec<Field> = vec![("allow".into(), ALLOW.into())];
                fields.extend(self.service.settings.cors.preflight(request));
                return Some(Response {
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
            Method::Get | Method::Head if is_iiif => {
                let response = self.iiif_response(request, context, admission);
                return Some(Box::pin(response).await);
            }
            Method::Get | Method::Head => {}
        }
        Some(match self.document(request).await? {
            Ok(document) => self.document_response(document, shape),
            Err(Problem::NotFound) => self.not_found_response(request, shape),
            Err(problem) => self.problem_response(&problem, shape),
        })
    }

    pub(crate) fn document_response(&self, document: Document, shape: Shape) -> Response {
        /// Minimum size in bytes of a body that counts towards the memory limit. Shorter bodies are
        /// always sent, so that health checks succeed when the limit is reached.
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
        Response {
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

    /// Responds with a file of the library to a request whose target the server itself composed. If
    /// a client wrote its query, `sender` is the request of this client.
    pub(crate) async fn internal_file_response(
        &self,
        request: &Request<'_>,
        sender: Option<Sender<'_>>,
    ) -> Response {
        let target_origin = TargetOrigin::Internal;
        let file = self.parse_file_request(request, target_origin, sender);
        let is_permitted = file.query().is_ok() && !file.is_foreign;
        let ready = self.lookup_ready(request, file.accepts, target_origin);
        let found = match ready.filter(|_| is_permitted) {
            Some(ready) => Ok(Found {
                representation: ready.representation,
                conversion: None,
            }),
            None => self.find(&file).await,
        };
        match found {
            Ok(found) => {
                let mut response = self.respond_with(found, request);
                self.limit_age(&mut response, file.signed_until_unix_s());
                response
            }
            Err(problem) => {
                let shape = Shape {
                    bodiless: request.method == Method::Head,
                    negotiable: true,
                };
                self.file_problem_response(&problem, &file, shape)
            }
        }
    }

    /// Returns the document that the target of `request` names, if any.
    async fn document(&self, request: &Request<'_>) -> Option<Result<Document, Problem>> {
        const TEXT: &str = "text/plain; charset=utf-8";
        const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        Some(match request.target.path {
            "/" | "/-" => Ok(Document {
                location: Some(PAGE_FROM_ROOT),
                ..Document::new(TEXT, String::new())
            }),
            "/healthz" | "/-/live" => Ok(Document::new(TEXT, "ok\n".to_owned())),
            "/-/ready" if self.reactor.is_draining() => Err(Problem::Host),
            "/-/ready" => Ok(Document::new(TEXT, "ready\n".to_owned())),
            METRICS_PATH => {
                self.reactor.publish();
                Ok(Document::new(METRICS, self.service.render_metrics()))
            }
            path if path.starts_with(PAGE) => self.service.gallery(path).await,
            _ => return None,
        })
    }
}

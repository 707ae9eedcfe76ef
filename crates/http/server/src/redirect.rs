//! Redirects to HTTPS and to the canonical spelling of a path, and responses to the path of a
//! folder.

use std::sync::Arc;

use http1::{Method, Request, accept};
use reactor::blocking;
use variants::library::{LibraryPath, encode};

use crate::core::Core;
use crate::metrics::Served;
use crate::paths::{FOLDER_VIEWS, PROBES, relative_root};
use crate::problem::Problem;
use crate::response::{Fields, Payload, Response, Shape};
use crate::scheme::{Https, without_port};

impl Core {
    /// Returns a redirect to `https`. If no certificate matches the host of the request, returns an
    /// error response. Returns `None` for health checks and for the target `*`, which this listener
    /// serves itself.
    ///
    /// The host comes from the client. Without the check against the certificates, a client could
    /// make a cache store a redirect that leads other clients to any host.
    pub(crate) fn redirect_to_https(
        &self,
        https: &Https,
        request: &Request<'_>,
    ) -> Option<Response> {
        let target = request.target;
        if target.path == "*" || PROBES.contains(&target.path) {
            return None;
        }
        let name = request.host.map(without_port);
        let Some(name) = name.filter(|name| https.tls.covers(name)) else {
            let shape = Shape {
                bodiless: request.method == Method::Head,
                negotiable: false,
            };
            return Some(self.problem_response(&Problem::Misdirected, shape));
        };
        let mut location = format!("https://{name}");
        if https.port != 443 {
            location += &format!(":{}", https.port);
        }
        location += target.path;
        if let Some(query) = target.query {
            location.push('?');
            location += query;
        }
        Some(Response {
            status: 308,
            served: Served::Other,
            fields: Fields::Listed(vec![
                ("location".into(), location.into()),
                ("content-length".into(), "0".into()),
            ]),
            added: Vec::new(),
            payload: Payload::None,
            request_id: None,
        })
    }

    /// Returns the response to a target that is a folder, or another spelling of a file's path (a
    /// redirect to the usual spelling). Returns `None` for all other targets. The response for a
    /// folder depends on the client's Accept field:
    ///
    /// - HTML, as from browsers: a redirect to the folder's view in the web page, if there is such
    ///   a view;
    /// - neither HTML nor a type of picture, as from curl: the page without scripts, after a
    ///   redirect to the target with a slash at its end;
    /// - only types of pictures: `None`.
    pub(crate) async fn folder_response(
        &self,
        request: &Request<'_>,
        listener: usize,
    ) -> Option<Response> {
        let target = request.target;
        let path = LibraryPath::from_loose_target(target.path)?;
        if self.service.library().is_internal(&path) {
            return None;
        }
        if LibraryPath::from_target(target.path).is_none() && self.is_served(&path).await {
            let mut location = path.target();
            if let Some(query) = target.query {
                location.push('?');
                location += query;
            }
            return Some(redirect_to_path(location));
        }
        let [reads_html] = accept::fold(request.accept(), &["text/html"]);
        if !reads_html && accept::names(request.accept(), "image/") || is_hidden(&path) {
            return None;
        }
        let (library, folder) = (Arc::clone(self.service.library()), path.clone());
        if !blocking(move || library.is_folder(&folder)).await {
            return None;
        }
        let has_view = self.service.mounts.find(FOLDER_VIEWS).is_some();
        if reads_html && has_view {
            let view = url_of_folder(target.path, &FOLDER_VIEWS[1..], &path);
            return Some(redirect_to_path(view));
        }
        let without_slash = target.path.strip_suffix('/');
        if without_slash.is_none_or(|target| LibraryPath::from_target(target).is_none()) {
            return Some(redirect_to_path(url_of_folder(target.path, "", &path)));
        }
        let shape = Shape {
            bodiless: request.method == Method::Head,
            negotiable: true,
        };
        // This page lists files. So, like the pages below `/-/`, it is sent only under known host
        // names.
        let page = match self.is_our_host(listener, request) {
            true => self.service.page_of_folder(Some(path), target.path).await,
            false => Err(Problem::UnknownHost),
        };
        let mut response = match page {
            Ok(page) => self.document_response(page, shape),
            Err(problem) => return Some(self.problem_response(&problem, shape)),
        };
        if let Fields::Listed(fields) = &mut response.fields {
            fields.push(("vary".into(), "Accept".into()));
        }
        Some(response)
    }

    async fn is_served(&self, path: &LibraryPath) -> bool {
        let Ok(identity) = self.service.identify(path).await else {
            return false;
        };
        self.service.facts(path, &identity).await.is_ok()
    }
}

/// Returns whether `path` has a part that begins with a dot. Pages do not list such names.
fn is_hidden(path: &LibraryPath) -> bool {
    let mut parts = path.as_path().iter();
    parts.any(|part| part.as_encoded_bytes().starts_with(b"."))
}

/// Returns the URL of `folder` below `prefix`, relative to the target that a client requested.
fn url_of_folder(target: &str, prefix: &str, folder: &LibraryPath) -> String {
    let root = relative_root(target);
    format!("{root}{prefix}{}/", encode(folder.as_path()))
}

fn redirect_to_path(location: String) -> Response {
    Response {
        status: 308,
        served: Served::Other,
        fields: Fields::Listed(vec![
            ("location".into(), location.into()),
            ("cache-control".into(), "no-store".into()),
            ("vary".into(), "Accept".into()),
            ("content-length".into(), "0".into()),
        ]),
        added: Vec::new(),
        payload: Payload::None,
        request_id: None,
    }
}

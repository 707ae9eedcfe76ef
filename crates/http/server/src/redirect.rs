//! Redirects to HTTPS, to the canonical spelling of a file's path, and to the page of a folder.

use std::sync::Arc;

use http1::{Method, Request, accept};
use variants::library::{LibraryPath, encode};

use crate::blocking::blocking;
use crate::core::Core;
use crate::metrics::Served;
use crate::paths::PROBES;
use crate::problem::Problem;
use crate::response::{Fields, Payload, Response, Shape};
use crate::scheme::{Https, without_port};

impl Core {
    /// Returns a redirect to `https`, unless this listener may serve the request itself.
    ///
    /// The host comes from the client, so the redirect contains it only if a certificate matches
    /// it. Otherwise a client could make a cache store a redirect that leads other clients to any
    /// host.
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

    /// Returns a redirect for a client whose target is not a file, if there is a suitable
    /// destination. The destination of a folder depends on the client:
    ///
    /// - a client that names HTML in Accept, as browsers do, gets the view of the web page;
    /// - a client that names no picture either, such as curl, gets the page without scripts, if the
    ///   target ends with a slash;
    /// - other clients ask for a picture, so they get no redirect.
    pub(crate) async fn redirect_missing(&self, request: &Request<'_>) -> Option<Response> {
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
        let prefix = if reads_html {
            VIEWS_OF_FOLDERS
        } else if target.path.ends_with('/') && !accept::names(request.accept(), "image/") {
            PLAIN_FOLDERS
        } else {
            return None;
        };
        let location = url_of_folder(target.path, prefix, &path);
        let library = Arc::clone(self.service.library());
        let is_folder = blocking(move || library.is_folder(&path)).await;
        is_folder.then(|| redirect_to_path(location))
    }

    async fn is_served(&self, path: &LibraryPath) -> bool {
        let Ok(identity) = self.service.identify(path).await else {
            return false;
        };
        self.service.facts(path, &identity).await.is_ok()
    }
}

/// Path of the web page's views of folders, relative to the server's root.
const VIEWS_OF_FOLDERS: &str = "-/folders/";
/// Path of the folders' pages without scripts, relative to the server's root.
const PLAIN_FOLDERS: &str = "-/at/";

/// Returns the URL of `folder` below `prefix`, relative to the target that a client requested. A
/// relative URL also works if a proxy serves this server below another path.
fn url_of_folder(target: &str, prefix: &str, folder: &LibraryPath) -> String {
    let depth = target.bytes().filter(|byte| *byte == b'/').count();
    let up = "../".repeat(depth.saturating_sub(1));
    format!("{up}{prefix}{}/", encode(folder.as_path()))
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

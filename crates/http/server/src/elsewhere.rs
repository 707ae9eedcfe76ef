//! Redirects for targets that are not files: to the canonical spelling of a file's path, or to the
//! page of a folder.

use std::sync::Arc;

use http1::{Request, accept};
use variants::library::LibraryPath;

use crate::answer::{Answer, Fields, Payload};
use crate::core::Core;
use crate::gallery;
use crate::metrics::Served;
use crate::service::blocking;

impl Core {
    /// Redirects a client whose target is not a file, if there is a destination. Pages of folders
    /// are for people, so only clients that accept HTML are redirected there.
    pub(crate) async fn redirect_missing(&self, request: &Request<'_>) -> Option<Answer> {
        let target = request.target;
        let path = LibraryPath::from_misspelt(target.path)?;
        if self.service.library().is_internal(&path) {
            return None;
        }
        if LibraryPath::from_target(target.path).is_none() && self.is_served(&path).await {
            let mut location = path.target();
            if let Some(query) = target.query {
                location.push('?');
                location += query;
            }
            return Some(moved(location));
        }
        let [reads_html] = accept::fold(request.accept(), &["text/html"]);
        let page = gallery::page(&path);
        let library = Arc::clone(self.service.library());
        (reads_html && blocking(move || library.is_folder(&path)).await).then(|| moved(page))
    }

    async fn is_served(&self, path: &LibraryPath) -> bool {
        let Ok(identity) = self.service.identify(path).await else {
            return false;
        };
        self.service.facts(path, &identity).await.is_ok()
    }
}

fn moved(location: String) -> Answer {
    Answer {
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

//! Mount at `/-/api/prefetch`, which starts, describes and ends a prefetch.

use std::sync::Arc;

use openmetrics::Text;
use reactor::blocking;
use serde_json::json;
use server::mount::{MountRequest, Reply};

use crate::dashboard_mount::DashboardMount;
use crate::mount::{json_reply, problem};
use crate::path_parameter::path_parameter;
use crate::prefetch::NotStarted;
use crate::sampler::Ops;

/// Mount of the prefetch.
pub(crate) struct PrefetchMount(pub(crate) Arc<Ops>);

impl PrefetchMount {
    pub(crate) const PATH: &str = "/-/api/prefetch";

    fn state(&self) -> Reply {
        let document = json!({ "prefetch": self.0.prefetch.to_json() });
        json_reply(200, "application/json", &document)
    }

    async fn start(&self, query: Option<&str>) -> Reply {
        let Ok(folder) = path_parameter(query, "folder") else {
            return problem(
                400,
                "the query must be empty, or folder=PATH with a path of the library",
            );
        };
        let ops = Arc::clone(&self.0);
        let start = move || {
            let running = ops.running().ok_or((503, "the server is starting"))?;
            let service = running.sources.live.current();
            if folder.as_ref().is_some_and(|it| !service.has_path(it)) {
                return Err((404, "no such file or folder"));
            }
            let started = ops
                .prefetch
                .start(&service, &running.sources.indexer, folder);
            started.map_err(|err| match err {
                NotStarted::Busy => (409, "a prefetch is already running"),
                NotStarted::Host => (503, "the server could not start a thread"),
            })
        };
        match blocking(start).await {
            Ok(()) => self.state(),
            Err((status, title)) => problem(status, title),
        }
    }
}

impl DashboardMount for PrefetchMount {
    const ALLOW: &'static str = "GET, HEAD, POST, DELETE";

    fn has_path(&self, path: &str) -> bool {
        path == PrefetchMount::PATH
    }

    async fn reply(&self, request: MountRequest<'_>) -> Reply {
        match request.method {
            "POST" => self.start(request.query).await,
            "DELETE" => {
                self.0.prefetch.cancel();
                self.state()
            }
            // GET or HEAD.
            _ => self.state(),
        }
    }

    fn metrics(&self, text: &mut Text) {
        self.0.prefetch.render(text);
        self.0.idle_prefetch.render(text);
    }
}

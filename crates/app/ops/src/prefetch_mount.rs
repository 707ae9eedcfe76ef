//! Mount at `/-/api/prefetch`, which starts, describes and ends a prefetch.

use std::pin::Pin;
use std::sync::Arc;

use openmetrics::Text;
use serde_json::json;
use server::gate::Part;
use server::mount::{Mount, MountRequest, Reply};

use crate::mount::{json_reply, not_allowed, problem};
use crate::path_parameter::path_parameter;
use crate::prefetch::NotStarted;
use crate::sampler::Ops;

/// Mount of the prefetch.
pub(crate) struct PrefetchMount(pub(crate) Arc<Ops>);

impl PrefetchMount {
    pub(crate) const PATH: &str = "/-/api/prefetch";

    async fn reply(&self, request: MountRequest<'_>) -> Reply {
        if request.path != PrefetchMount::PATH {
            return problem(404, "no such resource");
        }
        match request.method {
            "GET" | "HEAD" => self.state(),
            "POST" => self.start(request.query).await,
            "DELETE" => {
                self.0.prefetch.cancel();
                self.state()
            }
            _ => not_allowed("GET, HEAD, POST, DELETE"),
        }
    }

    fn state(&self) -> Reply {
        let document = json!({ "prefetch": self.0.prefetch.to_json() });
        json_reply(200, "application/json", &document)
    }

    async fn start(&self, query: Option<&str>) -> Reply {
        let Ok(folder) = path_parameter(query, "folder") else {
            return problem(
                400,
                "the query must be empty, or folder=PATH, where PATH is a folder of the library",
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
        let started = tokio::task::spawn_blocking(start).await;
        match started.expect("a panic aborts the process, and this task is never cancelled") {
            Ok(()) => self.state(),
            Err((status, title)) => problem(status, title),
        }
    }
}

impl Mount for PrefetchMount {
    fn part(&self) -> Part {
        Part::Dashboard
    }

    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        Box::pin(self.reply(request))
    }

    fn metrics(&self, text: &mut Text) {
        self.0.prefetch.render(text);
        self.0.idle_prefetch.render(text);
    }
}

//! Mount at `/-/api/variants`, which purges the cache of variants.

use std::pin::Pin;
use std::sync::Arc;

use serde_json::json;
use server::gate::Part;
use server::mount::{Mount, MountRequest, Reply};
use variants::cache::StillLoading;

use crate::mount::{json_reply, not_allowed, problem};
use crate::path_parameter::path_parameter;
use crate::sampler::Ops;

/// Mount that purges variants.
pub(crate) struct VariantsMount(pub(crate) Arc<Ops>);

impl VariantsMount {
    pub(crate) const PATH: &str = "/-/api/variants";

    async fn reply(&self, request: MountRequest<'_>) -> Reply {
        if request.path != VariantsMount::PATH {
            return problem(404, "no such resource");
        }
        if request.method != "DELETE" {
            return not_allowed("DELETE");
        }
        let Ok(path) = path_parameter(request.query, "path") else {
            return problem(
                400,
                "the query must be empty or path=PATH, with a path of the library",
            );
        };
        let Some(running) = self.0.running() else {
            return problem(503, "the server is starting");
        };
        let service = running.sources.live.current();
        let purge = move || match &path {
            Some(path) if !service.has_path(path) => problem(404, "no such file or folder"),
            _ => match service.purge(path.as_ref()) {
                Ok(purged) => {
                    let path = path.map(|path| path.as_path().display().to_string());
                    let (entries, bytes) = (purged.entries, purged.bytes);
                    tracing::info!(path, entries, bytes, "purged variants");
                    let document = json!({ "entries": entries, "bytes": bytes });
                    json_reply(200, "application/json", &document)
                }
                Err(StillLoading) => problem(503, "the cache is still being read: try again later"),
            },
        };
        let purged = tokio::task::spawn_blocking(purge).await;
        purged.expect("a panic aborts the process, and this task is never cancelled")
    }
}

impl Mount for VariantsMount {
    fn part(&self) -> Part {
        Part::Dashboard
    }

    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        Box::pin(self.reply(request))
    }
}

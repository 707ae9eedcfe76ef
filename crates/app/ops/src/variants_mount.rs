//! Mount at `/-/api/variants`, which purges the cache of variants.

use std::sync::Arc;

use percent_encoding::percent_decode_str;
use reactor::blocking;
use serde_json::json;
use server::Service;
use server::mount::{MountRequest, Reply};
use variants::cache::StillLoading;
use variants::library::LibraryPath;

use crate::dashboard_mount::DashboardMount;
use crate::mount::{json_reply, problem};
use crate::path_parameter::{InvalidPath, path_parameter};
use crate::sampler::Ops;

/// Mount that purges variants.
pub(crate) struct VariantsMount(pub(crate) Arc<Ops>);

impl VariantsMount {
    pub(crate) const PATH: &str = "/-/api/variants";
}

/// Variants that a request selects.
enum Purge {
    All,
    Path(LibraryPath),
    Tag(String),
}

impl Purge {
    /// Parses the query of a request: `tag=TAG`, `path=PATH`, or an empty query for all variants.
    /// Returns `None` for any other query.
    fn parse(query: Option<&str>) -> Option<Purge> {
        if let Some(tag) = query.and_then(|query| query.strip_prefix("tag=")) {
            let tag = percent_decode_str(tag).decode_utf8().ok()?;
            return (!tag.is_empty()).then(|| Purge::Tag(tag.into_owned()));
        }
        match path_parameter(query, "path") {
            Ok(Some(path)) => Some(Purge::Path(path)),
            Ok(None) => Some(Purge::All),
            Err(InvalidPath) => None,
        }
    }

    /// Removes the variants and returns the response. Blocks.
    fn run(&self, service: &Service) -> Reply {
        let purged = match self {
            Purge::Path(path) if !service.has_path(path) => {
                return problem(404, "no such file or folder");
            }
            Purge::Path(path) => service.purge(Some(path)).map(Some),
            Purge::All => service.purge(None).map(Some),
            Purge::Tag(tag) => service.purge_tag(tag),
        };
        match purged {
            Ok(Some(purged)) => {
                let (entries, bytes) = (purged.entries, purged.bytes);
                let path = match self {
                    Purge::Path(path) => Some(path.as_path().display().to_string()),
                    Purge::All | Purge::Tag(_) => None,
                };
                let tag = match self {
                    Purge::Tag(tag) => Some(tag),
                    Purge::All | Purge::Path(_) => None,
                };
                tracing::info!(path, tag, entries, bytes, "purged variants");
                let document = json!({ "entries": entries, "bytes": bytes });
                json_reply(200, "application/json", &document)
            }
            Ok(None) => problem(404, "no file or folder has this tag"),
            Err(StillLoading) => problem(
                503,
                "the index of the cache is still being loaded: try again later",
            ),
        }
    }
}

impl DashboardMount for VariantsMount {
    const ALLOW: &'static str = "DELETE";

    fn has_path(&self, path: &str) -> bool {
        path == VariantsMount::PATH
    }

    async fn reply(&self, request: MountRequest<'_>) -> Reply {
        let Some(purge) = Purge::parse(request.query) else {
            return problem(
                400,
                "the query must be empty, or path=PATH, where PATH is a path of the library, or \
                 tag=TAG",
            );
        };
        let Some(running) = self.0.running() else {
            return problem(503, "the server is starting");
        };
        let service = running.sources.live.current();
        blocking(move || purge.run(&service)).await
    }
}

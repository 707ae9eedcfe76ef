//! Mount that serves the dashboard's data as JSON, at `/-/api/ops`.

use std::sync::Arc;

use openmetrics::Text;
use reactor::blocking;
use serde_json::{Value, json};
use server::mount::{Field, MountRequest, Reply};

use crate::dashboard_mount::DashboardMount;
use crate::present;
use crate::sampler::Ops;

/// Mount of the dashboard.
pub(crate) struct OpsMount(pub(crate) Arc<Ops>);

impl OpsMount {
    /// Path of the JSON document with the dashboard's data.
    pub(crate) const PATH: &str = "/-/api/ops";
}

impl DashboardMount for OpsMount {
    const ALLOW: &'static str = "GET, HEAD";

    fn has_path(&self, path: &str) -> bool {
        path == OpsMount::PATH
    }

    async fn reply(&self, visit: MountRequest<'_>) -> Reply {
        let Some(since) = since(visit.query.unwrap_or("")) else {
            return problem(400, "the parameter `since` must be a whole number");
        };
        let ops = Arc::clone(&self.0);
        match blocking(move || present::document(&ops, since)).await {
            Some(document) => json_reply(200, "application/json", &document),
            None => problem(503, "the server is starting"),
        }
    }

    fn metrics(&self, text: &mut Text) {
        if let Some(running) = self.0.running() {
            crate::metrics::render(&self.0, running, text);
        }
    }
}

/// Returns the value of the parameter `since`, or 0 without this parameter. Returns `None` if the
/// value is not a number.
fn since(query: &str) -> Option<u64> {
    let mut pairs = query.split('&');
    match pairs.find_map(|pair| pair.strip_prefix("since=")) {
        Some(number) => number.parse().ok(),
        None => Some(0),
    }
}

pub(crate) fn json_reply(status: u16, media_type: &'static str, document: &Value) -> Reply {
    Reply::Whole {
        status,
        fields: fields(media_type),
        body: (document.to_string() + "\n").into(),
    }
}

fn fields(media_type: &'static str) -> Vec<Field> {
    vec![
        ("content-type".into(), media_type.into()),
        ("cache-control".into(), "no-store".into()),
        ("x-content-type-options".into(), "nosniff".into()),
    ]
}

pub(crate) fn problem(status: u16, title: &str) -> Reply {
    let document = json!({ "title": title, "status": status });
    json_reply(status, "application/problem+json", &document)
}

/// Returns the response to a request whose method is not supported. `allow` lists the supported
/// methods.
pub(crate) fn not_allowed(allow: &'static str) -> Reply {
    let mut reply = problem(405, "this method is not supported here");
    if let Reply::Whole { fields, .. } = &mut reply {
        fields.push(("allow".into(), allow.into()));
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::since;

    #[test]
    fn the_parameter_since() {
        assert_eq!(since(""), Some(0));
        assert_eq!(since("a=1&since=42"), Some(42));
        assert_eq!(since("since=-1"), None);
        assert_eq!(since("since="), None);
    }
}

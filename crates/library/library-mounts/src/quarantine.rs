//! Originals whose conversion crashed cells (sandboxed processes), as JSON at `/-/api/quarantine`.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use config::Config;
use conversion::quarantine::{self, Quarantined};
use reactor::blocking;
use serde_json::{Value, json};
use server::gate::Part;
use server::mount::{Field, Mount, MountRequest, Reply};

/// Mount of `/-/api/quarantine`, optionally followed by the hash of an original.
pub struct Quarantine {
    data: Arc<PathBuf>,
}

impl Quarantine {
    /// Returns the mount and its path.
    pub fn mount(config: &Config) -> (String, Arc<dyn Mount>) {
        let data = Arc::new(config.data.clone());
        (Quarantine::PREFIX.to_owned(), Arc::new(Quarantine { data }))
    }

    const PREFIX: &str = "/-/api/quarantine";

    async fn reply(&self, request: MountRequest<'_>) -> Reply {
        let below = request
            .path
            .strip_prefix(Quarantine::PREFIX)
            .unwrap_or_default();
        let hash = below.trim_matches('/').to_owned();
        let data = Arc::clone(&self.data);
        match (request.method, hash.is_empty()) {
            ("GET" | "HEAD", true) => match blocking(move || quarantine::list(&data)).await {
                Ok(entries) => {
                    let entries: Vec<Value> = entries.iter().map(described).collect();
                    json_reply(200, &json!({ "quarantine": entries }))
                }
                Err(err) => unreadable(&err),
            },
            ("DELETE", false) => match blocking(move || quarantine::lift(&data, &hash)).await {
                Ok(lifted) if lifted.is_empty() => {
                    problem(404, "no original with this hash is in quarantine")
                }
                Ok(lifted) => {
                    let lifted: Vec<Value> = lifted.iter().map(described).collect();
                    json_reply(200, &json!({ "lifted": lifted }))
                }
                Err(err) => unreadable(&err),
            },
            (_, is_list) => not_allowed(if is_list { "GET, HEAD" } else { "DELETE" }),
        }
    }
}

impl Mount for Quarantine {
    fn part(&self) -> Part {
        Part::Admin
    }

    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        Box::pin(self.reply(request))
    }
}

fn described(entry: &Quarantined) -> Value {
    json!({
        "blake3": entry.hash,
        "path": entry.path,
        "bytes": entry.bytes,
        "since_unix_s": entry.since_unix_s,
        "cause": entry.cause,
    })
}

fn json_reply(status: u16, document: &Value) -> Reply {
    Reply::Whole {
        status,
        fields: fields("application/json"),
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

fn problem(status: u16, title: &str) -> Reply {
    Reply::Whole {
        status,
        fields: fields("application/problem+json"),
        body: (json!({ "title": title, "status": status }).to_string() + "\n").into(),
    }
}

fn unreadable(err: &std::io::Error) -> Reply {
    tracing::error!(%err, "cannot read or change the list of originals in quarantine");
    problem(
        503,
        "the list of originals in quarantine cannot be read or changed at the moment",
    )
}

fn not_allowed(allow: &'static str) -> Reply {
    let mut reply = problem(405, "this method is not supported here");
    if let Reply::Whole { fields, .. } = &mut reply {
        fields.push(("allow".into(), allow.into()));
    }
    reply
}

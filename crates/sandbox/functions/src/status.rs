//! Isolation of every cell as text, at `/-/status`.

use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::Arc;

use sandbox::Posture;
use server::gate::Part;
use server::mount::{Mount, MountRequest, Reply};

use super::programs::Programs;
use super::reply::method_not_allowed;

/// Path at which the status is mounted.
pub(super) const PATH: &str = "/-/status";

/// Mount that shows how the cells of conversions and of each program are isolated, in the form that
/// the command `pelton cell --probe` prints.
pub(super) struct Status(pub(super) Arc<Programs>);

impl Mount for Status {
    fn part(&self) -> Part {
        Part::Admin
    }

    fn respond<'a>(&'a self, visit: MountRequest<'a>) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        let reply = match visit.method {
            "GET" | "HEAD" => Reply::Whole {
                status: 200,
                fields: vec![
                    ("content-type".into(), "text/plain; charset=utf-8".into()),
                    ("cache-control".into(), "no-store".into()),
                    ("x-content-type-options".into(), "nosniff".into()),
                ],
                body: self.text().into(),
            },
            _ => method_not_allowed("GET, HEAD"),
        };
        Box::pin(std::future::ready(reply))
    }
}

impl Status {
    fn text(&self) -> String {
        let mut text = String::new();
        around(&mut text, "conversions", &self.0.conversions.posture());
        for (name, unit) in &self.0.table().units {
            around(&mut text, &format!("program {name}"), &unit.posture());
        }
        text
    }
}

fn around(text: &mut String, whom: &str, posture: &Posture) {
    let gap = if text.is_empty() { "" } else { "\n" };
    writeln!(text, "{gap}{whom}").expect("writing to a string cannot fail");
    for line in posture.to_string().lines() {
        writeln!(text, "  {line}").expect("writing to a string cannot fail");
    }
}

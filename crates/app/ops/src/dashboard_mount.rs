//! Part that all mounts of the dashboard share: the check of path and method, and the login.

use std::pin::Pin;

use openmetrics::Text;
use server::gate::Part;
use server::mount::{Mount, MountRequest, Reply};

use crate::mount::{not_allowed, problem};

/// Mount of the dashboard, without the checks that [`Checked`] makes.
pub(crate) trait DashboardMount: Send + Sync {
    /// Supported methods, as the field `Allow` lists them.
    const ALLOW: &'static str;

    /// Returns whether the mount serves this path.
    fn has_path(&self, path: &str) -> bool;

    /// Responds to a request with a path of the mount and a supported method.
    async fn reply(&self, request: MountRequest<'_>) -> Reply;

    /// Writes the mount's metrics.
    fn metrics(&self, _text: &mut Text) {}
}

/// Mount that refuses requests with another path or an unsupported method.
pub(crate) struct Checked<M>(pub(crate) M);

impl<M: DashboardMount> Checked<M> {
    async fn reply(&self, request: MountRequest<'_>) -> Reply {
        if !self.0.has_path(request.path) {
            return problem(404, "no such resource");
        }
        if !M::ALLOW.split(", ").any(|method| method == request.method) {
            return not_allowed(M::ALLOW);
        }
        self.0.reply(request).await
    }
}

impl<M: DashboardMount> Mount for Checked<M> {
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
        self.0.metrics(text);
    }
}

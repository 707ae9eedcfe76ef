//! Request for a file of the library. The request is parsed only once.

use http1::{Request, Target, accept};
use image_plan::{Accepts, Grammar, ImageQuery};
use variants::library::{Library, LibraryPath};

use crate::coding::Coding;
use crate::problem::Problem;

/// Parsed request for a file.
#[derive(Debug)]
pub(crate) struct FileRequest<'r> {
    /// Target as the client sent it, or as a mount composed it to refer to a file of the library.
    pub(crate) target: Target<'r>,
    /// Formats that the client accepts.
    pub(crate) accepts: Accepts,
    /// Content coding that the client prefers, if any.
    pub(crate) coding: Option<Coding>,
    /// True if clients cannot request the file themselves.
    pub(crate) is_internal: bool,
    /// Path in the library; `None` if the target cannot be the path of a file.
    path: Option<LibraryPath>,
    /// Query parameters of the target, or the reason why they are invalid.
    query: Result<ImageQuery, String>,
}

/// Origin of a target. The origin decides which folders the target may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetOrigin {
    /// The target comes from a client.
    Public,
    /// The server composed the target, which may therefore name internal folders.
    Internal,
}

impl<'r> FileRequest<'r> {
    /// Parses path, query and accepted formats of `request`.
    pub(crate) fn parse(
        request: &Request<'r>,
        target_origin: TargetOrigin,
        library: &Library,
        grammar: Grammar,
    ) -> FileRequest<'r> {
        let target = request.target;
        let path = match target_origin {
            TargetOrigin::Public => library.path_for_clients(target.path),
            TargetOrigin::Internal => LibraryPath::from_target(target.path),
        };
        let query = grammar.parse(target.query.unwrap_or(""));
        FileRequest {
            target,
            accepts: accepts(request),
            coding: Coding::preferred(request),
            is_internal: path.as_ref().is_some_and(|path| library.is_internal(path)),
            path,
            query: query.map_err(|err| err.to_string()),
        }
    }

    /// Returns the path of the file.
    ///
    /// # Errors
    /// [`Problem::NotFound`] if the target cannot name a file.
    pub(crate) fn path(&self) -> Result<&LibraryPath, Problem> {
        self.path.as_ref().ok_or(Problem::NotFound)
    }

    /// Returns the query parameters.
    ///
    /// # Errors
    /// [`Problem::BadParameter`] if they are invalid.
    pub(crate) fn query(&self) -> Result<ImageQuery, Problem> {
        self.query.clone().map_err(Problem::BadParameter)
    }
}

/// Returns the formats that a request accepts.
pub(crate) fn accepts(request: &Request<'_>) -> Accepts {
    let [avif, webp] = accept::fold(request.accept(), &["image/avif", "image/webp"]);
    let named = accept::names(request.accept(), "image/");
    Accepts { avif, webp, named }
}

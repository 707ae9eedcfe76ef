//! Settings of the IIIF Image API, and the statuses of invalid URLs.

use image_plan::iiif::{IiifError, IiifErrorKind};

/// Settings of the operator for the IIIF Image API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Iiif {
    /// URL at which clients reach the root of this server, without a slash at its end. `None` if
    /// the URL follows from the Host field of each request.
    pub base_url: Option<String>,
}

/// Returns the status of the response to an invalid URL.
pub(crate) fn status(error: &IiifError) -> u16 {
    match error.kind {
        IiifErrorKind::Path => 404,
        IiifErrorKind::Value => 400,
        IiifErrorKind::NotImplemented => 501,
    }
}

/// Returns the title of the problem document for an invalid URL.
pub(crate) fn title(error: &IiifError) -> &'static str {
    match error.kind {
        IiifErrorKind::Path => "the path is not a URL of the IIIF Image API",
        IiifErrorKind::Value => "a parameter of the IIIF URL is invalid",
        IiifErrorKind::NotImplemented => "a parameter of the IIIF URL is not supported",
    }
}

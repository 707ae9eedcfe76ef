use std::sync::Arc;

use crate::library_access::MotionVideo;

/// Response to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// Document, for example in XML or JSON.
    Document {
        /// HTTP status. Most errors of the Subsonic protocol have the status 200, too.
        status: u16,
        /// Media type of the document.
        media_type: &'static str,
        /// Text of the document.
        body: String,
        /// Value of the Allow field, for the status 405.
        allow: Option<&'static str>,
    },
    /// File in the library, or a picture derived from such a file. The caller responds as if the
    /// client had requested `target`.
    File {
        /// Path and query, percent-encoded.
        target: String,
        /// Value of the Content-Disposition field, if the client requested a download.
        disposition: Option<String>,
    },
    /// Picture of the library that is always converted. Its original must not be sent, since the
    /// metadata of the original may be private.
    Variant {
        /// Path and query, percent-encoded.
        target: String,
    },
    /// Unchanged file of the library, for a download.
    Original {
        /// Path of the file, percent-encoded.
        path: String,
        /// Value of the Content-Disposition field.
        disposition: String,
    },
    /// Video in the file of a motion photo.
    Motion {
        /// Path of the file, percent-encoded.
        path: String,
        /// Place of the video in the file.
        video: MotionVideo,
    },
    /// Comparison of a picture's original with the variant that a client gets.
    Comparison {
        /// Path and query of the picture, percent-encoded.
        target: String,
    },
    /// Several files of the library in one ZIP archive.
    Archive {
        /// For each file, its target in the library, percent-encoded, and its name in the archive.
        files: Vec<(String, String)>,
        /// Value of the Content-Disposition field.
        disposition: String,
    },
    /// Transcoded track of the library.
    Transcoded {
        /// Target of the original file, percent-encoded.
        target: String,
        /// Name of the user who sent the request.
        user: Arc<str>,
        /// Plan of the transcode.
        plan: Box<audio_plan::Plan>,
        /// True if the response may be sent while it is produced, without a Content-Length.
        allow_streaming: bool,
        /// True if the server may send the original file when the file cannot be decoded.
        fallback_to_original: bool,
    },
}

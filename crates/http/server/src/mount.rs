//! Mounts: handlers of paths outside the library. The program that assembles the server gives each
//! mount a path prefix.
//!
//! ```text
//! request ─► a mount's prefix? ── no ─► the library
//!                  └─ yes ─► body, read whole ─► Mount::respond ─► Reply:
//!
//!     Whole        complete response
//!     Internal     the library's response for another target
//!     Variant      converted picture of the library
//!     Original     unchanged file of the library
//!     Section      range of an unchanged file of the library
//!     Comparison   score of a converted picture
//!     Archive      several files of the library
//!     Transcoded   track of the library, transcoded by a plan
//! ```

use std::fmt;
use std::net::IpAddr;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http1::Fields as RequestFields;
use openmetrics::Text;

use crate::archive::ArchiveFile;
pub use crate::fields::Field;
use crate::gate::{Part, RequireLogin, Users};
use crate::media_type::AllowedTypes;

/// Handler of all targets below one path prefix.
pub trait Mount: Send + Sync {
    /// Responds to one request. Runs on a core's thread, which must not be blocked: blocking work
    /// belongs in [`reactor::blocking`] or on a separate thread. The future is dropped when a
    /// client of HTTP/2 resets the request or disconnects. It is not dropped when a client of
    /// HTTP/1.1 disconnects, because the server does not read the connection before it has
    /// responded.
    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>>;

    /// Writes the mount's metrics. Their names must differ from those of all other metrics of the
    /// server.
    fn metrics(&self, _text: &mut Text) {}

    /// Returns whether the query strings of requests may contain secrets. If so, the access log
    /// records only the path.
    fn has_secret_queries(&self) -> bool {
        false
    }

    /// Returns the part of the server that the mount belongs to, for access control.
    fn part(&self) -> Part {
        Part::Files
    }

    /// Returns whether the queries of the mount's [`Reply::Internal`] are those of the requests. If
    /// so, the rules of [`crate::permission`] apply to them.
    fn passes_queries(&self) -> bool {
        false
    }

    /// Returns whether the mount's [`Reply::Internal`] may name targets that clients cannot
    /// request: internal folders, and music that needs a login.
    fn reaches_internal(&self) -> bool {
        false
    }
}

/// Request to a mount.
#[derive(Clone, Debug)]
pub struct MountRequest<'a> {
    /// Name of the method. A mount may treat HEAD like GET: the server omits the body.
    pub method: &'a str,
    /// Whole path, as the client sent it.
    pub path: &'a str,
    /// Query: the text after the first `?`, if any.
    pub query: Option<&'a str>,
    /// Header fields in the order received.
    pub fields: RequestFields<'a>,
    /// Whole body of the request.
    pub body: Bytes,
    /// Address of the client.
    pub peer: IpAddr,
    /// True if the request arrived over TLS.
    pub secure: bool,
    /// Parts of the server that need a login.
    pub require_login: RequireLogin,
    /// Extensions of files that are served although they are neither pictures nor audio.
    pub allowed_types: &'a AllowedTypes,
    /// Extensions that a file must have to be served.
    pub only_types: &'a AllowedTypes,
}

impl MountRequest<'_> {
    /// Returns whether the server sends files with the extension `extension` although they are
    /// neither pictures nor audio. `extension` is in lower case.
    #[must_use]
    pub fn serves_extension(&self, extension: &str) -> bool {
        [self.allowed_types, self.only_types]
            .into_iter()
            .all(|types| types.media_type(extension).is_some())
    }
}

/// Response of a mount.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A complete response.
    Whole {
        /// Status from 200 to 599.
        status: u16,
        /// Header fields. Content-Length, Date, invalid fields and fields that control the
        /// connection, such as Transfer-Encoding, are ignored.
        fields: Vec<Field>,
        /// Body of the response.
        body: Bytes,
    },
    /// The library's response for another target. Negotiation, validators, ranges and HEAD requests
    /// work as for files of the library.
    Internal {
        /// Path and query, percent-encoded as in a request.
        target: String,
        /// Additional header fields, which replace the library's fields of the same name.
        fields: Vec<Field>,
    },
    /// A variant of a picture of the library, and never its original, whose metadata may be
    /// private. If the picture cannot be converted, the status is 404. Negotiation, validators,
    /// ranges and HEAD requests work as for files of the library. As with [`Reply::Internal`], only
    /// mounts with [`Mount::reaches_internal`] may name internal folders.
    Variant {
        /// Path and query, percent-encoded as in a request.
        target: String,
        /// Additional header fields, as in [`Reply::Internal`].
        fields: Vec<Field>,
    },
    /// A file of the library without conversion, whatever formats the client accepts. Validators,
    /// ranges and HEAD requests work as for files of the library.
    Original {
        /// Path of the file, percent-encoded as in a request.
        path: String,
        /// Additional header fields, as in [`Reply::Internal`].
        fields: Vec<Field>,
    },
    /// A range of a file of the library, without conversion, as a resource of its own. Validators,
    /// ranges and HEAD requests work as for files of the library.
    Section {
        /// Path of the file, percent-encoded as in a request.
        path: String,
        /// Range of the file.
        section: FileSection,
        /// Additional header fields, as in [`Reply::Internal`].
        fields: Vec<Field>,
    },
    /// A comparison, as a JSON document, of an original with the variant that the client of the
    /// request would get for a target.
    Comparison {
        /// Path and query of the picture, percent-encoded as in a request.
        target: String,
        /// Additional header fields, as in [`Reply::Internal`].
        fields: Vec<Field>,
    },
    /// A track that is transcoded according to a plan, and sent like a file.
    Transcoded(TranscodeRequest),
    /// Files of the library as one uncompressed ZIP archive.
    Archive {
        /// Files of the archive, in order.
        files: Vec<ArchiveFile>,
        /// Header fields as in [`Reply::Whole`], without Content-Type.
        fields: Vec<Field>,
    },
}

impl Reply {
    /// Returns whether the response contains a file of the library or is made from one. Such a
    /// response may need a login, even if the mount itself needs none.
    pub(crate) fn has_library_content(&self) -> bool {
        match self {
            Reply::Whole { .. } => false,
            Reply::Internal { .. }
            | Reply::Variant { .. }
            | Reply::Original { .. }
            | Reply::Section { .. }
            | Reply::Comparison { .. }
            | Reply::Transcoded(_)
            | Reply::Archive { .. } => true,
        }
    }
}

/// Range of one version of a file.
#[derive(Clone, Debug)]
pub struct FileSection {
    /// Entity tag of the version of the file that has this range. If the file has changed, the
    /// status is 503.
    pub etag: String,
    /// Range of the file in bytes.
    pub range: Range<u64>,
    /// Media type of the range.
    pub media_type: &'static str,
}

/// Request of a mount for a transcoded track.
#[derive(Clone, Debug)]
pub struct TranscodeRequest {
    /// Target of the original track, as in [`Reply::Internal`].
    pub target: String,
    /// Plan of the transcode.
    pub plan: Box<audio_plan::Plan>,
    /// User who sent the request. The queue of transcodes alternates between users.
    pub user: Arc<str>,
    /// True if the track may be sent while it is still being transcoded. Such a response has no
    /// Content-Length. Requests with ranges or conditions get the complete track in any case.
    pub allow_streaming: bool,
    /// True if the original may be sent when transcoding fails; otherwise a failure gives a problem
    /// document.
    pub fallback_to_original: bool,
    /// Media type and body of the response with status 429, sent if too many tracks are waiting.
    pub busy: BusyResponse,
    /// Header fields as in [`Reply::Internal`].
    pub fields: Vec<Field>,
}

/// Response to a player while too many tracks are waiting to be transcoded.
#[derive(Clone, Debug)]
pub struct BusyResponse {
    /// Media type of the body.
    pub media_type: &'static str,
    /// Body of the response.
    pub body: Bytes,
}

/// Mounts of a service with their prefixes. If several prefixes match a path, the longest applies.
#[derive(Clone, Default)]
pub struct Mounts {
    table: Arc<[(String, Arc<dyn Mount>)]>,
    users: Option<Arc<dyn Users>>,
}

impl Mounts {
    /// Creates the mounts, each with its prefix. A prefix such as `/rest` matches the path `/rest`
    /// and all paths below it. A prefix that ends with a slash, such as `/-/`, matches only the
    /// path `/-/`.
    ///
    /// # Panics
    /// If a prefix does not begin with a slash.
    #[must_use]
    pub fn new(mut table: Vec<(String, Arc<dyn Mount>)>) -> Mounts {
        for (prefix, _) in &table {
            assert!(prefix.starts_with('/'), "prefix {prefix:?}");
        }
        table.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        Mounts {
            table: table.into(),
            users: None,
        }
    }

    /// Returns these mounts with `users`, which verifies logins.
    #[must_use]
    pub fn with_users(self, users: Option<Arc<dyn Users>>) -> Mounts {
        Mounts { users, ..self }
    }

    /// Returns the verifier of logins, if any.
    pub(crate) fn users(&self) -> Option<&Arc<dyn Users>> {
        self.users.as_ref()
    }

    /// Returns the mount whose prefix matches `path`, if any.
    pub(crate) fn find(&self, path: &str) -> Option<&Arc<dyn Mount>> {
        let fits = |prefix: &str| {
            let below = path.strip_prefix(prefix);
            below.is_some_and(|below| {
                below.is_empty() || below.starts_with('/') && !prefix.ends_with('/')
            })
        };
        let mut mounts = self.table.iter();
        mounts
            .find(|(prefix, _)| fits(prefix))
            .map(|(_, mount)| mount)
    }

    /// Writes the metrics of all mounts.
    pub(crate) fn metrics(&self, text: &mut Text) {
        for (_, mount) in self.table.iter() {
            mount.metrics(text);
        }
    }

    /// Returns the part of a request target that may be logged. If the query may contain secrets,
    /// it is left out.
    pub(crate) fn loggable<'t>(&self, target: &'t [u8]) -> &'t [u8] {
        let Some(end) = target.iter().position(|byte| *byte == b'?') else {
            return target;
        };
        // Only the path of an absolute URI is compared with the prefixes.
        let path = str::from_utf8(&target[..end]).unwrap_or("");
        let path = match path.split_once("://") {
            Some((_, rest)) => rest.find('/').map_or("", |begin| &rest[begin..]),
            None => path,
        };
        match self.find(path) {
            Some(mount) if mount.has_secret_queries() => &target[..end],
            _ => target,
        }
    }
}

impl fmt::Debug for Mounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefixes = self.table.iter().map(|(prefix, _)| prefix);
        f.debug_list().entries(prefixes).finish()
    }
}

#[cfg(test)]
mod tests;

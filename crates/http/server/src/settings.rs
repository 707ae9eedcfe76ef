//! Settings of the service, and the limits on its caches and responses.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use conversion::{flight, transcode};
use image_plan::{Accepts, Grammar};
use variants::library::Mount;
use variants::shared_index;

use crate::access;
use crate::fields::{Cors, Headers};
use crate::gate::Gate;
use crate::h2::limits::Limits as Http2Limits;
use crate::iiif::Iiif;
use crate::imgproxy::Imgproxy;
use crate::media_type::AllowedTypes;
use crate::path_tags::PathTags;
use crate::permission::Permissions;

/// Settings of the operator. `pelton check` prints them.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Directories of originals, with the paths under which they are served.
    pub mounts: Vec<Mount>,
    /// Directory in which variants are stored.
    pub data: PathBuf,
    /// Output formats that clients may get if they accept them.
    pub formats: Accepts,
    /// Quality of pictures if the request specifies none, from 1 to 100 as for JPEG.
    pub quality: u8,
    /// True if variants are encoded again at higher effort when cores are idle.
    pub improve: bool,
    /// Extensions of files that are served although they are neither pictures nor audio.
    pub allowed_types: AllowedTypes,
    /// Extensions of the files that may be served. Files with other extensions are never served,
    /// even if they are pictures.
    pub only_types: AllowedTypes,
    /// Grammar of the query strings that select size, format and quality.
    pub grammar: Grammar,
    /// Extensions of allowed files whose scripts browsers may run.
    pub active_types: AllowedTypes,
    /// Header fields that the operator configured for every response.
    pub headers: Headers,
    /// Tags of files and folders.
    pub tags: PathTags,
    /// Origins whose pages may read the responses for files of the library (CORS).
    pub cors: Cors,
    /// Value of Cross-Origin-Resource-Policy in responses for files of the library; `None` if the
    /// field is omitted.
    pub resource_policy: Option<&'static str>,
    /// Seconds for which responses that are not provisional are fresh (`max-age`).
    pub max_age_s: u32,
    /// Seconds for which provisional responses are fresh. A better variant will replace such a
    /// response soon.
    pub provisional_age_s: u32,
    /// Limits on requests.
    pub http: http1::Limits,
    /// Limits on pictures.
    pub picture: image_plan::Limits,
    /// Limits on conversions.
    pub flight: flight::Limits,
    /// Limits on transcodes.
    pub transcode: transcode::Limits,
    /// Limits on caches and responses.
    pub limits: Limits,
    /// Destination of the access log.
    pub access: access::Sink,
    /// Limits on the access log.
    pub access_limits: access::Limits,
    /// Limits on the shared index.
    pub shared_index: shared_index::Limits,
    /// Access rules: the parts that need a login, the server's host names, the origins that may use
    /// the API, and the token for the administration and the API.
    pub gate: Gate,
    /// Rules for requests that change pictures.
    pub permissions: Permissions,
    /// Settings for imgproxy URLs; `None` if no path is an imgproxy URL.
    pub imgproxy: Option<Imgproxy>,
    /// Settings for the IIIF Image API; `None` if it is off.
    pub iiif: Option<Iiif>,
}

/// Limits of the service's caches and responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum bytes of variants on disk.
    pub variants_bytes_max: u64,
    /// Maximum number of originals whose types and dimensions are cached in memory; about 150 bytes
    /// each.
    pub facts_max: NonZeroUsize,
    /// Maximum number of originals whose placeholders are kept, in memory and on disk; about 150
    /// bytes each.
    pub placeholders_max: NonZeroUsize,
    /// Maximum size of a body that is sent from memory, in bytes. Larger bodies are sent by
    /// `sendfile`.
    pub memory_body_bytes_max: u64,
    /// Maximum number of comparisons of a variant with its original that run at the same time.
    pub comparisons_max: usize,
    /// Maximum bytes of bodies that one core caches in memory.
    pub core_body_bytes_max: u64,
    /// Maximum number of responses that one core keeps ready. Each response whose body is not in
    /// memory holds an open file.
    pub core_responses_max: NonZeroUsize,
    /// Time, in milliseconds, for which a core reuses a ready response or a verified login. After
    /// this time, the core checks it again.
    pub revalidate_after_ms: u64,
    /// Maximum size of a text that is compressed in memory, in bytes.
    pub coded_bytes_max: u64,
    /// Maximum number of entries that the page of one folder shows.
    pub gallery_entries_max: usize,
    /// Maximum size of an original that is converted, in bytes. Larger originals are sent
    /// unconverted.
    pub original_bytes_max: u64,
    /// Maximum number of TLS handshakes in progress on one core. When this number is reached, each
    /// new handshake closes the oldest.
    pub handshakes_max: usize,
    /// Maximum bytes of responses that wait in memory until the client of one TLS connection reads
    /// them. Plain and encrypted bytes both count.
    pub tls_buffer_bytes_max: usize,
    /// Limits on HTTP/2 connections.
    pub h2: Http2Limits,
    /// Maximum size of the responses to pipelined requests that wait to be written together, in
    /// bytes. When they reach this size, they are written before the next request is answered.
    pub queued_bytes_max: usize,
    /// Maximum number of requests per connection. The response to the last request closes the
    /// connection.
    pub connection_requests_max: u32,
    /// Maximum wall time of a conversion, in milliseconds. A conversion with a low estimate of its
    /// CPU time has a lower limit, unless it runs on idle cores.
    pub conversion_wall_ms_max: u32,
    /// Maximum size of the body of a request to a mount, in bytes on the wire.
    pub request_body_bytes: usize,
    /// Maximum total bytes of the bodies of requests to mounts, on one core. A body counts until
    /// the response to its request is ready. Above the limit, a body that arrives slowly is
    /// dropped; if no body arrives slowly, the response is 503.
    pub core_request_body_bytes: usize,
    /// Maximum total bytes of the responses in memory that clients have not read yet. These are the
    /// responses of mounts, pages, the metrics, and compressed forms of these texts. Above the
    /// limit, a response is replaced by a 503.
    pub mount_responses_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            variants_bytes_max: 4 << 30,
            facts_max: NonZeroUsize::new(65_536).expect("not zero"),
            placeholders_max: NonZeroUsize::new(65_536).expect("not zero"),
            memory_body_bytes_max: 64 << 10,
            comparisons_max: 2,
            core_body_bytes_max: 128 << 20,
            core_responses_max: NonZeroUsize::new(4096).expect("not zero"),
            revalidate_after_ms: 1_000,
            coded_bytes_max: 4 << 20,
            gallery_entries_max: 1_000,
            original_bytes_max: 256 << 20,
            handshakes_max: 512,
            tls_buffer_bytes_max: 32 << 10,
            h2: Http2Limits::default(),
            queued_bytes_max: 24 << 10,
            connection_requests_max: 10_000,
            conversion_wall_ms_max: 120_000,
            request_body_bytes: 1 << 20,
            core_request_body_bytes: 32 << 20,
            mount_responses_bytes: 256 << 20,
        }
    }
}

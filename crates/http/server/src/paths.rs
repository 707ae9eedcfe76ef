//! Paths that the server itself serves, beside the library and the mounts.

/// Paths of health checks, which know neither host names nor TLS.
pub(crate) const PROBES: [&str; 3] = ["/healthz", "/-/live", "/-/ready"];
/// Path of the gallery.
pub(crate) const PAGE: &str = "/-/";
/// Path of the metrics.
pub(crate) const METRICS_PATH: &str = "/-/metrics";
/// Internal folder of covers and users' pictures. Only targets that the server composes lead there.
pub(crate) const INTERNAL_FOLDER: &str = "-";

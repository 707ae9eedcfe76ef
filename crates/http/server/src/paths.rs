//! Paths that the server itself serves, in addition to the library and the mounts.

/// Paths of health checks, which are served under any host name and without TLS.
pub(crate) const PROBES: [&str; 3] = ["/healthz", "/-/live", "/-/ready"];
/// Path of this server's web page. The gallery and the API have paths below it.
pub(crate) const PAGE: &str = "/-/";
/// URL of this server's web page relative to `/` and to `/-`. A relative URL also works if a proxy
/// serves this server below another path.
pub(crate) const PAGE_FROM_ROOT: &str = "-/";
/// Path of the root folder's page that needs no scripts. The pages of all other folders have paths
/// below it.
pub(crate) const FOLDER_PAGES: &str = "/-/at/";
/// Path of the web page's view of the root folder. The views of all other folders have paths below
/// it.
pub(crate) const FOLDER_VIEWS: &str = "/-/folders/";
/// Beginning of the URLs of the IIIF Image API, if the settings enable it.
pub(crate) const IIIF: &str = "/-/iiif/";
/// Path of the metrics.
pub(crate) const METRICS_PATH: &str = "/-/metrics";
/// Internal folder of covers and users' pictures. Only targets that the server generates can name
/// files in it.
pub(crate) const INTERNAL_FOLDER: &str = "-";

/// Returns the URL of the server's root relative to the page at `target`. For example, the URL is
/// `../../` for `/-/at/`, and empty for `/photo.jpg`. A relative URL also works if a proxy serves
/// this server below another path.
pub(crate) fn relative_root(target: &str) -> String {
    let depth = target.bytes().filter(|byte| *byte == b'/').count();
    "../".repeat(depth.saturating_sub(1))
}

//! Mounts of the web page: its files, and the shell, an HTML document that is served at the address
//! of every view and loads these files.
//!
//! ```text
//! /-/ and /-/VIEW/… ─► shell, with a new nonce      /-/app/VERSION/NAME ─► file, cached for ever
//! /-/service-worker.js, /-/manifest.webmanifest ─► the same files, where browsers require them
//! ```

use std::pin::Pin;
use std::sync::Arc;

use crate::players::accepted_languages;
use bytes::Bytes;
use http1::accept;
use library_api::language::preferred;
use rustix::rand::{GetRandomFlags, getrandom};
use server::gate::Part;
use server::mount::{Field, Mount, MountRequest, Reply};
use web_assets::{Asset, Assets, Links};

/// Path of the page.
const ROOT: &str = "/-/";
/// Path prefix of the page's files. The page's version and the name of the file follow the prefix.
const FILES: &str = "/-/app";
/// Path prefixes of the page's views.
const VIEWS: [&str; 6] = [
    "/-/photos",
    "/-/folders",
    "/-/music",
    "/-/playground",
    "/-/ops",
    "/-/settings",
];
/// Files whose paths do not contain the version of the page. A service worker controls only paths
/// below its own folder (Service Workers, section 4.1), and the manifest refers to its icons by
/// relative URLs.
const FIXED: [(&str, &str); 4] = [
    ("/-/service-worker.js", "service-worker.js"),
    ("/-/manifest.webmanifest", "manifest.webmanifest"),
    ("/-/icon-192.png", "icon-192.png"),
    ("/-/icon-512.png", "icon-512.png"),
];
/// Cache-Control of files whose path contains the version of the page.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// Returns the mounts of the page, with their path prefixes.
pub fn mounts(assets: Assets) -> Vec<(String, Arc<dyn Mount>)> {
    let assets = Arc::new(assets);
    let shell: Arc<dyn Mount> = Arc::new(Shell(Arc::clone(&assets)));
    let views = VIEWS.into_iter().chain([ROOT]);
    let views = views.map(|prefix| (prefix.to_owned(), Arc::clone(&shell)));
    let fixed = FIXED.into_iter().map(|(path, name)| {
        let file: Arc<dyn Mount> = Arc::new(File(Arc::clone(&assets), Some(name)));
        (path.to_owned(), file)
    });
    let files: Arc<dyn Mount> = Arc::new(File(Arc::clone(&assets), None));
    let mut mounts: Vec<_> = views.chain(fixed).collect();
    mounts.push((FILES.to_owned(), files));
    mounts
}

/// Mount of the shell, the document that loads the scripts of the page.
struct Shell(Arc<Assets>);

impl Shell {
    fn reply(&self, request: &MountRequest<'_>) -> Reply {
        if !matches!(request.method, "GET" | "HEAD") {
            return not_allowed();
        }
        let (nonce, root) = (nonce(), root_of(request.path));
        let languages: Vec<&str> = Assets::languages().collect();
        let language = preferred(&accepted_languages(request), &languages);
        let links = Links {
            root: &root,
            plain: &format!("{root}-/{}", plain_of(request.path)),
            // The script may load another language, which its user has chosen.
            language: language.unwrap_or("en"),
            nonce: &nonce,
        };
        let Some(shell) = self.0.shell(links) else {
            return not_found();
        };
        let fields = [
            ("content-type", "text/html; charset=utf-8".to_owned()),
            // A stored copy would have the nonce of an earlier response.
            ("cache-control", "no-cache".to_owned()),
            ("vary", "Accept-Language".to_owned()),
            ("content-security-policy", policy(&nonce)),
            ("cross-origin-opener-policy", "same-origin".to_owned()),
            ("referrer-policy", "same-origin".to_owned()),
            ("x-content-type-options", "nosniff".to_owned()),
            ("permissions-policy", PERMISSIONS.to_owned()),
        ];
        Reply::Whole {
            status: 200,
            fields: fields
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
            body: shell.into(),
        }
    }
}

/// Value of the field Permissions-Policy. It disables browser features that the page never uses.
const PERMISSIONS: &str = "camera=(), geolocation=(), microphone=(), payment=(), usb=()";

/// Returns the Content-Security-Policy of a shell: a script runs only if the shell loads it with
/// the nonce, or if such a script imports it. Scripts are not allowed by origin, because files of
/// the library have the same origin as the page. The only Trusted Types policy that the page may
/// create is the one that registers its service worker.
fn policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic'; style-src 'self'; \
         img-src 'self' blob: data:; media-src 'self' blob:; connect-src 'self'; \
         manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; \
         frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types service-worker"
    )
}

/// Returns a new nonce: 128 random bits, in hexadecimal.
pub(crate) fn nonce() -> String {
    let mut bytes = [0; 16];
    getrandom(&mut bytes, GetRandomFlags::empty()).expect("the kernel has random numbers");
    format!("{:032x}", u128::from_ne_bytes(bytes))
}

/// Returns the relative URL of the server's root as seen from `path`, such as `../../` from
/// `/-/photos`. Relative URLs also work if a proxy serves the root below a path of its own.
pub(crate) fn root_of(path: &str) -> String {
    let depth = path.bytes().filter(|byte| *byte == b'/').count();
    "../".repeat(depth.saturating_sub(1))
}

/// Returns the path, below `/-/`, of the page without scripts that shows the same content as the
/// view at `path`.
fn plain_of(path: &str) -> String {
    let below = path.strip_prefix(ROOT).unwrap_or_default();
    match below.split_once('/').unwrap_or((below, "")) {
        ("folders", "") => "at/".to_owned(),
        ("folders", folder) => format!("at/{}/", folder.trim_end_matches('/')),
        ("music", _) => "plain/music".to_owned(),
        _ => "at/".to_owned(),
    }
}

impl Mount for Shell {
    /// Returns the part of the server to which the shell belongs: the part that needs no login,
    /// since the shell contains the login form, but no data.
    fn part(&self) -> Part {
        Part::Open
    }

    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        Box::pin(std::future::ready(self.reply(&request)))
    }
}

/// Mount of one file of the web page or, if the name is `None`, of all files of the web page.
struct File(Arc<Assets>, Option<&'static str>);

impl File {
    fn reply(&self, request: &MountRequest<'_>) -> Reply {
        if !matches!(request.method, "GET" | "HEAD") {
            return not_allowed();
        }
        let (name, caching) = match self.1 {
            Some(name) => (name, "no-cache"),
            None => {
                let below = request.path.strip_prefix(FILES).unwrap_or_default();
                let mut parts = below.trim_start_matches('/').splitn(2, '/');
                let (version, name) = (parts.next(), parts.next());
                // The files of another version may differ, so this version's files must not be
                // cached under that version's path.
                if version != Some(self.0.version()) {
                    return not_found();
                }
                let caching = if version == Some("dev") {
                    "no-store"
                } else {
                    FOR_EVER
                };
                (name.unwrap_or_default(), caching)
            }
        };
        match self.0.find(name) {
            Some(asset) => file(asset, caching, request),
            None => not_found(),
        }
    }
}

/// Returns a file in the smallest content encoding that the client accepts.
fn file(asset: Asset, caching: &'static str, request: &MountRequest<'_>) -> Reply {
    let values = request.fields.clone();
    let values = values.filter(|(name, _)| name.eq_ignore_ascii_case("accept-encoding"));
    let [brotli, gzip] = accept::fold(values.map(|(_, value)| value), &["br", "gzip"]);
    let has_forms = asset.brotli.or(asset.gzip).is_some();
    let coded = match (asset.brotli.filter(|_| brotli), asset.gzip.filter(|_| gzip)) {
        (Some(bytes), _) => Some(("br", bytes)),
        (None, Some(bytes)) => Some(("gzip", bytes)),
        (None, None) => None,
    };
    let mut fields: Vec<Field> = vec![
        ("content-type".into(), asset.media_type.into()),
        ("cache-control".into(), caching.into()),
        ("x-content-type-options".into(), "nosniff".into()),
        ("cross-origin-resource-policy".into(), "same-origin".into()),
    ];
    if has_forms {
        fields.push(("vary".into(), "Accept-Encoding".into()));
    }
    let body = match coded {
        Some((coding, bytes)) => {
            fields.push(("content-encoding".into(), coding.into()));
            Bytes::from_static(bytes)
        }
        None => Bytes::from_owner(asset.identity),
    };
    Reply::Whole {
        status: 200,
        fields,
        body,
    }
}

impl Mount for File {
    fn part(&self) -> Part {
        Part::Open
    }

    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        Box::pin(std::future::ready(self.reply(&request)))
    }
}

fn not_found() -> Reply {
    plain(
        404,
        "the page has no such file; reload the page if Pelton was updated\n",
        &[],
    )
}

fn not_allowed() -> Reply {
    plain(
        405,
        "only GET and HEAD are supported here\n",
        &[("allow", "GET, HEAD")],
    )
}

fn plain(status: u16, text: &'static str, more: &[(&'static str, &'static str)]) -> Reply {
    let fields = [
        ("content-type", "text/plain; charset=utf-8"),
        ("cache-control", "no-store"),
    ];
    let fields = fields.iter().chain(more);
    Reply::Whole {
        status,
        fields: fields
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
        body: Bytes::from_static(text.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::{plain_of, root_of};

    #[test]
    fn views_of_folders_and_music_have_a_page_without_scripts() {
        for (path, plain) in [
            ("/-/", "at/"),
            ("/-/photos/ph-0", "at/"),
            ("/-/folders", "at/"),
            ("/-/folders/a%20b/c", "at/a%20b/c/"),
            ("/-/folders/a/", "at/a/"),
            ("/-/music/albums", "plain/music"),
        ] {
            assert_eq!(plain_of(path), plain, "{path}");
        }
    }

    #[test]
    fn the_root_is_as_many_folders_up_as_the_path_is_deep() {
        for (path, root) in [
            ("/-/", "../"),
            ("/-/photos", "../"),
            ("/-/photos/", "../../"),
            ("/-/folders/a/b%20c", "../../../"),
        ] {
            assert_eq!(root_of(path), root, "{path}");
        }
    }
}

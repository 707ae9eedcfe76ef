//! Files of the web page, with their media types and compressed forms.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fs;
use std::path::PathBuf;

use html_escape::encode_double_quoted_attribute;

/// File that is embedded into the program.
struct Embedded {
    name: &'static str,
    identity: &'static [u8],
    /// File content in compressed form; `None` if compression saves hardly any bytes.
    gzip: Option<&'static [u8]>,
    brotli: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Name of the HTML file that loads the page.
const SHELL: &str = "shell.html";

/// Files of the web page: either the embedded files or the files of a folder.
#[derive(Clone, Debug, Default)]
pub struct Assets {
    /// Folder from which files are read for each request; `None` if the embedded files are used.
    folder: Option<PathBuf>,
}

/// One file of the web page.
#[derive(Clone, Debug)]
pub struct Asset {
    /// Media type, with the character set of text.
    pub media_type: &'static str,
    /// Uncompressed bytes.
    pub identity: Cow<'static, [u8]>,
    /// Bytes compressed with gzip (RFC 1952); `None` if that saves hardly any bytes.
    pub gzip: Option<&'static [u8]>,
    /// Bytes compressed with Brotli (RFC 7932); `None` if that saves hardly any bytes.
    pub brotli: Option<&'static [u8]>,
}

/// Values that are inserted into the HTML document that loads the page.
#[derive(Clone, Copy, Debug)]
pub struct Links<'a> {
    /// Relative URL of the server's root, such as `../../`, as seen from the document.
    pub root: &'a str,
    /// Relative URL of an equivalent page that needs no scripts.
    pub plain: &'a str,
    /// Language whose messages the document preloads, one of [`Assets::languages`].
    pub language: &'a str,
    /// Nonce of the script element, as in the Content-Security-Policy (CSP Level 3 §7.1).
    pub nonce: &'a str,
}

impl Assets {
    /// Returns the files in `folder`, for developers who change the page. The version of these
    /// files is `dev`.
    #[must_use]
    pub fn in_folder(folder: PathBuf) -> Assets {
        Assets {
            folder: Some(folder),
        }
    }

    /// Returns the version of the files: sixteen hexadecimal digits, or `dev` for the files of a
    /// folder.
    #[must_use]
    pub fn version(&self) -> &'static str {
        match self.folder {
            Some(_) => "dev",
            None => VERSION,
        }
    }

    /// Returns the file called `name`, if it exists.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Asset> {
        let media_type = media_type(name)?;
        let Some(folder) = &self.folder else {
            let found = FILES.iter().find(|file| file.name == name)?;
            return Some(Asset {
                media_type,
                identity: found.identity.into(),
                gzip: found.gzip,
                brotli: found.brotli,
            });
        };
        if name.contains('/') {
            return None;
        }
        let bytes = fs::read(folder.join(name)).ok()?;
        Some(Asset {
            media_type,
            identity: bytes.into(),
            gzip: None,
            brotli: None,
        })
    }

    /// Returns the tags of the languages in which the embedded page has messages, such as `de`.
    pub fn languages() -> impl Iterator<Item = &'static str> {
        let tag = |file: &'static Embedded| file.name.strip_prefix("base-")?.strip_suffix(".js");
        FILES.iter().filter_map(tag)
    }

    /// Returns the HTML document that loads the page, or `None` if the folder does not contain it.
    #[must_use]
    pub fn shell(&self, links: Links<'_>) -> Option<String> {
        let template = self.find(SHELL)?.identity;
        let template = str::from_utf8(&template).ok()?;
        let assets = format!("{}-/app/{}/", links.root, self.version());
        let text = template.replace("{assets}", &assets);
        let text = text.replace("{root}", links.root);
        let text = text.replace("{language}", links.language);
        let text = text.replace("{plain}", &encode_double_quoted_attribute(links.plain));
        Some(text.replace("{nonce}", links.nonce))
    }
}

/// Returns the media type of a file of the page by the file's extension. Returns `None` for other
/// extensions, whose files are not served.
fn media_type(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension {
        "css" => "text/css; charset=utf-8",
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain; charset=utf-8",
        "webmanifest" => "application/manifest+json",
        _ => return None,
    })
}

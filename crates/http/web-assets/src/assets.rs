//! Files of the page, with their forms and media types.

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
    /// Compressed forms; `None` if the form is hardly smaller.
    gzip: Option<&'static [u8]>,
    brotli: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Name of the document that loads the page.
const SHELL: &str = "shell.html";

/// Files of the page.
#[derive(Clone, Debug, Default)]
pub struct Assets {
    /// Folder from which files are read anew for each request, instead of those in the program.
    folder: Option<PathBuf>,
}

/// File of the page.
#[derive(Clone, Debug)]
pub struct Asset {
    /// Media type, with the character set of text.
    pub media_type: &'static str,
    /// Uncompressed bytes.
    pub identity: Cow<'static, [u8]>,
    /// Bytes in gzip form (RFC 1952), if that is much smaller.
    pub gzip: Option<&'static [u8]>,
    /// Bytes in Brotli form (RFC 7932), if that is much smaller.
    pub brotli: Option<&'static [u8]>,
}

/// Values that the shell contains.
#[derive(Clone, Copy, Debug)]
pub struct Links<'a> {
    /// Relative URL of the server's root, such as `../../`, as seen from the document.
    pub root: &'a str,
    /// Relative URL of the page without scripts that shows the same content.
    pub plain: &'a str,
    /// Nonce of the script element, as in the Content-Security-Policy (CSP Level 3 §7.1).
    pub nonce: &'a str,
}

impl Assets {
    /// Returns the files in `folder`, for people who work on the page. Their version is `dev`.
    #[must_use]
    pub fn in_folder(folder: PathBuf) -> Assets {
        Assets {
            folder: Some(folder),
        }
    }

    /// Returns the version: sixteen hexadecimal digits, or `dev`.
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

    /// Returns the HTML document that loads the page, or `None` if the folder does not contain it.
    #[must_use]
    pub fn shell(&self, links: Links<'_>) -> Option<String> {
        let template = self.find(SHELL)?.identity;
        let template = str::from_utf8(&template).ok()?;
        let assets = format!("{}-/app/{}/", links.root, self.version());
        let text = template.replace("{assets}", &assets);
        let text = text.replace("{root}", links.root);
        let text = text.replace("{plain}", &encode_double_quoted_attribute(links.plain));
        Some(text.replace("{nonce}", links.nonce))
    }
}

/// Returns the media type of a file of the page, or `None` if files of this kind are not served.
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

//! Gallery: pages that show the folders and pictures of the library, as plain HTML without scripts.
//! The pictures on a page are ordinary variants. A folder is shown with its first picture.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use html_escape::encode_double_quoted_attribute as escaped;
use reactor::blocking;
use variants::library::{Library, LibraryPath, Listed, Missing, Wait, encode};

use crate::paths::{FOLDER_PAGES, relative_root};
use crate::problem::Problem;
use crate::route::Document;
use crate::service::Service;

/// Path of the music page, if it is mounted.
const MUSIC: &str = "/-/plain/music";
/// Media type of pages.
const HTML: &str = "text/html; charset=utf-8";
/// Content-Security-Policy of the gallery. It allows only this server's pictures and the inline
/// style of the page.
pub(crate) const POLICY: &str = "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Maximum number of folders per page that are shown with a picture. Further folders are plain
/// links. Finding the picture of one folder takes 10 ms on a rotating disk, so a page takes at most
/// about a second.
const FOLDER_PICTURES_MAX: usize = 100;
/// Maximum number of entries per folder that are examined to find a picture for the folder.
const PICTURE_SEARCH_ENTRIES_MAX: usize = 100;
/// Extensions of the files that pages show as pictures. Pages do not examine the content of a file;
/// the server does when a client requests the file.
const SHOWN: [&str; 32] = [
    "jpg", "jpeg", "png", "gif", "webp", "avif", "bmp", "svg", "apng", "tif", "tiff", "ico", "tga",
    "qoi", "pbm", "pgm", "ppm", "pnm", "pam", "hdr", "psd", "psb", "heic", "heif", "cr2", "cr3",
    "nef", "arw", "dng", "raf", "orf", "rw2",
];

const STYLE: &str = "body{margin:2rem;font:16px/1.4 system-ui,sans-serif;background:#111;color:#ddd}\
a{color:inherit}nav{margin-bottom:1rem}nav a{margin-right:1rem}\
ul{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:1rem;padding:0;list-style:none}\
img{display:block;width:100%;aspect-ratio:4/3;object-fit:cover;border-radius:.4rem;background:#222}\
span{display:block;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;font-size:.85rem;color:#999}\
.folder{color:#ddd;font-size:1rem}";

impl Service {
    /// Returns the page of a folder. `target` is the path of the page, below [`FOLDER_PAGES`].
    ///
    /// # Errors
    /// [`Problem::NotFound`], or [`Problem::Host`] if the folder cannot be read.
    pub(crate) async fn gallery(&self, target: &str) -> Result<Document, Problem> {
        let below = target.strip_prefix(FOLDER_PAGES).ok_or(Problem::NotFound)?;
        let folder = match below.trim_matches('/') {
            "" => None,
            path => {
                let path = self.library().path_for_clients(path);
                Some(path.ok_or(Problem::NotFound)?)
            }
        };
        self.page_of_folder(folder, target).await
    }

    /// Returns the page of `folder`, or of the library's root folder, as a response to a request
    /// for `target`.
    ///
    /// # Errors
    /// [`Problem::NotFound`], or [`Problem::Host`] if the folder cannot be read.
    pub(crate) async fn page_of_folder(
        &self,
        folder: Option<LibraryPath>,
        target: &str,
    ) -> Result<Document, Problem> {
        let root = relative_root(target);
        let library: Arc<Library> = Arc::clone(self.library());
        let limit = self.settings.limits.gallery_entries_max;
        let placeholders = Arc::clone(self.placeholders());
        let has_music = self.mounts.find(MUSIC).is_some();
        let only = self.settings.only_types.clone();
        let list_and_render = move || {
            let mut listed = library.list_folder(folder.as_ref(), limit)?;
            listed.files.retain(|name| only.admits(Path::new(name)));
            let colour = |path: &LibraryPath| {
                let identity = library.identify(path, Wait::Allowed).ok()?;
                Some(placeholders.find(&identity)?.colour())
            };
            let is_candidate = |name: &OsString| is_shown(name) && only.admits(Path::new(name));
            let folder_pictures = folder_pictures(
                &library,
                folder.as_ref(),
                &listed.folders,
                limit,
                is_candidate,
            );
            let page = FolderPage {
                root: &root,
                folder: folder.as_ref(),
            };
            Ok(render(page, &listed, &folder_pictures, has_music, colour))
        };
        match blocking(list_and_render).await {
            Ok(page) => Ok(Document::new(HTML, page)),
            Err(Missing::NotFound | Missing::WouldSleep) => Err(Problem::NotFound),
            Err(Missing::Host(err)) => {
                tracing::error!(target, %err, "the folder cannot be listed");
                Err(Problem::Host)
            }
        }
    }
}

/// Returns the name of the first picture of each folder in `folders`; `None` if a folder has no
/// picture. Examines at most [`FOLDER_PICTURES_MAX`] folders, and at most `entries_max` entries in
/// all folders together.
fn folder_pictures(
    library: &Library,
    folder: Option<&LibraryPath>,
    folders: &[OsString],
    entries_max: usize,
    is_candidate: impl Fn(&OsString) -> bool,
) -> Vec<Option<OsString>> {
    let mut left = entries_max;
    let folder_picture = |(index, name): (usize, &OsString)| {
        if FOLDER_PICTURES_MAX <= index || left == 0 {
            return None;
        }
        let path = entry_path(folder, name);
        let listed = library.list_folder(
            Some(&LibraryPath::from_relative(&path)?),
            left.min(PICTURE_SEARCH_ENTRIES_MAX),
        );
        let listed = listed.ok()?;
        left -= listed.folders.len() + listed.files.len();
        listed.files.into_iter().find(&is_candidate)
    };
    folders.iter().enumerate().map(folder_picture).collect()
}

/// Folder that a page shows, with the URL of the server's root relative to that page. The links of
/// the page are built from that URL.
#[derive(Clone, Copy)]
struct FolderPage<'a> {
    /// URL of the server's root, relative to the page, such as `../../`.
    root: &'a str,
    /// Folder, or `None` for the root of the library.
    folder: Option<&'a LibraryPath>,
}

impl FolderPage<'_> {
    /// Returns the path of an entry of the folder.
    fn entry_path(&self, name: impl AsRef<Path>) -> PathBuf {
        entry_path(self.folder, name)
    }

    /// Returns the URL of a file.
    fn file_url(&self, path: &Path) -> String {
        format!("{}{}", self.root, encode(path))
    }

    /// Returns the URL of the page of the folder `path`, relative to this page. An empty `path`
    /// means the root of the library.
    fn page_url(&self, path: &Path) -> String {
        let (root, folders) = (self.root, &FOLDER_PAGES[1..]);
        match encode(path) {
            path if path.is_empty() => format!("{root}{folders}"),
            path => format!("{root}{folders}{path}/"),
        }
    }

    /// Renders the path of this folder: a link to each folder that contains it, the outermost
    /// first, and then the name of this folder.
    fn breadcrumbs(&self, out: &mut String) {
        let Some(folder) = self.folder else { return };
        out.push_str("<nav aria-label=\"Path\">");
        let mut above: Vec<&Path> = folder.as_path().ancestors().skip(1).collect();
        above.reverse();
        for path in above {
            let name = path.file_name().unwrap_or(OsStr::new("Pelton"));
            link(out, &self.page_url(path), &escaped(&name.to_string_lossy()));
            out.push_str("/ ");
        }
        let name = folder.as_path().file_name();
        let name = name.expect("the path of a folder is not empty");
        *out += &escaped(&name.to_string_lossy());
        out.push_str("</nav>");
    }
}

/// Renders a page. `folder_pictures` contains one element per folder in `listed`: the name of the
/// folder's picture, if any. `colour` returns the CSS colour that is shown until a picture is
/// loaded, if the colour is known.
fn render(
    page: FolderPage<'_>,
    listed: &Listed,
    folder_pictures: &[Option<OsString>],
    has_music: bool,
    colour: impl Fn(&LibraryPath) -> Option<String>,
) -> String {
    let path = page.folder.map_or(String::new(), |folder| {
        folder.as_path().to_string_lossy().into_owned()
    });
    let mut out = String::with_capacity(4096);
    let title = if path.is_empty() {
        "Pelton".to_owned()
    } else {
        format!("{} · Pelton", escaped(&path))
    };
    let parts = [
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">",
        "<meta name=\"viewport\" content=\"width=device-width\"><title>",
        &title,
        "</title><style>",
        STYLE,
        "</style><h1>",
        &title,
        "</h1>",
    ];
    out.extend(parts);
    page.breadcrumbs(&mut out);
    out.push_str("<nav>");
    let folders = listed.folders.iter().zip(folder_pictures);
    for (name, _) in folders.clone().filter(|(_, picture)| picture.is_none()) {
        let label = escaped(&name.to_string_lossy()).into_owned();
        link(&mut out, &page.page_url(&page.entry_path(name)), &label);
    }
    if has_music && page.folder.is_none() {
        link(
            &mut out,
            &format!("{}{}", page.root, &MUSIC[1..]),
            "♪ Music",
        );
    }
    out.push_str("</nav><ul>");
    let mut add_tile = |href: &str, picture: &Path, class: &str, label: &str| {
        let colour = LibraryPath::from_relative(picture).and_then(|path| colour(&path));
        out += &tile(href, &page.file_url(picture), colour, class, label);
    };
    for (name, folder_picture) in folders {
        if let Some(folder_picture) = folder_picture {
            let folder = page.entry_path(name);
            let picture = folder.join(folder_picture);
            let label = format!("{}/", escaped(&name.to_string_lossy()));
            add_tile(
                &page.page_url(&folder),
                &picture,
                " class=\"folder\"",
                &label,
            );
        }
    }
    for name in listed.files.iter().filter(|name| is_shown(name)) {
        let picture = page.entry_path(name);
        let label = escaped(&name.to_string_lossy()).into_owned();
        add_tile(&page.file_url(&picture), &picture, "", &label);
    }
    out.push_str("</ul>");
    if listed.is_truncated {
        out.push_str("<p>This folder has more files than this page shows.");
    }
    out
}

/// Renders a link with a picture and a caption.
fn tile(href: &str, picture: &str, colour: Option<String>, class: &str, label: &str) -> String {
    let style = colour.map_or_else(String::new, |colour| {
        format!(" style=\"background:{colour}\"")
    });
    format!(
        "<li><a href=\"{href}\"><img{style} loading=\"lazy\" alt=\"{label}\" src=\"{picture}?w=480&amp;h=360&amp;fit=cover\"></a><span{class}>{label}</span>"
    )
}

fn link(out: &mut String, target: &str, label: &str) {
    write!(out, "<a href=\"{target}\">{label}</a>").expect("writing to a string cannot fail");
}

/// Returns the path of an entry of `folder`.
fn entry_path(folder: Option<&LibraryPath>, name: impl AsRef<Path>) -> PathBuf {
    folder
        .map_or(Path::new(""), LibraryPath::as_path)
        .join(name)
}

fn is_shown(name: impl AsRef<Path>) -> bool {
    let extension = name
        .as_ref()
        .extension()
        .and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| {
        SHOWN
            .iter()
            .any(|shown| shown.eq_ignore_ascii_case(extension))
    })
}

#[cfg(test)]
mod tests;

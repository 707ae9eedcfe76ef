//! The page: folders and pictures of the library, for people who open the server's URL. Plain HTML, no script; what it
//! shows goes through the same variants as every other request.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::library::{Library, LibraryPath, Listed, Missing, Wait, encode};
use crate::problem::Problem;
use crate::service::{Service, blocking};

/// Where the page lives.
pub(crate) const PAGE: &str = "/-/";
/// Where the pages of folders live. A folder is also found right below [`PAGE`], unless its name is taken there, as `music` and
/// `api` are.
const FOLDERS: &str = "/-/at/";
/// Where the page to listen at is mounted, if it is.
const MUSIC: &str = "/-/music";
/// Nothing but our own pictures and the style in the page itself.
pub(crate) const POLICY: &str = "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
/// Extensions of files that are shown as pictures; what is inside is judged when it is asked for.
const SHOWN: [&str; 9] = [
    "jpg", "jpeg", "png", "gif", "webp", "avif", "bmp", "svg", "apng",
];

const STYLE: &str = "body{margin:2rem;font:16px/1.4 system-ui,sans-serif;background:#111;color:#ddd}\
a{color:inherit}nav{margin-bottom:1.5rem}nav a{margin-right:1rem}\
ul{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:1rem;padding:0;list-style:none}\
img{width:100%;aspect-ratio:4/3;object-fit:cover;border-radius:.4rem;background:#222}\
span{display:block;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;font-size:.85rem;color:#999}";

impl Service {
    /// The page of the folder that `target` names, which begins with [`PAGE`].
    ///
    /// # Errors
    /// [`Problem::NotFound`], or the host's.
    pub(crate) async fn gallery(&self, target: &str) -> Result<String, Problem> {
        let below = target.strip_prefix(FOLDERS);
        let below = below.or_else(|| target.strip_prefix(PAGE)).unwrap_or("");
        let folder = match below.trim_matches('/') {
            "" => None,
            path => Some(LibraryPath::from_target(path).ok_or(Problem::NotFound)?),
        };
        let library: Arc<Library> = Arc::clone(self.library());
        let limit = self.settings.limits.gallery_entries_max;
        let looks = Arc::clone(self.looks());
        let has_music = self.mounts.find(MUSIC).is_some();
        let page = move || {
            let listed = library.list_folder(folder.as_ref(), limit)?;
            let colour = |path: &LibraryPath| {
                let identity = library.identify(path, Wait::Allowed).ok()?;
                Some(looks.find(&identity)?.colour())
            };
            Ok(render(folder.as_ref(), &listed, has_music, colour))
        };
        match blocking(page).await {
            Ok(page) => Ok(page),
            Err(Missing::NotFound | Missing::WouldSleep) => Err(Problem::NotFound),
            Err(Missing::Host(err)) => {
                tracing::error!(folder = below, %err, "folder cannot be listed");
                Err(Problem::Host)
            }
        }
    }
}

/// `colour` is that of a picture, as CSS has it, where it is known: it stands there until the picture does.
fn render(
    folder: Option<&LibraryPath>,
    listed: &Listed,
    has_music: bool,
    colour: impl Fn(&LibraryPath) -> Option<String>,
) -> String {
    let path = folder.map_or(String::new(), |folder| {
        folder.as_path().to_string_lossy().into_owned()
    });
    let base = folder.map_or(String::new(), |folder| {
        format!("{}/", encode(folder.as_path()))
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
        "</h1><nav>",
    ];
    out.extend(parts);
    if let Some(folder) = folder {
        let parent = folder
            .as_path()
            .parent()
            .map(encode)
            .filter(|parent| !parent.is_empty());
        let target = parent.map_or_else(|| PAGE.to_owned(), |parent| format!("{FOLDERS}{parent}/"));
        link(&mut out, &target, "↑");
    }
    for name in &listed.folders {
        link(
            &mut out,
            &format!("{FOLDERS}{base}{}/", encode(name.as_ref())),
            &escaped(&name.to_string_lossy()),
        );
    }
    if has_music && folder.is_none() {
        link(&mut out, MUSIC, "♪ Music");
    }
    out.push_str("</nav><ul>");
    let pictures = listed.files.iter().filter(|name| is_shown(name.as_ref()));
    for name in pictures {
        let target = format!("/{base}{}", encode(name.as_ref()));
        let label = escaped(&name.to_string_lossy());
        let style = LibraryPath::from_target(&target).and_then(|path| colour(&path));
        let style = style.map_or_else(String::new, |colour| {
            format!(" style=\"background:{colour}\"")
        });
        write!(
            out,
            "<li><a href=\"{target}\"><img{style} loading=\"lazy\" alt=\"{label}\" src=\"{target}?w=480&amp;h=360&amp;fit=cover\"></a><span>{label}</span>"
        )
        .expect("strings take everything");
    }
    out.push_str("</ul>");
    if listed.cut {
        out.push_str("<p>This folder has more than is shown here.");
    }
    out
}

fn link(out: &mut String, target: &str, label: &str) {
    write!(out, "<a href=\"{target}\">{label}</a>").expect("strings take everything");
}

fn is_shown(name: &std::path::Path) -> bool {
    let extension = name.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| {
        SHOWN
            .iter()
            .any(|shown| shown.eq_ignore_ascii_case(extension))
    })
}

/// Text as it may stand in an element or a quoted attribute.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests;

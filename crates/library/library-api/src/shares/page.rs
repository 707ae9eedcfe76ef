//! Page that visitors of a share see. It works without scripts: photographs are links to larger
//! pictures, and each track has a player. A script adds a viewer, and one player for all tracks.

use std::fmt::Write as _;

use html_escape::encode_double_quoted_attribute as escaped;

use super::texts::Texts;
use super::visit::{HEIGHTS_PX, OpenShare, ShareRequest};
use crate::ids::Id;
use crate::params::encoded;
use crate::time::{iso, seconds};

/// Returns the page of a share.
pub(super) fn render(visit: &OpenShare<'_>, token: &str, request: &ShareRequest<'_>) -> String {
    let texts = request.texts();
    let base = format!("{}-/share/{token}", request.root);
    let description = Some(&visit.share.description).filter(|text| !text.is_empty());
    let name = visit.name.as_deref();
    let title = description
        .map(String::as_str)
        .or(name)
        .unwrap_or(texts.music);
    let videos = visit.videos();
    let (count, mut content) = match &visit.photos {
        Some(_) => photos(visit, texts, &base, request.offset),
        None => tracks(visit, texts, &base),
    };
    let mut facts = vec![count];
    if !videos.is_empty() {
        facts.push(Texts::count(texts.video, texts.videos, videos.len()));
        content.push_str(&video_list(&videos, &base));
    }
    facts.extend(
        name.filter(|name| *name != title)
            .map(|name| escaped(name).into_owned()),
    );
    if let Some(end_ms) = visit.share.expires_ms {
        let end = iso(end_ms);
        let day = end.get(..10).unwrap_or(&end);
        let time = format!("<time datetime=\"{end}\">{day}</time>");
        facts.push(texts.until.replace("{}", &time));
    }
    let cover = match visit.cover_owner() {
        Some(_) => format!("<img class=\"cover\" alt=\"\" src=\"{base}/cover\">"),
        None => String::new(),
    };
    let archive = match visit.archived_files(videos).len() {
        0 | 1 => String::new(),
        _ => format!(
            "<a class=\"archive\" href=\"{base}/archive\" download>{}</a>",
            texts.download_all
        ),
    };
    let labels = texts.controls.iter();
    let labels: String = labels
        .map(|(name, text)| format!(" data-{name}=\"{text}\""))
        .collect();
    let (title, facts) = (escaped(title), facts.join(" · "));
    let ShareRequest { assets, nonce, .. } = request;
    let (language, direction) = (texts.language, texts.direction);
    format!(
        "<!doctype html><html lang=\"{language}\" dir=\"{direction}\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width,initial-scale=1\"><meta name=\"robots\" \
         content=\"noindex\"><title>{title} · Pelton</title><link rel=\"icon\" \
         href=\"{assets}icon.svg\"><link rel=\"stylesheet\" href=\"{assets}share.css\">\
         <script type=\"module\" nonce=\"{nonce}\" src=\"{assets}share.js\"></script>\
         <body{labels}><header>{cover}<div><h1 dir=\"auto\">{title}</h1><p>{facts}</p>\
         {archive}</div></header><main>{content}</main>"
    )
}

/// Returns the total number of photographs as text, and the HTML of the grid that begins with the
/// photograph at `offset`.
fn photos(visit: &OpenShare<'_>, texts: &Texts, base: &str, offset: usize) -> (String, String) {
    let photos = visit.photos.as_ref();
    let rows = photos.map_or_else(Vec::new, |photos| photos.rows(&visit.derived));
    let page = visit.context.limits.photos_max;
    let mut out = "<ul class=\"grid\">".to_owned();
    for &row in rows.iter().skip(offset).take(page) {
        let Some(photo) = visit.index.photo(row) else {
            continue;
        };
        let Some((path, _)) = visit.index.file(photo.file) else {
            continue;
        };
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(&path);
        let name = String::from_utf8_lossy(name);
        let ratio = match photo.ratio {
            0 => 1333,
            ratio => ratio.clamp(300, 4000),
        };
        let placeholder = visit.context.library.placeholder_of_file(&path);
        let colour = placeholder.map_or_else(String::new, |it| format!(";--c:{}", it.colour()));
        let url = format!("{base}/{}", Id::Photo(photo.id));
        let original = match visit.share.allows_originals {
            true => format!(" data-original=\"{url}/original\""),
            false => String::new(),
        };
        let [small, medium, large] = HEIGHTS_PX;
        write!(
            out,
            "<li style=\"--r:{}.{:03}{colour}\"><a href=\"{url}/{large}\"{original}><img \
             loading=\"lazy\" alt=\"{}\" src=\"{url}/{small}\" \
             srcset=\"{url}/{small} 1x, {url}/{medium} 2x\"></a>",
            ratio / 1000,
            ratio % 1000,
            escaped(&name),
        )
        .expect("writing to a string cannot fail");
    }
    out.push_str("</ul>");
    let mut to = |offset: usize, label: &str| {
        write!(
            out,
            "<a class=\"more\" href=\"?offset={offset}\">{label}</a>"
        )
        .expect("writing to a string cannot fail");
    };
    if offset != 0 {
        to(offset.saturating_sub(page), texts.earlier);
    }
    if offset.saturating_add(page) < rows.len() {
        to(offset + page, texts.later);
    }
    (Texts::count(texts.photo, texts.photos, rows.len()), out)
}

/// Returns the HTML of the list of videos. Browsers load the beginning of a video only when it is
/// played.
fn video_list(videos: &[Vec<u8>], base: &str) -> String {
    let mut out = "<ul class=\"videos\">".to_owned();
    for path in videos {
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        write!(
            out,
            "<li><video controls playsinline preload=\"none\" src=\"{base}/video/{}\"></video>\
             <bdi>{}</bdi>",
            encoded(path),
            escaped(&String::from_utf8_lossy(name)),
        )
        .expect("writing to a string cannot fail");
    }
    out.push_str("</ul>");
    out
}

/// Returns the number of tracks as text, and the HTML of the list of tracks.
fn tracks(visit: &OpenShare<'_>, texts: &Texts, base: &str) -> (String, String) {
    let mut out = "<ol class=\"tracks\">".to_owned();
    for &row in &visit.tracks {
        let Some(track) = visit.index.track(row) else {
            continue;
        };
        let length = seconds(track.duration_ms);
        let id = Id::Track(track.id);
        write!(
            out,
            "<li><span class=\"title\" dir=\"auto\">{}</span> <span class=\"artist\" \
             dir=\"auto\">{}</span> <span class=\"length\">{}:{:02}</span> <audio controls \
             preload=\"none\" src=\"{base}/{id}\"></audio>",
            escaped(track.title),
            escaped(track.artist),
            length / 60,
            length % 60,
        )
        .expect("writing to a string cannot fail");
    }
    out.push_str("</ol>");
    let count = Texts::count(texts.track, texts.tracks, visit.tracks.len());
    (count, out)
}

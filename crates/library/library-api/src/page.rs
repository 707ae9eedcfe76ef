//! HTML pages of the music for browsers: a list of albums with their covers, and a page for each
//! album with its tracks and audio players. The pages contain no scripts; text from tags and file
//! names is always escaped.

use html_escape::encode_double_quoted_attribute as escaped;
use std::fmt::Write as _;

use catalog::CoverOwner;

use crate::context::Context;
use crate::ids::Id;
use crate::index::{Index, tracks};
use crate::library_access::LibraryAccess;
use crate::params::{Params, encoded};
use crate::response::Response;
use crate::time::seconds;

/// Albums per page.
const PAGE_ALBUMS: usize = 60;

const STYLE: &str = "body{margin:2rem;font:16px/1.4 system-ui,sans-serif;background:#111;color:#ddd}\
a{color:inherit;text-decoration:none}nav{margin-bottom:1.5rem}nav a{margin-right:1rem}input{font:inherit}\
ul{display:grid;grid-template-columns:repeat(auto-fill,minmax(11rem,1fr));gap:1.2rem;padding:0;list-style:none}\
img{display:block;width:100%;aspect-ratio:1;object-fit:cover;border-radius:.4rem;background:#222}\
i{display:grid;place-items:center;aspect-ratio:1;border-radius:.4rem;background:#222;font-size:3rem;color:#555}\
header{display:flex;gap:1.5rem;align-items:end}header img,header i{width:15rem}\
span{display:block;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}small{color:#999}\
td{padding:.2rem .8rem .2rem 0}audio{height:2rem;vertical-align:middle}";

/// Returns the page at `path` below the mount `base`: the list of albums, or the page of the album
/// that the path names.
pub(crate) fn respond(
    context: &Context,
    base: &str,
    path: &str,
    params: &Params<'_>,
    now_ms: i64,
) -> Response {
    let (index, derived) = context.index(now_ms);
    let library = &*context.library;
    let (status, body) = match path.trim_matches('/') {
        "" => {
            let query = params.first("q").unwrap_or("").trim();
            let rows = match query {
                "" => derived.newest.clone(),
                query => {
                    let found = index.search(query, &catalog::Limits::default());
                    let of_tracks = found.tracks.iter();
                    let of_tracks = of_tracks.filter_map(|&row| Some(index.track(row)?.album));
                    let mut rows = found.albums.clone();
                    rows.extend(of_tracks.filter(|row| !found.albums.contains(row)));
                    rows.dedup();
                    rows
                }
            };
            let offset = params.first("offset").and_then(|text| text.parse().ok());
            let offset = offset.unwrap_or(0);
            (200, albums(library, &index, (base, query), &rows, offset))
        }
        id => match Id::parse(id) {
            Some(Id::Album(id)) => match index.album_row(id) {
                Some(row) => (200, album(library, &index, base, row)),
                None => (404, whole("No such album", "")),
            },
            _ => (404, whole("No such album", "")),
        },
    };
    Response::Document {
        status,
        media_type: "text/html; charset=utf-8",
        body,
        allow: None,
    }
}

pub(crate) fn whole(title: &str, inside: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{title} · Pelton</title><style>{STYLE}</style>{inside}"
    )
}

/// Returns the cover of an album, with its average colour as background until the image is loaded.
/// An album without a cover gets a note symbol.
fn cover(library: &dyn LibraryAccess, index: &Index, row: u32, side_px: u32) -> String {
    let (of, album) = (CoverOwner::Album(row), index.album(row));
    let Some(album) = album.filter(|_| library.has_cover(index, of)) else {
        return "<i>♪</i>".to_owned();
    };
    let style = library
        .placeholder(index, of)
        .map_or_else(String::new, |placeholder| {
            format!(" style=\"background:{}\"", placeholder.colour())
        });
    format!(
        "<img{style} loading=\"lazy\" alt=\"\" \
         src=\"/-/cover/{}?w={side_px}&amp;h={side_px}&amp;fit=cover\">",
        Id::Album(album.id)
    )
}

fn albums(
    library: &dyn LibraryAccess,
    index: &Index,
    (base, query): (&str, &str),
    rows: &[u32],
    offset: usize,
) -> String {
    let counts = index.counts();
    let mut out = format!(
        "<h1>Music</h1><nav><form action=\"{base}\"><input type=\"search\" name=\"q\" value=\"{}\" \
         placeholder=\"Search\"> <small>{} albums, {} tracks</small></form></nav><ul>",
        escaped(query),
        counts.albums,
        counts.tracks,
    );
    for &row in rows.iter().skip(offset).take(PAGE_ALBUMS) {
        let Some(album) = index.album(row) else {
            continue;
        };
        let id = Id::Album(album.id);
        write!(
            out,
            "<li><a href=\"{base}/{id}\">{}<span>{}</span></a>\
             <span><small>{}</small></span>",
            cover(library, index, row, 360),
            escaped(album.title),
            escaped(album.artist),
        )
        .expect("writing to a string cannot fail");
    }
    out.push_str("</ul><nav>");
    let query = encoded(query.as_bytes());
    let mut to = |offset: usize, label: &str| {
        write!(
            out,
            "<a href=\"{base}?q={query}&amp;offset={offset}\">{label}</a>"
        )
        .expect("writing to a string cannot fail");
    };
    if offset != 0 {
        to(offset.saturating_sub(PAGE_ALBUMS), "← newer");
    }
    if offset.saturating_add(PAGE_ALBUMS) < rows.len() {
        to(offset + PAGE_ALBUMS, "older →");
    }
    out.push_str("</nav>");
    whole("Music", &out)
}

fn album(library: &dyn LibraryAccess, index: &Index, base: &str, row: u32) -> String {
    let Some(album) = index.album(row) else {
        return whole("No such album", "");
    };
    let (title, artist) = (escaped(album.title), escaped(album.artist));
    let year = album
        .original_date
        .or(album.date)
        .map(|date| date.year.to_string());
    let mut out = format!(
        "<nav><a href=\"{base}\">↑ Music</a></nav><header>{}<div><h1>{title}</h1><p>{artist} <small>{}</small></div></header><table>",
        cover(library, index, row, 480),
        year.as_deref().unwrap_or(""),
    );
    for row in tracks(&album) {
        let Some(track) = index.track(row) else {
            continue;
        };
        let Some((path, _)) = index.file(track.file) else {
            continue;
        };
        let length = seconds(track.duration_ms);
        write!(
            out,
            "<tr><td><small>{}</small><td>{} <small>{}</small><td><small>{}:{:02}</small>\
             <td><audio controls preload=\"none\" src=\"/{}\"></audio>",
            track.number,
            escaped(track.title),
            if track.artist == album.artist {
                "".into()
            } else {
                escaped(track.artist)
            },
            length / 60,
            length % 60,
            encoded(&path),
        )
        .expect("writing to a string cannot fail");
    }
    out.push_str("</table>");
    whole(&title, &out)
}

//! Shares: songs that everyone with the link may play without a login, until the share expires.

use html_escape::encode_double_quoted_attribute as escaped;

use crate::answer::Answer;
use crate::call::{Call, Changes, Seen};
use crate::context::Context;
use crate::fault::Fault;
use crate::ids::Id;
use crate::index::{Index, own_albums, tracks};
use crate::page::whole;
use crate::params::encoded;
use crate::playlists;
use crate::songs;
use crate::store::{Change, Role, Share, new_key};
use crate::time::{iso, seconds};
use crate::write::Writer;

/// Hexadecimal digits of a share's id. The id is the only secret in the link: 128 random bits.
const TOKEN_DIGITS: usize = 32;

/// Returns the id of the share that this request creates.
fn share_token<'c>(call: &'c Call<'_>) -> &'c str {
    call.token.get_or_init(|| {
        let mut token = new_key();
        token.truncate(TOKEN_DIGITS);
        token
    })
}

fn describe_share(
    call: &Call<'_>,
    out: &mut Writer,
    seen: &Seen<'_>,
    (token, share): (&str, &Share),
) {
    let visits = call.context.visits(|visits| visits.get(token).copied());
    let visits = visits.unwrap_or_default();
    out.text("id", token);
    out.text("url", &format!("{}/-/share/{token}", call.base));
    out.text("description", &share.description);
    out.text("username", &share.owner);
    out.text("created", &iso(share.created_ms));
    out.text_if("expires", share.expires_ms.map(iso).as_deref());
    if visits.count != 0 {
        out.text("lastVisited", &iso(visits.last_ms));
    }
    out.number("visitCount", visits.count);
    out.list("entry", call.rows(&share.tracks), |out, row| {
        songs::write_song(call, out, seen, row);
    });
}

/// Returns the share that the parameter `id` names, if this user may change it: the user's own
/// share, or, for an admin, any share.
fn own_share<'s>(call: &Call<'_>, seen: &Seen<'s>) -> Result<(&'s str, &'s Share), Fault> {
    let found = seen.state.shares.get_key_value(call.text("id")?);
    let own = found.filter(|(_, share)| share.owner == call.user || seen.admin().is_ok());
    let (token, share) = own.ok_or_else(|| Fault::not_found("share"))?;
    Ok((token, share))
}

/// Returns the tracks of all ids in the request: songs, albums, artists and playlists.
fn shared_tracks(call: &Call<'_>, seen: &Seen<'_>) -> Result<Vec<Id>, Fault> {
    let mut tracks = Vec::new();
    for text in call.params.all("id") {
        let rows = match Id::parse(text) {
            Some(id @ Id::Track(_)) => call.track_row(id).into_iter().collect(),
            Some(id @ Id::Album(_)) => rows_of(&call.index, vec![call.album_row(id)?]),
            Some(id @ Id::Artist(_)) => {
                let row = call.artist_row(id)?;
                let artist = call.index.artist(row);
                let albums = artist.map(|artist| own_albums(&call.index, row, &artist));
                rows_of(&call.index, albums.unwrap_or_default())
            }
            Some(id) => playlists::shown(call, seen, id)?.rows,
            None => Vec::new(),
        };
        if rows.is_empty() {
            return Err(Fault::not_found("song"));
        }
        // A request may repeat the id of a long list, so reject it as soon as its tracks exceed
        // the limit.
        let room = call.context.limits.tracks_max - tracks.len();
        if room < rows.len() {
            return Err(Fault::bad("id"));
        }
        let ids = rows.into_iter();
        tracks.extend(ids.filter_map(|row| Some(Id::Track(call.index.track(row)?.id))));
    }
    Ok(tracks)
}

/// Returns the expiry time in the request, if any. The inner `None`, which clients send as 0,
/// means that the share never expires.
fn expires_ms(call: &Call<'_>) -> Result<Option<Option<i64>>, Fault> {
    let expires_ms: Option<i64> = call.number("expires")?;
    Ok(expires_ms.map(|ms| Some(ms).filter(|ms| *ms != 0)))
}

/// Returns the rows of all tracks of these albums.
fn rows_of(index: &Index, albums: Vec<u32>) -> Vec<u32> {
    let albums = albums.into_iter().filter_map(|row| index.album(row));
    albums.flat_map(|album| tracks(&album)).collect()
}

/// Lists the user's shares; for an admin, the shares of all users.
pub(crate) fn list(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    let is_admin = seen.admin().is_ok();
    let shares = seen.state.shares.iter();
    let shown = shares.filter(|(_, share)| is_admin || share.owner == call.user);
    out.object("shares", |out| {
        out.list("share", shown, |out, (token, share)| {
            describe_share(call, out, seen, (token, share));
        });
    });
    Ok(())
}

pub(crate) fn create(call: &Call<'_>, seen: &Seen<'_>) -> Changes {
    seen.may(Role::Share)?;
    let shares = seen.state.shares.values();
    let own = shares.filter(|share| share.owner == call.user);
    if call.context.limits.kept_max <= own.count() {
        return Err(Fault::full());
    }
    // Drop the visit counts of shares that no longer exist.
    let all = &seen.state.shares;
    call.context
        .visits(|visits| visits.retain(|token, _| all.contains_key(token)));
    let share = Share {
        owner: call.user.clone(),
        description: call.kept_text("description")?.unwrap_or_default(),
        created_ms: call.now_ms,
        expires_ms: expires_ms(call)?.flatten(),
        tracks: shared_tracks(call, seen)?,
    };
    if share.tracks.is_empty() {
        return Err(Fault::missing("id"));
    }
    Ok(vec![Change::Share {
        token: share_token(call).to_owned(),
        share: Some(share),
    }])
}

/// Writes the share that this request created.
pub(crate) fn made(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    let made = seen.state.shares.get_key_value(share_token(call));
    out.object("shares", |out| {
        out.list("share", made, |out, (token, share)| {
            describe_share(call, out, seen, (token, share));
        });
    });
    Ok(())
}

pub(crate) fn update(call: &Call<'_>, seen: &Seen<'_>) -> Changes {
    let (token, share) = own_share(call, seen)?;
    let description = call.kept_text("description")?;
    let changed = Share {
        description: description.unwrap_or_else(|| share.description.clone()),
        expires_ms: expires_ms(call)?.unwrap_or(share.expires_ms),
        ..share.clone()
    };
    Ok(vec![Change::Share {
        token: token.to_owned(),
        share: Some(changed),
    }])
}

pub(crate) fn delete(call: &Call<'_>, seen: &Seen<'_>) -> Changes {
    let (token, _) = own_share(call, seen)?;
    Ok(vec![Change::Share {
        token: token.to_owned(),
        share: None,
    }])
}

/// Returns the page of a share, or one of its songs. `path` is the id of the share; for a song, a
/// slash and the song's number follow. `base` is the path prefix of all shares. May wait for the
/// disk.
pub(crate) fn respond(context: &Context, base: &str, path: &str, now_ms: i64) -> Answer {
    let (token, number) = path.split_once('/').unwrap_or((path, ""));
    let found = context.store.read(|state| state.shares.get(token).cloned());
    let found = found.ok().flatten();
    let share = found.filter(|share| share.expires_ms.is_none_or(|end_ms| now_ms < end_ms));
    let answer = share.and_then(|share| match number {
        "" => Some(share_page(context, base, token, &share, now_ms)),
        number => shared_song(context, &share, number.parse().ok()?, now_ms),
    });
    answer.unwrap_or_else(|| html(404, whole("No such share", "")))
}

fn shared_song(context: &Context, share: &Share, number: usize, now_ms: i64) -> Option<Answer> {
    let Id::Track(id) = *share.tracks.get(number)? else {
        return None;
    };
    let (index, _) = context.index(now_ms);
    let track = index.track(index.track_row(id)?)?;
    let (path, _) = index.file(track.file)?;
    Some(Answer::File {
        target: format!("/{}", encoded(&path)),
        disposition: None,
    })
}

fn share_page(context: &Context, base: &str, token: &str, share: &Share, now_ms: i64) -> Answer {
    context.visits(|visits| {
        let visited = visits.entry(token.to_owned()).or_default();
        visited.count = visited.count.saturating_add(1);
        visited.last_ms = now_ms;
    });
    let (index, _) = context.index(now_ms);
    let mut rows = String::new();
    for (number, id) in share.tracks.iter().enumerate() {
        let row = match id {
            Id::Track(id) => index.track_row(*id),
            _ => None,
        };
        let Some(track) = row.and_then(|row| index.track(row)) else {
            continue;
        };
        let length = seconds(track.duration_ms);
        rows += &format!(
            "<tr><td>{} <small>{}</small><td><small>{}:{:02}</small><td><audio controls \
             preload=\"none\" src=\"{base}/{token}/{number}\"></audio>",
            escaped(track.title),
            escaped(track.artist),
            length / 60,
            length % 60,
        );
    }
    let title = match &*share.description {
        "" => "Music",
        description => description,
    };
    let title = escaped(title);
    html(
        200,
        whole(&title, &format!("<h1>{title}</h1><table>{rows}</table>")),
    )
}

fn html(status: u16, body: String) -> Answer {
    Answer::Document {
        status,
        media_type: "text/html; charset=utf-8",
        body,
    }
}

//! Play queues and bookmarks of users, and internet radio stations, which all users share.

use crate::call::{Call, Changes, Seen};
use crate::fault::Fault;
use crate::ids::Id;
use crate::songs;
use crate::store::{Bookmark, Change, Queue, Station};
use crate::time::iso;
use crate::write::Writer;

fn write_queue(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer, by_index: bool) {
    // OpenSubsonic requires all members of a queue in the response, so a user without a saved queue
    // gets an empty queue.
    let none = Queue::default();
    let queue = seen.user.and_then(|user| user.queue.as_ref());
    let queue = queue.unwrap_or(&none);
    let name = if by_index {
        "playQueueByIndex"
    } else {
        "playQueue"
    };
    // Tracks that are no longer in the library are not listed, so they are not counted in the index
    // of the current track.
    let current = queue.current.and_then(|at| queue.tracks.get(at as usize));
    let before = queue
        .tracks
        .iter()
        .take(queue.current.unwrap_or(0) as usize);
    let index = before.filter(|&&id| call.has_track(id)).count();
    out.object(name, |out| {
        if let Some(&current) = current.filter(|&&id| call.has_track(id)) {
            if by_index {
                out.number("currentIndex", index as u32);
            } else {
                out.text("current", &current.to_string());
            }
        }
        out.number("position", queue.position_ms);
        out.text("username", &call.user);
        out.text("changed", &iso(queue.changed_ms));
        out.text("changedBy", &queue.client);
        out.list("entry", call.rows(&queue.tracks), |out, row| {
            songs::write_song(call, out, seen, row);
        });
    });
}

pub(crate) fn queue(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    write_queue(call, seen, out, false);
    Ok(())
}

pub(crate) fn queue_by_index(
    call: &Call<'_>,
    seen: &Seen<'_>,
    out: &mut Writer,
) -> Result<(), Fault> {
    write_queue(call, seen, out, true);
    Ok(())
}

pub(crate) fn save_queue(call: &Call<'_>, _: &Seen<'_>) -> Changes {
    let tracks = call.tracks("id")?;
    let current = match call.params.first("current") {
        None => None,
        Some(text) => {
            let current = Id::parse(text);
            let at = tracks.iter().position(|&id| Some(id) == current);
            Some(at.ok_or_else(|| Fault::bad("current"))? as u32)
        }
    };
    kept_queue(call, tracks, current)
}

pub(crate) fn save_queue_by_index(call: &Call<'_>, _: &Seen<'_>) -> Changes {
    let tracks = call.tracks("id")?;
    let current: Option<u32> = call.number("currentIndex")?;
    if !tracks.is_empty() && current.is_none() {
        return Err(Fault::missing("currentIndex"));
    }
    if current.is_some_and(|at| tracks.len() <= at as usize) {
        return Err(Fault::bad("currentIndex"));
    }
    kept_queue(call, tracks, current)
}

/// Returns the change that stores the play queue `tracks`, or, if `tracks` is empty, removes the
/// stored queue.
fn kept_queue(call: &Call<'_>, tracks: Vec<Id>, current: Option<u32>) -> Changes {
    let queue = Queue {
        current,
        position_ms: position(call)?.unwrap_or(0),
        changed_ms: call.now_ms,
        client: call.kept_text("c")?.unwrap_or_else(String::new),
        tracks,
    };
    Ok(vec![Change::Queue {
        user: call.user.clone(),
        queue: (!queue.tracks.is_empty()).then_some(queue),
    }])
}

/// Returns the position in a track, in milliseconds, if the request has one.
fn position(call: &Call<'_>) -> Result<Option<i64>, Fault> {
    let position: Option<i64> = call.number("position")?;
    match position {
        Some(..0) => Err(Fault::bad("position")),
        position => Ok(position),
    }
}

pub(crate) fn list(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    let bookmarks = seen.user.iter().flat_map(|user| &user.bookmarks);
    let known = bookmarks.filter_map(|(&id, bookmark)| Some((call.track_row(id)?, bookmark)));
    out.object("bookmarks", |out| {
        out.list("bookmark", known, |out, (row, bookmark)| {
            out.number("position", bookmark.position_ms);
            out.text("username", &call.user);
            out.text("comment", &bookmark.comment);
            out.text("created", &iso(bookmark.created_ms));
            out.text("changed", &iso(bookmark.changed_ms));
            out.object("entry", |out| songs::write_song(call, out, seen, row));
        });
    });
    Ok(())
}

pub(crate) fn create(call: &Call<'_>, seen: &Seen<'_>) -> Changes {
    let id = call.id("id")?;
    if !call.has_track(id) {
        return Err(Fault::not_found("song"));
    }
    let position = position(call)?;
    let bookmarks = seen.user.map(|user| &user.bookmarks);
    let known = bookmarks.and_then(|bookmarks| bookmarks.get(&id));
    let is_full = bookmarks.is_some_and(|all| call.context.limits.kept_max <= all.len());
    if known.is_none() && is_full {
        return Err(Fault::full());
    }
    let bookmark = Bookmark {
        position_ms: position.ok_or_else(|| Fault::missing("position"))?,
        comment: call.kept_text("comment")?.unwrap_or_else(String::new),
        created_ms: known.map_or(call.now_ms, |known| known.created_ms),
        changed_ms: call.now_ms,
    };
    Ok(vec![Change::Bookmark {
        user: call.user.clone(),
        id,
        bookmark: Some(bookmark),
    }])
}

pub(crate) fn delete(call: &Call<'_>, _: &Seen<'_>) -> Changes {
    Ok(vec![Change::Bookmark {
        user: call.user.clone(),
        id: call.id("id")?,
        bookmark: None,
    }])
}

pub(crate) fn stations(_: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    out.object("internetRadioStations", |out| {
        out.list(
            "internetRadioStation",
            &seen.state.stations,
            |out, (id, station)| {
                out.text("id", &format!("{id:016x}"));
                out.text("name", &station.name);
                out.text("streamUrl", &station.stream);
                out.text_if("homePageUrl", station.home.as_deref());
            },
        );
    });
    Ok(())
}

fn station(call: &Call<'_>) -> Result<Station, Fault> {
    let text = |name| call.kept_text(name)?.ok_or_else(|| Fault::missing(name));
    let stream = text("streamUrl")?;
    // Only HTTP and HTTPS are allowed: players open this URL, and other schemes could refer to
    // files on the player's device.
    if !stream.starts_with("http://") && !stream.starts_with("https://") {
        return Err(Fault::bad("streamUrl"));
    }
    Ok(Station {
        name: text("name")?,
        stream,
        home: call.kept_text("homepageUrl")?,
    })
}

fn station_id(call: &Call<'_>, seen: &Seen<'_>) -> Result<u64, Fault> {
    let id = u64::from_str_radix(call.text("id")?, 16).ok();
    id.filter(|id| seen.state.stations.contains_key(id))
        .ok_or_else(|| Fault::not_found("station"))
}

pub(crate) fn create_station(call: &Call<'_>, seen: &Seen<'_>) -> Changes {
    seen.admin()?;
    if call.context.limits.kept_max <= seen.state.stations.len() {
        return Err(Fault::not_allowed());
    }
    Ok(vec![Change::Station {
        id: call.fresh,
        station: Some(station(call)?),
    }])
}

pub(crate) fn update_station(call: &Call<'_>, seen: &Seen<'_>) -> Changes {
    seen.admin()?;
    Ok(vec![Change::Station {
        id: station_id(call, seen)?,
        station: Some(station(call)?),
    }])
}

pub(crate) fn delete_station(call: &Call<'_>, seen: &Seen<'_>) -> Changes {
    seen.admin()?;
    Ok(vec![Change::Station {
        id: station_id(call, seen)?,
        station: None,
    }])
}

//! Request of the Subsonic API after login, and its parameters.

use std::cell::OnceCell;
use std::sync::Arc;

use crate::context::Context;
use crate::derived::Derived;
use crate::fault::Fault;
use crate::ids::Id;
use crate::index::{self, Index, TracksError};
use crate::params::Params;
use crate::store::{Change, Role, State, User};

/// Subsonic request after login, with the index of the library at the time of the request.
pub(crate) struct Call<'a> {
    pub(crate) context: &'a Context,
    pub(crate) index: Arc<Index>,
    pub(crate) derived: Arc<Derived>,
    pub(crate) params: &'a Params<'a>,
    pub(crate) body: &'a str,
    /// Name of the user; empty for endpoints that need no login.
    pub(crate) user: String,
    pub(crate) now_ms: i64,
    /// Random number: the id of an object that this request creates, or the seed of a random order.
    pub(crate) fresh: u64,
    /// Token of the share that this request creates, if it creates one.
    pub(crate) token: OnceCell<String>,
    pub(crate) base: &'a str,
}

impl Call<'_> {
    /// Returns `state` together with the user who sent the request.
    pub(crate) fn seen<'s>(&self, state: &'s State) -> Seen<'s> {
        Seen {
            state,
            user: state.users.get(&self.user),
        }
    }

    /// Returns the parameter of this name, or an error if it is missing.
    pub(crate) fn text(&self, name: &str) -> Result<&str, Fault> {
        let found = self.params.first(name);
        found.ok_or_else(|| Fault::missing(name))
    }

    /// Parses the number in a parameter, if there is one. For integer types, a decimal fraction is
    /// dropped, because some players send `320.0`.
    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, Fault> {
        let found = self.params.first(name).filter(|text| !text.is_empty());
        let parse = |text: &str| {
            text.parse()
                .ok()
                .or_else(|| without_decimals(text)?.parse().ok())
        };
        found
            .map(|text| parse(text).ok_or_else(|| Fault::bad(name)))
            .transpose()
    }

    /// Parses the truth value in a parameter, if the request has the parameter: `true` or 1,
    /// `false` or 0. Case is ignored, because some clients send `True`.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Fault> {
        let text = self.params.first(name).map(str::to_ascii_lowercase);
        match text.as_deref() {
            None | Some("") => Ok(None),
            Some("true" | "1") => Ok(Some(true)),
            Some("false" | "0") => Ok(Some(false)),
            Some(_) => Err(Fault::bad(name)),
        }
    }

    /// Returns offset and size of a page from the parameters of these names. The size is `usual` by
    /// default and at most `max`.
    pub(crate) fn page(
        &self,
        (size, offset): (&str, &str),
        usual: usize,
        max: usize,
    ) -> Result<(usize, usize), Fault> {
        let size = self.number(size)?.unwrap_or(usual).min(max);
        Ok((self.number(offset)?.unwrap_or(0), size))
    }

    /// Returns a text parameter that is to be stored, if present, or an error if it is too long.
    pub(crate) fn kept_text(&self, name: &str) -> Result<Option<String>, Fault> {
        match self.params.first(name) {
            Some(text) if self.context.limits.text_bytes_max < text.len() => Err(Fault::bad(name)),
            text => Ok(text.map(str::to_owned)),
        }
    }

    /// Returns the id in the parameter `name`.
    pub(crate) fn id(&self, name: &str) -> Result<Id, Fault> {
        Id::parse(self.text(name)?).ok_or_else(|| Fault::not_found("id"))
    }

    pub(crate) fn album_row(&self, id: Id) -> Result<u32, Fault> {
        let row = match id {
            Id::Album(id) => self.index.album_row(id),
            _ => None,
        };
        row.ok_or_else(|| Fault::not_found("album"))
    }

    pub(crate) fn track_row(&self, id: Id) -> Option<u32> {
        index::track_row(&self.index, id)
    }

    pub(crate) fn artist_row(&self, id: Id) -> Result<u32, Fault> {
        let row = match id {
            Id::Artist(id) => self.index.artist_row(id),
            _ => None,
        };
        row.ok_or_else(|| Fault::not_found("artist"))
    }

    /// Returns whether the library has this track.
    pub(crate) fn has_track(&self, id: Id) -> bool {
        self.track_row(id).is_some()
    }

    /// Returns the rows of the tracks in `ids` that the library contains.
    pub(crate) fn rows(&self, ids: &[Id]) -> Vec<u32> {
        index::track_rows(&self.index, ids)
    }

    /// Returns the tracks in the parameters named `name`; the id of an album stands for all of its
    /// tracks.
    pub(crate) fn tracks(&self, name: &str) -> Result<Vec<Id>, Fault> {
        let tracks_max = self.context.limits.tracks_max;
        let found = index::parse_tracks(&self.index, self.params.all(name), tracks_max);
        found.map_err(|err| match err {
            TracksError::UnknownTrack => Fault::not_found("song"),
            TracksError::UnknownAlbum => Fault::not_found("album"),
            TracksError::TooMany => Fault::bad(name),
        })
    }
}

/// Stored state of all users, together with the user who sent the request.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'s> {
    pub(crate) state: &'s State,
    /// User who sent the request; `None` for endpoints that need no login.
    pub(crate) user: Option<&'s User>,
}

impl<'s> Seen<'s> {
    /// Returns an error unless the user has this role.
    pub(crate) fn may(&self, role: Role) -> Result<(), Fault> {
        let may = self.user.is_some_and(|user| user.may(role));
        may.then_some(()).ok_or_else(Fault::not_allowed)
    }

    /// Returns the user, or an error if they are not an admin.
    pub(crate) fn admin(&self) -> Result<&'s User, Fault> {
        self.user
            .filter(|user| user.admin)
            .ok_or_else(Fault::not_allowed)
    }
}

/// Changes that an endpoint makes to the stored state, or the error for the client.
pub(crate) type Changes = Result<Vec<Change>, Fault>;

/// Returns the digits before the decimal point, if only digits follow the point.
fn without_decimals(number: &str) -> Option<&str> {
    let (whole, decimals) = number.split_once('.')?;
    decimals
        .bytes()
        .all(|digit| digit.is_ascii_digit())
        .then_some(whole)
}

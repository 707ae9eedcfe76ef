//! Favourites of a user: artists, albums and tracks, which players can star too, and photographs.

use std::cmp::Reverse;

use super::{ApiCall, Refusal};
use crate::ids::Id;
use crate::store::{Change, State};
use crate::write::Writer;

impl ApiCall<'_> {
    /// Adds an object to the user's favourites at the time `at_ms`. Without a time, removes the
    /// object from the favourites.
    pub(super) fn set_favourite(&self, id: &str, at_ms: Option<i64>) -> Result<String, Refusal> {
        let id = Id::parse(id).ok_or(Refusal::NotFound)?;
        let is_kind = !matches!(id, Id::Playlist(_) | Id::Listing(_));
        self.context.store.change(|state| {
            let user = self.user(state)?;
            // An object that is no longer in the library can be removed from the favourites, but
            // not added.
            if !is_kind || at_ms.is_some() && !self.is_there(id) {
                return Err(Refusal::NotFound);
            }
            self.check_quota(state, Change::Star { user, id, at_ms })
        })??;
        Ok("{}".to_owned())
    }

    /// Writes the ids of the user's favourites that are in the library, the latest first.
    pub(super) fn favourites(&self, state: &State, out: &mut Writer) -> Result<(), Refusal> {
        let user = state.users.get(&self.user(state)?);
        let stars = user.into_iter().flat_map(|user| &user.stars);
        let stars = stars.filter(|(id, _)| self.is_there(**id));
        let mut stars: Vec<(Reverse<i64>, Id)> =
            stars.map(|(&id, &at_ms)| (Reverse(at_ms), id)).collect();
        stars.sort_unstable();
        let mut lists = ["pictures", "albums", "artists", "tracks"].map(|name| (name, Vec::new()));
        for (_, id) in stars {
            let list = match id {
                Id::Photo(_) => 0,
                Id::Album(_) => 1,
                Id::Artist(_) => 2,
                Id::Track(_) => 3,
                Id::Playlist(_) | Id::Listing(_) => continue,
            };
            lists[list].1.push(id.to_string());
        }
        for (name, ids) in &lists {
            out.texts(name, ids.iter().map(String::as_str));
        }
        Ok(())
    }

    fn is_there(&self, id: Id) -> bool {
        match id {
            Id::Photo(id) => self.index.photo_row(id).is_some(),
            Id::Album(id) => self.index.album_row(id).is_some(),
            Id::Artist(id) => self.index.artist_row(id).is_some(),
            Id::Track(id) => self.index.track_row(id).is_some(),
            Id::Playlist(_) | Id::Listing(_) => false,
        }
    }
}

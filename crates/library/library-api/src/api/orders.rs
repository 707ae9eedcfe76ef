//! Sort orders of the album list.

use super::{ApiCall, Refusal};
use crate::groups::year_of;
use crate::ids::Id;
use crate::index::{genres_named, tracks};
use crate::store::State;

/// Values by which albums are ordered. The value of a track is a sum over all users. The value of
/// an album is the average over its tracks, so that long albums have no advantage.
#[derive(Clone, Copy, Debug, Default)]
struct Scores {
    plays: f64,
    /// Number of plays, where the weight of a play halves every 20 days.
    recent: f64,
    /// Number of plays, where the weight of a play halves every 400 days.
    long: f64,
    rating: f64,
}

impl Scores {
    /// Returns the score for the order `trending`. It is high for albums that are played at
    /// present.
    fn trending(&self) -> f64 {
        self.recent
    }

    /// Returns the score for the order `discover`. It is high for albums that were played for years
    /// or rated well, but not played lately.
    fn discover(&self) -> f64 {
        (self.long + self.rating / 5.0) * (-self.recent).exp2()
    }
}

impl ApiCall<'_> {
    /// Returns the rows of albums in the requested order, restricted to the requested genre,
    /// year and composer, if any.
    pub(super) fn albums(&self, state: &State) -> Result<Vec<u32>, Refusal> {
        let all = 0..self.index.counts().albums;
        let rows: Vec<u32> = match self.request.params.first("order").unwrap_or("title") {
            "title" => all.collect(),
            "artist" => self.derived.by_artist.clone(),
            "added" => self.derived.newest.clone(),
            "date" => {
                let mut rows: Vec<u32> = all.collect();
                rows.sort_by_cached_key(|&row| {
                    let album = self.index.album(row);
                    std::cmp::Reverse(album.and_then(|album| album.original_date.or(album.date)))
                });
                rows
            }
            "plays" => self.by_score(state, |scores| scores.plays),
            "rating" => self.by_score(state, |scores| scores.rating),
            "trending" => self.by_score(state, Scores::trending),
            "discover" => self.by_score(state, Scores::discover),
            _ => return Err(Refusal::Bad("order")),
        };
        self.restrict(rows)
    }

    /// Removes the albums that do not match the parameters `genre`, `year` and `composer`, if the
    /// request has them.
    fn restrict(&self, mut rows: Vec<u32>) -> Result<Vec<u32>, Refusal> {
        let params = &self.request.params;
        if let Some(genre) = params.first("genre") {
            let genres = genres_named(&self.index, genre);
            rows.retain(|row| {
                let album = self.index.album(*row);
                album.is_some_and(|album| album.genres.iter().any(|row| genres.contains(row)))
            });
        }
        if let Some(year) = self.number("year")? {
            rows.retain(|row| {
                let year_of_album = self.index.album(*row).and_then(|album| year_of(&album));
                year_of_album.map(usize::from) == Some(year)
            });
        }
        if let Some(name) = params.first("composer") {
            let composers = self.derived.composers(&self.context.splits);
            let composer = composers.get(&catalog::fold(name));
            let albums = composer.map_or(&[][..], |composer| &composer.albums);
            rows.retain(|row| albums.binary_search(row).is_ok());
        }
        Ok(rows)
    }

    /// Returns the rows of albums with a positive score, the highest score first. Albums with equal
    /// scores are ordered by their last change, the latest first.
    fn by_score(&self, state: &State, score: impl Fn(&Scores) -> f64) -> Vec<u32> {
        let scored = self
            .derived
            .newest
            .iter()
            .map(|&row| (score(&self.scores(state, row)), row));
        let mut scored: Vec<(f64, u32)> = scored.filter(|(score, _)| 0.0 < *score).collect();
        scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        scored.into_iter().map(|(_, row)| row).collect()
    }

    fn scores(&self, state: &State, row: u32) -> Scores {
        let Some(album) = self.index.album(row) else {
            return Scores::default();
        };
        let mut sum = Scores::default();
        for user in state.users.values() {
            if user.plays.is_empty() && user.ratings.is_empty() {
                continue;
            }
            let ids = tracks(&album).filter_map(|row| Some(Id::Track(self.index.track(row)?.id)));
            for id in ids {
                if let Some(plays) = user.plays.get(&id) {
                    let (recent, long) = plays.scores(self.request.now_ms);
                    sum.plays += f64::from(plays.count);
                    sum.recent += recent;
                    sum.long += long;
                }
                sum.rating += user.ratings.get(&id).map_or(0.0, |&rating| rating.into());
            }
            let whole = user.ratings.get(&Id::Album(album.id));
            sum.rating += whole.map_or(0.0, |&rating| f64::from(rating) * f64::from(album.tracks));
        }
        let count = f64::from(album.tracks.max(1));
        Scores {
            plays: sum.plays / count,
            recent: sum.recent / count,
            long: sum.long / count,
            rating: sum.rating / count,
        }
    }
}

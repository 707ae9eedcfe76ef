//! Timeline of photographs: the number of photographs per month, and the photographs of one month
//! in columns.

use std::borrow::Cow;

use catalog::Month;
use image_plan::Placeholder;

use super::{ApiCall, Refusal};
use crate::ids::Id;
use crate::params::encoded;
use crate::store::State;
use crate::timeline::{Timeline, in_month, months};
use crate::write::Writer;

/// Fields of one photograph. The response for a month has one column per field and one row per
/// photograph.
struct Cell {
    id: String,
    file: String,
    day: u8,
    ratio: u16,
    placeholder: Option<Placeholder>,
}

impl ApiCall<'_> {
    /// Writes the response to a request for the timeline, a photograph, a folder or the favourites.
    /// `parts` are the segments of the request's path.
    pub(super) fn write_photos(
        &self,
        parts: &[&str],
        state: &State,
        out: &mut Writer,
    ) -> Result<(), Refusal> {
        match parts {
            ["timeline"] => self.timeline(state, out),
            ["timeline", month] => self.month(state, month, out),
            ["pictures", id] => self.whole_picture(state, id, out),
            ["folders"] => self.write_folders(out),
            ["favourites"] => self.favourites(state, out),
            _ => Err(Refusal::NotFound),
        }
    }

    fn timeline(&self, state: &State, out: &mut Writer) -> Result<(), Refusal> {
        let rows = self.selected(state)?;
        out.text("generation", &self.generation());
        out.number("total", rows.len() as u32);
        let months = months(&self.index, &rows).into_iter();
        out.pairs(
            "months",
            months.map(|(month, count)| (month.to_string(), count)),
        );
        Ok(())
    }

    fn month(&self, state: &State, month: &str, out: &mut Writer) -> Result<(), Refusal> {
        let month: Month = month.parse().map_err(|_| Refusal::NotFound)?;
        let generation = self.request.params.first("generation");
        if generation.is_some_and(|generation| generation != self.generation()) {
            return Err(Refusal::Replaced);
        }
        let from = self.number("from")?.unwrap_or(0);
        let rows = self.selected(state)?;
        let rows = in_month(&self.index, &rows, month);
        let photos_max = self.context.limits.photos_max;
        let page = rows.iter().rev().skip(from).take(photos_max);
        let cells: Vec<Cell> = page.filter_map(|&row| self.cell(row)).collect();
        out.number("from", from as u32);
        out.number("total", rows.len() as u32);
        out.texts("id", cells.iter().map(|cell| &*cell.id));
        out.texts("file", cells.iter().map(|cell| &*cell.file));
        out.numbers("day", cells.iter().map(|cell| cell.day.into()));
        out.numbers("ratio", cells.iter().map(|cell| cell.ratio.into()));
        let placeholders = || cells.iter().map(|cell| cell.placeholder.as_ref());
        let hashes: Vec<_> = placeholders()
            .map(|placeholder| placeholder.map(Placeholder::thumbhash))
            .collect();
        let colours: Vec<_> = placeholders()
            .map(|placeholder| placeholder.map(Placeholder::colour))
            .collect();
        out.texts_or_null("placeholder", hashes.iter().map(Option::as_deref));
        out.texts_or_null("colour", colours.iter().map(Option::as_deref));
        Ok(())
    }

    fn cell(&self, row: u32) -> Option<Cell> {
        let photo = self.index.photo(row)?;
        let (path, _) = self.index.file(photo.file)?;
        Some(Cell {
            id: Id::Photo(photo.id).to_string(),
            file: format!("/{}", encoded(&path)),
            day: Month::of(photo.taken_s).1,
            ratio: photo.ratio,
            placeholder: self.context.library.placeholder_of_file(&path),
        })
    }

    /// Returns the text that identifies the present index.
    fn generation(&self) -> String {
        format!("{:016x}", self.index.generation())
    }

    /// Returns the photographs of the timeline that the parameters `folder`, `recursive`, `q` and
    /// `favourites` select, in the order of capture.
    pub(super) fn selected(&self, state: &State) -> Result<Cow<'_, [u32]>, Refusal> {
        let params = &self.request.params;
        let timeline = self.derived.timeline();
        let mut selected: Option<Vec<u32>> = None;
        let mut restrict = |mut rows: Vec<u32>| {
            rows.sort_unstable();
            let known = selected.take();
            let is_known = |row: &u32| {
                let known = known.as_ref();
                known.is_none_or(|known| known.binary_search(row).is_ok())
            };
            rows.retain(is_known);
            selected = Some(rows);
        };
        if let Some(folder) = params.first("folder") {
            restrict(self.in_folder(folder)?);
        }
        if let Some(query) = params.first("q").filter(|query| !query.trim().is_empty()) {
            restrict(Timeline::find(&self.index, query));
        }
        if self.flag("favourites")? == Some(true) {
            restrict(self.favourite_photos(state)?);
        }
        Ok(selected.map_or(Cow::Borrowed(timeline.rows()), Cow::Owned))
    }

    /// Returns the photographs of the timeline in a folder, and in the folders below it unless
    /// `recursive` is 0.
    fn in_folder(&self, path: &str) -> Result<Vec<u32>, Refusal> {
        let is_recursive = self.flag("recursive")?.unwrap_or(true);
        let Some(folder) = self.index.folder(path.trim_matches('/').as_bytes()) else {
            return Ok(Vec::new());
        };
        let among = self.derived.timeline().among(&folder.files).iter();
        let rows =
            among.filter(|(file, _)| is_recursive || self.index.is_directly_in(&folder, *file));
        Ok(rows.map(|(_, row)| *row).collect())
    }

    fn favourite_photos(&self, state: &State) -> Result<Vec<u32>, Refusal> {
        let user = state.users.get(&self.user(state)?);
        let timeline = self.derived.timeline();
        let stars = user.into_iter().flat_map(|user| user.stars.keys());
        let rows = stars.filter_map(|id| match id {
            Id::Photo(id) => self.index.photo_row(*id),
            _ => None,
        });
        Ok(rows.filter(|row| timeline.has(*row)).collect())
    }

    /// Parses the parameter `name`, which is 0 or 1, if the request has it.
    pub(super) fn flag(&self, name: &'static str) -> Result<Option<bool>, Refusal> {
        match self.request.params.first(name) {
            None => Ok(None),
            Some("0") => Ok(Some(false)),
            Some("1") => Ok(Some(true)),
            Some(_) => Err(Refusal::Bad(name)),
        }
    }
}

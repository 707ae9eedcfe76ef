//! One photograph with everything that is known about it.

use catalog::Content;

use super::{ApiCall, Refusal};
use crate::ids::Id;
use crate::store::State;
use crate::write::Writer;

impl ApiCall<'_> {
    /// Writes a photograph and its neighbours in the timeline. Only photographs that the timeline
    /// parameters of the request select can be neighbours.
    pub(super) fn whole_picture(
        &self,
        state: &State,
        id: &str,
        out: &mut Writer,
    ) -> Result<(), Refusal> {
        let id = Id::parse(id).ok_or(Refusal::NotFound)?;
        let row = match id {
            Id::Photo(id) => self.index.photo_row(id),
            _ => None,
        };
        let row = row.ok_or(Refusal::NotFound)?;
        let selected = self.selected(state)?;
        self.write_picture(out, row);
        self.write_photo_metadata(out, row);
        let user = self.user(state).ok();
        let user = user.and_then(|name| state.users.get(&name));
        let is_favourite = user.is_some_and(|user| user.stars.contains_key(&id));
        out.flag("favourite", is_favourite);
        let at = selected.binary_search(&row);
        let (newer, older) = match at {
            Ok(at) => (at.checked_add(1), at.checked_sub(1)),
            // This photograph is not among the selected ones, although it may have been when the
            // link to it was copied. Its neighbours are the selected photographs directly before
            // and after it.
            Err(at) => (Some(at), at.checked_sub(1)),
        };
        for (name, place) in [("previous", newer), ("next", older)] {
            let row = place.and_then(|place| selected.get(place));
            let photo = row.and_then(|row| self.index.photo(*row));
            let id = photo.map(|photo| Id::Photo(photo.id).to_string());
            out.text_or_null(name, id.as_deref());
        }
        Ok(())
    }

    /// Writes the photo metadata, except the fields that lists of photographs contain too.
    fn write_photo_metadata(&self, out: &mut Writer, row: u32) {
        let entry = self.index.photo(row);
        let entry = entry.and_then(|photo| self.index.entry(photo.file));
        let Some(Content::Photo(photo)) = entry.map(|entry| entry.content) else {
            return;
        };
        let (metadata, exposure) = (&photo.metadata, &photo.metadata.exposure);
        out.text_if("takenZone", metadata.offset_min.map(zone).as_deref());
        out.text_if("lens", metadata.lens.as_deref());
        if let Some(hundredths) = exposure.f_number_e2 {
            out.float("fNumber", f64::from(hundredths) / 100.0);
        }
        if let Some(time_ns) = exposure.time_ns {
            out.float("exposureSeconds", time_ns as f64 / 1e9);
        }
        out.number_if("iso", exposure.iso);
        if let Some(hundredths) = exposure.focal_mm_e2 {
            out.float("focalMm", f64::from(hundredths) / 100.0);
        }
        out.list("places", &metadata.places, |out, place| {
            out.text_if("name", place.name.as_deref());
            out.text_if("sublocation", place.sublocation.as_deref());
            out.text_if("city", place.city.as_deref());
            out.text_if("state", place.state.as_deref());
            out.text_if("country", place.country.as_deref());
        });
        let altitude_m = metadata.position.and_then(|position| position.altitude_m);
        out.number_if("altitude", altitude_m);
    }
}

/// Formats an offset from UTC as `+02:00`.
fn zone(offset_min: i16) -> String {
    let sign = if offset_min < 0 { '-' } else { '+' };
    let minutes = offset_min.unsigned_abs();
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

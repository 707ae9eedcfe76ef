//! Lists of the genres, years and composers of the library.

use super::{ApiCall, Refusal};
use crate::groups::years;
use crate::ids::Id;
use crate::write::Writer;

impl ApiCall<'_> {
    /// Writes one page of the genres, the years, or the composers, which `kind` names.
    pub(super) fn write_groups(&self, kind: &str, out: &mut Writer) -> Result<(), Refusal> {
        match kind {
            "genres" => {
                let rows = (0..self.index.counts().genres).collect();
                self.write_page(out, rows, |out, row| {
                    if let Some(genre) = self.index.genre(row) {
                        out.text("name", genre.name);
                        out.number("tracks", genre.tracks);
                        out.number("albums", genre.albums);
                    }
                })
            }
            "years" => {
                let years = years(&self.index).into_iter().rev().collect();
                self.write_page(out, years, |out, (year, (albums, tracks))| {
                    out.number("year", year);
                    out.number("tracks", tracks);
                    out.number("albums", albums);
                })
            }
            _ => {
                let composers = self.derived.composers(&self.context.splits);
                self.write_page(out, composers.values().collect(), |out, composer| {
                    out.text("name", &composer.name);
                    let artist = self.derived.artist(&composer.name);
                    let artist = artist.and_then(|row| self.index.artist(row));
                    let id = artist.map(|artist| Id::Artist(artist.id).to_string());
                    out.text_if("artistId", id.as_deref());
                    out.number("tracks", composer.tracks);
                    out.number("albums", composer.albums.len() as u32);
                })
            }
        }
    }
}

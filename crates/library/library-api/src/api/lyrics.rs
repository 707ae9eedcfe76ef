//! Lyrics of one track.

use super::{ApiCall, Refusal};
use crate::lyrics::Lyrics;
use crate::write::Writer;

impl ApiCall<'_> {
    /// Returns the document with the lyrics of a track. If the file has several lyrics, the
    /// document has the first with timestamps, or the first in the file if none have timestamps. If
    /// the file has no lyrics, the list of lines is empty.
    pub(super) fn lyrics(&self, id: &str) -> Result<String, Refusal> {
        let (row, _) = self.track_row(id)?;
        let track = self.index.track(row).ok_or(Refusal::NotFound)?;
        let (path, _) = self.index.file(track.file).ok_or(Refusal::NotFound)?;
        // Reads files, so this function must not run while the store is locked.
        let lyrics = Lyrics::of_file(&*self.context.library, &path);
        let lyrics = lyrics.into_iter().next().unwrap_or_default();
        let mut out = Writer::new(false);
        out.braced(|out| {
            out.flag("synced", lyrics.is_synced());
            out.list("lines", &lyrics.lines, |out, line| {
                if let Some(start_ms) = line.start_ms {
                    // A positive offset makes lines appear sooner.
                    let start_ms = i64::try_from(start_ms).unwrap_or(i64::MAX);
                    let shown_ms = start_ms.saturating_sub(lyrics.offset_ms);
                    out.number("startMs", shown_ms.max(0));
                }
                out.text("text", &line.text);
            });
        });
        Ok(out.finish())
    }
}

//! Files of the library: the originals of pictures and tracks.

use super::{Ask, Refusal};
use crate::answer::Answer;
use crate::downloads::attachment;
use crate::ids::Id;
use crate::params::encoded;

impl Ask<'_> {
    /// Returns the file that the request asks for, or `None` if it asks for a document. `parts` are
    /// the segments of its path.
    pub(super) fn files(&self, parts: &[&str]) -> Option<Result<Answer, Refusal>> {
        match (parts, self.request.method) {
            ([kind @ ("pictures" | "tracks"), id, "original"], "GET" | "HEAD") => {
                Some(self.original(kind, id))
            }
            (["pictures" | "tracks", _, "original"], _) => Some(Err(Refusal::Method("GET"))),
            _ => None,
        }
    }

    /// Returns the original of a picture or track.
    fn original(&self, kind: &str, id: &str) -> Result<Answer, Refusal> {
        let file = match (kind, Id::parse(id)) {
            ("pictures", Some(Id::Photo(id))) => {
                let row = self.index.photo_row(id);
                row.and_then(|row| Some(self.index.photo(row)?.file))
            }
            ("tracks", Some(Id::Track(id))) => {
                let row = self.index.track_row(id);
                row.and_then(|row| Some(self.index.track(row)?.file))
            }
            _ => None,
        };
        let file = file.and_then(|file| self.index.file(file));
        let (path, _) = file.ok_or(Refusal::NotFound)?;
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(&path);
        Ok(Answer::Original {
            path: format!("/{}", encoded(&path)),
            disposition: attachment(name),
        })
    }
}

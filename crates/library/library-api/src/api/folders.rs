//! Folders with photographs, and the videos in a folder.

use std::ops::Range;

use super::{ApiCall, Refusal};
use crate::params::encoded;
use crate::write::Writer;

impl ApiCall<'_> {
    /// Writes the content of the folder `path`: subfolders with photographs, the number of
    /// photographs directly in the folder, and its videos.
    pub(super) fn write_folders(&self, out: &mut Writer) -> Result<(), Refusal> {
        let path = self.request.params.first("path").unwrap_or("");
        let path = path.trim_matches('/');
        let mut names = path.split('/');
        if !path.is_empty() && names.any(|name| matches!(name, "" | "." | "..")) {
            return Err(Refusal::Bad("path"));
        }
        let folder = self.index.folder(path.as_bytes());
        let videos = self
            .context
            .library
            .videos(path.as_bytes(), self.request.videos);
        if folder.is_none() && videos.is_empty() && !path.is_empty() {
            return Err(Refusal::NotFound);
        }
        let timeline = self.derived.timeline();
        let (mut inside, mut pictures) = (Vec::new(), 0);
        if let Some(folder) = &folder {
            inside = self.index.folders_in(path.as_bytes(), folder);
            inside.retain(|(_, files)| !timeline.among(files).is_empty());
            let own = timeline.among(&folder.files).iter();
            let own = own.filter(|(file, _)| self.index.is_directly_in(folder, *file));
            pictures = own.count();
        }
        out.text("path", path);
        out.list("folders", inside, |out, (name, files)| {
            self.write_folder(out, path, &name, &files);
        });
        out.number("pictures", pictures as u32);
        out.list("videos", videos, |out, name| {
            let file = below(path, &name);
            out.text("file", &format!("/{}", encoded(&file)));
            out.text("name", &String::from_utf8_lossy(&name));
        });
        Ok(())
    }

    /// Writes the name, the path, the number of photographs and the latest photograph of a folder.
    fn write_folder(&self, out: &mut Writer, parent: &str, name: &[u8], files: &Range<u32>) {
        let photos = self.derived.timeline().among(files);
        out.text("name", &String::from_utf8_lossy(name));
        out.text("path", &String::from_utf8_lossy(&below(parent, name)));
        out.number("pictures", photos.len() as u32);
        let front = photos.iter().max_by_key(|(_, row)| *row);
        let front = front.and_then(|(file, _)| self.index.file(*file));
        let target = front
            .as_ref()
            .map(|(path, _)| format!("/{}", encoded(path)));
        out.text_or_null("front", target.as_deref());
        let placeholder =
            front.and_then(|(path, _)| self.context.library.placeholder_of_file(&path));
        if let Some(placeholder) = placeholder {
            out.text("placeholder", &placeholder.thumbhash());
            out.text("colour", &placeholder.colour());
        }
    }
}

/// Returns the path of `name` in the folder `parent`.
fn below(parent: &str, name: &[u8]) -> Vec<u8> {
    match parent {
        "" => name.to_vec(),
        parent => [parent.as_bytes(), b"/", name].concat(),
    }
}

//! Type of a file of the library. It is detected once per version of the file, from the file's
//! content and, if that does not suffice, its extension.

use std::io;
use std::os::unix::fs::FileExt;

use image_plan::{Facts, Format, ProbeErrorKind};
use variants::library::{Identity, Library, LibraryPath};
use variants::source::FileSource;

use crate::media_type::{self, AllowedTypes};
use crate::problem::Problem;

/// Type of a file, detected from its first bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// Picture that can be converted.
    Picture(Facts),
    /// File with the magic bytes of a picture, but an invalid header.
    Damaged,
    /// Picture of a format that is not converted, with its media type.
    Untouched(&'static str),
    /// Picture of this format (HEIF or camera raw) and media type without an embedded JPEG preview.
    WithoutPreview(Format, &'static str),
    /// Audio of this media type.
    Audio(&'static str),
    /// File that is neither a picture nor audio, but whose extension the operator allowed, with its
    /// media type.
    Allowed(&'static str),
    /// File that is not served.
    NotServed,
}

impl Known {
    /// Returns the media type of the original. A damaged picture is sent as
    /// `application/octet-stream`.
    #[must_use]
    pub fn media_type(&self) -> &'static str {
        match self {
            Known::Picture(facts) => facts.format.media_type(),
            Known::Untouched(media_type)
            | Known::WithoutPreview(_, media_type)
            | Known::Audio(media_type)
            | Known::Allowed(media_type) => media_type,
            Known::Damaged | Known::NotServed => "application/octet-stream",
        }
    }

    /// Returns whether a browser could run scripts inside the file.
    #[must_use]
    pub fn may_be_active(&self) -> bool {
        match self {
            Known::Picture(facts) => facts.format.is_drawing(),
            Known::Untouched(_) | Known::WithoutPreview(..) | Known::Audio(_) | Known::Damaged => {
                false
            }
            Known::Allowed(_) | Known::NotServed => true,
        }
    }
}

/// Reads the first bytes of a file, and returns its type and version. The facts of a picture are
/// those of the page with number `page`.
pub(crate) fn detect(
    library: &Library,
    path: &LibraryPath,
    allowed: &AllowedTypes,
    page: u16,
) -> Result<(Known, Identity), Problem> {
    const HEAD_BYTES: usize = 64;
    let (file, identity) = library
        .open_original(path)
        .map_err(|err| Problem::of_missing(path, err))?;
    let unreadable = |err: io::Error| {
        tracing::error!(path = %path.as_path().display(), %err, "original cannot be read");
        Problem::Host
    };
    let known = match image_plan::probe_page(&FileSource(&file), identity.size_bytes, page) {
        Ok(facts) => Known::Picture(facts),
        Err(err) if err.kind == ProbeErrorKind::Io => {
            return Err(unreadable(io::Error::other(err)));
        }
        Err(err) if err.kind == ProbeErrorKind::NoPreview => {
            let mut head = [0; HEAD_BYTES];
            let length = file.read_at(&mut head, 0).map_err(unreadable)?;
            let head = &head[..length];
            // The format is HEIF or raw. A raw file with the structure of a TIFF is detected as
            // TIFF here.
            let format = Format::sniff(head).filter(|format| *format == Format::Heif);
            let format = format.unwrap_or(Format::Raw);
            Known::WithoutPreview(format, image_plan::media_type_of_head(format, head))
        }
        Err(err) if err.kind == ProbeErrorKind::Unknown => {
            let mut head = [0; HEAD_BYTES];
            let length = file.read_at(&mut head, 0).map_err(unreadable)?;
            if let Some(untouched) = image_plan::untouched(&head[..length]) {
                return Ok((Known::Untouched(untouched), identity));
            }
            let extension = path.extension();
            let audio = match (media_type::audio(&head[..length]), &extension) {
                (None, Some(extension)) => {
                    let source = FileSource(&file);
                    media_type::audio_within(&source, identity.size_bytes, extension)
                        .map_err(unreadable)?
                }
                (audio, _) => audio,
            };
            match audio {
                Some(audio) => Known::Audio(audio),
                None => extension
                    .and_then(|ext| allowed.media_type(&ext))
                    .map_or(Known::NotServed, Known::Allowed),
            }
        }
        // The caller knows the number of pages, so the file has changed since.
        Err(err) if err.kind == ProbeErrorKind::NoPage => return Err(Problem::NotFound),
        Err(err) => {
            tracing::info!(path = %path.as_path().display(), %err, "picture cannot be converted: its header is damaged");
            Known::Damaged
        }
    };
    Ok((known, identity))
}

//! Pictures of a benchmark: the benchmark's definition names them, the corpus folder holds them,
//! and hashes identify them in records.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use image_plan::{Facts, Orientation, Size};
use serde::Serialize;
use toolkit::stop::{Stop, at};

/// Photograph that benchmarks convert: a file of the corpus folder.
#[derive(Clone, Debug)]
pub(crate) struct Photograph {
    /// Path of the file, relative to the corpus folder.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) facts: Facts,
    pub(crate) bytes: u64,
    hash: String,
}

/// Record entry that describes one photograph.
#[derive(Serialize)]
pub(crate) struct Entry {
    name: String,
    width_px: u32,
    height_px: u32,
    bytes: u64,
    blake3: String,
}

impl Photograph {
    fn read(folder: &Path, name: &str) -> Result<Photograph, Stop> {
        let path = folder.join(name);
        let bytes = fs::read(&path).map_err(|err| {
            at(&path)(err)
                .hint("set --corpus to the folder with the pictures of Debian's mate-backgrounds")
        })?;
        let facts = image_plan::probe(&bytes[..], bytes.len() as u64);
        let facts = facts.map_err(|err| Stop::host(format!("{}: {err}", path.display())))?;
        // The quality metric compares pixels: it neither rotates pictures nor converts colours
        // between profiles. Photographs that need either are therefore rejected.
        if facts.orientation != Orientation::default() || facts.profile_bytes != 0 {
            let line = format!(
                "{}: the photograph has an orientation or a colour profile, which the quality metric does not apply",
                path.display()
            );
            return Err(Stop::host(line));
        }
        Ok(Photograph {
            name: name.to_owned(),
            facts,
            bytes: bytes.len() as u64,
            hash: blake3::hash(&bytes).to_hex().to_string(),
            path,
        })
    }

    pub(crate) fn size(&self) -> Size {
        self.facts.stored
    }

    pub(crate) fn megapixels(&self) -> f64 {
        self.size().pixels() as f64 / 1e6
    }

    pub(crate) fn open(&self) -> Result<File, Stop> {
        File::open(&self.path).map_err(at(&self.path))
    }

    /// Returns the photograph's name in a form that suits file names: `-` replaces `/` and `.`.
    pub(crate) fn word(&self) -> String {
        self.name.replace(['/', '.'], "-")
    }

    pub(crate) fn entry(&self) -> Entry {
        Entry {
            name: self.name.clone(),
            width_px: self.size().width_px,
            height_px: self.size().height_px,
            bytes: self.bytes,
            blake3: self.hash.clone(),
        }
    }
}

/// Reads the photographs that a definition names.
///
/// # Errors
/// Returns an error if a photograph is missing or is not a picture, or if it has an orientation or
/// a colour profile.
pub(crate) fn read(folder: &Path, names: &[String]) -> Result<Vec<Photograph>, Stop> {
    let photographs = names.iter().map(|name| Photograph::read(folder, name));
    photographs.collect()
}

pub(crate) fn megapixels(photographs: &[Photograph]) -> f64 {
    photographs.iter().map(Photograph::megapixels).sum()
}

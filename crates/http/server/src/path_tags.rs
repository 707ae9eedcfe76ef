//! Tags of paths: names by which the operator groups files and folders, for purges here and in the
//! caches of CDNs.

use std::collections::BTreeSet;

use variants::library::LibraryPath;

/// Maximum length of a tag in bytes. CDNs accept longer tags, but limit the length of the whole
/// field.
pub const TAG_BYTES_MAX: usize = 64;

/// Tags with the files and folders that have them. A folder's tags apply to everything below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathTags(Vec<(String, LibraryPath)>);

impl PathTags {
    /// Creates the list from pairs of a tag and a path of the library, such as `/2025/summer`.
    ///
    /// # Errors
    /// The first tag or path that is not valid, with the reason.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Result<PathTags, String> {
        let pairs = pairs.into_iter().map(|(tag, path)| {
            if !is_tag(&tag) {
                return Err(format!(
                    "{tag:?} is not a tag: expected 1 to {TAG_BYTES_MAX} characters of letters, digits and \"-._~:\""
                ));
            }
            let relative = path.trim_matches('/');
            match LibraryPath::from_relative(relative.as_ref()) {
                Some(path) => Ok((tag, path)),
                None => Err(format!("{tag}: {path:?} is not a path of the library")),
            }
        });
        pairs.collect::<Result<_, _>>().map(PathTags)
    }

    /// Returns the pairs of a tag and a path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &LibraryPath)> {
        self.0.iter().map(|(tag, path)| (&**tag, path))
    }

    /// Returns the tags of `path` in alphabetical order.
    pub(crate) fn of(&self, path: &LibraryPath) -> BTreeSet<&str> {
        let tagged = self
            .iter()
            .filter(|(_, folder)| path.as_path().starts_with(folder.as_path()));
        tagged.map(|(tag, _)| tag).collect()
    }

    /// Returns the files and folders that have `tag`.
    pub(crate) fn paths<'a>(&'a self, tag: &'a str) -> impl Iterator<Item = &'a LibraryPath> {
        let tagged = self.iter().filter(move |(other, _)| *other == tag);
        tagged.map(|(_, path)| path)
    }

    /// Returns the fields that name the tags of `path` to caches: Cache-Tag, in which commas
    /// separate tags, and Surrogate-Key, in which spaces do. Returns no field for a path without
    /// tags.
    pub(crate) fn fields(&self, path: &LibraryPath) -> Vec<(&'static str, String)> {
        let tags: Vec<&str> = self.of(path).into_iter().collect();
        match tags.is_empty() {
            true => Vec::new(),
            false => vec![
                ("cache-tag", tags.join(",")),
                ("surrogate-key", tags.join(" ")),
            ],
        }
    }
}

/// Returns whether `tag` can be written in the fields of every CDN.
fn is_tag(tag: &str) -> bool {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte);
    (1..=TAG_BYTES_MAX).contains(&tag.len()) && tag.bytes().all(is_safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(pairs: &[(&str, &str)]) -> Result<PathTags, String> {
        let pairs = pairs.iter();
        PathTags::new(pairs.map(|(tag, path)| ((*tag).to_owned(), (*path).to_owned())))
    }

    #[test]
    fn a_folder_gives_its_tags_to_everything_below() {
        let tags = tags(&[
            ("summer", "/2025/summer/"),
            ("best", "2025/summer/beach.jpg"),
            ("archive", "/2025"),
        ]);
        let tags = tags.expect("valid");
        let fields = |path: &str| {
            let path = LibraryPath::from_relative(path.as_ref()).expect("a path of the library");
            tags.fields(&path)
        };
        assert_eq!(
            fields("2025/summer/beach.jpg"),
            [
                ("cache-tag", "archive,best,summer".to_owned()),
                ("surrogate-key", "archive best summer".to_owned()),
            ]
        );
        assert_eq!(fields("2025/summers/a.jpg")[0].1, "archive");
        assert_eq!(fields("2024/a.jpg"), []);
    }

    #[test]
    fn invalid_tags_and_paths_are_named() {
        for (tag, path, fault) in [
            ("", "/a", "\"\" is not a tag"),
            ("two words", "/a", "\"two words\" is not a tag"),
            ("a,b", "/a", "\"a,b\" is not a tag"),
            ("a", "/", "a: \"/\" is not a path of the library"),
            (
                "a",
                "/b/../c",
                "a: \"/b/../c\" is not a path of the library",
            ),
        ] {
            let refusal = tags(&[(tag, path)]).expect_err("invalid");
            assert!(refusal.starts_with(fault), "{refusal}");
        }
    }
}

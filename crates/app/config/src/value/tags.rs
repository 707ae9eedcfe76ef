//! Type of the setting `tags`.

#[cfg(test)]
mod tests;

use server::path_tags::PathTags;

use super::{Raw, Value, Wrong};

/// Tags of files and folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tags(pub PathTags);

impl Value for Tags {
    const EXPECTED: &'static str = "tags with paths: in the configuration file { summer = [\"/2024/july\", \"/2025/july\"] }; in a flag or variable \"summer=/2024/july|summer=/2025/july\"";

    fn read(raw: &Raw) -> Result<Tags, Wrong> {
        let pairs: Option<Vec<(String, String)>> = match raw {
            Raw::Table(tags) => {
                let lists = tags.iter().map(|(tag, paths)| of_tag(tag, paths));
                let lists: Option<Vec<Vec<_>>> = lists.collect();
                lists.map(|lists| lists.concat())
            }
            Raw::Word(_) => {
                let text = raw.text().ok_or_else(|| Wrong::found(raw))?;
                let pairs = text.split('|').map(str::trim);
                let pairs = pairs.filter(|pair| !pair.is_empty()).map(|pair| {
                    let (tag, path) = pair.split_once('=')?;
                    Some((tag.to_owned(), path.to_owned()))
                });
                pairs.collect()
            }
            _ => None,
        };
        let pairs = pairs.ok_or_else(|| Wrong::found(raw))?;
        PathTags::new(pairs).map(Tags).map_err(Wrong::Because)
    }

    fn show(&self) -> String {
        let pairs = self.0.iter();
        let pairs = pairs.map(|(tag, path)| format!("{tag}=/{}", path.as_path().display()));
        pairs.collect::<Vec<_>>().join("|")
    }
}

/// Returns a pair of `tag` and each path. In a configuration file, `paths` is one path or a list of
/// paths.
fn of_tag(tag: &str, paths: &Raw) -> Option<Vec<(String, String)>> {
    let paths = match paths {
        Raw::List(paths) => paths.as_slice(),
        path => std::slice::from_ref(path),
    };
    let pair = |path: &Raw| match path {
        Raw::Text(path) => Some((tag.to_owned(), path.clone())),
        _ => None,
    };
    paths.iter().map(pair).collect()
}

//! Functions for paths relative to the root of the library: bytes without a leading slash. An empty
//! path stands for the root.

/// Returns the path of the entry `name` of `folder`.
pub(crate) fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    match folder {
        [] => name.to_vec(),
        _ => [folder, b"/", name].concat(),
    }
}

/// Returns the folder that contains the file at `path`: the part before the last slash, or the
/// empty path of the root.
pub(crate) fn folder(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|&byte| byte == b'/');
    &path[..end.unwrap_or(0)]
}

/// Returns the folders in which a walk starts: the folders of `only`, except those inside another
/// folder of `only`; or the root if `only` is empty.
pub(crate) fn tops(only: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut sorted = only.to_vec();
    sorted.sort_unstable();
    let mut tops: Vec<Vec<u8>> = Vec::new();
    for folder in sorted {
        if !tops.iter().any(|top| is_below(&folder, top)) {
            tops.push(folder);
        }
    }
    if tops.is_empty() {
        tops.push(Vec::new());
    }
    tops
}

/// Returns whether `path` is `folder` itself or is inside it, at any depth.
pub(crate) fn is_below(path: &[u8], folder: &[u8]) -> bool {
    let rest = path.strip_prefix(folder);
    folder.is_empty() || rest.is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
}

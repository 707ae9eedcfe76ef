//! Suggestion of a known name for a mistyped one.

#[cfg(test)]
mod tests;

/// Returns the known name nearest to `unknown`, if one is near enough to suggest.
///
/// A correct last segment in a wrong group counts as near: `queue_max` and `cell.queue_max` both
/// suggest `limits.queue_max`.
pub(crate) fn nearest<'a>(
    unknown: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let folded = unknown.to_ascii_lowercase();
    let distance = |name: &str| {
        let whole = strsim::osa_distance(&folded, &name.to_ascii_lowercase());
        // Adds 1 to the distance of the last segments. At equal distances, a name that is similar
        // as a whole then wins over a name with only a similar last segment.
        let last = strsim::osa_distance(last_segment(&folded), last_segment(name)) + 1;
        whole.min(last)
    };
    // A third of the letters may differ: enough for a typing error or a plural, too few to suggest
    // an unrelated key.
    let distance_max = (last_segment(&folded).chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|name| (distance(name), name))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= distance_max)
        .map(|(_, name)| name)
}

fn last_segment(name: &str) -> &str {
    name.rsplit('.')
        .next()
        .expect("a split yields at least one part")
}

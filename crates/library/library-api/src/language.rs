//! The language that a client prefers.

/// Returns the one of the `known` languages that the client prefers, or `None` if the client names
/// none of them. `accept` is the value of the Accept-Language field (RFC 9110 §12.5.4). Regions and
/// scripts of a language are ignored.
#[must_use]
pub fn preferred<'a>(accept: &str, known: &[&'a str]) -> Option<&'a str> {
    let mut best: (f32, Option<&'a str>) = (0.0, None);
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let tag = parts.next().unwrap_or("");
        let primary = tag.split('-').next().unwrap_or("");
        let quality = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
        let quality = quality.map_or(1.0, |text| text.parse().unwrap_or(0.0));
        // Other weights are not valid (RFC 9110 §12.4.2).
        let is_valid = (0.0..=1.0).contains(&quality);
        let found = known
            .iter()
            .find(|language| language.eq_ignore_ascii_case(primary));
        if found.is_some() && is_valid && best.0 < quality {
            best = (quality, found.copied());
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::preferred;

    #[test]
    fn the_language_with_the_highest_weight_is_chosen() {
        for (accept, language) in [
            ("", None),
            ("fr", None),
            ("*", None),
            ("de", Some("de")),
            ("DE-at", Some("de")),
            ("ar-EG,en;q=0.9", Some("ar")),
            ("en;q=0.2, de;q=0.8, ar;q=0.5", Some("de")),
            ("fr, de;q=0.4", Some("de")),
            ("de;q=0, en;q=0.1", Some("en")),
            ("de;q=x, ar;q=0.1", Some("ar")),
            (";;,=,q=1", None),
            ("de;q=0.2, ar;Q=0.9", Some("ar")),
            ("de;q=inf, ar;q=0.1", Some("ar")),
        ] {
            assert_eq!(preferred(accept, &["en", "de", "ar"]), language, "{accept}");
        }
    }
}

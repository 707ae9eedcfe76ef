//! Removal of passwords in URLs from texts that people see.

/// Text that stands in place of a password.
const HIDDEN: &str = "***";

/// Returns `text` with `***` in place of the password of each URL, such as `redis://user:***@host`.
/// Credentials without a user are replaced as a whole. A URL ends at white space or at a double
/// quote, so `text` may contain several URLs.
pub(crate) fn hide_passwords(text: &str) -> String {
    const AUTHORITY: &str = "://";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(AUTHORITY) {
        let (scheme, after) = rest.split_at(at + AUTHORITY.len());
        out.push_str(scheme);
        let end = after.find(|character: char| character.is_whitespace() || character == '"');
        let (url, next) = after.split_at(end.unwrap_or(after.len()));
        out.push_str(&hide_in_authority(url));
        rest = next;
    }
    out.push_str(rest);
    out
}

/// Returns the text of a setting that holds one URL, with `***` in place of its password. The text
/// need not be a valid URL, and the password may contain any character.
pub(crate) fn hide_password_of_url(text: &str) -> String {
    match text.split_once("://") {
        Some((scheme, rest)) => format!("{scheme}://{}", hide_in_authority(rest)),
        None => hide_in_authority(text),
    }
}

/// Hides the password in the part of a URL after its scheme. A password may contain `@`, so the
/// credentials end at the last one.
fn hide_in_authority(url: &str) -> String {
    let Some((credentials, rest)) = url.rsplit_once('@') else {
        return url.to_owned();
    };
    match credentials.split_once(':') {
        Some((user, _)) => format!("{user}:{HIDDEN}@{rest}"),
        None => format!("{HIDDEN}@{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{hide_password_of_url, hide_passwords};

    #[test]
    fn passwords_of_all_urls_are_hidden() {
        for (text, shown) in [
            ("", ""),
            ("/srv/a@b:c", "/srv/a@b:c"),
            ("https://example.org/a:b", "https://example.org/a:b"),
            ("redis://u:p@h:1/2", "redis://u:***@h:1/2"),
            ("redis://p@h", "redis://***@h"),
            ("redis://u:p@ss/w:rd@h", "redis://u:***@h"),
            (
                "found \"http://u:p@h/\" at 1",
                "found \"http://u:***@h/\" at 1",
            ),
            (
                "[\"A=a://u:p@h\", \"B=b://u:q@h\"]",
                "[\"A=a://u:***@h\", \"B=b://u:***@h\"]",
            ),
        ] {
            assert_eq!(hide_passwords(text), shown, "{text}");
        }
    }

    #[test]
    fn the_password_of_one_url_may_have_any_character() {
        for (text, shown) in [
            ("off", "off"),
            ("redis://u:p w\"@h:x", "redis://u:***@h:x"),
            ("u:p@h", "u:***@h"),
            ("redis:/p@h", "redis:***@h"),
        ] {
            assert_eq!(hide_password_of_url(text), shown, "{text}");
        }
    }
}

//! XMP of a picture, as far as motion photos need it: names and values in the order of the text.
//!
//! XMP writes a simple property as an attribute or as an element. Both become the same event here.
//! The prefix of a name is dropped: producers use several prefixes for the same namespace.

/// Part of an XMP text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event<'t> {
    /// Start tag with this local name.
    Start(&'t str),
    /// Property with this local name and value.
    Value(&'t str, &'t str),
}

/// Returns the events of an XMP text. A text that is not XML does not fail: it has fewer events, or
/// events with names that callers ignore.
pub(crate) fn events(text: &str) -> impl Iterator<Item = Event<'_>> {
    let mut tags = text.split('<').skip(1);
    std::iter::from_fn(move || tags.next()).flat_map(|part| {
        let (tag, content) = part.split_once('>').unwrap_or((part, ""));
        let (name, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        let name = local(name.trim_end_matches('/'));
        let is_start = !tag.starts_with(['/', '?', '!']);
        let start = is_start.then_some(Event::Start(name));
        let content = content.trim();
        let value = (is_start && !content.is_empty()).then_some(Event::Value(name, content));
        start.into_iter().chain(Attributes(attributes)).chain(value)
    })
}

/// Attributes of a tag.
struct Attributes<'t>(&'t str);

impl<'t> Iterator for Attributes<'t> {
    type Item = Event<'t>;

    fn next(&mut self) -> Option<Event<'t>> {
        let (name, rest) = self.0.split_once('=')?;
        let rest = rest.trim_start();
        let quote = rest.chars().next().filter(|it| matches!(it, '"' | '\''))?;
        let (value, rest) = rest[1..].split_once(quote)?;
        self.0 = rest;
        Some(Event::Value(local(name.trim()), value))
    }
}

/// Returns a name without its prefix.
fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

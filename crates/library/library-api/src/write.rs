//! Writer of documents: the same calls write XML or JSON.
//!
//! The members of an object are written in order. XML requires the attributes of an object before
//! its child elements; the writer asserts this order.

use std::fmt::Write as _;

/// Response format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Xml,
    Json,
    /// JSON as the argument of a call to this JavaScript function.
    Jsonp(String),
}

/// Writer of one response document.
pub(crate) struct Writer {
    out: String,
    is_xml: bool,
    /// In JSON: true if the object has a member, so that the next member needs a comma. In XML:
    /// true if the start tag is closed.
    begun: bool,
}

impl Writer {
    pub(crate) fn new(is_xml: bool) -> Writer {
        Writer {
            out: String::with_capacity(1024),
            is_xml,
            begun: false,
        }
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }

    /// Writes a member that is an object.
    pub(crate) fn object(&mut self, name: &str, inside: impl FnOnce(&mut Writer)) {
        if self.is_xml {
            self.element(name, inside);
        } else {
            self.name(name);
            self.braced(inside);
        }
    }

    /// Writes a member that is a list of objects.
    pub(crate) fn list<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut inside: impl FnMut(&mut Writer, T),
    ) {
        if self.is_xml {
            for item in items {
                self.element(name, |out| inside(out, item));
            }
            return;
        }
        self.array(name, items, |out, item| out.braced(|out| inside(out, item)));
    }

    /// Writes a member that is a list of strings.
    pub(crate) fn texts<'t>(&mut self, name: &str, items: impl IntoIterator<Item = &'t str>) {
        if self.is_xml {
            for item in items {
                self.element(name, |out| out.content(item));
            }
            return;
        }
        self.array(name, items, |out, item| json_text(&mut out.out, item));
    }

    /// Writes a member that is a list of numbers.
    pub(crate) fn numbers(&mut self, name: &str, items: impl IntoIterator<Item = i64>) {
        if self.is_xml {
            for item in items {
                self.element(name, |out| out.content(&item.to_string()));
            }
            return;
        }
        self.array(name, items, |out, item| {
            write!(out.out, "{item}").expect("writing to a string cannot fail");
        });
    }

    /// Writes a JSON member that is a list of strings, of which some may be `null`.
    pub(crate) fn texts_or_null<'t>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = Option<&'t str>>,
    ) {
        self.array(name, items, |out, item| match item {
            Some(item) => json_text(&mut out.out, item),
            None => out.out.push_str("null"),
        });
    }

    /// Writes a JSON member that is a list of pairs of a string and a number.
    pub(crate) fn pairs(&mut self, name: &str, items: impl IntoIterator<Item = (String, u32)>) {
        self.array(name, items, |out, (text, number)| {
            out.out.push('[');
            json_text(&mut out.out, &text);
            write!(out.out, ",{number}]").expect("writing to a string cannot fail");
        });
    }

    pub(crate) fn text(&mut self, name: &str, value: &str) {
        if self.is_xml {
            self.attribute(name);
            xml_text(&mut self.out, value);
            self.out.push('"');
        } else {
            self.name(name);
            json_text(&mut self.out, value);
        }
    }

    pub(crate) fn number(&mut self, name: &str, value: impl Into<i64>) {
        self.plain(name, value.into());
    }

    pub(crate) fn float(&mut self, name: &str, value: f64) {
        self.plain(name, value);
    }

    pub(crate) fn flag(&mut self, name: &str, value: bool) {
        self.plain(name, value);
    }

    pub(crate) fn text_if(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    /// Writes a JSON member that is a string or `null`.
    pub(crate) fn text_or_null(&mut self, name: &str, value: Option<&str>) {
        match value {
            Some(value) => self.text(name, value),
            None => self.plain(name, "null"),
        }
    }

    pub(crate) fn number_if(&mut self, name: &str, value: Option<impl Into<i64>>) {
        if let Some(value) = value {
            self.number(name, value);
        }
    }

    /// Writes the text content of an object: text of the element in XML, the member `value` in
    /// JSON.
    pub(crate) fn value(&mut self, value: &str) {
        if self.is_xml {
            self.content(value);
        } else {
            self.text("value", value);
        }
    }

    /// Returns whether the document is XML. Used for the few members that differ between the
    /// formats.
    pub(crate) fn is_xml(&self) -> bool {
        self.is_xml
    }

    fn plain(&mut self, name: &str, value: impl std::fmt::Display) {
        if self.is_xml {
            self.attribute(name);
            write!(self.out, "{value}\"").expect("writing to a string cannot fail");
        } else {
            self.name(name);
            write!(self.out, "{value}").expect("writing to a string cannot fail");
        }
    }

    fn attribute(&mut self, name: &str) {
        assert!(!self.begun, "attribute {name} after a child element");
        self.out.push(' ');
        self.out.push_str(name);
        self.out.push_str("=\"");
    }

    fn content(&mut self, text: &str) {
        self.enter();
        xml_text(&mut self.out, text);
    }

    /// Closes the start tag of the current XML element, if it is still open.
    fn enter(&mut self) {
        if !self.begun {
            self.begun = true;
            if !self.out.is_empty() {
                self.out.push('>');
            }
        }
    }

    fn element(&mut self, name: &str, inside: impl FnOnce(&mut Writer)) {
        self.enter();
        self.out.push('<');
        self.out.push_str(name);
        self.begun = false;
        inside(self);
        if self.begun {
            self.out.push_str("</");
            self.out.push_str(name);
            self.out.push('>');
        } else {
            self.out.push_str("/>");
        }
        self.begun = true;
    }

    fn name(&mut self, name: &str) {
        if self.begun {
            self.out.push(',');
        }
        self.begun = true;
        json_text(&mut self.out, name);
        self.out.push(':');
    }

    /// Writes a JSON object without a name: the document, or an item of a list.
    pub(crate) fn braced(&mut self, inside: impl FnOnce(&mut Writer)) {
        self.out.push('{');
        self.begun = false;
        inside(self);
        self.out.push('}');
        self.begun = true;
    }

    fn array<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut inside: impl FnMut(&mut Writer, T),
    ) {
        self.name(name);
        self.out.push('[');
        let mut comma = "";
        for item in items {
            self.out.push_str(comma);
            comma = ",";
            inside(self, item);
        }
        self.out.push(']');
        self.begun = true;
    }
}

/// Appends text, escaped for XML 1.0. Characters that XML cannot represent are dropped; `quick-xml`
/// would keep them, and a player would then refuse the whole document.
fn xml_text(out: &mut String, text: &str) {
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' => out.push_str("&#9;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            other => out.push(other),
        }
    }
}

/// Appends text as a JSON string (RFC 8259 §7). `serde_json` would leave U+2028 and U+2029
/// unescaped, but they are not allowed in a JSONP response.
fn json_text(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            // U+2028 and U+2029 end a line in JavaScript before ES2019.
            '\0'..='\u{1f}' | '\u{7f}' | '\u{2028}' | '\u{2029}' => {
                write!(out, "\\u{:04x}", u32::from(letter))
                    .expect("writing to a string cannot fail");
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests;

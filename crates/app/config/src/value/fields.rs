//! Types of settings of the header fields of responses.

use server::Headers;

use super::{Raw, Value, Wrong};

/// Header fields that are added to responses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderFields(pub Headers);

impl Value for HeaderFields {
    const EXPECTED: &'static str = "response fields: { \"X-Frame-Options\" = \"DENY\" } in the \
                                    configuration file, \"X-Frame-Options: DENY\" in a flag or \
                                    variable, with | between several";

    fn read(raw: &Raw) -> Result<HeaderFields, Wrong> {
        let pairs: Vec<(String, String)> = match raw {
            Raw::Table(pairs) => {
                let pair = |(name, value): &(String, Raw)| {
                    let text = value.text().ok_or_else(|| Wrong::found(value))?;
                    Ok((name.to_ascii_lowercase(), text.to_owned()))
                };
                pairs.iter().map(pair).collect::<Result<_, Wrong>>()?
            }
            Raw::Word(_) => {
                let text = raw.text().ok_or_else(|| Wrong::found(raw))?;
                let lines = text
                    .split('|')
                    .map(str::trim)
                    .filter(|line| !line.is_empty());
                let pair = |line: &str| {
                    let (name, value) = line.split_once(':').ok_or_else(|| Wrong::found(raw))?;
                    Ok((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
                };
                lines.map(pair).collect::<Result<_, Wrong>>()?
            }
            _ => return Err(Wrong::found(raw)),
        };
        Headers::new(pairs)
            .map(HeaderFields)
            .map_err(Wrong::Because)
    }

    fn show(&self) -> String {
        let fields = self
            .0
            .iter()
            .map(|(name, value)| format!("{name}: {value}"));
        fields.collect::<Vec<_>>().join("|")
    }
}

/// Origins of web pages, in the form in which browsers send them in the field `Origin`. The element
/// `*` means every origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorsOrigins(pub Vec<String>);

impl Value for CorsOrigins {
    const EXPECTED: &'static str =
        "a list of origins such as \"https://example.org\", or \"*\" alone";

    fn read(raw: &Raw) -> Result<CorsOrigins, Wrong> {
        let elements = raw.elements().ok_or_else(|| Wrong::found(raw))?;
        let read = |element: &Raw| {
            let text = element.text().unwrap_or("");
            let host = text.split_once("://").map_or("", |(_, host)| host);
            let is_origin = !host.is_empty()
                && host
                    .bytes()
                    .all(|byte| byte.is_ascii_graphic() && byte != b'/');
            match is_origin || text == "*" {
                true => Ok(text.to_ascii_lowercase()),
                false => Err(Wrong::found(element)),
            }
        };
        elements
            .iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map(CorsOrigins)
    }

    fn show(&self) -> String {
        self.0.join(",")
    }
}

/// Value of the field `Cross-Origin-Resource-Policy`, or `None` to send no such field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourcePolicy(pub Option<&'static str>);

impl Value for ResourcePolicy {
    const EXPECTED: &'static str = "\"off\", \"same-origin\", \"same-site\" or \"cross-origin\"";

    fn read(raw: &Raw) -> Result<ResourcePolicy, Wrong> {
        const POLICIES: [&str; 3] = ["same-origin", "same-site", "cross-origin"];
        match raw.text() {
            Some("off") => Ok(ResourcePolicy(None)),
            text => {
                let found = POLICIES.into_iter().find(|policy| text == Some(policy));
                found
                    .map(|policy| ResourcePolicy(Some(policy)))
                    .ok_or_else(|| Wrong::found(raw))
            }
        }
    }

    fn show(&self) -> String {
        self.0.unwrap_or("off").to_owned()
    }
}

//! A server's interpretation of the bytes of one connection, in a form in which two servers can be
//! compared.

#[cfg(test)]
mod tests;

use serde::Deserialize;

/// Interpretation of a case by one server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Reading {
    /// Requests whose heads were accepted, in order.
    pub(crate) requests: Vec<ParsedRequest>,
    /// State of the connection after the last request.
    pub(crate) end: End,
}

/// Request whose head was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct ParsedRequest {
    /// Method and target as in the request line; each byte is one character.
    pub(crate) line: String,
    /// Length of the request's content in bytes, if the parser counts it.
    pub(crate) content_bytes: Option<u64>,
    /// True if the request's body is complete.
    pub(crate) whole: bool,
}

/// State of a connection after its last request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum End {
    /// The server waits for more bytes.
    Waits,
    /// The server closes the connection without reading the remaining bytes, because a request
    /// demands the close, or the server decided to close.
    Closes,
    /// The server refuses the remaining bytes. The string is the reason.
    Refuses(String),
}

/// Difference between an oracle's interpretation and ours that may be a fault of our parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// We accept the bytes, and the oracle refuses them. The string is the oracle's reason.
    RefusedThere(String),
    /// We and the oracle accept the bytes, but frame them differently. The string names the
    /// difference.
    Framed(&'static str),
}

impl Reading {
    /// Returns whether at least one request is complete.
    pub(crate) fn accepts(&self) -> bool {
        self.requests.iter().any(|seen| seen.whole)
    }

    /// Returns the first difference that an attacker could use if both servers read the same bytes.
    pub(crate) fn difference(&self, theirs: &Reading) -> Option<Difference> {
        let count = self.requests.len().max(theirs.requests.len());
        for at in 0..count {
            let difference = match (self.requests.get(at), theirs.requests.get(at)) {
                // We accepted the head and refused the body, so we are not the laxer parser.
                (Some(ours), _) if !ours.whole && matches!(self.end, End::Refuses(_)) => None,
                (Some(ours), Some(their)) => match Reading::request_difference(ours, their, theirs)
                {
                    Step::Same => continue,
                    Step::Parted(difference) => difference,
                },
                (Some(_), None) => {
                    theirs.missing("one request fewer than Pelton found in the same bytes")
                }
                (None, Some(_)) if self.end == End::Waits => Some(Difference::Framed(
                    "one request more than Pelton found in the same bytes",
                )),
                (None, _) => None,
            };
            return difference;
        }
        None
    }

    fn request_difference(ours: &ParsedRequest, their: &ParsedRequest, theirs: &Reading) -> Step {
        if canonical(&ours.line) != canonical(&their.line) {
            return Step::Parted(Some(Difference::Framed(
                "a request line that Pelton and the compared parser read differently",
            )));
        }
        match (ours.whole, their.whole) {
            (true, true) => match (ours.content_bytes, their.content_bytes) {
                (Some(one), Some(other)) if one != other => Step::Parted(Some(Difference::Framed(
                    "a body whose length Pelton and the compared parser read differently",
                ))),
                _ => Step::Same,
            },
            (true, false) => Step::Parted(
                theirs.missing("an incomplete body, where Pelton found the end of the body"),
            ),
            (false, true) => Step::Parted(Some(Difference::Framed(
                "the end of a body that Pelton found incomplete",
            ))),
            // The request is complete for neither server, so it is not accepted yet.
            (false, false) => Step::Parted(None),
        }
    }

    /// Returns the difference to report, if any, for an oracle's interpretation that lacks a
    /// request, or a part of a request, that ours has. `what` describes the missing part.
    fn missing(&self, what: &'static str) -> Option<Difference> {
        match &self.end {
            End::Closes => None,
            End::Refuses(why) => Some(Difference::RefusedThere(why.clone())),
            End::Waits => Some(Difference::Framed(what)),
        }
    }
}

/// Result of the comparison of one pair of requests.
enum Step {
    Same,
    /// The interpretations diverge here, so later requests cannot be compared. `None` if this
    /// difference is not a finding.
    Parted(Option<Difference>),
}

/// Returns a request line in the form that hyper shows: in an absolute target (`scheme://…`), the
/// scheme is in lower case, and an empty path is `/`. Other request lines are returned unchanged.
fn canonical(line: &str) -> String {
    let Some((method, target)) = line.split_once(' ') else {
        return line.to_owned();
    };
    let Some((scheme, rest)) = target
        .split_once("://")
        .filter(|_| !target.starts_with('/'))
    else {
        return line.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let slash = if path.starts_with('/') { "" } else { "/" };
    let scheme = scheme.to_ascii_lowercase();
    format!("{method} {scheme}://{authority}{slash}{path}")
}

/// Converts each byte to the character with the same code.
pub(crate) fn text(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

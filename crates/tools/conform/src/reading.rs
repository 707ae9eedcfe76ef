//! What a server makes of the bytes of one connection, and where two of them part.

#[cfg(test)]
mod tests;

use serde::Deserialize;

/// One server's reading.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Reading {
    /// Requests whose heads were accepted, in order.
    pub(crate) requests: Vec<Seen>,
    /// How it went on.
    pub(crate) end: End,
}

/// One request whose head was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Seen {
    /// Method and target as they stand in the request line; each byte is one character.
    pub(crate) line: String,
    /// Bytes of its content, where the reader counts them.
    pub(crate) content_bytes: Option<u64>,
    /// Whether its body has come to its end.
    pub(crate) whole: bool,
}

/// What follows the last request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum End {
    /// More bytes are waited for.
    Waits,
    /// The connection is closed, as one side wished; what follows is never read.
    Closes,
    /// What follows is refused, and why.
    Refuses(String),
}

/// Where an oracle's reading parts from ours, to our discredit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// Accepted here; refused there, and why.
    RefusedThere(String),
    /// Both go on, and do not mean the same.
    Framed(&'static str),
}

impl Reading {
    /// Whether there is a whole request.
    pub(crate) fn accepts(&self) -> bool {
        self.requests.iter().any(|seen| seen.whole)
    }

    /// The first difference that could be used against somebody who trusts both.
    pub(crate) fn difference(&self, theirs: &Reading) -> Option<Difference> {
        let count = self.requests.len().max(theirs.requests.len());
        for at in 0..count {
            let difference = match (self.requests.get(at), theirs.requests.get(at)) {
                // Accepted by its head, and refused for its body.
                (Some(ours), _) if !ours.whole && matches!(self.end, End::Refuses(_)) => None,
                (Some(ours), Some(their)) => match Reading::request_difference(ours, their, theirs)
                {
                    Step::Same => continue,
                    Step::Parted(difference) => difference,
                },
                (Some(_), None) => theirs.missing("another request here"),
                (None, Some(_)) if self.end == End::Waits => {
                    Some(Difference::Framed("another request there"))
                }
                (None, _) => None,
            };
            return difference;
        }
        None
    }

    fn request_difference(ours: &Seen, their: &Seen, theirs: &Reading) -> Step {
        if canonical(&ours.line) != canonical(&their.line) {
            return Step::Parted(Some(Difference::Framed("another request line")));
        }
        match (ours.whole, their.whole) {
            (true, true) => match (ours.content_bytes, their.content_bytes) {
                (Some(one), Some(other)) if one != other => {
                    Step::Parted(Some(Difference::Framed("content of another length")))
                }
                _ => Step::Same,
            },
            (true, false) => Step::Parted(theirs.missing("a body that ends here")),
            (false, true) => Step::Parted(Some(Difference::Framed("a body that ends there"))),
            // We wait: so far nothing was accepted here.
            (false, false) => Step::Parted(None),
        }
    }

    /// What it means that this reader lacks what we have.
    fn missing(&self, what: &'static str) -> Option<Difference> {
        match &self.end {
            End::Closes => None,
            End::Refuses(why) => Some(Difference::RefusedThere(why.clone())),
            End::Waits => Some(Difference::Framed(what)),
        }
    }
}

/// After one pair of requests.
enum Step {
    Same,
    /// Nothing behind it is comparable.
    Parted(Option<Difference>),
}

/// An absolute target as hyper shows it: scheme in lower case, and no empty path.
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

/// Each byte as one character.
pub(crate) fn text(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

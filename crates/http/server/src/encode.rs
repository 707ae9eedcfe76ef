//! Compression of texts that the server or a mount composed.

use http1::Request;

use crate::blocking::blocking;
use crate::coding::{CODED_BYTES_MIN, Coding, coded_etag, extended_vary, is_text};
use crate::core::Core;
use crate::fields::Field;
use crate::response::{Answer, Fields, Payload};

impl Core {
    /// Compresses the body of `answer` if the client accepts a coding and the text is the server's
    /// or a mount's.
    pub(crate) async fn encoded(&self, mut answer: Answer, request: &Request<'_>) -> Answer {
        let Some(length) = self.compressible_length(&answer) else {
            return answer;
        };
        let Fields::Listed(fields) = &mut answer.fields else {
            return answer;
        };
        let vary = value(fields, "vary").map_or(String::new(), str::to_owned);
        set(fields, "vary", extended_vary(&vary, "Accept-Encoding"));
        let Some(coding) = Coding::wanted(request) else {
            return answer;
        };
        let Payload::Owned(body) = &answer.payload else {
            // The length of a GET response is unknown for HEAD: RFC 9110 §8.6.
            fields.retain(|(name, _)| name != "content-length");
            return answer;
        };
        debug_assert_eq!(length, body.len() as u64);
        let body = body.clone();
        let coded = blocking(move || coding.encode(&body)).await;
        // Without memory for the encoded body, the plain one is sent, which is counted already.
        if let Some(coded) = coded.and_then(|coded| self.hold(coded.into())) {
            set(fields, "content-length", coded.len().to_string());
            set(fields, "content-encoding", coding.name().to_owned());
            if let Some(etag) = value(fields, "etag").map(|etag| coded_etag(etag, coding)) {
                set(fields, "etag", etag);
            }
            answer.payload = Payload::Owned(coded);
        }
        answer
    }

    /// Returns the length of a body that may be compressed.
    fn compressible_length(&self, answer: &Answer) -> Option<u64> {
        let Fields::Listed(fields) = &answer.fields else {
            return None;
        };
        let length = value(fields, "content-length")?.parse().ok()?;
        let is_fit =
            (CODED_BYTES_MIN..=self.service.settings.limits.coded_bytes_max).contains(&length);
        let is_text = value(fields, "content-type").is_some_and(is_text);
        let is_raw = value(fields, "content-encoding").is_none() && answer.status != 206;
        let may_change =
            !value(fields, "cache-control").is_some_and(|it| it.contains("no-transform"));
        let is_here = matches!(answer.payload, Payload::Owned(_) | Payload::None);
        (is_fit && is_text && is_raw && may_change && is_here).then_some(length)
    }
}

fn value<'f>(fields: &'f [Field], name: &str) -> Option<&'f str> {
    let found = fields.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| &**value)
}

/// Sets the only field of this name.
fn set(fields: &mut Vec<Field>, name: &'static str, value: String) {
    fields.retain(|(known, _)| known != name);
    fields.push((name.into(), value.into()));
}

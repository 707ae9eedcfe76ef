//! Compression of text that the server or a mount generated.

use http1::Request;
use reactor::blocking;

use crate::coding::{CODED_BYTES_MIN, Coding, coded_etag, extended_vary, is_text};
use crate::core::Core;
use crate::fields::Field;
use crate::response::{Fields, Payload, Response};

impl Core {
    /// Compresses the body of `response` if the client accepts a content coding and the body is
    /// text that the server or a mount generated.
    pub(crate) async fn compress(&self, mut response: Response, request: &Request<'_>) -> Response {
        let Some(length) = self.compressible_length(&response) else {
            return response;
        };
        let Fields::Listed(fields) = &mut response.fields else {
            return response;
        };
        let vary = value(fields, "vary").map_or(String::new(), str::to_owned);
        set(fields, "vary", extended_vary(&vary, "Accept-Encoding"));
        let Some(coding) = Coding::preferred(request) else {
            return response;
        };
        let Payload::Owned(body) = &response.payload else {
            // A response to HEAD has no body to compress, so the compressed length is unknown. Its
            // Content-Length is omitted: RFC 9110 §8.6.
            fields.retain(|(name, _)| name != "content-length");
            return response;
        };
        debug_assert_eq!(length, body.len() as u64);
        let body = body.clone();
        let coded = blocking(move || coding.encode(&body)).await;
        // If the memory limit leaves no room for the encoded body, the plain body is sent. The
        // plain body counts towards the limit already.
        if let Some(coded) = coded.and_then(|coded| self.hold(coded.into())) {
            set(fields, "content-length", coded.len().to_string());
            set(fields, "content-encoding", coding.name().to_owned());
            if let Some(etag) = value(fields, "etag").map(|etag| coded_etag(etag, coding)) {
                set(fields, "etag", etag);
            }
            response.payload = Payload::Owned(coded);
        }
        response
    }

    /// Returns the length of the body if the body may be compressed.
    fn compressible_length(&self, response: &Response) -> Option<u64> {
        let Fields::Listed(fields) = &response.fields else {
            return None;
        };
        let length = value(fields, "content-length")?.parse().ok()?;
        let is_fit =
            (CODED_BYTES_MIN..=self.service.settings.limits.coded_bytes_max).contains(&length);
        let is_text = value(fields, "content-type").is_some_and(is_text);
        let is_raw = value(fields, "content-encoding").is_none() && response.status != 206;
        let may_change =
            !value(fields, "cache-control").is_some_and(|it| it.contains("no-transform"));
        let is_here = matches!(response.payload, Payload::Owned(_) | Payload::None);
        (is_fit && is_text && is_raw && may_change && is_here).then_some(length)
    }
}

fn value<'f>(fields: &'f [Field], name: &str) -> Option<&'f str> {
    let found = fields.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| &**value)
}

/// Sets the field `name`, replacing all fields of this name.
fn set(fields: &mut Vec<Field>, name: &'static str, value: String) {
    fields.retain(|(known, _)| known != name);
    fields.push((name.into(), value.into()));
}

//! Default icon for browsers, used if the library has none.

use crate::metrics::Served;
use crate::response::{Fields, Payload, Response};

/// Path at which browsers request the icon.
pub(crate) const PATH: &str = "/favicon.ico";
/// PNG of a ring around a point, 32 by 32 pixels. Browsers accept a PNG under the name
/// `favicon.ico`, because they use the media type, not the file name.
const ICON: &[u8] = include_bytes!("favicon.png");

/// Returns the response with the icon. If `bodiless` is true, as for HEAD, the body is omitted.
pub(crate) fn response(bodiless: bool) -> Response {
    Response {
        status: 200,
        served: Served::Other,
        fields: Fields::Listed(vec![
            ("content-type".into(), "image/png".into()),
            ("cache-control".into(), "public, max-age=86400".into()),
            ("x-content-type-options".into(), "nosniff".into()),
            ("content-length".into(), ICON.len().to_string().into()),
        ]),
        added: Vec::new(),
        payload: match bodiless {
            true => Payload::None,
            false => Payload::Owned(ICON.into()),
        },
        request_id: None,
    }
}

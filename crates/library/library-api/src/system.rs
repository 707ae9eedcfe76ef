//! Endpoints about the server: ping, license, extensions, scans, API key.

use crate::call::{Call, Seen};
use crate::fault::Fault;
use crate::time::iso;
use crate::write::Writer;

/// Version of the Subsonic API that this server implements. Later additions to the API are
/// extensions of OpenSubsonic.
pub(crate) const VERSION: &str = "1.16.1";

/// Supported extensions of OpenSubsonic, with their versions.
const EXTENSIONS: &[(&str, &[u8])] = &[
    ("apiKeyAuthentication", &[1]),
    ("formPost", &[1]),
    ("indexBasedQueue", &[1]),
    ("playbackReport", &[1]),
    ("songLyrics", &[1]),
    ("transcodeOffset", &[1]),
    ("transcoding", &[1]),
];

pub(crate) fn ping(_: &Call<'_>, _: &Seen<'_>, _: &mut Writer) -> Result<(), Fault> {
    Ok(())
}

pub(crate) fn license(_: &Call<'_>, _: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    out.object("license", |out| out.flag("valid", true));
    Ok(())
}

pub(crate) fn extensions(_: &Call<'_>, _: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    out.list(
        "openSubsonicExtensions",
        EXTENSIONS,
        |out, (name, versions)| {
            out.text("name", name);
            out.numbers("versions", versions.iter().map(|&version| version.into()));
        },
    );
    Ok(())
}

pub(crate) fn scan_status(call: &Call<'_>, _: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    let scanning = call.context.library.scanning();
    out.object("scanStatus", |out| {
        out.flag("scanning", scanning.active);
        out.number("count", scanning.files as i64);
        out.text_if("lastScan", scanning.ended_ms.map(iso).as_deref());
        let counts = call.index.counts();
        out.number("folderCount", counts.albums);
    });
    Ok(())
}

pub(crate) fn start_scan(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    seen.admin()?;
    call.context.library.scan(Vec::new());
    scan_status(call, seen, out)
}

pub(crate) fn token_info(call: &Call<'_>, _: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    out.object("tokenInfo", |out| out.text("username", &call.user));
    Ok(())
}

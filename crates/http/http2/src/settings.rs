//! Settings of both sides: RFC 9113 §6.5.

use crate::Fault;
use crate::frame::{Kind, write_head};
use crate::limits::Limits;

const HEADER_TABLE_SIZE: u16 = 1;
const ENABLE_PUSH: u16 = 2;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;
const MAX_HEADER_LIST_SIZE: u16 = 6;

/// Maximum size of a window.
pub(crate) const WINDOW_MAX: u32 = 0x7fff_ffff;
/// Initial size of a window: RFC 9113 §6.9.2. The settings of a peer may change it; our settings do
/// not.
pub(crate) const WINDOW_BYTES: u32 = 0xffff;

/// Setting of a client that affects us. MAX_FRAME_SIZE is not one of these: our frames never exceed
/// its minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    InitialWindow(u32),
    /// Maximum size of the client's HPACK table.
    TableSize(u32),
}

/// Parses a SETTINGS payload, and passes each setting that affects us to `apply`, in order.
pub(crate) fn read(
    payload: &[u8],
    mut apply: impl FnMut(Setting) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let (settings, rest) = payload.as_chunks::<6>();
    if !rest.is_empty() {
        return Err(Fault::size(
            "the client sent SETTINGS of a length that is not a multiple of 6",
        ));
    }
    for &[i0, i1, v0, v1, v2, v3] in settings {
        let value = u32::from_be_bytes([v0, v1, v2, v3]);
        match u16::from_be_bytes([i0, i1]) {
            HEADER_TABLE_SIZE => apply(Setting::TableSize(value))?,
            ENABLE_PUSH if 1 < value => {
                return Err(Fault::protocol(
                    "the client sent an ENABLE_PUSH that is neither 0 nor 1",
                ));
            }
            INITIAL_WINDOW_SIZE if WINDOW_MAX < value => {
                return Err(Fault::flow("the setting INITIAL_WINDOW_SIZE is too large"));
            }
            INITIAL_WINDOW_SIZE => apply(Setting::InitialWindow(value))?,
            MAX_FRAME_SIZE if !(0x4000..=0xff_ffff).contains(&value) => {
                return Err(Fault::protocol(
                    "the setting MAX_FRAME_SIZE is out of bounds",
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Appends a SETTINGS frame with the server's settings.
pub(crate) fn write(out: &mut Vec<u8>, limits: &Limits) {
    let settings = [
        (MAX_CONCURRENT_STREAMS, limits.streams_max),
        (MAX_HEADER_LIST_SIZE, limits.head_bytes_max as u32),
    ];
    write_head(out, 6 * settings.len(), Kind::Settings, 0, 0);
    for (id, value) in settings {
        out.extend_from_slice(&id.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

//! Colour spaces given by code points of ITU-T H.273 instead of a profile, in AVIF's `nclx` and
//! PNG's `cICP`.

use image_plan::Matrix;
use moxcms::{CicpProfile, ColorProfile, MatrixCoefficients};

use crate::{Error, ErrorKind};

/// Codes of primaries that are treated as sRGB (H.273 §8.1). Code 1 is BT.709, whose primaries sRGB
/// shares. Code 2 is "unspecified", which on the web always means sRGB.
const SRGB_PRIMARIES: [u16; 2] = [1, 2];
/// Codes of transfer characteristics that are treated as sRGB (H.273 §8.2). Code 13 is sRGB, and
/// code 2 is "unspecified". The other four codes mean BT.709's curve, which browsers show as
/// sRGB's.
const SRGB_TRANSFERS: [u16; 6] = [1, 2, 6, 13, 14, 15];
const TRANSFER_SRGB: u16 = 13;
const TRANSFER_PQ: u16 = 16;
const TRANSFER_HLG: u16 = 18;

/// Returns an ICC profile for the code points `primaries` and `transfer`; `None` for sRGB, which
/// needs no profile.
///
/// High dynamic range is unsupported: reduced to 8 bits without tone mapping, it looks wrong in
/// every viewer.
pub(crate) fn profile(primaries: u16, transfer: u16) -> Result<Option<Vec<u8>>, Error> {
    let unsupported = || {
        let detail =
            format!("unsupported colour space: H.273 primaries {primaries}, transfer {transfer}");
        Error::new(ErrorKind::Unsupported, detail)
    };
    if matches!(transfer, TRANSFER_PQ | TRANSFER_HLG) {
        return Err(unsupported());
    }
    let srgb_transfer = SRGB_TRANSFERS.contains(&transfer);
    if srgb_transfer && SRGB_PRIMARIES.contains(&primaries) {
        return Ok(None);
    }
    let curve = if srgb_transfer {
        TRANSFER_SRGB
    } else {
        transfer
    };
    // Code 2 is "unspecified" and means sRGB's primaries, even if the transfer curve is not sRGB's.
    let gamut = if primaries == 2 { 1 } else { primaries };
    let numbers = CicpProfile {
        color_primaries: narrow(gamut, &unsupported)?,
        transfer_characteristics: narrow(curve, &unsupported)?,
        matrix_coefficients: MatrixCoefficients::Identity,
        full_range: true,
    };
    let mut profile = ColorProfile::new_from_cicp(numbers);
    // moxcms leaves these fields empty if it does not support the primaries or the transfer curve.
    if profile.cicp.is_none() || profile.red_trc.is_none() {
        return Err(unsupported());
    }
    // Omits the `cicp` tag. The curves already describe the colour space completely, and the tag
    // would have to agree with them.
    profile.cicp = None;
    let bytes = profile.encode().map_err(|err| {
        let detail = format!(
            "cannot build an ICC profile for H.273 primaries {gamut}, transfer {curve}: {err}"
        );
        Error::new(ErrorKind::Failed, detail)
    })?;
    Ok(Some(bytes))
}

/// Returns the matrix of AV1 planes; `None` for the identity matrix, which means RGB.
pub(crate) fn matrix(coefficients: u16, primaries: u16) -> Result<Option<Matrix>, Error> {
    // Code 12 means "derived from the primaries" (H.273 §8.3, equations 39 to 44).
    let coefficients = match (coefficients, primaries) {
        (12, 1 | 9) => primaries,
        (12, 5 | 6) => 6,
        _ => coefficients,
    };
    match coefficients {
        0 => Ok(None),
        1 => Ok(Some(Matrix::Bt709)),
        // Code 2 means "unspecified"; MIAF (ISO/IEC 23000-22 §7.3.6.4) then requires BT.601.
        2 | 5 | 6 => Ok(Some(Matrix::Bt601)),
        9 => Ok(Some(Matrix::Bt2020)),
        _ => {
            let detail = format!("unsupported H.273 matrix {coefficients}");
            Err(Error::new(ErrorKind::Unsupported, detail))
        }
    }
}

fn narrow<T: TryFrom<u8>>(code: u16, unsupported: &impl Fn() -> Error) -> Result<T, Error> {
    let code = u8::try_from(code).map_err(|_| unsupported())?;
    T::try_from(code).map_err(|_| unsupported())
}

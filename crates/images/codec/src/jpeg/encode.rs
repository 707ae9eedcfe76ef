//! Encodes planes or RGB as JPEG.

use std::borrow::Cow;
use std::ffi::c_int;

use image_plan::{Layout, Matrix, Packed, Plane, Range, Raster, Size, Yuv};
use turbojpeg_sys as tj;

use super::handle::{Block, Handle, Outcome};
use super::{SIDE_PX_MAX, padded, subsampling_to_tj};
use crate::{Error, ErrorKind, buffer};

pub(crate) fn encode(
    raster: &Raster,
    profile: Option<&[u8]>,
    quality: u8,
) -> Result<Vec<u8>, Error> {
    let Size {
        width_px,
        height_px,
    } = raster.size();
    if width_px.max(height_px) > SIDE_PX_MAX {
        let detail = format!("jpeg: {width_px} × {height_px} pixels exceed the format's limit");
        return Err(Error::new(ErrorKind::TooLarge, detail));
    }
    let mut handle = Handle::new(tj::TJINIT_TJINIT_COMPRESS)?;
    handle.set(tj::TJPARAM_TJPARAM_QUALITY, i32::from(quality))?;
    // Encodes as baseline JPEG with optimized Huffman tables. Progressive encoding would need three
    // times the CPU time and a buffer for all coefficients. It would save a few per cent on large
    // grainy photographs, and nothing on other pictures.
    handle.set(tj::TJPARAM_TJPARAM_OPTIMIZE, 1)?;
    carry_profile(&mut handle, profile)?;
    match raster {
        Raster::Yuv(yuv) => encode_planes(&mut handle, yuv),
        Raster::Packed(packed) => encode_packed(&mut handle, packed),
    }
}

fn carry_profile(handle: &mut Handle, profile: Option<&[u8]>) -> Result<(), Error> {
    let Some(profile) = profile else {
        return Ok(());
    };
    // SAFETY: the callee reads and copies `profile.len()` bytes. It does not write to them,
    // although its signature takes a mutable pointer.
    let status = unsafe {
        tj::tj3SetICCProfile(
            handle.as_ptr(),
            profile.as_ptr().cast_mut(),
            profile.len() as tj::size_t,
        )
    };
    handle.outcome(status).map(drop)
}

fn encode_planes(handle: &mut Handle, yuv: &Yuv) -> Result<Vec<u8>, Error> {
    if yuv.range != Range::Full || yuv.matrix != Matrix::Bt601 || yuv.alpha.is_some() {
        let detail = "jpeg: the encoder accepts only full-range BT.601 planes without alpha";
        return Err(Error::new(ErrorKind::Failed, detail));
    }
    let sampling = subsampling_to_tj(yuv.subsampling);
    handle.set(tj::TJPARAM_TJPARAM_SUBSAMP, sampling)?;
    let [luma_size, chroma_size] = padded(yuv.subsampling, yuv.size);
    let luma = extend_to(&yuv.luma, luma_size)?;
    let chroma = match &yuv.chroma {
        None => None,
        Some([cb, cr]) => Some([extend_to(cb, chroma_size)?, extend_to(cr, chroma_size)?]),
    };
    let (mut planes, mut strides) = ([std::ptr::null(); 3], [0; 3]);
    let parts = std::iter::once(&luma).chain(chroma.iter().flatten());
    for ((plane, stride), part) in planes.iter_mut().zip(&mut strides).zip(parts) {
        *plane = part.data.as_ptr();
        *stride = to_c_int(part.stride)?;
    }
    let (width, height) = (
        to_c_int(yuv.size.width_px as usize)?,
        to_c_int(yuv.size.height_px as usize)?,
    );
    let mut block = Block::empty();
    let (start, len) = block.slots();
    // SAFETY: In each plane, at the given stride, the callee reads the rows and columns that
    // `padded` returns for this size and subsampling. `encode::check` verified that the planes of
    // `yuv` have the sizes that they state, and that chroma exists exactly if the subsampling has
    // chroma. So `extend_to` returned planes of these sizes. A test compares `padded` with
    // TurboJPEG's own arithmetic. The block's slots are exclusive borrows and empty. So the callee
    // allocates the output itself; it stores the output's address and length also on failure.
    // Breaks if the subsampling set on the handle ever differs from `yuv.subsampling`.
    let status = unsafe {
        tj::tj3CompressFromYUVPlanes8(
            handle.as_ptr(),
            planes.as_ptr(),
            width,
            strides.as_ptr(),
            height,
            start,
            len,
        )
    };
    finish(handle, status, &block)
}

fn encode_packed(handle: &mut Handle, packed: &Packed) -> Result<Vec<u8>, Error> {
    if packed.layout != Layout::Rgb {
        let detail = format!("jpeg: cannot encode {:?} pixels", packed.layout);
        return Err(Error::new(ErrorKind::Failed, detail));
    }
    handle.set(tj::TJPARAM_TJPARAM_SUBSAMP, tj::TJSAMP_TJSAMP_420)?;
    let (width, height) = (
        to_c_int(packed.size.width_px as usize)?,
        to_c_int(packed.size.height_px as usize)?,
    );
    let mut block = Block::empty();
    let (start, len) = block.slots();
    // SAFETY: the callee reads `height` rows of `width` three-byte pixels without padding (pitch
    // 0), which is the length of `packed.data`, as verified by `encode::check`. The block's slots
    // are exclusive borrows and empty, so the callee allocates the output itself, and stores its
    // address and length also on failure.
    let status = unsafe {
        tj::tj3Compress8(
            handle.as_ptr(),
            packed.data.as_ptr(),
            width,
            0,
            height,
            tj::TJPF_TJPF_RGB,
            start,
            len,
        )
    };
    finish(handle, status, &block)
}

fn finish(handle: &mut Handle, status: c_int, block: &Block) -> Result<Vec<u8>, Error> {
    match handle.outcome(status)? {
        // SAFETY: the call that filled the block succeeded, so the block's slots describe
        // initialised bytes.
        Outcome::Clean => buffer::copy(unsafe { block.bytes() }),
        Outcome::Damaged => {
            let detail = "jpeg: the encoder reported a warning";
            Err(Error::new(ErrorKind::Failed, detail))
        }
    }
}

/// Returns `plane` extended to `size` by repeating its last column and row, or `plane` itself if it
/// has that size.
fn extend_to(plane: &Plane, size: Size) -> Result<Cow<'_, Plane>, Error> {
    if plane.size == size {
        return Ok(Cow::Borrowed(plane));
    }
    let mut grown = buffer::plane(size)?;
    let stride = grown.stride;
    for (y, row) in (0..).zip(grown.data.chunks_exact_mut(stride)) {
        let from = plane.row(y.min(plane.size.height_px - 1));
        let (copied, repeated) = row.split_at_mut(from.len());
        copied.copy_from_slice(from);
        repeated.fill(from[from.len() - 1]);
    }
    Ok(Cow::Owned(grown))
}

fn to_c_int(value: usize) -> Result<c_int, Error> {
    c_int::try_from(value).map_err(|_| {
        Error::new(
            ErrorKind::TooLarge,
            "jpeg: the size of the picture exceeds 31 bits",
        )
    })
}

//! Encodes animations frame by frame with libwebp's `WebPAnimEncoder`.

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;

use image_plan::{Encoding, Layout, Packed, Size};
use libwebp_sys as webp;
use webp::{WebPEncodingError, WebPMuxError};

use super::container::{self, Frames};
use super::encode::{Effort, import, new_config, to_c_int};
use crate::animation::DURATION_MS_MAX;
use crate::{Error, ErrorKind, buffer};

/// Encoder of animated WebP. It keeps the encoded frames and a few copies of the last picture, but
/// no earlier picture.
pub struct AnimationEncoder {
    handle: Handle,
    config: webp::WebPConfig,
    size: Size,
    /// Time at which the next picture appears.
    time_ms: u64,
}

/// Encoder of libwebp, deleted on drop.
struct Handle(NonNull<webp::WebPAnimEncoder>);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `WebPAnimEncoderNewInternal`, `self` is its only owner, and
        // `drop` runs once.
        unsafe { webp::WebPAnimEncoderDelete(self.0.as_ptr()) }
    }
}

impl AnimationEncoder {
    /// Creates an encoder for pictures of `size`. If `encoding` is lossy, each frame becomes lossy
    /// or lossless, whichever is smaller.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`] if `encoding` is not WebP, [`ErrorKind::TooLarge`] if the format
    /// cannot hold the size, and [`ErrorKind::OutOfMemory`] if memory cannot be allocated.
    pub fn new(
        size: Size,
        profile: Option<&[u8]>,
        encoding: Encoding,
    ) -> Result<AnimationEncoder, Error> {
        let Encoding::Webp {
            quality,
            method,
            lossless,
        } = encoding
        else {
            let detail = format!("webp: an animation cannot be encoded as {encoding:?}");
            return Err(Error::new(ErrorKind::Failed, detail));
        };
        if size.width_px.max(size.height_px) > webp::WEBP_MAX_DIMENSION {
            let detail = "webp: the animation exceeds the size limit of the format";
            return Err(Error::new(ErrorKind::TooLarge, detail));
        }
        let config = new_config(Effort {
            quality,
            method,
            lossless,
        })?;
        let handle = Handle::new(size, lossless)?;
        if let Some(profile) = profile {
            handle.set_profile(profile)?;
        }
        Ok(AnimationEncoder {
            handle,
            config,
            size,
            time_ms: 0,
        })
    }

    /// Adds a picture that is shown for `duration_ms` milliseconds.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`] if the size of the picture differs from that of the animation, if the
    /// pixels are neither RGB nor RGBA, or if the duration is 0 or too long for the format.
    /// [`ErrorKind::OutOfMemory`] if memory cannot be allocated; the animation is then lost.
    pub fn add(&mut self, picture: &Packed, duration_ms: u32) -> Result<(), Error> {
        let bytes = picture.layout.channels() as u64 * picture.size.pixels();
        let is_sound = picture.size == self.size && picture.data.len() as u64 == bytes;
        if !is_sound || !(1..=DURATION_MS_MAX).contains(&duration_ms) {
            let detail =
                "webp: a frame has an invalid duration, or differs in size from the animation";
            return Err(Error::new(ErrorKind::Failed, detail));
        }
        if picture.layout == Layout::Cmyk {
            let detail = "webp: cannot encode CMYK pixels";
            return Err(Error::new(ErrorKind::Failed, detail));
        }
        let mut imported = import(picture)?;
        let (encoder, time) = (self.handle.0.as_ptr(), self.timestamp());
        // SAFETY: the encoder is live. The picture owns the pixels that `import` allocated, and
        // has the size of the encoder. The callee keeps no pointer to picture or configuration.
        let ok = unsafe {
            webp::WebPAnimEncoderAdd(encoder, &raw mut imported.0, time, &raw const self.config)
        };
        if ok == 0 {
            return Err(failure(imported.0.error_code));
        }
        self.time_ms += u64::from(duration_ms);
        Ok(())
    }

    /// Returns the file of the animation, which is played `plays` times; 0 means endlessly.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`] if memory cannot be allocated, and [`ErrorKind::Failed`] if no
    /// picture was added, or if the encoded file does not last as long as all pictures together.
    pub fn finish(self, plays: u16) -> Result<Vec<u8>, Error> {
        if self.time_ms == 0 {
            let detail = "webp: the animation has no frame";
            return Err(Error::new(ErrorKind::Failed, detail));
        }
        let (encoder, end) = (self.handle.0.as_ptr(), self.timestamp());
        // SAFETY: the encoder is live. The callee accepts a null picture and configuration: they
        // end the last picture at the time `end`.
        let ok = unsafe {
            webp::WebPAnimEncoderAdd(encoder, std::ptr::null_mut(), end, std::ptr::null())
        };
        if ok == 0 {
            return Err(failure(WebPEncodingError::VP8_ENC_OK));
        }
        let mut file = self.handle.assemble()?;
        container::set_plays(&mut file, plays);
        check_duration(&file, self.time_ms)?;
        Ok(file)
    }

    /// Returns the time at which the next picture appears, as libwebp expects it: modulo 2³².
    fn timestamp(&self) -> i32 {
        self.time_ms as u32 as i32
    }
}

impl Handle {
    fn new(size: Size, lossless: bool) -> Result<Handle, Error> {
        let abi_version = webp::WEBP_MUX_ABI_VERSION as i32;
        let mut options = MaybeUninit::<webp::WebPAnimEncoderOptions>::zeroed();
        // SAFETY: the callee writes only the struct at the given address, and fails if the
        // library's version differs from the header's.
        let ok =
            unsafe { webp::WebPAnimEncoderOptionsInitInternal(options.as_mut_ptr(), abi_version) };
        if ok == 0 {
            let detail = "webp: library version mismatch";
            return Err(Error::new(ErrorKind::Failed, detail));
        }
        // SAFETY: the struct consists of integers; all were zeroed, and the callee wrote only
        // integers.
        let mut options = unsafe { options.assume_init() };
        options.allow_mixed = (!lossless).into();
        let (width, height) = (
            to_c_int(size.width_px as usize)?,
            to_c_int(size.height_px as usize)?,
        );
        // SAFETY: the callee copies the options, and keeps no pointer to them.
        let encoder = unsafe {
            webp::WebPAnimEncoderNewInternal(width, height, &raw const options, abi_version)
        };
        NonNull::new(encoder).map(Handle).ok_or_else(|| {
            let detail = "webp: cannot allocate an encoder";
            Error::new(ErrorKind::OutOfMemory, detail)
        })
    }

    /// Embeds the profile in the file.
    fn set_profile(&self, profile: &[u8]) -> Result<(), Error> {
        let data = webp::WebPData {
            bytes: profile.as_ptr(),
            size: profile.len(),
        };
        // SAFETY: the encoder is live, the name is a C string of four letters, and `data` states
        // the address and length of `profile`, which the callee copies.
        let outcome = unsafe {
            webp::WebPAnimEncoderSetChunk(self.0.as_ptr(), c"ICCP".as_ptr(), &raw const data, 1)
        };
        match outcome {
            WebPMuxError::WEBP_MUX_OK => Ok(()),
            WebPMuxError::WEBP_MUX_MEMORY_ERROR => Err(Error::new(
                ErrorKind::OutOfMemory,
                "webp: cannot allocate memory for the colour profile",
            )),
            other => Err(Error::new(ErrorKind::Failed, format!("webp: {other:?}"))),
        }
    }

    /// Returns the file that contains all frames.
    fn assemble(&self) -> Result<Vec<u8>, Error> {
        let mut data = webp::WebPData::default();
        // SAFETY: the encoder is live; the callee writes only the struct `data`.
        let ok = unsafe { webp::WebPAnimEncoderAssemble(self.0.as_ptr(), &raw mut data) };
        let file = match ok == 0 || data.bytes.is_null() {
            true => Err(failure(WebPEncodingError::VP8_ENC_OK)),
            // SAFETY: the callee states the address and length of memory that it allocated.
            false => buffer::copy(unsafe { slice::from_raw_parts(data.bytes, data.size) }),
        };
        // SAFETY: the callee allocated the memory for us, or the pointer is null; `file` is a copy.
        unsafe { webp::WebPDataClear(&mut data) };
        file
    }
}

/// Fails if the frames of `file` do not last `time_ms` milliseconds in total, because libwebp lost
/// a frame. A file with a single picture has no duration.
fn check_duration(file: &[u8], time_ms: u64) -> Result<(), Error> {
    let mut frames = Frames::of(file);
    let (mut count, mut sum_ms) = (0, 0);
    while let Some(frame) = frames.next_frame()? {
        count += 1;
        sum_ms += u64::from(frame.duration_ms);
    }
    match count == 0 || sum_ms == time_ms {
        true => Ok(()),
        false => {
            let detail =
                format!("webp: the encoded frames last {sum_ms} ms instead of {time_ms} ms");
            Err(Error::new(ErrorKind::Failed, detail))
        }
    }
}

/// Returns the error for a failed call. A call that fails without a code has failed in libwebp's
/// muxer, which fails only for lack of memory if the frames are sound.
fn failure(code: WebPEncodingError) -> Error {
    let kind = match code {
        WebPEncodingError::VP8_ENC_OK
        | WebPEncodingError::VP8_ENC_ERROR_OUT_OF_MEMORY
        | WebPEncodingError::VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY
        | WebPEncodingError::VP8_ENC_ERROR_BAD_WRITE => ErrorKind::OutOfMemory,
        WebPEncodingError::VP8_ENC_ERROR_PARTITION0_OVERFLOW
        | WebPEncodingError::VP8_ENC_ERROR_PARTITION_OVERFLOW
        | WebPEncodingError::VP8_ENC_ERROR_FILE_TOO_BIG => ErrorKind::TooLarge,
        _ => ErrorKind::Failed,
    };
    Error::new(kind, format!("webp: animation: {code:?}"))
}

//! Owners of the memory that libavif allocates.

use std::ffi::CStr;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use image_plan::Size;
use libavif_sys as avif;

use super::check;
use crate::{Error, ErrorKind};

/// Returns libavif's name of a result code.
pub(super) fn result_name(result: avif::avifResult) -> &'static str {
    // SAFETY: the callee accepts any number and returns a string literal.
    let text = unsafe { avif::avifResultToString(result) };
    // SAFETY: string literals are NUL-terminated and have static lifetime.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().unwrap_or("an unknown result code")
}

/// Struct that libavif allocated and initialised; destroyed on drop.
pub(super) struct Owned<T> {
    start: NonNull<T>,
    destroy: unsafe extern "C" fn(*mut T),
}

impl<T> Owned<T> {
    /// Takes ownership of `start`. Fails if `start` is null.
    ///
    /// # Safety
    /// `start` is null, or points to a `T` that libavif initialised. This `T` has no other owner,
    /// and `destroy` frees it.
    unsafe fn new(start: *mut T, destroy: unsafe extern "C" fn(*mut T)) -> Result<Owned<T>, Error> {
        match NonNull::new(start) {
            Some(start) => Ok(Owned { start, destroy }),
            None => Err(Error::new(
                ErrorKind::OutOfMemory,
                "avif: cannot allocate a codec instance",
            )),
        }
    }

    /// Returns the address of the struct, for calls into libavif.
    pub(super) fn as_ptr(&mut self) -> *mut T {
        self.start.as_ptr()
    }
}

impl<T> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: libavif initialised the struct, see `new`. Nothing writes to it while it is
        // borrowed, because calls that write need `&mut self`.
        unsafe { self.start.as_ref() }
    }
}

impl<T> DerefMut for Owned<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: libavif initialised the struct, see `new`. `&mut self` excludes all other borrows
        // and calls.
        unsafe { self.start.as_mut() }
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: the caller of `new` guaranteed that `destroy` frees `start`, and `drop` runs
        // once.
        unsafe { (self.destroy)(self.start.as_ptr()) }
    }
}

/// Creates a decoder with libavif's defaults.
pub(super) fn new_decoder() -> Result<Owned<avif::avifDecoder>, Error> {
    // SAFETY: the callee has no arguments and returns a new struct, or null.
    let start = unsafe { avif::avifDecoderCreate() };
    // SAFETY: `start` is null, or a new struct without another owner that `avifDecoderDestroy`
    // frees.
    unsafe { Owned::new(start, avif::avifDecoderDestroy) }
}

/// Creates an encoder with libavif's defaults.
pub(super) fn new_encoder() -> Result<Owned<avif::avifEncoder>, Error> {
    // SAFETY: the callee has no arguments and returns a new struct, or null.
    let start = unsafe { avif::avifEncoderCreate() };
    // SAFETY: `start` is null, or a new struct without another owner that `avifEncoderDestroy`
    // frees.
    unsafe { Owned::new(start, avif::avifEncoderDestroy) }
}

/// Creates an 8-bit picture without planes. Planes that are assigned later are not freed with the
/// picture, because the picture's fields `imageOwns…` stay 0.
pub(super) fn new_image(
    size: Size,
    format: avif::avifPixelFormat,
) -> Result<Owned<avif::avifImage>, Error> {
    // SAFETY: the callee takes numbers and returns a new struct without planes, or null.
    let start = unsafe { avif::avifImageCreate(size.width_px, size.height_px, 8, format) };
    // SAFETY: `start` is null, or a new struct that has no other owner and that `avifImageDestroy`
    // frees.
    unsafe { Owned::new(start, avif::avifImageDestroy) }
}

/// Encoded file in memory that libavif allocated; freed on drop.
pub(super) struct File(avif::avifRWData);

impl File {
    /// Creates an empty file with a capacity of `bytes`. Above this capacity, libavif grows the
    /// buffer by a megabyte at a time. Without an initial capacity, even a short file would occupy
    /// a megabyte.
    pub(super) fn with_capacity(bytes: usize) -> Result<File, Error> {
        let mut file = File(avif::avifRWData {
            data: std::ptr::null_mut(),
            size: 0,
        });
        // SAFETY: the slot is empty; the callee allocates, or fails and changes nothing.
        check(unsafe { avif::avifRWDataRealloc(file.slot(), bytes) })?;
        Ok(file)
    }

    /// Returns the struct in which libavif stores the address and length of its allocation.
    pub(super) fn slot(&mut self) -> *mut avif::avifRWData {
        &raw mut self.0
    }

    /// Returns the bytes of the file.
    pub(super) fn bytes(&self) -> &[u8] {
        if self.0.data.is_null() {
            return &[];
        }
        // SAFETY: only libavif writes to the slot, and it keeps `size` initialised bytes at `data`.
        // Nothing writes to them while the slice borrows `self`.
        unsafe { std::slice::from_raw_parts(self.0.data, self.0.size) }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: `data` is null, which the callee accepts, or was allocated by libavif; `drop`
        // runs once.
        unsafe { avif::avifRWDataFree(self.slot()) }
    }
}

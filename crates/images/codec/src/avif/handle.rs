//! The owners of what libavif allocates.

use std::ffi::CStr;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use image_plan::Size;
use libavif_sys as avif;

use super::check;
use crate::{Error, ErrorKind};

/// What libavif calls a result.
pub(super) fn describe(result: avif::avifResult) -> &'static str {
    // SAFETY: the callee takes any number and returns a literal.
    let text = unsafe { avif::avifResultToString(result) };
    // SAFETY: string literals are NUL-terminated and live for ever.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().unwrap_or("a result without a name")
}

/// A struct that libavif allocated, initialised and handed over, destroyed on drop.
pub(super) struct Owned<T> {
    start: NonNull<T>,
    destroy: unsafe extern "C" fn(*mut T),
}

impl<T> Owned<T> {
    /// Takes over `start`.
    ///
    /// # Safety
    /// `start` is null or a `T` that libavif initialised, that nobody else owns, and that `destroy` frees.
    unsafe fn new(start: *mut T, destroy: unsafe extern "C" fn(*mut T)) -> Result<Owned<T>, Error> {
        match NonNull::new(start) {
            Some(start) => Ok(Owned { start, destroy }),
            None => Err(Error::new(ErrorKind::OutOfMemory, "avif: no instance")),
        }
    }

    /// The struct's address, for calls.
    pub(super) fn as_ptr(&mut self) -> *mut T {
        self.start.as_ptr()
    }
}

impl<T> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: initialised by libavif, see `new`, and not written to while it is borrowed, as calls take `&mut`.
        unsafe { self.start.as_ref() }
    }
}

impl<T> DerefMut for Owned<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and `&mut self` keeps every other borrow and call away.
        unsafe { self.start.as_mut() }
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: `new` was promised that this function frees `start`, and `drop` runs once.
        unsafe { (self.destroy)(self.start.as_ptr()) }
    }
}

/// A decoder with libavif's defaults.
pub(super) fn new_decoder() -> Result<Owned<avif::avifDecoder>, Error> {
    // SAFETY: the callee takes nothing and returns a struct of its own.
    let start = unsafe { avif::avifDecoderCreate() };
    // SAFETY: just created, for `avifDecoderDestroy` to free.
    unsafe { Owned::new(start, avif::avifDecoderDestroy) }
}

/// An encoder with libavif's defaults.
pub(super) fn new_encoder() -> Result<Owned<avif::avifEncoder>, Error> {
    // SAFETY: the callee takes nothing and returns a struct of its own.
    let start = unsafe { avif::avifEncoderCreate() };
    // SAFETY: just created, for `avifEncoderDestroy` to free.
    unsafe { Owned::new(start, avif::avifEncoderDestroy) }
}

/// A picture of 8 bits without planes. Destroying it frees no plane that it is merely shown: `imageOwns…` stay 0.
pub(super) fn new_image(
    size: Size,
    format: avif::avifPixelFormat,
) -> Result<Owned<avif::avifImage>, Error> {
    // SAFETY: the callee takes numbers and returns a struct of its own, without planes.
    let start = unsafe { avif::avifImageCreate(size.width_px, size.height_px, 8, format) };
    // SAFETY: just created, for `avifImageDestroy` to free.
    unsafe { Owned::new(start, avif::avifImageDestroy) }
}

/// The file that an encoder wrote.
pub(super) struct File(avif::avifRWData);

impl File {
    /// No file yet, and room for one of so many bytes; a longer one grows by a megabyte at a time. Without room even a
    /// short one would begin with a megabyte.
    pub(super) fn with_room(bytes: usize) -> Result<File, Error> {
        let mut file = File(avif::avifRWData {
            data: std::ptr::null_mut(),
            size: 0,
        });
        // SAFETY: empty so far; the callee allocates, or changes nothing.
        check(unsafe { avif::avifRWDataRealloc(file.slot(), bytes) })?;
        Ok(file)
    }

    /// Where a call stores what it allocates.
    pub(super) fn slot(&mut self) -> *mut avif::avifRWData {
        &raw mut self.0
    }

    /// What was stored.
    pub(super) fn bytes(&self) -> &[u8] {
        if self.0.data.is_null() {
            return &[];
        }
        // SAFETY: only libavif writes to the slot, and it keeps `size` initialised bytes at `data`; nothing writes to
        // them while the slice borrows `self`.
        unsafe { std::slice::from_raw_parts(self.0.data, self.0.size) }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: `data` is null, which the callee takes, or what libavif allocated; `drop` runs once.
        unsafe { avif::avifRWDataFree(self.slot()) }
    }
}

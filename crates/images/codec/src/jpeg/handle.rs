//! The one owner of a TurboJPEG instance, and what its errors mean.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;

use turbojpeg_sys as tj;

use crate::{Error, ErrorKind};

/// Whether a call that may meet damaged data did all of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Without a warning.
    Clean,
    /// All output was written, some of it made up.
    Damaged,
}

/// A TurboJPEG instance, destroyed on drop. It holds no borrowed pointer between calls that matters: every call that
/// reads a JPEG sets its source anew.
pub(super) struct Handle {
    instance: NonNull<c_void>,
}

impl Handle {
    /// An instance that decompresses or compresses.
    pub(super) fn new(purpose: tj::TJINIT) -> Result<Handle, Error> {
        // SAFETY: `tj3Init` takes its argument by value, checks its range and touches nothing of ours.
        let instance = unsafe { tj::tj3Init(purpose as c_int) };
        match NonNull::new(instance) {
            Some(instance) => Ok(Handle { instance }),
            None => Err(Error::new(ErrorKind::OutOfMemory, "jpeg: no instance")),
        }
    }

    /// The instance, valid as long as `self`.
    pub(super) fn as_ptr(&mut self) -> *mut c_void {
        self.instance.as_ptr()
    }

    /// Sets a parameter; a refused value is our mistake, as callers check theirs first.
    pub(super) fn set(&mut self, parameter: tj::TJPARAM, value: i32) -> Result<(), Error> {
        // SAFETY: the instance lives until `self` drops, and `&mut self` keeps every other call off it. The callee
        // checks parameter and value.
        let status = unsafe { tj::tj3Set(self.as_ptr(), parameter as c_int, value) };
        if status != 0 {
            return Err(Error::new(ErrorKind::Failed, self.message()));
        }
        Ok(())
    }

    /// Reads a parameter; −1 when the instance does not know it yet.
    pub(super) fn parameter(&mut self, parameter: tj::TJPARAM) -> i32 {
        // SAFETY: the instance lives until `self` drops; the callee only reads a field of it.
        unsafe { tj::tj3Get(self.as_ptr(), parameter as c_int) }
    }

    /// What a finished call amounts to. `status` is what it returned on this instance, with no other call between.
    pub(super) fn outcome(&mut self, status: c_int) -> Result<Outcome, Error> {
        if status == 0 {
            return Ok(Outcome::Clean);
        }
        // SAFETY: the instance lives until `self` drops; the callee only reads a field of it.
        let code = unsafe { tj::tj3GetErrorCode(self.as_ptr()) };
        let message = self.message();
        // The code says "warning" for an error, too, once a warning came before it, and then rows are missing. The
        // message does not lie: it is the error's if there was one.
        if code == tj::TJERR_TJERR_WARNING as c_int
            && WARNINGS.iter().any(|start| message.starts_with(start))
        {
            return Ok(Outcome::Damaged);
        }
        let known = ERRORS.iter().find(|(part, _)| message.contains(part));
        let kind = known.map_or(ErrorKind::Undecodable, |(_, kind)| *kind);
        Err(Error::new(kind, format!("jpeg: {message}")))
    }

    fn message(&mut self) -> String {
        // SAFETY: the instance lives until `self` drops. The callee returns a pointer to one of two arrays, in the
        // instance or in this thread, both NUL-terminated by `snprintf`.
        let text = unsafe { tj::tj3GetErrorStr(self.as_ptr()) };
        // SAFETY: `text` is such an array, see above, and no call rewrites it before the copy below is made.
        let text = unsafe { CStr::from_ptr(text) };
        text.to_string_lossy().into_owned()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: `instance` came from `tj3Init`, is owned by `self` alone, and `drop` runs once.
        unsafe { tj::tj3Destroy(self.as_ptr()) }
    }
}

/// Memory that TurboJPEG allocated for a caller.
pub(super) struct Block {
    start: *mut u8,
    len: tj::size_t,
}

impl Block {
    /// No memory yet; a call fills it in through [`Block::slots`].
    pub(super) const fn empty() -> Block {
        Block {
            start: std::ptr::null_mut(),
            len: 0,
        }
    }

    /// Where a call stores the address and the length of what it allocated.
    pub(super) fn slots(&mut self) -> (&mut *mut u8, &mut tj::size_t) {
        (&mut self.start, &mut self.len)
    }

    /// What was stored.
    ///
    /// # Safety
    /// [`Block::slots`] were handed to a call that succeeded, so that `len` bytes at `start` are initialised.
    pub(super) unsafe fn bytes(&self) -> &[u8] {
        if self.start.is_null() {
            return &[];
        }
        // SAFETY: the caller vouches for `len` bytes; they live until `self` drops, and nothing writes to them while
        // the slice borrows `self`.
        unsafe { std::slice::from_raw_parts(self.start, self.len as usize) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: `start` is null, which `free` takes, or what TurboJPEG allocated and left to us; `drop` runs once.
        unsafe { tj::tj3Free(self.start.cast()) }
    }
}

/// How each of libjpeg's warnings begins (`JWRN_…` in its jerror.h): after these alone the output is complete.
const WARNINGS: [&str; 7] = [
    "Application transferred too many scanlines",
    "Corrupt JPEG data",
    "Inconsistent progression sequence",
    "Invalid SOS parameters for sequential JPEG",
    "Premature end of JPEG file",
    "Unknown Adobe color transform code",
    "Warning: unknown JFIF revision number",
];

/// Parts of messages that do not mean broken media, first match first.
const ERRORS: [(&str, ErrorKind); 8] = [
    ("Memory allocation failure", ErrorKind::OutOfMemory),
    ("Insufficient memory", ErrorKind::OutOfMemory),
    ("Memory limit exceeded", ErrorKind::TooLarge),
    ("Image is too large", ErrorKind::TooLarge),
    ("Maximum supported image dimension", ErrorKind::TooLarge),
    ("Progressive JPEG image has more than", ErrorKind::TooLarge),
    ("Unsupported", ErrorKind::Unsupported),
    ("Could not determine colorspace", ErrorKind::Unsupported),
];

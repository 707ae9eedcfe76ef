//! Owner of a TurboJPEG instance, and the classification of TurboJPEG's errors.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;

use turbojpeg_sys as tj;

use crate::{Error, ErrorKind};

/// Result of a successful call that may have met damaged data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The call gave no warning.
    Clean,
    /// The call wrote all output, but some of it is filler because valid data was missing.
    Damaged,
}

/// TurboJPEG instance, destroyed on drop. Pointers that it keeps between calls are never read
/// again: every call that reads a JPEG sets its source first.
pub(super) struct Handle {
    instance: NonNull<c_void>,
}

impl Handle {
    /// Creates an instance for decompression or compression.
    pub(super) fn new(purpose: tj::TJINIT) -> Result<Handle, Error> {
        // SAFETY: `tj3Init` takes its argument by value, checks its range and accesses no memory of
        // ours.
        let instance = unsafe { tj::tj3Init(purpose as c_int) };
        match NonNull::new(instance) {
            Some(instance) => Ok(Handle { instance }),
            None => Err(Error::new(
                ErrorKind::OutOfMemory,
                "jpeg: cannot allocate a codec instance",
            )),
        }
    }

    /// Returns the instance, valid as long as `self`.
    pub(super) fn as_ptr(&mut self) -> *mut c_void {
        self.instance.as_ptr()
    }

    /// Sets a parameter. An invalid value is reported as [`ErrorKind::Failed`], a bug of this
    /// program, because callers check values from the file first.
    pub(super) fn set(&mut self, parameter: tj::TJPARAM, value: i32) -> Result<(), Error> {
        // SAFETY: the instance lives until `self` drops, and `&mut self` excludes other calls on
        // it. The callee checks parameter and value.
        let status = unsafe { tj::tj3Set(self.as_ptr(), parameter as c_int, value) };
        if status != 0 {
            return Err(Error::new(ErrorKind::Failed, self.message()));
        }
        Ok(())
    }

    /// Returns the value of a parameter, or −1 if the instance has no value for it yet.
    pub(super) fn parameter(&mut self, parameter: tj::TJPARAM) -> i32 {
        // SAFETY: the instance lives until `self` drops; the callee only reads one of its fields.
        unsafe { tj::tj3Get(self.as_ptr(), parameter as c_int) }
    }

    /// Classifies the result of a call. `status` is the return value of the latest call on this
    /// instance.
    pub(super) fn outcome(&mut self, status: c_int) -> Result<Outcome, Error> {
        if status == 0 {
            return Ok(Outcome::Clean);
        }
        // SAFETY: the instance lives until `self` drops; the callee only reads one of its fields.
        let code = unsafe { tj::tj3GetErrorCode(self.as_ptr()) };
        let message = self.message();
        // The code alone does not prove that the output is complete: if a warning came before an
        // error, TurboJPEG reports the error with the code for warnings. The message is reliable:
        // after an error, it is always the message of the error.
        if code == tj::TJERR_TJERR_WARNING as c_int
            && WARNINGS.iter().any(|start| message.starts_with(start))
        {
            return Ok(Outcome::Damaged);
        }
        let known_error = ERRORS.iter().find(|(part, _)| message.contains(part));
        let kind = known_error.map_or(ErrorKind::Undecodable, |(_, kind)| *kind);
        Err(Error::new(kind, format!("jpeg: {message}")))
    }

    fn message(&mut self) -> String {
        // SAFETY: the instance lives until `self` drops. The callee returns a pointer to an array
        // in the instance or to a thread-local array. Both are NUL-terminated by `snprintf`.
        let text = unsafe { tj::tj3GetErrorStr(self.as_ptr()) };
        // SAFETY: `text` points to a NUL-terminated array, see above, and no call rewrites the
        // array before the copy below is made.
        let text = unsafe { CStr::from_ptr(text) };
        text.to_string_lossy().into_owned()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: `instance` came from `tj3Init`, `self` is its only owner, and `drop` runs once.
        unsafe { tj::tj3Destroy(self.as_ptr()) }
    }
}

/// Memory allocated by TurboJPEG, freed on drop.
pub(super) struct Block {
    start: *mut u8,
    len: tj::size_t,
}

impl Block {
    /// Creates a block without memory; a call of TurboJPEG fills the block through
    /// [`Block::slots`].
    pub(super) const fn empty() -> Block {
        Block {
            start: std::ptr::null_mut(),
            len: 0,
        }
    }

    /// Returns the two variables in which a call stores the address and the length of its
    /// allocation.
    pub(super) fn slots(&mut self) -> (&mut *mut u8, &mut tj::size_t) {
        (&mut self.start, &mut self.len)
    }

    /// Returns the bytes that TurboJPEG stored.
    ///
    /// # Safety
    /// [`Block::slots`] were passed to a call that succeeded, so that `len` bytes at `start` are
    /// initialised.
    pub(super) unsafe fn bytes(&self) -> &[u8] {
        if self.start.is_null() {
            return &[];
        }
        // SAFETY: the caller guarantees `len` initialised bytes. They live until `self` drops, and
        // nothing writes to them while the slice borrows `self`.
        unsafe { std::slice::from_raw_parts(self.start, self.len as usize) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: `start` is null, which `tj3Free` accepts, or was allocated by TurboJPEG and is
        // owned by `self`; `drop` runs once.
        unsafe { tj::tj3Free(self.start.cast()) }
    }
}

/// Beginnings of libjpeg's warnings (`JWRN_…` in its jerror.h). After a warning the output is
/// complete; after any other message it is not.
const WARNINGS: [&str; 7] = [
    "Application transferred too many scanlines",
    "Corrupt JPEG data",
    "Inconsistent progression sequence",
    "Invalid SOS parameters for sequential JPEG",
    "Premature end of JPEG file",
    "Unknown Adobe color transform code",
    "Warning: unknown JFIF revision number",
];

/// Substrings of messages, and the kind of error that each means. The first match applies; a
/// message without a match means undecodable media.
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

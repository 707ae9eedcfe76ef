//! Results of the calls that libc makes for us.

use rustix::io::Errno;

/// The result of a call that says -1 when it fails, right after it.
pub(crate) fn checked<T: Copy + PartialEq + From<i8>>(result: T) -> Result<T, Errno> {
    if result == T::from(-1) {
        let error = std::io::Error::last_os_error();
        return Err(Errno::from_io_error(&error).expect("the kernel's error has a number"));
    }
    Ok(result)
}

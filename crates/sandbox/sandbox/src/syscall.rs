//! Results of system calls made through libc.

use rustix::io::Errno;

/// Converts the result of a system call that returns -1 on failure. Use this function directly
/// after the system call, since it reads `errno`.
pub(crate) fn checked<T: Copy + PartialEq + From<i8>>(result: T) -> Result<T, Errno> {
    if result == T::from(-1) {
        let error = std::io::Error::last_os_error();
        return Err(Errno::from_io_error(&error).expect("the kernel's error has a number"));
    }
    Ok(result)
}

use std::ffi::c_void;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Interval at which the thread checks whether another process wants to change the file. The kernel
/// blocks the other process until this process gives up its lease on the file.
const LEASE_POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Minimum value, in seconds, of the kernel's setting `lease-break-time`. With a lower value, the
/// kernel could break the lease before the thread has copied the file, and the file could change.
const BREAK_S_MIN: u32 = 15;
/// File in `/proc` that contains the kernel's setting `lease-break-time` in seconds. A process that
/// must give up its lease on a file has this time; then the kernel breaks the lease.
const BREAK_TIME: &str = "/proc/sys/fs/lease-break-time";
/// `fcntl` command that sets the signal sent when a lease must be given up. `libc` defines this
/// constant for some targets only.
const F_SETSIG: libc::c_int = 10;

/// Whole file that is mapped into memory. The mapped bytes never change.
///
/// The mapping holds a lease on the file (`F_SETLEASE` of fcntl(2)). A process that opens the file
/// for writing, or truncates it, must wait until the lease is given up. Within seconds, a thread
/// detects the waiting process, replaces the mapping by a copy at the same addresses, and gives up
/// the lease. So the bytes never change, and no page disappears. Unlinking the file has no effect
/// on the mapping.
///
/// If the disk can no longer read the file, reading a mapped page ends the process with `SIGBUS`.
#[derive(Debug)]
pub struct Mapped {
    pages: Pages,
    /// Channel to the thread that checks the lease. Dropping this sender stops the thread.
    ending: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Mapped address range, completely readable.
#[derive(Clone, Copy, Debug)]
struct Pages {
    at: NonNull<c_void>,
    bytes: usize,
}

// SAFETY: no code writes to the pages. Only `Mapped::drop` unmaps them, and waits for the end of
// the thread first.
unsafe impl Send for Pages {}
// SAFETY: the pages are only read, which all threads may do at once. Breaks if a method writes to
// them.
unsafe impl Sync for Pages {}

impl Mapped {
    /// Maps a file that was opened read-only.
    ///
    /// # Errors
    /// If the file is empty, if a process has the file open for writing, if the file system does
    /// not support leases (such as a network file system), or if the kernel's `lease-break-time` is
    /// too short. The caller should then read the file instead of mapping it.
    pub fn open(file: File) -> io::Result<Mapped> {
        let break_s = fs::read_to_string(BREAK_TIME)?;
        if break_s.trim().parse::<u32>().unwrap_or(0) < BREAK_S_MIN {
            let text = format!(
                "{BREAK_TIME} must be at least {BREAK_S_MIN} s, so that files can be mapped"
            );
            return Err(io::Error::other(text));
        }
        // The kernel sends a signal when the lease must be given up. The default signal, SIGIO,
        // would end the process; SIGURG is ignored.
        fcntl(&file, F_SETSIG, libc::SIGURG)?;
        fcntl(&file, libc::F_SETLEASE, libc::F_RDLCK)?;
        let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        // SAFETY: the kernel chooses unused addresses, so the mapping replaces no memory.
        let at = unsafe {
            let (read, shared) = (ProtFlags::READ, MapFlags::SHARED);
            mmap(ptr::null_mut(), bytes, read, shared, &file, 0)?
        };
        let at = NonNull::new(at).expect("the kernel chooses no null address for a mapping");
        let pages = Pages { at, bytes };
        let (ending, ended) = mpsc::channel();
        let mut mapped = Mapped {
            pages,
            ending: Some(ending),
            thread: None,
        };
        let watch = move || {
            while ended.recv_timeout(LEASE_POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                // If there is too little memory for the copy, the loop retries until the kernel
                // breaks the lease.
                if is_lease_requested(&file) && pages.copy().is_ok() {
                    break;
                }
            }
        };
        let thread = thread::Builder::new().name("lease".to_owned());
        mapped.thread = Some(thread.stack_size(256 << 10).spawn(watch)?);
        Ok(mapped)
    }
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        self.pages.bytes()
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        drop(self.ending.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the lease thread does not panic");
        }
        let Pages { at, bytes } = self.pages;
        // SAFETY: `open` mapped the pages, and the lease thread, the only other user of them, has
        // ended. Breaks if a copy of `Pages` leaves this module.
        let unmapped = unsafe { munmap(at.as_ptr(), bytes) };
        unmapped.expect("`open` mapped these pages");
    }
}

impl Pages {
    fn bytes(&self) -> &[u8] {
        // SAFETY: at `at`, `self.bytes` bytes are mapped and readable until `Mapped` is dropped.
        // The lease keeps the bytes unchanged until `copy` replaces the mapping by a private one
        // with the same content. Breaks if the lease ends before the mapping is dropped or
        // replaced.
        unsafe { slice::from_raw_parts(self.at.as_ptr().cast(), self.bytes) }
    }

    /// Replaces the mapping of the file by a copy of its bytes.
    fn copy(self) -> io::Result<()> {
        let memory = memfd_create("lease", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        let mut memory = File::from(memory);
        memory.write_all(self.bytes())?;
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL;
        fcntl_add_seals(&memory, seals)?;
        let (read, flags) = (ProtFlags::READ, MapFlags::SHARED | MapFlags::FIXED);
        // SAFETY: the address range belongs to this mapping, and the kernel replaces it atomically.
        // Concurrent readers find the same bytes before and after, and the seals keep them
        // unchanged.
        unsafe { mmap(self.at.as_ptr(), self.bytes, read, flags, &memory, 0)? };
        Ok(())
    }
}

/// Returns whether another process waits until the lease is given up. In this case, F_GETLEASE no
/// longer reports a read lease.
fn is_lease_requested(file: &File) -> bool {
    !matches!(fcntl(file, libc::F_GETLEASE, 0), Ok(libc::F_RDLCK))
}

/// Calls fcntl(2), for commands that take a number.
fn fcntl(file: &File, command: libc::c_int, number: libc::c_int) -> io::Result<libc::c_int> {
    // SAFETY: the commands used in this module take numbers, and do not access our memory.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, number) } {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

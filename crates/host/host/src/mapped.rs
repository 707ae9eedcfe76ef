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

/// How often the kernel is asked whether somebody waits to change the file.
const PATIENCE: Duration = Duration::from_secs(2);
/// A kernel that gives us less than this to let go of a file could change it beneath us.
const BREAK_S_MIN: u32 = 15;
/// Its name for the seconds that it waits.
const BREAK_TIME: &str = "/proc/sys/fs/lease-break-time";
/// Which signal says that a lease is to be given back; `libc` has it for some targets only.
const F_SETSIG: libc::c_int = 10;

/// A whole file as memory, which stays what it is.
///
/// While a file is mapped nobody else can change it: it is held by a lease (`F_SETLEASE` of fcntl(2)), and who opens it for
/// writing, or cuts it, waits until we let go. A thread sees that within seconds, puts a copy at the same addresses, and
/// lets go. So no byte changes while it is looked at, and none goes away, which would end the process by `SIGBUS`; but for a
/// disk that cannot read what it once could. That the file loses its name does not matter.
#[derive(Debug)]
pub struct Mapped {
    pages: Pages,
    /// Ends the thread when it is dropped.
    ending: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Addresses that are ours, all of them readable.
#[derive(Clone, Copy, Debug)]
struct Pages {
    at: NonNull<c_void>,
    bytes: usize,
}

// SAFETY: nobody writes to the pages, and the one who unmaps them is the last to have them.
unsafe impl Send for Pages {}
// SAFETY: as above; what is only read may be read by all.
unsafe impl Sync for Pages {}

impl Mapped {
    /// Maps a file that was opened for reading alone.
    ///
    /// # Errors
    /// When the file is empty, when somebody has it open for writing, or when the file system gives no leases, as those of
    /// other machines do. Whoever wants the bytes reads them then.
    pub fn open(file: File) -> io::Result<Mapped> {
        let break_s = fs::read_to_string(BREAK_TIME)?;
        if break_s.trim().parse::<u32>().unwrap_or(0) < BREAK_S_MIN {
            return Err(io::Error::other("the kernel waits for too short a time"));
        }
        // What is sent by default would end the process; nobody minds this one.
        fcntl(&file, F_SETSIG, libc::SIGURG)?;
        fcntl(&file, libc::F_SETLEASE, libc::F_RDLCK)?;
        let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        // SAFETY: the kernel chooses the addresses, so nothing lies there yet.
        let at = unsafe {
            let (read, shared) = (ProtFlags::READ, MapFlags::SHARED);
            mmap(ptr::null_mut(), bytes, read, shared, &file, 0)?
        };
        let at = NonNull::new(at).expect("the kernel maps nothing at null by itself");
        let pages = Pages { at, bytes };
        let (ending, ended) = mpsc::channel();
        let mut mapped = Mapped {
            pages,
            ending: Some(ending),
            thread: None,
        };
        let watch = move || {
            while ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                // Without memory for the copy it tries again, for as long as the kernel waits.
                if is_wanted(&file) && pages.copy().is_ok() {
                    break;
                }
            }
        };
        let thread = thread::Builder::new().name("lease".to_owned());
        mapped.thread = Some(thread.stack_size(64 << 10).spawn(watch)?);
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
            thread.join().expect("waiting does not panic");
        }
        let Pages { at, bytes } = self.pages;
        // SAFETY: `open` mapped them, and the thread, which had them too, has ended. Breaks if `Pages` is given out.
        let unmapped = unsafe { munmap(at.as_ptr(), bytes) };
        unmapped.expect("pages of our own");
    }
}

impl Pages {
    fn bytes(&self) -> &[u8] {
        // SAFETY: so many bytes are mapped there for reading until `Mapped` is dropped, and the lease keeps them as they
        // are; `copy` puts the same bytes in their place. Breaks if the lease ends before the map does.
        unsafe { slice::from_raw_parts(self.at.as_ptr().cast(), self.bytes) }
    }

    /// Puts a copy of the bytes in the place of the file.
    fn copy(self) -> io::Result<()> {
        let memory = memfd_create("lease", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        let mut memory = File::from(memory);
        memory.write_all(self.bytes())?;
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL;
        fcntl_add_seals(&memory, seals)?;
        let (read, flags) = (ProtFlags::READ, MapFlags::SHARED | MapFlags::FIXED);
        // SAFETY: the addresses are ours, and the kernel exchanges what lies there at once. Whoever reads meanwhile finds the
        // same bytes before and after, and the seals keep them.
        unsafe { mmap(self.at.as_ptr(), self.bytes, read, flags, &memory, 0)? };
        Ok(())
    }
}

/// Whether somebody waits for the lease; one that is asked back is told as none.
fn is_wanted(file: &File) -> bool {
    !matches!(fcntl(file, libc::F_GETLEASE, 0), Ok(libc::F_RDLCK))
}

/// fcntl(2), for commands that take a number.
fn fcntl(file: &File, command: libc::c_int, number: libc::c_int) -> io::Result<libc::c_int> {
    // SAFETY: the commands of this module take numbers, and touch no memory of ours.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, number) } {
        -1 => Err(io::Error::last_os_error()),
        told => Ok(told),
    }
}

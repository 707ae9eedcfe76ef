//! Attempts of a program to access what it was not given. It prints one line per attempt.

use std::ffi::CString;
use std::io::Error;

/// Returns 7. The program tries to overwrite the code of this function.
#[inline(never)]
fn code() -> u32 {
    std::hint::black_box(7)
}

pub(crate) fn try_all() {
    let allowed = CString::new(super::file()).expect("a path");
    let open = |path: &CString, flags: i32| {
        // SAFETY: the path lives until the call returns; an opened file stays open until the
        // program ends.
        describe(unsafe { libc::open(path.as_ptr(), flags) }.into())
    };
    let secret = CString::new("/etc/passwd").expect("a path");
    let missing = CString::new("/etc/no-such-file").expect("a path");
    println!("read what is allowed: {}", open(&allowed, libc::O_RDONLY));
    println!("path alone: {}", open(&secret, libc::O_PATH));
    println!("missing path alone: {}", open(&missing, libc::O_PATH));
    println!("cut: {}", open(&allowed, libc::O_RDONLY | libc::O_TRUNC));
    println!("write: {}", open(&allowed, libc::O_WRONLY));
    println!("make: {}", open(&missing, libc::O_RDONLY | libc::O_CREAT));
    // SAFETY: the call takes numbers only.
    let spared = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, 0) };
    println!("outlive the launcher: {}", describe(spared.into()));
    println!("move a descriptor: {}", describe(dup_to_control()));
    println!("send a descriptor: {}", describe(send_standard_input()));
    println!("become another program: {}", describe(execute_input()));
    let place = code as fn() -> u32 as usize as *mut libc::c_void;
    // SAFETY: the call must fail, and then changes no memory. If it succeeds, the output makes the
    // test fail.
    let read = unsafe { libc::pread(0, place, 4, 0) };
    println!("overwrite code: {}", describe(read as i64));
    println!("code: {}", code());
}

/// Tries to make this program survive the end of its launcher, then runs until it is killed.
pub(crate) fn outlive() {
    // SAFETY: the call takes numbers only.
    let _refused = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, 0) };
    loop {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

fn describe(result: i64) -> String {
    match result {
        0.. => "yes".to_owned(),
        _ => Error::last_os_error().to_string(),
    }
}

/// Duplicates standard input as descriptor 3. A zygote's filter allows `sendmsg`, which can send
/// descriptors, on descriptor 3 only.
fn dup_to_control() -> i64 {
    const CONTROL: i32 = 3;
    // SAFETY: no other code of this program uses a descriptor of this number.
    unsafe { libc::syscall(libc::SYS_dup3, 0, CONTROL, 0) }
}

fn send_standard_input() -> i64 {
    const CONTROL: i32 = 3;
    // SAFETY: the pointer to the message is null; the kernel reads nothing before it denies the
    // call.
    unsafe { libc::syscall(libc::SYS_sendmsg, CONTROL, 0, 0) }
}

fn execute_input() -> i64 {
    let none: [*const libc::c_char; 1] = [std::ptr::null()];
    // SAFETY: both lists are empty; if the call succeeds, it replaces this process.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            0,
            c"".as_ptr(),
            none.as_ptr(),
            none.as_ptr(),
            libc::AT_EMPTY_PATH,
        )
    }
}

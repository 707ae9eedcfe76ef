//! Pseudorandom system calls on threads, sleep, events and descriptors.

use std::hint::black_box;

const CALLS: [libc::c_long; 14] = [
    libc::SYS_clone,
    libc::SYS_futex,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_eventfd2,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_sched_yield,
    libc::SYS_set_tid_address,
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_close,
    libc::SYS_tgkill,
];

/// Makes system calls with arguments at boundary values, chosen pseudorandomly from `seed`. If a
/// call starts a thread, the thread has a stack of zeros, which makes it crash.
pub(crate) fn any(seed: u64) {
    const COUNT: u32 = 200;
    // Flags of `clone` with which libc starts a thread.
    const THREAD: u64 = 0x3d_0f00;
    let mut state = seed | 1;
    let mut draw = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut place = vec![0_u64; 4_096];
    let within = black_box(place.as_mut_ptr()) as u64;
    for _ in 0..COUNT {
        let call = CALLS[(draw() % CALLS.len() as u64) as usize];
        let mut argument = || {
            let any = draw();
            match any % 8 {
                0 => 0,
                1 => any >> 8 & 0x7f,
                2 => within + (any >> 8) % 0x7000,
                3 => (within + 0x4000) & !0xf,
                4 => THREAD & any >> 8 | 0x1_0f00,
                5 => u64::MAX - (any >> 8 & 0xff),
                6 => 1 << 47,
                _ => any,
            }
        };
        let [a, b, c, d, e, f] = [(); 6].map(|()| argument());
        // SAFETY: none; this program is meant to try any call.
        unsafe { libc::syscall(call, a, b, c, d, e, f) };
    }
}

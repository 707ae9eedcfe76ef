//! Several threads in one program.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::time::{Duration, Instant};

const THREADS: u32 = 8;

/// Locks, waits, sleeps, and waits without giving way; tells what came of it.
pub(crate) fn work() {
    let count = Arc::new((Mutex::new(0), Condvar::new()));
    let barrier = Arc::new(Barrier::new(THREADS as usize));
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let (count, barrier) = (Arc::clone(&count), Arc::clone(&barrier));
            std::thread::spawn(move || {
                // Vector registers are the thread's own.
                let mut sum = f64::from(number);
                for _ in 0..100 {
                    barrier.wait();
                    sum = sum.sqrt() + f64::from(number);
                    *count.0.lock().expect("nobody panics") += 1;
                }
                count.1.notify_all();
                sum
            })
        })
        .collect();
    let all = THREADS * 100;
    let guard = count.0.lock().expect("nobody panics");
    let guard = count.1.wait_while(guard, |count| *count < all);
    let counted = *guard.expect("nobody panics");
    let alone = |number: u32| {
        let first = f64::from(number);
        (0..100).fold(first, |sum, _| sum.sqrt() + first)
    };
    let right = threads
        .into_iter()
        .zip(0..)
        .all(|(thread, number)| thread.join().expect("it ends") == alone(number));
    let (sender, receiver) = channel();
    let (go, gone) = channel();
    let begin = Instant::now();
    std::thread::spawn(move || {
        gone.recv().expect("it is sent");
        std::thread::sleep(Duration::from_millis(20));
        sender.send(7).expect("somebody waits");
    });
    let early = receiver.recv_timeout(Duration::from_millis(1)).is_err();
    go.send(()).expect("somebody waits");
    let heard = receiver.recv().expect("it is sent");
    let slept = Duration::from_millis(20) <= begin.elapsed();
    // One spins until the other had a turn: neither gives way by itself.
    let turn = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&turn);
    let spinning = std::thread::spawn(move || {
        while other.load(Ordering::Acquire) == 0 {
            std::hint::spin_loop();
        }
        other.store(2, Ordering::Release);
    });
    turn.store(1, Ordering::Release);
    while turn.load(Ordering::Acquire) != 2 {
        std::hint::spin_loop();
    }
    spinning.join().expect("it ends");
    println!("{counted} {right} {early} {heard} {slept}");
}

/// More than there may be.
pub(crate) fn many() {
    let mut threads = 0;
    while let Ok(_detached) = std::thread::Builder::new()
        .stack_size(64 << 10)
        .spawn(|| std::thread::sleep(Duration::from_secs(1_000)))
    {
        threads += 1;
    }
    println!("{threads}");
}

/// Nobody ever wakes it.
pub(crate) fn wait() {
    let (_sender, receiver) = channel::<u32>();
    let also = std::thread::spawn(move || receiver.recv());
    let _never = also.join();
}

/// On all cores there are.
pub(crate) fn never_end() -> ! {
    for _ in 0..2 {
        std::thread::spawn(|| {
            loop {
                std::hint::spin_loop();
            }
        });
    }
    loop {
        std::hint::spin_loop();
    }
}

/// The same work by one thread or several; tells the wall time and the CPU time that it took, in microseconds.
pub(crate) fn share_work() {
    let number = |name: &str| {
        let text = std::env::var(name).expect("the test names it");
        text.parse::<u64>().expect("a number")
    };
    let (threads, rounds) = (number("THREADS"), number("ROUNDS"));
    let begin = Instant::now();
    let work = move || {
        (0..rounds / threads).fold(1_u64, |sum, round| {
            std::hint::black_box(sum.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(round))
        })
    };
    let others: Vec<_> = (1..threads).map(|_| std::thread::spawn(work)).collect();
    let mut sum = work();
    for other in others {
        sum ^= other.join().expect("it works as the first does");
    }
    std::hint::black_box(sum);
    let wall_us = begin.elapsed().as_micros();
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: writes the structure it is given.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    // SAFETY: a structure of integers, zeroed above.
    let used = unsafe { usage.assume_init() }.ru_utime;
    println!("{wall_us} {}", used.tv_sec * 1_000_000 + used.tv_usec);
}

/// Reads what nobody writes, as event loops do: by waiting where a read does not wait.
pub(crate) fn read_blocked() {
    let mut event = libc::epoll_event {
        events: libc::EPOLLIN as u32,
        u64: 0,
    };
    // SAFETY: takes numbers only.
    let silent = unsafe { libc::eventfd(0, 0) };
    // SAFETY: takes numbers only.
    let epoll = unsafe { libc::epoll_create1(0) };
    // SAFETY: reads an event of this frame.
    let watched = unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, silent, &raw mut event) };
    let mut number = 0_u64;
    // SAFETY: writes a number of this frame.
    let read = unsafe { libc::read(silent, (&raw mut number).cast(), size_of::<u64>()) };
    // SAFETY: writes an event of this frame.
    let woken = unsafe { libc::epoll_wait(epoll, &raw mut event, 1, -1) };
    println!("{watched} {read} {woken}");
}

/// As many threads as there may be, each with next to no stack, and then for ever tries for another.
pub(crate) fn bomb() -> ! {
    loop {
        let thread = std::thread::Builder::new().stack_size(16 << 10);
        let _refused = thread.spawn(|| std::thread::sleep(Duration::from_secs(1_000)));
    }
}

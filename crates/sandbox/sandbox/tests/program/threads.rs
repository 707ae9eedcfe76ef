use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::time::{Duration, Instant};

const THREADS: u32 = 8;

/// Uses locks, waits, sleeps and spins in several threads, and prints the results.
pub(crate) fn work() {
    let count = Arc::new((Mutex::new(0), Condvar::new()));
    let barrier = Arc::new(Barrier::new(THREADS as usize));
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let (count, barrier) = (Arc::clone(&count), Arc::clone(&barrier));
            std::thread::spawn(move || {
                // The sum is kept in vector registers, so the sum is wrong if a switch of threads
                // does not save these registers.
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
    let expected_sum = |number: u32| {
        let first = f64::from(number);
        (0..100).fold(first, |sum, _| sum.sqrt() + first)
    };
    let right = threads
        .into_iter()
        .zip(0..)
        .all(|(thread, number)| thread.join().expect("it ends") == expected_sum(number));
    let (sender, receiver) = channel();
    let (go, go_receiver) = channel();
    let begin = Instant::now();
    std::thread::spawn(move || {
        go_receiver.recv().expect("it is sent");
        std::thread::sleep(Duration::from_millis(20));
        sender.send(7).expect("somebody waits");
    });
    let early = receiver.recv_timeout(Duration::from_millis(1)).is_err();
    go.send(()).expect("somebody waits");
    let heard = receiver.recv().expect("it is sent");
    let slept = Duration::from_millis(20) <= begin.elapsed();
    // Each of two threads spins, without yielding, until the other thread has run.
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

/// Starts threads until no further thread can be started, and prints their number.
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

/// Waits in two threads for a message that no thread sends.
pub(crate) fn wait() {
    let (_sender, receiver) = channel::<u32>();
    let second = std::thread::spawn(move || receiver.recv());
    let _never = second.join();
}

/// Spins in three threads forever.
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

/// Divides a fixed amount of work among one or several threads. Prints the wall time and the CPU
/// time in microseconds.
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
    // SAFETY: the call writes only the local structure `usage`.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    // SAFETY: the structure consists of integers, zeroed above.
    let used = unsafe { usage.assume_init() }.ru_utime;
    println!("{wall_us} {}", used.tv_sec * 1_000_000 + used.tv_usec);
}

/// Reads from a descriptor to which no thread writes, then waits for the descriptor with `epoll`.
pub(crate) fn read_blocked() {
    let mut event = libc::epoll_event {
        events: libc::EPOLLIN as u32,
        u64: 0,
    };
    // SAFETY: the call takes numbers only.
    let silent = unsafe { libc::eventfd(0, 0) };
    // SAFETY: the call takes numbers only.
    let epoll = unsafe { libc::epoll_create1(0) };
    // SAFETY: the call reads the local variable `event`.
    let watched = unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, silent, &raw mut event) };
    let mut number = 0_u64;
    // SAFETY: the call writes the local variable `number`.
    let read = unsafe { libc::read(silent, (&raw mut number).cast(), size_of::<u64>()) };
    // SAFETY: the call writes the local variable `event`.
    let woken = unsafe { libc::epoll_wait(epoll, &raw mut event, 1, -1) };
    println!("{watched} {read} {woken}");
}

/// Starts as many threads as possible, each with a minimal stack, and then tries forever to start
/// more threads.
pub(crate) fn bomb() -> ! {
    loop {
        let thread = std::thread::Builder::new().stack_size(16 << 10);
        let _refused = thread.spawn(|| std::thread::sleep(Duration::from_secs(1_000)));
    }
}

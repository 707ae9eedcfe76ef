//! Tests of a panic of a pool's supervisor: no caller waits forever, no slot is lost, and the
//! operator sees the panic.
//!
//! The tests cause the panic by a low limit on open descriptors. `poll` refuses more descriptors
//! than the limit allows, and the supervisor panics at this error.

use crate::host::{Without, alone};
use crate::life::{assert_ends, descendants, open_descendants, until};
use crate::{JOB_LIMITS, assert_works, run_in, start};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};
use rustix::thread::gettid;
use sandbox::{FailureKind, Limits, Pool};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

const SIGABRT: i32 = 6;

/// Name of the supervisor's thread.
const SUPERVISOR: &str = "cell supervisor";

/// Maximum time until all callers have their result: the timeouts of the queue and of the exit
/// report, and a reserve for a busy machine.
const CALLERS_MAX: Duration = Duration::from_secs(20);

/// Returns a pool that runs one job at a time. A second job waits at most `queue_ms` in the queue.
fn pool(queue_ms: u32) -> Pool {
    let pool = start(Limits {
        concurrency: 1,
        max_queue_time_ms: queue_ms,
        ..Limits::default()
    });
    assert_works(&pool);
    until(|| 1 <= pool.stats().ready);
    pool
}

/// Starts a job that never ends, and a second job, which waits for a slot. Then runs `during`.
/// Returns the failures of the two jobs.
fn beside_two_callers(pool: &Pool, during: impl FnOnce()) -> [FailureKind; 2] {
    let waiting = AtomicI32::new(0);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run_in(pool, "read-forever", JOB_LIMITS, 60_000));
        until(|| pool.stats().running == 1);
        let queued = scope.spawn(|| {
            waiting.store(gettid().as_raw_nonzero().get(), Ordering::SeqCst);
            run_in(pool, "echo", JOB_LIMITS, 60_000)
        });
        until(|| {
            let call = format!("/proc/self/task/{}/syscall", waiting.load(Ordering::SeqCst));
            let futex = format!("{} ", libc::SYS_futex);
            fs::read_to_string(call).is_ok_and(|call| call.starts_with(&futex))
        });
        during();
        [running, queued].map(|caller| {
            let result = caller.join().expect("a caller does not panic");
            result.expect_err("there is no answer").kind
        })
    })
}

/// Makes the supervisor panic: lowers the limit on open descriptors, so that the supervisor's
/// `poll` fails, and kills a child, which wakes the supervisor.
fn inject() {
    let child = descendants(std::process::id());
    let child = *child.last().expect("the zygote has children");
    let child = Pid::from_raw(child as i32).expect("ids are above 0");
    let limit = getrlimit(Resource::Nofile);
    let one = Rlimit {
        current: Some(1),
        ..limit
    };
    setrlimit(Resource::Nofile, one).expect("limits can be lowered");
    kill_process(child, Signal::KILL).expect("it is ours");
}

/// Panic of the supervisor with the server's panic hook, which aborts the process. The tests of
/// `pelton::panics` show that the server sets this hook.
#[test]
fn a_panic_of_the_supervisor_is_reported_and_ends_the_process_with_its_cells() {
    const NAME: &str =
        "panics::a_panic_of_the_supervisor_is_reported_and_ends_the_process_with_its_cells";
    const SERVER: &str = "CELL_IT_PANIC";
    if std::env::var_os(SERVER).is_some() {
        abort_on_panic_beside_two_callers();
    }
    let mut server = Command::new("/proc/self/exe")
        .args(["--exact", "--nocapture", NAME])
        .env(SERVER, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this program runs again");
    let out = BufReader::new(server.stdout.take().expect("it is piped"));
    let ready = |line: std::io::Result<String>| line.expect("text").contains("ready");
    assert!(out.lines().any(ready), "the pool starts");
    let pidfds = open_descendants(server.id());
    assert!(2 <= pidfds.len(), "a zygote and a child: {pidfds:?}");
    let mut go = server.stdin.take().expect("it is piped");
    go.write_all(b"!").expect("it waits for this");
    let output = server.wait_with_output().expect("it is ours");
    assert_eq!(output.status.signal(), Some(SIGABRT), "{output:?}");
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(report.contains(SUPERVISOR), "{report}");
    assert!(report.contains("poll on our own descriptors"), "{report}");
    pidfds.iter().for_each(assert_ends);
}

fn abort_on_panic_beside_two_callers() -> ! {
    std::panic::set_hook(Box::new(|info| {
        let thread = std::thread::current();
        eprintln!("panic on thread {:?}: {info}", thread.name());
        std::process::abort();
    }));
    let pool = pool(60_000);
    beside_two_callers(&pool, || {
        println!("ready");
        let mut go = [0];
        let read = std::io::stdin().read_exact(&mut go);
        read.expect("the test says when");
        inject();
    });
    // Both callers may fail before the supervisor panics, because no replacement of the killed
    // process can start without descriptors. The hook aborts the process during this sleep. Without
    // the hook, the process exits with success, which fails the test.
    std::thread::sleep(CALLERS_MAX);
    std::process::exit(0);
}

/// Panic of the supervisor without a hook that aborts the process: callers fail within a limited
/// time.
#[test]
fn without_the_policy_callers_fail_in_bounded_time_and_no_cell_is_left() {
    const NAME: &str =
        "panics::without_the_policy_callers_fail_in_bounded_time_and_no_cell_is_left";
    if !alone(NAME, Without::default()) {
        return;
    }
    let pool = pool(5_000);
    let usual = getrlimit(Resource::Nofile);
    std::panic::set_hook(Box::new(move |info| {
        eprintln!("{info}");
        setrlimit(Resource::Nofile, usual).expect("the hard limit is as before");
    }));
    let pidfds = open_descendants(std::process::id());
    let begin = Instant::now();
    let failures = beside_two_callers(&pool, inject);
    assert_eq!(failures, [FailureKind::Crashed, FailureKind::Host]);
    assert!(begin.elapsed() < CALLERS_MAX, "{:?}", begin.elapsed());
    let stats = pool.stats();
    assert_eq!((stats.running, stats.ready), (0, 0), "{stats:?}");
    pidfds.iter().for_each(assert_ends);
    // Dropping the pool passes the panic on to its owner.
    catch_unwind(AssertUnwindSafe(|| drop(pool))).expect_err("the supervisor panicked");
}

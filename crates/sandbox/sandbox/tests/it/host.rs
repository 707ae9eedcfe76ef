//! The attacks of `attacks.rs`, as another user or with fewer isolation mechanisms. Each test runs
//! in a separate process, which has given up some of its rights.

use crate::attacks::assert_calls_denied;
use crate::{ATTACKER_PATH, assert_works, pool, run, start};
use expect_test::expect;
use sandbox::{ErrorKind, Isolation, Limits, Pool};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Rights that a process gives up: true for each right that it loses.
#[derive(Clone, Copy, Default)]
pub(crate) struct Without {
    pub(crate) root: bool,
    pub(crate) namespaces: bool,
    pub(crate) landlock: bool,
    /// Right of the process to change its user.
    pub(crate) own_user: bool,
}

const CHILD: &str = "CELL_IT_CHILD";
const NOBODY: u32 = 65_534;

/// Runs the test `name` with fewer rights, alone in a separate process. In the separate process,
/// this function returns true, and the test continues. In the original process, this function
/// starts the separate process, and returns false if it succeeded.
pub(crate) fn alone(name: &str, without: Without) -> bool {
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let mut command = Command::new("/proc/self/exe");
    command
        .args(["--exact", "--nocapture", name])
        .env(CHILD, "1");
    command.stdin(File::open(ATTACKER_PATH).expect("the attacker was built"));
    if without.root && rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    // SAFETY: `deny` makes two system calls and allocates nothing.
    unsafe { command.pre_exec(move || deny(without)) };
    let output = command.output().expect("this program runs again");
    let text = String::from_utf8_lossy(&output.stdout);
    let ran = text.contains("1 passed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && ran, "{text}\n{errors}");
    false
}

/// Installs a seccomp filter that denies some system calls, as the filter of a container does.
fn deny(without: Without) -> std::io::Result<()> {
    const NEW_NAMESPACES: u32 = 0x7e02_0000;
    let op = |code: u32, jt, jf, k| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let has = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
    let ret = libc::BPF_RET | libc::BPF_K;
    let refuse = |refuse: bool| {
        if refuse {
            libc::SECCOMP_RET_ERRNO | libc::EPERM as u32
        } else {
            libc::SECCOMP_RET_ALLOW
        }
    };
    let program = [
        op(load, 0, 0, 0),
        op(equal, 0, 3, libc::SYS_clone as u32),
        op(load, 0, 0, 16),
        op(has, 3, 0, NEW_NAMESPACES),
        op(ret, 0, 0, libc::SECCOMP_RET_ALLOW),
        op(equal, 2, 0, libc::SYS_landlock_create_ruleset as u32),
        op(equal, 2, 3, libc::SYS_setresuid as u32),
        op(ret, 0, 0, refuse(without.namespaces)),
        op(ret, 0, 0, refuse(without.landlock)),
        op(ret, 0, 0, refuse(without.own_user)),
        op(ret, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_ptr().cast_mut(),
    };
    rustix::thread::set_no_new_privs(true)?;
    // SAFETY: `program` points to `len` instructions in a local array.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            0,
            &raw const program,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Returns the parts of the pool's posture that depend on the host.
fn host_posture(pool: &Pool) -> String {
    let posture = pool.posture();
    format!(
        "isolation {}, namespaces [{}], landlock {}, no new privs {}, no capabilities {}",
        posture.isolation(),
        posture.namespaces.join(" "),
        posture.landlock_abi.is_some(),
        posture.no_new_privs,
        posture.no_capabilities,
    )
}

#[test]
fn p13_attacks_die_when_the_server_is_no_root() {
    let without = Without {
        root: true,
        ..Without::default()
    };
    if alone("host::p13_attacks_die_when_the_server_is_no_root", without) {
        assert_calls_denied(&pool());
    }
}

#[test]
fn p13_attacks_die_without_namespaces() {
    let without = Without {
        namespaces: true,
        ..Without::default()
    };
    if alone("host::p13_attacks_die_without_namespaces", without) {
        let pool = pool();
        assert_eq!(pool.posture().namespaces, [""; 0]);
        assert_calls_denied(&pool);
    }
}

#[test]
fn p13_attacks_die_with_nothing_but_the_filter() {
    let without = Without {
        root: true,
        namespaces: true,
        landlock: true,
        own_user: true,
    };
    if alone("host::p13_attacks_die_with_nothing_but_the_filter", without) {
        let pool = pool();
        assert_eq!(
            host_posture(&pool),
            "isolation filter, namespaces [], landlock false, no new privs true, no capabilities true"
        );
        assert_calls_denied(&pool);
    }
}

#[test]
fn a_filter_takes_fork_from_a_child_that_is_root() {
    let without = Without {
        namespaces: true,
        own_user: true,
        ..Without::default()
    };
    let root = rustix::process::geteuid().is_root();
    if root
        && alone(
            "host::a_filter_takes_fork_from_a_child_that_is_root",
            without,
        )
    {
        let pool = pool();
        assert!(!pool.posture().own_user);
        let failed = run(&pool, "fork-bomb").expect_err("an attack");
        assert_eq!(
            failed.to_string(),
            "cell: crashed: the kernel killed the cell for a denied system call"
        );
        assert_calls_denied(&pool);
    }
}

#[test]
fn n1_a_pool_does_not_start_below_its_least_isolation() {
    let without = Without {
        landlock: true,
        ..Without::default()
    };
    if !alone(
        "host::n1_a_pool_does_not_start_below_its_least_isolation",
        without,
    ) {
        return;
    }
    let limits = |min_isolation| Limits {
        min_isolation,
        ..Limits::default()
    };
    let refused = |isolation| {
        let Err(error) = Pool::start(&crate::ATTACKER, limits(isolation)) else {
            panic!("started below {isolation}");
        };
        assert_eq!(error.kind, ErrorKind::Host);
        error.to_string()
    };
    let expected =
        expect!["cell: this host provides isolation filter, but min_isolation is landlock"];
    expected.assert_eq(&refused(Isolation::Landlock));
    let expected =
        expect!["cell: this host provides isolation filter, but min_isolation is microvm"];
    expected.assert_eq(&refused(Isolation::MicroVm));
    assert_works(&start(limits(Isolation::Filter)));
}

#[test]
fn n1_a_probe_runs_the_jail_and_says_what_it_is() {
    let probe = sandbox::probe(&crate::ATTACKER, Limits::default()).expect("the attacker boots");
    assert!(probe.job_p50 <= probe.job_p99, "{probe:?}");
    let text = probe.to_string();
    let names: Vec<_> = text.lines().map(|line| line[..17].trim_end()).collect();
    assert_eq!(
        names,
        [
            "backend",
            "wiped",
            "isolation",
            "namespaces",
            "own user",
            "syscall filter",
            "landlock",
            "no new privs",
            "no capabilities",
            "huge pages",
            "denied syscall",
            "start",
            "empty job",
            "new memory",
        ]
    );
}

//! Tests of `pelton tune`, each in a network namespace of its own with a pair of veth interfaces.
//! They change nothing of the host.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Output, Stdio};

use expect_test::expect;
use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Home, eventually, signal};

/// User and group that own nothing.
const NOBODY: &str = "65534";
/// System calls by which an apply writes: lines of the journal and values of files, the sync of
/// lines, the replacement of an earlier journal, and messages for network cards.
const CALLS: [&str; 5] = ["write", "fdatasync", "fsync", "/^rename", "sendto"];
/// Upper bound of the calls of one kind in an apply.
const CALLS_MAX: usize = 200;

/// Settings of the namespace that may change: everything of TCP and of the interfaces.
const SNAPSHOT: &str = "cd /proc/sys/net && grep -r . core/somaxconn ipv4/tcp_* ipv4/ip_local_port_range; \
    cd /sys/class/net && grep -r . veth*/queues/*/*_cpus veth*/queues/*/rps_flow_cnt veth*/threaded \
    veth*/napi_defer_hard_irqs veth*/gro_flush_timeout | sort; tc qdisc show | sed 's/ refcnt.*//'; true";
/// Interfaces, and values that the plan changes.
const SETUP: &str = "mount -t sysfs sysfs /sys && ip link set lo up \
    && ip link add veth0 type veth peer name veth1 && ip link set veth0 up && ip link set veth1 up \
    && echo 128 > /proc/sys/net/core/somaxconn && echo 512 > /proc/sys/net/ipv4/tcp_max_syn_backlog \
    && echo 0 > /proc/sys/net/ipv4/tcp_migrate_req && echo 1 > /proc/sys/net/ipv4/tcp_slow_start_after_idle \
    && echo 4096 16384 1000000 > /proc/sys/net/ipv4/tcp_wmem && echo ready && exec sleep 600";

/// Network and mount namespace, which ends when this value is dropped, and a directory in which its
/// commands run. A plain user also needs a user namespace.
struct Space {
    keeper: Child,
    home: Home,
    is_root: bool,
}

impl Space {
    /// Creates the namespaces. Prints the reason if this system does not permit them.
    fn new() -> Option<Space> {
        let own = fs::metadata("/proc/self").expect("the process exists");
        let is_root = own.uid() == 0;
        let user: &[&str] = if is_root { &[] } else { &["-U", "-r"] };
        let mut keeper = Command::new("unshare")
            .args(user)
            .args(["-n", "-m", "sh", "-c", SETUP])
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare is part of every Debian");
        let mut line = String::new();
        let stdout = keeper.stdout.take().expect("it is a pipe");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("a pipe can be read");
        let space = Space {
            keeper,
            home: Home::new(),
            is_root,
        };
        if line == "ready\n" {
            return Some(space);
        }
        eprintln!("skipped: this system has no veth interfaces, or permits no namespaces");
        None
    }

    /// Returns a command that runs `words` in the namespaces and in the directory of the test.
    /// `nsenter` itself changes to the root directory.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        if !self.is_root {
            command.args(["-U", "--preserve-credentials"]);
        }
        command
            .args(["-n", "-m", "-t", &self.keeper.id().to_string()])
            .args(["sh", "-c", "cd \"$0\" && exec \"$@\""])
            .arg(self.home.directory())
            .args(words)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command
    }

    fn output(&self, words: &[&str]) -> Output {
        self.command(words)
            .output()
            .expect("nsenter is part of every Debian")
    }

    /// Runs `pelton tune`, and returns its exit code with stdout and stderr.
    fn tune(&self, words: &[&str]) -> (i32, String, String) {
        let all = [&[env!("CARGO_BIN_EXE_pelton"), "tune"][..], words].concat();
        let Output {
            status,
            stdout,
            stderr,
        } = self.output(&all);
        let text = |bytes| String::from_utf8(bytes).expect("the messages are text");
        (
            status.code().expect("it was not killed"),
            text(stdout),
            text(stderr),
        )
    }

    fn apply(&self, words: &[&str]) -> (i32, String, String) {
        let own = [
            "apply",
            "--this-namespace",
            "--include",
            "poll.irqsuspend",
            "--include",
            "lim.ports",
        ];
        self.tune(&[&own[..], words].concat())
    }

    fn status(&self) -> Value {
        let (_, out, err) = self.tune(&["status", "--json"]);
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("not JSON: {out}{err}"))
    }

    fn snapshot(&self) -> String {
        let output = self.output(&["sh", "-c", SNAPSHOT]);
        let text = String::from_utf8(output.stdout).expect("settings are text");
        assert!(
            text.contains("core/somaxconn:") && text.contains("veth0/queues/rx-0/rps_cpus:"),
            "{text}"
        );
        text
    }

    /// Asserts that all settings are those of an earlier snapshot.
    #[track_caller]
    fn assert_unchanged(&self, before: &str) {
        assert_eq!(differences(before, &self.snapshot()), Vec::<String>::new());
    }

    fn shell(&self, script: &str) {
        assert!(
            self.output(&["sh", "-c", script]).status.success(),
            "{script}"
        );
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        self.keeper
            .kill()
            .and_then(|()| self.keeper.wait())
            .expect("a child of our own");
    }
}

/// Returns whether strace can stop programs at their system calls. Prints the reason if it cannot.
fn can_trace() -> bool {
    let tried = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .status();
    let can = tried.is_ok_and(|status| status.success());
    if !can {
        eprintln!("skipped: strace is not installed, or may not trace here");
    }
    can
}

/// Returns the lines in which two snapshots differ, from both.
fn differences(before: &str, after: &str) -> Vec<String> {
    let lines = before.lines().zip(after.lines());
    let lines = lines.filter(|(old, new)| old != new);
    lines
        .map(|(old, new)| format!("{old} > {}", new.rsplit(':').next().unwrap_or(new)))
        .collect()
}

#[test]
fn confirmed_changes_stay_until_revert_takes_every_value_back() {
    let Some(space) = Space::new() else { return };
    let before = space.snapshot();
    let (code, out, err) = space.apply(&[]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert_eq!(space.status()["state"], "waiting");
    assert_eq!(space.status()["isGuarded"], true);
    let changed = differences(&before, &space.snapshot());
    for line in [
        "core/somaxconn:128 > 4096",
        "ipv4/tcp_max_syn_backlog:512 > 4096",
        "ipv4/tcp_migrate_req:0 > 1",
        "ipv4/tcp_slow_start_after_idle:1 > 0",
        "ipv4/tcp_wmem:4096\t16384\t1000000 > 4096\t16384\t4194304",
        "veth0/napi_defer_hard_irqs:0 > 2",
    ] {
        assert!(
            changed.iter().any(|found| found == line),
            "{line} of {changed:#?}"
        );
    }
    let listed = space.status()["changes"].as_array().expect("a list").len();
    assert_eq!(listed, changed.len());
    let (code, _, err) = space.apply(&[]);
    assert_eq!(code, 2);
    expect![[r#"
        pelton: tune apply: earlier changes are not confirmed yet
        hint:   run pelton tune confirm to keep these changes, or pelton tune revert to revert them
    "#]]
    .assert_eq(&err);
    assert_eq!(space.tune(&["confirm"]).0, 0);
    eventually("the guard ends", || {
        let status = space.status();
        (status["state"] == "confirmed").then_some(())
    });
    let (code, out, _) = space.apply(&[]);
    assert_eq!(
        (code, out.as_str()),
        (
            0,
            "nothing to change: every setting of the plan already has the recommended value\n"
        )
    );
    let (code, out, err) = space.tune(&["revert"]);
    assert_eq!(
        (code, out, err),
        (
            0,
            format!("reverted changes: {listed}, remaining: 0\n"),
            String::new()
        )
    );
    space.assert_unchanged(&before);
}

#[test]
fn unconfirmed_changes_end_although_the_terminal_is_gone() {
    let Some(space) = Space::new() else { return };
    let before = space.snapshot();
    // The shell ends its whole process group, as the end of a terminal does.
    let script = format!(
        "'{}' tune apply --this-namespace --timeout 10s && kill -HUP 0",
        env!("CARGO_BIN_EXE_pelton")
    );
    // The test itself may run with the signal ignored, as under nohup.
    let words = ["env", "--default-signal=HUP", "sh", "-c", &script];
    let mut command = space.command(&words);
    let output = command.process_group(0).output().expect("a shell");
    assert_eq!(output.status.code(), None, "the signal ends the shell");
    assert_ne!(
        differences(&before, &space.snapshot()),
        Vec::<String>::new()
    );
    eventually("the guard takes the changes back", || {
        differences(&before, &space.snapshot())
            .is_empty()
            .then_some(())
    });
    eventually("the journal says so", || {
        (space.status()["state"] == "reverted").then_some(())
    });
    assert_eq!(space.tune(&["confirm"]).0, 2);
}

/// Returns the number of messages that an apply sends to the kernel before its journal begins. They
/// only read.
fn messages_before_journal(space: &Space) -> usize {
    let own = ["strace", "-qq", "-o", "calls", "-e", "trace=sendto,fsync"];
    let apply = [env!("CARGO_BIN_EXE_pelton"), "tune", "apply"];
    let flags = ["--this-namespace", "--include", "nic.rss"];
    assert!(
        space
            .output(&[&own[..], &apply, &flags].concat())
            .status
            .success()
    );
    assert_eq!(space.tune(&["revert"]).0, 0);
    let calls = fs::read_to_string(space.home.directory().join("calls")).expect("strace wrote it");
    let before = calls.lines().take_while(|line| !line.starts_with("fsync("));
    before.filter(|line| line.starts_with("sendto(")).count()
}

/// Runs an apply without a guard, and kills it before its system call `call` number `step`. Returns
/// whether it had fewer such calls, and so was not killed.
fn apply_until(space: &Space, call: &str, step: usize) -> bool {
    let inject = format!("inject={call}:signal=KILL:when={step}");
    // The guard ends with the process namespace, so that only `revert` can take changes back.
    let words = [
        "strace",
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        &inject,
        "unshare",
        "-p",
        "-f",
        env!("CARGO_BIN_EXE_pelton"),
        "tune",
        "apply",
        "--this-namespace",
        "--include",
        "nic.rss",
    ];
    space.output(&words).status.success()
}

#[test]
fn a_kill_at_any_step_leaves_what_revert_takes_back() {
    let Some(space) = Space::new() else { return };
    if !can_trace() {
        return;
    }
    let before = space.snapshot();
    let messages = messages_before_journal(&space);
    let (mut kills, mut partial) = (0, 0);
    for call in CALLS {
        let first = match call {
            "sendto" => messages,
            _ => 1,
        };
        for step in first.. {
            assert!(step < CALLS_MAX, "an apply has fewer calls of {call}");
            let is_whole = apply_until(&space, call, step);
            kills += usize::from(!is_whole);
            let changed = differences(&before, &space.snapshot());
            partial += usize::from(!is_whole && !changed.is_empty());
            let (code, _, err) = space.tune(&["revert"]);
            assert_eq!((code, err.as_str()), (0, ""), "{call} {step}");
            let left = differences(&before, &space.snapshot());
            assert_eq!(left, Vec::<String>::new(), "{call} {step}");
            if is_whole {
                break;
            }
        }
    }
    // Each change has a line of the journal, the sync of the line, and the write of the value.
    assert!(
        15 <= kills && 12 <= partial,
        "{kills} kills, {partial} of them with changes"
    );
}

#[test]
fn after_a_hangup_during_apply_the_guard_takes_the_changes_back() {
    let Some(space) = Space::new() else { return };
    if !can_trace() {
        return;
    }
    let before = space.snapshot();
    // The fourth line of a change is in the journal, and three changes are made. The guard is not
    // traced, and would wait for an hour if the apply ended well.
    // The test itself may run with the signal ignored, as under nohup.
    let words = [
        "env",
        "--default-signal=HUP",
        "strace",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        "inject=fdatasync:signal=HUP:when=4",
        env!("CARGO_BIN_EXE_pelton"),
        "tune",
        "apply",
        "--this-namespace",
        "--timeout",
        "1h",
    ];
    let output = space.output(&words);
    assert_eq!(output.status.code(), None, "the signal ends strace, too");
    eventually("the guard takes the changes back", || {
        (space.status()["state"] == "reverted").then_some(())
    });
    space.assert_unchanged(&before);
    let journal = space.home.directory().join("pelton-data/tune/journal");
    let journal = fs::read_to_string(journal).expect("the apply has begun");
    let count = |record: &str| journal.matches(&format!("\"record\":\"{record}\"")).count();
    assert_eq!((count("intent"), count("restored")), (4, 4), "{journal}");
}

#[test]
fn without_its_guard_status_says_so_and_revert_works() {
    let Some(space) = Space::new() else { return };
    let before = space.snapshot();
    // The guard ends with the process namespace.
    let words = [
        "unshare",
        "-p",
        "-f",
        env!("CARGO_BIN_EXE_pelton"),
        "tune",
        "apply",
        "--this-namespace",
    ];
    assert!(space.output(&words).status.success());
    let (code, out, _) = space.tune(&["status"]);
    assert_eq!(code, 1);
    assert!(out.starts_with("the changes are not confirmed, and the process that should revert the changes has ended: run pelton tune confirm or pelton tune revert\n"), "{out}");
    assert_eq!(space.tune(&["revert"]).0, 0);
    space.assert_unchanged(&before);
}

#[test]
fn queues_of_an_interface_are_changed_and_restored() {
    let Some(space) = Space::new() else { return };
    let count = || {
        let script = "ls -d /sys/class/net/veth0/queues/rx-* | wc -l";
        let output = space.output(&["sh", "-c", script]);
        String::from_utf8(output.stdout).expect("a number")
    };
    let (_, plan, _) = space.tune(&["plan", "--json", "--this-namespace", "--include", "nic.rss"]);
    let plan: Value = serde_json::from_str(&plan).expect("the plan is JSON");
    let changes = plan["changes"].as_array().expect("a list");
    let queues = changes
        .iter()
        .find(|change| change["setting"] == "veth0 receive queues");
    let Some(queues) = queues else {
        eprintln!("skipped: veth has one queue on a machine with one processor");
        return;
    };
    let before = count();
    assert_eq!(before, "1\n");
    let (code, out, err) = space.apply(&["--include", "nic.rss"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert_eq!(count().trim(), queues["new"].as_str().expect("a value"));
    assert_eq!(space.tune(&["revert"]).0, 0);
    assert_eq!(count(), before);
}

#[test]
fn queueing_disciplines_are_changed_and_restored() {
    let Some(space) = Space::new() else { return };
    let has_queues = space
        .output(&[
            "ip",
            "link",
            "add",
            "ifb0",
            "numtxqueues",
            "2",
            "type",
            "ifb",
        ])
        .status
        .success();
    if !has_queues {
        eprintln!("skipped: the kernel has no interface with queues that belongs to a namespace");
        return;
    }
    space.shell("ip link set ifb0 up");
    let before = space.snapshot();
    let (code, out, err) = space.apply(&["--include", "q.noqueue"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(
        out.lines()
            .any(|line| line.starts_with("ifb0 qdisc: mq ") && line.ends_with("noqueue 7e17: now")),
        "{out}"
    );
    let applied = space.snapshot();
    assert!(
        applied.contains("\nqdisc noqueue 7e17: dev ifb0 root\n"),
        "{applied}"
    );
    assert_eq!(space.tune(&["revert"]).0, 0);
    assert_eq!(space.snapshot(), before);
    // Not every kernel has fq.
    let (code, _, err) = space.apply(&["--include", "q.fq"]);
    if code == 0 {
        assert!(space.snapshot().contains("qdisc fq 7e17: dev veth0 root"));
        assert_eq!(space.tune(&["revert"]).0, 0);
    } else {
        assert_eq!(code, 3);
        assert!(
            err.ends_with(" qdisc: not supported by this kernel or driver\ncause:  all changes of this run were reverted\nhint:   add --exclude q.fq to leave this row out of the plan\n"),
            "{err}"
        );
    }
    assert_eq!(space.snapshot(), before);
}

#[test]
fn an_interface_that_is_gone_is_given_up_by_force() {
    let Some(space) = Space::new() else { return };
    assert_eq!(space.apply(&[]).0, 0);
    assert_eq!(space.tune(&["confirm"]).0, 0);
    space.shell("ip link del veth0");
    let (code, _, err) = space.tune(&["revert"]);
    assert_eq!(code, 1);
    assert!(err.contains(": does not exist here; "), "{err}");
    assert!(
        err.ends_with(
            "\nhint:   pelton tune revert --force skips this setting and reverts the others\n"
        ),
        "{err}"
    );
    assert_eq!(space.tune(&["revert", "--force"]).0, 0);
    assert_eq!(space.status()["state"], "reverted");
    let backlog = space.output(&["cat", "/proc/sys/net/core/somaxconn"]);
    assert_eq!(backlog.stdout, b"128\n");
}

/// Runs a subcommand while each sync of the journal from the `first`th on fails as on a full disk.
fn tune_on_full_disk(space: &Space, first: usize, words: &[&str]) -> (i32, String) {
    let inject = format!("inject=fdatasync:error=ENOSPC:when={first}+");
    let own = ["strace", "-qq", "-o", "/dev/null", "-e", &inject];
    let program = [env!("CARGO_BIN_EXE_pelton"), "tune"];
    let output = space.output(&[&own[..], &program, words].concat());
    let err = String::from_utf8(output.stderr).expect("the messages are text");
    (output.status.code().expect("it was not killed"), err)
}

#[test]
fn a_full_disk_keeps_no_change_applied() {
    let Some(space) = Space::new() else { return };
    if !can_trace() {
        return;
    }
    let before = space.snapshot();
    let (code, err) = tune_on_full_disk(&space, 3, &["apply", "--this-namespace"]);
    assert_eq!(code, 3);
    assert!(
        err.contains("/journal: No space left on device (os error 28)\ncause:  all changes of this run were reverted, but the journal could not record these reverts: "),
        "{err}"
    );
    space.assert_unchanged(&before);
    // The guard records the end of the changes when it can.
    eventually("the journal is complete", || {
        (space.status()["state"] == "reverted").then_some(())
    });
    // The guard holds the lock until it has ended.
    eventually("changes can be applied again", || {
        (space.apply(&[]).0 == 0).then_some(())
    });
    let (code, err) = tune_on_full_disk(&space, 1, &["confirm"]);
    assert_eq!(code, 3, "{err}");
    assert_eq!(space.status()["state"], "waiting");
    let (code, err) = tune_on_full_disk(&space, 2, &["revert"]);
    assert_eq!(code, 3, "{err}");
    space.assert_unchanged(&before);
    let (code, out, err) = space.tune(&["revert"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert_eq!(space.status()["state"], "reverted");
}

#[test]
fn the_guard_tries_again_while_a_setting_is_busy() {
    let Some(space) = Space::new() else { return };
    if !can_trace() {
        return;
    }
    let before = space.snapshot();
    let (code, out, _) = space.apply(&["--timeout", "10s"]);
    assert_eq!(code, 0);
    // The tracer takes the place of the guard that apply has started.
    let guard = out.lines().find_map(|line| {
        let (_, rest) = line.split_once("; process ")?;
        rest.split_once(' ')?.0.parse().ok()
    });
    signal(guard.expect("apply names its guard"), Signal::KILL);
    let words = [
        "strace",
        "-qq",
        "-o",
        "/dev/null",
        "-P",
        "/proc/sys/net/core/somaxconn",
        "-e",
        "inject=write:error=EBUSY:when=1..2",
        env!("CARGO_BIN_EXE_pelton"),
        "tune",
        "guard",
        "--session",
        "1",
        "--data",
        "pelton-data",
    ];
    let mut command = space.command(&words);
    let (mut ours, theirs) = UnixStream::pair().expect("sockets");
    let child = command
        .stdin(OwnedFd::from(theirs))
        .stderr(Stdio::piped())
        .spawn()
        .expect("nsenter is part of every Debian");
    drop(command);
    // The guard is ready, and learns from the end of the connection that the apply has ended.
    ours.read_exact(&mut [0]).expect("the guard has started");
    drop(ours);
    let output = child.wait_with_output().expect("a child of our own");
    let err = String::from_utf8(output.stderr).expect("the messages are text");
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert_eq!(
        err.matches("not reverted: /proc/sys/net/core/somaxconn: cannot write 128: Device or resource busy (os error 16)\n").count(),
        2,
        "{err}"
    );
    space.assert_unchanged(&before);
    assert_eq!(space.status()["state"], "reverted");
}

#[test]
fn a_refused_change_takes_the_others_back() {
    let Some(space) = Space::new() else { return };
    let before = space.snapshot();
    // Without aggregation, veth has nothing that a thread could process.
    let (code, _, err) = space.apply(&["--include", "nic.threaded"]);
    if code == 0 {
        eprintln!("skipped: veth accepts threads here");
        return;
    }
    assert_eq!(code, 3);
    assert!(
        err.starts_with("pelton: tune apply: cannot write 1 to /sys/class/net/veth"),
        "{err}"
    );
    assert!(
        err.ends_with("\ncause:  all changes of this run were reverted\nhint:   add --exclude nic.threaded to leave this row out of the plan\n"),
        "{err}"
    );
    space.assert_unchanged(&before);
    assert_eq!(space.status()["state"], "reverted");
}

#[test]
fn a_value_of_another_program_is_reported_and_only_overwritten_by_force() {
    let Some(space) = Space::new() else { return };
    let before = space.snapshot();
    assert_eq!(space.apply(&[]).0, 0);
    assert_eq!(space.tune(&["confirm"]).0, 0);
    space.shell("echo 9999 > /proc/sys/net/core/somaxconn");
    let (code, out, _) = space.tune(&["status"]);
    assert_eq!(code, 1);
    assert!(
        out.contains("/proc/sys/net/core/somaxconn: 128 before, 4096 applied, now 9999"),
        "{out}"
    );
    let (code, _, err) = space.tune(&["revert"]);
    assert_eq!(code, 1);
    expect![[r#"
        pelton: tune revert: /proc/sys/net/core/somaxconn is 9999, but tune had changed it from 128 to 4096: another program has changed it since
        hint:   pelton tune revert --force restores the old values nevertheless
    "#]]
    .assert_eq(&err);
    assert_eq!(space.tune(&["revert", "--force"]).0, 0);
    space.assert_unchanged(&before);
}

#[test]
fn another_namespace_than_the_hosts_is_refused() {
    let Some(space) = Space::new() else { return };
    let before = space.snapshot();
    let (code, _, err) = space.tune(&["apply"]);
    assert_eq!(code, 2);
    assert!(err.ends_with(", not that of the host: the process may be in a container\nhint:   run pelton tune on the host, or give --this-namespace to change only the settings of this namespace\n"), "{err}");
    // Without a mount of its own, /sys shows the interfaces of the host.
    let user: &[&str] = match space.is_root {
        true => &[],
        false => &["-U", "--preserve-credentials"],
    };
    let script = format!(
        "'{}' tune plan --this-namespace",
        env!("CARGO_BIN_EXE_pelton")
    );
    let words = [
        "-n",
        "-t",
        &space.keeper.id().to_string(),
        "sh",
        "-c",
        &script,
    ];
    let output = Command::new("nsenter")
        .args(user)
        .args(words)
        .current_dir(space.home.directory())
        .output()
        .expect("a shell");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "pelton: tune: /sys shows the interfaces of another network namespace\nhint:   mount sysfs again in this network namespace, as ip netns exec does\n"
    );
    space.assert_unchanged(&before);
}

#[test]
fn without_privileges_the_message_says_what_is_needed() {
    let Some(space) = Space::new() else { return };
    let before = space.snapshot();
    if !space.is_root {
        eprintln!("skipped: only root may run a program as another user");
        return;
    }
    // The other user may not enter the directory of the test.
    let folder = std::env::temp_dir().join(format!("pelton-tune-nobody-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary directory");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("a temporary directory");
    let program = folder.join("pelton");
    fs::copy(env!("CARGO_BIN_EXE_pelton"), &program).expect("a temporary directory");
    let data = folder.join("data");
    let words = [
        "setpriv",
        "--reuid",
        NOBODY,
        "--regid",
        NOBODY,
        "--clear-groups",
        program.to_str().expect("the path is text"),
        "tune",
        "apply",
        "--this-namespace",
        "--data",
        data.to_str().expect("the path is text"),
    ];
    // While another thread of the tests starts a process, that process has the copy open for
    // writing, and the kernel does not execute it.
    let output = eventually("the copy can be executed", || {
        let output = space.output(&words);
        (output.status.code() != Some(126)).then_some(output)
    });
    fs::remove_dir_all(folder).expect("the directory exists");
    let err = String::from_utf8(output.stderr).expect("messages are text");
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(
        err.starts_with("pelton: tune apply: cannot write /"),
        "{err}"
    );
    assert!(err.ends_with(": permission denied\ncause:  only root may change settings of the host\nhint:   run sudo pelton tune apply\n"), "{err}");
    space.assert_unchanged(&before);
}

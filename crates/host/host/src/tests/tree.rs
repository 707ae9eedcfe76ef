//! Facts from recorded trees of `/proc` and `/sys`.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use host_checks::{Facts, Unread};

use crate::files::{self, Roots};
use crate::route::Link;
use crate::{interfaces, kernel, network, process, server};

/// Temporary directory with the files of a recording. It is removed when dropped.
struct Tree(PathBuf);

impl Tree {
    /// Creates the directory and writes the files. `files` are pairs of path and text.
    fn new(name: &str, files: &[(&str, &str)]) -> Tree {
        let root = std::env::temp_dir().join(format!("pelton-host-{name}-{}", std::process::id()));
        let tree = Tree(root);
        for (path, text) in files {
            tree.put(path, text);
        }
        tree
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("the tree has a root"))
            .expect("a writable directory");
        fs::write(path, text).expect("a writable directory");
    }

    fn roots(&self) -> Roots {
        Roots {
            proc: self.0.join("proc"),
            sys: self.0.join("sys"),
        }
    }

    /// Compares a value's debug text, in which the path of the tree is removed.
    fn check(&self, value: &dyn std::fmt::Debug, expected: Expect) {
        let text = format!("{value:?}").replace(&format!("{}/", self.0.display()), "");
        expected.assert_eq(&text);
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("the tree exists");
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

#[test]
fn kernel_processors_and_memory() {
    let tree = Tree::new(
        "kernel",
        &[
            ("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"),
            ("proc/cmdline", "root=/dev/sda1 mitigations=off\n"),
            ("proc/12/comm", "irqbalance\n"),
            ("proc/uptime", "1\n"),
            (
                "sys/devices/system/cpu/vulnerabilities/mds",
                "Not affected\n",
            ),
            (
                "sys/devices/system/cpu/vulnerabilities/spectre_v2",
                "Mitigation: IBRS; RSB filling\n",
            ),
            (
                "sys/devices/system/clocksource/clocksource0/current_clocksource",
                "tsc\n",
            ),
            ("sys/devices/system/cpu/online", "0-1\n"),
            (
                "sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
                "0-1\n",
            ),
            (
                "sys/devices/system/cpu/cpu1/topology/thread_siblings_list",
                "0-1\n",
            ),
            ("sys/devices/system/node/node0/cpulist", "0-1\n"),
            (
                "sys/kernel/mm/transparent_hugepage/enabled",
                "always [madvise] never\n",
            ),
        ],
    );
    let found = kernel::kernel(&tree.roots(), soon());
    let late = kernel::kernel(&tree.roots(), Instant::now());
    assert_eq!(late.has_irqbalance.value, Err(Unread::TimedOut));
    tree.check(&found.release, expect![[r#"Fact { source: "proc/sys/kernel/osrelease", text: "6.1.0-18-amd64", value: Ok(Release(6, 1)) }"#]]);
    tree.check(&found.vulnerabilities, expect![[r#"Fact { source: "sys/devices/system/cpu/vulnerabilities/*", text: "spectre_v2: Mitigation: IBRS; RSB filling", value: Ok([("mds", "Not affected"), ("spectre_v2", "Mitigation: IBRS; RSB filling")]) }"#]]);
    tree.check(&found.clock_source.value, expect![[r#"Ok("tsc")"#]]);
    tree.check(
        &found.has_irqbalance,
        expect![[
            r#"Fact { source: "proc/*/comm", text: "irqbalance is running", value: Ok(true) }"#
        ]],
    );
    let cpu = kernel::processors(&tree.roots());
    tree.check(&cpu.siblings, expect![[r#"Fact { source: "sys/devices/system/cpu/cpu*/topology/thread_siblings_list", text: "0-1", value: Ok([Cpus({0, 1})]) }"#]]);
    tree.check(&cpu.governors, expect![[r#"Fact { source: "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor", text: "", value: Err(Absent) }"#]]);
    let memory = kernel::memory(&tree.roots());
    tree.check(&memory.huge_pages.value, expect![[r#"Ok("madvise")"#]]);
    tree.check(&memory.nodes.value, expect!["Ok([Cpus({0, 1})])"]);
}

#[test]
fn an_empty_tree_yields_reasons_and_no_values() {
    let tree = Tree::new("empty", &[("proc/x", ""), ("sys/x", "")]);
    let facts = Facts {
        kernel: kernel::kernel(&tree.roots(), soon()),
        memory: kernel::memory(&tree.roots()),
        process: process::process(&tree.roots(), "self", soon()),
        ..Facts::default()
    };
    assert_eq!(facts.kernel.release.value, Err(Unread::Absent));
    assert_eq!(facts.kernel.vulnerabilities.value, Err(Unread::Absent));
    assert_eq!(facts.memory.nodes.value, Err(Unread::Absent));
    assert_eq!(facts.process.quota.value, Err(Unread::Absent));
    assert_eq!(facts.process.descriptors.value, Err(Unread::Absent));
}

#[test]
fn content_in_another_form_is_unknown() {
    let tree = Tree::new(
        "malformed",
        &[
            ("proc/sys/kernel/osrelease", "unknown\n"),
            ("sys/devices/system/cpu/online", "all\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always\n"),
        ],
    );
    assert_eq!(
        kernel::kernel(&tree.roots(), soon()).release.value,
        Err(Unread::Malformed)
    );
    let cpu = kernel::processors(&tree.roots());
    assert_eq!(cpu.online.value, Err(Unread::Malformed));
    // Without the list of processors, what each of them has is unknown, too.
    assert_eq!(cpu.governors.value, Err(Unread::Malformed));
    assert_eq!(cpu.siblings.value, Err(Unread::Malformed));
    assert_eq!(
        kernel::memory(&tree.roots()).huge_pages.value,
        Err(Unread::Malformed)
    );
}

const STATUS: &str = "Name:\tpelton\nSeccomp:\t2\nSeccomp_filters:\t1\nCpus_allowed_list:\t0-1,3\n";
const LIMITS: &str = "Limit                     Soft Limit           Hard Limit           Units     \n\
    Max open files            1024                 524288               files     \n\
    Max locked memory         unlimited            unlimited            bytes     \n";

#[test]
fn process_in_a_group_of_version_2() {
    let tree = Tree::new(
        "group2",
        &[
            ("proc/9/status", STATUS),
            ("proc/9/limits", LIMITS),
            ("proc/9/cgroup", "0::/system.slice/pelton.service\n"),
            ("proc/9/task/9/comm", "pelton\n"),
            ("proc/9/task/9/status", STATUS),
            ("proc/9/task/10/comm", "core-0\n"),
            ("proc/9/task/10/status", "Cpus_allowed_list:\t3\n"),
            ("proc/9/fd/0", ""),
            ("proc/9/fd/1", ""),
            (
                "sys/fs/cgroup/system.slice/pelton.service/cpu.max",
                "max 100000\n",
            ),
            (
                "sys/fs/cgroup/system.slice/pelton.service/cpu.stat",
                "usage_usec 5\nnr_periods 0\nnr_throttled 0\n",
            ),
            ("sys/fs/cgroup/system.slice/cpu.max", "150000 100000\n"),
            (
                "sys/fs/cgroup/system.slice/cpu.stat",
                "usage_usec 5\nnr_periods 40\nnr_throttled 3\n",
            ),
            ("sys/fs/cgroup/cpuset.cpus.effective", "0-3\n"),
        ],
    );
    let late = process::process(&tree.roots(), "9", Instant::now());
    assert_eq!(late.threads.value, Err(Unread::TimedOut));
    let found = process::process(&tree.roots(), "9", soon());
    tree.check(&found.allowed, expect![[r#"Fact { source: "proc/9/status Cpus_allowed_list", text: "0-1,3", value: Ok(Cpus({0, 1, 3})) }"#]]);
    tree.check(&found.quota, expect![[r#"Fact { source: "sys/fs/cgroup/system.slice/cpu.max", text: "150000 100000", value: Ok(Quota { quota_us: Some(150000), period_us: 100000 }) }"#]]);
    tree.check(&found.throttling, expect![[r#"Fact { source: "sys/fs/cgroup/system.slice/cpu.stat", text: "usage_usec 5 nr_periods 40 nr_throttled 3", value: Ok(Throttling { periods: 40, throttled: 3 }) }"#]]);
    tree.check(&found.cpuset, expect![[r#"Fact { source: "sys/fs/cgroup/cpuset.cpus.effective", text: "0-3", value: Ok(Cpus({0, 1, 2, 3})) }"#]]);
    tree.check(&found.threads, expect![[r#"Fact { source: "proc/9/task/*/status Cpus_allowed_list", text: "2 threads; core-0 3", value: Ok([Thread { name: "core-0", allowed: Cpus({3}) }, Thread { name: "pelton", allowed: Cpus({0, 1, 3}) }]) }"#]]);
    tree.check(&found.seccomp.value, expect!["Ok(2)"]);
    tree.check(&found.seccomp_filters.value, expect!["Ok(1)"]);
    tree.check(&found.descriptors_max, expect![[r#"Fact { source: "proc/9/limits Max open files", text: "1024 524288 files", value: Ok(Bounds { soft: 1024, hard: 524288 }) }"#]]);
    tree.check(
        &found.locked_bytes_max.value,
        expect!["Ok(Bounds { soft: 18446744073709551615, hard: 18446744073709551615 })"],
    );
    tree.check(&found.descriptors.value, expect!["Ok(2)"]);
}

#[test]
fn process_in_a_group_of_version_1() {
    let tree = Tree::new(
        "group1",
        &[
            (
                "proc/9/cgroup",
                "5:cpu,cpuacct:/docker/ab\n4:cpuset:/\n0::/\n",
            ),
            ("sys/fs/cgroup/cpu/docker/ab/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/docker/ab/cpu.cfs_period_us", "100000\n"),
            (
                "sys/fs/cgroup/cpu/docker/ab/cpu.stat",
                "nr_periods 8\nnr_throttled 8\nthrottled_time 5\n",
            ),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-1\n"),
        ],
    );
    let found = process::process(&tree.roots(), "9", soon());
    tree.check(&found.quota, expect![[r#"Fact { source: "sys/fs/cgroup/cpu/docker/ab/cpu.cfs_quota_us", text: "50000", value: Ok(Quota { quota_us: Some(50000), period_us: 100000 }) }"#]]);
    tree.check(&found.throttling, expect![[r#"Fact { source: "sys/fs/cgroup/cpu/docker/ab/cpu.stat", text: "nr_periods 8 nr_throttled 8 throttled_time 5", value: Ok(Throttling { periods: 8, throttled: 8 }) }"#]]);
    tree.check(&found.cpuset.value, expect!["Ok(Cpus({0, 1}))"]);
}

#[test]
fn settings_and_counters_of_the_network() {
    let tree = Tree::new(
        "network",
        &[
            ("proc/sys/net/core/somaxconn", "4096\n"),
            ("proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304\n"),
            ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
            (
                "proc/net/netstat",
                "TcpExt: TW ListenOverflows ListenDrops\nTcpExt: 5 2 3\nIpExt: A\nIpExt: 1\n",
            ),
            (
                "proc/net/softnet_stat",
                "0003e7bb 00000001 00000000\n00040c2e 0000000a 00000002\n",
            ),
            ("proc/net/ip_tables_names", "filter\nnat\n"),
        ],
    );
    let found = network::network(&tree.roots(), soon());
    tree.check(
        &found.somaxconn,
        expect![[
            r#"Fact { source: "proc/sys/net/core/somaxconn", text: "4096", value: Ok(4096) }"#
        ]],
    );
    tree.check(&found.write_bytes_max.value, expect!["Ok(4194304)"]);
    tree.check(&found.ports.value, expect!["Ok(28232)"]);
    tree.check(
        &found.listen_overflows,
        expect![[
            r#"Fact { source: "proc/net/netstat TcpExt:ListenOverflows", text: "2", value: Ok(2) }"#
        ]],
    );
    tree.check(&found.listen_drops.value, expect!["Ok(3)"]);
    tree.check(
        &found.softnet_dropped,
        expect![[r#"Fact { source: "proc/net/softnet_stat dropped", text: "11", value: Ok(11) }"#]],
    );
    tree.check(&found.softnet_squeezed.value, expect!["Ok(2)"]);
    tree.check(&found.tables, expect![[r#"Fact { source: "proc/net/ip*_tables_names", text: "filter, nat", value: Ok(["filter", "nat"]) }"#]]);
    tree.check(&found.busy_poll.value, expect!["Err(Absent)"]);
}

#[test]
fn packet_sockets_have_owners() {
    let tree = Tree::new(
        "taps",
        &[
            (
                "proc/net/packet",
                "sk RefCnt Type Proto Iface R Rmem User Inode\n0 3 3 0003 2 1 0 0 771\n0 3 3 0003 2 1 0 0 9\n",
            ),
            ("proc/412/comm", "dhclient\n"),
            ("proc/412/fd/0", ""),
        ],
    );
    fs::remove_file(tree.0.join("proc/412/fd/0")).expect("the file exists");
    let link = tree.0.join("proc/412/fd/5");
    std::os::unix::fs::symlink("socket:[771]", link).expect("a writable directory");
    tree.check(
        &network::network(&tree.roots(), soon()).taps.value,
        expect![[r#"Ok([Tap { inode: 771, owner: Some("dhclient (412)") }, Tap { inode: 9, owner: None }])"#]],
    );
}

#[test]
fn files_of_an_interface() {
    let tree = Tree::new(
        "interface",
        &[
            ("sys/class/net/eth0/queues/rx-0/rps_cpus", "3\n"),
            ("sys/class/net/eth0/queues/rx-0/rps_flow_cnt", "4096\n"),
            ("sys/class/net/eth0/queues/tx-0/tx_timeout", "0\n"),
            ("sys/class/net/eth0/statistics/rx_missed_errors", "5\n"),
            ("sys/class/net/eth0/statistics/rx_fifo_errors", "2\n"),
            ("sys/class/net/eth0/threaded", "0\n"),
            ("sys/class/net/eth0/napi_defer_hard_irqs", "2\n"),
            ("sys/class/net/eth0/gro_flush_timeout", "200000\n"),
            ("sys/devices/virtio2/numa_node", "-1\n"),
            (
                "proc/interrupts",
                "      CPU0 CPU1\n 33: 0 0 PCI-MSIX 0-edge virtio2-config\n 34: 41 0 PCI-MSIX 1-edge virtio2-input.0\n 35: 0 7 PCI-MSIX 2-edge virtio2-output.0\n 36: 0 7 PCI-MSIX 2-edge virtio20-output.0\n",
            ),
            ("proc/irq/34/effective_affinity_list", "\n"),
            ("proc/irq/34/smp_affinity_list", "0-1\n"),
            ("proc/irq/35/effective_affinity_list", "1\n"),
        ],
    );
    let device = tree.0.join("sys/class/net/eth0/device");
    std::os::unix::fs::symlink("../../../devices/virtio2", device).expect("a writable directory");
    let link = Link {
        index: 2,
        name: "eth0".to_owned(),
        address: String::new(),
        kind: String::new(),
        has_xdp: false,
        is_up: true,
        is_loopback: false,
    };
    let found = interfaces::of_files(&tree.roots(), &link);
    tree.check(
        &found.receive_queues,
        expect![[r#"Fact { source: "sys/class/net/eth0/queues/rx-*", text: "1", value: Ok(1) }"#]],
    );
    tree.check(&found.receive_cpus, expect![[r#"Fact { source: "sys/class/net/eth0/queues/rx-*/rps_cpus", text: "0-1", value: Ok([Cpus({0, 1})]) }"#]]);
    tree.check(&found.receive_flows.value, expect!["Ok(4096)"]);
    tree.check(&found.transmit_cpus, expect![[r#"Fact { source: "sys/class/net/eth0/queues/tx-*/xps_cpus", text: "", value: Err(Absent) }"#]]);
    tree.check(&found.interrupts, expect![[r#"Fact { source: "proc/interrupts", text: "34 on 0-1, 35 on 1", value: Ok([Interrupt { number: 34, cpus: Cpus({0, 1}) }, Interrupt { number: 35, cpus: Cpus({1}) }]) }"#]]);
    tree.check(&found.ring_drops, expect![[r#"Fact { source: "sys/class/net/eth0/statistics/rx_missed_errors + rx_fifo_errors", text: "7", value: Ok(7) }"#]]);
    tree.check(&found.deferred_interrupts.value, expect!["Ok(2)"]);
    tree.check(
        &found.node,
        expect![[
            r#"Fact { source: "sys/class/net/eth0/device/numa_node", text: "-1", value: Ok(-1) }"#
        ]],
    );
}

#[test]
fn a_file_beyond_the_limit_is_unknown() {
    let long = "x".repeat((4 << 20) + 1);
    let tree = Tree::new("long", &[("proc/cmdline", &long)]);
    let found = kernel::kernel(&tree.roots(), soon());
    assert_eq!(found.arguments.value, Err(Unread::TooLong));
}

#[test]
fn a_token_is_read_without_its_line_end_and_never_shown() {
    let tree = Tree::new("token", &[("token", " secret\n")]);
    tree.check(
        &crate::token(&tree.0.join("token")),
        expect![[r#"Fact { source: "admin_token_file token", text: "", value: Ok("secret") }"#]],
    );
    tree.check(
        &crate::token(&tree.0.join("absent")),
        expect![[r#"Fact { source: "admin_token_file absent", text: "", value: Err(Absent) }"#]],
    );
}

#[test]
fn the_holder_of_a_data_directory() {
    let tree = Tree::new(
        "holder",
        &[
            ("data/lock", "41 pelton serve\n"),
            (
                "proc/locks",
                "1: FLOCK  ADVISORY  WRITE 410 fe:00:77 0 EOF\n2: POSIX  ADVISORY  WRITE 41 fe:00:78 0 EOF\n",
            ),
        ],
    );
    let data = tree.0.join("data");
    let holder = || server::holder(&tree.roots(), &data).value;
    assert_eq!(holder(), Err(Unread::NoServer));
    let file = std::fs::metadata(data.join("lock")).expect("it was written");
    let inode = std::os::unix::fs::MetadataExt::ino(&file);
    for line in [
        format!("2: -> FLOCK  ADVISORY  WRITE 41 fe:00:{inode} 0 EOF\n"),
        format!("2: FLOCK  ADVISORY  WRITE 41 fe:00:{} 0 EOF\n", inode + 1),
    ] {
        tree.put("proc/locks", &line);
        assert_eq!(holder(), Err(Unread::NoServer), "{line}");
    }
    let held = format!("2: FLOCK  ADVISORY  WRITE 41 fe:00:{inode} 0 EOF\n");
    tree.put("proc/locks", &held);
    assert_eq!(holder(), Ok(41));
    tree.put("data/lock", "");
    assert_eq!(holder(), Err(Unread::NoServer));
}

#[test]
fn evidence_is_one_short_line() {
    assert_eq!(files::shown("a\n b\t c"), "a b c");
    let long = files::shown(&"é".repeat(200));
    assert_eq!((long.chars().count(), long.ends_with('…')), (81, true));
}

//! Rows about the kernel, limits, TCP, firewalls, packet taps, audit and seccomp.

use expect_test::expect;

use super::{check, kernel, known};
use crate::{
    Audit, Bounds, Cpus, Fact, Facts, Interface, Qdisc, Quota, Tap, Throttling, Unread, judge,
};

#[test]
fn backlog() {
    let backlog = |accept, syn| {
        let mut facts = Facts::default();
        facts.network.somaxconn = known(accept);
        facts.network.syn_backlog = known(syn);
        facts
    };
    check(
        "tcp.backlog",
        &backlog(128, 4096),
        expect![
            "gain: at most 128 connections may wait to be accepted; the server requests 4096 (2 pieces of evidence) > sysctl -w net.core.somaxconn=4096 net.ipv4.tcp_max_syn_backlog=4096, then restart the server"
        ],
    );
    check(
        "tcp.backlog",
        &backlog(65_535, 512),
        expect![
            "gain: at most 512 handshakes may be in progress (2 pieces of evidence) > sysctl -w net.core.somaxconn=65535 net.ipv4.tcp_max_syn_backlog=4096, then restart the server"
        ],
    );
    check(
        "tcp.backlog",
        &backlog(4096, 1024),
        expect![
            "fine: 4096 connections may wait to be accepted, and 1024 handshakes may be in progress (2 pieces of evidence)"
        ],
    );
    let mut denied = backlog(4096, 1024);
    denied.network.syn_backlog = Fact::unknown("/proc/x", Unread::Denied);
    check(
        "tcp.backlog",
        &denied,
        expect![
            "unknown: /proc/x: permission denied; run as root to read this value (1 pieces of evidence)"
        ],
    );
}

#[test]
fn overflows() {
    let overflows = |overflows, drops| {
        let mut facts = Facts::default();
        facts.network.listen_overflows = known(overflows);
        facts.network.listen_drops = known(drops);
        facts
    };
    check(
        "tcp.overflows",
        &overflows(0, 0),
        expect!["fine: no backlog has overflowed since boot (3 pieces of evidence)"],
    );
    check(
        "tcp.overflows",
        &overflows(0, 3),
        expect![
            "tradeoff: since boot, 3 handshakes were dropped, none because of a full backlog (counted over the sockets of all programs) (3 pieces of evidence)"
        ],
    );
    check(
        "tcp.overflows",
        &overflows(7, 9),
        expect![
            "problem: since boot, 7 handshakes found a full backlog (counted over the sockets of all programs); run the report again to see if the number still grows (3 pieces of evidence)"
        ],
    );
}

#[test]
fn congestion_control() {
    let with = |name: &str, qdisc: Option<&str>| {
        let mut facts = Facts::default();
        facts.network.congestion_control = known(name.to_owned());
        facts.interfaces = match qdisc {
            None => Fact::unknown("netlink RTM_GETLINK", Unread::TimedOut),
            Some(kind) => known(vec![Interface {
                name: "eth0".to_owned(),
                qdiscs: known(vec![Qdisc {
                    kind: kind.to_owned(),
                    is_root: true,
                    is_ingress: false,
                }]),
                ..Interface::default()
            }]),
        };
        facts
    };
    check(
        "tcp.cc",
        &with("bbr", Some("pfifo_fast")),
        expect![
            "gain: bbr without the queueing discipline fq: the kernel paces each connection by its own timer (3 pieces of evidence)"
        ],
    );
    check(
        "tcp.cc",
        &with("bbr", Some("fq")),
        expect!["fine: bbr (3 pieces of evidence)"],
    );
    // A bridge passes packets on to the card.
    let mut bridged = with("bbr", Some("fq"));
    let bridge = Interface {
        name: "docker0".to_owned(),
        kind: "bridge".to_owned(),
        qdiscs: known(Vec::new()),
        ..Interface::default()
    };
    if let Ok(interfaces) = &mut bridged.interfaces.value {
        interfaces.push(bridge);
    }
    check(
        "tcp.cc",
        &bridged,
        expect!["fine: bbr (4 pieces of evidence)"],
    );
    if let Ok(interfaces) = &mut bridged.interfaces.value {
        interfaces.remove(0);
    }
    check(
        "tcp.cc",
        &bridged,
        expect![
            "notApplicable: the congestion control is bbr; no network card is visible, so it is unknown if a queueing discipline paces connections (3 pieces of evidence)"
        ],
    );
    check(
        "tcp.cc",
        &with("bbr", None),
        expect![
            "unknown: netlink RTM_GETLINK: no reply within the time limit (1 pieces of evidence)"
        ],
    );
    check(
        "tcp.cc",
        &with("cubic", None),
        expect!["fine: cubic (2 pieces of evidence)"],
    );
    check(
        "tcp.cc",
        &with("reno", None),
        expect![
            "tradeoff: reno suits a local network, but is slow over long distances (2 pieces of evidence)"
        ],
    );
    check(
        "q.fq",
        &with("bbr", Some("pfifo_fast")),
        expect![
            "tradeoff: bbr without the queueing discipline fq: the kernel paces each connection by its own timer (2 pieces of evidence)"
        ],
    );
    check(
        "q.fq",
        &with("bbr", Some("fq")),
        expect!["fine: bbr (2 pieces of evidence)"],
    );
    check(
        "q.fq",
        &with("cubic", None),
        expect![
            "notApplicable: the congestion control cubic does not pace connections (1 pieces of evidence)"
        ],
    );
}

#[test]
fn media_and_migration() {
    let mut facts = kernel(5, 10);
    facts.network.slow_start_after_idle = known(1);
    facts.network.write_bytes_max = known(65_536);
    facts.network.migrate_requests = known(0);
    check(
        "tcp.media",
        &facts,
        expect![
            "gain: connections start slowly again after a pause; send buffers grow to at most 65536 bytes (3 pieces of evidence) > sysctl -w net.ipv4.tcp_slow_start_after_idle=0; sysctl -w net.ipv4.tcp_wmem=\"$(sysctl -n net.ipv4.tcp_wmem | cut -f 1,2) 4194304\""
        ],
    );
    check(
        "tcp.migrate",
        &facts,
        expect![
            "notApplicable: kernel 5.10 does not support tcp_migrate_req; kernel 5.14 or newer is needed (1 pieces of evidence)"
        ],
    );
    facts.network.write_bytes_max = known(4 << 20);
    check(
        "tcp.media",
        &facts,
        expect![
            "gain: connections start slowly again after a pause (3 pieces of evidence) > sysctl -w net.ipv4.tcp_slow_start_after_idle=0"
        ],
    );
    facts.network.slow_start_after_idle = known(0);
    facts.kernel.release = kernel(6, 1).kernel.release;
    check(
        "tcp.media",
        &facts,
        expect![
            "fine: connections keep their speed after a pause; the server sets TCP_NOTSENT_LOWAT itself (3 pieces of evidence)"
        ],
    );
    check(
        "tcp.migrate",
        &facts,
        expect![
            "gain: tcp_migrate_req is off: closing a listening socket resets its handshakes in progress (1 pieces of evidence)"
        ],
    );
    facts.network.migrate_requests = known(1);
    check(
        "tcp.migrate",
        &facts,
        expect!["fine: on (1 pieces of evidence)"],
    );
}

#[test]
fn limits() {
    let mut facts = Facts::default();
    facts.process.descriptors_max = known(Bounds {
        soft: 1024,
        hard: 4096,
    });
    facts.process.descriptors = known(900);
    facts.process.locked_bytes_max = known(Bounds {
        soft: 65_536,
        hard: 65_536,
    });
    facts.network.conntrack = known(250);
    facts.network.conntrack_max = known(300);
    facts.network.ports = known(28_232);
    facts.network.softnet_dropped = known(4);
    facts.network.packet_backlog = known(1_000);
    check(
        "lim.nofile",
        &facts,
        expect![
            "gain: the server may open at most 4096 file descriptors; 36864 are enough for 16,384 connections that each download a file (2 pieces of evidence)"
        ],
    );
    check(
        "lim.memlock",
        &facts,
        expect![
            "notApplicable: at most 65536 bytes of memory may be locked; the server locks no memory, because it passes pages to the kernel by vmsplice (1 pieces of evidence)"
        ],
    );
    check(
        "lim.conntrack",
        &facts,
        expect![
            "problem: 250 of 300 entries of the connection table are in use (2 pieces of evidence) > sysctl -w net.netfilter.nf_conntrack_max=262144, or exempt the server from connection tracking as the row nf.hooks describes"
        ],
    );
    check(
        "lim.ports",
        &facts,
        expect!["fine: 28232 ports (1 pieces of evidence)"],
    );
    check(
        "lim.packets",
        &facts,
        expect![
            "gain: 4 packets have been dropped since boot (3 pieces of evidence) > sysctl -w net.core.netdev_max_backlog=4096; see also the rows nic.rps_rfs and nic.rings"
        ],
    );
    // The row judges the number of open descriptors only if the process is a server.
    facts.server.pid = known(7);
    check(
        "lim.nofile",
        &facts,
        expect![
            "problem: 900 of 1024 file descriptors are open (2 pieces of evidence) > set LimitNOFILE=65536 in the systemd service"
        ],
    );
    // No command lowers a limit that is already high.
    facts.process.descriptors_max = known(Bounds {
        soft: 200_000,
        hard: 200_000,
    });
    facts.process.descriptors = known(190_000);
    facts.network.conntrack = known(1_000_000);
    facts.network.conntrack_max = known(1_048_576);
    facts.network.packet_backlog = known(250_000);
    check(
        "lim.nofile",
        &facts,
        expect![
            "problem: 190000 of 200000 file descriptors are open (2 pieces of evidence) > set LimitNOFILE=400000 in the systemd service"
        ],
    );
    check(
        "lim.conntrack",
        &facts,
        expect![
            "problem: 1000000 of 1048576 entries of the connection table are in use (2 pieces of evidence) > sysctl -w net.netfilter.nf_conntrack_max=2097152, or exempt the server from connection tracking as the row nf.hooks describes"
        ],
    );
    check(
        "lim.packets",
        &facts,
        expect![
            "gain: 4 packets have been dropped since boot (3 pieces of evidence) > sysctl -w net.core.netdev_max_backlog=500000; see also the rows nic.rps_rfs and nic.rings"
        ],
    );
    facts.process.descriptors_max = known(Bounds {
        soft: 1024,
        hard: u64::MAX,
    });
    facts.process.descriptors = known(12);
    facts.network.conntrack = Fact::unknown("nf_conntrack_count", Unread::Absent);
    facts.network.ports = known(1_000);
    facts.network.softnet_dropped = known(0);
    check(
        "lim.nofile",
        &facts,
        expect!["fine: the server may open any number of file descriptors (2 pieces of evidence)"],
    );
    check(
        "lim.conntrack",
        &facts,
        expect!["notApplicable: the kernel tracks no connections (1 pieces of evidence)"],
    );
    check(
        "lim.ports",
        &facts,
        expect!["gain: 1000 ports (1 pieces of evidence)"],
    );
    check(
        "lim.packets",
        &facts,
        expect!["fine: no packet has been dropped since boot (3 pieces of evidence)"],
    );
}

#[test]
fn firewall() {
    let mut facts = Facts::default();
    facts.network.conntrack = known(0);
    facts.network.tables = Fact::unknown("ip_tables_names", Unread::Absent);
    facts.network.chains = Fact::unknown("NFT_MSG_GETCHAIN", Unread::Denied);
    check(
        "nf.hooks",
        &facts,
        expect![
            "unknown: NFT_MSG_GETCHAIN: permission denied; run as root to read this value (1 pieces of evidence)"
        ],
    );
    facts.network.chains = known(Vec::new());
    check(
        "nf.hooks",
        &facts,
        expect!["fine: no firewall and no connection tracking (3 pieces of evidence)"],
    );
    facts.network.chains = known(vec!["filter input".to_owned()]);
    check(
        "nf.hooks",
        &facts,
        expect![
            "tradeoff: 1 base chains of nftables, 0 tables of iptables, 0 tracked connections (3 pieces of evidence)"
        ],
    );
    facts.network.chains = Fact::unknown("NFT_MSG_GETCHAIN", Unread::Denied);
    facts.network.conntrack = known(12);
    check(
        "nf.hooks",
        &facts,
        expect![
            "tradeoff: an unknown number of base chains of nftables, 0 tables of iptables, 12 tracked connections (3 pieces of evidence)"
        ],
    );
}

#[test]
fn taps_audit_and_seccomp() {
    let mut facts = Facts::default();
    facts.network.taps = known(Vec::new());
    facts.kernel.audit = known(Audit {
        enabled: 1,
        rules: 0,
        exempts_processes: false,
    });
    facts.process.seccomp = known(0);
    check(
        "net.taps",
        &facts,
        expect!["fine: no packet socket is open (1 pieces of evidence)"],
    );
    check(
        "sec.audit",
        &facts,
        expect![
            "tradeoff: auditing is on without rules: the kernel still prepares a record for every system call (1 pieces of evidence)"
        ],
    );
    check(
        "sec.seccomp",
        &facts,
        expect!["fine: the server has no seccomp filter (2 pieces of evidence)"],
    );
    facts.network.taps = known(vec![
        Tap {
            inode: 77,
            owner: Some("dhclient (412)".to_owned()),
        },
        Tap {
            inode: 78,
            owner: None,
        },
    ]);
    facts.kernel.audit = known(Audit {
        enabled: 2,
        rules: 3,
        exempts_processes: false,
    });
    facts.process.seccomp = known(2);
    facts.process.seccomp_filters = known(2);
    check(
        "net.taps",
        &facts,
        expect![
            "tradeoff: 2 packet sockets are open, by dhclient (412), an unknown process (socket 78) (1 pieces of evidence)"
        ],
    );
    let many = (0..18).map(|inode| Tap {
        inode,
        owner: Some("tcpdump (9)".to_owned()),
    });
    facts.network.taps = known(many.collect());
    let report = judge(&facts);
    let row = report.0.iter().find(|row| row.check.id == "net.taps");
    let state = &row.expect("the table has the row").judgement.state;
    assert!(state.starts_with("18 packet sockets are open, by tcpdump (9), "));
    assert!(state.ends_with("tcpdump (9), and 2 more"), "{state}");
    check(
        "sec.audit",
        &facts,
        expect![
            "tradeoff: auditing is on and locked until the next boot, with 3 rules (1 pieces of evidence)"
        ],
    );
    check(
        "sec.seccomp",
        &facts,
        expect!["tradeoff: 2 seccomp filters run for every system call (2 pieces of evidence)"],
    );
    facts.kernel.audit = known(Audit {
        enabled: 1,
        rules: 1,
        exempts_processes: true,
    });
    check(
        "sec.audit",
        &facts,
        expect![
            "fine: auditing is on, but the rule never,task exempts all processes that start after the rule is set (1 pieces of evidence)"
        ],
    );
    facts.kernel.audit = Fact::unknown("AUDIT_GET", Unread::Unsupported);
    check(
        "sec.audit",
        &facts,
        expect!["notApplicable: the kernel does not support auditing (1 pieces of evidence)"],
    );
    facts.kernel.audit = Fact::unknown("AUDIT_GET", Unread::Denied);
    check(
        "sec.audit",
        &facts,
        expect![
            "unknown: AUDIT_GET: permission denied; run as root to read this value (1 pieces of evidence)"
        ],
    );
}

#[test]
fn mitigations() {
    let with = |states: &[(&str, &str)]| {
        let states = states
            .iter()
            .map(|(name, state)| ((*name).to_owned(), (*state).to_owned()));
        let mut facts = Facts::default();
        facts.kernel.vulnerabilities = known(states.collect());
        facts
    };
    check(
        "sec.mitig",
        &with(&[("mds", "Not affected")]),
        expect![
            "fine: the processors have none of the known vulnerabilities (2 pieces of evidence)"
        ],
    );
    let open = [
        ("mds", "Vulnerable: No microcode"),
        ("spectre_v2", "Mitigation: IBRS"),
    ];
    check(
        "sec.mitig",
        &with(&open),
        expect!["tradeoff: mitigated: spectre_v2; not mitigated: mds (2 pieces of evidence)"],
    );
    check(
        "sec.mitig",
        &with(&open[..1]),
        expect!["tradeoff: not mitigated: mds (2 pieces of evidence)"],
    );
    check(
        "sec.mitig",
        &with(&open[1..]),
        expect!["tradeoff: mitigated: spectre_v2 (2 pieces of evidence)"],
    );
    let hidden = [
        ("itlb_multihit", "KVM: Mitigation: VMX disabled"),
        ("srbds", "Unknown: Dependent on hypervisor status"),
        ("later", "Something new"),
    ];
    check(
        "sec.mitig",
        &with(&hidden),
        expect![
            "tradeoff: mitigated: itlb_multihit; state unknown: srbds, later (2 pieces of evidence)"
        ],
    );
    check(
        "sec.mitig",
        &with(&hidden[1..]),
        expect!["unknown: state unknown: srbds, later (2 pieces of evidence)"],
    );
}

#[test]
fn machine() {
    let mut facts = kernel(4, 19);
    facts.kernel.clock_source = known("hpet".to_owned());
    facts.memory.huge_pages = known("never".to_owned());
    facts.cpu.governors = known(vec!["powersave".to_owned()]);
    facts.cpu.frequency_driver = known("acpi-cpufreq".to_owned());
    check(
        "kernel.version",
        &facts,
        expect![
            "gain: kernel 4.19 lacks Landlock for the sandboxes (5.13), tcp_migrate_req (5.14), SO_INCOMING_CPU for sockets with SO_REUSEPORT (6.2), busy polling per epoll instance (6.9), suspended interrupts (6.13) (1 pieces of evidence)"
        ],
    );
    check(
        "cpu.clocksource",
        &facts,
        expect![
            "problem: hpet: with this clock source, every reading of the time needs a system call (1 pieces of evidence)"
        ],
    );
    check(
        "mem.thp",
        &facts,
        expect![
            "gain: huge pages are off: sandboxes get new memory in pages of 4 KB (1 pieces of evidence)"
        ],
    );
    check(
        "cpu.freq",
        &facts,
        expect![
            "gain: frequency governor powersave: the processors stay at their lowest frequency (2 pieces of evidence)"
        ],
    );
    facts.kernel.release = kernel(6, 8).kernel.release;
    facts.kernel.clock_source = known("tsc".to_owned());
    facts.memory.huge_pages = known("madvise".to_owned());
    facts.cpu.frequency_driver = known("intel_pstate".to_owned());
    check(
        "kernel.version",
        &facts,
        expect![
            "tradeoff: kernel 6.8 lacks busy polling per epoll instance (6.9), suspended interrupts (6.13) (1 pieces of evidence)"
        ],
    );
    check(
        "cpu.clocksource",
        &facts,
        expect!["fine: tsc (1 pieces of evidence)"],
    );
    check(
        "mem.thp",
        &facts,
        expect![
            "fine: madvise: with this setting, sandboxes get huge pages (1 pieces of evidence)"
        ],
    );
    check(
        "cpu.freq",
        &facts,
        expect![
            "tradeoff: frequency governor powersave: the processors need a moment to reach their full frequency (2 pieces of evidence)"
        ],
    );
    facts.kernel.release = kernel(6, 18).kernel.release;
    facts.kernel.clock_source = known("kvm-clock".to_owned());
    facts.cpu.governors = Fact::unknown("scaling_governor", Unread::Absent);
    check(
        "kernel.version",
        &facts,
        expect![
            "fine: kernel 6.18 has all features that the rows of this report name (1 pieces of evidence)"
        ],
    );
    check(
        "cpu.clocksource",
        &facts,
        expect![
            "tradeoff: the clock source kvm-clock is read without a system call, but is slower than tsc (1 pieces of evidence)"
        ],
    );
    check(
        "cpu.freq",
        &facts,
        expect![
            "notApplicable: the host does not control frequencies, as in most virtual machines (1 pieces of evidence)"
        ],
    );
    facts.cpu.governors = known(vec!["performance".to_owned()]);
    check(
        "cpu.freq",
        &facts,
        expect!["fine: governor performance (2 pieces of evidence)"],
    );
}

#[test]
fn quota() {
    let mut facts = Facts::default();
    facts.process.allowed = known(Cpus::from_iter(0..4));
    facts.process.quota = known(Quota {
        quota_us: None,
        period_us: 100_000,
    });
    facts.process.throttling = Fact::unknown("cpu.stat", Unread::Malformed);
    check(
        "app.threads",
        &facts,
        expect!["fine: a server on this host may use 4 processors: 0-3 (2 pieces of evidence)"],
    );
    check(
        "app.throttled",
        &facts,
        expect!["fine: the control group has no CPU quota (1 pieces of evidence)"],
    );
    facts.process.quota = known(Quota {
        quota_us: Some(150_000),
        period_us: 100_000,
    });
    check(
        "app.threads",
        &facts,
        expect![
            "problem: the CPU quota allows 1.5 processors, but the server starts 4 threads (cores) (2 pieces of evidence)"
        ],
    );
    check(
        "app.throttled",
        &facts,
        expect!["unknown: cpu.stat: the content has an unknown format (1 pieces of evidence)"],
    );
    facts.process.throttling = known(Throttling {
        periods: 1_000,
        throttled: 9,
    });
    check(
        "app.throttled",
        &facts,
        expect![
            "tradeoff: 9 of 1000 scheduling periods have been throttled since the control group was created (2 pieces of evidence)"
        ],
    );
    facts.process.throttling = known(Throttling {
        periods: 1_000,
        throttled: 10,
    });
    check(
        "app.throttled",
        &facts,
        expect![
            "problem: 10 of 1000 scheduling periods have been throttled since the control group was created (2 pieces of evidence)"
        ],
    );
}

#[test]
fn build_and_polling() {
    let mut facts = kernel(6, 8);
    facts.built_for = known(Vec::new());
    facts.network.busy_poll = known(50);
    facts.network.busy_read = known(0);
    check(
        "app.codegen",
        &facts,
        expect![
            "tradeoff: the program is compiled to run on every processor of its architecture (1 pieces of evidence)"
        ],
    );
    check(
        "poll.sysctl",
        &facts,
        expect![
            "tradeoff: all sockets are polled for 50 µs in poll(2) and for 0 µs in read(2) (2 pieces of evidence)"
        ],
    );
    check(
        "poll.epoll",
        &facts,
        expect![
            "notApplicable: this version of Pelton does not use busy polling; kernel 6.8 does not support busy polling per epoll instance; kernel 6.9 or newer is needed (2 pieces of evidence)"
        ],
    );
    facts.built_for = known(vec!["avx2".to_owned()]);
    facts.network.busy_poll = known(0);
    check(
        "app.codegen",
        &facts,
        expect!["fine: the program is compiled for x86-64-v3 or newer (1 pieces of evidence)"],
    );
    check(
        "poll.sysctl",
        &facts,
        expect![
            "fine: busy polling is off, as recommended for a host that runs other programs too (2 pieces of evidence)"
        ],
    );
}

//! Rows about firewalls, packet taps, audit, seccomp and mitigations, which add work to packets and
//! system calls: steps 2, 3, 4 and 7 of the article. Pelton never changes them.

use crate::check::{Check, Class, Judged, Judgement, Standing};
use crate::fact::Unknown;
use crate::verdict::{SMALL, each, fine, not_applicable, tradeoff};
use crate::{Facts, Interface, Unread};

/// Number of packet sockets whose owners are named.
const OWNERS_MAX: usize = 16;

pub(super) const ROWS: &[Check] = &[
    Check {
        id: "net.taps",
        title: "packet sockets that see every packet",
        class: Class::ReportOnly,
        gain: "step 7 of “Extreme HTTP Performance Tuning” (Richards 2021): +6 % requests/s without the packet socket of a DHCP client",
        sizes: SMALL,
        risk: "if a DHCP client cannot read packets, the host may lose its address",
        change: "stop the process that opened the packet socket, or replace it, for example dhclient by a static address",
        undo: "start the stopped process again",
        judge: taps,
    },
    Check {
        id: "net.bpf",
        title: "BPF programs that see every packet",
        class: Class::ReportOnly,
        gain: "no published measurement of the effect of BPF programs is known",
        sizes: SMALL,
        risk: "BPF programs usually belong to a firewall, a load balancer or a container network",
        change: "list the BPF programs with bpftool net, and remove only those that you installed",
        undo: "attach the removed BPF program again",
        judge: |facts| each(facts, programs),
    },
    Check {
        id: "nf.hooks",
        title: "firewall and connection tracking",
        class: Class::ReportOnly,
        gain: "step 4 of “Extreme HTTP Performance Tuning” (Richards 2021): +22 % requests/s without iptables and connection tracking",
        sizes: SMALL,
        risk: "without a firewall, every listening program can be reached; Pelton never changes a firewall",
        change: "exempt the server from connection tracking: nft add rule ip raw prerouting tcp dport PORT notrack, and nft add rule ip raw output tcp sport PORT notrack; or run the server in a network namespace of its own",
        undo: "nft -a list ruleset shows the handle of the rule; nft delete rule ip raw prerouting handle HANDLE deletes the rule",
        judge: netfilter,
    },
    Check {
        id: "sec.audit",
        title: "auditing of system calls by the kernel",
        class: Class::ReportOnly,
        gain: "step 3 of “Extreme HTTP Performance Tuning” (Richards 2021): +11 % requests/s with auditing and seccomp off",
        sizes: SMALL,
        risk: "system calls are no longer recorded, which a policy may require",
        change: "auditctl -a never,task, then restart the server",
        undo: "auditctl -d never,task, then restart the server",
        judge: audit,
    },
    Check {
        id: "sec.seccomp",
        title: "seccomp filters on the server",
        class: Class::ReportOnly,
        gain: "step 3 of “Extreme HTTP Performance Tuning” (Richards 2021): +11 % requests/s with auditing and seccomp off",
        sizes: SMALL,
        risk: "without a filter, a hijacked server may use every system call",
        change: "use one short seccomp filter whose first rules allow recv, send and epoll_wait",
        undo: "restore the previous seccomp filter",
        judge: seccomp,
    },
    Check {
        id: "sec.mitig",
        title: "mitigations of processor vulnerabilities",
        class: Class::Boot,
        gain: "step 2 of “Extreme HTTP Performance Tuning” (Richards 2021): +28 % requests/s with all mitigations off (spectre_v2 15 to 20 %, pti 6 %, mds and tsx_async_abort 6 %, spectre_v1 1 to 2 %)",
        sizes: SMALL,
        risk: "programs on the host can read each other's memory; never turn mitigations off on a host that runs other people's programs",
        change: "we recommend no change; the boot argument mitigations=off of the kernel turns all mitigations off",
        undo: "remove the boot argument mitigations=off and restart the host",
        judge: mitigations,
    },
];

fn taps(facts: &Facts) -> Judged {
    let found = &facts.network.taps;
    let all = found.get()?;
    if all.is_empty() {
        return Ok(fine("no packet socket is open").seen(found));
    }
    let owners = all.iter().take(OWNERS_MAX).map(|tap| match &tap.owner {
        Some(owner) => owner.clone(),
        None => format!("an unknown process (socket {})", tap.inode),
    });
    let mut owners: Vec<String> = owners.collect();
    if owners.len() < all.len() {
        owners.push(format!("and {} more", all.len() - owners.len()));
    }
    let state = format!(
        "{} packet sockets are open, by {}",
        all.len(),
        owners.join(", ")
    );
    Ok(tradeoff(state).seen(found))
}

fn programs(_: &Facts, interface: &Interface) -> Judged {
    let (xdp, qdiscs) = (&interface.has_xdp, &interface.qdiscs);
    let has_filters = qdiscs.get()?.iter().any(|qdisc| qdisc.is_ingress);
    let judgement = match (*xdp.get()?, has_filters) {
        (false, false) => {
            fine("the interface has no XDP program and no filter of received packets")
        }
        (true, false) => tradeoff("an XDP program sees every received packet"),
        (false, true) => tradeoff("filters of received packets (tc) are attached"),
        (true, true) => tradeoff("an XDP program and filters (tc) see every received packet"),
    };
    Ok(judgement.seen(xdp).seen(qdiscs))
}

fn netfilter(facts: &Facts) -> Judged {
    let Facts { network, .. } = facts;
    let tracked = network.conntrack.ok().copied().unwrap_or(0);
    let chains = network.chains.ok().map_or(0, Vec::len);
    let tables = network.tables.ok().map_or(0, Vec::len);
    let seen = |judgement: crate::Judgement| {
        judgement
            .seen(&network.chains)
            .seen(&network.tables)
            .seen(&network.conntrack)
    };
    if 0 < chains + tables || 0 < tracked {
        let parts = [
            counted(
                chains,
                network.chains.get().err(),
                "base chains of nftables",
            ),
            counted(tables, network.tables.get().err(), "tables of iptables"),
            counted(
                tracked as usize,
                network.conntrack.get().err(),
                "tracked connections",
            ),
        ];
        return Ok(seen(tradeoff(parts.join(", "))));
    }
    // Without a firewall in sight, the row is unknown unless all three facts are known or absent.
    network.conntrack.get().map(drop).or_else(allow_absent)?;
    network.chains.get().map(drop).or_else(allow_absent)?;
    network.tables.get().map(drop).or_else(allow_absent)?;
    Ok(seen(fine("no firewall and no connection tracking")))
}

/// Returns a text with `number` and `name`. The text says "an unknown number" if the fact is
/// `missing` and its part of the kernel may be loaded.
fn counted(number: usize, missing: Option<Unknown>, name: &str) -> String {
    match missing.map(allow_absent) {
        None | Some(Ok(())) => format!("{number} {name}"),
        Some(Err(_)) => format!("an unknown number of {name}"),
    }
}

/// Accepts a missing fact if its part of the kernel is not loaded, because that part then does
/// nothing.
fn allow_absent(missing: Unknown) -> Result<(), Unknown> {
    match missing.why {
        Unread::Absent | Unread::Unsupported => Ok(()),
        _ => Err(missing),
    }
}

fn audit(facts: &Facts) -> Judged {
    let found = &facts.kernel.audit;
    if found.value == Err(Unread::Unsupported) {
        return Ok(not_applicable("the kernel does not support auditing").seen(found));
    }
    let audit = *found.get()?;
    let judgement = match (audit.enabled, audit.rules) {
        (0, _) => fine("auditing is off"),
        _ if audit.exempts_processes => fine(
            "auditing is on, but the rule never,task exempts all processes that start after the rule is set",
        ),
        (_, 0) => tradeoff(
            "auditing is on without rules: the kernel still prepares a record for every system call",
        ),
        (2, rules) => tradeoff(format!(
            "auditing is on and locked until the next boot, with {rules} rules"
        )),
        (_, rules) => tradeoff(format!("auditing is on, with {rules} rules")),
    };
    Ok(judgement.seen(found))
}

fn seccomp(facts: &Facts) -> Judged {
    let (mode, filters) = (&facts.process.seccomp, &facts.process.seccomp_filters);
    let judgement = match *mode.get()? {
        0 => fine("the server has no seccomp filter"),
        _ => match filters.ok() {
            Some(filters) => tradeoff(format!(
                "{filters} seccomp filters run for every system call"
            )),
            None => tradeoff("a seccomp filter runs for every system call"),
        },
    };
    Ok(judgement.seen(mode).seen(filters))
}

fn mitigations(facts: &Facts) -> Judged {
    let found = &facts.kernel.vulnerabilities;
    let all = found.get()?;
    let named = |is_wanted: fn(&str) -> bool| {
        let rows = all.iter().filter(|(_, state)| is_wanted(state));
        let names: Vec<&str> = rows.map(|(name, _)| name.as_str()).collect();
        names.join(", ")
    };
    let groups = [
        ("mitigated", named(is_mitigated)),
        ("not mitigated", named(is_open)),
        (
            "state unknown",
            named(|state| !is_mitigated(state) && !is_open(state) && state != "Not affected"),
        ),
    ];
    let [mitigated, open, unknown] = &groups;
    let parts = groups.iter().filter(|(_, names)| !names.is_empty());
    let parts: Vec<String> = parts
        .map(|(group, names)| format!("{group}: {names}"))
        .collect();
    let standing = match (
        mitigated.1.is_empty() && open.1.is_empty(),
        unknown.1.is_empty(),
    ) {
        (true, true) => {
            let none = fine("the processors have none of the known vulnerabilities");
            return Ok(none.seen(found).seen(&facts.kernel.arguments));
        }
        (true, false) => Standing::Unknown,
        (false, _) => Standing::Tradeoff,
    };
    let judgement = Judgement::new(standing, parts.join("; "));
    Ok(judgement.seen(found).seen(&facts.kernel.arguments))
}

/// Returns whether the kernel mitigates a vulnerability, itself or in virtual machines, such as
/// `KVM: Mitigation: Split huge pages`.
fn is_mitigated(state: &str) -> bool {
    state.starts_with("Mitigation") || state.starts_with("KVM: Mitigation")
}

/// Returns whether a vulnerability is open.
fn is_open(state: &str) -> bool {
    let words = ["Vulnerable", "KVM: Vulnerable", "Processor vulnerable"];
    words.iter().any(|word| state.starts_with(word))
}

//! Plans for literal facts.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use host_checks::{Cpus, Fact, Facts, Interface, Interrupt, Release};

use super::{ACCEPT, SYN, Tree, namespace};
use crate::plan::{Host, Wanted, plan};
use crate::{Choice, Goal, Reason};

fn known<T>(value: T) -> Fact<T> {
    Fact::known("source", "text", value)
}

/// Facts of a host with short backlogs, one queue, and two processors.
fn facts() -> Facts {
    let mut facts = Facts::default();
    facts.kernel.release = known(Release(6, 1));
    facts.kernel.has_irqbalance = known(false);
    facts.network.somaxconn = known(128);
    facts.network.syn_backlog = known(8192);
    facts.process.allowed = known((0..2).collect::<Cpus>());
    facts.interfaces = known(vec![Interface {
        name: "eth0".to_owned(),
        receive_queues: known(1),
        transmit_queues: known(1),
        receive_cpus: known(vec![Cpus::default()]),
        interrupts: known(
            vec![34, 35]
                .into_iter()
                .map(|number| Interrupt {
                    number,
                    cpus: (0..1).collect(),
                })
                .collect(),
        ),
        ..Interface::default()
    }]);
    facts
}

fn tree(test: &str) -> Tree {
    Tree::new(
        test,
        &[
            (ACCEPT, "128\n"),
            (SYN, "8192\n"),
            ("proc/irq/34/smp_affinity_list", "0-1\n"),
            ("proc/irq/35/smp_affinity_list", "1\n"),
            ("sys/class/net/eth0/queues/rx-0/rps_cpus", "0\n"),
            ("sys/class/net/eth0/threaded", "0\n"),
        ],
    )
}

fn choice(goal: Goal, included: &[&str], excluded: &[&str]) -> Choice {
    let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
    Choice {
        goal,
        included: owned(included),
        excluded: owned(excluded),
    }
}

fn check(tree: &Tree, choice: &Choice, is_of_host: bool, expected: Expect) {
    let mut namespace = namespace("net:[1]");
    namespace.is_of_host = is_of_host;
    let host = Host {
        roots: &tree.roots(),
        facts: &facts(),
        namespace: &namespace,
    };
    let plan = plan(host, choice);
    let mut out = String::new();
    for change in &plan.changes {
        writeln!(
            out,
            "{} {}: {} > {}",
            change.check.id, change.setting, change.old, change.new
        )
        .expect("memory takes every write");
    }
    for other in plan.others.iter().filter(|other| {
        !matches!(other.reason, Reason::NeverApplied) && !other.text.contains("not read")
    }) {
        writeln!(
            out,
            "{} {}: {}",
            other.check.id,
            other.reason.name(),
            other.text
        )
        .expect("memory takes every write");
    }
    expected.assert_eq(&out);
}

#[test]
fn changes_follow_the_steps_and_a_higher_limit_stays() {
    let tree = tree("order");
    check(
        &tree,
        &choice(Goal::Throughput, &[], &[]),
        true,
        expect![[r#"
            irq.affinity /proc/irq/34/smp_affinity_list: 0-1 > 0
            nic.rps_rfs /sys/class/net/eth0/queues/rx-0/rps_cpus: 0 > 3
            tcp.backlog /proc/sys/net/core/somaxconn: 128 > 4096
            nic.xps notNeeded: eth0: one transmit queue serves all processors
            nic.threaded onRequest: context switches add latency when the load is low
        "#]],
    );
}

#[test]
fn the_goal_and_the_operator_choose() {
    let tree = tree("choice");
    let chosen = choice(Goal::Latency, &["nic.threaded"], &["tcp.backlog"]);
    check(
        &tree,
        &chosen,
        true,
        expect![[r#"
        irq.affinity /proc/irq/34/smp_affinity_list: 0-1 > 0
        nic.threaded /sys/class/net/eth0/threaded: 0 > 1
        nic.xps notNeeded: eth0: one transmit queue serves all processors
        nic.rps_rfs notNeeded: eth0: receive queues: 1, processors: 2, and packets are not spread by software
        tcp.backlog excluded: excluded by --exclude
    "#]],
    );
}

#[test]
fn another_namespace_changes_nothing_of_the_host() {
    let tree = tree("namespace");
    check(
        &tree,
        &choice(Goal::Throughput, &[], &[]),
        false,
        expect![[r#"
            nic.rps_rfs /sys/class/net/eth0/queues/rx-0/rps_cpus: 0 > 3
            tcp.backlog /proc/sys/net/core/somaxconn: 128 > 4096
            irq.affinity notPossible: /proc/irq/34/smp_affinity_list: this setting applies to the whole host, not only to this network namespace
            irq.affinity notPossible: /proc/irq/35/smp_affinity_list: this setting applies to the whole host, not only to this network namespace
            nic.xps notNeeded: eth0: one transmit queue serves all processors
            nic.threaded onRequest: context switches add latency when the load is low
        "#]],
    );
}

#[test]
fn limits_are_raised_and_never_lowered() {
    let of = |wanted: Wanted, present: &str| wanted.of(present);
    assert_eq!(of(Wanted::AtLeast(4096), "128").as_deref(), Some("4096"));
    assert_eq!(of(Wanted::AtLeast(4096), "8192").as_deref(), Some("8192"));
    assert_eq!(of(Wanted::AtLeast(4096), "many"), None);
    let write = Wanted::LastAtLeast(4 << 20);
    assert_eq!(of(write.clone(), "1 2 3").as_deref(), Some("1 2 4194304"));
    assert_eq!(of(write, "1 2 8388608").as_deref(), Some("1 2 8388608"));
    let ports = Wanted::Range(10_000, 65_000);
    assert_eq!(
        of(ports.clone(), "32768 60999").as_deref(),
        Some("10000 65000")
    );
    assert_eq!(of(ports, "1024 65535").as_deref(), Some("1024 65535"));
    let mask = Wanted::UnlessSet((0..2).collect());
    assert_eq!(of(mask.clone(), "0").as_deref(), Some("3"));
    assert_eq!(of(mask, "1").as_deref(), Some("1"));
    let fair = |present| of(Wanted::Qdisc("fq"), present);
    assert_eq!(fair("pfifo_fast default").as_deref(), Some("fq 7e17:"));
    assert_eq!(fair("mq fq_codel default").as_deref(), Some("mq fq 7e17:"));
    // The choice of the operator stays, and so does a default that fits.
    for present in ["htb 1:", "fq_codel 8001:", "fq default", "mq fq default"] {
        assert_eq!(fair(present).as_deref(), Some(present));
    }
    let none = of(Wanted::Qdisc("noqueue"), "mq pfifo_fast default");
    assert_eq!(none.as_deref(), Some("noqueue 7e17:"));
}

#[test]
fn rows_of_class_x_and_b_are_never_applied() {
    let ids: Vec<&str> = crate::plan::ids().collect();
    for group in host_checks::CHECKS {
        for check in *group {
            if matches!(check.class.letter(), "X" | "B" | "S") {
                assert!(!ids.contains(&check.id), "{}", check.id);
            }
        }
    }
    assert_eq!(ids.len(), 22);
}

//! Settings of interfaces on the real kernel. Each test has a thread in a network namespace of its
//! own, which ends with the thread.

use std::io;
use std::process::Command;
use std::thread;

use crate::{Property, Roots, Setting, SettingFault, qdisc_replacement};

/// Moves this thread to a new network namespace, and makes the interface `ifb0` with two transmit
/// queues. Prints the reason if this system does not permit it.
fn enter() -> bool {
    // SAFETY: the namespace decides which interfaces later calls of this thread see. The thread has
    // no sockets yet, and the call changes no memory. Breaks if the flag shares or unshares files.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        let err = io::Error::last_os_error();
        eprintln!("skipped: no network namespace: {err}");
        return false;
    }
    let script = "ip link add ifb0 numtxqueues 2 numrxqueues 2 type ifb && ip link set ifb0 up";
    let is_made = run(script);
    if !is_made {
        eprintln!("skipped: this system has no ip, or no interfaces of the kind ifb");
    }
    is_made
}

/// Runs a test on a thread in a network namespace of its own, if this system permits it.
fn in_namespace(test: fn()) {
    let thread = thread::spawn(move || {
        if enter() {
            test();
        }
    });
    thread.join().expect("the thread has printed its failure");
}

/// Runs a script in the network namespace of this thread, and returns whether it succeeded.
fn run(script: &str) -> bool {
    let status = Command::new("sh").args(["-c", script]).status();
    status.expect("every system has a shell").success()
}

fn setting(property: Property) -> Setting {
    Setting::Card {
        interface: "ifb0".to_owned(),
        property,
    }
}

#[test]
fn queueing_disciplines_are_replaced_and_come_back() {
    in_namespace(replace_queueing_disciplines);
}

fn replace_queueing_disciplines() {
    let roots = Roots::default();
    let setting = setting(Property::Qdisc);
    let value = || setting.read(&roots).expect("the interface is up");
    let before = value();
    let is_default = before.starts_with("mq ") && before.ends_with(" default");
    assert!(is_default, "{before}");
    let new = qdisc_replacement(&before, "pfifo").expect("no kernel chooses pfifo for queues");
    for wanted in [&new, "noqueue 7e17:"] {
        setting.write(&roots, wanted).expect("the kernel has both");
        assert_eq!(value(), *wanted);
        setting.write(&roots, &before).expect("it was the default");
        assert_eq!(value(), before);
    }
    assert_eq!(new, "mq pfifo 7e17:");
    // A write that ended before the queues.
    assert!(run("tc qdisc replace dev ifb0 root handle 7e17: mq"));
    assert_ne!(value(), new);
    assert!(setting.is_cut_off(&value()));
    setting.write(&roots, &before).expect("it was the default");
    assert_eq!(value(), before);
    // A discipline that an operator has chosen.
    assert!(run("tc qdisc replace dev ifb0 root handle 8: pfifo"));
    assert_eq!(value(), "pfifo 8:");
    assert_eq!(qdisc_replacement("pfifo 8:", "fq"), None);
    assert!(!setting.is_cut_off("pfifo 8:"));
    assert_eq!(
        setting.write(&roots, "pfifo 8:"),
        Err(SettingFault::Malformed)
    );
}

#[test]
fn a_card_that_is_gone_has_no_settings() {
    in_namespace(remove_card);
}

fn remove_card() {
    let roots = Roots::default();
    let (qdisc, feature) = (
        setting(Property::Qdisc),
        setting(Property::Feature {
            name: "tx-generic-segmentation".to_owned(),
        }),
    );
    assert_eq!(feature.write(&roots, "off"), Ok(()));
    assert_eq!(feature.read(&roots).as_deref(), Ok("off"));
    assert_eq!(feature.write(&roots, "on"), Ok(()));
    assert_eq!(feature.read(&roots).as_deref(), Ok("on"));
    assert!(run("ip link del ifb0"));
    for setting in [qdisc, feature] {
        assert_eq!(setting.read(&roots), Err(SettingFault::Absent));
        assert_eq!(setting.write(&roots, "on"), Err(SettingFault::Absent));
    }
}

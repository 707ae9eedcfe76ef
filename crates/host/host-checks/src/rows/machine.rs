//! Rows about processors, memory and the kernel.

use crate::check::{Check, Class, Judged};
use crate::verdict::{fine, gain, not_applicable, problem, tradeoff};
use crate::{Facts, Release, Unread};

/// Clocks that programs read fast and without a system call.
const FAST_CLOCKS: [&str; 3] = ["tsc", "arch_sys_counter", "hyperv_clocksource_tsc_page"];

/// Kernel features that the server uses or that rows mention, with the first kernel that has them.
const FEATURES: [(Release, &str); 5] = [
    (Release(5, 13), "Landlock for the sandboxes"),
    (Release(5, 14), "tcp_migrate_req"),
    (
        Release(6, 2),
        "SO_INCOMING_CPU for sockets with SO_REUSEPORT",
    ),
    (Release(6, 9), "busy polling per epoll instance"),
    (Release(6, 13), "suspended interrupts"),
];

pub(super) const ROWS: &[Check] = &[
    Check {
        id: "cpu.freq",
        title: "frequency of the processors",
        class: Class::Tunable,
        gain: "no published measurement of the effect of the frequency of processors is known",
        sizes: "responses of all sizes at low and medium load; the gain is lower latency",
        risk: "the processors use more energy and become hotter",
        change: "cpupower frequency-set -g performance",
        undo: "cpupower frequency-set -g GOVERNOR, where GOVERNOR is the previous governor",
        judge: frequency,
    },
    Check {
        id: "cpu.clocksource",
        title: "clock source that programs can read without a system call",
        class: Class::Tunable,
        gain: "no published measurement of the effect of the clock source is known; reading a slow clock takes about a microsecond",
        sizes: "responses of all sizes; small responses gain most",
        risk: "if the machine's tsc is unstable, the time of the host becomes wrong; the kernel's log reports an unstable tsc",
        change: "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
        undo: "write the previous clock source to current_clocksource",
        judge: clock,
    },
    Check {
        id: "mem.thp",
        title: "transparent huge pages",
        class: Class::Tunable,
        gain: "no published measurement of the effect of huge pages is known; in Pelton's sandboxes, the first access to 4 KB of new memory takes 1.2 µs with huge pages, and 8 to 15 µs without them",
        sizes: "conversions of pictures, but not cache hits",
        risk: "with the setting always, every program may use more memory; with madvise, only programs that request huge pages",
        change: "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        undo: "echo never > /sys/kernel/mm/transparent_hugepage/enabled",
        judge: huge_pages,
    },
    Check {
        id: "kernel.version",
        title: "kernel version, for the features that the server uses",
        class: Class::Boot,
        gain: "depends on the feature: see the gain in the row of each feature",
        sizes: "depends on the feature: the row of each feature says which responses gain",
        risk: "a newer kernel may require an upgrade of the operating system",
        change: "install a newer kernel of your distribution and restart the host",
        undo: "restart the host with the previous kernel",
        judge: version,
    },
];

fn frequency(facts: &Facts) -> Judged {
    let found = &facts.cpu.governors;
    if found.value == Err(Unread::Absent) {
        return Ok(not_applicable(
            "the host does not control frequencies, as in most virtual machines",
        )
        .seen(found));
    }
    let governors = found.get()?;
    let driver = &facts.cpu.frequency_driver;
    // With these drivers, the processor itself chooses its frequency, and is fast under any
    // governor.
    let is_active = driver
        .ok()
        .is_some_and(|name| matches!(name.as_str(), "intel_pstate" | "amd-pstate-epp"));
    let names = governors.join(", ");
    let judgement = match governors.iter().any(|name| name == "powersave") {
        _ if governors.is_empty() => not_applicable("no processor has a frequency governor"),
        true if !is_active => gain(format!(
            "frequency governor {names}: the processors stay at their lowest frequency"
        )),
        _ if governors.iter().all(|name| name == "performance") => fine("governor performance"),
        _ => tradeoff(format!(
            "frequency governor {names}: the processors need a moment to reach their full frequency"
        )),
    };
    Ok(judgement.seen(found).seen(driver))
}

fn clock(facts: &Facts) -> Judged {
    let found = &facts.kernel.clock_source;
    let name = found.get()?.as_str();
    let judgement = match name {
        name if FAST_CLOCKS.contains(&name) => fine(name),
        "kvm-clock" => tradeoff(
            "the clock source kvm-clock is read without a system call, but is slower than tsc",
        ),
        name => problem(format!(
            "with the clock source {name}, every reading of the time needs a system call"
        )),
    };
    Ok(judgement.seen(found))
}

fn huge_pages(facts: &Facts) -> Judged {
    let found = &facts.memory.huge_pages;
    if found.value == Err(Unread::Absent) {
        return Ok(not_applicable("the kernel has no transparent huge pages").seen(found));
    }
    let judgement = match found.get()?.as_str() {
        "never" => gain("huge pages are off: sandboxes get new memory in pages of 4 KB"),
        mode => fine(format!(
            "the mode of huge pages is {mode}: sandboxes get huge pages"
        )),
    };
    Ok(judgement.seen(found))
}

fn version(facts: &Facts) -> Judged {
    let found = &facts.kernel.release;
    let kernel = *found.get()?;
    let missing: Vec<String> = FEATURES
        .iter()
        .filter(|(first, _)| kernel < *first)
        .map(|(first, feature)| format!("{feature} ({first})"))
        .collect();
    let judgement = match missing.is_empty() {
        true => fine(format!(
            "kernel {kernel} has all features that the rows of this report name"
        )),
        false if kernel < Release(6, 2) => {
            gain(format!("kernel {kernel} lacks {}", missing.join(", ")))
        }
        false => tradeoff(format!("kernel {kernel} lacks {}", missing.join(", "))),
    };
    Ok(judgement.seen(found))
}

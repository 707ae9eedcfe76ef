use std::thread;

use super::{NICE, SLICE_NS, attributes, request_low_latency};

#[test]
fn a_request_changes_only_the_slice_and_the_nice_value() {
    let asked = thread::spawn(|| {
        let before = attributes().expect("the kernel answers");
        request_low_latency().expect("no filter is around tests");
        (before, attributes().expect("the kernel answers"))
    });
    let (before, after) = asked.join().expect("the thread ends");
    assert_eq!(after.sched_policy, before.sched_policy);
    // Without the right to raise its priority, the thread keeps its nice value.
    assert!([before.sched_nice, NICE].contains(&after.sched_nice));
    if before.sched_nice == 0 && rustix::process::geteuid().is_root() {
        assert_eq!(after.sched_nice, NICE);
    }
    // Kernels before 6.12 report 0, which stands for the default slice.
    assert!([SLICE_NS, 0].contains(&after.sched_runtime));
}

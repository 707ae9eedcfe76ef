use std::thread;

use super::{SLICE_NS, ask_for_short, attributes};

#[test]
fn asking_changes_the_slice_and_nothing_else() {
    let asked = thread::spawn(|| {
        let before = attributes().expect("the kernel tells");
        ask_for_short().expect("no filter is around tests");
        (before, attributes().expect("the kernel tells"))
    });
    let (before, after) = asked.join().expect("the thread ends");
    assert_eq!(after.sched_policy, before.sched_policy);
    assert_eq!(after.sched_nice, before.sched_nice);
    // Kernels before 6.12 go on telling 0, which stands for their own choice.
    assert!([SLICE_NS, 0].contains(&after.sched_runtime));
}

use super::{ArrivalCounts, Steering, SteeringState};
use crate::CoreId;

use Steering::{Hash, IncomingCpu};

fn verdict(now: Steering, arrived: &[u64], accepted: &[u64]) -> Steering {
    let counts = ArrivalCounts {
        arrived: arrived.to_vec(),
        accepted: accepted.to_vec(),
    };
    counts.verdict(now)
}

#[test]
fn incoming_cpu_is_chosen_only_for_even_arrivals() {
    let even = [100, 100, 100, 100];
    // Columns: the steering in force; the sampled arrivals on each core's processor and, in the
    // last entry, on processors without a core; the accepted connections per core; the expected
    // decision.
    let rows = [
        (Hash, [100, 90, 110, 100, 0], even, IncomingCpu),
        // All packets arrive on one processor, as with a single client or a network card with one
        // queue.
        (Hash, [400, 0, 0, 0, 0], even, Hash),
        (Hash, [200, 200, 10, 10, 0], even, Hash),
        // Many connections arrive on processors without a core.
        (Hash, [70, 70, 70, 70, 120], even, Hash),
        (Hash, [100, 100, 100, 100, 40], even, IncomingCpu),
        (IncomingCpu, [100, 100, 100, 100, 0], even, IncomingCpu),
        // `IncomingCpu` was chosen while connections arrived evenly. They no longer do.
        (IncomingCpu, [300, 50, 30, 20, 0], [300, 50, 30, 20], Hash),
        // The kernel ignores the socket option, so one core gets all connections.
        (IncomingCpu, [100, 100, 100, 100, 0], [400, 0, 0, 0], Hash),
    ];
    for (now, arrived, accepted, expected) in rows {
        assert_eq!(
            verdict(now, &arrived, &accepted),
            expected,
            "{arrived:?} {accepted:?}"
        );
    }
}

#[test]
fn a_decision_needs_enough_samples_since_the_previous_one() {
    let cores = [CoreId(0), CoreId(5)];
    let steered = SteeringState::new(Steering::Auto, &cores);
    let mut before = ArrivalCounts::default();
    let arrive = |count: usize, cpus: [usize; 2]| {
        for index in 0..count {
            steered.note(cpus[index % 2], 0);
        }
    };
    arrive(127, [0, 5]);
    steered.reconsider(&[64, 63], &mut before);
    assert_eq!(steered.now(), Hash);
    arrive(1, [5, 5]);
    steered.reconsider(&[64, 64], &mut before);
    assert_eq!(steered.now(), IncomingCpu);
    // From here on, all connections arrive on one processor. If the 128 earlier connections, which
    // were spread evenly, were counted too, the distribution would still look even.
    arrive(128, [5, 5]);
    steered.reconsider(&[64, 192], &mut before);
    assert_eq!(steered.now(), Hash);
}

#[test]
fn a_core_knows_its_own_arrivals() {
    let steered = SteeringState::new(Hash, &[CoreId(2), CoreId(7)]);
    assert!(steered.note(7, 1));
    assert!(!steered.note(7, 0));
    assert!(!steered.note(3, 0));
    let mut before = ArrivalCounts::default();
    steered.reconsider(&[1_000, 0], &mut before);
    assert_eq!(steered.now(), Hash, "nobody asked it to judge");
}

//! What is particular to microVMs. Where the host has none, these tests say so and show nothing.

use crate::{assert_works, run, start};
use cell::{Backend, Isolation, Limits, Pool};

/// A pool of microVMs, where this host runs them.
pub(crate) fn microvms(limits: Limits) -> Option<Pool> {
    if !std::fs::exists("/dev/kvm").expect("/dev can be looked at") {
        eprintln!("cell: not proved: kvm: this host has no /dev/kvm");
        return None;
    }
    Some(start(Limits {
        backend: Backend::Kvm,
        ..limits
    }))
}

#[test]
fn a_worker_runs_in_a_microvm_as_it_is() {
    let Some(pool) = microvms(Limits::default()) else {
        return;
    };
    assert_eq!(pool.posture().backend, Backend::Kvm);
    if pool.posture().landlock_abi.is_some() && !pool.posture().namespaces.is_empty() {
        assert_eq!(pool.posture().isolation(), Isolation::MicroVm);
    }
    for _ in 0..20 {
        assert_works(&pool);
    }
    assert_eq!(run(&pool, "environment").as_deref(), Ok("[PELTON_CELL]"));
    assert_eq!(
        run(&pool, "descriptors 100").as_deref(),
        Ok("0 1 2 3 4 5 6")
    );
    let stats = pool.stats();
    assert_eq!((stats.runs, stats.finished), (22, 22));
    assert_eq!((stats.crashes, stats.zygote_deaths), (0, 0));
}

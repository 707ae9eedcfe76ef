//! The mounts of the dashboard, with their paths.

use std::sync::Arc;

use profile::Known;
use server::mount::Mount;

use crate::dashboard_mount::Checked;
use crate::doctor_mount::DoctorMount;
use crate::mount::OpsMount;
use crate::prefetch_mount::PrefetchMount;
use crate::profile_mount::{self, ProfileMount, Profiler};
use crate::sampler::Ops;
use crate::variants_mount::VariantsMount;

/// Returns the mounts of the dashboard, with their paths. `known` are executable files that are not
/// on the disk, for profiles.
#[must_use]
pub fn mounts(ops: &Arc<Ops>, known: Vec<Known>) -> Vec<(String, Arc<dyn Mount>)> {
    let profiler = Arc::new(Profiler::new(known));
    vec![
        (
            OpsMount::PATH.to_owned(),
            Arc::new(Checked(OpsMount(Arc::clone(ops)))),
        ),
        (
            VariantsMount::PATH.to_owned(),
            Arc::new(Checked(VariantsMount(Arc::clone(ops)))),
        ),
        (
            PrefetchMount::PATH.to_owned(),
            Arc::new(Checked(PrefetchMount(Arc::clone(ops)))),
        ),
        (
            DoctorMount::PATH.to_owned(),
            Arc::new(Checked(DoctorMount::new(ops))),
        ),
        (
            profile_mount::PATH.to_owned(),
            Arc::new(Checked(ProfileMount::new(&profiler))),
        ),
        (
            profile_mount::GO_PATH.to_owned(),
            Arc::new(Checked(ProfileMount::go(&profiler))),
        ),
    ]
}

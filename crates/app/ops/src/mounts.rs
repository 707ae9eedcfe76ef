//! The mounts of the dashboard, with their paths.

use std::sync::Arc;

use server::mount::Mount;

use crate::mount::OpsMount;
use crate::prefetch_mount::PrefetchMount;
use crate::sampler::Ops;
use crate::variants_mount::VariantsMount;

/// Returns the mounts of the dashboard, with their paths.
#[must_use]
pub fn mounts(ops: &Arc<Ops>) -> Vec<(String, Arc<dyn Mount>)> {
    vec![
        (
            OpsMount::PATH.to_owned(),
            Arc::new(OpsMount(Arc::clone(ops))),
        ),
        (
            VariantsMount::PATH.to_owned(),
            Arc::new(VariantsMount(Arc::clone(ops))),
        ),
        (
            PrefetchMount::PATH.to_owned(),
            Arc::new(PrefetchMount(Arc::clone(ops))),
        ),
    ]
}

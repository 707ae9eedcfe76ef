//! `pelton prefetch`: the usual variants of a whole library ahead of any request.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use origin::mount::Mounts;
use origin::{Service, Tally};

use crate::config::Resolved;
use crate::house;
use crate::log;
use crate::report::{self, EXIT_FINDINGS, EXIT_OK, Error};

/// How often the bar is drawn anew.
const TICK: Duration = Duration::from_millis(250);

/// Makes what is missing, then says what it came to.
pub(crate) fn run(resolved: &Resolved) -> Result<u8, Vec<Error>> {
    let config = &resolved.config;
    report::notes(&resolved.notes);
    log::start(config.log_level.0);
    house::readable(&config.root).map_err(|err| vec![err])?;
    let pool = house::conversions(config).map_err(|err| vec![err])?;
    // The next server records what is made here.
    let service = house::service(config, pool, Arc::new([]), Mounts::default(), None);
    let service = service.map_err(|err| vec![err])?;
    let tally = prefetch(&service);
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (original, variant) = (count(&tally.original_bytes), count(&tally.variant_bytes));
    eprintln!(
        "{} files: {} variants made ({} of {} originals), {} there already, {} no smaller, {} failed",
        count(&tally.files),
        count(&tally.made),
        HumanBytes(variant),
        HumanBytes(original),
        count(&tally.known),
        count(&tally.larger),
        count(&tally.failed),
    );
    Ok(if count(&tally.failed) == 0 {
        EXIT_OK
    } else {
        EXIT_FINDINGS
    })
}

fn prefetch(service: &Service) -> Tally {
    let paths = service.list();
    let tally = Tally::default();
    let done = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let watched = scope.spawn(|| watch(paths.len() as u64, &tally, &done));
        service.prefetch(&paths, &tally);
        done.store(1, Ordering::Release);
        watched.thread().unpark();
    });
    tally
}

/// Draws the bar on a terminal, until `done`.
fn watch(files: u64, tally: &Tally, done: &AtomicU64) {
    let terminal = std::io::stderr().is_terminal();
    let target = if terminal {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} files, {per_sec}, {eta} left, {msg}");
    let bar = ProgressBar::with_draw_target(Some(files), target)
        .with_style(style.expect("the template is a literal"));
    while done.load(Ordering::Acquire) == 0 {
        std::thread::park_timeout(TICK);
        let variant_bytes = tally.variant_bytes.load(Ordering::Relaxed);
        bar.set_position(tally.files.load(Ordering::Relaxed));
        bar.set_message(format!("{} made", HumanBytes(variant_bytes)));
    }
    bar.finish_and_clear();
}

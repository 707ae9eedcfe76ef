//! Task that finishes scripts which have exceeded `busy-reply-threshold`.

use std::rc::Rc;
use std::time::Duration;

use tokio::task::yield_now;

use crate::run_script::go_on_for;
use crate::shared::Shared;

/// Runs scripts that have exceeded `busy-reply-threshold`, in slices. Other clients are served
/// after each slice.
pub(crate) async fn run_busy_scripts(shared: Rc<Shared>) {
    let busy = Rc::clone(&shared.state.borrow().tasks.script_busy);
    let slice = Duration::from_millis(shared.limits.script_slice_ms);
    loop {
        busy.notified().await;
        yield_now().await;
        while go_on_for(&mut shared.state.borrow_mut(), slice) {
            yield_now().await;
        }
    }
}

//! The task that writes the configuration file, and replies to the clients that wait for it.

use std::io;
use std::mem;
use std::rc::Rc;

use reactor::blocking;

use super::write;
use crate::shared::Shared;
use crate::state::State;

/// Replies to the clients that waited until the configuration file was written.
fn answer_waiters(state: &mut State, written: &io::Result<()>) {
    if let Err(error) = written {
        tracing::warn!(%error, "the configuration file could not be written");
    }
    for key in mem::take(&mut state.rewrite_waiters.served) {
        if state.unpark(key).is_some() {
            let out = &mut state.clients[key].out;
            match written {
                Ok(()) => out.ok(),
                Err(error) => out.error(format!("ERR Rewriting config file: {error}")),
            }
        }
    }
}

/// Writes the configuration file whenever a client requests it.
pub(crate) async fn rewrite_config_on_request(shared: Rc<Shared>) {
    let wake = Rc::clone(&shared.state.borrow().rewrite_waiters.wake);
    loop {
        wake.notified().await;
        let config = {
            let mut state = shared.state.borrow_mut();
            state.rewrite_waiters.served = mem::take(&mut state.rewrite_waiters.waiting);
            state.config.clone()
        };
        let written = blocking(move || {
            let path = config.file.as_deref().expect("checked before");
            write(path, &config)
        })
        .await;
        answer_waiters(&mut shared.state.borrow_mut(), &written);
    }
}

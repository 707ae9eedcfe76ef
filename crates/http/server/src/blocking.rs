//! Execution of blocking work.

/// Runs `work`, which may block, on the blocking pool of the core's runtime.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work)
        .await
        .expect("a panic aborts the process, and the task is never cancelled")
}

//! Execution of work that may block.

/// Runs `work`, which may block, on the blocking pool of this core's runtime.
///
/// # Panics
/// `work` panicked. In a program, that has already ended the process.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work)
        .await
        .expect("a panic aborts the process, and the task is never cancelled")
}

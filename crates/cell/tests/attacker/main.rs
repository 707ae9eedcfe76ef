//! A worker that attacks its cell from within.
fn main() {
    cell::inside::serve(
        || (),
        |job, _, _| job::AllegedReply::new(job.id, job::Status::Unsupported, (0, 0), 0),
    )
}

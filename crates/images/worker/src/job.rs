//! Runs one job of a sandbox: reads the original from one descriptor, writes the output to another,
//! and returns the reply.

use crate::{Error, ErrorKind, compare, convert, convert_batch};
use image_plan::{
    Batch, Comparison, Effects, Encoding, Format, Orientation, Plan, Rect, Size, join_outputs,
};
use sandbox_protocol::{AllegedReply, Job, Status};
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

/// Size of the buffer for audio output in bytes. Clients may play a track while it is still being
/// encoded, and a larger buffer would delay them.
const WRITE_BYTES: usize = 32 << 10;

/// Output of an image job, and the contents of its reply.
struct JobOutput {
    bytes: Vec<u8>,
    /// Width and height of the picture; zeros if the output is not one picture.
    size_px: (u32, u32),
    remarks: Vec<String>,
}

/// Runs `job`, whose plan is a [`Plan`], a [`Batch`], a [`Comparison`] or an [`audio_plan::Plan`]:
/// reads `original`, writes the output to the file `output`, and returns the reply.
#[must_use]
pub fn run_job(job: &Job<'_>, original: &File, output: &File) -> AllegedReply {
    if audio_plan::Plan::is_plan(job.plan) {
        return match transcode(job, original, output) {
            Ok((bytes, remarks)) => AllegedReply::new(job.id, Status::Done, (0, 0), bytes)
                .with_detail(&remarks.join("; ")),
            Err(error) => failed(job, &error),
        };
    }
    match make_output(job, original, output) {
        Ok(done) => AllegedReply::new(job.id, Status::Done, done.size_px, done.bytes.len() as u64)
            .with_detail(&done.remarks.join("; ")),
        Err(error) => failed(job, &error),
    }
}

fn failed(job: &Job<'_>, error: &Error) -> AllegedReply {
    AllegedReply::new(job.id, error.kind.status(), (0, 0), 0).with_detail(&error.detail)
}

/// Executes an audio plan. Input and output are processed in pieces, because a track may be larger
/// than a job's memory. The file offsets may be moved, because the descriptors were opened for this
/// job alone.
fn transcode(job: &Job<'_>, original: &File, output: &File) -> Result<(u64, Vec<String>), Error> {
    let plan = audio_plan::Plan::from_bytes(job.plan)
        .map_err(|why| Error::new(ErrorKind::Failed, why.to_string()))?;
    let sink = Sink {
        output,
        bytes: 0,
        bytes_max: job.limits.output_bytes_max,
    };
    let sink = BufWriter::with_capacity(WRITE_BYTES, sink);
    let transcoded =
        audio::transcode(&plan, original, sink).map_err(|error| Error::audio(&error))?;
    let written = transcoded
        .sink
        .into_inner()
        .map_err(std::io::IntoInnerError::into_error);
    let sink = written.map_err(|error| {
        Error::new(
            ErrorKind::Failed,
            format!("cannot write the output: {error}"),
        )
    })?;
    Ok((sink.bytes, transcoded.remarks))
}

/// Writer of the output of an audio job, with a limit on its size.
struct Sink<'a> {
    output: &'a File,
    bytes: u64,
    bytes_max: u64,
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // Refuse a write that would exceed the file size limit, because the kernel would kill the
        // process for such a write.
        if self.bytes_max - self.bytes < bytes.len() as u64 {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        let written = self.output.write_at(bytes, self.bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn make_output(job: &Job<'_>, original: &File, output: &File) -> Result<JobOutput, Error> {
    let done = if Batch::is_batch(job.plan) {
        let batch = Batch::from_bytes(job.plan).map_err(|why| malformed(&why))?;
        let done = convert_batch(&batch, &read(original, job.limits.memory_bytes_max)?)?;
        JobOutput {
            bytes: join_outputs(&done.files),
            size_px: (0, 0),
            remarks: done.remarks,
        }
    } else if Comparison::is_comparison(job.plan) {
        let comparison = Comparison::from_bytes(job.plan).map_err(|why| malformed(&why))?;
        let score = compare(&comparison, &read(original, job.limits.memory_bytes_max)?)?;
        JobOutput {
            bytes: score.to_le_bytes().to_vec(),
            size_px: (0, 0),
            remarks: Vec::new(),
        }
    } else {
        let plan = Plan::from_bytes(job.plan).map_err(|why| malformed(&why))?;
        let done = convert(&plan, &read(original, job.limits.memory_bytes_max)?)?;
        JobOutput {
            bytes: done.bytes,
            size_px: (done.size.width_px, done.size.height_px),
            remarks: done.remarks,
        }
    };
    if job.limits.output_bytes_max < done.bytes.len() as u64 {
        let detail = format!("output of {} bytes exceeds the limit", done.bytes.len());
        return Err(Error::new(ErrorKind::TooLarge, detail));
    }
    output.write_all_at(&done.bytes, 0).map_err(|error| {
        Error::new(
            ErrorKind::Failed,
            format!("cannot write the output: {error}"),
        )
    })?;
    Ok(done)
}

fn malformed(why: &image_plan::MalformedPlan) -> Error {
    Error::new(ErrorKind::Failed, why.to_string())
}

/// Reads the whole original. Seeks to find its length, because a sandbox does not allow `fstat`.
/// The file offset may be moved, because the descriptor was opened for this job alone.
fn read(mut original: &File, bytes_max: u64) -> Result<Vec<u8>, Error> {
    let failed = |error| {
        Error::new(
            ErrorKind::Failed,
            format!("cannot read the original: {error}"),
        )
    };
    let len_bytes = original.seek(SeekFrom::End(0)).map_err(failed)?;
    if bytes_max < len_bytes {
        let detail = format!(
            "the original of {len_bytes} bytes does not fit into the memory limit of the job"
        );
        return Err(Error::new(ErrorKind::TooLarge, detail));
    }
    let mut bytes = vec![0; len_bytes as usize];
    original.read_exact_at(&mut bytes, 0).map_err(failed)?;
    Ok(bytes)
}

/// Runs every codec and kernel once, so that their first-use initialisation is done before jobs are
/// forked from the process.
///
/// # Panics
/// If a codec or kernel fails, which means that the build is broken.
pub fn warm_up() {
    codec::warm_up();
    audio::warm_up();
    let size = Size::new(64, 64);
    let grey = image_plan::Raster::Packed(image_plan::Packed {
        size,
        layout: image_plan::Layout::Rgb,
        data: vec![100; 3 * 64 * 64],
    });
    let jpeg = codec::encode(&grey, None, Encoding::Jpeg { quality: 80 })
        .unwrap_or_else(|error| panic!("warm-up: {error}"));
    for (orientation, encoding) in [
        (Orientation::Turn90, Encoding::Png),
        (
            Orientation::Upright,
            Encoding::Webp {
                quality: 80,
                method: 2,
                lossless: false,
            },
        ),
    ] {
        let plan = Plan {
            source: Format::Jpeg,
            stored: size,
            orientation,
            crop: Rect { x: 0, y: 0, size },
            inner: Size::new(24, 24),
            target: Size::new(24, 24),
            encoding,
            page: 1,
            effects: Effects::NONE,
            trim: None,
            frames_max: None,
            bytes_max: None,
            score_min: None,
        };
        let output = convert(&plan, &jpeg).unwrap_or_else(|error| panic!("warm-up: {error}"));
        assert_eq!(output.size, plan.target, "warm-up: {encoding:?}");
    }
}

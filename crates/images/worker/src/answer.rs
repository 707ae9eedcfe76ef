//! A job as a cell brings it: descriptors in, a reply out.

use crate::{Error, ErrorKind, convert, convert_all};
use image_plan::{Encoding, Format, Order, Orientation, Plan, Rect, Size, join_answers};
use sandbox_protocol::{AllegedReply, Job, Status};
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

/// What is written at once of what is made piece by piece. Somebody may hear it as it grows.
const WRITE_BYTES: usize = 32 << 10;

/// What is to be written, and said of it.
struct Done {
    bytes: Vec<u8>,
    /// Zeros for several pictures.
    size_px: (u32, u32),
    remarks: Vec<String>,
}

/// Does `job`, whose plan is a [`Plan`], an [`Order`] or a [`audio_plan::Plan`]: reads `original`, writes `answer`, and says
/// how it went.
#[must_use]
pub fn answer(job: &Job<'_>, original: &File, answer: &File) -> AllegedReply {
    if audio_plan::Plan::is_plan(job.plan) {
        return match transcode(job, original, answer) {
            Ok((bytes, remarks)) => AllegedReply::new(job.id, Status::Done, (0, 0), bytes)
                .with_detail(&remarks.join("; ")),
            Err(error) => failed(job, &error),
        };
    }
    match run(job, original, answer) {
        Ok(done) => AllegedReply::new(job.id, Status::Done, done.size_px, done.bytes.len() as u64)
            .with_detail(&done.remarks.join("; ")),
        Err(error) => failed(job, &error),
    }
}

fn failed(job: &Job<'_>, error: &Error) -> AllegedReply {
    AllegedReply::new(job.id, error.kind.status(), (0, 0), 0).with_detail(&error.detail)
}

/// Makes what a plan of sound says. What is read and written goes piece by piece, since a track may be longer than a job's
/// memory. The descriptors were opened for this job alone, so their offsets are ours to move.
fn transcode(job: &Job<'_>, original: &File, answer: &File) -> Result<(u64, Vec<String>), Error> {
    let plan = audio_plan::Plan::from_bytes(job.plan)
        .map_err(|why| Error::new(ErrorKind::Failed, why.to_string()))?;
    let sink = Sink {
        answer,
        bytes: 0,
        bytes_max: job.limits.answer_bytes_max,
    };
    let sink = BufWriter::with_capacity(WRITE_BYTES, sink);
    let made = audio::transcode(&plan, original, sink).map_err(|error| Error::audio(&error))?;
    let written = made
        .sink
        .into_inner()
        .map_err(std::io::IntoInnerError::into_error);
    let sink =
        written.map_err(|error| Error::new(ErrorKind::Failed, format!("write answer: {error}")))?;
    Ok((sink.bytes, made.remarks))
}

/// An answer as it grows.
struct Sink<'a> {
    answer: &'a File,
    bytes: u64,
    bytes_max: u64,
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // The kernel would end the process for it.
        if self.bytes_max - self.bytes < bytes.len() as u64 {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        let written = self.answer.write_at(bytes, self.bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn run(job: &Job<'_>, original: &File, answer: &File) -> Result<Done, Error> {
    let done = if Order::is_order(job.plan) {
        let order = Order::from_bytes(job.plan).map_err(|why| malformed(&why))?;
        let done = convert_all(&order, &read(original, job.limits.memory_bytes_max)?)?;
        Done {
            bytes: join_answers(&done.files),
            size_px: (0, 0),
            remarks: done.remarks,
        }
    } else {
        let plan = Plan::from_bytes(job.plan).map_err(|why| malformed(&why))?;
        let done = convert(&plan, &read(original, job.limits.memory_bytes_max)?)?;
        Done {
            bytes: done.bytes,
            size_px: (done.size.width_px, done.size.height_px),
            remarks: done.remarks,
        }
    };
    if job.limits.answer_bytes_max < done.bytes.len() as u64 {
        let detail = format!("answer of {} bytes", done.bytes.len());
        return Err(Error::new(ErrorKind::TooLarge, detail));
    }
    answer
        .write_all_at(&done.bytes, 0)
        .map_err(|error| Error::new(ErrorKind::Failed, format!("write answer: {error}")))?;
    Ok(done)
}

fn malformed(why: &image_plan::MalformedPlan) -> Error {
    Error::new(ErrorKind::Failed, why.to_string())
}

/// The whole original. Its descriptor was opened for this job alone, so its offset is ours to move; a cell has no
/// `fstat` to ask for the length.
fn read(mut original: &File, bytes_max: u64) -> Result<Vec<u8>, Error> {
    let failed = |error| Error::new(ErrorKind::Failed, format!("read original: {error}"));
    let len_bytes = original.seek(SeekFrom::End(0)).map_err(failed)?;
    if bytes_max < len_bytes {
        let detail = format!("original of {len_bytes} bytes");
        return Err(Error::new(ErrorKind::TooLarge, detail));
    }
    let mut bytes = vec![0; len_bytes as usize];
    original.read_exact_at(&mut bytes, 0).map_err(failed)?;
    Ok(bytes)
}

/// Runs every codec and kernel once, so that what they set up on first use is there before a job is forked.
///
/// # Panics
/// When one of them fails: then this build is broken.
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
        };
        let answer = convert(&plan, &jpeg).unwrap_or_else(|error| panic!("warm-up: {error}"));
        assert_eq!(answer.size, plan.target, "warm-up: {encoding:?}");
    }
}

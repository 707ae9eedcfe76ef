//! `pelton convert`: converts pictures in cells, with the same results as the server.

mod budget;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, Metadata};
use std::io::{self, IsTerminal as _, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use budget::Budget;
use config::Config;
use conversion::convert::Pace;
use conversion::score;
use image_plan::{COMPARED_PIXELS_MAX, Comparison, Facts, ImageQuery, Plan, Size, Stage, Target};
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use report::{EXIT_OK, Error};
use sandbox::{FailureKind, Pool};
use variants::sealed::Sealed;
use variants::source::FileSource;

use crate::replace::replace;

/// Pictures to convert, and the changes to them.
pub struct Job {
    /// Conversions; no two have the same output.
    pub conversions: Vec<Conversion>,
    /// Folder to create before the conversions, if any.
    pub folder: Option<PathBuf>,
    /// Treatment of results that have the place of a picture of the job.
    pub inputs: Inputs,
    /// Changes to all pictures.
    pub query: ImageQuery,
    /// True to compute the SSIMULACRA2 score of each result.
    pub with_scores: bool,
}

/// Treatment of results that have the place of a picture of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inputs {
    /// The job is refused: the user did not name the results.
    Kept,
    /// The result replaces the picture, because the user named the result.
    Replaced,
}

/// Conversion of one picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// Picture to read.
    pub input: PathBuf,
    /// File to write.
    pub output: PathBuf,
    /// Format of `output`.
    pub target: Target,
}

/// Returns the conversions of `inputs` to files with the extension `extension`, which is that of
/// `target`. The files are written to `folder`, or beside their inputs if `folder` is `None`.
///
/// # Errors
/// When an output would replace an input, or two inputs have the same output.
pub fn to_folder(
    inputs: &[PathBuf],
    target: Target,
    extension: &str,
    folder: Option<&Path>,
) -> Result<Vec<Conversion>, Error> {
    let mut inputs_by_output: HashMap<PathBuf, &Path> = HashMap::new();
    let mut conversions = Vec::with_capacity(inputs.len());
    for input in inputs {
        let beside = input.with_extension(extension);
        let output = match (folder, beside.file_name()) {
            (Some(folder), Some(name)) => folder.join(name),
            _ => beside,
        };
        if let Some(other) = inputs_by_output.insert(output.clone(), input) {
            let (other, input, output) = (other.display(), input.display(), output.display());
            return Err(Error::usage(format!(
                "{other} and {input} would both become {output}"
            )));
        }
        conversions.push(Conversion {
            input: input.clone(),
            output,
            target,
        });
    }
    for input in inputs {
        if inputs_by_output.contains_key(input) {
            let what = format!(
                "{}: a conversion would overwrite this input",
                input.display()
            );
            return Err(Error::usage(what).hint("choose another folder with --out"));
        }
    }
    Ok(conversions)
}

/// Fails if a result would replace a picture of the job, or if two results are the same file.
/// Unlike [`to_folder`], compares files and not paths: one file has many paths, for example through
/// links. The folders of the results must exist.
fn check_results(conversions: &[Conversion]) -> Result<(), Error> {
    let file = |of: Metadata| (of.dev(), of.ino());
    // A picture that cannot be read is reported by its conversion. A result in the place of a link
    // would replace the link, so links count too.
    let inputs = conversions.iter().flat_map(|conversion| {
        let input = &conversion.input;
        [fs::metadata(input), fs::symlink_metadata(input)].into_iter()
    });
    let inputs: HashSet<_> = inputs.flatten().map(file).collect();
    let mut inputs_by_output: HashMap<PathBuf, &Path> = HashMap::new();
    for Conversion { input, output, .. } in conversions {
        // If the result does not exist yet, it replaces nothing.
        if fs::symlink_metadata(output).is_ok_and(|output| inputs.contains(&file(output))) {
            let what = format!(
                "{}: a conversion would overwrite an input",
                output.display()
            );
            return Err(Error::usage(what).hint("choose another folder with --out"));
        }
        if let Some(other) = inputs_by_output.insert(resolved(output), input) {
            let (other, input, output) = (other.display(), input.display(), output.display());
            return Err(Error::usage(format!(
                "{other} and {input} would both become {output}"
            )));
        }
    }
    Ok(())
}

/// Returns the path of a result in the real path of its folder, or `output` itself if that folder
/// cannot be read. The conversion reports such a folder.
fn resolved(output: &Path) -> PathBuf {
    let folder = output.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")));
    match (folder, output.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => output.to_owned(),
    }
}

/// Result of a conversion.
struct Converted {
    original_bytes: u64,
    bytes: u64,
    size: Size,
    cpu_us: u64,
    /// SSIMULACRA2 score, if it was requested. Animations and large pictures have none.
    score: Option<f64>,
}

/// Converts the pictures, several at the same time. A picture that fails does not keep the others
/// from being converted. Existing outputs are replaced, but only by complete results. One picture
/// is reported on stderr, and several in a table on stdout.
///
/// # Errors
/// One error per picture that was not converted.
pub fn run(job: &Job, config: &Config, pool: &Pool) -> Result<u8, Vec<Error>> {
    if let Some(folder) = &job.folder {
        fs::create_dir_all(folder).map_err(|err| {
            let what = format!("cannot create {}: {err}", folder.display());
            vec![Error::host(what)]
        })?;
    }
    if job.inputs == Inputs::Kept {
        check_results(&job.conversions).map_err(|err| vec![err])?;
    }
    let budget = Budget::new(config.limits.convert_bytes_max.0);
    let cells = (pool, &budget);
    if let [conversion] = job.conversions.as_slice() {
        let made = convert(conversion, job, config, cells).map_err(|err| vec![err])?;
        report::line(line(conversion, &made, job.with_scores));
        return Ok(EXIT_OK);
    }
    let mut converted = Vec::new();
    let mut errors = Vec::new();
    for (conversion, result) in job.conversions.iter().zip(convert_all(job, config, cells)) {
        match result {
            Ok(made) => converted.push((conversion, made)),
            Err(err) => errors.push(err),
        }
    }
    let printed = report::print(|out| write_table(out, &converted, job.with_scores));
    errors.extend(printed.err().into_iter().flatten());
    match errors.is_empty() {
        true => Ok(EXIT_OK),
        false => Err(errors),
    }
}

/// Converts the pictures with one thread per cell of the pool, and draws a progress bar on a
/// terminal. The results are in the order of the conversions.
fn convert_all(
    job: &Job,
    config: &Config,
    (pool, budget): (&Pool, &Budget),
) -> Vec<Result<Converted, Error>> {
    let count = job.conversions.len();
    let bar = progress_bar(count);
    let next = AtomicUsize::new(0);
    let (bytes_before, bytes_after) = (AtomicU64::new(0), AtomicU64::new(0));
    let add = |sum: &AtomicU64, bytes| HumanBytes(sum.fetch_add(bytes, Ordering::Relaxed) + bytes);
    let results = Mutex::new(Vec::with_capacity(count));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(conversion) = job.conversions.get(index) else {
                break;
            };
            let result = convert(conversion, job, config, (pool, budget));
            if let Ok(made) = &result {
                let before = add(&bytes_before, made.original_bytes);
                let after = add(&bytes_after, made.bytes);
                bar.set_message(format!("{before} became {after}"));
            }
            bar.inc(1);
            let mut results = results.lock();
            results.push((index, result));
        }
    };
    thread::scope(|scope| {
        for _ in 0..count.min(pool.limits().concurrency as usize) {
            scope.spawn(work);
        }
    });
    bar.finish_and_clear();
    let mut results = results.into_inner();
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

fn progress_bar(count: usize) -> ProgressBar {
    let target = match io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} pictures, {eta} left, {msg}");
    ProgressBar::with_draw_target(Some(count as u64), target)
        .with_style(style.expect("the template is valid"))
}

/// Converts one picture and writes the result. Waits until `budget` has the estimated memory.
fn convert(
    conversion: &Conversion,
    job: &Job,
    config: &Config,
    (pool, budget): (&Pool, &Budget),
) -> Result<Converted, Error> {
    let Conversion { input, output, .. } = conversion;
    let (original, facts) = inspect(input, job.query.recipe.page_number())?;
    let plan = plan(conversion, config, &facts, &job.query)?;
    let is_scored =
        job.with_scores && plan.frames_max.is_none() && plan.target.pixels() <= COMPARED_PIXELS_MAX;
    let original_bytes = original.metadata().map_err(|err| {
        Error::host(format!(
            "cannot read the size of {}: {err}",
            input.display()
        ))
    })?;
    let original_bytes = original_bytes.len();
    let _reserved = budget.reserve(memory_bytes(&plan, original_bytes, is_scored));
    let wall_ms_max = config.cell.max_request_time.0.as_millis() as u32;
    let sealed = conversion::convert::run(pool, &plan, &original, wall_ms_max, Pace::Awaited)
        .map_err(|failure| failed("convert", input, &failure))?;
    write(output, &sealed)
        .map_err(|err| Error::host(format!("cannot write {}: {err}", output.display())))?;
    let facts = image_plan::probe(&sealed, sealed.bytes).map_err(|err| {
        // The pool has probed the result, too.
        Error::host(format!("cannot read {}: {err}", output.display()))
    })?;
    let score = match is_scored {
        false => None,
        true => {
            let variant = fs::read(output)
                .map_err(|err| Error::host(format!("cannot read {}: {err}", output.display())))?;
            let score = score::score(pool, &plan, &original, &variant, wall_ms_max);
            Some(score.map_err(|failure| failed("score", output, &failure))?)
        }
    };
    Ok(Converted {
        original_bytes,
        bytes: sealed.bytes,
        // The plan of a trimmed picture has only bounds of its size.
        size: facts.stored,
        cpu_us: sealed.cpu_us,
        score,
    })
}

/// Returns the estimated memory of a conversion and, if `is_scored`, of the comparison after it.
fn memory_bytes(plan: &Plan, original_bytes: u64, is_scored: bool) -> u64 {
    let comparison = Comparison {
        plan: *plan,
        original_bytes,
    };
    let compared = match is_scored {
        true => comparison
            .cost()
            .memory_bytes
            .saturating_add(original_bytes),
        false => 0,
    };
    plan.cost().memory_bytes.max(compared)
}

/// Returns the error of a job of the kind `what`, such as "convert", for the picture at `path`.
fn failed(what: &str, path: &Path, failure: &sandbox::Failure) -> Error {
    let what = format!("{what} {}: {}", path.display(), failure.detail);
    match failure.kind {
        FailureKind::Undecodable | FailureKind::Unsupported => Error::finding(what),
        FailureKind::TooLarge => Error::finding(what).hint("raise --cell-max-work-memory"),
        FailureKind::TimedOut => Error::finding(what).hint("raise --cell-max-request-time"),
        FailureKind::Unencodable
        | FailureKind::Crashed
        | FailureKind::ProtocolViolation
        | FailureKind::Host
        | FailureKind::Cancelled => Error::host(what),
    }
}

fn inspect(input: &Path, page: u16) -> Result<(File, Facts), Error> {
    let unreadable =
        |err: io::Error| Error::usage(format!("cannot read {}: {err}", input.display()));
    let file = File::open(input).map_err(unreadable)?;
    let bytes = file.metadata().map_err(unreadable)?.len();
    let facts = image_plan::probe_page(&FileSource(&file), bytes, page)
        .map_err(|err| Error::finding(format!("cannot read {}: {err}", input.display())))?;
    Ok((file, facts))
}

fn plan(
    conversion: &Conversion,
    config: &Config,
    facts: &Facts,
    query: &ImageQuery,
) -> Result<Plan, Error> {
    let recipe = query.recipe.with_default_quality(config.quality.0);
    let limits = image_plan::Limits {
        source_pixels_max: config.limits.source_pixels_max.get(),
        target_pixels_max: config.limits.target_pixels_max.get(),
        profile_bytes_max: config.limits.profile_bytes_max.0,
        animation_frames_max: config.limits.animation_frames_max.get(),
        animation_pixels_max: config.limits.animation_pixels_max.get(),
    };
    let plan = image_plan::plan(facts, &recipe, conversion.target, Stage::Better, &limits);
    let input = conversion.input.display();
    plan.map_err(|refusal| Error::finding(format!("convert {input}: {refusal}")))
}

fn write(output: &Path, sealed: &Sealed) -> io::Result<()> {
    replace(output, |file| {
        io::copy(&mut (&*sealed.file).take(sealed.bytes), file).map(drop)
    })
}

/// Returns the report on the conversion of a single picture.
fn line(conversion: &Conversion, made: &Converted, with_score: bool) -> String {
    let score = match (with_score, made.score) {
        (false, _) => String::new(),
        (true, Some(score)) => format!(", SSIMULACRA2 {score:.1}"),
        (true, None) => {
            ", no SSIMULACRA2 score, because the picture is animated or too large".to_owned()
        }
    };
    format!(
        "{}: {} x {} pixels, {} bytes, {:.2} times the size of the original, {} ms of CPU time{}",
        conversion.output.display(),
        made.size.width_px,
        made.size.height_px,
        made.bytes,
        ratio(made.bytes, made.original_bytes),
        made.cpu_us / 1000,
        score,
    )
}

fn ratio(bytes: u64, original_bytes: u64) -> f64 {
    bytes as f64 / original_bytes.max(1) as f64
}

/// Writes a line per picture, and the totals.
fn write_table(
    out: &mut impl io::Write,
    converted: &[(&Conversion, Converted)],
    with_scores: bool,
) -> io::Result<()> {
    let names = converted.iter().map(|(it, _)| shown(&it.output));
    let names: Vec<String> = names.collect();
    let total = format!("{} pictures", converted.len());
    let lengths = names
        .iter()
        .chain([&total])
        .map(|name| name.chars().count());
    let width = lengths.max().unwrap_or(0);
    let score_head = if with_scores { "  SSIMULACRA2" } else { "" };
    writeln!(
        out,
        "{:width$}  {:>10}  {:>10}  {:>5}  {:>11}  {:>7}{score_head}",
        "output", "before", "after", "ratio", "pixels", "CPU s"
    )?;
    let mut sums = (0, 0, 0);
    for (name, (_, made)) in names.iter().zip(converted) {
        sums.0 += made.original_bytes;
        sums.1 += made.bytes;
        sums.2 += made.cpu_us;
        let pixels = format!("{}x{}", made.size.width_px, made.size.height_px);
        let score = match (with_scores, made.score) {
            (false, _) => String::new(),
            (true, None) => format!("  {:>11}", "-"),
            (true, Some(score)) => format!("  {score:>11.1}"),
        };
        write_row(
            out,
            (name, width),
            (made.original_bytes, made.bytes, made.cpu_us),
            &pixels,
        )?;
        writeln!(out, "{score}")?;
    }
    write_row(out, (&total, width), sums, "")?;
    writeln!(out)
}

/// Writes the columns of a row up to the CPU time. `name` comes with the width of its column;
/// `amounts` are the bytes before and after the conversion, and the CPU time in microseconds.
fn write_row(
    out: &mut impl io::Write,
    (name, width): (&str, usize),
    (before, after, cpu_us): (u64, u64, u64),
    pixels: &str,
) -> io::Result<()> {
    write!(
        out,
        "{name:width$}  {:>10}  {:>10}  {:>5.2}  {pixels:>11}  {:>7.2}",
        HumanBytes(before).to_string(),
        HumanBytes(after).to_string(),
        ratio(after, before),
        cpu_us as f64 / 1e6,
    )
}

/// Returns the path as text for a terminal, without control characters.
fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.chars()
        .map(|it| if it.is_control() { '\u{fffd}' } else { it })
        .collect()
}

//! `pelton convert`: converts one picture in a cell, with the same result as the server.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use config::Config;
use conversion::convert::Pace;
use image_plan::{Facts, ImageQuery, Plan, Recipe, Stage};
use report::{EXIT_OK, Error};
use sandbox::FailureKind;
use variants::sealed::Sealed;
use variants::source::FileSource;

use crate::flags::{self, Convert};
use crate::wiring;

/// Converts the picture IN to the file OUT, which is replaced only when the result is complete.
pub(crate) fn run(typed: &Convert, config: &Config) -> Result<u8, Vec<Error>> {
    convert(typed, config).map_err(|err| vec![err])
}

fn convert(typed: &Convert, config: &Config) -> Result<u8, Error> {
    let ask = image_plan::parse_query(&typed.query)
        .map_err(|err| Error::usage(format!("--query: {err}")))?;
    let (original, facts) = inspect(&typed.input, ask.recipe.page_number())?;
    let plan = plan(typed, config, &facts, &ask)?;
    let pool = wiring::pool(config, 1)?;
    let wall_ms_max = config.cell.max_request_time.0.as_millis() as u32;
    let sealed = conversion::convert::run(&pool, &plan, &original, wall_ms_max, Pace::Awaited)
        .map_err(|failure| {
            let what = format!("convert {}: {}", typed.input.display(), failure.detail);
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
        })?;
    write(&typed.output, &sealed)
        .map_err(|err| Error::host(format!("cannot write {}: {err}", typed.output.display())))?;
    let original_bytes = original.metadata().map_or(0, |meta| meta.len());
    let size = plan.target;
    report::line(format_args!(
        "{}: {} x {} pixels, {} bytes, {:.2} of the original, {} ms CPU",
        typed.output.display(),
        size.width_px,
        size.height_px,
        sealed.bytes,
        sealed.bytes as f64 / original_bytes.max(1) as f64,
        sealed.cpu_us / 1000,
    ));
    Ok(EXIT_OK)
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

fn plan(typed: &Convert, config: &Config, facts: &Facts, ask: &ImageQuery) -> Result<Plan, Error> {
    let target = flags::target(&typed.output)?;
    if ask.meta || ask.recipe.format.is_some_and(|format| format != target) {
        return Err(Error::usage(
            "--query: the extension of OUT selects the format, so meta and format cannot be used here",
        ));
    }
    let quality_pct = ask.recipe.quality_pct.or(Some(config.quality.0));
    let recipe = Recipe {
        quality_pct,
        ..ask.recipe
    };
    let limits = image_plan::Limits {
        source_pixels_max: config.limits.source_pixels_max.get(),
        target_pixels_max: config.limits.target_pixels_max.get(),
        profile_bytes_max: config.limits.profile_bytes_max.0,
        animation_frames_max: config.limits.animation_frames_max.get(),
        animation_pixels_max: config.limits.animation_pixels_max.get(),
    };
    let plan = image_plan::plan(facts, &recipe, target, Stage::Better, &limits);
    plan.map_err(|refusal| Error::finding(format!("convert {}: {refusal}", typed.input.display())))
}

fn write(output: &Path, sealed: &Sealed) -> io::Result<()> {
    let mut name = output.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let temporary: PathBuf = output.with_file_name(name);
    let mut file = File::create_new(&temporary)?;
    let written = io::copy(&mut (&*sealed.file).take(sealed.bytes), &mut file);
    written
        // The data is synced before the rename, so that a power cut cannot replace a complete
        // picture by a partial one.
        .and_then(|_| file.sync_data())
        .and_then(|()| fs::rename(&temporary, output))
        .inspect_err(|_| {
            // The earlier error is returned; an error of this removal is ignored.
            drop(fs::remove_file(&temporary));
        })
}

//! Pelton's worker as a plain process without a cell. It converts one picture according to a plan,
//! which describes the steps of the conversion.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use image_plan::{Effects, Encoding, Facts, Orientation, Plan, Rect, Size};
use toolkit::stop::{Stop, at};

use crate::usage;

/// Worker program that converts pictures outside a cell.
#[derive(Clone, Debug)]
pub(crate) struct Converter {
    worker: PathBuf,
}

impl Converter {
    pub(crate) fn new(worker: &Path) -> Converter {
        Converter {
            worker: worker.to_owned(),
        }
    }

    /// Converts the file `original` and writes the output to the file `response`.
    ///
    /// # Errors
    /// Returns an error if the worker cannot be started or fails, or if `response` cannot be
    /// written.
    pub(crate) fn convert(
        &self,
        plan: &Plan,
        original: &Path,
        response: &Path,
    ) -> Result<(), Stop> {
        let mut command = self.command(plan, original)?;
        let output = command
            .output()
            .map_err(|err| usage::unstartable(&command, &err))?;
        if !output.status.success() {
            let stderr_text = String::from_utf8_lossy(&output.stderr);
            let line = format!(
                "worker: {}: {}: {stderr_text}",
                original.display(),
                output.status
            );
            return Err(Stop::findings(line));
        }
        fs::write(response, output.stdout).map_err(at(response))
    }

    /// Converts the file `original` repeatedly, `times` times in total, in one process. Returns the
    /// CPU time of each conversion in microseconds.
    ///
    /// # Errors
    /// Returns an error if the worker fails or does not print one CPU time per conversion.
    pub(crate) fn repeat(
        &self,
        plan: &Plan,
        original: &Path,
        times: u32,
    ) -> Result<Vec<u64>, Stop> {
        let mut command = self.command(plan, original)?;
        command.args(["--repeat", &times.to_string()]);
        let output = command
            .output()
            .map_err(|err| usage::unstartable(&command, &err))?;
        let stderr_text = String::from_utf8_lossy(&output.stderr);
        let times_us: Option<Vec<u64>> =
            stderr_text.lines().map(|line| line.parse().ok()).collect();
        times_us
            .filter(|times_us| output.status.success() && times_us.len() == times as usize)
            .ok_or_else(|| Stop::findings(format!("worker: {}: {stderr_text}", original.display())))
    }

    fn command(&self, plan: &Plan, original: &Path) -> Result<Command, Stop> {
        let file = File::open(original).map_err(at(original))?;
        let mut command = Command::new(&self.worker);
        command.args(["once", &hex(plan)]).stdin(Stdio::from(file));
        Ok(command)
    }
}

/// Encodes a plan as hexadecimal digits for the worker's command line.
pub(crate) fn hex(plan: &Plan) -> String {
    hex::encode(plan.to_bytes())
}

/// Returns a plan that keeps the size and only changes the encoding.
pub(crate) fn reencode(facts: &Facts, encoding: Encoding) -> Plan {
    fit(facts, facts.stored, encoding)
}

/// Returns a plan that scales the whole picture to `size`.
pub(crate) fn fit(facts: &Facts, size: Size, encoding: Encoding) -> Plan {
    Plan {
        source: facts.format,
        stored: facts.stored,
        orientation: Orientation::default(),
        crop: Rect {
            x: 0,
            y: 0,
            size: facts.stored,
        },
        inner: size,
        target: size,
        encoding,
        page: 1,
        effects: Effects::NONE,
        trim: None,
        frames_max: None,
        bytes_max: None,
        score_min: None,
    }
}

//! Cost of a cell: runs the same jobs in cells and in a plain process of the same program.

use std::fs;
use std::os::fd::AsFd as _;
use std::time::Instant;

use image_plan::{Limits, Plan, Stage};
use sandbox::{Pool, Task};
use sandbox_protocol::JobLimits;
use serde::{Deserialize, Serialize};
use toolkit::stop::{Stop, at};

use crate::converter::Converter;
use crate::corpus::Photograph;
use crate::stats::{Ratio, Spread};
use crate::usage::Tree;
use crate::{SharedFlags, stats, table};

#[derive(Deserialize)]
pub(super) struct Definition {
    /// Number of jobs per round. The jobs run one after the other.
    repeat: u32,
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    photograph: String,
    query: String,
}

#[derive(Serialize)]
pub(super) struct Overhead {
    photograph: String,
    query: String,
    /// CPU time per job in a cell (a sandboxed process), in microseconds, for each round.
    cell_us: Vec<f64>,
    /// Part of `cell_us` that the worker reports as the CPU time of the job itself.
    #[serde(rename = "told_us")]
    reported_us: Vec<f64>,
    plain_us: Vec<f64>,
    plain_again_us: Vec<f64>,
    /// Wall time per job in a cell, in microseconds, for each round.
    cell_wall_us: Vec<f64>,
    plain_wall_us: Vec<f64>,
    /// CPU time in a cell divided by CPU time without a cell.
    ratio: Ratio,
    /// Control: the ratio of two runs without a cell.
    control: Ratio,
}

pub(super) fn run(
    given: &SharedFlags,
    definition: &Definition,
    photographs: &[Photograph],
    rounds: usize,
) -> Result<Vec<Overhead>, Stop> {
    let worker = given.worker()?;
    let elf = fs::read(worker).map_err(at(worker))?;
    let limits = sandbox::Limits {
        concurrency: 1,
        ..sandbox::Limits::default()
    };
    let pool = Pool::start(&elf, limits).map_err(|err| Stop::host(err.to_string()))?;
    let mut overheads = Vec::new();
    for job in &definition.jobs {
        let photograph = photographs
            .iter()
            .find(|photograph| photograph.name == job.photograph);
        let Some(photograph) = photograph else {
            eprintln!(
                "lab: {}: skipped, because the corpus has no photograph of this name",
                job.photograph
            );
            continue;
        };
        let runner = Runner {
            pool: &pool,
            converter: Converter::new(worker),
            photograph,
            plan: plan(photograph, &job.query)?,
            repeat: definition.repeat,
        };
        overheads.push(runner.overhead(job, rounds)?);
    }
    print(&overheads);
    Ok(overheads)
}

/// Returns the plan by which the server converts while a client waits. Its encoder effort is low.
fn plan(photograph: &Photograph, query: &str) -> Result<Plan, Stop> {
    let ask =
        image_plan::parse_query(query).map_err(|err| Stop::usage(format!("{query}: {err}")))?;
    let target = ask.recipe.format;
    let target =
        target.ok_or_else(|| Stop::usage(format!("{query}: the query must name a format")))?;
    let plan = image_plan::plan(
        &photograph.facts,
        &ask.recipe,
        target,
        Stage::Quick,
        &Limits::default(),
    );
    plan.map_err(|refusal| Stop::findings(format!("{}: {refusal}", photograph.name)))
}

struct Runner<'a> {
    pool: &'a Pool,
    converter: Converter,
    photograph: &'a Photograph,
    plan: Plan,
    repeat: u32,
}

/// Cost of one job, in microseconds.
struct Cost {
    cpu_us: f64,
    reported_us: f64,
    wall_us: f64,
}

impl Runner<'_> {
    fn overhead(&self, job: &Job, rounds: usize) -> Result<Overhead, Stop> {
        // Warm up both the cells and the plain process.
        self.in_cells()?;
        self.plain()?;
        let mut costs: [Vec<Cost>; 3] = Default::default();
        for round in 0..rounds {
            for index in stats::order(3, round) {
                let cost = if index == 0 {
                    self.in_cells()?
                } else {
                    self.plain()?
                };
                costs[index].push(cost);
            }
        }
        let [cell_us, plain_us, plain_again_us] = costs
            .each_ref()
            .map(|costs| costs.iter().map(|cost| cost.cpu_us).collect::<Vec<_>>());
        let reported_us = costs[0].iter().map(|cost| cost.reported_us).collect();
        let [cell_wall_us, plain_wall_us, _] = costs
            .each_ref()
            .map(|costs| costs.iter().map(|cost| cost.wall_us).collect());
        Ok(Overhead {
            photograph: job.photograph.clone(),
            query: job.query.clone(),
            ratio: Ratio::of(&cell_us, &plain_us),
            control: Ratio::of(&plain_again_us, &plain_us),
            cell_us,
            reported_us,
            plain_us,
            plain_again_us,
            cell_wall_us,
            plain_wall_us,
        })
    }

    /// Measures jobs in cells. Counts the CPU time of this process and all its descendants, so the
    /// cost includes the pool's threads, the forks and wipes of cells, and the checks of replies.
    fn in_cells(&self) -> Result<Cost, Stop> {
        let original = self.photograph.open()?;
        let plan = self.plan.to_bytes();
        let size = self.plan.target;
        let task = Task {
            original: original.as_fd(),
            plan: &plan,
            size_px: Some((size.width_px, size.height_px)),
            limits: JobLimits {
                output_bytes_max: 64 << 20,
                memory_bytes_max: 1 << 30,
                cpu_ms_max: 60_000,
            },
            wall_ms_max: 60_000,
            idle: false,
        };
        let own = std::process::id();
        let (before_us, started) = (Tree::cpu_us(own)?, Instant::now());
        let mut reported_us = 0;
        for _ in 0..self.repeat {
            let finished = self.pool.run(task);
            reported_us += finished
                .map_err(|failure| Stop::findings(failure.to_string()))?
                .cpu_us;
        }
        let reported_us = reported_us as f64 / f64::from(self.repeat);
        let repeat = f64::from(self.repeat);
        let wall_us = started.elapsed().as_micros() as f64 / repeat;
        let cpu_us = (Tree::cpu_us(own)? - before_us) as f64 / repeat;
        Ok(Cost {
            cpu_us,
            reported_us,
            wall_us,
        })
    }

    /// Measures the same jobs in one plain process, which runs the jobs one after the other. The
    /// start of the process and its first job do not count.
    fn plain(&self) -> Result<Cost, Stop> {
        let runs_us = self
            .converter
            .repeat(&self.plan, &self.photograph.path, self.repeat + 1)?;
        let runs_us: Vec<f64> = runs_us[1..].iter().map(|run_us| *run_us as f64).collect();
        let cpu_us = stats::mean(&runs_us);
        // The process has one thread, which never blocks. So on an otherwise idle machine, wall
        // time and CPU time are equal.
        Ok(Cost {
            cpu_us,
            reported_us: cpu_us,
            wall_us: cpu_us,
        })
    }
}

fn print(overheads: &[Overhead]) {
    let rows = overheads.iter().map(|overhead| {
        let (ratio, control) = (overhead.ratio, overhead.control);
        vec![
            format!("{} {}", overhead.photograph, overhead.query),
            format!("{:.0}", Spread::of(&overhead.plain_us).median),
            format!("{:.0}", Spread::of(&overhead.cell_us).median),
            format!("{:.0}", Spread::of(&overhead.reported_us).median),
            format!("{:.0}", Spread::of(&overhead.cell_wall_us).median),
            format!("{:.3}", ratio.median),
            format!("{:.3}…{:.3}", ratio.low, ratio.high),
            format!("{:.3}", control.median),
        ]
    });
    let head = [
        "job",
        "plain µs",
        "cell µs",
        "µs reported by the cell",
        "wall µs in the cell",
        "cell/plain",
        "95 %",
        "plain/plain",
    ];
    table::print("Cells: CPU time per job", &head, &rows.collect::<Vec<_>>());
}

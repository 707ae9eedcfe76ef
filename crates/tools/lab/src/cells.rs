//! `lab cells`: cost of running one small image job in a cell (a sandbox for one job at a time),
//! with every backend.
//!
//! ```text
//! clients, one per core ─ HTTP ─► server ─┬─► plain worker processes     interleaved rounds
//!                                         └─► pools of cells, by backend and page size
//! ```

mod calls;
mod contender;
mod costs;
mod front;

use std::fs;
use std::num::NonZeroUsize;
use std::process;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use image_plan::{Limits, Plan, Stage};
use serde::{Deserialize, Serialize};
use toolkit::stop::{Stop, at};

use crate::converter::Converter;
use crate::corpus::{self, Photograph};
use crate::record::Record;
use crate::scratch::Scratch;
use crate::stats::{Ratio, Spread, quantile, sorted};
use crate::usage::Tree;
use crate::{SharedFlags, stats, table};
use calls::Calls;
use contender::{Contender, Plain, Setting, Way, Work};
use costs::{Cost, Memory, Wipe};
use front::Load;

/// Content of `lab/definitions/cells.toml`.
#[derive(Deserialize)]
struct Definition {
    photograph: String,
    cut: String,
    query: String,
    rounds: usize,
    seconds: f64,
    /// Number of jobs per contender for the measurement of waiting times, at four fifths of full
    /// load.
    wait_jobs: usize,
    empty_jobs: u32,
    wipes: Vec<u32>,
    /// Number of rounds per batch size and backend for the measurement of store calls.
    call_rounds: usize,
    call_batches: Vec<u32>,
    contenders: Vec<Setting>,
}

/// Name of the contender that runs first in each round: the worker as a plain process, without a
/// cell (sandbox). The same contender also runs last in each round, under the name [`LAST`].
const FIRST: &str = "plain";
const LAST: &str = "plain again";
/// Name of the plain processes that request as much fresh memory from the kernel per job as a job
/// in a microVM dirties. Their throughput is the upper limit for any cell that is wiped by
/// returning its pages to the kernel.
const FRESH: &str = "plain, fresh memory";

/// Contender with its name.
type Named = (String, Contender);

/// Throughput, CPU time and latency of one contender in one round.
#[derive(Debug, Serialize)]
struct Sample {
    contender: String,
    round: usize,
    requests: usize,
    per_second: f64,
    /// CPU time of the clients, the server, the workers and the sandbox around the workers, divided
    /// by the number of requests.
    cpu_us: f64,
    p50_us: f64,
    p90_us: f64,
    p99_us: f64,
    max_us: f64,
}

#[derive(Debug, Serialize)]
struct Summary {
    contender: String,
    per_second: Spread,
    /// Throughput of this contender divided by that of plain processes in the same round. Each
    /// round measures plain processes twice, as the contenders [`FIRST`] and [`LAST`], and the
    /// divisor is their mean. In the rows of these two contenders, the divisor is that of
    /// [`FIRST`].
    ratio: Ratio,
    cpu_us: Spread,
    /// CPU time of plain processes divided by that of this contender in the same round. Each round
    /// measures plain processes twice, as the contenders [`FIRST`] and [`LAST`], and the dividend
    /// is their mean. In the rows of these two contenders, the dividend is that of [`FIRST`].
    cpu_ratio: Ratio,
    p50_us: Spread,
    p99_us: Spread,
}

/// Times in microseconds for which jobs waited for a cell. The load was four fifths of the full
/// load.
#[derive(Debug, Serialize)]
struct Waits {
    contender: String,
    jobs: usize,
    p50_us: f64,
    p99_us: f64,
    max_us: f64,
}

/// Properties of the picture that all jobs convert, and whether the host can run microVMs
/// (`machines`).
#[derive(Debug, Serialize)]
struct Original {
    width_px: u32,
    height_px: u32,
    bytes: usize,
    output_bytes: usize,
    machines: bool,
}

pub(crate) fn run(given: &SharedFlags) -> Result<(), Stop> {
    let (definition, raw): (Definition, _) = given.definition("cells")?;
    let photographs = corpus::read(&given.corpus, std::slice::from_ref(&definition.photograph))?;
    let mut record = Record::begin("cells", &raw, &[], &photographs);
    let scratch = Scratch::new("cells")?;
    let worker = given.worker()?;
    let elf = fs::read(worker).map_err(at(worker))?;
    let lab = Lab {
        given,
        elf,
        work: work(given, &definition, &photographs[0], &scratch)?,
        cores: thread::available_parallelism().map_or(1, NonZeroUsize::get),
        machines: Setting::machines(),
        scratch,
        definition,
    };
    let (contenders, expected) = lab.contenders()?;
    let bytes = fs::metadata(&lab.work.original).map_err(at(&lab.work.original))?;
    record.add(
        "original",
        &Original {
            width_px: lab.work.plan.stored.width_px,
            height_px: lab.work.plan.stored.height_px,
            bytes: bytes.len() as usize,
            output_bytes: expected.len(),
            machines: lab.machines,
        },
    );
    let samples = lab.rounds(&contenders, &expected)?;
    let summaries = summaries(&contenders, &samples);
    print(&summaries);
    let waits = lab.waits(&contenders, &summaries)?;
    record.add("memory", &lab.memory(&contenders)?);
    drop(contenders);
    let costs = lab.costs()?;
    let wipes = lab.wipes()?;
    record.add("summaries", &summaries);
    record.add("waits", &waits);
    record.add("costs", &costs);
    record.add("wipes", &wipes);
    record.add("calls", &lab.calls()?);
    if lab.machines {
        let creation_us = sorted(&costs::creation(100)?);
        let (p50, p99) = (quantile(&creation_us, 0.5), quantile(&creation_us, 0.99));
        println!(
            "\nCreation of a microVM with its virtual CPU: median {p50:.0} µs, p99 {p99:.0} µs"
        );
        record.add(
            "creation",
            &[Created {
                p50_us: p50,
                p99_us: p99,
            }],
        );
    }
    record.add("samples", &samples);
    record.write(&given.record)
}

/// Time to create a microVM with its virtual CPU, in microseconds.
#[derive(Debug, Serialize)]
struct Created {
    p50_us: f64,
    p99_us: f64,
}

/// Prepares the job that all contenders run: a smaller original, made by the worker from the
/// photograph, and the plan for its conversion.
fn work(
    given: &SharedFlags,
    definition: &Definition,
    photograph: &Photograph,
    scratch: &Scratch,
) -> Result<Work, Stop> {
    let cut = plan(&photograph.facts, &definition.cut)?;
    let original = scratch.join("original.jpg");
    Converter::new(given.worker()?).convert(&cut, &photograph.path, &original)?;
    let bytes = fs::read(&original).map_err(at(&original))?;
    let facts = image_plan::probe(&bytes[..], bytes.len() as u64);
    let facts = facts.map_err(|err| Stop::findings(format!("{}: {err}", original.display())))?;
    Ok(Work {
        plan: plan(&facts, &definition.query)?,
        original,
    })
}

fn plan(facts: &image_plan::Facts, query: &str) -> Result<Plan, Stop> {
    let ask =
        image_plan::parse_query(query).map_err(|err| Stop::usage(format!("{query}: {err}")))?;
    let target = ask.recipe.format;
    let target =
        target.ok_or_else(|| Stop::usage(format!("{query}: the query must name a format")))?;
    let plan = image_plan::plan(facts, &ask.recipe, target, Stage::Quick, &Limits::default());
    plan.map_err(|refusal| Stop::usage(format!("{query}: {refusal}")))
}

struct Lab<'a> {
    given: &'a SharedFlags,
    definition: Definition,
    elf: Vec<u8>,
    work: Work,
    cores: usize,
    /// True if this process may run microVMs on this host.
    machines: bool,
    /// Folder of the original. It must exist as long as jobs run.
    scratch: Scratch,
}

impl Lab<'_> {
    /// Starts all contenders, plain processes first and last. Returns the contenders, and the
    /// output that each of them must produce.
    fn contenders(&self) -> Result<(Vec<Named>, Vec<u8>), Stop> {
        let plain = |fresh_bytes| -> Result<Contender, Stop> {
            let worker = self.given.worker()?;
            let plain = Plain::start(worker, &self.work, self.cores, fresh_bytes)?;
            Ok(Contender::Plain(Arc::new(plain)))
        };
        let mut contenders = vec![(FIRST.to_owned(), plain(0)?)];
        for setting in self.settings() {
            let pool = setting.start(&self.elf, self.cores as u32)?;
            let cells = Contender::Cells(Arc::new(pool));
            contenders.push((setting.name.clone(), cells));
        }
        contenders.push((LAST.to_owned(), plain(0)?));
        let expected = contenders[0].1.respond(&self.work)?;
        for (name, contender) in &contenders {
            if contender.respond(&self.work)? != expected {
                return Err(Stop::findings(format!(
                    "{name}: the result differs from that of a plain process"
                )));
            }
        }
        if let Some(job_bytes) = job_bytes(&contenders) {
            contenders.insert(1, (FRESH.to_owned(), plain(job_bytes as usize)?));
        }
        let size = image_plan::probe(&expected[..], expected.len() as u64)
            .map_err(|err| Stop::findings(format!("result: {err}")))?;
        if size.stored != self.work.plan.target {
            return Err(Stop::findings(format!(
                "the result has the wrong size {:?}",
                size.stored
            )));
        }
        Ok((contenders, expected))
    }

    /// Returns the settings of pools that this host can run.
    fn settings(&self) -> impl Iterator<Item = &Setting> {
        let settings = self.definition.contenders.iter();
        settings.filter(|setting| self.machines || !setting.needs_machine())
    }

    fn rounds(&self, contenders: &[Named], expected: &[u8]) -> Result<Vec<Sample>, Stop> {
        let load = Load {
            connections: self.cores,
            time: Duration::from_secs_f64(self.definition.seconds),
            pause: Duration::ZERO,
        };
        let rounds = self.given.rounds.unwrap_or(self.definition.rounds);
        let mut samples = Vec::new();
        for round in 0..rounds {
            eprintln!("lab: cells: round {} of {rounds}", round + 1);
            for index in stats::order(contenders.len(), round) {
                let (name, contender) = &contenders[index];
                let before_us = Tree::cpu_us(process::id())?;
                let load_result = front::ask(contender, &self.work, load, expected)?;
                let spent_us = Tree::cpu_us(process::id())? - before_us;
                let times_us = sorted(&load_result.times_us);
                samples.push(Sample {
                    contender: name.clone(),
                    round,
                    requests: times_us.len(),
                    per_second: times_us.len() as f64 / load_result.wall_s,
                    cpu_us: spent_us as f64 / times_us.len() as f64,
                    p50_us: quantile(&times_us, 0.5),
                    p90_us: quantile(&times_us, 0.9),
                    p99_us: quantile(&times_us, 0.99),
                    max_us: quantile(&times_us, 1.0),
                });
            }
        }
        Ok(samples)
    }

    /// Measures the time that jobs wait for a cell. Each client pauses for a quarter of a job's
    /// time between two jobs, which gives four fifths of full load.
    fn waits(&self, contenders: &[Named], summaries: &[Summary]) -> Result<Vec<Waits>, Stop> {
        let mut waits = Vec::new();
        for ((name, contender), summary) in contenders.iter().zip(summaries) {
            let Contender::Cells(pool) = contender else {
                continue;
            };
            let pause = Duration::from_secs_f64(summary.p50_us.median / 4e6);
            let jobs = match self.given.rounds {
                Some(rounds) => self.definition.wait_jobs.min(rounds * 20),
                None => self.definition.wait_jobs,
            };
            let jobs = jobs.div_ceil(self.cores);
            let waited = thread::scope(|scope| {
                let ask = || -> Result<Vec<f64>, Stop> {
                    let mut waited_us = Vec::new();
                    for _ in 0..jobs {
                        waited_us.push(self.work.in_cell(pool)?.acquire_us as f64);
                        thread::sleep(pause);
                    }
                    Ok(waited_us)
                };
                let threads: Vec<_> = (0..self.cores).map(|_| scope.spawn(ask)).collect();
                let joined = threads.into_iter().map(|thread| thread.join());
                joined
                    .map(|waited| waited.expect("the threads that wait for cells do not panic"))
                    .collect::<Result<Vec<_>, Stop>>()
            })?;
            let waited_us = sorted(&waited.concat());
            waits.push(Waits {
                contender: name.clone(),
                jobs: waited_us.len(),
                p50_us: quantile(&waited_us, 0.5),
                p99_us: quantile(&waited_us, 0.99),
                max_us: quantile(&waited_us, 1.0),
            });
        }
        let rows = waits.iter().map(|wait| {
            let figures = [wait.p50_us, wait.p99_us, wait.max_us];
            row(&wait.contender, wait.jobs, &figures)
        });
        let head = ["contender", "jobs", "p50 µs", "p99 µs", "max µs"];
        let title = "Cells: time that jobs wait for a cell at four fifths of full load";
        table::print(title, &head, &rows.collect::<Vec<_>>());
        Ok(waits)
    }

    /// Measures the cost of providing zeroed memory for a job.
    fn memory(&self, contenders: &[Named]) -> Result<Vec<Memory>, Stop> {
        let Some(job_bytes) = job_bytes(contenders) else {
            return Ok(Vec::new());
        };
        let memory = costs::memory(job_bytes, self.cores)?;
        let Memory {
            fresh_us,
            zeroed_us,
            ..
        } = memory;
        println!(
            "\nA job writes to {job_bytes} bytes of memory. With all cores busy, getting that much zeroed memory from the kernel takes {fresh_us:.0} µs, \
             zeroing memory that is kept takes {zeroed_us:.0} µs"
        );
        Ok(vec![memory])
    }

    fn costs(&self) -> Result<Vec<Cost>, Stop> {
        let jobs = match self.given.rounds {
            Some(rounds) => self.definition.empty_jobs.min(rounds as u32 * 50),
            None => self.definition.empty_jobs,
        };
        let costs = self
            .settings()
            .map(|setting| costs::cost(setting, &self.elf, &self.work.original, jobs));
        let costs: Vec<Cost> = costs.collect::<Result<_, _>>()?;
        let rows = costs.iter().map(|cost| {
            let figures = [
                cost.start_us,
                cost.empty_p50_us,
                cost.empty_p99_us,
                cost.ready_p50_us,
                cost.ready_p99_us,
            ];
            row(&cost.contender, jobs as usize, &figures)
        });
        let head = [
            "contender",
            "jobs",
            "start µs",
            "empty p50",
            "p99",
            "ready again p50",
            "p99",
        ];
        let title = "Cells: times of an empty job";
        table::print(title, &head, &rows.collect::<Vec<_>>());
        Ok(costs)
    }

    /// Measures the rate at which a program in a cell can call its store, in every backend.
    fn calls(&self) -> Result<Vec<Calls>, Stop> {
        let rounds = self.given.rounds.unwrap_or(self.definition.call_rounds);
        let ways = [Way::Process, Way::Kvm].into_iter();
        let ways = ways.filter(|way| self.machines || *way == Way::Process);
        let batches = &self.definition.call_batches;
        let calls = ways.map(|way| calls::calls(self.given, &self.scratch, way, batches, rounds));
        let calls: Vec<Calls> = calls.collect::<Result<Vec<_>, _>>()?.concat();
        let rows = calls.iter().map(|of| {
            let Spread { median, min, max } = of.per_second;
            vec![
                of.backend.clone(),
                of.batch.to_string(),
                format!("{median:.0}"),
                format!("{min:.0}…{max:.0}"),
            ]
        });
        let head = ["backend", "calls/write", "calls/s", "range"];
        let title = "Cells: calls from a program to its store";
        table::print(title, &head, &rows.collect::<Vec<_>>());
        Ok(calls)
    }

    /// Measures the cost of wipes in the definition's first pool of microVMs, whose settings use
    /// large pages throughout.
    fn wipes(&self) -> Result<Vec<Wipe>, Stop> {
        let Some(setting) = self.settings().find(|setting| setting.needs_machine()) else {
            return Ok(Vec::new());
        };
        let mut wipes = Vec::new();
        for &side_px in &self.definition.wipes {
            let work = Work {
                plan: plan(
                    &self.facts()?,
                    &format!("w={side_px}&h={side_px}&fit=contain&format=png"),
                )?,
                original: self.work.original.clone(),
            };
            wipes.push(costs::wipe(setting, &self.elf, side_px, &work)?);
        }
        let rows = wipes.iter().map(|wipe| {
            vec![
                wipe.side_px.to_string(),
                wipe.dirty_bytes.to_string(),
                format!("{:.0}", wipe.wipe_us),
            ]
        });
        let head = ["side px", "dirty bytes", "wipe µs"];
        table::print("Cells: wipe of a microVM", &head, &rows.collect::<Vec<_>>());
        Ok(wipes)
    }

    fn facts(&self) -> Result<image_plan::Facts, Stop> {
        let path = self.scratch.join("original.jpg");
        let bytes = fs::read(&path).map_err(at(&path))?;
        let facts = image_plan::probe(&bytes[..], bytes.len() as u64);
        facts.map_err(|err| Stop::findings(format!("{}: {err}", path.display())))
    }
}

/// Returns the number of bytes that a job dirties, as counted by the pools of microVMs; `None` if
/// no pool has microVMs.
fn job_bytes(contenders: &[Named]) -> Option<u64> {
    let pools = contenders
        .iter()
        .filter_map(|(_, contender)| match contender {
            Contender::Cells(pool) => Some(pool.stats()),
            Contender::Plain(_) => None,
        });
    let mut left = pools.filter_map(|stats| stats.dirty_bytes.checked_div(stats.wipes));
    left.find(|bytes| 0 < *bytes)
}

fn row(name: &str, jobs: usize, figures: &[f64]) -> Vec<String> {
    let figures = figures.iter().map(|figure| format!("{figure:.0}"));
    let begin = [name.to_owned(), jobs.to_string()];
    begin.into_iter().chain(figures).collect()
}

fn summaries(contenders: &[Named], samples: &[Sample]) -> Vec<Summary> {
    let of = |name: &str, figure: fn(&Sample) -> f64| -> Vec<f64> {
        let own = samples.iter().filter(|sample| sample.contender == name);
        own.map(figure).collect()
    };
    // The machine's speed also drifts within a round. Therefore a contender that runs between the
    // two plain runs is compared with the mean of both.
    let plain = |name: &str, figure: fn(&Sample) -> f64| -> Vec<f64> {
        let first = of(FIRST, figure);
        match name {
            FIRST | LAST => first,
            _ => {
                let both = first.iter().zip(of(LAST, figure));
                both.map(|(first, last)| (first + last) / 2.0).collect()
            }
        }
    };
    let summary = |(name, _): &Named| {
        let per_second = of(name, |sample| sample.per_second);
        let cpu_us = of(name, |sample| sample.cpu_us);
        let plain_per_second = plain(name, |sample| sample.per_second);
        let plain_us = plain(name, |sample| sample.cpu_us);
        Summary {
            contender: name.clone(),
            ratio: Ratio::of(&per_second, &plain_per_second),
            per_second: Spread::of(&per_second),
            cpu_us: Spread::of(&cpu_us),
            cpu_ratio: Ratio::of(&plain_us, &cpu_us),
            p50_us: Spread::of(&of(name, |sample| sample.p50_us)),
            p99_us: Spread::of(&of(name, |sample| sample.p99_us)),
        }
    };
    contenders.iter().map(summary).collect()
}

fn print(summaries: &[Summary]) {
    let rows = summaries.iter().map(|summary| {
        let Ratio { median, low, high } = summary.ratio;
        vec![
            summary.contender.clone(),
            format!("{:.1}", summary.per_second.median),
            format!(
                "{:.1}…{:.1}",
                summary.per_second.min, summary.per_second.max
            ),
            format!("{median:.3}"),
            format!("{low:.3}…{high:.3}"),
            format!("{:.0}", summary.cpu_us.median),
            format!("{:.3}", summary.cpu_ratio.median),
            format!("{:.0}", summary.p50_us.median),
            format!("{:.0}", summary.p99_us.median),
        ]
    });
    let head = [
        "contender",
        "jobs/s",
        "range",
        "of plain",
        "95 %",
        "CPU µs",
        "of plain",
        "p50 µs",
        "p99 µs",
    ];
    let title = "Cells: one picture, requested again after each response";
    table::print(title, &head, &rows.collect::<Vec<_>>());
}

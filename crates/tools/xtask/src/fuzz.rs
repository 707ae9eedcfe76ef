//! `cargo xtask fuzz`: runs the parsers under libFuzzer for a given time.
//!
//! ```text
//! fuzz/corpus/TARGET ─► run ─► target/fuzz/corpus/TARGET ─► minimised ─► fuzz/corpus/TARGET
//!                        └───► target/fuzz/artifacts/TARGET/crash-…
//! ```
//!
//! Address sanitizer and coverage need compiler flags that a stable compiler accepts only if the
//! variable `RUSTC_BOOTSTRAP` is set. So the variable is set here, and the same compiler builds the
//! fuzzed code and the product.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use toolkit::command::{succeed, timed};
use toolkit::stop::{EXIT_FINDINGS, Stop, at};
use toolkit::{cache, tools};

/// Maximum length of an input, in bytes. Request heads may have up to 16 KiB, but inputs up to this
/// length reach all code that parses heads.
const INPUT_BYTES_MAX: u32 = 4_096;
/// Maximum memory of one fuzzer, in MiB.
const MEMORY_MIB_MAX: u32 = 1_500;

/// Fuzzes the target called `name` for `seconds`; without a name, fuzzes every target in turn for
/// `seconds` each. A crash ends the run of its target and is printed.
///
/// # Errors
/// When there is no target of that name, or the fuzzers cannot be built.
pub(crate) fn run(root: &Path, name: Option<&str>, seconds: u32) -> Result<ExitCode, Stop> {
    let targets = targets(root)?;
    let wanted: Vec<_> = targets
        .iter()
        .filter(|target| name.is_none_or(|name| name == *target))
        .collect();
    if wanted.is_empty() {
        let line = format!("no target is called {}", name.unwrap_or(""));
        return Err(Stop::usage(line).hint(format!("the targets are {}", targets.join(", "))));
    }
    let fuzz = Fuzz {
        root,
        tool: tools::cargo_fuzz(&cache::folder()?)?,
        folder: root.join("target/fuzz"),
    };
    let mut failed = 0;
    for target in wanted {
        let run = timed(&format!("fuzz {target}"), || fuzz.run(target, seconds));
        if let Err(stop) = run.and_then(|()| fuzz.minimise(target)) {
            eprintln!("{stop}");
            failed += 1;
        }
    }
    Ok(match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(EXIT_FINDINGS),
    })
}

/// Returns the names of the programs in `fuzz/fuzz_targets`, sorted.
fn targets(root: &Path) -> Result<Vec<String>, Stop> {
    let folder = root.join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(at(&folder))? {
        let path = entry.map_err(at(&folder))?.path();
        if let Some(name) = path.file_stem() {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

struct Fuzz<'a> {
    root: &'a Path,
    tool: PathBuf,
    /// Folder of the fuzz programs, and of the corpora that libFuzzer extends. The folder is inside
    /// the checkout, so no other checkout uses it.
    folder: PathBuf,
}

impl Fuzz<'_> {
    /// Returns the folder of the committed corpus.
    fn corpus(&self, target: &str) -> PathBuf {
        self.root.join("fuzz/corpus").join(target)
    }

    fn run(&self, target: &str, seconds: u32) -> Result<(), Stop> {
        let grown = made(self.folder.join("corpus").join(target))?;
        let artifacts = made(self.folder.join("artifacts").join(target))?;
        let mut fuzzer = self.fuzzer(target, &[&grown, &self.corpus(target)]);
        fuzzer
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-max_len={INPUT_BYTES_MAX}"))
            .arg(format!("-rss_limit_mb={MEMORY_MIB_MAX}"))
            .arg(format!(
                "-dict={}",
                self.root.join("fuzz/words.dict").display()
            ))
            // libFuzzer appends a file name to this prefix, so the trailing slash makes it a
            // folder.
            .arg(format!("-artifact_prefix={}/", artifacts.display()))
            .arg("-print_final_stats=1");
        succeed(&mut fuzzer).map_err(|stop| {
            stop.hint(format!(
                "the failing input is in {}; copy the input into {}, fix the parser, and add a \
                 test for the input",
                artifacts.display(),
                self.corpus(target).display()
            ))
        })
    }

    /// Replaces the committed corpus by the smallest set of inputs that reaches as much code as all
    /// inputs found so far. Inputs whose name is not a hash were added by hand, and are kept.
    fn minimise(&self, target: &str) -> Result<(), Stop> {
        let fewest = self.folder.join("fewest").join(target);
        if fewest.exists() {
            fs::remove_dir_all(&fewest).map_err(at(&fewest))?;
        }
        let fewest = made(fewest)?;
        let (grown, corpus) = (self.folder.join("corpus").join(target), self.corpus(target));
        let mut merge = self.fuzzer(target, &[&fewest, &grown, &corpus]);
        // Without `-use_counters=0`, libFuzzer would count how often code runs. The merge would
        // then keep a separate input for each number of iterations of a loop.
        merge.args(["-set_cover_merge=1", "-use_counters=0"]);
        merge.arg(format!("-max_len={INPUT_BYTES_MAX}"));
        succeed(&mut merge)?;
        for path in files(&corpus)?.into_iter().filter(|path| is_hash(path)) {
            fs::remove_file(&path).map_err(at(&path))?;
        }
        for path in files(&fewest)? {
            let kept = corpus.join(path.file_name().expect("a file has a name"));
            fs::copy(&path, &kept).map_err(at(&kept))?;
        }
        Ok(())
    }

    /// Returns the command that runs libFuzzer on the folders `corpora`. libFuzzer writes new
    /// inputs to the first of these folders only.
    fn fuzzer(&self, target: &str, corpora: &[&Path]) -> Command {
        let mut command = Command::new(&self.tool);
        command
            .args(["run", "--target-dir"])
            .arg(&self.folder)
            .arg(target)
            .args(corpora)
            .arg("--")
            .env("RUSTC_BOOTSTRAP", "1")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .env_remove("RUSTFLAGS")
            .current_dir(self.root.join("fuzz"));
        command
    }
}

fn made(folder: PathBuf) -> Result<PathBuf, Stop> {
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    Ok(folder)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Stop> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        files.push(entry.map_err(at(folder))?.path());
    }
    Ok(files)
}

/// Returns whether libFuzzer named the file. Its file names are the SHA-1 of the content.
fn is_hash(path: &Path) -> bool {
    path.file_name().is_some_and(|name| {
        let name = name.as_encoded_bytes();
        name.len() == 40 && name.iter().all(u8::is_ascii_hexdigit)
    })
}

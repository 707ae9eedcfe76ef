//! Promise P15 of `docs/SPEC.md`: a job that crashed its cell is saved to a file, and fails in the
//! same way when it is run again.

use crate::host::{Without, alone};
use crate::life::descendants;
use crate::programs::{PROGRAM_PATH, program_pool, run as run_program};
use crate::{JOB_LIMITS, run_in, start};
use sandbox::{Backend, Failure, Limits, Pool, Reproducer, ReproducerFolder};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the path of an empty folder for the test `name`.
fn folder(name: &str) -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    let folder = std::env::temp_dir().join(format!("pelton-cell-crashes-{user}-{name}"));
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("it is ours");
    }
    fs::create_dir(&folder).expect("the folder for such folders takes one");
    folder
}

fn keep_reproducers(pool: Pool, name: &str, files_max: u32) -> (Pool, PathBuf) {
    let folder = folder(name);
    let crashes = ReproducerFolder {
        folder: folder.clone(),
        files_max,
        bytes_max: 1 << 20,
    };
    (pool.keep_reproducers(Some(crashes)), folder)
}

fn kept(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("it is there");
    entries
        .map(|entry| entry.expect("as above").path())
        .collect()
}

fn fails(pool: &Pool, plan: &str) -> Failure {
    run_in(pool, plan, JOB_LIMITS, 60_000).expect_err("an attack")
}

#[test]
fn p15_what_kills_a_worker_is_kept_once_and_kills_it_again() {
    let (pool, folder) = keep_reproducers(start(Limits::default()), "worker", 2);
    let failed = fails(&pool, "segv");
    let [path] = &kept(&folder)[..] else {
        panic!("one is kept");
    };
    let expected = format!("killed by signal 11; reproducer: {}", path.display());
    assert_eq!(failed.detail, expected);
    let mode = fs::metadata(path)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    // If the same job fails again, no second file is written.
    assert_eq!(fails(&pool, "segv").detail, expected);
    assert_eq!(kept(&folder).len(), 1);
    let job = Reproducer::read(path).expect("a pool wrote it");
    assert_eq!(
        (job.program.as_deref(), job.backend),
        (None, Backend::Process)
    );
    assert_eq!(job.ended, "crashed: killed by signal 11");
    assert_eq!(job.original, b"original");
    assert_eq!(job.original_blake3.len(), 64);
    let other = start(Limits::default());
    let again = job.replay(&other, None).expect_err("it dies again");
    assert!(job.is_same(&again), "{again}");
    let slow = run_in(&other, "read-forever", JOB_LIMITS, 50).expect_err("it never ends");
    assert!(!job.is_same(&slow), "{slow}");
    // A truncated or changed file is not a reproducer.
    let bytes = fs::read(path).expect("it is there");
    let changed = [&bytes[..bytes.len() - 1], b"L"].concat();
    let cuts = [0, 5, 60, bytes.len() - 1].map(|cut| bytes[..cut].to_vec());
    for other in cuts.into_iter().chain([changed]) {
        fs::write(path, &other).expect("it is ours");
        let err = Reproducer::read(path).expect_err("it is no job");
        assert_eq!(err.kind(), std::io::ErrorKind::InvalidData, "{err}");
    }
}

#[test]
fn p15_no_more_is_kept_than_the_folder_may_hold() {
    let (pool, folder) = keep_reproducers(start(Limits::default()), "full", 1);
    fails(&pool, "segv");
    let failed = fails(&pool, "abort");
    let expected = format!(
        "killed by signal 11; no reproducer was written: {} is full",
        folder.display()
    );
    assert_eq!(failed.detail, expected);
    assert_eq!(kept(&folder).len(), 1);
    // No reproducer is written if the input is the reason why the job failed.
    let refused = fails(&pool, "allocate 10000000000");
    assert!(!refused.detail.contains("reproducer"), "{refused}");
}

#[test]
fn p15_requests_of_programs_are_kept_with_their_environment() {
    let (pool, folder) = keep_reproducers(program_pool(Limits::default()), "program", 8);
    run_program(&pool, &["DO=fail", "WHO=client"], b"body").expect_err("it fails");
    let [path] = &kept(&folder)[..] else {
        panic!("one is kept");
    };
    let job = Reproducer::read(path).expect("a pool wrote it");
    assert_eq!(job.program.as_deref(), Some("program"));
    assert_eq!(job.original, b"DO=fail\0WHO=client\0body");
    assert_eq!(job.ended, "crashed: exit code 3: no luck");
    let again = job.replay(&program_pool(Limits::default()), None);
    assert!(job.is_same(&again.expect_err("it fails again")));
}

/// Attachment of a debugger to a persistent program whose cell is a process, not a microVM. The
/// debugger shows the names of the functions in which the program waits for its next request, and
/// the program continues afterwards.
#[test]
fn p15_gdb_attaches_to_a_program_that_is_kept() {
    let name = "crashes::p15_gdb_attaches_to_a_program_that_is_kept";
    if Command::new("gdb").arg("--version").output().is_err() {
        eprintln!("cell: not proved: there is no gdb here");
        return;
    }
    if !alone(name, Without::default()) {
        return;
    }
    let pool = program_pool(Limits {
        concurrency: 1,
        spare: 0,
        ephemeral: false,
        ..Limits::default()
    });
    assert_eq!(run_program(&pool, &["DO=count"], b"").as_deref(), Ok("1"));
    let is_program = |pid: &u32| {
        // The pool's own processes have names with this prefix.
        fs::read_to_string(format!("/proc/{pid}/comm"))
            .is_ok_and(|comm| !comm.starts_with("pelton "))
    };
    let pids = descendants(std::process::id());
    let pid = pids.into_iter().find(is_program).expect("it is kept");
    let output = Command::new("gdb")
        .args(["-nx", "-batch", "-ex", "backtrace", "-p", &pid.to_string()])
        .arg(PROGRAM_PATH)
        .output()
        .expect("gdb is there");
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        printed.contains("program::records::serve"),
        "{printed}\n{errors}"
    );
    assert_eq!(run_program(&pool, &["DO=count"], b"").as_deref(), Ok("2"));
}

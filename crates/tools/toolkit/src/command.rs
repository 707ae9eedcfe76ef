//! Functions that run a child process until it exits, show or capture its output, and measure the
//! time of a step.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::stop::{Stop, program};

/// Runs a program until it exits. The program writes to our stdout and stderr.
///
/// # Errors
/// [`Stop::findings`] when the program fails, [`Stop::host`] when it cannot be started.
pub fn succeed(command: &mut Command) -> Result<(), Stop> {
    let status = command.status().map_err(|err| unstartable(command, &err))?;
    if status.success() {
        return Ok(());
    }
    Err(Stop::findings(format!(
        "{} failed: {status}",
        words(command)
    )))
}

/// Runs a program, and returns its stdout. Its stderr is shown only if it fails.
///
/// # Errors
/// As for [`succeed`], and [`Stop::host`] when the output is not UTF-8.
pub fn output(command: &mut Command) -> Result<String, Stop> {
    let output = command.output().map_err(|err| unstartable(command, &err))?;
    if !output.status.success() {
        let stderr_text = String::from_utf8_lossy(&output.stderr);
        let line = format!("{} failed: {}", words(command), output.status);
        return Err(Stop::findings(line).hint(stderr_text.trim_end()));
    }
    String::from_utf8(output.stdout)
        .map_err(|_| Stop::host(format!("{} printed text that is not UTF-8", words(command))))
}

/// Prints `name`, does `work`, and prints the time that it took.
pub fn timed<T>(name: &str, work: impl FnOnce() -> T) -> T {
    eprintln!("{}: {name} …", program());
    let start = Instant::now();
    let result = work();
    let seconds = start.elapsed().as_secs_f64();
    eprintln!("{}: {name}: {seconds:.1} s", program());
    result
}

/// Returns the error for a program that cannot be started.
pub fn unstartable(command: &Command, err: &std::io::Error) -> Stop {
    let program = command.get_program().to_string_lossy();
    Stop::host(format!("{program}: {err}"))
}

/// Returns the words that identify a command in an error: the program's name, and at most four
/// arguments. The first argument that begins with `--` and all later arguments are left out.
fn words(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str());
    let arguments = command
        .get_args()
        .take_while(|word| !word.as_encoded_bytes().starts_with(b"--"));
    let mut words = vec![program.to_string_lossy()];
    words.extend(arguments.take(4).map(|word| word.to_string_lossy()));
    words.join(" ")
}

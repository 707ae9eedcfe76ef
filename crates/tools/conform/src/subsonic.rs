//! `conform subsonic`: client libraries of the Subsonic API against a server with a generated
//! library.
//!
//! py-sonic browses, searches, syncs, stars, seeks, and compares XML with JSON. subsonic-api does
//! the same from JavaScript. opensubsonic does the same from Rust, and also checks the type of
//! every member of a response.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use toolkit::build::Build;
use toolkit::command::{succeed, timed, unstartable};
use toolkit::stop::{Stop, at};
use toolkit::tools;

use crate::served::Served;

const PY_SONIC: &str = "1.0.3";
const SUBSONIC_API: &str = "3.3.1";
const OPENSUBSONIC: &str = "0.6.1";
const PYTHON: &str = include_str!("subsonic/pysonic.py");
const JAVASCRIPT: &str = include_str!("subsonic/client.mjs");
const RUST: &str = include_str!("subsonic/client.rs.txt");
/// Number of tracks in the library, enough for several pages of a sync.
const TRACKS: u32 = 2000;
const USER: [&str; 2] = ["ann", "sesame"];
/// Name of the playlist that is added to the library. It has [`LISTED_TRACKS`] tracks.
const LISTED: &str = "From a file";
const LISTED_TRACKS: usize = 3;

/// Runs all three clients. The suite takes no arguments.
///
/// # Errors
/// When a client cannot be run, or finds a difference.
pub(crate) fn run(root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    if !arguments.is_empty() {
        return Err(Stop::usage("conform subsonic takes no arguments"));
    }
    let mut build = Build::open(root)?;
    let python = tools::python(build.cache(), "py-sonic", PY_SONIC, "libsonic")?;
    let program = build.server()?;
    let library = mediagen::prepared(TRACKS, 1)?;
    list(&library)?;
    let folder = build.cache().join("conform-subsonic");
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    let server = serve(&program, &library, &folder)?;
    let port = server.http.to_string();
    let script = folder.join("pysonic.py");
    fs::write(&script, PYTHON).map_err(at(&script))?;
    let mut command = Command::new(&python);
    command.arg(&script).arg(&port).args(USER);
    timed("py-sonic", || succeed(&mut command))?;
    let script = javascript(&folder)?;
    let mut command = Command::new("node");
    command.arg(&script).arg(&port).args(USER);
    timed("subsonic-api", || succeed(&mut command))?;
    let mut command = Command::new(rust(&folder)?);
    command.arg(&port).args(USER).arg(LISTED);
    timed("opensubsonic", || succeed(&mut command))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the script that tests subsonic-api, installs subsonic-api beside the script, and returns
/// the script's path.
fn javascript(folder: &Path) -> Result<PathBuf, Stop> {
    let script = folder.join("client.mjs");
    fs::write(&script, JAVASCRIPT).map_err(at(&script))?;
    let mut npm = Command::new("npm");
    npm.args([
        "install",
        "--silent",
        "--no-save",
        "--ignore-scripts",
        "--prefix",
    ])
    .arg(folder)
    .arg(format!("subsonic-api@{SUBSONIC_API}"));
    timed("install subsonic-api", || succeed(&mut npm)).map_err(Stop::on_host)?;
    Ok(script)
}

/// Adds a playlist file with some of the library's tracks.
fn list(library: &Path) -> Result<(), Stop> {
    let mut found = Vec::new();
    let mut folders = vec![library.to_owned()];
    while let (Some(folder), true) = (folders.pop(), found.len() < LISTED_TRACKS) {
        for entry in fs::read_dir(&folder).map_err(at(&folder))? {
            let path = entry.map_err(at(&folder))?.path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "flac") {
                found.push(path);
            }
        }
    }
    let mut text = format!("#EXTM3U\r\n#PLAYLIST:{LISTED}\r\n").into_bytes();
    for path in found.iter().take(LISTED_TRACKS) {
        let below = path
            .strip_prefix(library)
            .expect("the path was found below the library");
        text.extend(below.as_os_str().as_encoded_bytes());
        text.extend(b"\r\n");
    }
    let path = library.join("listed.m3u8");
    fs::write(&path, text).map_err(at(&path))
}

/// Builds the program that uses opensubsonic, and returns its path. It is a package outside our
/// workspace, so our lock file does not have its dependencies.
fn rust(folder: &Path) -> Result<PathBuf, Stop> {
    let package = folder.join("opensubsonic");
    let sources = package.join("src");
    fs::create_dir_all(&sources).map_err(at(&sources))?;
    let manifest = format!(
        "[package]\nname = \"driver\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         opensubsonic = \"={OPENSUBSONIC}\"\ntokio = {{ version = \"1\", features = [\"macros\", \"rt\", \"net\", \"time\"] }}\n"
    );
    for (name, text) in [("Cargo.toml", &*manifest), ("src/main.rs", RUST)] {
        let path = package.join(name);
        fs::write(&path, text).map_err(at(&path))?;
    }
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--manifest-path"]);
    cargo.arg(package.join("Cargo.toml"));
    for variable in ["CARGO_TARGET_DIR", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"] {
        cargo.env_remove(variable);
    }
    timed("build of the test driver for opensubsonic", || {
        succeed(&mut cargo)
    })
    .map_err(Stop::on_host)?;
    Ok(package.join("target/debug/driver"))
}

/// Starts a server with a complete index and one user.
fn serve(program: &Path, library: &Path, folder: &Path) -> Result<Served, Stop> {
    let data = folder.join("data");
    if data.exists() {
        fs::remove_dir_all(&data).map_err(at(&data))?;
    }
    let command = |words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).arg("--data").arg(&data);
        command
    };
    let mut add = command(&["user", "add", USER[0]]);
    let mut child = add.stdin(Stdio::piped()).spawn();
    let child = child.as_mut().map_err(|err| unstartable(&add, err))?;
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let typed = writeln!(stdin, "{}", USER[1]);
    drop(stdin);
    let added = typed.and_then(|()| child.wait()).map_err(at(program))?;
    if !added.success() {
        return Err(Stop::host("pelton user add failed"));
    }
    let mut scan = command(&["scan"]);
    // The scan exits with 1, because the library has broken files.
    let scan = scan
        .arg(library)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    scan.status().map_err(at(program))?;
    Served::start(command(&["serve", "--listen", "127.0.0.1:0"]).arg(library))
}

//! Debian packages that the commands need, and the installation of those that are missing.

#[cfg(test)]
mod tests;

use std::io;
use std::process::Command;

use crate::command::{output, succeed};
use crate::stop::{Stop, program};

/// Packages that the build needs in addition to a Rust toolchain. The C codecs need a C and C++
/// compiler, cmake (libaom, libavif, libjpeg-turbo), meson and ninja (dav1d), nasm (assembly code
/// in all of them) and perl (libaom's dispatch tables).
pub const BUILD: &[&str] = &[
    "build-essential",
    "cmake",
    "git",
    "meson",
    "nasm",
    "ninja-build",
    "perl",
    "pkg-config",
];

/// Packages of the programs that the tests use as oracles.
pub const TESTS: &[&str] = &["ffmpeg", "redis-server"];

/// Packages of the programs with which a benchmark compares Pelton, by name of the benchmark.
const PEERS: &[(&str, &[&str])] = &[
    (
        "image",
        &[
            "libavif-bin",
            "libjpeg-turbo-progs",
            "libvips-tools",
            "webp",
        ],
    ),
    ("hit", &["nginx", "wrk"]),
    ("profile", &["wrk"]),
    (
        "http",
        &["h2o", "nghttp2-client", "nginx", "openssl", "wrk"],
    ),
    ("store", &["redis-server", "redis-tools"]),
    ("quality", &["libavif-bin", "libjpeg-turbo-progs", "webp"]),
    ("scan", &["libvips-tools", "strace"]),
];

/// Returns the packages of the programs with which the benchmark `name` compares Pelton. The list
/// is empty for an unknown name; the program `lab` reports the unknown name as an error.
pub fn peers(name: &str) -> &'static [&'static str] {
    PEERS
        .iter()
        .find(|(lab, _)| *lab == name)
        .map_or(&[], |(_, packages)| packages)
}

/// Installs those of `packages` that are missing. If this user may not install them, the error
/// contains the command to install them.
///
/// # Errors
/// [`Stop::host`] when packages are missing and this user may not install them, or when apt-get
/// fails.
pub fn ensure(packages: &[&str]) -> Result<(), Stop> {
    if packages.is_empty() {
        return Ok(());
    }
    let query = Command::new("dpkg-query")
        .args(["--show", "--showformat", "${db:Status-Status} ${Package}\n"])
        .args(packages)
        .output();
    let listed = match query {
        Ok(listed) => listed.stdout,
        Err(err) if err.kind() == io::ErrorKind::NotFound => {
            eprintln!(
                "{}: this is not a Debian system, so these packages are not checked: {}",
                program(),
                packages.join(" ")
            );
            return Ok(());
        }
        Err(err) => return Err(Stop::host(format!("dpkg-query: {err}"))),
    };
    let missing = missing(packages, &String::from_utf8_lossy(&listed));
    if missing.is_empty() {
        return Ok(());
    }
    eprintln!("{}: missing packages: {}", program(), missing.join(" "));
    let mut install = vec!["install", "--yes", "--no-install-recommends"];
    // Another apt-get, often an automatic upgrade of the machine, may hold the lock for minutes.
    install.extend(["-o", "DPkg::Lock::Timeout=300"]);
    install.extend(&missing);
    apt_get(&[&["update"], &install])
}

/// Runs apt-get once for each row of arguments.
///
/// # Errors
/// When apt-get fails, or when this user may not run it as root. In the second case, the hint
/// contains the commands to run as root.
pub fn apt_get(rows: &[&[&str]]) -> Result<(), Stop> {
    let Some(prefix) = privilege() else {
        let typed: Vec<_> = rows
            .iter()
            .map(|row| format!("sudo apt-get {}", row.join(" ")))
            .collect();
        return Err(Stop::host(
            "apt-get needs root, but this user is not root and cannot use sudo without a password",
        )
        .hint(typed.join(" && ")));
    };
    let words = prefix
        .iter()
        .chain(&["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
    let words: Vec<_> = words.copied().collect();
    for row in rows {
        // Our stdout is for data, so apt-get's messages go to stderr.
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(*row).stdout(io::stderr());
        succeed(&mut command).map_err(Stop::on_host)?;
    }
    Ok(())
}

/// Returns the words to put before a command that needs root, or `None` if this user neither is
/// root nor has sudo without a password.
fn privilege() -> Option<&'static [&'static str]> {
    if output(Command::new("id").arg("-u")).is_ok_and(|uid| uid.trim() == "0") {
        return Some(&[]);
    }
    let sudo = Command::new("sudo").args(["-n", "true"]).output();
    sudo.is_ok_and(|sudo| sudo.status.success())
        .then_some(&["sudo", "-n"])
}

/// Returns those packages in `packages` that are not installed according to `listed`. Each line of
/// `listed` has the status and the name of a package.
fn missing<'a>(packages: &[&'a str], listed: &str) -> Vec<&'a str> {
    let installed = |package: &str| {
        let mut lines = listed.lines().filter_map(|line| line.split_once(' '));
        lines.any(|(status, name)| status == "installed" && name == package)
    };
    let packages = packages.iter().copied();
    packages.filter(|package| !installed(package)).collect()
}

//! `conform iiif`: the tests of iiif-validator, the validator of the IIIF consortium, against the
//! shipped server. The script `iiif/validate.py` names the tests that are left out.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use toolkit::build::Build;
use toolkit::command::succeed;
use toolkit::stop::{Stop, at};
use toolkit::{cache, debian, tools};

use crate::served::Served;

const VALIDATOR: &str = "1.0.5";
const SCRIPT: &str = include_str!("iiif/validate.py");
/// Debian's package with libmagic, which the validator loads.
const PACKAGES: &[&str] = &["libmagic1"];
/// Name of the picture: one of the tests encodes the hyphen.
const PICTURE: &str = "test-picture.png";

/// Runs the suite. With `--program PELTON`, as in the checks before a merge, the server `PELTON` is
/// used, and none is built.
///
/// # Errors
/// When the validator cannot be installed, or a test fails.
pub(crate) fn run(root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    let program = match arguments {
        [] => Build::open(root)?.server()?,
        [flag, program] if flag == "--program" => PathBuf::from(program),
        _ => return Err(Stop::usage("conform iiif takes only --program PELTON")),
    };
    debian::ensure(PACKAGES)?;
    let cache = cache::folder()?;
    let python = tools::python(&cache, "iiif-validator", VALIDATOR, "iiif_validator")?;
    let folder = cache.join("conform-iiif");
    let library = folder.join("library");
    fs::create_dir_all(&library).map_err(at(&library))?;
    let script = folder.join("validate.py");
    fs::write(&script, SCRIPT).map_err(at(&script))?;
    let validate = |words: &[&str]| {
        let mut validate = Command::new(&python);
        validate.arg(&script).args(words);
        validate
    };
    let mut picture = validate(&["picture"]);
    succeed(picture.arg(library.join(PICTURE))).map_err(Stop::on_host)?;
    let server = Served::start(
        Command::new(&program)
            .arg("serve")
            .arg(&library)
            .args(["--listen", "127.0.0.1:0", "--images-iiif", "on", "--data"])
            .arg(folder.join("data")),
    )?;
    let address = format!("127.0.0.1:{}", server.http);
    succeed(&mut validate(&["tests", &address, PICTURE]))?;
    Ok(ExitCode::SUCCESS)
}

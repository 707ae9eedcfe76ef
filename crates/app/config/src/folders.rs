//! Checks of the folders that the configuration names.

use std::fs;
use std::io;
use std::path::Path;

use report::Error;
use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::Config;

/// Checks that `root` can be listed, so that an error is reported before anything is started.
pub fn require_readable(root: &Path) -> Result<(), Error> {
    let listed = fs::read_dir(root);
    listed.map(drop).map_err(|err| {
        Error::usage(format!("root: {}: {err}", root.display()))
            .hint("name the folder to serve, as in pelton serve ~/Pictures")
    })
}

/// Returns the reasons why folders of `config` cannot be served or the data directory cannot be
/// written.
pub fn findings(config: &Config) -> Vec<Error> {
    let root = unreadable("root", &config.root);
    let data = unwritable(&config.data);
    let mappings = config.img_map.0.iter();
    let mappings = mappings.filter_map(|mapping| unreadable("img_map", &mapping.directory));
    root.into_iter().chain(data).chain(mappings).collect()
}

/// Returns a finding if the folder `root`, the value of the setting `key`, cannot be served.
fn unreadable(key: &str, root: &Path) -> Option<Error> {
    let finding = |what: String| Error::finding(format!("{key}: {}: {what}", root.display()));
    match fs::metadata(root) {
        Err(err) => {
            let hint = "name the folder to serve with --root, PELTON_ROOT or `root` in the configuration file";
            let finding = finding(err.to_string());
            Some(if key == "root" {
                finding.hint(hint)
            } else {
                finding
            })
        }
        Ok(metadata) if !metadata.is_dir() => Some(finding("not a directory".to_owned())),
        Ok(_) => {
            let err = accessat(
                CWD,
                root,
                Access::READ_OK | Access::EXEC_OK,
                AtFlags::EACCESS,
            )
            .err()?;
            Some(finding(io::Error::from(err).to_string()))
        }
    }
}

/// Returns a finding if the data directory cannot be written. The server creates this directory
/// when it first needs it, so its nearest existing parent must be writable.
fn unwritable(data: &Path) -> Option<Error> {
    let existing = data.ancestors().find(|path| path.exists());
    let existing = existing
        .filter(|path| !path.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let finding = |what: String| {
        let hint = "without a data directory, pictures are still served, but each request \
                    converts its picture again";
        let place = existing.display();
        Error::finding(format!("data: {}: {place}: {what}", data.display())).hint(hint)
    };
    if !existing.is_dir() {
        return Some(finding("not a directory".to_owned()));
    }
    let access = Access::WRITE_OK | Access::EXEC_OK;
    let err = accessat(CWD, existing, access, AtFlags::EACCESS).err()?;
    Some(finding(io::Error::from(err).to_string()))
}

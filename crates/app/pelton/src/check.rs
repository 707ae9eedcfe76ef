//! `pelton check`: problems of the configuration.

use std::fs;
use std::io;
use std::path::Path;

use config::{Resolved, components};
use report::Error;
use rustix::fs::{Access, AtFlags, CWD, accessat};

use config::https;

/// Returns the problems because of which the server would not start with this configuration, or
/// would not do what the configuration requests.
pub(crate) fn findings(resolved: &Resolved) -> Vec<Error> {
    let config = &resolved.config;
    let unsupported = resolved
        .notes
        .iter()
        .filter(|note| note.is_finding())
        .map(|note| Error::finding(note.to_string()));
    let mut findings: Vec<Error> = unsupported.collect();
    findings.extend(readable("root", &config.root));
    findings.extend(data(&config.data));
    findings.extend(
        config
            .img_map
            .0
            .iter()
            .filter_map(|mapping| readable("img_map", &mapping.directory)),
    );
    findings.extend(components::limits(config).err());
    findings.extend(components::gate(config).err());
    findings.extend(functions::findings(config));
    match https::load(config) {
        Ok(Some(loaded)) => {
            let concerns = loaded
                .concerns
                .iter()
                .map(|concern| Error::finding(concern.to_string()));
            findings.extend(concerns);
        }
        Ok(None) => {}
        Err(err) => findings.push(err),
    }
    findings
}

/// Returns a finding if the folder that `key` names cannot be served.
fn readable(key: &str, root: &Path) -> Option<Error> {
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
fn data(data: &Path) -> Option<Error> {
    let existing = data.ancestors().find(|path| path.exists());
    let existing = existing
        .filter(|path| !path.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let finding = |what: String| {
        let hint = "without a data directory pictures are still served, but converted again for each request";
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

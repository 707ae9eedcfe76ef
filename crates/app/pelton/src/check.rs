//! `pelton check`: problems of the configuration.

use config::{Resolved, components, folders, https, imgproxy, permissions};
use report::Error;

/// Returns the problems of the configuration: errors that prevent the start of the server,
/// unsupported settings, and warnings about certificates.
pub(crate) fn findings(resolved: &Resolved) -> Vec<Error> {
    let config = &resolved.config;
    let unsupported = resolved
        .notes
        .iter()
        .filter(|note| note.is_finding())
        .map(|note| Error::finding(note.to_string()));
    let mut findings: Vec<Error> = unsupported.collect();
    findings.extend(folders::findings(config));
    findings.extend(components::limits(config).err());
    findings.extend(components::gate(config).err());
    findings.extend(permissions::load(config).err());
    findings.extend(imgproxy::load(config).err());
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

//! Host on which a command works, and its checks before anything is planned.

use std::path::PathBuf;

use host::{Namespace, Roots, Subject};
use report::Error;

use crate::plan::{self, Host};
use crate::{Choice, Plan};

/// Host, data directory and network namespace of a command.
#[derive(Clone, Debug)]
pub struct Order {
    /// Directories of the kernel's files.
    pub roots: Roots,
    /// Data directory, below which the journal is.
    pub data: PathBuf,
    /// Network namespaces in which the command works.
    pub accepted: Accepted,
}

/// Network namespaces in which changes are planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// Only that of the host.
    Host,
    /// Any. In another one than the host's, only its own settings are changed.
    Any,
}

impl Order {
    /// Returns the network namespace.
    pub(crate) fn present_namespace(&self) -> Result<Namespace, Error> {
        let found = host::namespace(&self.roots);
        found.map_err(|why| {
            Error::host(format!(
                "tune: cannot identify the network namespace: {why}"
            ))
        })
    }

    /// Returns the network namespace, if changes may be planned in it.
    pub(crate) fn namespace(&self) -> Result<Namespace, Error> {
        let namespace = self.present_namespace()?;
        if !namespace.is_of_host && self.accepted == Accepted::Host {
            let what = format!(
                "tune: this process is in the network namespace {}, not in that of the host: it \
                 may be in a container",
                namespace.name
            );
            let hint = "run pelton tune on the host, or give --this-namespace to change only the \
                        settings of the namespace of this process";
            return Err(Error::usage(what).hint(hint));
        }
        let is_own = host::is_sysfs_own(&self.roots);
        let unreadable = |why| Error::host(format!("tune: cannot list the interfaces: {why}"));
        match is_own.map_err(unreadable)? {
            true => Ok(namespace),
            false => Err(Error::usage(
                "tune: /sys shows the interfaces of another network namespace",
            )
            .hint("mount sysfs again in this network namespace, as ip netns exec does")),
        }
    }

    /// Plans the changes for a choice.
    pub(crate) fn plan(&self, namespace: &Namespace, choice: &Choice) -> Result<Plan, Error> {
        let chosen = choice.included.iter().chain(&choice.excluded);
        for id in chosen {
            if !plan::ids().any(|known| known == id) {
                let known = plan::ids().collect::<Vec<_>>().join(" ");
                let what = format!("tune: {id} is not a row that pelton tune can apply");
                return Err(
                    Error::usage(what).hint(format!("pelton tune can apply these rows: {known}"))
                );
            }
        }
        let found = host::holder(&self.roots, &self.data);
        let subject = match found.ok() {
            Some(pid) => Subject::Server {
                pid: *pid,
                token: None,
            },
            None => Subject::Caller(found),
        };
        let facts = host::gather(&self.roots, subject);
        let host = Host {
            roots: &self.roots,
            facts: &facts,
            namespace,
        };
        Ok(plan::plan(host, choice))
    }
}

/// Plans the changes for a choice, and changes nothing.
///
/// # Errors
/// The namespace is not accepted, or a row does not exist.
pub fn plan(order: &Order, choice: &Choice) -> Result<Plan, Error> {
    let namespace = order.namespace()?;
    order.plan(&namespace, choice)
}

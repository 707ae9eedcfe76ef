//! Identity of the network namespace and of the boot, which say if a value that was written is
//! still the one that is read.

use std::fs;
use std::time::{Duration, Instant};

use host_checks::Unread;

use crate::files::{self, Roots};
use crate::route;

/// Network namespace of the calling process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Name that the kernel gives it until the next boot, such as `net:[4026531833]`.
    pub name: String,
    /// True for the namespace of the host, which has the settings that exist only once.
    pub is_of_host: bool,
    /// Identifier of the boot.
    pub boot: String,
}

/// File that the kernel has in the namespace of the host only. `/proc/sys/net` shows the namespace
/// of its reader, also where `/proc` belongs to a container.
const ONLY_OF_HOST: &str = "sys/net/core/netdev_max_backlog";

/// Time within which the kernel must list the interfaces.
const LIST_MAX: Duration = Duration::from_millis(800);

/// Reads the identity of the network namespace and of the boot.
///
/// # Errors
/// `/proc` does not have the files.
pub fn namespace(roots: &Roots) -> Result<Namespace, Unread> {
    let link = fs::read_link(roots.proc.join("self/ns/net")).map_err(|err| files::unread(&err))?;
    let is_of_host = match files::read(&roots.proc.join(ONLY_OF_HOST)) {
        Ok(_) => true,
        Err(Unread::Absent) => false,
        Err(why) => return Err(why),
    };
    Ok(Namespace {
        name: link
            .into_os_string()
            .into_string()
            .map_err(|_| Unread::Malformed)?,
        is_of_host,
        boot: files::read(&roots.proc.join("sys/kernel/random/boot_id"))?,
    })
}

/// Returns whether `/sys` shows the interfaces of the network namespace of the calling process.
/// It does not after `nsenter` or `unshare`, unless `/sys` was mounted again.
///
/// # Errors
/// The kernel does not list the interfaces, or `/sys` cannot be read.
pub fn is_sysfs_own(roots: &Roots) -> Result<bool, Unread> {
    let links = route::links(Instant::now() + LIST_MAX)?;
    let folder = roots.sys.join("class/net");
    let mut names: Vec<String> = links.iter().map(|link| link.name.clone()).collect();
    names.sort_unstable();
    // The directory may also have files that are not interfaces, such as `bonding_masters`.
    let mut shown = files::names(&folder)?;
    shown.retain(|name| folder.join(name).join("ifindex").exists());
    if names != shown {
        return Ok(false);
    }
    for link in links {
        let own = folder.join(&link.name);
        let index = files::read(&own.join("ifindex"))?;
        let address = files::read(&own.join("address"))?;
        if index != link.index.to_string() || address != link.address {
            return Ok(false);
        }
    }
    Ok(true)
}

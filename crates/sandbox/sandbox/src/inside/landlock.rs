//! Landlock: denies everything that this kernel can deny, except for reading allowed files. Open
//! descriptors keep their rights.
//!
//! Source: the kernel's `Documentation/userspace-api/landlock.rst`.

use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, Scope,
};
use std::os::fd::BorrowedFd;

/// Newest ABI version whose rights are denied. A kernel with an earlier version denies the rights
/// that it supports.
const NEWEST: ABI = ABI::V6;

/// Denies everything but reading `files`, for this process and those it forks. Returns the kernel's
/// ABI version; 0 without Landlock.
pub(super) fn deny_all_but(files: &[BorrowedFd<'_>]) -> Result<u32, RulesetError> {
    let rules = files
        .iter()
        .map(|file| Ok::<_, RulesetError>(PathBeneath::new(file, AccessFs::ReadFile)));
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .add_rules(rules)?
        // The jail has set `no_new_privs` already, and reports a failure as an error of its own.
        .no_new_privs(false)
        .restrict_self()?;
    Ok(match status.landlock {
        LandlockStatus::Available {
            effective_abi,
            kernel_abi,
        } => kernel_abi.unwrap_or(effective_abi as i32) as u32,
        // Landlock is not built in, not enabled, or denied by a filter around the server.
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => 0,
    })
}

#[cfg(test)]
mod tests {
    use super::NEWEST;
    use landlock::{Access, AccessFs, AccessNet, Scope};

    #[test]
    fn the_rights_of_version_6_are_denied() {
        // The last right is `LANDLOCK_ACCESS_FS_IOCTL_DEV`, bit 15.
        assert_eq!(AccessFs::from_all(NEWEST).bits(), 0xffff);
        // Rights to bind and connect TCP sockets.
        assert_eq!(AccessNet::from_all(NEWEST).bits(), 0b11);
        // Scopes for abstract sockets and for signals.
        assert_eq!(Scope::from_all(NEWEST).bits(), 0b11);
    }
}

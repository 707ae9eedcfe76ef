//! Landlock: denies every access that Landlock can deny on this kernel, except for reading allowed
//! files. Descriptors that are already open can still be used.
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

/// Denies this process, and the processes that it forks later, every access that Landlock can deny,
/// except reading `files`. Returns the kernel's Landlock ABI version, or 0 if the kernel has no
/// Landlock.
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
        // The caller has already set `no_new_privs`, and reports a failure of that step separately.
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
        // Bit 15 is `LANDLOCK_ACCESS_FS_IOCTL_DEV`, the last right of this version.
        assert_eq!(AccessFs::from_all(NEWEST).bits(), 0xffff);
        // The two bits are the rights to bind and to connect TCP sockets.
        assert_eq!(AccessNet::from_all(NEWEST).bits(), 0b11);
        // The two bits are the scopes of abstract sockets and of signals.
        assert_eq!(Scope::from_all(NEWEST).bits(), 0b11);
    }
}

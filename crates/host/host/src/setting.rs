//! Settings of the host that `pelton tune` reads and writes. The set is closed: a file that is not
//! in the table of files is neither read nor written.

mod card;
mod file;

use std::fmt;
use std::io;

use host_checks::Unread;
use serde::{Deserialize, Serialize};

use crate::Roots;

pub use card::Property;

/// Setting of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Setting {
    /// File below `/proc`, such as `sys/net/core/somaxconn`.
    Proc {
        /// Path below `/proc`.
        path: String,
    },
    /// File below `/sys`, such as `class/net/eth0/queues/rx-0/rps_cpus`.
    Sys {
        /// Path below `/sys`.
        path: String,
    },
    /// Property of a network card.
    Card {
        /// Name of the interface.
        interface: String,
        /// Property.
        property: Property,
    },
}

/// Part of the machine that a setting affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Network namespace.
    Namespace,
    /// Whole host, in every network namespace.
    Host,
}

/// Reason why a setting cannot be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingFault {
    /// The setting is not in the table of settings.
    Foreign,
    /// The caller lacks a permission.
    Denied,
    /// The file system is mounted read-only, or no user may write the file.
    ReadOnly,
    /// The file or the device does not exist.
    Absent,
    /// The kernel or the driver does not offer the setting.
    Unsupported,
    /// The kernel did not reply in time.
    TimedOut,
    /// The content has another form than documented.
    Malformed,
    /// The kernel returned another error, with this number.
    Errno(i32),
}

impl Setting {
    /// Reads the value in its usual form: words separated by single spaces, masks and lists of
    /// processors as [`host_checks::Cpus`] writes them, and the chosen word of several.
    ///
    /// # Errors
    /// The setting cannot be read.
    pub fn read(&self, roots: &Roots) -> Result<String, SettingFault> {
        match self {
            Setting::Proc { path } => file::read(file::PROC, &roots.proc, path),
            Setting::Sys { path } => file::read(file::SYS, &roots.sys, path),
            Setting::Card {
                interface,
                property,
            } => card::read(interface, property),
        }
    }

    /// Writes a value that [`Setting::read`] returned, or that has the same form.
    ///
    /// # Errors
    /// The setting cannot be written, or the kernel refuses the value.
    pub fn write(&self, roots: &Roots, value: &str) -> Result<(), SettingFault> {
        match self {
            Setting::Proc { path } => file::write(file::PROC, &roots.proc, path, value),
            Setting::Sys { path } => file::write(file::SYS, &roots.sys, path, value),
            Setting::Card {
                interface,
                property,
            } => card::write(interface, property, value),
        }
    }

    /// Checks that the caller may write the setting, without a write.
    ///
    /// # Errors
    /// The setting cannot be written.
    pub fn check_access(&self, roots: &Roots) -> Result<(), SettingFault> {
        match self {
            Setting::Proc { path } => file::check_access(file::PROC, &roots.proc, path),
            Setting::Sys { path } => file::check_access(file::SYS, &roots.sys, path),
            Setting::Card { .. } => card::check_access(roots),
        }
    }

    /// Returns the part of the machine that the setting affects.
    ///
    /// # Errors
    /// The setting is not in the table of settings.
    pub fn scope(&self) -> Result<Scope, SettingFault> {
        match self {
            Setting::Proc { path } => file::known(file::PROC, path).map(|known| known.scope),
            Setting::Sys { path } => file::known(file::SYS, path).map(|known| known.scope),
            Setting::Card { .. } => Ok(Scope::Namespace),
        }
    }

    /// Returns whether only a write that was cut off between its steps can have led to `value`. The
    /// kernel takes most values in one step.
    #[must_use]
    pub fn is_cut_off(&self, value: &str) -> bool {
        match self {
            Setting::Proc { .. } | Setting::Sys { .. } => false,
            Setting::Card { property, .. } => property.is_cut_off(value),
        }
    }

    /// Returns the shell command that sets the value.
    #[must_use]
    pub fn command(&self, value: &str) -> String {
        match self {
            Setting::Proc { .. } | Setting::Sys { .. } => format!("echo {value} > {self}"),
            Setting::Card {
                interface,
                property,
            } => property.command(interface, value),
        }
    }
}

impl fmt::Display for Setting {
    /// Writes the path of the file, or the interface and its property.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Proc { path } => write!(f, "/proc/{path}"),
            Setting::Sys { path } => write!(f, "/sys/{path}"),
            Setting::Card {
                interface,
                property,
            } => write!(f, "{interface} {}", property.name()),
        }
    }
}

impl fmt::Display for SettingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SettingFault::Foreign => "pelton tune does not change this setting",
            SettingFault::Denied => "permission denied",
            SettingFault::ReadOnly => "read-only",
            SettingFault::Absent => "does not exist on this host",
            SettingFault::Unsupported => "not supported by this kernel or driver",
            SettingFault::TimedOut => "the kernel did not reply in time",
            SettingFault::Malformed => "the content has an unknown format",
            SettingFault::Errno(number) => {
                return write!(f, "{}", io::Error::from_raw_os_error(*number));
            }
        })
    }
}

impl From<Unread> for SettingFault {
    fn from(why: Unread) -> SettingFault {
        match why {
            Unread::Denied => SettingFault::Denied,
            Unread::Absent => SettingFault::Absent,
            Unread::TimedOut => SettingFault::TimedOut,
            Unread::Malformed | Unread::TooLong => SettingFault::Malformed,
            // The interface was removed after the request had found it.
            Unread::Errno(libc::ENODEV) => SettingFault::Absent,
            Unread::Errno(number) => SettingFault::Errno(number),
            Unread::Unsupported | Unread::NotRead | Unread::NoServer | Unread::Refused(_) => {
                SettingFault::Unsupported
            }
        }
    }
}

impl From<io::Error> for SettingFault {
    fn from(err: io::Error) -> SettingFault {
        match err.kind() {
            io::ErrorKind::PermissionDenied => SettingFault::Denied,
            io::ErrorKind::ReadOnlyFilesystem => SettingFault::ReadOnly,
            io::ErrorKind::NotFound => SettingFault::Absent,
            io::ErrorKind::Unsupported => SettingFault::Unsupported,
            _ => match err.raw_os_error() {
                Some(libc::ENODEV) => SettingFault::Absent,
                Some(number) => SettingFault::Errno(number),
                None => SettingFault::Malformed,
            },
        }
    }
}

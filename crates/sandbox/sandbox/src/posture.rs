//! Isolation mechanisms that are in force on this host, which may be fewer than requested.

use std::fmt;

/// Use of huge pages for the worker's heap and code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HugePages {
    /// The worker requests huge pages, and the host provides them.
    On,
    /// The limits turn huge pages off.
    Off,
    /// The host has transparent huge pages disabled.
    Refused,
}

/// Kind of sandbox that runs a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// A microVM if one starts and a trial job in it is fast; otherwise a process.
    Auto,
    /// A process with restricted rights that exits after its job.
    #[default]
    Process,
    /// A microVM in a process with restricted rights. The microVM is wiped after each job.
    Kvm,
}

/// Level of isolation around a job. Each level includes all levels before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// A seccomp filter, and `no_new_privs`, which prevents gaining privileges. Every cell has at
    /// least these two.
    #[default]
    Filter,
    /// All of [`Isolation::Filter`], and Landlock, so that two independent mechanisms of the kernel
    /// deny access to files and sockets.
    Landlock,
    /// All of [`Isolation::Landlock`], and separate namespaces.
    Namespaces,
    /// All of [`Isolation::Namespaces`], and a virtual machine per cell.
    MicroVm,
}

/// Isolation mechanisms that a pool has in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posture {
    /// Kind of sandbox that runs the jobs: never [`Backend::Auto`].
    pub backend: Backend,
    /// Reason why [`Backend::Auto`] chose processes over microVMs, if it did.
    pub fell_back: Option<String>,
    /// True if a job leaves nothing behind for the next job.
    pub ephemeral: bool,
    /// Namespaces that the worker does not share with the server: some of `user`, `pid`, `net`,
    /// `ipc`, `mount`, `uts`, `cgroup`.
    pub namespaces: Vec<&'static str>,
    /// True if the server is privileged and the worker runs as another user.
    pub own_user: bool,
    /// Hash of the seccomp filter's instructions.
    pub filter_hash: u64,
    /// Number of instructions of the seccomp filter.
    pub filter_len: u32,
    /// ABI version of Landlock; `None` if the kernel has no Landlock.
    pub landlock_abi: Option<u32>,
    /// True if the worker can never gain privileges.
    pub no_new_privs: bool,
    /// True if the worker holds no capability.
    pub no_capabilities: bool,
    /// Use of huge pages for the worker's heap and code.
    pub hugepages: HugePages,
}

impl Posture {
    /// Returns the highest level of isolation that is in force together with all lower levels.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        if self.landlock_abi.is_none() {
            Isolation::Filter
        } else if self.namespaces.is_empty() {
            Isolation::Landlock
        } else if self.backend == Backend::Kvm {
            Isolation::MicroVm
        } else {
            Isolation::Namespaces
        }
    }

    /// Returns all isolation mechanisms in force as one line, for a log.
    #[must_use]
    pub fn line(&self) -> String {
        let lines = self.to_string();
        let words = lines.lines().map(|line| line.split_whitespace());
        let parts = words.map(|words| words.collect::<Vec<_>>().join(" "));
        parts.collect::<Vec<_>>().join("; ")
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Auto => "auto",
            Backend::Process => "process",
            Backend::Kvm => "kvm",
        })
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Isolation::Filter => "filter",
            Isolation::Landlock => "landlock",
            Isolation::Namespaces => "namespaces",
            Isolation::MicroVm => "microvm",
        })
    }
}

impl fmt::Display for HugePages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HugePages::On => "on",
            HugePages::Off => "off",
            HugePages::Refused => "refused by the host",
        })
    }
}

impl fmt::Display for Posture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let yes = |yes: bool| if yes { "yes" } else { "no" };
        let namespaces = if self.namespaces.is_empty() {
            String::from("none")
        } else {
            self.namespaces.join(" ")
        };
        let landlock = match self.landlock_abi {
            Some(abi) => format!("abi {abi}"),
            None => String::from("none"),
        };
        writeln!(f, "backend          {}", self.backend)?;
        if let Some(why) = &self.fell_back {
            writeln!(
                f,
                "                 chosen by auto, because microVMs cannot be used here: {why}"
            )?;
        }
        let wiped = if self.ephemeral {
            "wiped            after every job"
        } else {
            "wiped            never"
        };
        writeln!(f, "{wiped}")?;
        writeln!(f, "isolation        {}", self.isolation())?;
        writeln!(f, "namespaces       {namespaces}")?;
        writeln!(f, "own user         {}", yes(self.own_user))?;
        writeln!(
            f,
            "syscall filter   digest {:016x}, {} instructions",
            self.filter_hash, self.filter_len
        )?;
        writeln!(f, "landlock         {landlock}")?;
        writeln!(f, "no new privs     {}", yes(self.no_new_privs))?;
        writeln!(f, "no capabilities  {}", yes(self.no_capabilities))?;
        write!(f, "huge pages       {}", self.hugepages)
    }
}

impl HugePages {
    /// Returns the use of huge pages, from the host's mode of transparent huge pages;
    /// [`HugePages::Off`] if `wanted` is false. The mode `never` and an unreadable mode both count
    /// as [`HugePages::Refused`].
    pub(crate) fn read(wanted: bool) -> HugePages {
        const ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
        if !wanted {
            return HugePages::Off;
        }
        match std::fs::read_to_string(ENABLED) {
            Ok(modes) if !modes.contains("[never]") => HugePages::On,
            Ok(_) | Err(_) => HugePages::Refused,
        }
    }
}

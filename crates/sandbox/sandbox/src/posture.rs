//! What stands around a job on this host: applied, not asked for.

use std::fmt;

/// Whether the worker's heap and code can lie in huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HugePages {
    /// The worker asks for them and the host gives them.
    On,
    /// The limits turn them off.
    Off,
    /// The host never gives transparent huge pages.
    Refused,
}

/// What runs a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// A microVM where one runs and costs little, which is tried; a process elsewhere.
    Auto,
    /// A jailed process that dies after its job.
    #[default]
    Process,
    /// A microVM in a jailed process, wiped after its job.
    Kvm,
}

/// How much stands around a job. Each level has what those before it have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// A system call filter and no way to gain privileges; no cell has less.
    #[default]
    Filter,
    /// And Landlock, so that two mechanisms of the kernel deny files and sockets.
    Landlock,
    /// And namespaces of its own.
    Namespaces,
    /// And a machine of its own.
    MicroVm,
}

/// The isolation a pool really has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posture {
    /// What runs the jobs: never [`Backend::Auto`].
    pub backend: Backend,
    /// Why it is not the backend that [`Backend::Auto`] would rather have.
    pub fell_back: Option<String>,
    /// Whether nothing of a job is left when the next begins.
    pub ephemeral: bool,
    /// Namespaces of the worker's own: of `user`, `pid`, `net`, `ipc`, `mount`, `uts`, `cgroup`.
    pub namespaces: Vec<&'static str>,
    /// Whether the worker runs as another user than a privileged server.
    pub own_user: bool,
    /// Fingerprint of the syscall filter's program.
    pub filter_hash: u64,
    /// Instructions of the syscall filter.
    pub filter_len: u32,
    /// Landlock's version; `None` where the kernel has none.
    pub landlock_abi: Option<u32>,
    /// Whether the worker can never gain privileges.
    pub no_new_privs: bool,
    /// Whether the worker holds no capability.
    pub no_capabilities: bool,
    /// Pages of the worker's heap and code.
    pub hugepages: HugePages,
}

impl Posture {
    /// The highest level that holds without a gap below it.
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

    /// All of it in one line, for a log.
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
            writeln!(f, "                 auto: no microVM: {why}")?;
        }
        let wiped = if self.ephemeral {
            "after every job"
        } else {
            "never"
        };
        writeln!(f, "wiped            {wiped}")?;
        writeln!(f, "isolation        {}", self.isolation())?;
        writeln!(f, "namespaces       {namespaces}")?;
        writeln!(f, "own user         {}", yes(self.own_user))?;
        writeln!(
            f,
            "syscall filter   {:016x}, {} instructions",
            self.filter_hash, self.filter_len
        )?;
        writeln!(f, "landlock         {landlock}")?;
        writeln!(f, "no new privs     {}", yes(self.no_new_privs))?;
        writeln!(f, "no capabilities  {}", yes(self.no_capabilities))?;
        write!(f, "huge pages       {}", self.hugepages)
    }
}

impl HugePages {
    /// Where the host says `never`, or says nothing, there are none.
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

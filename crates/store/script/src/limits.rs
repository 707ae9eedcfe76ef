//! Limits of scripts.

/// Limits of scripts. Each field states its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum memory of one Lua interpreter, compiled scripts included. The store has one for
    /// scripts and one for functions. A script that needs more gets the error `not enough memory`.
    /// Default 256 MiB.
    pub memory_bytes_max: usize,
    /// Number of virtual-machine instructions between two [`Step::Pause`](crate::Step::Pause).
    /// Default 10,000, which take about 0.1 ms.
    pub instructions_per_step: u32,
    /// Number of steps of pattern matching, or of other work outside the virtual machine, between
    /// two [`Step::Pause`](crate::Step::Pause). Default 50,000.
    pub native_steps_per_step: u32,
    /// Maximum number of scripts that are cached because EVAL ran them. The script that was used
    /// least recently is dropped first. Default 500.
    pub eval_scripts_max: usize,
    /// Maximum bytes of the sources of all scripts that SCRIPT LOAD caches and, separately, of all
    /// libraries with the names and descriptions of their functions. Default 64 MiB.
    pub loaded_bytes_max: usize,
    /// Maximum number of functions that one library registers. Default 1,024.
    pub library_functions_max: usize,
    /// Maximum bytes of the name of a library or function. Default 256.
    pub name_bytes_max: usize,
    /// Maximum bytes of the description of a function. Default 4 KiB.
    pub description_bytes_max: usize,
    /// Maximum depth of a reply, and of a value for `cjson` and `cmsgpack`. Default 128.
    pub depth_max: usize,
    /// Size of the stack of native code. Default 8 MiB, of which the system provides the pages in
    /// use.
    pub stack_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            memory_bytes_max: 256 << 20,
            instructions_per_step: 10_000,
            native_steps_per_step: 50_000,
            eval_scripts_max: 500,
            loaded_bytes_max: 64 << 20,
            library_functions_max: 1024,
            name_bytes_max: 256,
            description_bytes_max: 4 << 10,
            depth_max: 128,
            stack_bytes: 8 << 20,
        }
    }
}

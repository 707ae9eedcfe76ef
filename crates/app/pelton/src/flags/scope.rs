//! Sets of settings, one set per group of commands. A command accepts only flags for the settings
//! in its own set. The configuration file and the environment may also contain other settings,
//! because all commands share them.

/// Set of the settings whose flags a command accepts.
pub(crate) trait Scope {
    /// Names of the settings. A name that ends in a dot stands for a group.
    const ACCEPTED: &[&str];
    /// Settings whose flags `-h` and `--help` show. The flags of the other settings are accepted,
    /// but hidden.
    const SHOWN: &[&str];

    /// Returns whether the setting called `name` is in the set.
    fn accepts(name: &str) -> bool {
        Self::ACCEPTED.iter().any(|accepted| {
            *accepted == name || accepted.ends_with('.') && name.starts_with(accepted)
        })
    }
}

/// All settings, for `pelton serve` and `pelton check`.
pub(crate) struct Everything;

impl Scope for Everything {
    const ACCEPTED: &[&str] = &[];
    const SHOWN: &[&str] = &[
        "root",
        "listen",
        "data",
        "quality",
        "formats",
        "require_login",
        "log_level",
        "tls.cert",
        "tls.key",
        "limits.variants_bytes_max",
    ];

    fn accepts(_: &str) -> bool {
        true
    }
}

/// Settings of `pelton prefetch`.
pub(crate) struct Prefetching;

impl Scope for Prefetching {
    const ACCEPTED: &[&str] = &[
        "root",
        "data",
        "quality",
        "formats",
        "allowed_types",
        "only_types",
        "img_map",
        "log_level",
        "library.",
        "cell.",
        "limits.variants_bytes_max",
        "limits.convert_bytes_max",
        "limits.facts_max",
        "limits.placeholders_max",
        "limits.original_bytes_max",
        "limits.source_pixels_max",
        "limits.target_pixels_max",
        "limits.animation_frames_max",
        "limits.animation_pixels_max",
        "limits.profile_bytes_max",
    ];
    const SHOWN: &[&str] = &[
        "data",
        "quality",
        "formats",
        "log_level",
        "library.cover_sizes",
        "library.picture_sizes",
        "cell.concurrency",
        "limits.variants_bytes_max",
    ];
}

/// Settings of `pelton purge` and `profile`: they state the address of the server and its token for
/// administration.
pub(crate) struct Purging;

impl Scope for Purging {
    const ACCEPTED: &[&str] = &["listen", "admin_listen", "admin_token_file"];
    const SHOWN: &[&str] = Self::ACCEPTED;
}

/// Settings of `pelton convert`.
pub(crate) struct Conversion;

impl Scope for Conversion {
    const ACCEPTED: &[&str] = &[
        "quality",
        "cell.",
        "limits.convert_bytes_max",
        "limits.source_pixels_max",
        "limits.target_pixels_max",
        "limits.animation_frames_max",
        "limits.animation_pixels_max",
        "limits.profile_bytes_max",
    ];
    const SHOWN: &[&str] = &[
        "quality",
        "cell.backend",
        "cell.max_request_time",
        "cell.max_work_memory",
    ];
}

/// Settings of `pelton scan`.
pub(crate) struct Scanning;

impl Scope for Scanning {
    const ACCEPTED: &[&str] = &[
        "root",
        "data",
        "library.split_artists",
        "library.split_genres",
        "library.split_exceptions",
    ];
    const SHOWN: &[&str] = &[
        "data",
        "library.split_artists",
        "library.split_genres",
        "library.split_exceptions",
    ];
}

/// Settings of `pelton run`, which are the settings of cells.
pub(crate) struct Cells;

impl Scope for Cells {
    const ACCEPTED: &[&str] = &["cell."];
    const SHOWN: &[&str] = &[
        "cell.backend",
        "cell.max_request_time",
        "cell.max_memory",
        "cell.max_work_memory",
        "cell.max_output",
        "cell.min_isolation",
    ];
}

/// Settings of `pelton cell`, which also runs jobs of the configured programs again.
pub(crate) struct CellsAndPrograms;

impl Scope for CellsAndPrograms {
    const ACCEPTED: &[&str] = &["cell.", "programs"];
    const SHOWN: &[&str] = Cells::SHOWN;
}

/// Settings of `pelton sign`, which are the keys of signed URLs.
pub(crate) struct Signing;

impl Scope for Signing {
    const ACCEPTED: &[&str] = &[
        "images.signature_keys",
        "images.signature_key_file",
        "imgproxy.",
    ];
    const SHOWN: &[&str] = &["images.signature_keys", "images.signature_key_file"];
}

/// Settings of commands that need only the data directory.
pub(crate) struct Data;

impl Scope for Data {
    const ACCEPTED: &[&str] = &["data"];
    const SHOWN: &[&str] = Self::ACCEPTED;
}

/// Settings of `pelton user add`, which stores `require_login` when it adds the first user.
pub(crate) struct DataAndLogin;

impl Scope for DataAndLogin {
    const ACCEPTED: &[&str] = &["data", "require_login"];
    const SHOWN: &[&str] = Self::ACCEPTED;
}

/// Settings of `pelton doctor`: the server is found by its data directory, and its token permits
/// the command to read metrics.
pub(crate) struct Diagnosis;

impl Scope for Diagnosis {
    const ACCEPTED: &[&str] = &["data", "admin_token_file"];
    const SHOWN: &[&str] = Self::ACCEPTED;
}

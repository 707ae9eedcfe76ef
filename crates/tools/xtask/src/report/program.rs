//! Programs of the plots: the names that readers see, and the colour of each program, which is the
//! same in all plots.

/// Program, or group of programs, that has one colour in the report.
struct Program {
    /// Names of bars begin with one of these words.
    words: &'static [&'static str],
    /// Name for the reader, in place of the word.
    label: &'static str,
    /// Class in the style sheet, which gives the colour.
    class: &'static str,
    /// Name under which records list the version of the program.
    versions: &'static str,
}

/// All programs. The first that matches a name counts.
const PROGRAMS: &[Program] = &[
    program(&["pelton", "ours"], "Pelton", "pelton", ""),
    program(&["process"], "Pelton, process", "pelton", ""),
    program(&["kvm"], "Pelton, microVM", "pelton", ""),
    program(&["plain"], "no sandbox", "plain", ""),
    program(&["nginx"], "nginx", "nginx", "nginx"),
    program(&["h2o"], "h2o", "h2o", "h2o"),
    program(&["hyper"], "hyper", "hyper", ""),
    program(&["libreactor"], "libreactor", "libreactor", "libreactor"),
    program(
        &["webp-server-go"],
        "WebP Server Go",
        "webp-server-go",
        "webp-server-go",
    ),
    program(&["imgproxy"], "imgproxy", "imgproxy", "imgproxy"),
    program(&["vipsthumbnail"], "vipsthumbnail", "vips", "vips"),
    program(&["vips"], "vips", "vips", "vips"),
    program(&["cwebp"], "cwebp", "cwebp", "cwebp"),
    program(&["avifenc"], "avifenc", "avifenc", "avifenc"),
    program(&["redis"], "Redis", "redis", "redis-server"),
    program(&["valkey"], "Valkey", "valkey", "valkey-server"),
    program(&["lofty"], "lofty", "lofty", ""),
    program(&["musium"], "Musium's pattern", "musium", ""),
];

const fn program(
    words: &'static [&'static str],
    label: &'static str,
    class: &'static str,
    versions: &'static str,
) -> Program {
    Program {
        words,
        label,
        class,
        versions,
    }
}

/// Returns the program that `name` begins with, and the rest of the name.
fn find(name: &str) -> Option<(&'static Program, &str)> {
    PROGRAMS.iter().find_map(|program| {
        let mut words = program.words.iter();
        let rest = words.find_map(|word| name.strip_prefix(word))?;
        Some((program, rest))
    })
}

/// Returns the name of a bar for readers.
pub(super) fn label(name: &str) -> String {
    find(name).map_or_else(
        || name.to_owned(),
        |(program, rest)| format!("{}{rest}", program.label),
    )
}

/// Returns the class of a bar in the style sheet. Bars of programs that are not in the table have
/// the class of the last colour.
pub(super) fn class(name: &str) -> &'static str {
    find(name).map_or("other", |(program, _)| program.class)
}

/// Returns the key of the program in the versions of a record, if records have its version.
pub(super) fn versions_key(name: &str) -> Option<&'static str> {
    let (program, _) = find(name)?;
    (!program.versions.is_empty()).then_some(program.versions)
}

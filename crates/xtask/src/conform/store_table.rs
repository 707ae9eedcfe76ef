//! What COMMAND INFO says of each command, held against redis-server's.

use resp::Reply;

/// Commands that 7.2 describes otherwise than the 7.0 of Debian: scripts may run those that wait, and arguments were added.
const NEWER: &[&str] = &[
    "blmove",
    "blpop",
    "brpop",
    "brpoplpush",
    "bzpopmax",
    "bzpopmin",
    "command|getkeys",
    "command|getkeysandflags",
    "wait",
    "zrank",
    "zrevrank",
];
/// Its subcommands stand last in a row, and each has one of its own.
const FIELDS: usize = 9;

/// What differs in the two rows of a command: what a field means there and here. A command that one of them does not know
/// does not differ.
pub(super) fn differences(name: &str, theirs: &Reply, ours: &Reply) -> Vec<(String, String)> {
    let both = (row(theirs), row(ours));
    let (Some(theirs), Some(ours)) = both else {
        return Vec::new();
    };
    if NEWER.contains(&name) {
        return Vec::new();
    }
    let fields = theirs.iter().zip(ours).take(FIELDS);
    let meant = fields.map(|(theirs, ours)| (meaning(theirs), meaning(ours)));
    meant.filter(|(theirs, ours)| theirs != ours).collect()
}

fn row(reply: &Reply) -> Option<&[Reply]> {
    match reply {
        Reply::Array(commands) => match commands.first() {
            Some(Reply::Array(row)) => Some(row),
            _ => None,
        },
        _ => None,
    }
}

/// A field with what has no order sorted, and without notes: those are prose.
fn meaning(field: &Reply) -> String {
    let is_note = |reply: &Reply| matches!(reply, Reply::Bulk(name) if name == "notes");
    let is_word = |it: &Reply| match it {
        Reply::Simple(_) => true,
        Reply::Bulk(text) => text.contains(&b':') || text.starts_with(b"nondeterministic"),
        _ => false,
    };
    match field {
        Reply::Set(elements) => format!("set of {}", listed(elements, true)),
        // In protocol 2 sets are lists, and of words then; of texts, if they are tips.
        Reply::Array(elements) => match elements.iter().position(is_note) {
            Some(at) => listed(&[&elements[..at], &elements[at + 2..]].concat(), false),
            None => listed(elements, elements.iter().all(is_word)),
        },
        Reply::Map(pairs) => {
            let told = pairs.iter().filter(|(name, _)| !is_note(name));
            let told: Vec<String> = told
                .map(|(name, value)| format!("{name:?}: {}", meaning(value)))
                .collect();
            format!("{{{}}}", told.join(", "))
        }
        other => format!("{other:?}"),
    }
}

fn listed(elements: &[Reply], sorts: bool) -> String {
    let mut texts: Vec<String> = elements.iter().map(meaning).collect();
    if sorts {
        texts.sort_unstable();
    }
    format!("[{}]", texts.join(", "))
}

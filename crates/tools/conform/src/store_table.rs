//! Comparison of our replies to COMMAND INFO and COMMAND DOCS with the replies of redis-server.

use resp::Reply;

/// Commands that Redis 7.2, and therefore our table, describes differently from Debian's 7.0:
/// scripts may run blocking commands in 7.2, and some commands have more arguments in 7.2.
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
/// Commands whose arguments our table describes differently from Debian's Redis 7.0: because 7.2
/// changed them, because our commands accept more, or because our table describes a group of one
/// argument as that argument.
const NEWER_ARGUMENTS: &[&str] = &[
    "bitop",
    "client|kill",
    "client|list",
    "command|getkeys",
    "command|getkeysandflags",
    "config|get",
    "psubscribe",
    "set",
    "zrank",
    "zrevrank",
];
/// Number of compared fields in a row of the command table. The subcommands are the last field of a
/// row, and are compared in rows of their own.
const FIELDS: usize = 9;

/// Returns the fields that differ in the two rows of a command, each as a pair of strings:
/// redis-server's and ours. Returns no fields if one of the servers lacks the command.
pub(crate) fn differences(name: &str, theirs: &Reply, ours: &Reply) -> Vec<(String, String)> {
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

/// Returns the arguments of a command as redis-server and as our store list them in COMMAND DOCS,
/// if the two lists differ. The comparison ignores the names of tokens and groups, which no client
/// reads, and the versions that introduced arguments.
pub(crate) fn argument_differences(
    name: &str,
    theirs: &Reply,
    ours: &Reply,
) -> Option<(String, String)> {
    let arguments = |reply: &Reply| {
        let docs = named(reply, name)?;
        Some(named(docs, "arguments").map_or(String::new(), compared_properties))
    };
    let both = (arguments(theirs)?, arguments(ours)?);
    (both.0 != both.1 && !NEWER_ARGUMENTS.contains(&name)).then_some(both)
}

/// Formats the properties that the comparison uses, for each argument.
fn compared_properties(arguments: &Reply) -> String {
    let Reply::Array(arguments) = arguments else {
        return format!("{arguments:?}");
    };
    let one = |argument: &Reply| {
        let field = |name| named(argument, name);
        let text = |name| field(name).map_or(String::new(), text_of);
        let kind = text("type");
        let name = match &*kind {
            "pure-token" | "oneof" | "block" => String::new(),
            _ => text("name"),
        };
        let flags = field("flags").map_or(String::new(), meaning);
        let spec = match &*kind {
            "key" => field("key_spec_index").map_or(String::new(), meaning),
            _ => String::new(),
        };
        let parts = field("arguments").map_or(String::new(), compared_properties);
        format!("{kind} {name} {} {flags} {spec} ({parts})", text("token"))
    };
    let words: Vec<String> = arguments.iter().map(one).collect();
    words.join(", ")
}

/// Returns the value of a field of a map. In protocol 2, a map is an array of names and values.
fn named<'r>(reply: &'r Reply, name: &str) -> Option<&'r Reply> {
    match reply {
        Reply::Map(pairs) => {
            let pair = pairs.iter().find(|(field, _)| text_of(field) == name);
            pair.map(|(_, value)| value)
        }
        Reply::Array(elements) => {
            let mut pairs = elements.chunks_exact(2);
            pairs
                .find(|pair| text_of(&pair[0]) == name)
                .map(|pair| &pair[1])
        }
        _ => None,
    }
}

fn text_of(reply: &Reply) -> String {
    match reply {
        Reply::Bulk(text) | Reply::Simple(text) => String::from_utf8_lossy(text).into_owned(),
        other => format!("{other:?}"),
    }
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

/// Formats a field for the comparison. Elements in no particular order are sorted, and notes are
/// left out, because they are prose.
fn meaning(field: &Reply) -> String {
    let is_note = |reply: &Reply| matches!(reply, Reply::Bulk(name) if name == "notes");
    let is_word = |it: &Reply| match it {
        Reply::Simple(_) => true,
        Reply::Bulk(text) => text.contains(&b':') || text.starts_with(b"nondeterministic"),
        _ => false,
    };
    match field {
        Reply::Set(elements) => format!("set of {}", listed(elements, true)),
        // In protocol 2, a set is an array: of bulk strings for command tips, otherwise of simple
        // strings.
        Reply::Array(elements) => match elements.iter().position(is_note) {
            Some(at) => listed(&[&elements[..at], &elements[at + 2..]].concat(), false),
            None => listed(elements, elements.iter().all(is_word)),
        },
        Reply::Map(pairs) => {
            let compared_properties = pairs.iter().filter(|(name, _)| !is_note(name));
            let compared_properties: Vec<String> = compared_properties
                .map(|(name, value)| format!("{name:?}: {}", meaning(value)))
                .collect();
            format!("{{{}}}", compared_properties.join(", "))
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

//! The command COMMAND with its subcommands, HELP, and server commands that need neither sockets
//! nor files, such as TIME.

use bytes::Bytes;
use resp::Out;

use crate::command::{Command, Flags, Keys};
use crate::context::Context;
use crate::fault::Fault;
use crate::table::{self, Argument, KeyPosition, Kind, Spec};

type Done = Result<(), Fault>;

pub(crate) fn echo(cx: &mut Context<'_>, out: &mut Out) -> Done {
    out.blob(&cx.args[1]);
    Ok(())
}

pub(crate) fn time(cx: &mut Context<'_>, out: &mut Out) -> Done {
    out.array(2);
    out.bulk_int(cx.now / 1000);
    out.bulk_int(cx.now % 1000 * 1000);
    Ok(())
}

/// Replies to `CONTAINER HELP` with the subcommands, their arguments and summaries.
pub(crate) fn help(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let name = cx.args[0].to_ascii_lowercase();
    let container = table::named(&name).expect("HELP is a subcommand of a known command");
    let mut lines = Vec::new();
    for subcommand in table::subcommands(container) {
        let (_, name) = subcommand
            .name
            .split_once('|')
            .expect("the name of a subcommand contains |");
        if name != "help" {
            let usage = format!(
                "{} {}",
                name.to_uppercase(),
                table::usage(subcommand.syntax)
            );
            lines.push(usage.trim_end().to_owned());
            lines.push(format!("    {}", subcommand.summary));
        }
    }
    send_help(container.name, &lines, out);
    Ok(())
}

/// Writes the reply of a HELP subcommand, framed by the first and last lines that Redis sends.
pub fn send_help(container: &str, lines: &[impl AsRef<str>], out: &mut Out) {
    let container = container.to_uppercase();
    out.array(lines.len() + 3);
    out.simple(&format!(
        "{container} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
    ));
    lines.iter().for_each(|line| out.simple(line.as_ref()));
    out.simple("HELP");
    out.simple("    Prints this help.");
}

/// Returns all commands, without subcommands.
fn without_subcommands() -> impl Iterator<Item = &'static Command> {
    table::commands()
        .iter()
        .filter(|command| !command.name.contains('|'))
}

pub(crate) fn command(_: &mut Context<'_>, out: &mut Out) -> Done {
    out.array(without_subcommands().count());
    without_subcommands().for_each(|command| send_info(command, out));
    Ok(())
}

pub(crate) fn command_count(_: &mut Context<'_>, out: &mut Out) -> Done {
    out.int(without_subcommands().count() as i64);
    Ok(())
}

pub(crate) fn command_info(cx: &mut Context<'_>, out: &mut Out) -> Done {
    if cx.args.len() == 2 {
        return command(cx, out);
    }
    out.array(cx.args.len() - 2);
    for name in &cx.args[2..] {
        match table::named(name) {
            Some(command) => send_info(command, out),
            None => out.null(),
        }
    }
    Ok(())
}

fn send_info(command: &Command, out: &mut Out) {
    out.array(10);
    out.bulk(command.name.as_bytes());
    out.int(i64::from(command.arity));
    let flags: Vec<&str> = command.flag_names().collect();
    out.set(flags.len());
    flags.iter().for_each(|flag| out.simple(flag));
    let (first, last, step) = positions(command.keys);
    out.int(first);
    out.int(last);
    out.int(step);
    let categories = command.categories();
    out.set(categories.len());
    categories.iter().for_each(|category| out.simple(category));
    let tips = table::tips(command.name);
    out.set(tips.len());
    tips.iter().for_each(|tip| out.bulk(tip.as_bytes()));
    let specs = table::specs(command);
    out.set(specs.len());
    specs.iter().for_each(|spec| send_spec(spec, out));
    let subcommands: Vec<&Command> = table::subcommands(command).collect();
    // Redis sends an empty set, not an empty array.
    match subcommands.len() {
        0 => out.set(0),
        count => out.array(count),
    }
    subcommands
        .iter()
        .for_each(|subcommand| send_info(subcommand, out));
}

/// Returns the index of the first key, the index of the last key, and the step between keys. Keys
/// whose positions depend on other arguments are left out.
fn positions(keys: Keys) -> (i64, i64, i64) {
    match keys {
        Keys::None | Keys::Counted { .. } | Keys::Streams { .. } => (0, 0, 0),
        Keys::Range { first, last, step } => (first as i64, i64::from(last), step as i64),
        Keys::StoreCounted | Keys::Sort { .. } => (1, 1, 1),
        Keys::Channels { last } => (1, i64::from(last), 1),
    }
}

fn send_spec(spec: &Spec, out: &mut Out) {
    out.map(3);
    out.bulk(b"flags");
    out.set(spec.key_use.len());
    spec.key_use.iter().for_each(|word| out.simple(word));
    let index = |at: usize| ("index", vec![("index", at as i64)]);
    let range = |last: i64, step: i64, limit: i64| {
        let fields = [("lastkey", last), ("keystep", step), ("limit", limit)];
        ("range", fields.to_vec())
    };
    let (begin, find) = match spec.positions {
        KeyPosition::Range { at, last, step } => {
            (index(at), range(i64::from(last), step as i64, 0))
        }
        // For clients, a limit of 2 means that the keys are the first half of the range.
        KeyPosition::Keyword { from } => (
            ("keyword", vec![("startfrom", from as i64)]),
            range(-1, 1, 2),
        ),
        KeyPosition::Counted { at } => {
            let fields = [("keynumidx", 0), ("firstkey", 1), ("keystep", 1)];
            (index(at), ("keynum", fields.to_vec()))
        }
        KeyPosition::Unknown => (("unknown", Vec::new()), ("unknown", Vec::new())),
    };
    for (step, (kind, fields)) in [("begin_search", begin), ("find_keys", find)] {
        out.bulk(step.as_bytes());
        out.map(2);
        out.bulk(b"type");
        out.bulk(kind.as_bytes());
        out.bulk(b"spec");
        let is_keyword = kind == "keyword";
        out.map(fields.len() + usize::from(is_keyword));
        if is_keyword {
            out.bulk(b"keyword");
            out.bulk(b"STREAMS");
        }
        for (field, value) in fields {
            out.bulk(field.as_bytes());
            out.int(value);
        }
    }
}

pub(crate) fn command_docs(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let named: Vec<&Command> = if cx.args.len() == 2 {
        without_subcommands().collect()
    } else {
        let names = cx.args[2..].iter();
        names.filter_map(|name| table::named(name)).collect()
    };
    out.map(named.len());
    named.iter().for_each(|command| send_docs(command, out));
    Ok(())
}

fn send_docs(command: &Command, out: &mut Out) {
    let subcommands: Vec<&Command> = table::subcommands(command).collect();
    let arguments = table::arguments(command.syntax);
    let deprecated = table::deprecated(command.name);
    let mut fields = vec![
        ("summary", command.summary),
        ("since", command.since),
        ("group", command.group.name()),
        ("complexity", command.complexity),
    ];
    if let Some(row) = deprecated {
        fields.push(("deprecated_since", row.since));
        fields.push(("replaced_by", row.replaced_by));
    }
    let more = [
        deprecated.is_some(),
        !arguments.is_empty(),
        !subcommands.is_empty(),
    ];
    out.bulk(command.name.as_bytes());
    out.map(fields.len() + more.into_iter().filter(|is| *is).count());
    for (field, text) in fields {
        out.bulk(field.as_bytes());
        out.bulk(text.as_bytes());
    }
    if deprecated.is_some() {
        out.bulk(b"doc_flags");
        out.set(1);
        out.simple("deprecated");
    }
    if !arguments.is_empty() {
        out.bulk(b"arguments");
        let specs = table::specs(command).len();
        let mut keys = KeySpecs { count: 0, specs };
        send_arguments(&arguments, &mut keys, out);
    }
    if !subcommands.is_empty() {
        out.bulk(b"subcommands");
        out.map(subcommands.len());
        subcommands
            .iter()
            .for_each(|subcommand| send_docs(subcommand, out));
    }
}

/// Assigns key specs (descriptions of where a command's keys are) to the arguments that COMMAND
/// DOCS lists. The first key argument gets the first spec, and every other key argument gets the
/// last one.
struct KeySpecs {
    count: usize,
    specs: usize,
}

impl KeySpecs {
    fn next(&mut self) -> i64 {
        let index = match self.count {
            0 => 0,
            _ => self.specs - 1,
        };
        self.count += 1;
        index as i64
    }
}

fn send_arguments(arguments: &[Argument], keys: &mut KeySpecs, out: &mut Out) {
    out.array(arguments.len());
    for argument in arguments {
        let is_shown = !matches!(argument.kind, Kind::OneOf | Kind::Block);
        let key_spec = (argument.kind == Kind::Key).then(|| keys.next());
        let flags = [
            (argument.is_optional, "optional"),
            (argument.is_multiple, "multiple"),
            (argument.repeats_token, "multiple_token"),
        ];
        let flags: Vec<&str> = flags.iter().filter(|it| it.0).map(|it| it.1).collect();
        let more = [
            is_shown,
            key_spec.is_some(),
            argument.token.is_some(),
            !flags.is_empty(),
            !argument.parts.is_empty(),
        ];
        out.map(2 + more.into_iter().filter(|is| *is).count());
        let mut field = |name: &str, text: &str| {
            out.bulk(name.as_bytes());
            out.bulk(text.as_bytes());
        };
        field("name", &argument.name);
        field("type", argument.kind.name());
        if is_shown {
            field("display_text", &argument.name);
        }
        if let Some(index) = key_spec {
            out.bulk(b"key_spec_index");
            out.int(index);
        }
        if let Some(token) = argument.token {
            out.bulk(b"token");
            out.bulk(token.as_bytes());
        }
        if !flags.is_empty() {
            out.bulk(b"flags");
            out.set(flags.len());
            flags.iter().for_each(|flag| out.simple(flag));
        }
        if !argument.parts.is_empty() {
            out.bulk(b"arguments");
            send_arguments(&argument.parts, keys, out);
        }
    }
}

pub(crate) fn command_list(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let mut names: Vec<&str> = table::commands()
        .iter()
        .map(|command| command.name)
        .collect();
    match cx.args.len() {
        2 => {}
        5 if cx.is(2, "filterby") => {
            let wanted = cx.args[4].to_ascii_lowercase();
            let filter: fn(&Command, &[u8]) -> bool = if cx.is(3, "pattern") {
                |command, pattern| crate::text::glob(pattern, command.name.as_bytes())
            } else if cx.is(3, "aclcat") {
                |command, name| {
                    let mut categories = command.categories().into_iter();
                    categories.any(|category| category.as_bytes()[1..] == *name)
                }
            } else if cx.is(3, "module") {
                |_, _| false
            } else {
                return Err(Fault::SYNTAX);
            };
            names = table::commands()
                .iter()
                .filter(|it| filter(it, &wanted))
                .map(|it| it.name)
                .collect();
        }
        _ => return Err(Fault::SYNTAX),
    }
    out.array(names.len());
    names.iter().for_each(|name| out.bulk(name.as_bytes()));
    Ok(())
}

pub(crate) fn command_getkeys(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let (_, keys) = keys_of(&cx.args[2..])?;
    out.array(keys.len());
    keys.iter().for_each(|key| out.bulk(key));
    Ok(())
}

pub(crate) fn command_getkeysandflags(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let (command, keys) = keys_of(&cx.args[2..])?;
    let (first, rest) = table::uses(command, &cx.args[2..]);
    out.array(keys.len());
    for (index, key) in keys.into_iter().enumerate() {
        let flags = if index == 0 { first } else { rest };
        out.array(2);
        out.bulk(key);
        out.set(flags.len());
        flags.iter().for_each(|flag| out.simple(flag));
    }
    Ok(())
}

fn keys_of(call: &[Bytes]) -> Result<(&'static Command, Vec<&Bytes>), Fault> {
    let command = table::resolve(call).map_err(|_| Fault::of("ERR Invalid command specified"))?;
    if !command.has_keys() {
        return Err(Fault::of("ERR The command has no key arguments"));
    }
    if !command.takes(call.len()) {
        return Err(Fault::of(
            "ERR Invalid number of arguments specified for command",
        ));
    }
    let needs_none = command.flags.has(Flags::NO_MANDATORY_KEYS);
    let indices = command.keys.indices(call);
    let indices = indices.or_else(|| needs_none.then(Vec::new));
    let indices = indices.ok_or(Fault::of("ERR Invalid arguments specified for command"))?;
    Ok((command, indices.into_iter().map(|at| &call[at]).collect()))
}

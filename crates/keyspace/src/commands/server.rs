//! The commands about commands, and the few about the server that need no server.

use bytes::Bytes;
use resp::Out;

use crate::command::{Command, Keys};
use crate::context::Context;
use crate::fault::Fault;
use crate::table::{self, Place, Spec};

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

/// `CONTAINER HELP`: the subcommands and what they do.
pub(crate) fn help(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let name = cx.args[0].to_ascii_lowercase();
    let container = table::named(&name).expect("HELP is a subcommand of it");
    let subcommands: Vec<&Command> = table::subcommands(container).collect();
    out.array(1 + 2 * subcommands.len());
    let upper = container.name.to_uppercase();
    out.simple(&format!(
        "{upper} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
    ));
    for subcommand in subcommands {
        let (_, name) = subcommand
            .name
            .split_once('|')
            .expect("subcommands are named so");
        out.simple(&name.to_uppercase());
        out.simple(&format!("    {}", subcommand.summary));
    }
    Ok(())
}

/// Commands that are no subcommands.
fn whole() -> impl Iterator<Item = &'static Command> {
    table::commands()
        .iter()
        .filter(|command| !command.name.contains('|'))
}

pub(crate) fn command(_: &mut Context<'_>, out: &mut Out) -> Done {
    out.array(whole().count());
    whole().for_each(|command| send_info(command, out));
    Ok(())
}

pub(crate) fn command_count(_: &mut Context<'_>, out: &mut Out) -> Done {
    out.int(whole().count() as i64);
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
    // None are an empty set, as Redis sends them.
    match subcommands.len() {
        0 => out.set(0),
        count => out.array(count),
    }
    subcommands
        .iter()
        .for_each(|subcommand| send_info(subcommand, out));
}

/// The first key, the last, and the step, as far as they do not depend on arguments.
fn positions(keys: Keys) -> (i64, i64, i64) {
    match keys {
        Keys::None | Keys::Counted { .. } => (0, 0, 0),
        Keys::Range { first, last, step } => (first as i64, i64::from(last), step as i64),
        Keys::StoreCounted | Keys::Sort { .. } => (1, 1, 1),
        Keys::Channels { last } => (1, i64::from(last), 1),
    }
}

fn send_spec(spec: &Spec, out: &mut Out) {
    out.map(3);
    out.bulk(b"flags");
    out.set(spec.what.len());
    spec.what.iter().for_each(|word| out.simple(word));
    let index = |at: usize| ("index", vec![("index", at as i64)]);
    let (begin, find) = match spec.place {
        Place::Range { at, last, step } => {
            let fields = [
                ("lastkey", i64::from(last)),
                ("keystep", step as i64),
                ("limit", 0),
            ];
            (index(at), ("range", fields.to_vec()))
        }
        Place::Counted { at } => {
            let fields = [("keynumidx", 0), ("firstkey", 1), ("keystep", 1)];
            (index(at), ("keynum", fields.to_vec()))
        }
        Place::Unknown => (("unknown", Vec::new()), ("unknown", Vec::new())),
    };
    for (step, (kind, fields)) in [("begin_search", begin), ("find_keys", find)] {
        out.bulk(step.as_bytes());
        out.map(2);
        out.bulk(b"type");
        out.bulk(kind.as_bytes());
        out.bulk(b"spec");
        out.map(fields.len());
        for (field, value) in fields {
            out.bulk(field.as_bytes());
            out.int(value);
        }
    }
}

pub(crate) fn command_docs(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let named: Vec<&Command> = if cx.args.len() == 2 {
        whole().collect()
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
    out.bulk(command.name.as_bytes());
    out.map(if subcommands.is_empty() { 4 } else { 5 });
    let fields = [
        ("summary", command.summary),
        ("since", command.since),
        ("group", command.group.name()),
        ("complexity", command.complexity),
    ];
    for (field, text) in fields {
        out.bulk(field.as_bytes());
        out.bulk(text.as_bytes());
    }
    if !subcommands.is_empty() {
        out.bulk(b"subcommands");
        out.map(subcommands.len());
        subcommands
            .iter()
            .for_each(|subcommand| send_docs(subcommand, out));
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

/// The command of a call, and its keys.
fn keys_of(call: &[Bytes]) -> Result<(&'static Command, Vec<&Bytes>), Fault> {
    let command = table::resolve(call).map_err(|_| Fault::of("ERR Invalid command specified"))?;
    if matches!(command.keys, Keys::None | Keys::Channels { .. }) {
        return Err(Fault::of("ERR The command has no key arguments"));
    }
    if !command.takes(call.len()) {
        return Err(Fault::of(
            "ERR Invalid number of arguments specified for command",
        ));
    }
    let indices = command.keys.indices(call);
    let indices = indices.ok_or(Fault::of("ERR Invalid arguments specified for command"))?;
    Ok((command, indices.into_iter().map(|at| &call[at]).collect()))
}

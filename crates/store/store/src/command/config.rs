//! CONFIG and its subcommands, which show and change the directives of the configuration file.

use super::call::Call;
use crate::clients::ClientCounters;
use crate::config::{ACCEPTED, Config, SetFault, accepted, directive};

/// Directives that `CONFIG SET` can change in Redis but not in this server. Setting such a
/// directive to its current value succeeds.
const CHANGED_BY_REDIS: &[&str] = &["bind", "loglevel", "port"];
/// Directives that determine where files are written. A client that could change them could write
/// to any directory.
const PROTECTED: &[&str] = &["dbfilename", "dir"];

/// CONFIG GET | SET | RESETSTAT | REWRITE: runs the subcommand.
pub(super) fn config(call: &mut Call<'_>) {
    match (call.word(1).as_str(), call.args.len()) {
        ("get", 3..) => get(call),
        ("set", 4..) => set(call),
        ("resetstat", 2) => {
            let now_ms = call.state.now_ms();
            call.state.stats.counters.reset(now_ms);
            call.state.clients.counters = ClientCounters::default();
            call.state.keyspace.reset_stats();
            call.out().ok();
        }
        ("rewrite", 2) => rewrite(call),
        _ => call.unknown_subcommand(),
    }
}

/// CONFIG REWRITE: requests a rewrite of the configuration file. The client waits until the file is
/// written; other clients are served meanwhile.
fn rewrite(call: &mut Call<'_>) {
    let is_alone = !call.state.clients[call.key].session.in_exec();
    match (&call.state.config.file, is_alone) {
        (None, _) => call.error("ERR The server is running without a config file"),
        // A command in a transaction cannot wait for the file, since its reply must be available at
        // once.
        (Some(_), false) => call.error("ERR CONFIG REWRITE is not allowed in transactions"),
        (Some(_), true) => {
            call.state.rewrite_waiters.add(call.key);
            call.state.park_without_keys(call.key);
        }
    }
}

/// CONFIG GET: replies with names and values. A name without glob characters is returned as the
/// client spelled it. Patterns do not match hidden names, which are the names that only Valkey has.
fn get(call: &mut Call<'_>) {
    let all: Vec<_> = call.state.config.all().collect();
    let mut found: Vec<(String, &str)> = Vec::new();
    for requested_name in &call.args[2..] {
        let requested_name = String::from_utf8_lossy(requested_name);
        let is_pattern = requested_name.contains(['[', '*', '?']);
        let lower = requested_name.to_ascii_lowercase();
        for (name, value) in &all {
            let is_new = !found
                .iter()
                .any(|(known, _)| known.eq_ignore_ascii_case(name));
            let is_listed = is_pattern && !is_hidden(name);
            if is_new && is_listed && keyspace::glob(lower.as_bytes(), name.as_bytes()) {
                found.push(((*name).to_owned(), value));
            } else if is_new && lower == *name {
                found.push((requested_name.clone().into_owned(), value));
            }
        }
    }
    let out = call.out();
    out.map(found.len());
    for (name, value) in &found {
        out.bulk(name.as_bytes());
        out.bulk(value.as_bytes());
    }
}

/// CONFIG SET: sets all the named directives. If one of them cannot be set, sets none.
fn set(call: &mut Call<'_>) {
    let words: Result<Vec<String>, _> = call.args[2..]
        .iter()
        .map(|word| String::from_utf8(word.to_vec()))
        .collect();
    let Ok(words) = words else {
        return call.error("ERR CONFIG SET failed - a value is not UTF-8");
    };
    if words.len() % 2 == 1 {
        return call.error("ERR syntax error");
    }
    let mut config = call.state.config.clone();
    let set = may_set(call, &words).and_then(|()| {
        let mut pairs = words.chunks_exact(2);
        pairs.try_for_each(|pair| set_one(&mut config, &pair[0].to_ascii_lowercase(), &pair[1]))
    });
    if let Err(text) = set {
        return call.error(&text);
    }
    let before = std::mem::replace(&mut call.state.config, config);
    if let Err(fault) = call.state.apply_config(&before) {
        call.state.config = before;
        return call.error(&failed(&words[0], &fault));
    }
    call.out().ok();
}

/// Checks whether all directives that `words` names can be set, before any value is parsed. Unknown
/// names are reported first.
fn may_set(call: &Call<'_>, words: &[String]) -> Result<(), String> {
    let may_protected = may_change_protected(call);
    let mut seen: Vec<String> = Vec::new();
    for pair in words.chunks_exact(2) {
        let name = pair[0].to_ascii_lowercase();
        let is_live = match (directive(&name), accepted(&name)) {
            (Some(row), _) if row.name == "loglevel" && call.state.set_log_level.is_some() => true,
            (Some(row), _) if CHANGED_BY_REDIS.contains(&row.name) => {
                (row.show)(&call.state.config) == pair[1]
            }
            (Some(row), _) => row.live,
            (None, Some(row)) => ACCEPTED[row].live,
            (None, None) => {
                return Err(format!(
                    "ERR Unknown option or number of arguments for CONFIG SET - '{}'",
                    pair[0]
                ));
            }
        };
        if !is_live {
            return Err(failed(&pair[0], "can't set immutable config"));
        }
        if !may_protected && PROTECTED.contains(&name.as_str()) {
            return Err(failed(&pair[0], "can't set protected config"));
        }
        if seen.contains(&name) {
            return Err(failed(&pair[0], "duplicate parameter"));
        }
        seen.push(name);
    }
    Ok(())
}

fn is_hidden(name: &str) -> bool {
    accepted(name).is_some_and(|index| ACCEPTED[index].is_hidden(name))
}

fn may_change_protected(call: &Call<'_>) -> bool {
    let mut all = call.state.config.all();
    let found = all.find(|(name, _)| *name == "enable-protected-configs");
    match found.expect("every directive has a value").1.as_str() {
        "yes" => true,
        "local" => call.state.clients[call.key].peer.is_local,
        _ => false,
    }
}

fn set_one(config: &mut Config, name: &str, value: &str) -> Result<(), String> {
    // The values of these directives consist of several words, which one argument of CONFIG SET
    // contains.
    let words: Vec<String> = match name {
        "save" | "client-output-buffer-limit" | "bind" => {
            value.split_ascii_whitespace().map(str::to_owned).collect()
        }
        _ => vec![value.to_owned()],
    };
    match config.set(name, &words) {
        Ok(()) => match config.only_default() {
            Some((_, reason)) => Err(failed(name, &reason)),
            None => Ok(()),
        },
        Err(SetFault::Value(text)) => Err(failed(name, &text)),
        Err(SetFault::Unknown) => panic!("the directive {name} was found before"),
    }
}

fn failed(name: &str, text: &str) -> String {
    format!("ERR CONFIG SET failed (possibly related to argument '{name}') - {text}")
}

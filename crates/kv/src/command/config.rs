//! CONFIG.

use super::Call;
use crate::config::{Config, Directive, SetFault, directive};

/// Directives that are only kept, and that Redis refuses to change while it runs.
const IMMUTABLE: &[&str] = &[
    "always-show-logo",
    "daemonize",
    "disable-thp",
    "enable-module-command",
    "enable-protected-configs",
    "io-threads",
    "io-threads-do-reads",
    "logfile",
    "set-proc-title",
    "supervised",
    "syslog-enabled",
    "syslog-facility",
    "syslog-ident",
];
/// Directives that say where files are written: whoever could change them could write anywhere.
const PROTECTED: &[&str] = &["dbfilename", "dir"];

/// CONFIG GET | SET | RESETSTAT | REWRITE
pub(super) fn config(call: &mut Call<'_>) {
    match (call.word(1).as_str(), call.args.len()) {
        ("get", 3..) => get(call),
        ("set", 4..) => set(call),
        ("resetstat", 2) => {
            let now_ms = call.state.now_ms();
            call.state.stats.reset(now_ms);
            call.state.keyspace.reset_stats();
            call.out().ok();
        }
        ("rewrite", 2) => call.error("ERR The server is running without a config file"),
        ("help", 2) => call.help(&[
            "GET <pattern>",
            "    Return parameters matching the glob-like <pattern> and their values.",
            "SET <directive> <value>",
            "    Set the configuration <directive> to <value>.",
            "RESETSTAT",
            "    Reset statistics reported by the INFO command.",
            "REWRITE",
            "    Rewrite the configuration file.",
        ]),
        _ => call.unknown_subcommand(),
    }
}

fn get(call: &mut Call<'_>) {
    let patterns: Vec<String> = (2..call.args.len()).map(|index| call.word(index)).collect();
    let matches = |name: &str| {
        let mut patterns = patterns.iter();
        patterns.any(|pattern| keyspace::glob(pattern.as_bytes(), name.as_bytes()))
    };
    let found: Vec<_> = call
        .state
        .config
        .all()
        .filter(|(name, _)| matches(name))
        .collect();
    let out = call.out();
    out.map(found.len());
    for (name, value) in &found {
        out.bulk(name.as_bytes());
        out.bulk(value.as_bytes());
    }
}

/// Everything that is named is set, or nothing.
fn set(call: &mut Call<'_>) {
    let words: Result<Vec<String>, _> = call.args[2..]
        .iter()
        .map(|word| String::from_utf8(word.to_vec()))
        .collect();
    let Ok(words) = words else {
        return call.error("ERR CONFIG SET failed - a value is not UTF-8");
    };
    if words.len() % 2 == 1 {
        return call.error("ERR wrong number of arguments for 'config|set' command");
    }
    let may_protected = may_change_protected(call);
    let mut config = call.state.config.clone();
    let mut seen: Vec<String> = Vec::new();
    for pair in words.chunks_exact(2) {
        let name = pair[0].to_ascii_lowercase();
        let set = match seen.contains(&name) {
            true => Err(failed(&name, "duplicate parameter")),
            false if !may_protected && PROTECTED.contains(&name.as_str()) => {
                Err(failed(&name, "can't set protected config"))
            }
            false => set_one(&mut config, &name, &pair[1]),
        };
        if let Err(text) = set {
            return call.error(&text);
        }
        seen.push(name);
    }
    let before = std::mem::replace(&mut call.state.config, config);
    if let Err(fault) = call.state.apply_config(&before) {
        call.state.config = before;
        let name = seen.first().map_or("", String::as_str);
        return call.error(&failed(name, &fault));
    }
    call.out().ok();
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
    // What it is already, it may be told to be.
    let changes = |row: &Directive| !row.live && (row.show)(config) != value;
    if directive(name).is_some_and(changes) || IMMUTABLE.contains(&name) {
        return Err(failed(name, "can't set immutable config"));
    }
    // One value stands for all the words that a line of the file has.
    let words: Vec<String> = match name {
        "save" | "client-output-buffer-limit" | "bind" => {
            value.split_ascii_whitespace().map(str::to_owned).collect()
        }
        _ => vec![value.to_owned()],
    };
    config.set(name, &words).map_err(|fault| match fault {
        SetFault::Unknown => {
            format!("ERR Unknown option or number of arguments for CONFIG SET - '{name}'")
        }
        SetFault::Value(text) => failed(name, &text),
    })
}

fn failed(name: &str, text: &str) -> String {
    format!("ERR CONFIG SET failed (possibly related to argument '{name}') - {text}")
}

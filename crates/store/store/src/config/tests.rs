//! Tests of parsing configuration files and command lines.

use std::path::Path;

use super::Config;

fn read(text: &str) -> Result<Config, String> {
    let mut config = Config::default();
    match config.read(text, Path::new("redis.conf")) {
        Ok(()) => Ok(config),
        Err(error) => Err(error.to_string()),
    }
}

fn from_args(args: &[&str]) -> Result<Config, String> {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    Config::from_args(&args).map_err(|error| error.to_string())
}

fn shown(config: &Config, name: &str) -> String {
    let mut all = config.all();
    all.find(|(known, _)| *known == name).expect("known").1
}

#[test]
fn a_typical_configuration_file_is_read() {
    let config = read(
        "# a comment\n\n  port 7000\nbind 127.0.0.1 -::1\nsave \"\"\nappendonly yes\nmaxmemory 2gb\n\
         client-output-buffer-limit normal 1mb 0 0\ntcp-backlog 100\nlua-time-limit 10\n\
         hash-max-ziplist-entries 7\nrequirepass \"a b\"\n",
    )
    .expect("sound");
    for (name, value) in [
        ("port", "7000"),
        ("bind", "127.0.0.1 -::1"),
        ("save", ""),
        ("appendonly", "yes"),
        ("maxmemory", "2147483648"),
        ("lua-time-limit", "10"),
        ("hash-max-listpack-entries", "7"),
        ("hash-max-ziplist-entries", "7"),
        ("requirepass", "a b"),
        ("dbfilename", "dump.rdb"),
    ] {
        assert_eq!(shown(&config, name), value, "{name}");
    }
}

#[test]
fn an_invalid_line_is_reported_with_its_number() {
    let fault = |text| read(text).expect_err("refused");
    assert_eq!(
        fault("port 1\nmaxmemroy 1gb\n"),
        "redis.conf:2: unknown directive 'maxmemroy', did you mean 'maxmemory'?"
    );
    assert_eq!(
        fault("slaveof-what a b"),
        "redis.conf:1: unknown directive 'slaveof-what'"
    );
    assert_eq!(
        fault("port 70000"),
        "redis.conf:1: port: argument must be between 0 and 65535 inclusive"
    );
    assert_eq!(
        fault("port 1 2"),
        "redis.conf:1: port: wrong number of arguments"
    );
    assert_eq!(fault("dir \"a"), "redis.conf:1: unbalanced quotes");
    assert_eq!(
        fault("appendfilename a/b"),
        "redis.conf:1: appendfilename: can't be a path, just a filename"
    );
}

#[test]
fn directives_without_effect_are_accepted_and_shown() {
    let config = read(
        "cluster-enabled no\ncluster-node-timeout 5000\ntls-port 0\ntls-cert-file /etc/x.pem\nmasterauth secret\n\
         masteruser me\nslaveof no one\nserver_cpulist 0-3\nslave-lazy-flush YES\nlua-time-limit 7\n\
         oom-score-adj relative\nrepl-backlog-size 2mb\nmaxmemory-clients 5%\nshutdown-on-sigterm now save\n\
         latency-tracking-info-percentiles 50.0 99.90\nlist-max-ziplist-entries 3\n",
    )
    .expect("sound");
    for (name, value) in [
        ("cluster-node-timeout", "5000"),
        ("tls-cert-file", "/etc/x.pem"),
        ("tls-session-cache-size", "20480"),
        ("masterauth", "secret"),
        ("replicaof", ""),
        ("slaveof", ""),
        ("server_cpulist", "0-3"),
        ("replica-lazy-flush", "yes"),
        ("slave-lazy-flush", "yes"),
        ("busy-reply-threshold", "7"),
        ("oom-score-adj", "yes"),
        ("repl-backlog-size", "2097152"),
        ("maxmemory-clients", "5%"),
        ("shutdown-on-sigterm", "save now"),
        ("latency-tracking-info-percentiles", "50 99.9"),
        ("aclfile", ""),
        ("socket-mark-id", "0"),
    ] {
        assert_eq!(shown(&config, name), value, "{name}");
    }
}

#[test]
fn the_configuration_file_of_valkey_is_accepted() {
    // Directives that occur in the configuration files of Valkey 8.1 and 9.0, active or commented
    // out, but not in the file of Redis 7.0.
    let config = read(
        "hide-user-data-from-log yes\nlocale-collate \"\"\nrdb-version-check strict\n\
         dual-channel-replication-enabled no\nrepl-diskless-load flush-before-load\nlazyfree-lazy-user-del yes\n\
         lazyfree-lazy-user-flush yes\ncommandlog-execution-slower-than 20000\n\
         commandlog-slow-execution-max-len 64\ncommandlog-request-larger-than 1048576\n\
         commandlog-large-request-max-len 128\ncommandlog-reply-larger-than 1048576\n\
         commandlog-large-reply-max-len 128\nset-max-listpack-entries 128\njemalloc-bg-thread yes\n\
         tcp-keepalive-probes 3\nprimaryauth secret\nprimaryuser me\nserver-cpulist 0-7:2\nbio-cpulist 1,3\n\
         aof-rewrite-cpulist 8-11\nbgsave-cpulist 1,10-11\nextended-redis-compatibility no\n\
         log-format logfmt\nlog-timestamp-format iso8601\nimport-mode no\navailability-zone zone-1\n\
         max-new-connections-per-cycle 10\nmax-new-tls-connections-per-cycle 1\nprefetch-batch-max-size 16\n\
         active-defrag-cycle-us 500\nunixsocketgroup wheel\nrdma-port 0\nrdma-rx-size 1048576\n\
         rdma-completion-vector 0\ncluster-blacklist-ttl 60\ncluster-slot-stats-enabled no\n\
         cluster-announce-human-nodename \"\"\ncluster-announce-client-ipv4 10.1.1.5\n",
    )
    .expect("sound");
    for (name, value) in [
        ("slowlog-log-slower-than", "20000"),
        ("commandlog-execution-slower-than", "20000"),
        ("slowlog-max-len", "64"),
        ("masterauth", "secret"),
        ("primaryuser", "me"),
        ("server_cpulist", "0-7:2"),
        ("log-format", "logfmt"),
    ] {
        assert_eq!(shown(&config, name), value, "{name}");
    }
    assert_eq!(
        from_args(&["--rdma-port", "6379"]).expect_err("refused"),
        "rdma-port 6379: the store does not support RDMA"
    );
}

#[test]
fn every_default_of_an_accepted_directive_is_valid() {
    for row in super::ACCEPTED {
        let value = match row.name {
            "replicaof" => "no one",
            _ => row.default,
        };
        let read = row.read(&[value.to_owned()]);
        assert_eq!(read.as_deref(), Ok(row.default), "{}", row.name);
    }
}

#[test]
fn one_argument_may_be_a_line_with_quotes() {
    let config = from_args(&["--maxmemory '700mb'", "--requirepass \"a b\""]).expect("sound");
    assert_eq!(config.maxmemory.0, 700 << 20);
    assert_eq!(config.requirepass, "a b");
}

#[test]
fn unsupported_directives_are_refused_with_a_reason() {
    let fault = |args: &[&str]| from_args(args).expect_err("refused");
    assert_eq!(
        fault(&["--cluster-enabled", "yes"]),
        "cluster-enabled yes: clusters are not supported"
    );
    assert_eq!(
        fault(&["--tls-port", "6380"]),
        "tls-port 6380: the store does not support TLS"
    );
    assert_eq!(
        fault(&["--slaveof", "10.0.0.1", "6379"]),
        "replicaof 10.0.0.1 6379: replication is not supported"
    );
    assert_eq!(
        fault(&["--user", "default", "on", "nopass"]),
        "--user: user: the store has only one user, named default: set its password with requirepass"
    );
    assert_eq!(
        fault(&["--rename-command", "FLUSHEVERYTHING", ""]),
        "--rename-command: rename-command FLUSHEVERYTHING: No such command in rename-command"
    );
    assert_eq!(
        fault(&["--rename-command", "FLUSHALL"]),
        "--rename-command: rename-command: wrong number of arguments"
    );
    // Some directives support only their default. They are checked after all values are set, so a
    // later value can correct an earlier one.
    from_args(&["--tls-port", "6380", "--tls-port", "0"]).expect("sound");
}

#[test]
fn values_of_ignored_directives_are_validated() {
    let fault = |line: &str| {
        let text = read(line).expect_err("refused");
        text.split_once(": ")
            .and_then(|(_, text)| text.split_once(": "))
            .expect("two heads")
            .1
            .to_owned()
    };
    for (line, expected) in [
        (
            "oom-score-adj foo",
            "argument(s) must be one of the following: no, yes, relative, absolute",
        ),
        (
            "shutdown-timeout -1",
            "argument must be between 0 and 2147483647 inclusive",
        ),
        (
            "min-slaves-to-write -1",
            "argument must be between 0 and 2147483647 inclusive",
        ),
        (
            "tracking-table-max-keys -1",
            "argument must be between 0 and 9223372036854775807 inclusive",
        ),
        (
            "io-threads 0",
            "argument must be between 1 and 128 inclusive",
        ),
        (
            "io-threads +2",
            "argument couldn't be parsed into an integer",
        ),
        ("daemonize maybe", "argument must be 'yes' or 'no'"),
        ("activedefrag", "wrong number of arguments"),
        (
            "repl-backlog-size 0",
            "argument must be between 1 and 9223372036854775807 inclusive",
        ),
        (
            "maxmemory-clients 101%",
            "percentage argument must be less or equal to 100",
        ),
        (
            "maxmemory-clients x",
            "argument must be a memory or percent value",
        ),
        (
            "shutdown-on-sigint save nosave",
            "shutdown options SAVE and NOSAVE can't be used simultaneously",
        ),
        ("oom-score-adj-values 1 2", "wrong number of arguments"),
        (
            "oom-score-adj-values 1 2 3000",
            "Invalid oom-score-adj-values, elements must be between -2000 and 2000.",
        ),
        (
            "latency-tracking-info-percentiles 50 101",
            "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]",
        ),
        (
            "cluster-announce-hostname a_b",
            "Hostnames may only contain alphanumeric characters, hyphens or dots",
        ),
        (
            "proc-title-template {foo}",
            "template format is invalid or contains unknown variables",
        ),
        (
            "unixsocketperm 888",
            "argument couldn't be parsed as an octal number",
        ),
        (
            "unixsocketperm 1000",
            "argument must be between 0 and 777 inclusive",
        ),
        (
            "proto-max-bulk-len 100",
            "argument must be between 1048576 and 9223372036854775807 inclusive",
        ),
    ] {
        assert_eq!(fault(line), expected, "{line}");
    }
}

#[test]
fn an_include_pattern_may_match_no_file() {
    let folder = std::env::temp_dir().join(format!("pelton-kv-include-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("b.conf"), "port 7002\n").expect("written");
    std::fs::write(folder.join("a.conf"), "port 7001\ntimeout 9\n").expect("written");
    std::fs::write(folder.join(".c.conf"), "port 7003\n").expect("written");
    let place = folder.display();
    let config = read(&format!("include {place}/no*.conf\ninclude {place}/*.conf")).expect("sound");
    assert_eq!(shown(&config, "port"), "7002");
    assert_eq!(shown(&config, "timeout"), "9");
    let missing = read(&format!("include {place}/no.conf")).expect_err("refused");
    assert!(
        missing.contains("no.conf: the configuration cannot be read: "),
        "{missing}"
    );
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn a_contradictory_configuration_is_refused() {
    assert_eq!(
        from_args(&["--port", "0"]).expect_err("nobody could connect"),
        "port 0 without unixsocket: Configured to not listen anywhere"
    );
    let config = from_args(&["--port", "0", "--unixsocket", "/tmp/s"]).expect("sound");
    assert_eq!(shown(&config, "port"), "0");
}

#[test]
fn save_lines_accumulate() {
    let saves = |text| shown(&read(text).expect("sound"), "save");
    assert_eq!(saves("save 900 1\nsave 300 10\n"), "900 1 300 10");
    assert_eq!(saves("save 900 1 300 10\nSAVE 60 5"), "900 1 300 10 60 5");
    assert_eq!(saves("save 900 1\nsave \"\"\n"), "");
    assert_eq!(saves("save 900 1\nsave \"\"\nsave 5 5"), "5 5");
    let saves = |args: &[&str]| shown(&from_args(args).expect("sound"), "save");
    assert_eq!(saves(&["--save", "1 1", "--save", "2 2"]), "1 1 2 2");
    assert_eq!(saves(&["--save", "--port", "7000"]), "");
    assert_eq!(saves(&["--port", "7000", "--save"]), "");
    assert_eq!(saves(&["--save 7 7", "--port 7000"]), "7 7");
}

#[test]
fn a_value_may_begin_with_dashes() {
    let config = from_args(&["--requirepass", "--secret", "--port", "7000"]).expect("sound");
    assert_eq!(shown(&config, "requirepass"), "--secret");
    assert_eq!(shown(&config, "port"), "7000");
}

#[test]
fn directives_from_stdin_stand_between_the_file_and_the_arguments() {
    let port = |args: &[&str]| {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let config = Config::from_args_and(&args, &mut "port 7001\ntimeout 9\n".as_bytes());
        let config = config.expect("sound");
        (shown(&config, "port"), shown(&config, "timeout"))
    };
    let both = |port: &str, timeout: &str| (port.to_owned(), timeout.to_owned());
    assert_eq!(port(&["-"]), both("7001", "9"));
    assert_eq!(port(&["-", "--port", "7002"]), both("7002", "9"));
    assert_eq!(port(&["--port", "7002", "-"]), both("7002", "9"));
    assert_eq!(port(&["--port", "7002"]), both("7002", "0"));
    let bad = Config::from_args_and(&["-".to_owned()], &mut "port 7001\nprot 1".as_bytes());
    assert_eq!(
        bad.expect_err("refused").to_string(),
        "stdin:2: unknown directive 'prot', did you mean 'port'?"
    );
}

#[test]
fn a_log_file_is_below_the_directory() {
    let file = |args: &[&str]| from_args(args).expect("sound").log_file();
    assert_eq!(file(&["--logfile", ""]), None);
    assert_eq!(
        file(&["--logfile", "a.log", "--dir", "/d"]),
        Some("/d/a.log".into())
    );
    assert_eq!(file(&["--logfile", "/b/a.log"]), Some("/b/a.log".into()));
}

#[test]
fn the_command_line_of_redis_server() {
    let config = from_args(&["--port", "7000", "--save", "", "--dir", "/tmp/x"]).expect("sound");
    assert_eq!(shown(&config, "port"), "7000");
    assert_eq!(shown(&config, "save"), "");
    assert_eq!(shown(&config, "dir"), "/tmp/x");
    let config = from_args(&["--save", "60", "1", "--appendonly", "yes"]).expect("sound");
    assert_eq!(shown(&config, "save"), "60 1");
    assert_eq!(
        from_args(&["--prot", "1"]).expect_err("refused"),
        "--prot: unknown directive 'prot', did you mean 'port'?"
    );
    let missing = from_args(&["/does/not/exist.conf"]).expect_err("refused");
    assert!(
        missing.starts_with("/does/not/exist.conf: the configuration cannot be read: "),
        "{missing}"
    );
}

#[test]
fn a_file_is_rewritten_with_its_comments_and_its_order() {
    let check = |old: &str, changes: &str, new: &str| {
        let mut config = read(old).expect("sound");
        config.read(changes, Path::new("changes")).expect("sound");
        assert_eq!(config.rewrite(old), new, "{old:?} and {changes:?}");
        // The rewritten text yields the same settings, and rewriting it changes nothing.
        let again = read(new).expect("sound");
        let all: Vec<_> = again.all().collect();
        assert_eq!(all, config.all().collect::<Vec<_>>());
        assert_eq!(again.rewrite(new), new);
    };
    check("", "", "");
    // Redis does not take text after a value for a comment, so this file is refused.
    let old = "# mine\n\nmaxmemory 2gb\n  timeout 0\nslowlog-max-len 128 # no comment to Redis\n";
    assert!(read(old).is_err());
    // Lines that set a directive to its current value are kept unchanged.
    let old =
        "# mine\n\nmaxmemory 2gb\n  timeout 0\ninclude /does/not/exist*\nbind 127.0.0.1 -::1\n";
    check(old, "", old);
    check(
        "# mine\nmaxmemory 2gb\n# its port\nport 7000\n",
        "port 7001\nhz 20\nrequirepass \"a b\\x00\"\n",
        "# mine\nmaxmemory 2gb\n# its port\nport 7001\n\
         # Generated by CONFIG REWRITE\nrequirepass \"a b\\x00\"\nhz 20\n",
    );
    // If a directive in the file is set back to its default, the default is written. A directive
    // that occurs twice in the file is written once.
    check(
        "maxmemory 1\ntimeout 9\nmaxmemory 2\n",
        "timeout 0\n",
        "maxmemory 2\ntimeout 0\n",
    );
    // An alias in the file is kept as long as the value does not change.
    let old = "hash-max-ziplist-entries 7\n# Generated by CONFIG REWRITE\nlua-time-limit 6\n";
    check(
        old,
        "busy-reply-threshold 8\nhz 11\n",
        "hash-max-ziplist-entries 7\n# Generated by CONFIG REWRITE\nbusy-reply-threshold 8\nhz 11\n",
    );
    // Some directives may occur on several lines.
    let old = "save 3600 1\n# twice\nsave 60 10000\n";
    check(old, "", old);
    check(old, "save \"\"\n", "save \"\"\n# twice\n");
    check(
        "# none\n",
        "save \"\"\n",
        "# none\n# Generated by CONFIG REWRITE\nsave \"\"\n",
    );
    let old = "client-output-buffer-limit pubsub 1mb 0 0\n";
    check(old, "", old);
    check(
        old,
        "client-output-buffer-limit normal 7 0 0\n",
        "client-output-buffer-limit normal 7 0 0\n# Generated by CONFIG REWRITE\n\
         client-output-buffer-limit slave 268435456 67108864 60\nclient-output-buffer-limit pubsub 1048576 0 0\n",
    );
    check(
        "port 1\n",
        "client-output-buffer-limit pubsub 7 0 0\nshutdown-on-sigterm nosave force\nbind 127.0.0.1\nlogfile \"\"\n",
        "port 1\n# Generated by CONFIG REWRITE\nbind 127.0.0.1\nclient-output-buffer-limit pubsub 7 0 0\n\
         shutdown-on-sigterm nosave force\n",
    );
}

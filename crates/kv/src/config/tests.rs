//! Files and command lines in, settings or an error out.

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
fn a_file_as_people_have_it() {
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
fn what_does_not_fit_is_named_with_its_line() {
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
fn a_configuration_that_contradicts_itself_is_refused() {
    assert_eq!(
        from_args(&["--port", "0"]).expect_err("nobody could connect"),
        "port 0 without unixsocket: Configured to not listen anywhere"
    );
    let config = from_args(&["--port", "0", "--unixsocket", "/tmp/s"]).expect("sound");
    assert_eq!(shown(&config, "port"), "0");
}

#[test]
fn lines_of_save_add_up() {
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
        missing.starts_with("/does/not/exist.conf: read it: "),
        "{missing}"
    );
}

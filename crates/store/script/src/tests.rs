//! Tests of scripts without a store: the caller's part is played by the test.

mod attacks;
mod functions;
mod libraries;

use expect_test::{Expect, expect};
use resp::{Proto, Reply};

use crate::{Engine, Job, Limits, Step, Target};

/// Runs a script whose calls all get their own arguments as the reply, and checks the script's
/// reply.
#[track_caller]
fn check(source: &str, expected: Expect) {
    expected.assert_eq(&run(source, &[]));
}

fn run(source: &str, args: &[&str]) -> String {
    let mut engine = Engine::new(Limits::default()).expect("memory for an interpreter");
    run_in(&mut engine, source, args)
}

fn run_in(engine: &mut Engine, source: &str, args: &[&str]) -> String {
    let sha = match engine.load(source.as_bytes()) {
        Ok(sha) => sha,
        Err(error) => return format!("-{error}"),
    };
    let args = args.iter().map(|arg| arg.to_string().into()).collect();
    let job = Job {
        target: Target::Script(sha),
        keys: Vec::new(),
        args,
    };
    let mut step = engine.start(job);
    loop {
        step = match step {
            Step::Done(reply) => return show(&reply),
            Step::Call(call) => engine.answer(answer(&call.args, call.proto)),
            Step::Pause | Step::Log { .. } => engine.go_on(),
            Step::Clock => engine.tell_time(1.5),
        };
    }
}

/// Returns the reply to a command: an error for FAIL, else all kinds of values by name, else the
/// arguments.
fn answer(args: &[bytes::Bytes], proto: Proto) -> Reply {
    match &args[0][..] {
        b"FAIL" => Reply::Error("WRONGTYPE wrong".into()),
        b"STATUS" => Reply::Simple("OK".into()),
        b"NULL" => Reply::Null,
        b"INT" => Reply::Int(7),
        b"MAP" if proto == Proto::Resp3 => {
            Reply::Map(vec![(Reply::Bulk("k".into()), Reply::Int(1))])
        }
        b"SET" if proto == Proto::Resp3 => Reply::Set(vec![Reply::Bulk("m".into())]),
        b"DOUBLE" if proto == Proto::Resp3 => Reply::Double("1.5".into()),
        b"BOOL" if proto == Proto::Resp3 => Reply::Bool(true),
        _ => Reply::Array(args.iter().cloned().map(Reply::Bulk).collect()),
    }
}

fn show(reply: &Reply) -> String {
    let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    let list = |elements: &[Reply]| {
        let shown: Vec<String> = elements.iter().map(show).collect();
        shown.join(" ")
    };
    match reply {
        Reply::Simple(status) => format!("+{}", text(status)),
        Reply::Error(error) => format!("-{}", text(error)),
        Reply::Int(number) => format!("{number}"),
        Reply::Bulk(value) => format!("{:?}", text(value)),
        Reply::Null => "nil".to_owned(),
        Reply::Array(elements) => format!("[{}]", list(elements)),
        Reply::Set(elements) => format!("~[{}]", list(elements)),
        Reply::Map(pairs) => {
            let pairs: Vec<String> = pairs
                .iter()
                .map(|(k, v)| format!("{}={}", show(k), show(v)))
                .collect();
            format!("%[{}]", pairs.join(" "))
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn values_become_replies() {
    check(
        "return {1, 3.99, -2.5, 'text', true, false, {'nested', {}}, {ok = 'fine'}, {err = 'ERR bad'}, 'behind', nil, 9}",
        expect![[r#"[1 3 -2 "text" 1 nil ["nested" []] +fine -ERR bad "behind"]"#]],
    );
    check("return nil", expect![[r#"nil"#]]);
    check("return", expect![[r#"nil"#]]);
    check(
        "return {1.5e300, 0/0}",
        expect![[r#"[-9223372036854775808 -9223372036854775808]"#]],
    );
    check("return {double = 3.25}", expect![[r#"Double(b"3.25")"#]]);
    check(
        "return {big_number = '123456789012345678901'}",
        expect![[r#"BigNumber(b"123456789012345678901")"#]],
    );
    check(
        "return {verbatim_string = {format = 'txt', string = 'hi'}}",
        expect![[r#"Verbatim(b"txt:hi")"#]],
    );
    check("return {map = {a = 1}}", expect![[r#"%["a"=1]"#]]);
    check("return {set = {a = true}}", expect![[r#"~["a"]"#]]);
    check("redis.setresp(3); return true", expect![[r#"Bool(true)"#]]);
}

#[test]
fn replies_become_values() {
    check(
        "return {type(redis.call('NULL')), redis.call('STATUS').ok, redis.call('INT') + 1, redis.call('echo', 1, 2.5, 1e17)}",
        expect![[r#"["boolean" "OK" 8 ["echo" "1" "2.5" "1e+17"]]"#]],
    );
    check(
        "redis.setresp(3); return {redis.call('MAP').map.k, redis.call('SET').set.m, redis.call('DOUBLE').double, \
         redis.call('BOOL'), type(redis.call('NULL'))}",
        expect![[r#"[1 Bool(true) 1 Bool(true) "nil"]"#]],
    );
}

#[test]
fn errors_of_commands_are_tables() {
    check(
        "local e = redis.pcall('FAIL') return {e.err, e.ignore_error_stats_update, e.source}",
        expect![[r#"["WRONGTYPE wrong" 1]"#]],
    );
}

#[test]
fn errors_have_the_text_of_redis() {
    check(
        "return redis.call('FAIL')",
        expect![[
            r#"-WRONGTYPE wrong script: 033c14787bbd7c54bdb853383ad95cd3e658f999, on @user_script:1."#
        ]],
    );
    check(
        "return redis.pcall('FAIL')",
        expect![[r#"-WRONGTYPE wrong"#]],
    );
    check(
        "local ok, err = pcall(redis.call, 'FAIL'); return err.err",
        expect!["nil"],
    );
    check(
        "return redis.error_reply('MY text')",
        expect![[r#"-MY text"#]],
    );
    check(
        "return redis.error_reply('text')",
        expect![[r#"-ERR text"#]],
    );
    check("return redis.status_reply('fine')", expect![[r#"+fine"#]]);
    check(
        "error('own')",
        expect![[
            r#"-ERR user_script:1: own script: d6ad864a130877a77a3afc30c6222e9aa32c82e8, on @user_script:1."#
        ]],
    );
    check(
        "\n\nerror({err = 'MY own'})",
        expect![[
            r#"-MY own script: 9f0c568634df1f077530c1cf79afca220423c4d4, on @user_script:3."#
        ]],
    );
    check(
        "return undefined_name",
        expect![[
            r#"-ERR user_script:1: Script attempted to access nonexistent global variable 'undefined_name' script: 1ded03a7c12cea2cacfcf48adc173e038317c38f, on @user_script:1."#
        ]],
    );
    check(
        "x = 1",
        expect![[
            r#"-ERR user_script:1: Attempt to modify a readonly table script: 34bce5f775de97f557a34088509c8bfe1ea17e52, on @user_script:1."#
        ]],
    );
    check(
        "return redis.call()",
        expect![[
            r#"-ERR Please specify at least one argument for this redis lib call script: 0a907e1429221a4d85516cab7fd219a82a9439d8, on @user_script:1."#
        ]],
    );
    check(
        "return redis.call({})",
        expect![[
            r#"-ERR Lua redis lib command arguments must be strings or integers script: 80747816df1f4411f7c442b928fce6a814214839, on @user_script:1."#
        ]],
    );
    check(
        "local t = nil; return t.x",
        expect![[
            r#"-ERR user_script:1: attempt to index local 't' (a nil value) script: e62b17c4a64e9b74a6f9be57909ea9e2d0e66784, on @user_script:1."#
        ]],
    );
    check(
        "return 1 +",
        expect![[
            r#"-ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'"#
        ]],
    );
}

#[test]
fn arguments_are_in_argv() {
    let shown = run("return {#KEYS, #ARGV, ARGV[1], ARGV[2]}", &["a", "b"]);
    assert_eq!(shown, r#"[0 2 "a" "b"]"#);
}

#[test]
fn a_script_leaves_nothing_to_the_next() {
    let mut engine = Engine::new(Limits::default()).expect("memory for an interpreter");
    let mut run = |source| run_in(&mut engine, source, &[]);
    assert_eq!(
        run("redis.setresp(3); cjson.encode_number_precision(3); return true"),
        "Bool(true)"
    );
    assert_eq!(run("return true"), "1");
    assert_eq!(run("return cjson.encode(0.123456789)"), r#""0.123456789""#);
}

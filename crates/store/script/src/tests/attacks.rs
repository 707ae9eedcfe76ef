//! Scripts that try to leave the sandbox, or to use more time or memory than they may.

use expect_test::expect;

use super::{answer, check, run, show};
use crate::{Engine, Job, Limits, Step, Target};

/// Runs a script, and ends it at its pause number `pauses`. Returns its reply.
fn killed_after(source: &str, pauses: usize) -> String {
    let mut engine = Engine::new(Limits::default()).expect("memory for an interpreter");
    let sha = engine.load(source.as_bytes()).expect("the script is valid");
    let job = Job {
        target: Target::Script(sha),
        keys: Vec::new(),
        args: Vec::new(),
    };
    let mut step = engine.start(job);
    let mut seen = 0;
    loop {
        step = match step {
            Step::Done(reply) => break assert_usable(&mut engine, &show(&reply)),
            Step::Pause => {
                seen += 1;
                assert!(seen <= pauses, "a killed script pauses no more");
                if seen == pauses {
                    engine.kill()
                } else {
                    engine.go_on()
                }
            }
            Step::Call(call) => engine.answer(answer(&call.args, call.proto)),
            Step::Log { .. } => engine.go_on(),
            Step::Clock => engine.tell_time(0.0),
        };
    }
}

/// Checks that the engine still runs scripts, and returns `reply` without the name of the script.
fn assert_usable(engine: &mut Engine, reply: &str) -> String {
    assert_eq!(super::run_in(engine, "return 1 + 1", &[]), "2");
    let end = reply.find(" script: ").unwrap_or(reply.len());
    reply[..end].to_owned()
}

const KILLED: &str = "-ERR Script killed by user with SCRIPT KILL.";

#[test]
fn endless_work_can_be_ended() {
    for source in [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "while true do xpcall(function() while true do end end, function() while true do end end) end",
        "while true do pcall(pcall, pcall, function() while true do end end) end",
        "while true do coroutine.wrap(function() while true do end end)() end",
        "while true do coroutine.resume(coroutine.create(function() while true do pcall(function() while true do end end) end end)) end",
        "local function f() return f() end return f()",
        "while true do load(function() while true do end end) end",
        "return setmetatable({}, {__index = function() while true do end end}).x",
        "string.gsub(('x'):rep(1000), '.', function() while true do end end)",
        "table.sort({3, 2, 1}, function() while true do end end)",
        "while true do redis.call('INT') end",
    ] {
        assert_eq!(killed_after(source, 20), KILLED, "{source}");
    }
}

#[test]
fn patterns_that_backtrack_without_end_can_be_ended() {
    for source in [
        "return ('a'):rep(3000):find(('.-'):rep(12) .. 'b')",
        "return string.match(('a'):rep(60), ('a?'):rep(60) .. ('a'):rep(80))",
        "return string.gsub(('a'):rep(3000), ('a*'):rep(12) .. 'b', '')",
        "for x in string.gmatch(('a'):rep(3000), ('a*'):rep(12) .. 'b') do end",
        "return string.gsub(('a'):rep(3000), ('a*'):rep(12) .. 'b', {})",
    ] {
        assert_eq!(killed_after(source, 20), KILLED, "{source}");
    }
}

#[test]
fn memory_is_limited() {
    for source in [
        "return ('x'):rep(1e10)",
        "return string.rep('', 1e15)",
        "local s = 'x' while true do s = s .. s end",
        "local t = {} while true do t[#t + 1] = {} end",
        "local t = {} for i = 1, 40 do t[i] = ('x'):rep(1e7) end return table.concat(t)",
        "return string.gsub(('x'):rep(1e6), '.', ('y'):rep(1e6))",
        "local t = {} t[1] = t t[2] = t return t",
        "local s = ('x'):rep(1e8) return cjson.encode({s, s, s})",
        "local s = ('x'):rep(1e8) return cmsgpack.pack(s, s, s)",
    ] {
        let shown = run(source, &[]);
        let end = shown.find(" script: ").unwrap_or(shown.len());
        let is_limited = shown[..end].contains("not enough memory") || shown == "\"\"";
        assert!(is_limited, "{source}: {}", &shown[..end.min(200)]);
    }
}

#[test]
fn recursion_is_limited() {
    for (source, error) in [
        (
            "local function f() return 1 + f() end return f()",
            "stack overflow",
        ),
        (
            "local function f() return pcall(f) end local ok, e = pcall(f) return 'ended'",
            "ended",
        ),
        (
            "local t = {} for i = 1, 5000 do t = {t} end return cjson.encode(t)",
            "excessive nesting",
        ),
        ("return cjson.decode(('['):rep(5000))", "too many nested"),
        (
            "return cmsgpack.unpack(('\\145'):rep(5000))",
            "too many nested",
        ),
        (
            "return loadstring('return ' .. ('('):rep(500) .. '1' .. (')'):rep(500))",
            "nil",
        ),
        (
            "local f = function() return 1 end for i = 1, 500 do local g = f f = coroutine.wrap(function() return g() end) end return f()",
            "C stack overflow",
        ),
        (
            "return string.find(('x'):rep(5000), ('x?'):rep(5000))",
            "pattern too complex",
        ),
        ("return {unpack({}, 1, 1e8)}", "too many results"),
        ("return table.insert({}, -1e9, 1)", "out of bounds"),
    ] {
        let shown = run(source, &[]);
        assert!(
            shown.contains(error),
            "{source}: {}",
            &shown[..shown.len().min(300)]
        );
    }
}

#[test]
fn nothing_outside_the_sandbox_is_reachable() {
    check(
        "local found = {} \
         for _, name in ipairs({'io', 'os', 'debug', 'package', 'require', 'module', 'dofile', 'loadfile', 'print', \
                                'newproxy', 'getfenv', 'setfenv', 'load', 'loadstring'}) do \
           found[#found + 1] = name .. '=' .. type(rawget(_G, name)) end \
         return table.concat(found, ' ')",
        expect![[
            r#""io=nil os=table debug=nil package=nil require=nil module=nil dofile=nil loadfile=nil print=nil newproxy=nil getfenv=nil setfenv=nil load=function loadstring=function""#
        ]],
    );
    check(
        "local names = {} for name in pairs(os) do names[#names + 1] = name end return names",
        expect![[r#"["clock"]"#]],
    );
    check("return type(string.dump)", expect![[r#""nil""#]]);
    check("return {loadstring('\\27Lua')}", expect![[r#"[]"#]]);
    check("return tostring(getmetatable(''))", expect![[r#""false""#]]);
    check(
        "return {type(getmetatable(_G)), getmetatable(getmetatable(redis)) == getmetatable(_G)}",
        expect![[r#"["table" 1]"#]],
    );
    check(
        "getmetatable(_G).__index = {}",
        expect![
            "-ERR user_script:1: Attempt to modify a readonly table script: 7864baac9e299de907b49c372c6792687dc727c5, on @user_script:1."
        ],
    );
}

#[test]
fn shared_tables_are_read_only() {
    for source in [
        "_G.x = 1",
        "string.format = 1",
        "redis.call = 1",
        "rawset(_G, 'x', 1)",
        "rawset(redis, 'x', 1)",
        "setmetatable(_G, {})",
        "table.insert(cjson, 1)",
        "loadstring('x = 1')()",
    ] {
        let shown = run(source, &[]);
        assert!(
            shown.contains("Attempt to modify a readonly table"),
            "{source}: {shown}"
        );
    }
}

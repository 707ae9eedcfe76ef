//! Libraries of functions.

use expect_test::expect;

use super::{answer, show};
use crate::{Engine, Function, Job, LibraryHead, Limits, Step, Target};

fn engine() -> Engine {
    Engine::new(Limits::default()).expect("memory for an interpreter")
}

fn finish(engine: &mut Engine, mut step: Step) -> String {
    loop {
        step = match step {
            Step::Done(reply) => return show(&reply),
            Step::Call(call) => engine.answer(answer(&call.args, call.proto)),
            Step::Pause | Step::Log { .. } => engine.go_on(),
            Step::Clock => engine.tell_time(1.5),
        };
    }
}

/// Loads a library without its first line. Returns the reply and the functions.
fn load(engine: &mut Engine, code: &str) -> (String, Vec<Function>) {
    let step = engine.start_load(format!("\n{code}").into());
    let reply = finish(engine, step);
    (reply, engine.take_registered())
}

fn call(engine: &mut Engine, function: &Function) -> String {
    let step = engine.start(Job {
        target: Target::Function {
            id: function.id,
            name: function.name.clone(),
        },
        keys: vec!["k".into()],
        args: vec!["a".into(), "b".into()],
    });
    finish(engine, step)
}

/// Loads a library, and returns the replies of its load and of its functions.
fn run(code: &str) -> String {
    let mut engine = engine();
    let (mut text, functions) = load(&mut engine, code);
    for function in &functions {
        text += &format!("\n{}: {}", function.name, call(&mut engine, function));
    }
    text
}

#[test]
fn functions_share_the_locals_of_their_library() {
    let shown = run("local count = 0
        local function next() count = count + 1 return count end
        redis.register_function('first', function(keys, args) return {next(), keys, args} end)
        redis.register_function('second', function() return {next(), redis.call('INT'), math.floor(1.5)} end)");
    expect![[r#"
        +OK
        first: [1 ["k"] ["a" "b"]]
        second: [2 7 1]"#]]
    .assert_eq(&shown);
}

#[test]
fn errors_of_functions_have_the_name_and_the_line() {
    let shown = run(
        "redis.register_function('fails', function() return redis.call('FAIL') end)
        redis.register_function('returns', function() return redis.pcall('FAIL') end)
        redis.register_function('keys', function() return KEYS end)
        redis.register_function('assigns', function() x = 1 end)
        redis.register_function('registers', function() return redis.register_function end)",
    );
    expect![[r#"
        +OK
        fails: -WRONGTYPE wrong script: fails, on @user_function:2.
        returns: -WRONGTYPE wrong
        keys: -ERR user_function:4: Script attempted to access nonexistent global variable 'KEYS' script: keys, on @user_function:4.
        assigns: -ERR user_function:5: Attempt to modify a readonly table script: assigns, on @user_function:5.
        registers: nil"#]]
    .assert_eq(&shown);
}

#[test]
fn a_library_sees_little_while_it_is_loaded() {
    let mut shown = String::new();
    for code in [
        "return math.random()",
        "return redis.call('ping')",
        "return redis.setresp(3)",
        "return _G",
        "x = 1",
        "redis.x = 1",
        "return +",
    ] {
        shown += &run(code);
        shown.push('\n');
    }
    expect![[r#"
        -ERR Error registering functions: ERR user_function:2: Script attempted to access nonexistent global variable 'math'
        -ERR Error registering functions: ERR user_function:2: Script attempted to access nonexistent global variable 'call'
        -ERR Error registering functions: ERR user_function:2: Script attempted to access nonexistent global variable 'setresp'
        -ERR Error registering functions: ERR user_function:2: Script attempted to access nonexistent global variable '_G'
        -ERR Error registering functions: ERR user_function:2: Attempt to modify a readonly table
        -ERR Error registering functions: ERR user_function:2: Attempt to modify a readonly table
        -ERR Error compiling function: user_function:2: unexpected symbol near '+'
    "#]]
    .assert_eq(&shown);
}

#[test]
fn no_function_can_register_or_change_others_later() {
    let shown = run("local lib = redis
        lib.register_function('writes', function() lib.x = 1 end)
        lib.register_function('registers', function() lib.register_function('z', function() end) end)");
    expect![[r#"
        +OK
        writes: -ERR user_function:3: Attempt to modify a readonly table script: writes, on @user_function:3.
        registers: -ERR redis.register_function can only be called on FUNCTION LOAD command script: registers, on @user_function:4."#]]
    .assert_eq(&shown);
}

#[test]
fn declarations_are_checked() {
    let mut shown = String::new();
    for call in [
        "()",
        "('a')",
        "(nil, function() end)",
        "('a', 'b')",
        "('a-b', function() end)",
        "{callback = function() end}",
        "{function_name = 'a'}",
        "{function_name = 'a', callback = 1}",
        "{function_name = 'a', callback = function() end, other = 1}",
        "{function_name = 'a', callback = function() end, flags = 1}",
        "{function_name = 'a', callback = function() end, flags = {'none'}}",
    ] {
        let text = run(&format!("redis.register_function{call}"));
        shown += text.trim_start_matches("-ERR Error registering functions: ERR ");
        shown.push('\n');
    }
    let twice =
        "redis.register_function('a', function() end) redis.register_function('a', function() end)";
    shown += &load(&mut engine(), twice).0;
    expect![[r#"
        wrong number of arguments to redis.register_function
        calling redis.register_function with a single argument is only applicable to Lua table (representing named arguments).
        first argument to redis.register_function must be a string
        second argument to redis.register_function must be a function
        Library names can only contain letters, numbers, or underscores(_) and must be at least one character long
        redis.register_function must get a function name argument
        redis.register_function must get a callback argument
        callback argument given to redis.register_function must be a function
        unknown argument given to redis.register_function
        flags argument to redis.register_function must be a table representing function flags
        unknown flag given
        -ERR Error registering functions: ERR Function already exists in the library"#]]
    .assert_eq(&shown);
}

#[test]
fn functions_have_a_description_and_flags() {
    let (reply, functions) = load(
        &mut engine(),
        "redis.register_function{function_name = 'f', callback = function() end, description = 'text',
            flags = {'allow-stale', 'no-writes'}}",
    );
    let function = &functions[0];
    let names: Vec<&str> = function.flags.names().collect();
    let shown = format!(
        "{reply} {} {:?} {names:?}",
        function.name, function.description
    );
    expect![[r#"+OK f Some(b"text") ["no-writes", "allow-stale"]"#]].assert_eq(&shown);
}

#[test]
fn the_environment_is_whole_after_a_load_that_is_killed() {
    let mut engine = engine();
    let mut step = engine.start_load("\nwhile true do end".into());
    for _ in 0..3 {
        assert!(matches!(step, Step::Pause), "{step:?}");
        step = engine.go_on();
    }
    let killed = engine.kill();
    assert!(matches!(killed, Step::Done(_)), "{killed:?}");
    assert_eq!(engine.take_registered(), []);
    let sha = engine
        .load(b"return math.floor(2.5)")
        .expect("a valid script");
    let step = engine.start(Job {
        target: Target::Script(sha),
        keys: Vec::new(),
        args: Vec::new(),
    });
    assert_eq!(finish(&mut engine, step), "2");
}

#[test]
fn the_first_line_names_the_library() {
    let mut shown = String::new();
    for line in [
        "#!lua name=lib\n",
        "#!LUA  NAME='lib'\n",
        "#!lua name=lib",
        "return 1\n",
        "#!lua\n",
        "#!lua name=\n",
        "#!lua name=a-b\n",
        "#!lua name=a name=b\n",
        "#!lua name=a other\n",
        "#!js name=a\n",
    ] {
        let parsed = LibraryHead::parse(line.as_bytes());
        shown += &match parsed {
            Ok(head) => format!("{} {}\n", head.name, head.bytes),
            Err(error) => format!("{error}\n"),
        };
    }
    expect![[r#"
        lib 14
        lib 17
        ERR Invalid library metadata
        ERR Missing library metadata
        ERR Library name was not given
        ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one character long
        ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one character long
        ERR Invalid metadata value, name argument was given multiple times
        ERR Invalid metadata value given: other
        ERR Engine 'js' not found
    "#]]
    .assert_eq(&shown);
}

//! Libraries of functions.

use expect_test::expect;
use resp::Reply;

use super::{answer, show};
use crate::{Engine, Function, Job, LibraryHead, Limits, Step, Target};

fn engine() -> Engine {
    Engine::new(Limits::default()).expect("memory for an interpreter")
}

fn engine_with(change: impl FnOnce(&mut Limits)) -> Engine {
    let mut limits = Limits::default();
    change(&mut limits);
    Engine::new(limits).expect("memory for an interpreter")
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

#[test]
fn registered_names_descriptions_and_functions_are_limited() {
    let mut engine = engine_with(|limits| {
        limits.library_functions_max = 3;
        limits.name_bytes_max = 16;
        limits.description_bytes_max = 16;
    });
    let mut shown = String::new();
    for code in [
        "for i = 1, 4 do redis.register_function('f' .. i, function() end) end",
        "for i = 1, 3 do redis.register_function('f' .. i, function() end) end",
        "redis.register_function('aaaaaaaaaaaaaaaaa', function() end)",
        "redis.register_function('aaaaaaaaaaaaaaaa', function() end)",
        "redis.register_function{function_name = 'f', callback = function() end, description = 'aaaaaaaaaaaaaaaaa'}",
        "redis.register_function{function_name = 'f', callback = function() end, description = 'aaaaaaaaaaaaaaaa'}",
        "redis.register_function{aaaaaaaaaaaaaaaaa = 1}",
        "redis.register_function{function_name = 'f', callback = function() end, flags = {
            'no-writes', 'no-writes', 'no-writes', 'no-writes', 'no-writes', 'no-writes', 'no-writes', 'no-writes',
            'no-writes', 'no-writes', 'no-writes', 'no-writes', 'no-writes', 'no-writes', 'no-writes', 'no-writes',
            'no-writes'}}",
    ] {
        let (reply, functions) = load(&mut engine, code);
        shown += &format!("{reply} {}\n", functions.len());
    }
    expect![[r#"
        -ERR Error registering functions: ERR a library cannot register more than 3 functions 3
        +OK 3
        -ERR Error registering functions: ERR the name of a function is longer than 16 bytes 0
        +OK 1
        -ERR Error registering functions: ERR the description of a function is longer than 16 bytes 0
        +OK 1
        -ERR Error registering functions: ERR unknown argument given to redis.register_function 0
        -ERR Error registering functions: ERR a function cannot declare more than 16 flags 0
    "#]].assert_eq(&shown);
}

#[test]
fn registrations_count_as_work() {
    let pauses = |code: &str| {
        let mut engine = engine_with(|limits| {
            limits.instructions_per_step = 1 << 30;
            limits.native_steps_per_step = 1000;
        });
        let mut step = engine.start_load(format!("\n{code}").into());
        let mut pauses = 0;
        while matches!(step, Step::Pause) {
            pauses += 1;
            step = engine.go_on();
        }
        assert!(matches!(step, Step::Done(Reply::Simple(_))), "{step:?}");
        pauses
    };
    let many = "for i = 1, 100 do redis.register_function('f' .. i, function() end) end";
    assert_eq!(pauses(many), 10);
    let flags = "for i = 1, 100 do redis.register_function{function_name = 'f' .. i, callback = function() end,
        flags = {'no-writes', 'no-writes', 'no-writes', 'no-writes', 'no-writes', 'no-writes', 'no-writes'}} end";
    assert_eq!(pauses(flags), 20);
}

#[test]
fn a_load_that_is_killed_names_the_command_for_functions() {
    let mut engine = engine_with(|limits| limits.instructions_per_step = 1000);
    let step = engine.start_load("\nwhile true do end".into());
    assert!(matches!(step, Step::Pause), "{step:?}");
    let Step::Done(reply) = engine.kill() else {
        panic!("the load has ended");
    };
    let shown = show(&reply);
    assert!(shown.contains("FUNCTION KILL"), "{shown}");
}

#[test]
fn large_tables_of_a_library_are_not_collected_after_each_call() {
    const LIMIT: usize = 16 << 20;
    let mut engine = engine_with(|limits| limits.memory_bytes_max = LIMIT);
    let (reply, functions) = load(
        &mut engine,
        "local kept = {}
        redis.register_function('keep', function() for i = 1, 200000 do kept[i] = i end end)
        local count = 0
        redis.register_function('waste', function()
            count = count + 1
            local text = string.rep('a', 1000) .. count
            return 1
        end)",
    );
    assert_eq!(reply, "+OK");
    call(&mut engine, &functions[0]);
    call(&mut engine, &functions[1]);
    let (mut before, mut collections) = (engine.used_bytes(), 0);
    assert!(LIMIT / 4 < before && before < LIMIT, "{before}");
    for _ in 0..400 {
        assert_eq!(call(&mut engine, &functions[1]), "1");
        let used = engine.used_bytes();
        collections += usize::from(used <= before);
        before = used;
    }
    assert!(collections < 100, "{collections}");
}

#[test]
fn a_line_of_the_log_is_limited() {
    let mut engine = engine();
    let code = "redis.log(redis.LOG_NOTICE, string.rep('a', 1000), string.rep('b', 1000), 'c')";
    let sha = engine.load(code.as_bytes()).expect("a valid script");
    let step = engine.start(Job {
        target: Target::Script(sha),
        keys: Vec::new(),
        args: Vec::new(),
    });
    let Step::Log { text, .. } = &step else {
        panic!("the script writes to the log: {step:?}");
    };
    assert_eq!(text.len(), 1024);
    assert!(text.ends_with(&format!("a {}", "b".repeat(23))), "{text}");
    let step = engine.go_on();
    assert_eq!(finish(&mut engine, step), "nil");
}

//! Fuzz target for the store's Lua scripts.

use ::resp::{Proto, Reply};
use ::script::{Call, Engine, Job, LibraryHead, Limits, Step, Target};

/// Number of steps after which a script is killed.
const STEPS_MAX: u32 = 50;
/// Script that fails if an earlier script has changed the environment.
const PROBE: &[u8] =
    b"KEYS[1] = #ARGV; return {KEYS[1], ('x'):rep(3), cjson.encode({1}), string.format('%d', 7)}";

/// Checks `bytes` as a script: either it is refused, or it runs within its limits, ends when it is
/// killed, and leaves the next script a clean environment. The script's arguments and the replies
/// to its commands contain `bytes` too.
pub fn script(bytes: &[u8]) {
    let limits = Limits {
        memory_bytes_max: 4 << 20,
        ..Limits::default()
    };
    let mut engine = Engine::new(limits).expect("the limit leaves memory for the environment");
    if let Ok(sha) = engine.load(bytes) {
        let argument = bytes::Bytes::copy_from_slice(bytes);
        let step = engine.start(Job {
            target: Target::Script(sha),
            keys: vec![argument.clone()],
            args: vec![argument.clone()],
        });
        finish(&mut engine, step, &argument);
        assert!(!engine.is_running(), "the script has ended");
    }
    library(&mut engine, bytes);
    assert!(
        engine.used_bytes() <= limits.memory_bytes_max,
        "memory is limited"
    );
    let sha = engine.load(PROBE).expect("a valid script is loaded");
    let step = engine.start(Job {
        target: Target::Script(sha),
        keys: Vec::new(),
        args: Vec::new(),
    });
    let Step::Done(Reply::Array(values)) = step else {
        panic!("a script has changed the environment: {step:?}");
    };
    let texts = ["xxx", "[1]", "7"].map(|text| Reply::Bulk(text.into()));
    assert_eq!(values[0], Reply::Int(0));
    assert_eq!(values[1..], texts);
}

/// Loads `bytes` as a library of functions, and calls and removes each function.
fn library(engine: &mut Engine, bytes: &[u8]) {
    let Ok(head) = LibraryHead::parse(bytes) else {
        return;
    };
    let code = bytes::Bytes::copy_from_slice(&bytes[head.bytes..]);
    let step = engine.start_load(code.clone());
    finish(engine, step, &code);
    for function in engine.take_registered() {
        let step = engine.start(Job {
            target: Target::Function {
                id: function.id,
                name: function.name,
            },
            keys: vec![code.clone()],
            args: vec![code.clone()],
        });
        finish(engine, step, &code);
        let dropped = engine.drop_function(function.id);
        dropped.expect("removing a function needs no memory");
    }
}

/// Runs a started script to its end. The script is killed if it takes too many steps.
fn finish(engine: &mut Engine, mut step: Step, argument: &bytes::Bytes) {
    for taken in 0.. {
        step = match step {
            Step::Done(_) => return,
            Step::Clock => engine.tell_time(1.5),
            Step::Call(_) | Step::Pause | Step::Log { .. } if STEPS_MAX <= taken => {
                let last = engine.kill();
                return assert!(matches!(last, Step::Done(_)), "killed, but: {last:?}");
            }
            Step::Call(call) => engine.answer(reply(&call, argument)),
            Step::Pause | Step::Log { .. } => engine.go_on(),
        };
    }
}

/// Returns a reply to a command, of a type that depends on the command's length.
fn reply(call: &Call, argument: &bytes::Bytes) -> Reply {
    let text = Reply::Bulk(argument.clone());
    match (call.args.len() % 5, call.proto) {
        (0, _) => Reply::Error(argument.clone()),
        (1, _) => Reply::Null,
        (2, Proto::Resp3) => Reply::Map(vec![(text.clone(), Reply::Set(vec![text]))]),
        (3, Proto::Resp3) => Reply::Double("1.5".into()),
        (4, Proto::Resp3) => Reply::Verbatim(argument.clone()),
        _ => Reply::Array(vec![text, Reply::Int(i64::MAX)]),
    }
}

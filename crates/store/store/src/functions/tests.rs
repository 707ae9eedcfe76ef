//! Tests of limits that a client would need much data or time to reach.

use super::*;

/// Returns a library that registers these functions.
fn library(name: &str, functions: &[&str]) -> Bytes {
    let mut source = format!("#!lua name={name}\n");
    for function in functions {
        source += &format!("redis.register_function('{function}', function() return 1 end) ");
    }
    source.into()
}

fn functions_with(change: impl FnOnce(&mut Limits)) -> Functions {
    let mut limits = Limits::default();
    change(&mut limits);
    Functions::new(limits)
}

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn a_restore_has_one_deadline() {
    let mut functions = functions_with(|_| ());
    let sources = [library("one", &["f"]), library("two", &["g"])];
    let late = functions.restore(&sources, Policy::Append, Duration::ZERO);
    assert_eq!(late, Err(TIMEOUT.to_owned()));
    assert_eq!(functions.count(), 0);
    let restored = functions.restore(&sources, Policy::Append, MINUTE);
    assert_eq!(restored, Ok(()));
    assert_eq!(functions.count(), 2);
}

#[test]
fn lines_of_the_log_do_not_extend_the_deadline() {
    let mut engine = Engine::new(Limits::default()).expect("memory for an interpreter");
    let code = "\nredis.log(redis.LOG_DEBUG, 'line') redis.register_function('f', function() end)";
    let step = engine.start_load(code.into());
    let loaded = finish_load(&mut engine, step, Instant::now());
    assert_eq!(loaded, Err(TIMEOUT.to_owned()));
}

#[test]
fn code_is_measured_before_it_runs() {
    let mut functions = functions_with(|limits| limits.loaded_bytes_max = 1000);
    let code = "#".repeat(600);
    let broken: Bytes = format!("#!lua name=a\nreturn + --{code}").into();
    let other: Bytes = format!("#!lua name=b\nreturn + --{code}").into();
    let restored = functions.restore(&[broken, other.clone()], Policy::Append, MINUTE);
    assert_eq!(restored, Err(TOO_MUCH_CODE.to_owned()));
    assert!(functions.engine.is_none());

    let padded = [&library("c", &["f"])[..], b"--", code.as_bytes()].concat();
    let loaded = functions.load(&padded.into(), Policy::Append);
    assert_eq!(loaded, Ok("c".to_owned()));
    let loaded = functions.load(&other, Policy::Append);
    assert_eq!(loaded, Err(TOO_MUCH_CODE.to_owned()));
}

#[test]
fn functions_count_towards_the_limit_of_code() {
    let mut functions = functions_with(|limits| limits.loaded_bytes_max = 1 << 20);
    let source = |name: &str| -> Bytes {
        format!(
            "#!lua name={name}\nlocal text = 'a' for i = 1, 12 do text = text .. text end
            for i = 1, 200 do
                redis.register_function{{
                    function_name = '{name}' .. i, callback = function() end, description = text}}
            end"
        )
        .into()
    };
    let sources = [source("a"), source("b")];
    let restored = functions.restore(&sources, Policy::Append, MINUTE);
    assert_eq!(restored, Err(TOO_MUCH_CODE.to_owned()));
    assert_eq!(functions.count(), 0);
    let restored = functions.restore(&sources[..1], Policy::Append, MINUTE);
    assert_eq!(restored, Ok(()));
    let loaded = functions.load(&sources[1], Policy::Append);
    assert_eq!(loaded, Err(TOO_MUCH_CODE.to_owned()));
    assert_eq!(functions.count(), 200);
    let replaced = functions.load(&sources[0], Policy::Replace);
    assert_eq!(replaced, Ok("a".to_owned()));
}

#[test]
fn names_of_libraries_are_limited() {
    let mut functions = functions_with(|limits| limits.name_bytes_max = 8);
    let loaded = functions.load(&library("nine_long", &["f"]), Policy::Append);
    let text = "ERR the name of a library is longer than 8 bytes";
    assert_eq!(loaded, Err(text.to_owned()));
}

#[test]
fn names_of_other_libraries_are_taken() {
    let mut functions = functions_with(|_| ());
    let sources = [library("one", &["f", "g"]), library("two", &["h"])];
    let restored = functions.restore(&sources, Policy::Append, MINUTE);
    assert_eq!(restored, Ok(()));
    for (source, policy, refusal) in [
        (
            library("three", &["F"]),
            Policy::Append,
            "ERR Function F already exists",
        ),
        (
            library("one", &["x"]),
            Policy::Append,
            "ERR Library one already exists",
        ),
        (
            library("one", &["H"]),
            Policy::Replace,
            "ERR Function H already exists",
        ),
    ] {
        let restored = functions.restore(&[source], policy, MINUTE);
        assert_eq!(restored, Err(refusal.to_owned()));
        let is_there = |name: &str| functions.find(name.as_bytes()).is_some();
        assert!(is_there("f") && is_there("g") && is_there("h") && !is_there("x"));
    }
    let swapped = [library("one", &["h"]), library("two", &["g"])];
    let restored = functions.restore(&swapped, Policy::Replace, MINUTE);
    assert_eq!(restored, Ok(()));
    assert_eq!(functions.owners["h"], "one");
    assert_eq!(functions.owners["g"], "two");
    assert_eq!(functions.count(), 2);
    let restored = functions.restore(&[library("four", &["h"])], Policy::Flush, MINUTE);
    assert_eq!(restored, Ok(()));
    assert_eq!(functions.count(), 1);
}

#[test]
fn many_functions_are_restored_in_linear_time() {
    let sources: Vec<Bytes> = (0..80)
        .map(|library| {
            format!(
                "#!lua name=l{library}\nfor i = 1, 1024 do
                    redis.register_function('{library}_' .. i, function() end)
                end"
            )
            .into()
        })
        .collect();
    let mut functions = functions_with(|_| ());
    let started = Instant::now();
    let restored = functions.restore(&sources, Policy::Append, MINUTE);
    assert_eq!(restored, Ok(()));
    assert_eq!(functions.count(), 80 * 1024);
    let restored = functions.restore(&sources, Policy::Flush, MINUTE);
    assert_eq!(restored, Ok(()));
    let took = started.elapsed();
    // Comparing each name with all others takes more than 10 s.
    assert!(took < Duration::from_secs(8), "{took:?}");
}

#[test]
fn sources_in_a_payload_are_limited() {
    let mut keyspace = Keyspace::new(keyspace::Limits::default(), 7);
    let padding = "-".repeat(1000);
    let source = |name: &str| Bytes::from(format!("#!lua name={name}\n--{padding}"));
    let sources = vec![source("a"), source("b")];
    keyspace.set_functions(sources.clone());
    let payload = keyspace.dump_functions();
    for bytes_max in [0, 900, 1020, 2040] {
        let decoded = Keyspace::functions_of_payload(&payload, bytes_max);
        assert_eq!(decoded, Err(TOO_MUCH_CODE), "{bytes_max}");
    }
    let decoded = Keyspace::functions_of_payload(&payload, 2200);
    assert_eq!(decoded, Ok(sources.clone()));

    // The setting `proto-max-bulk-len` does not bound what was accepted before.
    let limits = keyspace::Limits {
        string_bytes_max: 100,
        ..keyspace::Limits::default()
    };
    let mut keyspace = Keyspace::new(limits, 7);
    let words = ["FUNCTION".into(), "RESTORE".into(), payload];
    assert_eq!(replay(&mut keyspace, &words), Ok(()));
    assert_eq!(keyspace.functions(), sources);
}

#[test]
fn libraries_that_cannot_be_loaded_are_kept() {
    let sources = [
        library("one", &["f"]),
        "#!lua name=bad\nreturn +".into(),
        "return 1".into(),
        library("two", &["f"]),
        library("one", &["g"]),
        library("three", &["h"]),
    ];
    let mut functions = Functions::of_sources(Limits::default(), &sources);
    let kept = |functions: &Functions| {
        let mut kept = functions.sources();
        kept.sort();
        kept
    };
    let sorted = |sources: &[Bytes]| {
        let mut sorted = sources.to_vec();
        sorted.sort();
        sorted
    };
    assert_eq!(kept(&functions), sorted(&sources));
    assert_eq!(functions.libraries().count(), 2);
    assert_eq!(functions.count(), 2);

    let bad = library("bad", &["x"]);
    let text = "ERR Library 'bad' already exists, but could not be loaded: replace it with FUNCTION LOAD \
                REPLACE, or remove it with FUNCTION DELETE";
    let loaded = functions.load(&bad, Policy::Append);
    assert_eq!(loaded, Err(text.to_owned()));
    let restored = functions.restore(std::slice::from_ref(&bad), Policy::Append, MINUTE);
    assert_eq!(restored, Err(text.to_owned()));
    assert_eq!(kept(&functions), sorted(&sources));
    let loaded = functions.load(&bad, Policy::Replace);
    assert_eq!(loaded, Ok("bad".to_owned()));

    assert!(functions.delete(b"two"));
    assert!(!functions.delete(b"two"));
    assert!(functions.delete(b"one"));
    let left = [sources[2].clone(), sources[5].clone(), bad];
    assert_eq!(kept(&functions), sorted(&left));
    functions.flush();
    assert_eq!(functions.sources(), [] as [Bytes; 0]);
}

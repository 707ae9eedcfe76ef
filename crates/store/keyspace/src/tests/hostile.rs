//! Runs every data command with arguments that its syntax allows, including extreme numbers. Each
//! command must get a reply of limited size.

use bytes::Bytes;
use resp::{Out, Proto};

use super::Client;
use crate::command::Handler;
use crate::keyspace::Keyspace;
use crate::settings::Limits;
use crate::table::{Argument, Kind, arguments};

/// Number of commands that the test runs: few enough for a short test.
const COMMANDS: usize = if cfg!(miri) { 600 } else { 40_000 };
/// Maximum length of a string. It is shorter under Miri, because many commands build or read the
/// longest string.
const STRING_BYTES_MAX: usize = if cfg!(miri) { 2 << 10 } else { 64 << 10 };
/// Length above which a reply may be cut off. It is shorter under Miri, which is slow: many
/// commands with extreme numbers get replies of this length.
const REPLY_BYTES_MAX: usize = if cfg!(miri) { 16 << 10 } else { 1 << 20 };
/// Bytes by which a reply may exceed that length.
const REPLY_EXCESS_BYTES_MAX: usize = 128 << 10;
/// A key for each type of value, and a key that does not exist.
const KEYS: &[&str] = &["s", "n", "l", "h", "z", "t", "i", "none"];
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "-2",
    "7",
    "300",
    "-300",
    "65535",
    "2147483647",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "4294967295",
    "4294967296",
    "-4294967296",
    "4611686018427387903",
    "-4611686018427387903",
    "9223372036854775807",
    "-9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "0.1",
    "1e308",
    "-1e308",
    "inf",
    "-inf",
    "nan",
    "-0",
    "",
];
const TEXTS: &[&str] = &[
    "",
    "a",
    "m1",
    "*",
    "[a",
    "(1",
    "+",
    "-",
    "[",
    "u64",
    "i64",
    "u8",
    "i1",
    "#4294967295",
    "#-1",
    "\\",
    "[^",
];

#[test]
fn every_command_survives_extreme_numbers() {
    let mut rng = fastrand::Rng::with_seed(6);
    let mut client = Client::new();
    client.keyspace = Keyspace::new(
        Limits {
            string_bytes_max: STRING_BYTES_MAX,
            maxmemory_bytes: 64 << 20,
            ..Limits::default()
        },
        1,
    );
    let is_data =
        |command: &&crate::Command| matches!(command.handler, Handler::Run(_) | Handler::Wait(_));
    // DEBUG is left out, because some of its arguments are sizes of data to create.
    let is_bounded = |command: &&crate::Command| !command.name.starts_with("debug");
    let commands: Vec<_> = crate::commands()
        .iter()
        .filter(is_data)
        .filter(is_bounded)
        .collect();
    for round in 0..COMMANDS {
        if round % 200 == 0 {
            fill(&mut client);
        }
        let command = rng.choice(&commands).expect("there are some");
        let mut args: Vec<Bytes> = command.name.split('|').map(Bytes::from).collect();
        for argument in arguments(command.syntax) {
            write(&argument, &mut rng, &mut args);
        }
        let mut out = Out::new(if rng.bool() {
            Proto::Resp2
        } else {
            Proto::Resp3
        });
        out.set_bytes_max(REPLY_BYTES_MAX);
        client.now_ms += 1;
        client.run(&args, &mut out);
        assert!(!out.is_empty(), "{args:?} is not answered");
        // Once a reply has reached the limit, further strings are dropped, but lengths and numbers
        // are still written. So a reply may exceed the limit by the string that reached it and by
        // these lengths and numbers.
        let bytes_max = REPLY_BYTES_MAX + REPLY_EXCESS_BYTES_MAX;
        assert!(
            out.len() < bytes_max,
            "{args:?} is answered with {} bytes",
            out.len()
        );
    }
}

fn fill(client: &mut Client) {
    client.send("FLUSHALL");
    client.send("SET s hello");
    client.send("SET n 12");
    for number in 0..150 {
        client.send(&format!("RPUSH l {number}"));
        client.send(&format!("HSET h {number} v{number}"));
        client.send(&format!("ZADD z {number}.5 m{number}"));
        client.send(&format!("SADD t x{number}"));
    }
    client.send("SADD i 1 2 3");
}

fn write(argument: &Argument, rng: &mut fastrand::Rng, args: &mut Vec<Bytes>) {
    if argument.is_optional && rng.bool() {
        return;
    }
    let times = if argument.is_multiple {
        rng.usize(1..4)
    } else {
        1
    };
    for time in 0..times {
        if let Some(token) = argument.token
            && (time == 0 || argument.repeats_token)
        {
            args.push(Bytes::from_static(token.as_bytes()));
        }
        let of = |rng: &mut fastrand::Rng, values: &[&'static str]| {
            Bytes::from_static(rng.choice(values).expect("there are some").as_bytes())
        };
        match argument.kind {
            Kind::Token => {}
            Kind::OneOf => {
                let part = rng.choice(&argument.parts).expect("one of several");
                write(part, rng, args);
            }
            Kind::Block => argument
                .parts
                .iter()
                .for_each(|part| write(part, rng, args)),
            Kind::Key if 0 < rng.u8(..20) => args.push(of(rng, KEYS)),
            Kind::Integer | Kind::Double | Kind::UnixTime => args.push(of(rng, NUMBERS)),
            Kind::Key | Kind::Text | Kind::Pattern => match rng.bool() {
                true => args.push(of(rng, TEXTS)),
                false => args.push(of(rng, NUMBERS)),
            },
        }
    }
}

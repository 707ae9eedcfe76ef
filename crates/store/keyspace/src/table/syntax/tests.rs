use super::*;
use crate::table;

/// The fewest words that these take, and the most where there is a most.
fn words_of(arguments: &[Argument]) -> (usize, Option<usize>) {
    let counts = arguments.iter().map(words_of_one);
    counts.fold((0, Some(0)), |(least, most), (fewest, highest)| {
        (
            least + fewest,
            most.zip(highest).map(|(most, highest)| most + highest),
        )
    })
}

fn words_of_one(argument: &Argument) -> (usize, Option<usize>) {
    let (mut least, mut most) = match argument.kind {
        Kind::OneOf => {
            let counts: Vec<_> = argument.parts.iter().map(words_of_one).collect();
            let least = counts
                .iter()
                .map(|count| count.0)
                .min()
                .expect("it has parts");
            let most: Option<Vec<usize>> = counts.iter().map(|count| count.1).collect();
            (least, most.and_then(|most| most.into_iter().max()))
        }
        Kind::Block => words_of(&argument.parts),
        _ => (1, Some(1)),
    };
    if argument.token.is_some() && argument.kind != Kind::Token {
        (least, most) = (least + 1, most.map(|most| most + 1));
    }
    if argument.is_optional {
        least = 0;
    }
    if argument.is_multiple {
        most = None;
    }
    (least, most)
}

/// What its row says of a command's words twice, it says alike.
#[test]
fn syntax_and_arity_agree() {
    // What these have behind their names belongs to what is not built, or to servers; the last two take anything.
    let untold = [
        "acl", "cluster", "debug", "failover", "function", "module", "psync", "replconf", "script",
        "command", "quit",
    ];
    let mut told = 0;
    let mut wrong = Vec::new();
    for command in table::commands() {
        let is_container =
            table::subcommands(command).next().is_some() && command.name != "command";
        if is_container || untold.contains(&command.name) {
            continue;
        }
        let own = command.name.split('|').count();
        let (least, most) = words_of(&arguments(command.syntax));
        let arity = match most == Some(least) {
            true => (own + least) as i32,
            false => -((own + least) as i32),
        };
        if arity != command.arity {
            wrong.push((command.name, command.arity, arity));
        }
        told += 1;
    }
    assert_eq!(wrong, []);
    assert!(200 < told, "{told}");
}

/// A command has arguments that are keys where it has keys, and only there.
#[test]
fn syntax_tells_of_keys() {
    fn has_key(argument: &Argument) -> bool {
        argument.kind == Kind::Key || argument.parts.iter().any(has_key)
    }
    for command in table::commands() {
        let told = arguments(command.syntax).iter().any(has_key);
        assert_eq!(told, command.has_keys(), "{}", command.name);
    }
}

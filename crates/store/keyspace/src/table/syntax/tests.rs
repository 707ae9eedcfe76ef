use super::*;
use crate::table;

/// Returns how many words a call with these arguments may have: the minimum, and the maximum or
/// `None` if there is no maximum. The command's name does not count.
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

/// The syntax text of a row agrees with its arity.
#[test]
fn syntax_and_arity_agree() {
    // Commands without a syntax text that could be compared with the arity.
    let without_syntax = [
        "acl", "cluster", "debug", "failover", "function", "module", "psync", "replconf", "script",
        "command", "quit",
    ];
    let mut described = 0;
    let mut wrong = Vec::new();
    for command in table::commands() {
        let is_container =
            table::subcommands(command).next().is_some() && command.name != "command";
        if is_container || without_syntax.contains(&command.name) {
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
        described += 1;
    }
    assert_eq!(wrong, []);
    assert!(200 < described, "{described}");
}

/// A command's syntax has key arguments exactly if the command has keys.
#[test]
fn syntax_agrees_with_keys() {
    fn has_key(argument: &Argument) -> bool {
        argument.kind == Kind::Key || argument.parts.iter().any(has_key)
    }
    for command in table::commands() {
        let described = arguments(command.syntax).iter().any(has_key);
        assert_eq!(described, command.has_keys(), "{}", command.name);
    }
}

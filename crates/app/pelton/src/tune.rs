//! `pelton tune`: the words of the command line as a task of `host_tune`.

use std::ffi::OsString;

use config::parse_time;
use host::Roots;
use host_tune::{Accepted, Choice, Format, Goal, OnConflict, Order, Task};
use report::Error;

use crate::flags::{self, TuneChoice, TuneCommand};

/// Runs a subcommand. The guard reads no configuration.
pub(crate) fn run(
    command: &TuneCommand,
    variables: Vec<(OsString, OsString)>,
) -> Result<u8, Vec<Error>> {
    let (settings, task, accepted) = match command {
        TuneCommand::Guard(typed) => {
            let ended = host_tune::guard(&Roots::default(), &typed.data, typed.session);
            return ended.map_err(|err| vec![err]);
        }
        TuneCommand::Plan(typed) => {
            let (choice, accepted) = choice(&typed.choice);
            let task = Task::Plan(choice, format(typed.json));
            (&typed.choice.settings, task, accepted)
        }
        TuneCommand::Apply(typed) => {
            let (choice, accepted) = choice(&typed.choice);
            let task = Task::Apply(choice, parse_time(&typed.timeout));
            (&typed.choice.settings, task, accepted)
        }
        TuneCommand::Status(typed) => (
            &typed.settings,
            Task::Status(format(typed.json)),
            Accepted::Any,
        ),
        TuneCommand::Confirm(typed) => (&typed.settings, Task::Confirm, Accepted::Any),
        TuneCommand::Revert(typed) => {
            let on_conflict = match typed.force {
                true => OnConflict::Overwrite,
                false => OnConflict::Stop,
            };
            (&typed.settings, Task::Revert(on_conflict), Accepted::Any)
        }
    };
    let order = Order {
        roots: Roots::default(),
        data: flags::resolve((**settings).clone(), variables)?.config.data,
        accepted,
    };
    host_tune::run(&order, &task)
}

fn format(is_json: bool) -> Format {
    match is_json {
        true => Format::Json,
        false => Format::Text,
    }
}

fn choice(typed: &TuneChoice) -> (Choice, Accepted) {
    let choice = Choice {
        goal: Goal::parse(&typed.goal).expect("the parser of the flag knows the same names"),
        included: typed.include.clone(),
        excluded: typed.exclude.clone(),
    };
    match typed.this_namespace {
        true => (choice, Accepted::Any),
        false => (choice, Accepted::Host),
    }
}

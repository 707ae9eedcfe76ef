//! Notation of the rows of the command table.

use crate::command::Keys;

/// Key positions: the first argument.
pub(super) const KEY: Keys = Keys::Range {
    first: 1,
    last: 1,
    step: 1,
};
/// Key positions: all arguments after the command's name.
pub(super) const ALL: Keys = Keys::Range {
    first: 1,
    last: -1,
    step: 1,
};
/// Key positions: the first two arguments.
pub(super) const TWO: Keys = Keys::Range {
    first: 1,
    last: 2,
    step: 1,
};

/// Builds the rows of a family; one row is `"name" arity FLAGS, keys, Group, "since", "complexity",
/// handler, "summary", "syntax";`
macro_rules! rows {
    ($($name:literal $arity:literal [$($flag:ident)*], $keys:expr, $group:ident, $since:literal, $complexity:literal,
       $handler:expr, $summary:literal $(, $syntax:literal)?;)*) => {
        /// Rows of the command table for this family.
        pub(super) const ROWS: &[Command] = &[$(Command {
            name: $name,
            arity: $arity,
            flags: Flags::NONE$(.and(Flags::$flag))*,
            keys: $keys,
            group: Group::$group,
            since: $since,
            complexity: $complexity,
            summary: $summary,
            syntax: concat!($($syntax)?),
            handler: $handler,
            index: 0,
        }),*];
    };
}
pub(super) use rows;

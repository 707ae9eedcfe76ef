//! Folded stacks: a line per stack, as the tools for flame graphs read them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::profile::Profile;

/// Returns the profile as folded stacks: the names of the functions, the outermost first, separated
/// by semicolons, then a space and the number of samples.
pub(crate) fn folded(profile: &Profile) -> String {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for stack in &profile.stacks {
        let names: Vec<String> = profile.names(stack).map(escape).collect();
        *counts.entry(names.join(";")).or_default() += stack.count;
    }
    let mut text = String::new();
    for (stack, count) in counts {
        writeln!(text, "{stack} {count}").expect("a string takes any text");
    }
    text
}

/// Replaces the characters that separate names and lines. Names of Rust contain semicolons in types
/// of arrays.
fn escape(name: &str) -> String {
    name.replace(';', ",").replace(['\n', '\r'], " ")
}

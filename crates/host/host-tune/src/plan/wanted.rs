//! Values that a plan wants, as functions of the present value.

use host_checks::Cpus;

/// Value that a plan wants. Limits are raised and never lowered, and a choice of the operator
/// stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// This value.
    Exactly(String),
    /// A number of at least this size.
    AtLeast(u64),
    /// Words, the last of which is a number of at least this size.
    LastAtLeast(u64),
    /// Two numbers that enclose at least this range.
    Range(u64, u64),
    /// This mask, unless a mask is set already.
    UnlessSet(Cpus),
    /// Queueing disciplines of this kind, unless the present ones are the operator's choice.
    Qdisc(&'static str),
}

impl Wanted {
    /// Returns the wanted value. Returns `None` if `present` does not have the expected form.
    pub(crate) fn of(&self, present: &str) -> Option<String> {
        let raised =
            |text: &str, least: u64| Some(text.parse::<u64>().ok()?.max(least).to_string());
        match self {
            Wanted::Exactly(value) => Some(value.clone()),
            Wanted::AtLeast(least) => raised(present, *least),
            Wanted::LastAtLeast(least) => {
                let (first, last) = present.rsplit_once(' ')?;
                Some(format!("{first} {}", raised(last, *least)?))
            }
            Wanted::Range(low, high) => {
                let (first, last) = present.split_once(' ')?;
                let first = first.parse::<u64>().ok()?.min(*low);
                Some(format!("{first} {}", raised(last, *high)?))
            }
            Wanted::UnlessSet(cpus) => match Cpus::parse_mask(present)?.is_empty() {
                true => Some(cpus.mask()),
                false => Some(present.to_owned()),
            },
            Wanted::Qdisc(kind) => {
                let other = host::qdisc_replacement(present, kind);
                Some(other.unwrap_or_else(|| present.to_owned()))
            }
        }
    }
}

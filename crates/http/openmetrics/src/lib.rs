//! Text in the format OpenMetrics 1.0, written line by line. The crate holds no counters: each
//! component of the program counts its own events and writes its own metric families with a
//! [`Text`].
//!
//! Units and limits: names end with their base unit (`_seconds`, `_bytes`). Names, help and labels
//! are constants of the caller. Errors: none. Threads: a [`Text`] belongs to one scrape. Source:
//! OpenMetrics 1.0.

#![forbid(unsafe_code)]

mod text;

pub use text::Text;

//! The last warnings and errors of the log, kept in memory for the operator's dashboard.

use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Maximum number of entries kept; a newer entry replaces the oldest.
const ENTRIES_MAX: usize = 100;
/// Maximum length of an entry's text, in bytes.
const TEXT_BYTES_MAX: usize = 400;

/// Warnings and errors of this process.
pub(super) static KEPT: Kept = Kept::new();

/// Last warnings and errors, and the number of all warnings and errors so far.
#[derive(Debug)]
pub(super) struct Kept {
    entries: Mutex<VecDeque<LogEntry>>,
    warnings: AtomicU64,
    errors: AtomicU64,
}

/// Warning or error of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Time of the event, in milliseconds since 1970.
    pub unix_ms: u64,
    /// True for an error, false for a warning.
    pub is_error: bool,
    /// Message, followed by the fields of the event, cut off at 400 bytes.
    pub text: String,
}

/// Numbers of warnings and errors since the start of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    /// Number of warnings.
    pub warnings: u64,
    /// Number of errors.
    pub errors: u64,
}

/// Layer of `tracing` that keeps warnings and errors.
#[derive(Debug)]
pub(super) struct Recent(pub(super) &'static Kept);

impl<S: Subscriber> Layer<S> for Recent {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let level = *event.metadata().level();
        if level != Level::WARN && level != Level::ERROR {
            return;
        }
        let is_error = level == Level::ERROR;
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.add(LogEntry {
            unix_ms: wall_clock::unix_ms(),
            is_error,
            text: text.0,
        });
    }
}

/// Text of an event: the message, then the fields.
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            let fields = std::mem::take(&mut self.0);
            // `Text::write_str` never fails.
            let _ = write!(self, "{value:?}{fields}");
        } else {
            let _ = write!(self, " {}={value:?}", field.name());
        }
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = TEXT_BYTES_MAX.saturating_sub(self.0.len());
        self.0.push_str(&part[..part.floor_char_boundary(room)]);
        Ok(())
    }
}

impl Kept {
    const fn new() -> Kept {
        Kept {
            entries: Mutex::new(VecDeque::new()),
            warnings: AtomicU64::new(0),
            errors: AtomicU64::new(0),
        }
    }

    fn add(&self, entry: LogEntry) {
        let counter = if entry.is_error {
            &self.errors
        } else {
            &self.warnings
        };
        counter.fetch_add(1, Relaxed);
        let mut entries = self.lock();
        if entries.len() == ENTRIES_MAX {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    /// Returns the entries, the newest first.
    pub(super) fn entries(&self) -> Vec<LogEntry> {
        self.lock().iter().rev().cloned().collect()
    }

    pub(super) fn problems(&self) -> Problems {
        Problems {
            warnings: self.warnings.load(Relaxed),
            errors: self.errors.load(Relaxed),
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<LogEntry>> {
        self.entries.lock()
    }
}

#[cfg(test)]
mod tests {
    use tracing::subscriber::with_default;
    use tracing::{error, info, warn};
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[test]
    fn keeps_warnings_and_errors_newest_first_and_bounded() {
        static KEPT: Kept = Kept::new();
        with_default(tracing_subscriber::registry().with(Recent(&KEPT)), || {
            info!("not kept");
            for number in 0..ENTRIES_MAX {
                warn!(number, "filler");
            }
            error!(path = "a.jpg", "unreadable {}", "ä".repeat(300));
        });
        let kept = KEPT.entries();
        assert_eq!(kept.len(), ENTRIES_MAX);
        assert!(kept[0].is_error && kept[0].text.starts_with("unreadable ä"));
        assert!((TEXT_BYTES_MAX - 1..=TEXT_BYTES_MAX).contains(&kept[0].text.len()));
        assert_eq!(kept[1].text, "filler number=99");
        assert_eq!(kept[ENTRIES_MAX - 1].text, "filler number=1");
        let counted = Problems {
            warnings: 100,
            errors: 1,
        };
        assert_eq!(KEPT.problems(), counted);
    }
}

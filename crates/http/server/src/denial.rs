//! Refusals of requests by the rules of [`crate::permission`]: their reasons, counters and log
//! lines.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use image_plan::RecipeRule;
use openmetrics::Text;

/// Minimum time between two log lines about the same reason, in milliseconds.
const LOG_INTERVAL_MS: u64 = 60_000;

/// Reason for which a rule of the operator refuses a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// The request changes a picture, and has no signature.
    Unsigned,
    /// No key has made the signature.
    WrongSignature,
    /// The signature has expired.
    Expired,
    /// The recipe violates a rule for recipes.
    Recipe(RecipeRule),
    /// Pages of the site that refers to the picture may not embed it.
    Referrer,
    /// The client's address has had too many conversions in the last minute.
    Rate,
}

impl Denial {
    const ALL: [Denial; 11] = [
        Denial::Unsigned,
        Denial::WrongSignature,
        Denial::Expired,
        Denial::Recipe(RecipeRule::PresetsOnly),
        Denial::Recipe(RecipeRule::Operation),
        Denial::Recipe(RecipeRule::Width),
        Denial::Recipe(RecipeRule::Height),
        Denial::Recipe(RecipeRule::Format),
        Denial::Recipe(RecipeRule::Quality),
        Denial::Referrer,
        Denial::Rate,
    ];

    /// Returns the name of the reason in metrics and in the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Denial::Unsigned => "unsigned",
            Denial::WrongSignature => "signature",
            Denial::Expired => "expired",
            Denial::Recipe(RecipeRule::PresetsOnly) => "presets_only",
            Denial::Recipe(RecipeRule::Operation) => "operation",
            Denial::Recipe(RecipeRule::Width) => "width",
            Denial::Recipe(RecipeRule::Height) => "height",
            Denial::Recipe(RecipeRule::Format) => "format",
            Denial::Recipe(RecipeRule::Quality) => "quality",
            Denial::Referrer => "referrer",
            Denial::Rate => "rate",
        }
    }

    /// Returns the title of the problem document.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Denial::Unsigned => "a request that changes a picture needs a signature",
            Denial::WrongSignature => "the signature does not match the URL",
            Denial::Expired => "the signature of the URL has expired",
            Denial::Recipe(_) => "the operator does not permit this change of the picture",
            Denial::Referrer => {
                "the operator does not permit the referring page to embed pictures from this server"
            }
            Denial::Rate => "this address has requested too many conversions",
        }
    }

    fn row(self) -> usize {
        let mut rows = Denial::ALL.iter();
        let row = rows.position(|denial| *denial == self);
        row.expect("the list contains every reason")
    }
}

/// Counters of refused requests, with the times at which each reason was logged. All cores share
/// them; a cache hit does not use them.
#[derive(Debug, Default)]
pub(crate) struct Denials([Row; Denial::ALL.len()]);

#[derive(Debug, Default)]
struct Row {
    count: AtomicU64,
    /// Value of `count` when the reason was logged last.
    logged: AtomicU64,
    /// Time from which on the reason may be logged again, in milliseconds since 1970.
    log_at_unix_ms: AtomicU64,
}

impl Denials {
    /// Counts a refused request. The first request of each minute and reason is logged, with the
    /// number of refused requests since the previous line.
    pub(crate) fn record(&self, denial: Denial, path: &str, peer: Option<IpAddr>, unix_ms: u64) {
        let row = &self.0[denial.row()];
        let count = row.count.fetch_add(1, Ordering::Relaxed) + 1;
        let due = row.log_at_unix_ms.load(Ordering::Relaxed);
        let next = unix_ms + LOG_INTERVAL_MS;
        let is_due = due <= unix_ms;
        let order = Ordering::Relaxed;
        if !is_due
            || row
                .log_at_unix_ms
                .compare_exchange(due, next, order, order)
                .is_err()
        {
            return;
        }
        let since_last = count.saturating_sub(row.logged.swap(count, order));
        let client = peer.map(|peer| peer.to_string());
        tracing::info!(
            reason = denial.name(),
            path,
            client,
            count = since_last,
            "request refused by a rule of the operator"
        );
    }

    pub(crate) fn render(&self, text: &mut Text) {
        text.family(
            "pelton_denied_requests",
            "counter",
            "requests refused by the rules of the operator, labelled by reason",
        );
        for (row, denial) in self.0.iter().zip(Denial::ALL) {
            text.sample(
                "pelton_denied_requests_total",
                &format!("reason=\"{}\"", denial.name()),
                row.count.load(Ordering::Relaxed),
            );
        }
    }
}

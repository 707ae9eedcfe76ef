//! Plots. Each shows one measured quantity for all programs that have a value for it, and states
//! whether less or more is better.

use crate::numbers::quantile;

/// Direction in which values are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Better {
    /// Costs, such as CPU time.
    Less,
    /// Throughputs, such as requests per second.
    More,
}

/// Value with an interval around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Interval {
    /// Returns the median and the range of `samples`, each divided by `unit`.
    pub(super) fn of(mut samples: Vec<f64>, unit: f64) -> Interval {
        samples.sort_by(f64::total_cmp);
        let [low, median, high] = [0.0, 0.5, 1.0].map(|share| quantile(&samples, share) / unit);
        Interval { median, low, high }
    }

    /// Returns a value that was measured once, or that does not vary.
    pub(super) fn exact(value: f64) -> Interval {
        Interval {
            median: value,
            low: value,
            high: value,
        }
    }

    /// Returns the ratio of two medians. Its interval has the smallest and the largest ratio of
    /// values in the two intervals.
    fn over(self, other: Interval) -> Interval {
        Interval {
            median: self.median / other.median,
            low: self.low / other.high,
            high: self.high / other.low,
        }
    }
}

/// Result of a comparison for Pelton.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Lost,
    Level,
    Won,
}

impl Verdict {
    /// Judges a ratio of Pelton's value to the value of another program. Neither has won if the
    /// interval of the ratio includes 1, with all numbers rounded as the report prints them.
    fn of(ratio: Interval, better: Better) -> Verdict {
        let [low, high] = [ratio.low, ratio.high].map(|bound| (bound * 100.0).round() / 100.0);
        match better {
            _ if low <= 1.0 && 1.0 <= high => Verdict::Level,
            Better::Less if high < 1.0 => Verdict::Won,
            Better::More if 1.0 < low => Verdict::Won,
            _ => Verdict::Lost,
        }
    }

    /// Returns the word for the verdict in the report.
    pub(super) fn word(self) -> &'static str {
        match self {
            Verdict::Lost => "lost",
            Verdict::Level => "level",
            Verdict::Won => "won",
        }
    }
}

/// Pelton's value as a ratio to the value of another program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Comparison {
    pub(super) ratio: Interval,
    pub(super) verdict: Verdict,
}

/// Value of one program.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bar {
    /// Name of the program in the record.
    pub(super) name: String,
    pub(super) value: Interval,
    /// Fact about the value that the reader needs, such as the quality of the pictures.
    pub(super) detail: Option<String>,
    /// Comparison that this bar decides: usually of Pelton with this program. `None` if the bar is
    /// the one with which the other bars are compared.
    pub(super) comparison: Option<Comparison>,
}

impl Bar {
    /// Returns whether the bar is a repetition of another bar, which shows how far equal programs
    /// differ.
    pub(super) fn is_control(&self) -> bool {
        self.name.ends_with(" again")
    }
}

/// One figure of all programs that were measured for it. All values of a plot come from one record.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plot {
    /// Subject of the measurement, such as the kind of request.
    pub(super) title: String,
    pub(super) unit: &'static str,
    pub(super) better: Better,
    pub(super) bars: Vec<Bar>,
    /// Name of the record.
    pub(super) record: String,
}

impl Plot {
    /// Starts a plot without bars.
    pub(super) fn new(
        title: impl Into<String>,
        unit: &'static str,
        better: Better,
        record: &str,
    ) -> Plot {
        Plot {
            title: title.into(),
            unit,
            better,
            bars: Vec::new(),
            record: record.to_owned(),
        }
    }

    /// Appends a bar that is compared with no other bar, such as that of Pelton itself.
    pub(super) fn bar(mut self, name: &str, value: Interval) -> Plot {
        self.bars.push(Bar {
            name: name.to_owned(),
            value,
            detail: None,
            comparison: None,
        });
        self
    }

    /// Appends the bar of another program. `ratio` is Pelton's value divided by that of the
    /// program. If the record has no such ratio, it is computed from the first bar, which must be
    /// Pelton's.
    ///
    /// # Panics
    /// Panics if there is neither a ratio nor a first bar, which is a bug.
    pub(super) fn compared(self, name: &str, value: Interval, ratio: Option<Interval>) -> Plot {
        let ratio = ratio.unwrap_or_else(|| {
            let ours = self.bars.first().expect("the first bar is Pelton's");
            ours.value.over(value)
        });
        let verdict = Verdict::of(ratio, self.better);
        let mut plot = self.bar(name, value);
        let bar = plot.bars.last_mut().expect("a bar was appended");
        bar.comparison = Some(Comparison { ratio, verdict });
        plot
    }

    /// Adds a detail to the last bar.
    pub(super) fn detail(mut self, detail: String) -> Plot {
        if let Some(bar) = self.bars.last_mut() {
            bar.detail = Some(detail);
        }
        self
    }
}

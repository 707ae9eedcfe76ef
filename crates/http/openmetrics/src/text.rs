//! Writer of metric families and their samples.

use std::fmt::Write as _;

/// Response to one scrape, written family by family.
#[derive(Debug)]
pub struct Text(String);

impl Default for Text {
    fn default() -> Text {
        Text(String::with_capacity(4096))
    }
}

impl Text {
    /// Writes type and help of a metric family; its samples must follow.
    pub fn family(&mut self, name: &str, kind: &str, help: &str) {
        writeln!(self.0, "# TYPE {name} {kind}\n# HELP {name} {help}")
            .expect("writing to a string cannot fail");
    }

    /// Writes one sample. `labels` is empty, or `name="value"` pairs separated by commas.
    pub fn sample(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let labels = if labels.is_empty() {
            String::new()
        } else {
            format!("{{{labels}}}")
        };
        writeln!(self.0, "{name}{labels} {value}").expect("writing to a string cannot fail");
    }

    /// Writes a counter without labels. `name` is the family's name; the sample's name has the
    /// suffix `_total`.
    pub fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "counter", help);
        self.sample(&format!("{name}_total"), "", value);
    }

    /// Writes a gauge without labels.
    pub fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "gauge", help);
        self.sample(name, "", value);
    }

    /// Returns the whole text with its end mark.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.0.push_str("# EOF\n");
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_and_samples() {
        let mut text = Text::default();
        text.counter("pelton_conversions", "conversions that succeeded", 3);
        text.family("pelton_timeouts", "counter", "timeouts by cause");
        text.sample("pelton_timeouts_total", "wait=\"head\"", 1);
        text.gauge("a", "b", 0);
        assert_eq!(
            text.finish(),
            "# TYPE pelton_conversions counter\n\
             # HELP pelton_conversions conversions that succeeded\n\
             pelton_conversions_total 3\n\
             # TYPE pelton_timeouts counter\n\
             # HELP pelton_timeouts timeouts by cause\n\
             pelton_timeouts_total{wait=\"head\"} 1\n\
             # TYPE a gauge\n# HELP a b\na 0\n\
             # EOF\n"
        );
    }
}

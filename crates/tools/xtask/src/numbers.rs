//! Statistics of samples, and functions that format numbers for tables and plots.

/// Formats the median and range of samples, each divided by `unit`.
pub(crate) fn spread(mut samples: Vec<f64>, unit: f64) -> String {
    samples.sort_by(f64::total_cmp);
    let [low, middle, high] = [0.0, 0.5, 1.0].map(|share| short(quantile(&samples, share) / unit));
    format!("{middle} ({low}…{high})")
}

/// Formats a number: from 10 as an integer, below 10 with one to three decimal places.
pub(crate) fn short(number: f64) -> String {
    match number.abs() {
        0.0..0.1 => format!("{number:.3}"),
        0.1..1.0 => format!("{number:.2}"),
        1.0..10.0 => format!("{number:.1}"),
        _ => thousands(number),
    }
}

/// Formats an integer with commas between groups of three digits.
fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if 0 < position && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the median of `samples`, which may be in any order.
pub(crate) fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    quantile(&samples, 0.5)
}

/// Returns the quantile `share` (0 to 1) of sorted samples, interpolated linearly.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = share * (sorted.len() - 1) as f64;
    let (low, high) = (position.floor() as usize, position.ceil() as usize);
    sorted[low] + (sorted[high] - sorted[low]) * (position - low as f64)
}

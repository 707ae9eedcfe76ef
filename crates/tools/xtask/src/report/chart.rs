//! Drawing of a plot as SVG: one horizontal bar per program, from zero, with the interval of its
//! value and the verdict beside the bar.
//!
//! ```text
//! nginx 1.22.1                         8.7 (8.1…9.6)
//! ██████████████████████├──┤               won 0.79×
//! ```
//!
//! Lengths are pixels of a drawing that is as wide as a phone's page. A wider page scales the
//! drawing.

use super::html::escaped;
use super::plot::{Bar, Interval, Plot};
use super::program;
use crate::numbers::short;

const WIDTH: f64 = 340.0;
/// Length of the longest bar, its interval included. The verdict has its place behind it.
const BAR_LENGTH_MAX: f64 = 240.0;
/// Height of a bar with the line of text above it.
const ROW: f64 = 42.0;
/// Distance from the top of a row to the base line of its text, and to the edges of its bar.
const TEXT: f64 = 13.0;
const BAR_TOP: f64 = 19.0;
const BAR_BOTTOM: f64 = 33.0;

/// Formats a value with its interval. A value without an interval stands alone.
pub(super) fn interval(value: Interval) -> String {
    let [median, low, high] = [value.median, value.low, value.high].map(short);
    match low == high {
        true => median,
        false => format!("{median} ({low}…{high})"),
    }
}

/// Draws `plot`. `version` returns the version of the program of a bar, if it is known.
pub(super) fn svg(plot: &Plot, version: impl Fn(&Bar) -> Option<String>) -> String {
    let bars: Vec<&Bar> = plot.bars.iter().filter(|bar| !bar.is_control()).collect();
    let largest = bars.iter().map(|bar| bar.value.high).fold(0.0, f64::max);
    let height = ROW * bars.len() as f64;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">\n",
        escaped(&plot.title)
    );
    for (row, bar) in bars.iter().enumerate() {
        let detail = bar.detail.clone().or_else(|| version(bar));
        svg += &drawn(
            bar,
            ROW * row as f64,
            BAR_LENGTH_MAX / largest,
            detail.as_deref(),
        );
    }
    svg += &format!("<path class=\"zero\" d=\"M.5 0V{height}\"/>\n</svg>\n");
    svg
}

/// Draws one bar with its texts. `top` is the top edge of the row, `scale` the length of a unit.
fn drawn(bar: &Bar, top: f64, scale: f64, detail: Option<&str>) -> String {
    let text = top + TEXT;
    let (upper, lower) = (top + BAR_TOP, top + BAR_BOTTOM);
    let middle = f64::midpoint(upper, lower);
    let detail = detail.map_or_else(String::new, |detail| {
        format!(" <tspan class=\"detail\">{}</tspan>", escaped(detail))
    });
    let [length, low, high] =
        [bar.value.median, bar.value.low, bar.value.high].map(|value| value * scale);
    let mut svg = format!(
        "<g class=\"{}\"><text x=\"4\" y=\"{text}\">{}{detail}</text>\
         <text class=\"end\" x=\"{WIDTH}\" y=\"{text}\">{}</text>\
         <rect y=\"{upper}\" width=\"{length:.1}\" height=\"{}\"/>",
        program::class(&bar.name),
        escaped(&program::label(&bar.name)),
        interval(bar.value),
        lower - upper,
    );
    if low < high {
        svg += &format!(
            "<path class=\"interval\" d=\"M{low:.1} {middle}H{high:.1}\
             M{low:.1} {}v8M{high:.1} {}v8\"/>",
            middle - 4.0,
            middle - 4.0,
        );
    }
    if let Some(comparison) = bar.comparison {
        let word = comparison.verdict.word();
        svg += &format!(
            "<text class=\"end {word}\" x=\"{WIDTH}\" y=\"{}\">{word} {:.2}×</text>",
            middle + 5.0,
            comparison.ratio.median,
        );
    }
    svg + "</g>\n"
}

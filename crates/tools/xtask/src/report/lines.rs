//! Drawing of values over time as SVG: one row per program, all with the same scales, so that the
//! areas can be compared.

use super::html::escaped;
use super::program;
use crate::numbers::short;

const WIDTH: f64 = 340.0;
/// Height of an area, and of its row with the line of text above.
const AREA: f64 = 36.0;
const ROW: f64 = 62.0;
/// Distance from the top of a row to the base line of its text, and to the bottom of its area.
const TEXT: f64 = 13.0;
const BOTTOM: f64 = 55.0;
/// Maximum number of points of an area: about one per three pixels.
const POINTS_MAX: usize = 120;

/// Values of several programs over time.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) title: String,
    pub(super) unit: &'static str,
    pub(super) series: Vec<Series>,
}

/// Values of one program over time.
#[derive(Debug)]
pub(super) struct Series {
    /// Name of the program in the record.
    pub(super) name: String,
    /// Times in seconds, with the values at these times.
    pub(super) points: Vec<(f64, f64)>,
}

impl Series {
    fn seconds(&self) -> f64 {
        self.points.last().map_or(0.0, |(at, _)| *at)
    }

    fn peak(&self) -> f64 {
        self.points
            .iter()
            .map(|(_, value)| *value)
            .fold(0.0, f64::max)
    }

    /// Returns the points to draw: at most [`POINTS_MAX`], each the largest of the points that it
    /// stands for.
    fn thinned(&self) -> Vec<(f64, f64)> {
        let size = self.points.len().div_ceil(POINTS_MAX).max(1);
        let chunks = self.points.chunks(size);
        let largest = chunks.filter_map(|chunk| {
            let value = chunk.iter().map(|(_, value)| *value).fold(0.0, f64::max);
            chunk.last().map(|(at, _)| (*at, value))
        });
        largest.collect()
    }
}

/// Draws `lines`.
pub(super) fn svg(lines: &Lines) -> String {
    let all = lines.series.iter();
    let seconds = all.clone().map(Series::seconds).fold(0.0, f64::max);
    let peak = all.map(Series::peak).fold(0.0, f64::max);
    let height = ROW * lines.series.len() as f64;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">\n",
        escaped(&lines.title)
    );
    for (row, series) in lines.series.iter().enumerate() {
        let top = ROW * row as f64;
        let bottom = top + BOTTOM;
        let mut path = format!("M0 {bottom}");
        let mut end = 0.0;
        for (at, value) in series.thinned() {
            end = at / seconds * WIDTH;
            path += &format!("L{end:.1} {:.1}", bottom - value / peak * AREA);
        }
        svg += &format!(
            "<g class=\"{}\"><text x=\"4\" y=\"{text}\">{}</text>\
             <text class=\"end\" x=\"{WIDTH}\" y=\"{text}\">peak {}, {} s</text>\
             <path class=\"area\" d=\"{path}V{bottom}Z\"/>\
             <path class=\"zero\" d=\"M0 {bottom}H{WIDTH}\"/>\
             <path class=\"zero\" d=\"M{end:.1} {bottom}v-4\"/></g>\n",
            program::class(&series.name),
            escaped(&program::label(&series.name)),
            short(series.peak()),
            short(series.seconds()),
            text = top + TEXT,
        );
    }
    svg + "</svg>\n"
}

//! Flame graph: an SVG picture of a profile without a script.
//!
//! Each function is a rectangle above its caller, and as wide as the share of samples in which the
//! function was on the stack. Functions beside each other are in alphabetical order.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use html_escape::encode_double_quoted_attribute;

use crate::profile::Profile;

const WIDTH: f64 = 1_200.0;
const ROW_HEIGHT: usize = 17;
/// Rectangles that would be narrower are left out, which bounds the size of the picture.
const WIDTH_MIN: f64 = 0.5;
/// Width of a character in the font of the picture.
const CHARACTER_WIDTH: f64 = 6.6;
/// Rows above and below the graph.
const MARGIN: usize = 24;

/// Function on the stack, with those that it calls.
#[derive(Default)]
struct Frame<'a> {
    count: u64,
    callees: BTreeMap<&'a str, Frame<'a>>,
}

/// Returns the profile as a flame graph.
pub(crate) fn svg(profile: &Profile) -> String {
    let mut root = Frame::default();
    for stack in &profile.stacks {
        root.count += stack.count;
        let mut frame = &mut root;
        for name in profile.names(stack) {
            frame = frame.callees.entry(name).or_default();
            frame.count += stack.count;
        }
    }
    let rows = rows(&root, scale(&root));
    let height = rows * ROW_HEIGHT + 2 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"monospace\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let caption = format!(
        "{} samples at {} Hz in {:.1} s, {} lost",
        root.count,
        profile.frequency_hz,
        profile.duration.as_secs_f64(),
        profile.lost
    );
    writeln!(out, "<text x=\"4\" y=\"16\">{caption}</text>").expect("a string takes any text");
    let mut x = 0.0;
    for (name, frame) in &root.callees {
        draw(&mut out, name, frame, (x, height - MARGIN), scale(&root));
        x += frame.count as f64 * scale(&root);
    }
    out.push_str("</svg>\n");
    out
}

/// Returns the width of one sample.
fn scale(root: &Frame<'_>) -> f64 {
    WIDTH / root.count.max(1) as f64
}

/// Returns the number of rows above a frame.
fn rows(frame: &Frame<'_>, scale: f64) -> usize {
    let callees = frame.callees.values();
    let wide = callees.filter(|it| WIDTH_MIN <= it.count as f64 * scale);
    wide.map(|it| 1 + rows(it, scale)).max().unwrap_or(0)
}

/// Draws a frame whose rectangle begins at `x` and ends at `bottom`, and its callees above it. The
/// depth is at most that of a stack.
fn draw(out: &mut String, name: &str, frame: &Frame<'_>, (x, bottom): (f64, usize), scale: f64) {
    let width = frame.count as f64 * scale;
    if width < WIDTH_MIN {
        return;
    }
    let y = bottom - ROW_HEIGHT;
    let share = 100.0 * width / WIDTH;
    let name = escape(name);
    let (fill, count) = (colour(&name), frame.count);
    write!(
        out,
        "<g><title>{name}: {count} samples, {share:.1} %</title>\
         <rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"16\" fill=\"{fill}\"/>"
    )
    .expect("a string takes any text");
    let room = (width / CHARACTER_WIDTH) as usize;
    if 3 <= room {
        let text = shortened(&name, room);
        let (x, y) = (x + 2.0, y + 12);
        write!(out, "<text x=\"{x:.1}\" y=\"{y}\">{text}</text>").expect("a string takes any text");
    }
    out.push_str("</g>\n");
    let mut x = x;
    for (name, callee) in &frame.callees {
        draw(out, name, callee, (x, y), scale);
        x += callee.count as f64 * scale;
    }
}

/// Returns a warm colour that depends only on the name, so that a function has the same one in all
/// profiles.
fn colour(name: &str) -> String {
    let hash = name
        .bytes()
        .fold(7_u32, |hash, byte| hash.wrapping_mul(31) ^ u32::from(byte));
    format!("hsl({} 85% {}%)", 15 + hash % 40, 66 + hash / 64 % 14)
}

/// Escapes a name for XML, which must not contain control characters.
fn escape(name: &str) -> String {
    let name = name.replace(char::is_control, "\u{fffd}");
    encode_double_quoted_attribute(&name).into_owned()
}

/// Returns the text if it has at most `characters` characters; otherwise its beginning. An entity
/// counts with all its characters, and is not divided.
fn shortened(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    let begin: String = text.chars().take(characters - 1).collect();
    let whole = match begin.rfind('&') {
        Some(entity) if !begin[entity..].contains(';') => &begin[..entity],
        _ => &begin,
    };
    format!("{whole}…")
}

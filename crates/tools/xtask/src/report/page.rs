//! The page: a summary, one section per system, and a table of the records.

use std::collections::BTreeSet;

use super::chart;
use super::html::{Table, escaped};
use super::lines::{self, Lines};
use super::plot::{Bar, Better, Plot, Verdict};
use super::program;
use super::story::Story;
use crate::record::{Record, Records, member, number, text};

const STYLE: &str = include_str!("page.css");

/// Introduction, and the explanation of the plots.
const INTRODUCTION: &str = "<h1>Pelton, measured</h1>
<p>Pelton brings together what five systems are known for: pictures that fit the browser, HTTP on a tuned host, a \
sandbox around every job, a store in memory, and the index of a music library. For each system, this page tells its \
story, what its authors published, and what we measured in comparison with current programs.</p>
<p>Every number comes from a record of raw samples in the folder <code>lab/record</code> of the repository, and \
<code>cargo xtask lab report</code> writes this page from the newest records. <code>lab/METHOD.md</code> describes the \
method, <code>lab/BIAS.md</code> lists what may be wrong in Pelton's favour.</p>
<p><strong>How to read the plots.</strong> A bar is the median over the rounds and begins at zero; the line across its \
end, and the numbers in parentheses, are the range over the rounds. Each program has the same colour everywhere. The \
ratio behind a bar is Pelton's value divided by that of the program: <span class=\"won\">won</span> means that the \
whole interval of the ratio, of 95 % unless the text says otherwise, is in Pelton's favour, <span class=\"lost\">lost</span> that all of it is against \
Pelton, and <span class=\"level\">level</span> that it includes 1. Compare within a plot only: the plots come from \
different days and machines.</p>
";

/// Section of the page about one system.
pub(super) struct Section {
    pub(super) story: &'static Story,
    pub(super) groups: Vec<Group>,
}

/// Plots that were measured in the same way, with one table below them.
pub(super) struct Group {
    pub(super) title: &'static str,
    /// Method of the measurement, in a few sentences.
    pub(super) method: &'static str,
    /// Values over time, which stand before the plots.
    pub(super) lines: Vec<Lines>,
    pub(super) plots: Vec<Plot>,
}

impl Section {
    /// Returns all bars that are compared, with their plots. Controls are left out.
    fn compared(&self) -> impl Iterator<Item = (&Group, &Plot, &Bar)> {
        let plots = self
            .groups
            .iter()
            .flat_map(|group| group.plots.iter().map(move |plot| (group, plot)));
        let bars =
            plots.flat_map(|(group, plot)| plot.bars.iter().map(move |bar| (group, plot, bar)));
        bars.filter(|(_, _, bar)| bar.comparison.is_some() && !bar.is_control())
    }

    fn count(&self, verdict: Verdict) -> usize {
        let verdicts = self.compared().filter_map(|(_, _, bar)| bar.comparison);
        verdicts.filter(|it| it.verdict == verdict).count()
    }
}

/// Returns the whole page.
pub(super) fn html(sections: &[Section], records: &Records) -> String {
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Pelton, measured</title>\n<style>\n{STYLE}</style>\n<body>\n<main>\n{INTRODUCTION}"
    );
    html += &summary(sections);
    html += &losses(sections);
    let mut shown = BTreeSet::new();
    for section in sections {
        let Story {
            id,
            title,
            text,
            claim,
        } = section.story;
        html += &format!(
            "<section>\n<h2 id=\"{id}\">{title}</h2>\n<p>{text}</p>\n\
             <p class=\"claim\"><strong>Published.</strong> {claim} These figures come from other machines, so they \
             are not in the plots.</p>\n"
        );
        for group in section
            .groups
            .iter()
            .filter(|group| !group.plots.is_empty())
        {
            html += &group_html(group, records);
            shown.extend(group.plots.iter().map(|plot| plot.record.as_str()));
        }
        html += "</section>\n";
    }
    html + &records_html(&records.cited(), &shown) + "</main>\n"
}

/// Returns the table that counts the comparisons of each section.
fn summary(sections: &[Section]) -> String {
    let verdicts = [Verdict::Won, Verdict::Level, Verdict::Lost];
    let mut table = Table::new(&["comparisons", "won", "level", "lost"]);
    for section in sections {
        let mut cells = vec![format!(
            "<a href=\"#{}\">{}</a>",
            section.story.id, section.story.title
        )];
        cells.extend(verdicts.map(|verdict| section.count(verdict).to_string()));
        table.row("", &cells);
    }
    let mut cells = vec!["<strong>all</strong>".to_owned()];
    cells.extend(verdicts.map(|verdict| {
        let all: usize = sections.iter().map(|section| section.count(verdict)).sum();
        format!("<strong class=\"{}\">{all}</strong>", verdict.word())
    }));
    table.row("", &cells);
    table.html()
}

/// Returns the list of the comparisons that Pelton lost.
fn losses(sections: &[Section]) -> String {
    let mut html = "<h3>Where Pelton loses</h3>\n<ul>\n".to_owned();
    for section in sections {
        for (group, plot, bar) in section.compared() {
            let lost = bar.comparison.filter(|it| it.verdict == Verdict::Lost);
            if let Some(comparison) = lost {
                html += &format!(
                    "<li><a href=\"#{}\">{}</a>, {}: {} <span class=\"lost\">{:.2}×</span>\n",
                    section.story.id,
                    group.title,
                    escaped(&plot.title),
                    escaped(&program::label(&bar.name)),
                    comparison.ratio.median,
                );
            }
        }
    }
    html + "</ul>\n"
}

/// Returns the plots of a group, and their table.
fn group_html(group: &Group, records: &Records) -> String {
    let mut html = format!(
        "<h3>{}</h3>\n<p class=\"soft\">{}</p>\n<div class=\"plots\">\n",
        group.title, group.method
    );
    for over_time in &group.lines {
        html += &figure(&over_time.title, over_time.unit, &lines::svg(over_time));
    }
    let unit = group.plots[0].unit;
    let is_one_unit = group.plots.iter().all(|plot| plot.unit == unit);
    let unit = is_one_unit.then_some(unit);
    let value = unit.map_or_else(String::new, |unit| format!(", {unit}"));
    let mut table = Table::new(&[
        "measured",
        "program",
        &format!("median (range){value}"),
        "Pelton's value divided by that of the other program (range over the rounds)",
        "",
        "record",
    ]);
    for plot in &group.plots {
        let version = |bar: &Bar| version(records, &plot.record, &bar.name);
        let direction = match plot.better {
            Better::Less => "less is better",
            Better::More => "more is better",
        };
        let unit_and_direction = format!("{}; {direction}", plot.unit);
        html += &figure(&plot.title, &unit_and_direction, &chart::svg(plot, version));
        for bar in &plot.bars {
            let measured = match unit {
                Some(_) => escaped(&plot.title),
                None => format!("{}, {}", escaped(&plot.title), plot.unit),
            };
            row(&mut table, (measured, &plot.record), bar, version(bar));
        }
    }
    html + "</div>\n" + &table.html()
}

/// Returns a drawing with its caption.
fn figure(title: &str, unit: &str, svg: &str) -> String {
    format!(
        "<figure><figcaption>{}<small>{unit}</small></figcaption>\n{svg}</figure>\n",
        escaped(title)
    )
}

/// Appends the row of a bar to the table below the plots.
fn row(table: &mut Table, (measured, record): (String, &str), bar: &Bar, version: Option<String>) {
    let mut name = escaped(&program::label(&bar.name));
    for more in [&bar.detail, &version].into_iter().flatten() {
        name += &format!(" <small>{}</small>", escaped(more));
    }
    let verdict = match bar.comparison {
        Some(_) if bar.is_control() => "control",
        Some(comparison) => comparison.verdict.word(),
        None => "",
    };
    let ratio = bar.comparison.map_or_else(String::new, |it| {
        let ratio = it.ratio;
        match ratio.low == ratio.high {
            true => format!("{:.2}×", ratio.median),
            false => format!("{:.2}× ({:.2}…{:.2})", ratio.median, ratio.low, ratio.high),
        }
    });
    table.row(
        verdict,
        &[
            measured,
            name,
            chart::interval(bar.value),
            ratio,
            format!("<span class=\"{verdict}\">{verdict}</span>"),
            format!("<a href=\"#{record}\">{record}</a>"),
        ],
    );
}

/// Returns the version number that a record has for the program of a bar.
fn version(records: &Records, record: &str, bar: &str) -> Option<String> {
    let versions = records.part(record, "versions")?;
    let printed = versions.get(program::versions_key(bar)?)?.as_str()?;
    let number = crate::figures::version(printed)?;
    Some(number.trim_end_matches([',', ';']).to_owned())
}

/// Returns the table of the records whose names are in `shown`: date, machine and versions.
fn records_html(cited: &[&Record], shown: &BTreeSet<&str>) -> String {
    let mut table = Table::new(&[
        "record",
        "date",
        "machine",
        "load before",
        "Pelton",
        "programs",
    ]);
    for record in cited.iter().filter(|it| shown.contains(it.name.as_str())) {
        let host = member(&record.value, "host");
        let versions = member(&record.value, "versions").as_table();
        let versions = versions.into_iter().flatten().map(|(name, printed)| {
            let printed = printed.as_str().unwrap_or("unknown");
            format!(
                "{name} {}",
                crate::figures::version(printed).unwrap_or(printed)
            )
        });
        let versions: Vec<String> = versions.collect();
        table.row(
            "",
            &[
                format!("<span id=\"{0}\">{0}</span>", record.name),
                escaped(text(&record.value, "date")),
                escaped(&format!(
                    "{}, {} cores, Linux {}",
                    text(host, "cpu"),
                    number(host, "cores"),
                    text(host, "kernel")
                )),
                escaped(text(host, "load")),
                escaped(text(&record.value, "pelton")),
                escaped(&versions.join(", ")),
            ],
        );
    }
    format!(
        "<section>\n<h2 id=\"records\">Records</h2>\n<p>Date, machine, load averages before the run, commit of Pelton, \
         and versions of the programs. All machines are virtual.</p>\n{}</section>\n",
        table.html()
    )
}

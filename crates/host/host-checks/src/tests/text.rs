//! Tests of the text of `pelton doctor`, with literal facts.

use crate::{Fact, Facts, Release, Rows, Style, judge, write_report};
use expect_test::{Expect, expect};

/// Facts of a host on which two rows are findings.
fn facts() -> Facts {
    let mut facts = Facts::default();
    facts.kernel.release = Fact::known("osrelease", "6.1.0", Release(6, 1));
    facts.network.somaxconn = Fact::known("somaxconn", "128", 128);
    facts.network.syn_backlog = Fact::known("tcp_max_syn_backlog", "4096", 4096);
    facts.network.listen_overflows = Fact::known("ListenOverflows", "7", 7);
    facts.network.listen_drops = Fact::known("ListenDrops", "7", 7);
    facts
}

/// Asserts that the lines of the report that contain `word` are as expected.
fn check(rows: Rows, style: Style, word: &str, expected: Expect) {
    let report = judge(&facts());
    let mut out = Vec::new();
    write_report(&mut out, &report, Some(7), rows, style).expect("memory takes every write");
    let text = String::from_utf8(out).expect("the report is text");
    let text = text.replace('\x1b', "ESC");
    let lines = text.lines().filter(|line| line.contains(word));
    expected.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn findings_come_first_and_in_full() {
    let report = judge(&facts());
    let mut out = Vec::new();
    write_report(&mut out, &report, None, Rows::Findings, Style::Plain)
        .expect("memory takes every write");
    let text = String::from_utf8(out).expect("the report is text");
    let begin: String = text
        .lines()
        .take(25)
        .map(|line| format!("{line}\n"))
        .collect();
    expect![[r#"
        problems: 1, gains: 2, trade-offs: 0, unknown: 38, fine: 0, not applicable: 2
        server: no running server was found; give --data or --pid to name a server

        problem  tcp.overflows: overflows of the backlogs of listening sockets
          found     since boot, 7 handshakes found a full backlog (counted over the sockets of all programs); run pelton doctor again to see if the number still grows
          evidence  ListenOverflows: 7
          evidence  ListenDrops: 7
          evidence  : unknown: not read
          gain      no published measurement of the effect of overflows is known; an overflow delays a client by at least a second, or refuses its connection
          for       responses of all sizes, if many new connections arrive at once
          risk      longer backlogs hold more memory during an attack
          change    see the row tcp.backlog for the limits; if the server has too few processors, see the rows app.threads and app.throttled (class S)
          undo      see the rows tcp.backlog, app.threads and app.throttled

        gain  tcp.backlog: backlogs of listening sockets
          found     at most 128 connections may wait to be accepted; the server requests 4096
          evidence  somaxconn: 128
          evidence  tcp_max_syn_backlog: 4096
          gain      no published measurement of the effect of the length of backlogs is known
          for       responses of all sizes, if many new connections arrive at once
          risk      longer backlogs hold more memory during an attack
          change    sysctl -w net.core.somaxconn=4096 net.ipv4.tcp_max_syn_backlog=4096, then restart the server (class T)
          undo      set somaxconn and tcp_max_syn_backlog to their previous values with sysctl -w, then restart the server

        gain  kernel.version: kernel version, for the features that the server uses
    "#]].assert_eq(&begin);
}

#[test]
fn only_terminals_get_colours() {
    check(
        Rows::Findings,
        Style::Plain,
        "tcp.overflows:",
        expect!["problem  tcp.overflows: overflows of the backlogs of listening sockets"],
    );
    check(
        Rows::Findings,
        Style::Coloured,
        "tcp.overflows:",
        expect![
            "ESC[31mproblemESC[0m  tcp.overflows: overflows of the backlogs of listening sockets"
        ],
    );
}

#[test]
fn rows_without_a_finding_are_short_unless_asked_for() {
    check(
        Rows::Findings,
        Style::Plain,
        "cpu.clocksource",
        expect!["  cpu.clocksource    : not read"],
    );
    check(
        Rows::All,
        Style::Plain,
        "cpu.clocksource",
        expect![
            "unknown  cpu.clocksource: clock source that programs can read without a system call"
        ],
    );
}

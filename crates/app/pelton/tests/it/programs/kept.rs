//! Persistent programs: the examples of the documentation.

use std::process::Command;

use super::foreign::build;
use super::{cells, program, serve};
use crate::backends::backends;
use crate::harness::Home;

const DOCUMENT: &str = include_str!("../../../../../../docs/cells.md");

/// Returns the first example in `language` below `heading` in `docs/cells.md`.
pub(super) fn example(heading: &str, language: &str) -> &'static str {
    let begin = format!("```{language}\n");
    let (_, below) = DOCUMENT.split_once(heading).expect("the document has it");
    let (_, behind) = below.split_once(&begin).expect("it has one");
    behind.split_once("```").expect("which ends").0
}

/// Checks promise P1 of the specification: with `ephemeral = false`, a program keeps its state
/// between requests. `/-/api/cells` reports this setting in `posture`.
#[test]
fn p1_a_program_is_kept_where_its_table_says_so() {
    let home = Home::new();
    let in_c = build(
        &home,
        example("### Programs that are kept", "c"),
        "program.c",
        Command::new("cc").args(["-O1", "-static"]),
    );
    let other = Home::new();
    let in_rust = build(
        &other,
        example("### Programs that are kept", "rust"),
        "program.rs",
        Command::new("rustc").args(["-O", "-C", "target-feature=+crt-static"]),
    );
    for backend in backends() {
        let home = Home::new();
        let kept = "ephemeral = false\nconcurrency = 1\n";
        let table = program("c", &in_c, kept) + &program("rust", &in_rust, kept);
        let server = serve(&home, backend, &table);
        for name in ["c", "rust"] {
            // The warm-up was the program's first request, so the count of the next one is 2.
            for count in 2..=6 {
                let response = server.get(&format!("/x/{name}?{count}"));
                assert_eq!(response.text(), count.to_string(), "{backend}: {name}");
                assert_eq!(response.content_type(), "text/plain");
            }
            let stats = cells(&server);
            let stats = &stats["programs"][name];
            assert_eq!(stats["posture"]["ephemeral"], false);
            assert_eq!(
                (&stats["invocations"], &stats["resets"]),
                (&6.into(), &0.into())
            );
        }
        let status = server.get("/-/status");
        assert_eq!(status.content_type(), "text/plain; charset=utf-8");
        let (conversions, programs) = status
            .text()
            .split_once("\nprogram c\n")
            .expect("the status lists the program");
        assert!(conversions.starts_with("conversions\n"), "{conversions}");
        assert!(conversions.contains("wiped            after every job"));
        for line in ["syscall filter", "landlock", "namespaces", "huge pages"] {
            assert!(conversions.contains(line), "{line}");
        }
        assert!(programs.contains(&format!("backend          {backend}")));
        assert!(programs.contains("wiped            never"));
        assert_eq!(
            server.logged("INFO", "cells"),
            3,
            "conversions and two programs"
        );
        server.stop();
    }
}

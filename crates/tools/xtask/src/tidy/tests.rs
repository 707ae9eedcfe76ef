//! One test per rule, with code that breaks the rule and code that it accepts.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::{Expect, expect};

use super::*;
use crate::workspace::{Import, Member};

/// Checks the findings of one rule on files, which are given as path and content.
fn check(rule: &str, files: &[(&str, &str)], expect: Expect) {
    check_workspace(rule, Workspace::default(), files, expect);
}

fn check_workspace(rule: &str, workspace: Workspace, files: &[(&str, &str)], expect: Expect) {
    let files = files.iter();
    let files = files.map(|(path, text)| TreeFile::new(path, text.as_bytes().to_vec()));
    let tree = Tree {
        workspace,
        files: files.collect(),
    };
    let mut rules = RULES.iter().copied().flatten();
    let rule = rules
        .find(|row| row.name == rule)
        .expect("the rule is in the table");
    let found = (rule.check)(&tree).into_iter();
    let found = found.map(|Finding { path, line, what }| format!("{path}:{line} {what}\n"));
    expect.assert_eq(&found.collect::<String>());
}

/// Returns a workspace of member crates, which are given as name and imports; `dev:` marks a
/// dev-dependency.
fn workspace(crates: &[(&str, &[&str])]) -> Workspace {
    let mut links = BTreeMap::new();
    let mut members = Vec::new();
    for (name, imports) in crates {
        let imports = imports.iter().map(|import| Import {
            name: import.trim_start_matches("dev:").to_owned(),
            dev: import.starts_with("dev:"),
        });
        let imports: Vec<_> = imports.collect();
        let linked = imports.iter().filter(|import| !import.dev);
        let linked: BTreeSet<_> = linked.map(|import| import.name.clone()).collect();
        links.insert((*name).to_owned(), linked);
        let roots = vec![format!("crates/any/{name}/src/lib.rs")];
        members.push(Member {
            name: (*name).to_owned(),
            manifest: format!("crates/any/{name}/Cargo.toml"),
            imports,
            roots,
        });
    }
    Workspace { members, links }
}

#[test]
fn layer() {
    let crates = workspace(&[
        ("sandbox-protocol", &[]),
        ("image-plan", &["sandbox-protocol", "dev:proptest"]),
        ("sandbox", &["sandbox-protocol", "dev:testkit"]),
        ("server", &["sandbox", "testkit", "dev:pelton"]),
        ("pelton", &["server", "sandbox"]),
        ("testkit", &["server"]),
        ("conform", &["testkit"]),
        ("turbine", &["sandbox-protocol"]),
    ]);
    check_workspace(
        "layer",
        crates,
        &[],
        expect![[r#"
            crates/any/image-plan/Cargo.toml:0 image-plan (layer 1) imports sandbox-protocol (layer 1)
            crates/any/server/Cargo.toml:0 server imports testkit outside its tests
            crates/any/server/Cargo.toml:0 server (layer 4) imports pelton (layer 5)
            crates/any/turbine/Cargo.toml:0 the crate turbine has no layer
        "#]],
    );
}

#[test]
fn codec_apart() {
    let mut crates = workspace(&[
        ("codec", &["libwebp-sys"]),
        ("worker", &["codec"]),
        ("pelton", &["server", "dev:codec"]),
        ("server", &["thumbnailer"]),
    ]);
    check_workspace("codec-apart", crates.clone(), &[], expect![""]);

    let through = BTreeSet::from(["libaom-sys".to_owned()]);
    crates.links.insert("thumbnailer".to_owned(), through);
    check_workspace(
        "codec-apart",
        crates,
        &[],
        expect![[r#"
            crates/any/pelton/Cargo.toml:0 links pelton → server → thumbnailer → libaom-sys
        "#]],
    );
}

#[test]
fn pure() {
    let impure = "
        use std::{io, fs::File};
        use std::thread as strands;
        pub fn now() -> std::time::Instant { std::time::Instant::now() }
        pub fn deadline(now: Instant) -> Instant { now }
        #[cfg(test)]
        mod tests { fn read() { std::fs::read(\"a\").unwrap(); } }
    ";
    check(
        "pure",
        &[
            ("crates/http/http1/src/date.rs", impure),
            ("crates/http/http1/src/tests.rs", impure),
            ("crates/http/reactor/src/clock.rs", impure),
        ],
        expect![[r#"
            crates/http/http1/src/date.rs:2 uses std::fs
            crates/http/http1/src/date.rs:4 uses Instant::now
        "#]],
    );
}

#[test]
fn forbid_unsafe() {
    check_workspace(
        "forbid-unsafe",
        workspace(&[("sandbox-protocol", &[]), ("server", &[]), ("sandbox", &[])]),
        &[
            (
                "crates/any/sandbox-protocol/src/lib.rs",
                "#![forbid(unsafe_code)]",
            ),
            ("crates/any/server/src/lib.rs", "#![deny(unsafe_code)]"),
            ("crates/any/sandbox/src/lib.rs", "mod memory;"),
        ],
        expect![[r#"
            crates/any/server/src/lib.rs:0 the crate does not forbid unsafe code
        "#]],
    );
}

#[test]
fn manifest() {
    let root =
        "[workspace.dependencies]\nbytes = \"1\"\nrayon = \"1\"\n\n[profile.release]\nlto = true\n";
    check_workspace(
        "manifest",
        workspace(&[("server", &["bytes", "tokio"])]),
        &[
            ("Cargo.toml", root),
            (
                "crates/http/server/Cargo.toml",
                "version.workspace = true\nbytes.workspace = true\ntokio = { version = \"1\" }\n",
            ),
            // The fuzz targets are a separate workspace, whose manifest may state versions.
            ("fuzz/Cargo.toml", "libfuzzer-sys = { version = \"0.4\" }\n"),
        ],
        expect![[r#"
            Cargo.toml:3 no crate uses rayon
            crates/http/server/Cargo.toml:3 this dependency has a version of its own
        "#]],
    );
}

/// Returns a function of `lines` lines whose body begins with `first`.
fn function(lines: usize, first: &str) -> String {
    let body = "    step();\n".repeat(lines - 3);
    format!("fn long() {{\n    {first}\n{body}}}\n")
}

#[test]
fn long_function() {
    check(
        "long-function",
        &[
            ("a.rs", &function(70, "")),
            ("b.rs", &function(71, "")),
            (
                "c.rs",
                &function(71, "// tidy: long because it is a list of steps"),
            ),
            ("d.rs", &format!("#[test]\n{}", function(71, ""))),
            (
                "e.rs",
                &format!("// tidy: long because it is a list\n{}", function(71, "")),
            ),
            (
                "f.rs",
                &format!("// tidy: long because of g\n\n{}", function(71, "")),
            ),
        ],
        expect![[r#"
            b.rs:1 `long` has 71 lines
            f.rs:3 `long` has 71 lines
        "#]],
    );
}

#[test]
fn excuses() {
    let long = function(71, "// tidy: long because it is a list of steps");
    let short = "fn short() {}\n";
    check(
        "excuses",
        &[("a.rs", &long), ("b.rs", &short.repeat(49))],
        expect![""],
    );
    check(
        "excuses",
        &[("a.rs", &long), ("b.rs", &short.repeat(48))],
        expect![[r#"
            crates:0 1 of 49 functions are longer than 70 lines
        "#]],
    );
}

#[test]
fn many_parameters() {
    let text = "
        fn five(a: u8, b: u8, c: u8, d: u8, e: u8) {}
        fn six(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8) {}
        extern \"C\" fn called_from_c(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8) {}
        impl Own { fn five(&self, a: u8, b: u8, c: u8, d: u8, e: u8) {} }
        impl Visit for Own { fn six(&self, a: u8, b: u8, c: u8, d: u8, e: u8, f: u8) {} }
        trait Visit { fn six(&self, a: u8, b: u8, c: u8, d: u8, e: u8, f: u8); }
    ";
    check(
        "many-parameters",
        &[("a.rs", text)],
        expect![[r#"
            a.rs:3 `six` takes 6 parameters
            a.rs:7 `six` takes 6 parameters
        "#]],
    );
}

#[test]
fn long_file() {
    let lines = "\n".repeat(1000);
    check(
        "long-file",
        &[
            ("a.rs", &lines),
            ("b.rs", &format!("//! A table.\n{lines}")),
            (
                "c.rs",
                &format!("//! A table.\n// tidy: long because it is a table\n{lines}"),
            ),
        ],
        expect![[r#"
            b.rs:0 has 1001 lines
        "#]],
    );
}

#[test]
fn long_main() {
    check(
        "long-main",
        &[
            ("crates/tools/lab/src/main.rs", &"\n".repeat(200)),
            ("crates/app/pelton/src/main.rs", &"\n".repeat(201)),
            ("crates/app/pelton/src/serve.rs", &"\n".repeat(201)),
        ],
        expect![[r#"
            crates/app/pelton/src/main.rs:0 has 201 lines
        "#]],
    );
}

#[test]
fn lib_logic() {
    let text = "mod a;\npub use a::A;\nfn helper() {}\nimpl A {}\n";
    check(
        "lib-logic",
        &[
            ("crates/sandbox/sandbox-protocol/src/lib.rs", text),
            ("crates/sandbox/sandbox-protocol/src/a.rs", text),
        ],
        expect![[r#"
            crates/sandbox/sandbox-protocol/src/lib.rs:3 contains `fn helper`
            crates/sandbox/sandbox-protocol/src/lib.rs:4 contains `impl`
        "#]],
    );
}

#[test]
fn crate_doc() {
    let full = "//! Messages between server and cell: one job out, one reply back. Bytes only.\n";
    check_workspace(
        "crate-doc",
        workspace(&[("sandbox-protocol", &[]), ("server", &[]), ("pixel", &[])]),
        &[
            ("crates/any/sandbox-protocol/src/lib.rs", full),
            ("crates/any/server/src/lib.rs", "//! Server.\n"),
            (
                "crates/any/pixel/src/lib.rs",
                "// A comment that is no documentation of this crate, be it as long as it may.\n",
            ),
        ],
        expect![[r#"
            crates/any/server/src/lib.rs:0 the file does not begin with documentation of the crate
            crates/any/pixel/src/lib.rs:0 the file does not begin with documentation of the crate
        "#]],
    );
}

#[test]
fn safety() {
    let text = "
        // SAFETY: no other process maps `slot`: `recycle` runs only
        //         when the child that held it was reaped.
        // SAFETY: good pointer.
        // SAFETY: we pass valid parameters, as the manual page of the call asks us to do.
        let text = \"// SAFETY: none\";
    ";
    check(
        "safety",
        &[("a.rs", &format!("fn f() {{ {text} }}"))],
        expect![[r#"
            a.rs:4 proves nothing: good pointer.
            a.rs:5 proves nothing: we pass valid parameters, as the manual page of the call asks us to do.
        "#]],
    );
}

#[test]
fn unfinished() {
    let text = "
        //! Crate. FIXME: say more
        /// Reads TODOs from a list.
        fn read() {
            let list = \"TODO\"; /* the list,
                XXX in two lines */
        }
    ";
    check(
        "unfinished",
        &[("a.rs", text.trim_start())],
        expect![[r#"
            a.rs:1 says FIXME
            a.rs:5 says XXX
        "#]],
    );
}

#[test]
fn passing() {
    check(
        "passing",
        &[(
            "a.rs",
            "fn f() {\n dbg!(1);\n todo!();\n std::unimplemented!();\n println!(\"dbg!\");\n}",
        )],
        expect![[r#"
            a.rs:2 calls dbg!
            a.rs:3 calls todo!
            a.rs:4 calls unimplemented!
        "#]],
    );
}

#[test]
fn allow_reason() {
    let text = "
        #[allow(dead_code)]
        fn a() {}
        #[allow(dead_code, reason = \"C calls it\")]
        fn b() {}
        #[expect(unused)]
        fn c() {}
        #[derive(Debug)]
        struct D;
    ";
    check(
        "allow-reason",
        &[("a.rs", text)],
        expect![[r#"
            a.rs:2 the attribute allow(dead_code) states no reason
            a.rs:6 the attribute expect(unused) states no reason
        "#]],
    );
}

#[test]
fn ignored_test() {
    check(
        "ignored-test",
        &[(
            "a.rs",
            "#[test]\n#[ignore]\nfn a() {}\n#[test]\n#[ignore = \"slow\"]\nfn b() {}",
        )],
        expect![[r#"
            a.rs:2 a test is marked with #[ignore]
            a.rs:5 a test is marked with #[ignore]
        "#]],
    );
}

#[test]
fn machine_path() {
    // The paths are written in parts, because the rule checks this file too.
    let [home, work] = ["home", "work"].map(|folder| format!("/{folder}/x"));
    check(
        "machine-path",
        &[
            ("a.toml", &format!("root = \"{home}\"\n")),
            (
                "b.md",
                &format!("see https://example.com{work} and art{work}\n"),
            ),
            ("c.sh", &format!("cd {work}\n")),
        ],
        expect![[r#"
            a.toml:1 the line contains an absolute path in the folder /home
            c.sh:1 the line contains an absolute path in the folder /work
        "#]],
    );
}

#[test]
fn name() {
    check(
        "name",
        &[
            ("crates/sandbox/sandbox/src/helper.rs", "struct Helper;"),
            ("crates/sandbox/sandbox/src/pool_helpers.rs", ""),
            ("crates/misc/src/lib.rs", ""),
            (
                "crates/sandbox/sandbox/src/slot.rs",
                "struct SlotManager;\ntype Commons = u8;\nenum Commonplace {}",
            ),
        ],
        expect![[r#"
            crates/sandbox/sandbox/src/pool_helpers.rs:0 is called pool_helpers
            crates/misc/src/lib.rs:0 is called misc
            crates/sandbox/sandbox/src/slot.rs:1 a type is called SlotManager
        "#]],
    );
}

#[test]
fn weight() {
    check(
        "weight",
        &[
            ("a.jpg", &"x".repeat(256 * 1024)),
            ("b.jpg", &"x".repeat(300 * 1024)),
        ],
        expect![[r#"
            b.jpg:0 has 300 KiB
        "#]],
    );
}

#[test]
fn doc_start() {
    check(
        "doc-start",
        &[(
            "crates/any/new/src/a.rs",
            "/// Whether it runs.\nconst A: u8 = 0;\n/// Bounds.\n/// What else.\nconst B: u8 = 0;\n// How it works.\n",
        )],
        expect![[r#"
            crates/any/new/src/a.rs:1 begins with Whether
        "#]],
    );
}

#[test]
fn plain_word() {
    check(
        "plain-word",
        &[(
            "crates/any/new/src/a.rs",
            "// Nobody waits.\n// There is no key, and it is no longer `told`.\n// Toldo.\n",
        )],
        expect![[r#"
            crates/any/new/src/a.rs:1 says `nobody`: write "no client", "no caller" or "no thread"
        "#]],
    );
}

#[test]
fn plain_document() {
    check(
        "plain-document",
        &[
            (
                "docs/new.md",
                "Whoever reads it.\n```\ntold\n```\nRuns as `nobody`.\n",
            ),
            ("docs/STYLE.md", "Not told.\n"),
        ],
        expect![[r#"
            docs/new.md:1 says `whoever`: name the client, caller, user or thread
        "#]],
    );
}

#[test]
fn plain_message() {
    let code = "fn a() {\n    log(\"the client is told why\");\n    log(\"told\");\n}\n";
    check(
        "plain-message",
        &[
            ("crates/any/new/src/a.rs", code),
            ("crates/any/new/src/tests.rs", code),
        ],
        expect![[r#"
            crates/any/new/src/a.rs:2 says `told`: say which value is passed, sent, reported or logged
        "#]],
    );
}

#[test]
fn comment_width() {
    let long = format!("// {}\n// https://{}\n", "a".repeat(98), "b".repeat(98));
    check(
        "comment-width",
        &[("crates/any/new/src/a.rs", &long)],
        expect![[r#"
            crates/any/new/src/a.rs:1 has 101 columns
        "#]],
    );
}

#[test]
fn page_line() {
    let (wide, widest) = ("x".repeat(160), "x".repeat(161));
    check(
        "page-line",
        &[
            ("web/src/a.tsx", &format!("{wide}\n{widest}\n")),
            ("web/dist/a.js", &widest),
            ("web/src/i18n/en.json", &widest),
        ],
        expect![[r#"
            web/src/a.tsx:2 has 161 columns
        "#]],
    );
}

#[test]
fn page_file() {
    check(
        "page-file",
        &[
            ("web/test/a.test.ts", &"\n".repeat(401)),
            ("web/e2e/b.ts", &"\n".repeat(400)),
            ("web/dist/c.js", &"\n".repeat(401)),
        ],
        expect![[r#"
            web/test/a.test.ts:0 has 401 lines
        "#]],
    );
}

#[test]
fn page_word() {
    check(
        "page-word",
        &[(
            "web/src/a.ts",
            "/**\n * Nobody waits.\n */\n// There\n// there\n// is no key.\nconst nobody = 1;\n",
        )],
        expect![[r#"
            web/src/a.ts:2 says `nobody`: write "no client", "no caller" or "no thread"
        "#]],
    );
}

#[test]
fn syntax() {
    check(
        "syntax",
        &[("a.rs", "fn a() {"), ("b.md", "fn a() {")],
        expect![[r#"
            a.rs:0 cannot parse string into token stream
        "#]],
    );
}

#[test]
fn every_rule_has_a_test_and_a_cure() {
    let tests = include_str!("tests.rs");
    for rule in RULES.iter().copied().flatten() {
        let test = format!("#[test]\nfn {}()", rule.name.replace('-', "_"));
        assert!(tests.contains(&test), "{} has no test", rule.name);
        assert!(!rule.cure.is_empty(), "{} has no cure", rule.name);
    }
}

/// Six files in a circle: each file imports the next one, and the last file imports the first.
const RING: &[(&str, &str)] = &[
    (
        "crates/any/turbine/src/lib.rs",
        "mod a; mod b; mod c; mod d; mod e; mod f; pub use b::B;",
    ),
    (
        "crates/any/turbine/src/a.rs",
        "use crate::B; pub(crate) struct A(B);",
    ),
    (
        "crates/any/turbine/src/b.rs",
        "pub struct B; pub(crate) fn c() { super::c::call() }",
    ),
    (
        "crates/any/turbine/src/c.rs",
        "use super::d::D; pub(crate) struct C(D);",
    ),
    (
        "crates/any/turbine/src/d.rs",
        "use crate::{e}; pub(crate) struct D(e::E);",
    ),
    (
        "crates/any/turbine/src/e.rs",
        "pub(crate) struct E(crate::f::F);",
    ),
    (
        "crates/any/turbine/src/f.rs",
        "use super::a::A as First; pub(crate) struct F(First);",
    ),
];

#[test]
fn circle() {
    check(
        "circle",
        RING,
        expect![[r#"
            crates/any/turbine/src/a.rs:0 the file is in an import cycle of 6 files: a, b, c, d, e, f; without the import of b in a, 5 files remain in a cycle
        "#]],
    );
    // Neither an import in test code nor `pub(super)`, which names a parent module, makes a circle.
    let mut files = RING.to_vec();
    files[6].1 = "#[cfg(test)] mod tests { use super::super::a::A; } pub(super) struct F;";
    check("circle", &files, expect![""]);
    // `super::a` is a function here. It has the name of a module, but a call of it is not an import
    // of the module.
    files[6].1 = "pub(crate) fn f() { super::a() }";
    check("circle", &files, expect![""]);
}

#[test]
fn a_circle_of_five_files_is_allowed() {
    let mut files = RING.to_vec();
    assert!(files[5].0.ends_with("e.rs"));
    files[5].1 = "pub(crate) struct E(crate::a::A);";
    check("circle", &files, expect![""]);
}

//! Tests of the configuration as users see it: inputs, and the resolved values.

mod imgproxy;
mod wsg;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{Assignment, Inputs, KEYS, Key, Raw, Source, resolve};

/// Inputs of a test: a configuration file (its name and text), variables and flags.
#[derive(Default)]
struct Written<'a> {
    file: Option<(&'a str, &'a str)>,
    variables: &'a [(&'a str, &'a str)],
    flags: &'a [(&'a str, &'a str)],
}

/// Resolves the inputs. Returns the errors, if there are any. Otherwise returns every key with a
/// non-default value, its value and its origin, followed by the notes.
fn outcome(written: &Written<'_>) -> String {
    let text_of = |(name, text): (&str, &str)| (PathBuf::from(name), text.to_owned());
    let flag = |(name, value): &(&str, &str)| Assignment {
        key: Key::named(name).expect("a test's flag names a key"),
        raw: Raw::Word(value.into()),
        source: Source::Flag(format!("--{name}")),
    };
    let resolved = resolve(Inputs {
        file: written.file.map(text_of),
        variables: written
            .variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        flags: written.flags.iter().map(flag).collect(),
    });
    let mut out = String::new();
    match resolved {
        Ok(resolved) => {
            for key in KEYS {
                let (value, source) = ((key.show)(&resolved.config), resolved.source(key));
                if *source != Source::Default {
                    writeln!(out, "{} = {value}  from {source}", key.name).unwrap();
                }
            }
            for note in &resolved.notes {
                writeln!(out, "{:?}: {note}", note.kind).unwrap();
            }
        }
        Err(errors) => {
            for error in errors {
                writeln!(out, "{error}").unwrap();
            }
        }
    }
    out
}

fn check(written: Written<'_>, expected: Expect) {
    expected.assert_eq(&outcome(&written));
}

fn check_toml(text: &str, expected: Expect) {
    check(
        Written {
            file: Some(("pelton.toml", text)),
            ..Written::default()
        },
        expected,
    );
}

fn check_json(text: &str, expected: Expect) {
    check(
        Written {
            file: Some(("config.json", text)),
            ..Written::default()
        },
        expected,
    );
}

fn check_variables(variables: &[(&str, &str)], expected: Expect) {
    check(
        Written {
            variables,
            ..Written::default()
        },
        expected,
    );
}

#[test]
fn each_way_overrides_the_ones_before() {
    let file = Some(("pelton.toml", "quality = 10\n"));
    check(
        Written {
            file,
            ..Written::default()
        },
        expect![[r#"
            quality = 10  from pelton.toml:1
        "#]],
    );
    check(
        Written {
            file,
            variables: &[("WEBP_QUALITY", "80")],
            ..Written::default()
        },
        expect![[r#"
            quality = 70  from WEBP_QUALITY
            queries = webp-server-go  from WEBP_QUALITY
            Taken: WEBP_QUALITY 80 is a quality on WebP's own scale; Pelton uses 70 instead, because a number on Pelton's scale looks the same in every format
        "#]],
    );
    check(
        Written {
            file,
            variables: &[("PELTON_QUALITY", "30"), ("WEBP_QUALITY", "80")],
            ..Written::default()
        },
        expect![[r#"
            quality = 30  from PELTON_QUALITY
            queries = webp-server-go  from WEBP_QUALITY
            Taken: WEBP_QUALITY 80 is a quality on WebP's own scale; Pelton uses 70 instead, because a number on Pelton's scale looks the same in every format
        "#]],
    );
    check(
        Written {
            file,
            variables: &[("PELTON_QUALITY", "30"), ("WEBP_QUALITY", "80")],
            flags: &[("quality", "40")],
        },
        expect![[r#"
            quality = 40  from --quality
            queries = webp-server-go  from WEBP_QUALITY
            Taken: WEBP_QUALITY 80 is a quality on WebP's own scale; Pelton uses 70 instead, because a number on Pelton's scale looks the same in every format
        "#]],
    );
}

#[test]
fn the_documented_example_of_programs_is_read() {
    let docs = include_str!("../../../../docs/cells.md");
    let (_, rest) = docs.split_once("```toml\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    check_toml(
        example,
        expect![[r#"
            programs = { proof = { programs = ["resize", "watermark"], route = "/x/proof", on_error = "/sorry.png" }, resize = { path = "/srv/bin/resize", route = "/x/resize", on_error = "input", max_request_time = "2s" }, watermark = { path = "/srv/bin/watermark", main_arguments = ["--text", "proof"], environment = ["LANG=C"], allowed_paths = ["/srv/fonts/plain.ttf"] } }  from pelton.toml:1
        "#]],
    );
}

/// Every key of a program's table changes the field with the name of the key, and the displayed
/// value can be parsed again.
#[test]
fn every_key_of_a_program_is_read_and_shown() {
    const ALL: &str = "{ a = { path = \"/a\", route = \"/x/a\", on_error = \"b\", main_arguments = [\"-q\", \"\\\"\"], \
        environment = [\"A=1\"], allowed_paths = [\"/c\", \"/d\"], concurrency = 9, hugepages = false, \
        request_hugepages = false, verbose_pagetables = true, max_boot_time = \"3s\", max_request_time = \"250ms\", \
        max_memory = \"32MiB\", max_work_memory = 1000, max_output = \"7KiB\", warmup = 0 }, b = { path = \"7\" }, \
        c = { programs = [\"a\", \"b\"] } }";
    check_variables(
        &[("PELTON_PROGRAMS", ALL)],
        expect![[r#"
            programs = { a = { path = "/a", route = "/x/a", on_error = "b", main_arguments = ["-q", "\""], environment = ["A=1"], allowed_paths = ["/c", "/d"], concurrency = 9, hugepages = false, request_hugepages = false, verbose_pagetables = true, max_boot_time = "3s", max_request_time = "250ms", max_memory = "32MiB", max_work_memory = 1000, max_output = "7KiB", warmup = 0 }, b = { path = "7" }, c = { programs = ["a", "b"] } }  from PELTON_PROGRAMS
        "#]],
    );
    check_toml(
        "[programs.a]\npath = \"/a\"\nenvironment = { A = \"1\", B = \"2\" }\n",
        expect![[r#"
            programs = { a = { path = "/a", environment = ["A=1", "B=2"] } }  from pelton.toml:1
        "#]],
    );
}

#[test]
fn programs_that_make_no_sense_are_refused() {
    let mut outcomes = String::new();
    for text in [
        "a = 1",
        "a = { path = 1 }",
        "a = { pathh = \"/a\" }",
        "a = { path = \"/a\", warmup = -1 }",
        "\"a b\" = { path = \"/a\" }",
        "a = {}",
        "a = { path = \"/a\", programs = [\"a\"] }",
        "a = { path = \"/a\", route = \"/\" }",
        "a = { path = \"/a\", route = \"/-/a\" }",
        "a = { path = \"/a\", route = \"x/a\" }",
        "a = { path = \"/a\", route = \"/x/a?b\" }",
        "a = { path = \"/a\", environment = [\"A\"] }",
        "a = { path = \"/a\", ephemeral = false, max_state = \"1MiB\" }",
        "a = { path = \"/a\", on_error = \"b\" }",
        "a = { programs = [\"b\"] }",
        "a = { path = \"/a\", route = \"/x\" }, b = { path = \"/b\", route = \"/x\" }",
        "input = { path = \"/a\" }",
    ] {
        let file = format!("programs = {{ {text} }}");
        outcomes += &outcome(&Written {
            file: Some(("pelton.toml", &file)),
            ..Written::default()
        });
    }
    expect![[r#"
        a: expected a table, found 1
        a.path: expected a path, found 1
        a: unknown key: pathh; the nearest known key is path
        a.warmup: expected a whole number, found -1
        "a b" is not a valid name: use letters, digits, - and _
        a: exactly one of path and programs must be set
        a: exactly one of path and programs must be set
        a: route: expected a path such as "/x/resize"; / and paths below /-/ are reserved
        a: route: expected a path such as "/x/resize"; / and paths below /-/ are reserved
        a: route: expected a path such as "/x/resize"; / and paths below /-/ are reserved
        a: route: expected a path such as "/x/resize"; / and paths below /-/ are reserved
        a: environment: expected NAME=VALUE
        a: max_state is only for ephemeral programs: with ephemeral = false a program keeps its own state
        a: no program is called b
        a: no program is called b
        b: another program has the same route
        input: a program cannot have the name "input", because on_error = "input" sends the body of the request back
    "#]]
    .assert_eq(&outcomes.replace("pelton: pelton.toml:1: programs: ", ""));
}

/// Non-default value of every key: as written in a file, and as written in a variable or flag.
const EVERY_KEY: &[(&str, &str, &str)] = &[
    ("root", "\"/srv/photos\"", "/srv/photos"),
    ("listen", "\"[::1]:80\"", "[::1]:80"),
    ("data", "\"/var/lib/pelton\"", "/var/lib/pelton"),
    ("quality", "82", "82"),
    ("formats", "[\"webp\"]", "webp"),
    ("allowed_types", "[\"pdf\", \"txt\"]", "pdf,txt"),
    ("only_types", "[\"jpg\", \"pdf\"]", "jpg,pdf"),
    ("active_types", "[\"html\"]", "html"),
    (
        "headers",
        "{ \"X-Frame-Options\" = \"DENY\" }",
        "x-frame-options: DENY",
    ),
    (
        "tags",
        "{ summer = [\"/2024/july\", \"/2025/july\"] }",
        "summer=/2024/july|summer=/2025/july",
    ),
    (
        "cors_origins",
        "[\"https://example.org\"]",
        "https://example.org",
    ),
    ("resource_policy", "\"same-site\"", "same-site"),
    ("queries", "\"meta-only\"", "meta-only"),
    ("strict_query", "true", "true"),
    (
        "img_map",
        "{ \"/a\" = \"/srv/a\", \"/a/b/\" = \"b\" }",
        "/a/b=b,/a=/srv/a",
    ),
    (
        "programs",
        "{ a = { path = \"/a\", route = \"/x/a\" } }",
        "{ a = { path = \"/a\", route = \"/x/a\" } }",
    ),
    ("improve", "false", "false"),
    ("max_age", "\"30d\"", "30d"),
    ("max_age_quick", "\"0s\"", "0s"),
    ("cores", "3", "3"),
    ("steering", "\"incoming-cpu\"", "incoming-cpu"),
    ("proxies", "[\"10.0.0.0/8\", \"::1\"]", "10.0.0.0/8,::1"),
    ("require_login", "\"music\"", "music"),
    (
        "hosts",
        "[\"music.example.org\", \"*.example.net\"]",
        "music.example.org,*.example.net",
    ),
    (
        "origins",
        "[\"https://player.example.org\"]",
        "https://player.example.org",
    ),
    ("admin_listen", "\"127.0.0.1:9090\"", "127.0.0.1:9090"),
    (
        "admin_token_file",
        "\"/etc/pelton.token\"",
        "/etc/pelton.token",
    ),
    ("access_log", "\"/var/log/a.log\"", "/var/log/a.log"),
    ("page_dir", "\"/srv/page\"", "/srv/page"),
    ("log_level", "\"debug\"", "debug"),
    ("tls.cert", "[\"/a.pem\", \"b.pem\"]", "/a.pem,b.pem"),
    ("tls.key", "\"/a.key\"", "/a.key"),
    ("tls.listen", "\"[::]:443\"", "[::]:443"),
    ("tls.redirect", "443", "443"),
    ("tls.check_time", "\"1h\"", "1h"),
    ("store.listen", "\"127.0.0.1:6380\"", "127.0.0.1:6380"),
    ("store.url", "\"redis://u:p@h/2\"", "redis://u:p@h:6379/2"),
    ("store.max_memory", "\"32MiB\"", "32MiB"),
    ("store.timeout", "\"250ms\"", "250ms"),
    ("cell.concurrency", "5", "5"),
    ("cell.spare", "0", "0"),
    ("cell.max_queue_time", "\"250ms\"", "250ms"),
    ("cell.max_boot_time", "\"9s\"", "9s"),
    ("cell.max_request_time", "\"2min\"", "2min"),
    ("cell.max_memory", "\"100MiB\"", "100MiB"),
    ("cell.max_work_memory", "\"600MiB\"", "600MiB"),
    ("cell.max_output", "\"8MiB\"", "8MiB"),
    ("cell.jobs_per_zygote", "7", "7"),
    ("cell.max_restart_pause", "\"1s\"", "1s"),
    ("cell.min_isolation", "\"landlock\"", "landlock"),
    ("cell.deprioritize_after", "\"50ms\"", "50ms"),
    ("cell.crash_dir", "\"/a\"", "/a"),
    ("cell.crash_jobs_max", "3", "3"),
    ("cell.crash_bytes_max", "\"1MiB\"", "1MiB"),
    ("cell.hugepages", "false", "false"),
    ("cell.request_hugepages", "false", "false"),
    ("cell.backend", "\"kvm\"", "kvm"),
    ("cell.ephemeral", "false", "false"),
    ("library.watch", "\"poll\"", "poll"),
    ("library.settle_time", "\"1s\"", "1s"),
    ("library.poll_interval", "\"2s\"", "2s"),
    ("library.rescan_time", "\"0s\"", "0s"),
    ("library.split_artists", "[\" x \", \";\"]", "\" x \",\";\""),
    ("library.split_genres", "[]", ""),
    ("library.split_exceptions", "[\"A; B\"]", "\"A; B\""),
    ("library.cover_track", "[\"embedded\"]", "embedded"),
    (
        "library.cover_disc",
        "[\"cd*.*\", \"album\"]",
        "cd*.*,album",
    ),
    ("library.cover_album", "[\"any\"]", "any"),
    ("library.cover_artist", "[\"disc\"]", "disc"),
    ("library.cover_sizes", "[64, 640]", "64,640"),
    ("library.picture_sizes", "[120]", "120"),
    ("library.prefetch_idle_time", "\"5s\"", "5s"),
    ("library.covers_bytes_max", "\"1MiB\"", "1MiB"),
    ("transcoding.concurrency", "3", "3"),
    ("transcoding.waiting_max", "7", "7"),
    ("transcoding.max_queue_time", "\"9s\"", "9s"),
    ("transcoding.longest", "\"2h\"", "2h"),
    ("transcoding.max_memory", "\"64MiB\"", "64MiB"),
    ("limits.variants_bytes_max", "\"1TiB\"", "1TiB"),
    ("limits.hot_bytes_max", "0", "0"),
    ("limits.convert_bytes_max", "\"2GiB\"", "2GiB"),
    ("limits.queue_max", "0", "0"),
    ("limits.queue_time_max", "\"3s\"", "3s"),
    ("limits.waiters_max", "10", "10"),
    ("limits.improving_max", "0", "0"),
    ("limits.comparisons_max", "1", "1"),
    ("limits.program_queue_max", "9", "9"),
    ("limits.program_check_time", "\"1s\"", "1s"),
    ("limits.facts_max", "100", "100"),
    ("limits.placeholders_max", "100", "100"),
    ("limits.memory_body_bytes_max", "\"16KiB\"", "16KiB"),
    ("limits.hot_responses_max", "100", "100"),
    ("limits.coded_bytes_max", "\"1MiB\"", "1MiB"),
    ("limits.gallery_entries_max", "50", "50"),
    ("limits.revalidate_after", "\"50ms\"", "50ms"),
    ("limits.original_bytes_max", "1000", "1000"),
    ("limits.source_pixels_max", "50_000_000", "50000000"),
    ("limits.target_pixels_max", "0x100000", "1048576"),
    ("limits.animation_frames_max", "50", "50"),
    ("limits.animation_pixels_max", "9_000_000", "9000000"),
    ("limits.profile_bytes_max", "\"1MiB\"", "1MiB"),
    ("limits.connections_max", "100", "100"),
    ("limits.address_connections_max", "20", "20"),
    ("limits.connection_requests_max", "1000", "1000"),
    ("limits.queued_bytes_max", "\"16KiB\"", "16KiB"),
    ("limits.backlog", "128", "128"),
    ("limits.blocking_threads_max", "8", "8"),
    ("limits.head_bytes_max", "\"32KiB\"", "32KiB"),
    ("limits.fields_max", "32", "32"),
    ("limits.target_bytes_max", "9000", "9000"),
    ("limits.body_bytes_max", "0", "0"),
    ("limits.request_body_bytes", "\"2MiB\"", "2MiB"),
    ("limits.request_bodies_bytes", "\"9MiB\"", "9MiB"),
    ("limits.mount_responses_bytes", "\"9MiB\"", "9MiB"),
    ("limits.player_responses_max", "3", "3"),
    ("limits.chunk_line_bytes_max", "128", "128"),
    ("limits.trailer_bytes_max", "0", "0"),
    ("limits.access_log_bytes", "\"64KiB\"", "64KiB"),
    ("limits.access_field_bytes_max", "100", "100"),
    ("limits.unsent_bytes_max", "\"64KiB\"", "64KiB"),
    ("limits.sendfile_slice_bytes", "\"64KiB\"", "64KiB"),
    ("limits.first_byte_timeout", "\"1s\"", "1s"),
    ("limits.handshake_timeout", "\"2s\"", "2s"),
    ("limits.handshakes_max", "10", "10"),
    ("limits.tls_sessions_max", "0", "0"),
    ("limits.tls_buffer_bytes_max", "\"64KiB\"", "64KiB"),
    ("limits.h2_streams_max", "200", "200"),
    ("limits.h2_buffer_bytes_max", "\"1MiB\"", "1MiB"),
    ("limits.h2_running_max", "8", "8"),
    ("limits.h2_idle_bytes_max", "\"64KiB\"", "64KiB"),
    ("limits.h2_resets_max", "100", "100"),
    ("limits.head_timeout", "\"1500ms\"", "1500ms"),
    ("limits.body_timeout", "\"4s\"", "4s"),
    ("limits.body_rate_min", "\"2KiB\"", "2KiB"),
    ("limits.idle_timeout", "\"1h\"", "1h"),
    ("limits.write_timeout", "\"5s\"", "5s"),
    ("limits.write_rate_min", "100", "100"),
    ("limits.linger_timeout", "\"1s\"", "1s"),
    ("limits.linger_time_max", "\"9s\"", "9s"),
    ("limits.linger_bytes_max", "\"4KiB\"", "4KiB"),
    ("limits.drain_timeout", "\"1d\"", "1d"),
    ("limits.upgrade_timeout", "\"2min\"", "2min"),
    ("limits.address_conversions_max", "30", "30"),
    (
        "images.signature_keys",
        "[\"00112233445566778899aabbccddeeff\", \"ffeeddccbbaa99887766554433221100:00ff\"]",
        "00112233445566778899aabbccddeeff,ffeeddccbbaa99887766554433221100:00ff",
    ),
    (
        "images.signature_key_file",
        "\"/etc/pelton.keys\"",
        "/etc/pelton.keys",
    ),
    ("images.require_signature", "true", "true"),
    (
        "images.presets",
        "{ wide = \"w=1600\", thumb = \"w=96&h=96&fit=cover\" }",
        "thumb=w=96&h=96&fit=cover|wide=w=1600",
    ),
    ("images.presets_only", "true", "true"),
    ("images.allowed_widths", "[320, 0x280]", "320,640"),
    ("images.allowed_heights", "[16384]", "16384"),
    (
        "images.allowed_formats",
        "[\"webp\", \"jpeg\"]",
        "webp,jpeg",
    ),
    ("images.allowed_qualities", "[60, 100]", "60,100"),
    (
        "images.allowed_operations",
        "[\"w\", \"max_width\"]",
        "w,max_width",
    ),
    (
        "images.allowed_referrers",
        "[\"example.org\", \"*.example.net\"]",
        "example.org,*.example.net",
    ),
    ("images.empty_referrer", "false", "false"),
    (
        "images.iiif",
        "\"https://example.org/pictures/\"",
        "https://example.org/pictures",
    ),
    ("imgproxy.prefix", "\"/img/\"", "/img"),
    (
        "imgproxy.keys",
        "[\"736563726574\", \"00FF\"]",
        "736563726574,00ff",
    ),
    ("imgproxy.salts", "[\"68656c6c6f\"]", "68656c6c6f"),
    ("imgproxy.signature_size", "8", "8"),
    (
        "imgproxy.trusted_signatures",
        "[\"friend\", \"_\"]",
        "friend,_",
    ),
    (
        "imgproxy.presets",
        "{ wide = \"w:1600\", thumb = \"rs:fill:96:96/q:70\" }",
        "thumb=rs:fill:96:96/q:70|wide=w:1600",
    ),
    ("imgproxy.only_presets", "true", "true"),
    (
        "imgproxy.base_url",
        "\"local:///photos/\"",
        "local:///photos/",
    ),
];

/// Returns the value and origin of the setting `name`. The inputs `written` must set only this
/// setting.
fn shown(name: &str, written: &Written<'_>) -> String {
    let prefix = format!("{name} = ");
    let outcome = outcome(written);
    let mut lines = outcome.lines();
    let line = lines.next().and_then(|line| line.strip_prefix(&prefix));
    assert_eq!(lines.next(), None, "{name}: {outcome}");
    line.unwrap_or_else(|| panic!("{name}: {outcome}"))
        .to_owned()
}

#[test]
fn every_key_can_be_given_in_every_way() {
    let listed: BTreeSet<&str> = EVERY_KEY.iter().map(|(name, ..)| *name).collect();
    let known: BTreeSet<&str> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(listed, known);
    for (name, in_file, as_word) in EVERY_KEY {
        let key = Key::named(name).expect("listed above");
        let text = match name.split_once('.') {
            Some((group, member)) => format!("[{group}]\n{member} = {in_file}\n"),
            None => format!("\n{name} = {in_file}\n"),
        };
        let file = Written {
            file: Some(("f.toml", &text)),
            ..Written::default()
        };
        assert_eq!(shown(name, &file), format!("{as_word}  from f.toml:2"));
        let dotted = format!("{name} = {in_file}");
        let file = Written {
            file: Some(("f.toml", &dotted)),
            ..Written::default()
        };
        assert_eq!(shown(name, &file), format!("{as_word}  from f.toml:1"));
        let variable = key.variable();
        let variables = Written {
            variables: &[(&variable, as_word)],
            ..Written::default()
        };
        assert_eq!(
            shown(name, &variables),
            format!("{as_word}  from {variable}")
        );
        let flags = Written {
            flags: &[(name, as_word)],
            ..Written::default()
        };
        assert_eq!(shown(name, &flags), format!("{as_word}  from --{name}"));
    }
}

#[test]
fn every_default_may_be_written_out() {
    let defaults = super::Config::default();
    for key in KEYS {
        let mut config = defaults.clone();
        let raw = Raw::Word((key.show)(&defaults).into());
        (key.set)(&mut config, &raw).unwrap_or_else(|err| panic!("{}: {err:?}", key.name));
        assert_eq!(config, defaults, "{}", key.name);
    }
}

#[test]
fn names_are_distinguished_in_every_form() {
    let forms: [fn(&Key) -> String; 3] = [|key| key.name.to_owned(), Key::flag, Key::variable];
    for form in forms {
        let distinct: BTreeSet<String> = KEYS.iter().map(form).collect();
        assert_eq!(distinct.len(), KEYS.len());
    }
}

#[test]
fn unknown_keys_are_refused_with_the_nearest() {
    check_toml(
        "qualty = 80\n[limts]\nqueue_max = 1\n[limits]\nque_max = 1\npeanuts = 2\n",
        expect![[r#"
            pelton: pelton.toml:1: unknown key: qualty
            hint:   the nearest known key is quality
            pelton: pelton.toml:2: unknown key: limts
            hint:   the nearest known key is limits
            pelton: pelton.toml:5: unknown key: limits.que_max
            hint:   the nearest known key is limits.queue_max
            pelton: pelton.toml:6: unknown key: limits.peanuts
            hint:   pelton check lists every key
        "#]],
    );
    check_toml(
        "queue_max = 1\n[cell]\nlisten = 1\n",
        expect![[r#"
            pelton: pelton.toml:1: unknown key: queue_max
            hint:   the nearest known key is limits.queue_max
            pelton: pelton.toml:3: unknown key: cell.listen
            hint:   the nearest known key is listen
        "#]],
    );
    check_variables(
        &[("PELTON_QALITY", "80"), ("PELTON_FOO", "x")],
        expect![[r#"
            pelton: unknown variable: PELTON_QALITY
            hint:   the nearest known variable is PELTON_QUALITY
            pelton: unknown variable: PELTON_FOO
            hint:   the name of a variable is PELTON_ and the key in capitals, with _ instead of the dot; pelton check lists every key
        "#]],
    );
}

#[test]
fn wrong_values_are_refused_with_what_was_expected() {
    check_toml(
        r#"
            root = 1
            listen = "localhost"
            quality = "80"
            formats = ["avif", "gif"]
            allowed_types = ["tar.gz"]
            img_map = { photos = "/srv" }
            max_age = 60
            log_level = "loud"
            cores = 0
            limits = 4
            [cell]
            spare = -1
            max_request_time = "0s"
            hugepages = "true"
            max_output = "64 megabytes"
        "#,
        expect![[r#"
            pelton: pelton.toml:2: root: expected a path, found 1
            pelton: pelton.toml:3: listen: expected an address with a port, such as "127.0.0.1:3333", found "localhost"
            pelton: pelton.toml:4: quality: expected a whole number from 1 to 100, found "80"
            pelton: pelton.toml:5: formats: expected a list of "avif" and "webp", found "gif"
            pelton: pelton.toml:6: allowed_types: expected a list of extensions such as "pdf", or "*" alone, found "tar.gz"
            pelton: pelton.toml:7: img_map: expected path prefixes with their directories: { "/a" = "/srv/a" } in the configuration file, /a=/srv/a in a flag or variable, found the prefix "photos"
            pelton: pelton.toml:8: max_age: expected a time with its unit, such as "10s" or "30d", up to 365d, found 60
            pelton: pelton.toml:9: log_level: expected "error", "warn", "info", "debug" or "trace", found "loud"
            pelton: pelton.toml:10: cores: expected "auto" or a whole number above 0, found 0
            pelton: pelton.toml:11: limits: expected a table, found 4
            pelton: pelton.toml:13: cell.spare: expected a whole number, found -1
            pelton: pelton.toml:14: cell.max_request_time: expected a time with its unit, such as "8s" or "500ms", above 0 and up to 1d, found "0s"
            pelton: pelton.toml:15: cell.hugepages: expected true or false, found "true"
            pelton: pelton.toml:16: cell.max_output: expected a size, such as "256MiB" or "4GB", found "64 megabytes"
        "#]],
    );
    check_variables(
        &[
            ("PELTON_QUALITY", "101"),
            ("PELTON_ROOT", ""),
            ("PELTON_IMG_MAP", "/a"),
        ],
        expect![[r#"
            pelton: PELTON_QUALITY: expected a whole number from 1 to 100, found "101"
            pelton: PELTON_ROOT: expected a path, found ""
            pelton: PELTON_IMG_MAP: expected path prefixes with their directories: { "/a" = "/srv/a" } in the configuration file, /a=/srv/a in a flag or variable, found "/a"
        "#]],
    );
    check(
        Written {
            flags: &[("limits.head_timeout", "2d"), ("cell.spare", "+1")],
            ..Written::default()
        },
        expect![[r#"
            pelton: --limits.head_timeout: expected a time with its unit, such as "8s" or "500ms", above 0 and up to 1d, found "2d"
            pelton: --cell.spare: expected a whole number, found "+1"
        "#]],
    );
}

#[test]
fn what_is_not_supported_yet_is_refused() {
    check_toml(
        "formats = [\"jxl\"]\nimg_map = { \"/far\" = \"https://example.org/\" }\n",
        expect![[r#"
            pelton: pelton.toml:1: formats: JPEG XL output is not supported yet
            pelton: pelton.toml:2: img_map: remote sources are not supported yet: /far = "https://example.org/"
        "#]],
    );
}

#[test]
fn malformed_files_are_refused_with_their_line() {
    check_toml(
        "quality = 80\nroot = \n",
        expect![[r#"
        pelton: pelton.toml:2: string values must be quoted, expected literal string
    "#]],
    );
    check_toml(
        "root = \"a\"\nroot = \"b\"\n",
        expect![[r#"
        pelton: pelton.toml:2: duplicate key
    "#]],
    );
    check_json(
        "{\n  \"QUALITY\": \"80\"\n  \"PORT\": 1 }",
        expect![[r#"
        pelton: config.json:3: expected `,` or `}`
    "#]],
    );
    check_json(
        "[]",
        expect![[r#"
        pelton: config.json:1: invalid type: sequence, expected an object with the keys of WebP Server Go's config.json
    "#]],
    );
    check_json(
        "",
        expect![[r#"
        pelton: config.json:1: EOF while parsing a value
    "#]],
    );
}

#[test]
fn contradictions_are_refused() {
    check(
        Written {
            flags: &[("limits.convert_bytes_max", "256MiB")],
            ..Written::default()
        },
        expect![[r#"
            pelton: cell.max_work_memory is 1GiB, more than limits.convert_bytes_max, which is 256MiB
            cause:  a conversion that needs all of cell.max_work_memory could never start
        "#]],
    );
}

#[test]
fn other_programs_variables_are_let_be() {
    check_variables(
        &[
            ("PELTON_SERVICE_HOST", "10.0.0.1"),
            ("PELTON_SERVICE_PORT", "3333"),
            ("PELTON_PORT", "tcp://10.0.0.1:3333"),
            ("PELTON_PORT_3333_TCP_ADDR", "10.0.0.1"),
            ("PELTON_CONFIG", "pelton.toml"),
            ("PELTONQUALITY", "1"),
            ("QUALITY", "1"),
            ("HOME", "/root"),
        ],
        expect![[""]],
    );
}

#[test]
fn paths_need_not_be_unicode() {
    let directory = OsString::from_vec(b"/srv/caf\xe9".to_vec());
    let resolved = resolve(Inputs {
        variables: vec![("PELTON_ROOT".into(), directory.clone())],
        ..Inputs::default()
    })
    .expect("a path may be any bytes");
    assert_eq!(resolved.config.root.as_os_str(), directory);
}

proptest! {
    /// Asserts only that no file makes the resolution panic: any file is either refused or
    /// accepted.
    #[test]
    fn no_file_reaches_a_panic(
        name in "f\\.(toml|json)",
        text in r#"([{}\[\]"=:,.\n0-9-]|root|quality|QUALITY|IMG_MAP|limits|hot_bytes_max|é|\PC){0,40}"#,
    ) {
        let file = Some((name.as_str(), text.as_str()));
        outcome(&Written { file, ..Written::default() });
    }

    /// Asserts that a variable, which may contain any bytes, is either accepted or refused with one
    /// error.
    #[test]
    fn no_variable_reaches_a_panic(row in 0..KEYS.len(), value: Vec<u8>) {
        let name = KEYS[row].variable();
        let variables = vec![(name.into(), OsString::from_vec(value))];
        if let Err(errors) = resolve(Inputs { variables, ..Inputs::default() }) {
            prop_assert_eq!(errors.len(), 1);
        }
    }
}

#[test]
fn tables_and_errors_show_no_password_of_a_url() {
    let text = "programs = { a = { path = \"/a\", environment = [\"DB=db://u:hidden@h\"] } }\n\
                [store]\nurl = \"redis://u:hidden@h/2\"\n";
    let inputs = Inputs {
        file: Some((PathBuf::from("pelton.toml"), text.to_owned())),
        ..Inputs::default()
    };
    let resolved = resolve(inputs).expect("the configuration is valid");
    let mut table = Vec::new();
    super::write_table(&resolved, &mut table).expect("writing to memory cannot fail");
    let table = String::from_utf8(table).expect("the table is text");
    assert!(table.contains("redis://u:***@h:6379/2"), "{table}");
    assert!(table.contains("DB=db://u:***@h\""), "{table}");
    assert!(!table.contains("hidden"), "{table}");

    check_toml(
        "store = \"redis://u:hidden@h\"",
        expect![[r#"
            pelton: pelton.toml:1: store: expected a table, found "redis://u:***@h"
        "#]],
    );
    check_toml(
        "[store]\nurl = \"redis://u:hid\\\"den@h:x\"\n[img_map]\n\"/a\" = \"http://u:hidden@h/\"",
        expect![[r#"
            pelton: pelton.toml:2: store.url: expected "off", or redis://[user:password@]host[:port][/database], found "redis://u:***@h:x"
            pelton: pelton.toml:3: img_map: remote sources are not supported yet: /a = "http://u:***@h/"
        "#]],
    );
}

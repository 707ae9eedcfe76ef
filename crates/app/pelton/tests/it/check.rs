//! Tests of `pelton check`.

use std::fs::{self, File};
use std::io::pipe;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use expect_test::{Expect, expect};

/// Creates an empty directory for this test.
fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("check-{test}"));
    if path.exists() {
        fs::remove_dir_all(&path).expect("what an earlier run left can be removed");
    }
    fs::create_dir(&path).expect("the target directory can be written");
    path
}

/// Returns a command that runs `pelton` in `directory` with an empty environment.
fn pelton(directory: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
    command.args(words.split_whitespace());
    command.current_dir(directory).env_clear();
    command
}

/// Compares stdout, stderr and the exit code with `expected`. Lines of settings that have their
/// default value are omitted from stdout.
fn check(command: &mut Command, expected: Expect) {
    let output = command.output().expect("the program starts");
    let stdout = String::from_utf8(output.stdout).expect("the table is text");
    let stderr = String::from_utf8(output.stderr).expect("errors are text");
    let mut out = String::new();
    for line in stdout.lines().filter(|line| !line.ends_with("  default")) {
        out.push_str(&line.split_whitespace().collect::<Vec<_>>().join("  "));
        out.push('\n');
    }
    let code = output.status.code().expect("the program was not killed");
    expected.assert_eq(&format!("{out}---\n{stderr}---\n{code}\n"));
}

#[test]
fn every_key_and_limit_is_listed() {
    let output = pelton(&directory("defaults"), "check").output();
    let output = output.expect("the program starts");
    let stdout = String::from_utf8(output.stdout).expect("the table is text");
    expect![[r#"
        key                             value                                          unit                   from
        root                            .                                              directory              default
        listen                          127.0.0.1:3333                                 address                default
        data                            ./pelton-data                                  directory              default
        quality                         70                                             1-100                  default
        formats                         avif,webp                                      formats                default
        allowed_types                   m4v,mov,mp4,webm                               extensions             default
        only_types                      *                                              extensions             default
        active_types                    -                                              extensions             default
        headers                         -                                              fields                 default
        tags                            -                                              tag=path               default
        cors_origins                    -                                              origins                default
        resource_policy                 off                                            policy or off          default
        queries                         pelton                                         mode                   default
        strict_query                    false                                          true or false          default
        img_map                         -                                              prefix=directory       default
        programs                        -                                              tables                 default
        improve                         true                                           true or false          default
        max_age                         1d                                             time                   default
        max_age_quick                   10s                                            time                   default
        cores                           auto                                           cores                  default
        steering                        auto                                           mode                   default
        proxies                         127.0.0.0/8,::1                                addresses              default
        require_login                   off                                            off, music or all      default
        hosts                           -                                              names                  default
        origins                         -                                              origins                default
        admin_listen                    off                                            address or off         default
        admin_token_file                off                                            file or off            default
        access_log                      off                                            file or off            default
        page_dir                        off                                            directory or off       default
        log_level                       info                                           level                  default
        tls.cert                        -                                              files                  default
        tls.key                         -                                              files                  default
        tls.listen                      127.0.0.1:3443                                 address                default
        tls.redirect                    false                                          true or a port number  default
        tls.check_time                  1min                                           time                   default
        library.watch                   auto                                           auto, poll or off      default
        library.settle_time             3s                                             time                   default
        library.poll_interval           1min                                           time                   default
        library.rescan_time             1d                                             time                   default
        library.split_artists           " feat. "," ft. "," featuring ","; "," / "     texts                  default
        library.split_genres            ";"," / "                                      texts                  default
        library.split_exceptions        "AC / DC","Kairon; IRSE!","LOONA / yyxy"       texts                  default
        library.cover_track             embedded,disc                                  sources                default
        library.cover_disc              disc*.*,cd*.*,album                            sources                default
        library.cover_album             cover.*,folder.*,front.*,album.*,embedded,any  sources                default
        library.cover_artist            artist.*,album                                 sources                default
        library.cover_sizes             300,600                                        pixels                 default
        library.picture_sizes           240,480                                        pixels                 default
        library.prefetch_idle_time      1min                                           time                   default
        library.covers_bytes_max        1GiB                                           bytes                  default
        transcoding.concurrency         auto                                           tracks                 default
        transcoding.waiting_max         256                                            tracks                 default
        transcoding.max_queue_time      1min                                           time                   default
        transcoding.longest             1h                                             time                   default
        transcoding.max_memory          256MiB                                         bytes                  default
        store.listen                    off                                            address or off         default
        store.url                       off                                            URL or off             default
        store.max_memory                64MiB                                          bytes                  default
        store.timeout                   1s                                             time                   default
        cell.backend                    process                                        backend                default
        cell.ephemeral                  true                                           true or false          default
        cell.concurrency                auto                                           jobs                   default
        cell.spare                      2                                              sandboxes              default
        cell.max_queue_time             1s                                             time                   default
        cell.max_boot_time              16s                                            time                   default
        cell.max_request_time           2min                                           time                   default
        cell.deprioritize_after         100ms                                          time                   default
        cell.max_memory                 256MiB                                         bytes                  default
        cell.max_work_memory            1GiB                                           bytes                  default
        cell.max_output                 256MiB                                         bytes                  default
        cell.jobs_per_zygote            4096                                           jobs                   default
        cell.max_restart_pause          5s                                             time                   default
        cell.min_isolation              filter                                         level                  default
        cell.crash_dir                  off                                            directory or off       default
        cell.crash_jobs_max             32                                             jobs                   default
        cell.crash_bytes_max            256MiB                                         bytes                  default
        cell.hugepages                  true                                           true or false          default
        cell.request_hugepages          true                                           true or false          default
        limits.variants_bytes_max       4GiB                                           bytes                  default
        limits.hot_bytes_max            256MiB                                         bytes                  default
        limits.convert_bytes_max        1GiB                                           bytes                  default
        limits.queue_max                256                                            jobs                   default
        limits.queue_time_max           10s                                            time                   default
        limits.waiters_max              1024                                           requests               default
        limits.improving_max            4096                                           jobs                   default
        limits.comparisons_max          2                                              jobs                   default
        limits.program_queue_max        256                                            requests               default
        limits.program_check_time       2s                                             time                   default
        limits.facts_max                65536                                          files                  default
        limits.placeholders_max         65536                                          files                  default
        limits.memory_body_bytes_max    64KiB                                          bytes                  default
        limits.hot_responses_max        4096                                           responses              default
        limits.coded_bytes_max          4MiB                                           bytes                  default
        limits.gallery_entries_max      1000                                           entries                default
        limits.revalidate_after         1s                                             time                   default
        limits.original_bytes_max       256MiB                                         bytes                  default
        limits.source_pixels_max        120000000                                      pixels                 default
        limits.target_pixels_max        120000000                                      pixels                 default
        limits.animation_frames_max     2000                                           frames                 default
        limits.animation_pixels_max     200000000                                      pixels                 default
        limits.profile_bytes_max        4MiB                                           bytes                  default
        limits.connections_max          16384                                          connections            default
        limits.address_connections_max  512                                            connections            default
        limits.connection_requests_max  10000                                          requests               default
        limits.queued_bytes_max         24KiB                                          bytes                  default
        limits.backlog                  4096                                           connections            default
        limits.blocking_threads_max     64                                             threads                default
        limits.head_bytes_max           16KiB                                          bytes                  default
        limits.fields_max               100                                            fields                 default
        limits.target_bytes_max         8KiB                                           bytes                  default
        limits.body_bytes_max           64KiB                                          bytes                  default
        limits.request_body_bytes       1MiB                                           bytes                  default
        limits.request_bodies_bytes     64MiB                                          bytes                  default
        limits.mount_responses_bytes    256MiB                                         bytes                  default
        limits.player_responses_max     8                                              responses              default
        limits.chunk_line_bytes_max     256                                            bytes                  default
        limits.trailer_bytes_max        4096                                           bytes                  default
        limits.access_log_bytes         1MiB                                           bytes                  default
        limits.access_field_bytes_max   512                                            bytes                  default
        limits.unsent_bytes_max         128KiB                                         bytes                  default
        limits.sendfile_slice_bytes     1MiB                                           bytes                  default
        limits.first_byte_timeout       10s                                            time                   default
        limits.handshake_timeout        10s                                            time                   default
        limits.handshakes_max           512                                            handshakes             default
        limits.tls_sessions_max         4096                                           sessions               default
        limits.tls_buffer_bytes_max     32KiB                                          bytes                  default
        limits.h2_streams_max           100                                            streams                default
        limits.h2_buffer_bytes_max      16KiB                                          bytes                  default
        limits.h2_running_max           32                                             requests               default
        limits.h2_idle_bytes_max        256KiB                                         bytes                  default
        limits.h2_resets_max            256                                            streams                default
        limits.head_timeout             10s                                            time                   default
        limits.body_timeout             10s                                            time                   default
        limits.body_rate_min            512                                            bytes/s                default
        limits.idle_timeout             75s                                            time                   default
        limits.write_timeout            1min                                           time                   default
        limits.write_rate_min           512                                            bytes/s                default
        limits.linger_timeout           2s                                             time                   default
        limits.linger_time_max          30s                                            time                   default
        limits.linger_bytes_max         1GiB                                           bytes                  default
        limits.drain_timeout            30s                                            time                   default
        limits.upgrade_timeout          1min                                           time                   default
        limits.address_conversions_max  0                                              conversions/min        default
        images.signature_keys           -                                              keys                   default
        images.signature_key_file       off                                            file or off            default
        images.require_signature        false                                          true or false          default
        images.presets                  -                                              name=query             default
        images.presets_only             false                                          true or false          default
        images.allowed_widths           -                                              pixels                 default
        images.allowed_heights          -                                              pixels                 default
        images.allowed_formats          -                                              formats                default
        images.allowed_qualities        -                                              1-100                  default
        images.allowed_operations       -                                              parameters             default
        images.allowed_referrers        -                                              names                  default
        images.empty_referrer           true                                           true or false          default
        images.iiif                     off                                            on, off or URL         default
        imgproxy.prefix                 off                                            path or off            default
        imgproxy.keys                   -                                              keys                   default
        imgproxy.salts                  -                                              salts                  default
        imgproxy.signature_size         32                                             bytes                  default
        imgproxy.trusted_signatures     -                                              texts                  default
        imgproxy.presets                -                                              name=options           default
        imgproxy.only_presets           false                                          true or false          default
        imgproxy.base_url               off                                            URL or off             default
    "#]]
    .assert_eq(&stdout);
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn values_tell_where_they_come_from() {
    let directory = directory("sources");
    let text = "quality = 80\nroot = \".\"\n\n[limits]\nqueue_max = 8\n";
    fs::write(directory.join("pelton.toml"), text).expect("the file can be written");
    let mut command = pelton(&directory, "check --limits-queue-max 9");
    command.env("PELTON_LISTEN", "127.0.0.1:8080");
    command.env("WEBP_CONVERT_TYPES", "webp");
    check(
        &mut command,
        expect![[r#"
            key  value  unit  from
            root  .  directory  pelton.toml:2
            listen  127.0.0.1:8080  address  PELTON_LISTEN
            quality  80  1-100  pelton.toml:1
            formats  webp  formats  WEBP_CONVERT_TYPES
            queries  webp-server-go  mode  WEBP_CONVERT_TYPES
            limits.queue_max  9  jobs  --limits-queue-max
            ---
            ---
            0
        "#]],
    );
}

#[test]
fn a_variable_may_name_the_file_and_a_flag_wins() {
    let directory = directory("file");
    fs::write(directory.join("a.toml"), "quality = 1\n").expect("the file can be written");
    fs::write(directory.join("b.toml"), "quality = 2\n").expect("the file can be written");
    check(
        pelton(&directory, "check").env("PELTON_CONFIG", "a.toml"),
        expect![[r#"
            key  value  unit  from
            quality  1  1-100  a.toml:1
            ---
            ---
            0
        "#]],
    );
    check(
        pelton(&directory, "check --config b.toml").env("PELTON_CONFIG", "a.toml"),
        expect![[r#"
            key  value  unit  from
            quality  2  1-100  b.toml:1
            ---
            ---
            0
        "#]],
    );
}

#[test]
fn webp_server_gos_file_is_taken_with_notes() {
    let directory = directory("wsg");
    let text = r#"{
  "HOST": "0.0.0.0",
  "PORT": "3333",
  "QUALITY": "80",
  "IMG_PATH": ".",
  "CONVERT_TYPES": ["webp", "jxl"],
  "CONCURRENCY": 262144
}"#;
    fs::write(directory.join("config.json"), text).expect("the file can be written");
    check(
        &mut pelton(&directory, "check --config config.json"),
        expect![[r#"
            key  value  unit  from
            root  .  directory  config.json:5
            listen  0.0.0.0:3333  address  config.json:3
            quality  70  1-100  config.json:4
            formats  webp  formats  config.json:6
            queries  webp-server-go  mode  config.json:4
            ---
            note:   config.json:4: QUALITY 80 is a quality on WebP's own scale; Pelton uses 70 instead, because a number on Pelton's scale looks the same in every format
            note:   config.json:7: CONCURRENCY has no effect, as in WebP Server Go
            note:   config.json does not set ENABLE_EXTRA_PARAMS, so queries keeps Pelton's default, which is webp-server-go; the default of WebP Server Go is meta-only
            pelton: config.json:6: CONVERT_TYPES requests jxl, but JPEG XL output is not supported yet
            ---
            1
        "#]],
    );
}

#[test]
fn findings_exit_with_1() {
    let directory = directory("findings");
    fs::write(directory.join("file"), "").expect("the file can be written");
    check(
        &mut pelton(&directory, "check --root missing --data file/data"),
        expect![[r#"
            key  value  unit  from
            root  missing  directory  --root
            data  file/data  directory  --data
            ---
            pelton: root: missing: No such file or directory (os error 2)
            hint:   name the folder to serve with --root, PELTON_ROOT or `root` in the configuration file
            pelton: data: file/data: file: not a directory
            hint:   without a data directory, pictures are still served, but each request converts its picture again
            ---
            1
        "#]],
    );
    check(
        &mut pelton(&directory, "check --root file --img-map /a=/srv/a"),
        expect![[r#"
            key  value  unit  from
            root  file  directory  --root
            img_map  /a=/srv/a  prefix=directory  --img-map
            ---
            pelton: root: file: not a directory
            pelton: img_map: /srv/a: No such file or directory (os error 2)
            ---
            1
        "#]],
    );
}

#[test]
fn wrong_configurations_exit_with_2() {
    let directory = directory("usage");
    check(
        &mut pelton(&directory, "check --config missing.toml"),
        expect![[r#"
            ---
            pelton: cannot read configuration missing.toml: No such file or directory (os error 2)
            ---
            2
        "#]],
    );
    let text = "[limit]\nqueue_max = 1\n[limits]\nqueue_max = \"many\"\n";
    fs::write(directory.join("pelton.toml"), text).expect("the file can be written");
    check(
        &mut pelton(&directory, "check"),
        expect![[r#"
        ---
        pelton: pelton.toml:1: unknown key: limit
        hint:   the nearest known key is limits
        pelton: pelton.toml:4: limits.queue_max: expected a whole number, found "many"
        ---
        2
    "#]],
    );
    fs::write(directory.join("pelton.toml"), b"root = \"\xe9\"").expect("the file can be written");
    check(
        &mut pelton(&directory, "check"),
        expect![[r#"
        ---
        pelton: cannot read configuration pelton.toml: stream did not contain valid UTF-8
        ---
        2
    "#]],
    );
    fs::write(directory.join("pelton.toml"), "#".repeat(2 << 20)).expect("the file can be written");
    check(
        &mut pelton(&directory, "check"),
        expect![[r#"
            ---
            pelton: cannot read configuration pelton.toml: the configuration file is larger than 1 MiB
            ---
            2
        "#]],
    );
    check(
        &mut pelton(&directory, ""),
        expect![[r#"
        ---
        pelton: no command was given
        hint:   pelton COMMAND --help explains the command, pelton help settings lists all settings
        ---
        2
    "#]],
    );
}

#[test]
fn a_full_disk_exits_with_3() {
    let full = File::options().write(true).open("/dev/full");
    let full = full.expect("Linux has /dev/full");
    let mut command = pelton(&directory("full"), "check");
    command.stdout(full).stderr(Stdio::piped());
    let output = command.output().expect("the program starts");
    let stderr = String::from_utf8(output.stderr).expect("errors are text");
    expect![[r#"
        pelton: cannot write to stdout: No space left on device (os error 28)
    "#]]
    .assert_eq(&stderr);
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let (reader, writer) = pipe().expect("pipes can be had");
    drop(reader);
    let mut command = pelton(&directory("pipe"), "check");
    let output = command.stdout(writer).output().expect("the program starts");
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn help_and_version_are_answers() {
    let directory = directory("help");
    for (words, begin) in [
        ("--version", "pelton "),
        ("--help", "Media server"),
        ("check --help", "Print the value of every setting"),
    ] {
        let output = pelton(&directory, words).output();
        let output = output.expect("the program starts");
        assert!(output.stdout.starts_with(begin.as_bytes()), "{words}");
        assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
    }
}

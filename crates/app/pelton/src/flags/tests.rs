//! Command lines as users type them.

use std::fmt::Write;
use std::path::Path;

use clap::{Args, FromArgMatches};
use config::{KEYS, Key};
use expect_test::{Expect, expect};
use report::Error;

use super::meaning::{target, with_root};
use super::scope::{
    Cells, CellsAndPrograms, Conversion, Data, DataAndLogin, Everything, Prefetching, Scanning,
    Scope, Signing,
};
use super::settings::SettingFlags;
use super::typed::{
    Cell, Check, Convert, HELP_COLUMNS, Parsed, Prefetch, Profile, Scan, Serve, in_our_words, parse,
};

/// Parses the words after a command's name as the flags of that command.
fn typed<T: Args + FromArgMatches>(words: &str) -> Result<T, Error> {
    let command = T::augment_args(clap::Command::new("pelton").no_binary_name(true));
    let matches = command.try_get_matches_from(words.split_whitespace());
    matches
        .and_then(|matches| T::from_arg_matches(&matches))
        .map_err(|err| in_our_words(&err))
}

fn shown(flags: &SettingFlags) -> String {
    let mut out = String::new();
    if let Some(path) = &flags.config {
        writeln!(out, "file {}", path.display()).unwrap();
    }
    for one in &flags.assignments {
        writeln!(out, "{} = {}  from {}", one.key.name, one.raw, one.source).unwrap();
    }
    out
}

fn check<T: Args + FromArgMatches>(words: &str, show: fn(T) -> String, expected: Expect) {
    let outcome = match typed(words) {
        Ok(flags) => show(flags),
        Err(err) => format!("{err}\n"),
    };
    expected.assert_eq(&outcome);
}

fn check_serve(words: &str, expected: Expect) {
    let show = |serve: Serve| shown(&with_root(serve.settings.clone(), serve.root));
    check(words, show, expected);
}

fn described(conversion: &upkeep::convert::Conversion) -> String {
    let (input, output) = (conversion.input.display(), conversion.output.display());
    format!("{input} to {output}: {}\n", conversion.target.name())
}

fn check_convert(words: &str, expected: Expect) {
    let show = |convert: Convert| {
        let settings = shown(&convert.settings);
        let conversions = match convert.job() {
            Ok(job) => job.conversions.iter().map(described).collect(),
            Err(err) => format!("{err}\n"),
        };
        format!("{conversions}by {:?}\n{settings}", convert.query)
    };
    check(words, show, expected);
}

fn check_prefetch(words: &str, expected: Expect) {
    let show =
        |prefetch: Prefetch| shown(&with_root(prefetch.settings.clone(), Some(prefetch.root)));
    check(words, show, expected);
}

/// Parses a whole command line, including the program's name, and checks the outcome.
fn check_line(words: &str, expected: Expect) {
    let outcome = match parse(words.split_whitespace().map(Into::into)) {
        Ok(Parsed::Text(text)) => text,
        Ok(Parsed::Command(_)) => "a command\n".to_owned(),
        Err(err) => format!("{err}\n"),
    };
    expected.assert_eq(&outcome);
}

#[test]
fn serve() {
    check_serve("", expect![[""]]);
    check_serve(
        "photos",
        expect![[r#"
        root = "photos"  from ROOT
    "#]],
    );
    check_serve(
        "photos --config p.toml --listen 0.0.0.0:80 --limits-queue-max=3 --data /d",
        expect![[r#"
            file p.toml
            listen = "0.0.0.0:80"  from --listen
            data = "/d"  from --data
            limits.queue_max = "3"  from --limits-queue-max
            root = "photos"  from ROOT
        "#]],
    );
    check_serve(
        "--root photos",
        expect![[r#"
        root = "photos"  from --root
    "#]],
    );
    check_serve(
        "photos --root pictures",
        expect![[r#"
            pelton: the argument '[ROOT]' cannot be used with '--root <DIRECTORY>'
            hint:   pelton COMMAND --help explains the command, pelton help settings lists all settings
        "#]],
    );
    check_serve(
        "photos music",
        expect![[r#"
            pelton: unexpected argument 'music' found
            hint:   pelton COMMAND --help explains the command, pelton help settings lists all settings
        "#]],
    );
    check_serve(
        "--listen",
        expect![[r#"
            pelton: a value is required for '--listen <ADDRESS>' but none was supplied
            hint:   pelton COMMAND --help explains the command, pelton help settings lists all settings
        "#]],
    );
    check_serve(
        "--listen a --listen b",
        expect![[r#"
            pelton: the argument '--listen <ADDRESS>' cannot be used multiple times
            hint:   pelton COMMAND --help explains the command, pelton help settings lists all settings
        "#]],
    );
    check_serve(
        "--limit-queue-max 3",
        expect![[r#"
        pelton: unexpected argument '--limit-queue-max' found
        hint:   a similar argument exists: '--limits-queue-max'
    "#]],
    );
}

#[test]
fn convert() {
    check_convert(
        "a.jpg b.avif",
        expect![[r#"
            a.jpg to b.avif: avif
            by ""
        "#]],
    );
    check_convert(
        "a.jpg b.JPEG --query w=640&q=80 --quality 50",
        expect![[r#"
            a.jpg to b.JPEG: jpeg
            by "w=640&q=80"
            quality = "50"  from --quality
        "#]],
    );
    check_convert(
        "a.jpg b",
        expect![[r#"
            pelton: OUT: b: the extension is not an output format
            hint:   use a name that ends in .avif, .webp, .jpg or .png
            by ""
        "#]],
    );
    check_convert(
        "a.jpg b.gif",
        expect![[r#"
            pelton: OUT: b.gif: the extension is not an output format
            hint:   use a name that ends in .avif, .webp, .jpg or .png
            by ""
        "#]],
    );
    check_convert(
        "a.png b/c.heic --to jpg",
        expect![[r#"
        a.png to a.jpg: jpeg
        b/c.heic to b/c.jpg: jpeg
        by ""
    "#]],
    );
    check_convert(
        "a.png b/c.heic --to JPG -o small",
        expect![[r#"
            a.png to small/a.jpg: jpeg
            b/c.heic to small/c.jpg: jpeg
            by ""
        "#]],
    );
    check_convert(
        "a.png b.png --to avif --query format=webp",
        expect![[r#"
        pelton: --query: meta and format are not allowed, because OUT or --to selects the format
        by "format=webp"
    "#]],
    );
    check_convert(
        "a.png b.png --to gif",
        expect![[r#"
        pelton: --to: gif is not an output format
        hint:   the formats are avif, webp, jpg and png
        by ""
    "#]],
    );
    check_convert(
        "a.jpg b.png --to jpg",
        expect![[r#"
        pelton: a.jpg: this input would be overwritten by the result of a conversion
        hint:   choose another folder with --out
        by ""
    "#]],
    );
    check_convert(
        "a.png b.png c.png",
        expect![[r#"
        pelton: without --to, exactly two files are needed: the picture and the result
        hint:   pelton convert IN OUT, or pelton convert --to FORMAT IN...
        by ""
    "#]],
    );
    check_convert(
        "a.png b.avif --out small",
        expect![[r#"
        pelton: the following required arguments were not provided: --to <FORMAT>
        hint:   pelton COMMAND --help explains the command, pelton help settings lists all settings
    "#]],
    );
    check_convert(
        "a.jpg",
        expect![[r#"
            pelton: without --to, exactly two files are needed: the picture and the result
            hint:   pelton convert IN OUT, or pelton convert --to FORMAT IN...
            by ""
        "#]],
    );
    check_convert(
        "",
        expect![[r#"
            pelton: the following required arguments were not provided: <IN>...
            hint:   pelton COMMAND --help explains the command, pelton help settings lists all settings
        "#]],
    );
}

#[test]
fn prefetch() {
    check_prefetch(
        "photos --formats webp",
        expect![[r#"
        formats = "webp"  from --formats
        root = "photos"  from ROOT
    "#]],
    );
    check_prefetch(
        "",
        expect![[r#"
            pelton: the following required arguments were not provided: <ROOT>
            hint:   pelton COMMAND --help explains the command, pelton help settings lists all settings
        "#]],
    );
}

#[test]
fn check_and_cell() {
    check(
        "--config c.json",
        |check: Check| shown(&check.settings),
        expect![[r#"
            file c.json
        "#]],
    );
    check(
        "--root r",
        |check: Check| shown(&check.settings),
        expect![[r#"
            root = "r"  from --root
        "#]],
    );
    let show = |cell: Cell| format!("probe {}\n{}", cell.probe, shown(&cell.settings));
    check(
        "--probe --cell-max-memory 1GiB",
        show,
        expect![[r#"
        probe true
        cell.max_memory = "1GiB"  from --cell-max-memory
    "#]],
    );
    check(
        "",
        show,
        expect![[r#"
            pelton: the following required arguments were not provided: --probe
            hint:   pelton COMMAND --help explains the command, pelton help settings lists all settings
        "#]],
    );
}

#[test]
fn what_no_command_is() {
    check_line(
        "pelton",
        expect![[r#"
            pelton: no command was given
            hint:   pelton COMMAND --help explains the command, pelton help settings lists all settings
        "#]],
    );
    check_line(
        "pelton chek",
        expect![[r#"
        pelton: unrecognized subcommand 'chek'
        hint:   a similar subcommand exists: 'check'
    "#]],
    );
    check_line(
        "pelton --quality 1 check",
        expect![[r#"
            pelton: unexpected argument '--quality' found
            hint:   'check --quality' exists
        "#]],
    );
    check_line(
        "pelton check",
        expect![[r#"
        a command
    "#]],
    );
    check_line(
        "pelton --version",
        expect![[r#"
        pelton 0.1.0
    "#]],
    );
}

#[test]
fn settings_of_other_commands_are_refused() {
    check_line(
        "pelton scan photos --listen :80",
        expect![[r#"
        pelton: unexpected argument '--listen' found
        hint:   this command does not use the setting listen, which may be set only in the configuration file or by a variable
    "#]],
    );
    check_line(
        "pelton user list --cell-backend kvm",
        expect![[r#"
        pelton: unexpected argument '--cell-backend' found
        hint:   this command does not use the setting cell.backend, which may be set only in the configuration file or by a variable
    "#]],
    );
    check_line(
        "pelton convert a.jpg b.avif --cell-spare 0",
        expect![[r#"
        a command
    "#]],
    );
}

#[test]
fn scopes_name_settings() {
    fn check<S: Scope>() {
        let is_group = |name: &str| name.ends_with('.');
        for name in S::ACCEPTED.iter().filter(|name| !is_group(name)) {
            assert!(Key::named(name).is_some(), "{name}");
        }
        for name in S::SHOWN {
            assert!(Key::named(name).is_some() && S::accepts(name), "{name}");
        }
        assert!(S::SHOWN.len() <= 10);
    }
    check::<Everything>();
    check::<Prefetching>();
    check::<Conversion>();
    check::<Scanning>();
    check::<Cells>();
    check::<CellsAndPrograms>();
    check::<Signing>();
    check::<Data>();
    check::<DataAndLogin>();
}

/// Returns the text that the program prints for a command line.
fn text(words: &str) -> String {
    match parse(words.split_whitespace().map(Into::into)) {
        Ok(Parsed::Text(text)) => text,
        Ok(Parsed::Command(_)) => panic!("{words}: runs a command"),
        Err(err) => panic!("{words}: {err}"),
    }
}

#[test]
fn help_settings_lists_every_setting() {
    let list = text("pelton help settings");
    for key in KEYS {
        let head = format!("\n{}\n    {}, --{}\n", key.name, key.variable(), key.flag());
        assert!(list.contains(&head), "{}", key.name);
    }
    let first: Vec<&str> = list.lines().take(15).collect();
    expect![[r#"
        Each of the 164 settings can be set in the configuration file, by a variable or by a flag.
        A flag overrides a variable, and a variable overrides the file. In the file, a.b is the
        key b in the table [a]. pelton check shows the values and where each comes from.

        A time has a unit: ms, s, min, h or d, as in 500ms. A size without a unit is in bytes;
        1KiB is 1024 bytes, and 1kB is 1000 bytes. In a flag or variable, commas separate the
        items of a list. In the file, a list is an array, such as ["avif", "webp"], and pairs
        such as name=query are a table, such as { name = "query" }.

        root
            PELTON_ROOT, --root
            Folder whose pictures, music and other files are served.
            Value: directory. Default: .

        listen
    "#]]
    .assert_eq(&(first.join("\n") + "\n"));
    // Lines with a default may be longer, because they are not wrapped.
    let long = list
        .lines()
        .filter(|line| HELP_COLUMNS < line.chars().count());
    assert_eq!(long.filter(|line| !line.contains("Default: ")).count(), 0);
}

#[test]
fn help_explains_commands() {
    assert_eq!(text("pelton help"), text("pelton --help"));
    assert_eq!(text("pelton help serve"), text("pelton serve --help"));
    assert_eq!(text("pelton help user add"), text("pelton user add --help"));
    check_line(
        "pelton help chek",
        expect![[r#"
        pelton: unrecognized subcommand 'chek'
        hint:   a similar subcommand exists: 'check'
    "#]],
    );
}

#[test]
fn completions_and_manual_pages_know_every_setting() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = text(&format!("pelton help completions {shell}"));
        for key in KEYS {
            assert!(script.contains(&key.flag()), "{shell}: {}", key.flag());
        }
    }
    let page = text("pelton help man serve");
    for key in KEYS {
        let flag = format!("\\-\\-{}", key.flag().replace('-', "\\-"));
        assert!(page.contains(&flag), "{flag}");
    }
    assert!(text("pelton help man").contains(".SH NAME"));
    check_line(
        "pelton help completions tcsh",
        expect![[r#"
        pelton: invalid value 'tcsh' for '<SHELL>'
        hint:   a similar value exists: 'zsh'
    "#]],
    );
}

#[test]
fn help_of_serve_shows_ten_settings() {
    assert_eq!(text("pelton serve -h").matches("\n      --").count(), 12);
    check_line(
        "pelton serve -h",
        expect![[r#"
            Serve a folder over HTTP

            Usage: pelton serve [OPTIONS] [ROOT]

            Arguments:
              [ROOT]  Folder to serve; the same as --root

            Options:
                  --store <URL>    URL of a Redis-compatible store in which servers share their index of
                                   converted files; the same as --store-url
                  --config <FILE>  Configuration file in TOML, or a config.json of WebP Server Go. The variable
                                   PELTON_CONFIG can name the file, too [default: pelton.toml, if it exists]
              -h, --help           Print help (see more with '--help')

            Settings:
                  --root <DIRECTORY>
                      Folder whose pictures, music and other files are served [default: .]
                  --listen <ADDRESS>
                      IP address and port for HTTP. 127.0.0.1 accepts connections from this machine only;
                      0.0.0.0 accepts them from other machines, too [default: 127.0.0.1:3333]
                  --data <DIRECTORY>
                      Directory in which the server keeps its own files: converted pictures and tracks, the
                      index of the library, and user accounts [default: ./pelton-data]
                  --quality <1-100>
                      Quality of converted pictures for requests that name no quality, on the scale of JPEG
                      (libjpeg). Pictures in other formats are encoded to look as good as a JPEG of this
                      quality. A higher quality makes larger files [default: 70]
                  --formats <FORMATS>
                      Formats to which pictures are converted for clients that accept them: avif, webp or both,
                      in any order. Other clients get the original file if browsers can show its format and the
                      request asks for no change of the picture, otherwise a JPEG or PNG [default: avif,webp]
                  --require-login <OFF, MUSIC OR ALL>
                      Parts of the server for which browsers must log in. off: none. music: music, covers,
                      metrics (/-/metrics), status (/-/status) and the API (/-/api). all: everything except
                      health checks and the login page. Music players must always log in. If off, metrics,
                      status and the API need no login either, unless admin_listen or admin_token_file is set
                      [default: off]
                  --log-level <LEVEL>
                      Least severe messages to log: error, warn, info, debug or trace. More severe messages are
                      always logged, too [default: info]
                  --tls-cert <FILES>
                      Certificate files in PEM format, each with its chain of intermediate certificates. HTTPS
                      is on if there is at least one. The first certificate is also used for clients that name
                      no host or an unknown host
                  --tls-key <FILES>
                      Files with the private keys in PEM format, one per file in tls.cert and in the same order
                  --limits-variants-bytes-max <BYTES>
                      Maximum disk space for converted pictures and tracks. When it is full, the least recently
                      used files are deleted [default: 4GiB]

            Each setting can also be set in the configuration file or by an environment variable. For
            example, --tls-cert is the key cert in the table [tls] (written tls.cert in these texts) and the
            variable PELTON_TLS_CERT. `pelton help settings` explains all settings.

            Examples:
              pelton serve ~/Pictures
              pelton serve /srv/photos --listen 0.0.0.0:80 --limits-variants-bytes-max 20GiB
              pelton serve ~/Pictures --store-listen 127.0.0.1:6380   (redis-cli -p 6380 --scan lists the index)
        "#]],
    );
}

#[test]
fn help_lists_commands() {
    check_line(
        "pelton -h",
        expect![[r#"
            Media server: sends photos in the smallest format that each client accepts, and streams music

            Usage: pelton <COMMAND>

            Commands:
              serve       Serve a folder over HTTP
              convert     Convert pictures as the server would
              prefetch    Convert the pictures of a folder before clients request them
              purge       Delete converted pictures and tracks from the cache of a running server
              scan        Index the music and pictures of a folder, and report the result
              user        Manage the users who log in with music players or on the web page
              quarantine  List or release files that are not converted, because their conversion crashed
                          repeatedly
              run         Run a program in a cell, which is a sandbox for one job
              sign        Sign the URL of a picture, or check a signed URL
              check       Print the value of every setting, and report problems
              cell        Test the sandboxes (cells) of conversions, or run a failed job again
              doctor      Report the settings of this machine that slow a server down or limit it
              tune        Make the changes to the kernel and the network cards that `pelton doctor` recommends,
                          and undo them
              profile     Show in which functions a running server and its workers spend CPU time
              store       Run the Redis-compatible store alone, as a replacement for redis-server
              help        Explain a command, or list all settings

            Options:
              -h, --help     Print help (see more with '--help')
              -V, --version  Print version
        "#]],
    );
}

#[test]
fn short_help_shows_common_settings_only() {
    check_line(
        "pelton check -h",
        expect![[r#"
            Print the value of every setting, and report problems

            Usage: pelton check [OPTIONS]

            Options:
                  --config <FILE>  Configuration file in TOML, or a config.json of WebP Server Go. The variable
                                   PELTON_CONFIG can name the file, too [default: pelton.toml, if it exists]
              -h, --help           Print help (see more with '--help')

            Settings:
                  --root <DIRECTORY>
                      Folder whose pictures, music and other files are served [default: .]
                  --listen <ADDRESS>
                      IP address and port for HTTP. 127.0.0.1 accepts connections from this machine only;
                      0.0.0.0 accepts them from other machines, too [default: 127.0.0.1:3333]
                  --data <DIRECTORY>
                      Directory in which the server keeps its own files: converted pictures and tracks, the
                      index of the library, and user accounts [default: ./pelton-data]
                  --quality <1-100>
                      Quality of converted pictures for requests that name no quality, on the scale of JPEG
                      (libjpeg). Pictures in other formats are encoded to look as good as a JPEG of this
                      quality. A higher quality makes larger files [default: 70]
                  --formats <FORMATS>
                      Formats to which pictures are converted for clients that accept them: avif, webp or both,
                      in any order. Other clients get the original file if browsers can show its format and the
                      request asks for no change of the picture, otherwise a JPEG or PNG [default: avif,webp]
                  --require-login <OFF, MUSIC OR ALL>
                      Parts of the server for which browsers must log in. off: none. music: music, covers,
                      metrics (/-/metrics), status (/-/status) and the API (/-/api). all: everything except
                      health checks and the login page. Music players must always log in. If off, metrics,
                      status and the API need no login either, unless admin_listen or admin_token_file is set
                      [default: off]
                  --log-level <LEVEL>
                      Least severe messages to log: error, warn, info, debug or trace. More severe messages are
                      always logged, too [default: info]
                  --tls-cert <FILES>
                      Certificate files in PEM format, each with its chain of intermediate certificates. HTTPS
                      is on if there is at least one. The first certificate is also used for clients that name
                      no host or an unknown host
                  --tls-key <FILES>
                      Files with the private keys in PEM format, one per file in tls.cert and in the same order
                  --limits-variants-bytes-max <BYTES>
                      Maximum disk space for converted pictures and tracks. When it is full, the least recently
                      used files are deleted [default: 4GiB]

            Each setting can also be set in the configuration file or by an environment variable. For
            example, --tls-cert is the key cert in the table [tls] (written tls.cert in these texts) and the
            variable PELTON_TLS_CERT. `pelton help settings` explains all settings.

            Examples:
              pelton check
              pelton check --config config.json   (a file of WebP Server Go: reports its unsupported settings)
        "#]],
    );
}

/// Checks the long help of a command, which states its purpose and gives two examples.
fn check_help<T: Args>(expected: Expect) {
    let mut command = T::augment_args(clap::Command::new("pelton").term_width(HELP_COLUMNS));
    let help = command.render_long_help().to_string();
    let (about, rest) = help.split_once("Usage:").expect("help shows the usage");
    let (_, examples) = rest.split_once("Examples:").expect("help ends in examples");
    expected.assert_eq(&format!("{about}Examples:{examples}"));
}

#[test]
fn help_teaches() {
    check_help::<Serve>(expect![[r#"
        Serve a folder over HTTP.

        Sends every picture below ROOT in the smallest format that the client accepts: AVIF, WebP or the
        original file. Parameters in the URL, such as ?w=320, select another size. Converted pictures are
        kept in the data directory (--data). Music is served to browsers, and to players that use the
        Subsonic API. Browsers get a web page with a gallery and a music player at /-/.

        Examples:
          pelton serve ~/Pictures
          pelton serve /srv/photos --listen 0.0.0.0:80 --limits-variants-bytes-max 20GiB
          pelton serve ~/Pictures --store-listen 127.0.0.1:6380   (redis-cli -p 6380 --scan lists the index)
    "#]]);
    check_help::<Convert>(expect![[r#"
        Convert pictures as the server would.

        Reads one picture and writes it to OUT, whose extension selects the format. With --to, converts many
        pictures to one format, several at the same time, and prints a table of their sizes. Turns pictures
        upright and changes them as --query says; without --query, their sizes stay the same. Each
        conversion runs in a sandbox. An existing file is replaced only by a complete result.

        Examples:
          pelton convert photo.jpg photo.avif
          pelton convert photo.jpg thumb.webp --query 'w=320&h=320&fit=cover&q=80'
          pelton convert *.jpg --to avif --out small --score
    "#]]);
    check_help::<Prefetch>(expect![[r#"
        Convert the pictures of a folder before clients request them.

        Converts every picture below ROOT, in its full size, to the formats of --formats. Also makes smaller
        copies: covers get the sizes in --library-cover-sizes, and pictures in folders without music the
        heights in --library-picture-sizes. `pelton serve` uses the results if it has the same settings,
        such as --data and --quality.

        Examples:
          pelton prefetch ~/Pictures
          pelton prefetch /srv/photos --config /etc/pelton.toml --formats webp
    "#]]);
    check_help::<Scan>(expect![[r#"
        Index the music and pictures of a folder, and report the result.

        Reads new and changed files below ROOT: the tags, durations and covers of music, and the time and
        place at which pictures were taken. The new index replaces the old index when it is complete. The
        report lists each file that could not be read, with the reason. If there are such files, the exit
        code is 1.

        Examples:
          pelton scan ~/Music
          pelton scan ~/Music --only 'New Band' --only 'Old Band/1999 - Album'
          pelton scan /srv/media --data /var/lib/pelton --full
    "#]]);
    check_help::<Check>(expect![[r#"
        Print the value of every setting, and report problems.

        Prints each setting with its value, its unit and the place where it was set: a flag, a variable, a
        line of the configuration file, or the default. Keys and passwords are hidden. Changes nothing.
        Exits with 1 if the server could not start with these settings, or does not support one of them.

        Examples:
          pelton check
          pelton check --config config.json   (a file of WebP Server Go: reports its unsupported settings)
    "#]]);
    check_help::<Profile>(expect![[r#"
        Show in which functions a running server and its workers spend CPU time.

        Samples the server and the processes that convert its pictures and tracks, 99 times per second on
        each CPU, while they work as usual, and writes the profile to FILE. By default the server samples
        itself, which only an admin may request: give an admin's API key with --key-file, or set
        --admin-token-file. With --pid, this command samples the processes from outside, which works even if
        the server does not respond, but may need root. docs/profiling.md says how to read a profile.

        Examples:
          pelton profile -o profile.pb.gz && go tool pprof -top profile.pb.gz
          pelton profile --of workers -o flames.svg && xdg-open flames.svg     (in a browser)
          pelton profile --url http://nas:3333 --key-file key --seconds 30 -o profile.folded
          sudo pelton profile --pid $(pgrep -o pelton) -o profile.pb.gz
    "#]]);
    check_help::<Cell>(expect![[r#"
        Test the sandboxes (cells) of conversions, or run a failed job again.

        With --probe, starts a sandbox and tests from the inside that it cannot access files, the network or
        other processes, and cannot exceed its limits on memory and time.

        Examples:
          pelton cell --probe
          pelton cell --probe --cell-backend kvm
          pelton cell --replay crashes/0123456789abcdef.job
          sudo -u www-data pelton cell --probe     (as the user that the server runs as)
    "#]]);
}

#[test]
fn extensions_of_results() {
    let names = [
        "a.avif", "a.WEBP", "a.jpg", "a.jpeg", "a.b.png", ".png", "avif", "a.",
    ];
    let targets = names.map(|name| match target(Path::new(name)) {
        Ok(target) => format!("{name} {}\n", target.name()),
        Err(_) => format!("{name} refused\n"),
    });
    expect![[r#"
        a.avif avif
        a.WEBP webp
        a.jpg jpeg
        a.jpeg jpeg
        a.b.png png
        .png refused
        avif refused
        a. refused
    "#]]
    .assert_eq(&targets.concat());
}

#[test]
fn flags_of_webp_server_go_lead_to_their_replacement() {
    let mut errors = String::new();
    for line in [
        "pelton -config config.json",
        "pelton --config config.json",
        "pelton -config=config.json -prefetch -jobs 4",
        "pelton -prefetch",
        "pelton --prefetch",
        "pelton serve -dump-config",
        "pelton -dump-systemd",
        "pelton serve --config config.json --lisen :80",
    ] {
        match parse(line.split(' ').map(Into::into)) {
            Err(err) => writeln!(errors, "{line}\n{err}").unwrap(),
            Ok(_) => panic!("{line} is taken"),
        }
    }
    expect![[r#"
        pelton -config config.json
        pelton: unexpected argument '-c' found
        hint:   the flag -config of WebP Server Go corresponds to pelton serve --config FILE
        pelton --config config.json
        pelton: unexpected argument '--config' found
        hint:   the flag -config of WebP Server Go corresponds to pelton serve --config FILE
        pelton -config=config.json -prefetch -jobs 4
        pelton: unexpected argument '-c' found
        hint:   the flag -config of WebP Server Go corresponds to pelton serve --config FILE
        pelton -prefetch
        pelton: unexpected argument '-p' found
        hint:   the flag -prefetch of WebP Server Go corresponds to pelton prefetch ROOT
        pelton --prefetch
        pelton: unexpected argument '--prefetch' found
        hint:   the flag -prefetch of WebP Server Go corresponds to pelton prefetch ROOT
        pelton serve -dump-config
        pelton: unexpected argument '-d' found
        hint:   the flag -dump-config of WebP Server Go corresponds to pelton check, which lists every key with its value
        pelton -dump-systemd
        pelton: unexpected argument '-d' found
        hint:   the flag -dump-systemd of WebP Server Go corresponds to dist/pelton.service in the source tree, a systemd unit to install
        pelton serve --config config.json --lisen :80
        pelton: unexpected argument '--lisen' found
        hint:   a similar argument exists: '--listen'
    "#]].assert_eq(&errors);
}

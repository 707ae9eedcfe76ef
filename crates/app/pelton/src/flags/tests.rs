//! Command lines as users type them.

use std::fmt::Write;
use std::path::Path;

use clap::{Args, FromArgMatches};
use expect_test::{Expect, expect};
use report::Error;

use super::meaning::{target, with_root};
use super::settings::SettingFlags;
use super::typed::{
    Cell, Check, Convert, HELP_COLUMNS, Parsed, Prefetch, Scan, Serve, in_our_words, parse,
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
    let show = |serve: Serve| shown(&with_root(serve.settings, serve.root));
    check(words, show, expected);
}

fn check_convert(words: &str, expected: Expect) {
    let show = |convert: Convert| {
        let (input, output) = (convert.input.display(), convert.output.display());
        let target = match target(&convert.output) {
            Ok(target) => target.name().to_owned(),
            Err(err) => err.to_string(),
        };
        let settings = shown(&convert.settings);
        format!(
            "{input} to {output} by {:?}: {target}\n{settings}",
            convert.query
        )
    };
    check(words, show, expected);
}

fn check_prefetch(words: &str, expected: Expect) {
    let show = |prefetch: Prefetch| shown(&with_root(prefetch.settings, Some(prefetch.root)));
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
        hint:   pelton --help, and pelton COMMAND --help, explain every flag
    "#]],
    );
    check_serve(
        "photos music",
        expect![[r#"
        pelton: unexpected argument 'music' found
        hint:   pelton --help, and pelton COMMAND --help, explain every flag
    "#]],
    );
    check_serve(
        "--listen",
        expect![[r#"
        pelton: a value is required for '--listen <ADDRESS>' but none was supplied
        hint:   pelton --help, and pelton COMMAND --help, explain every flag
    "#]],
    );
    check_serve(
        "--listen a --listen b",
        expect![[r#"
        pelton: the argument '--listen <ADDRESS>' cannot be used multiple times
        hint:   pelton --help, and pelton COMMAND --help, explain every flag
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
        a.jpg to b.avif by "": avif
    "#]],
    );
    check_convert(
        "a.jpg b.JPEG --query w=640&q=80 --quality 50",
        expect![[r#"
            a.jpg to b.JPEG by "w=640&q=80": jpeg
            quality = "50"  from --quality
        "#]],
    );
    check_convert(
        "a.jpg b",
        expect![[r#"
        a.jpg to b by "": pelton: OUT: b: the extension is not an output format
        hint:   use a name that ends in .avif, .webp, .jpg or .png
    "#]],
    );
    check_convert(
        "a.jpg b.gif",
        expect![[r#"
        a.jpg to b.gif by "": pelton: OUT: b.gif: the extension is not an output format
        hint:   use a name that ends in .avif, .webp, .jpg or .png
    "#]],
    );
    check_convert(
        "a.jpg",
        expect![[r#"
        pelton: the following required arguments were not provided: <OUT>
        hint:   pelton --help, and pelton COMMAND --help, explain every flag
    "#]],
    );
    check_convert(
        "",
        expect![[r#"
        pelton: the following required arguments were not provided: <IN> <OUT>
        hint:   pelton --help, and pelton COMMAND --help, explain every flag
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
        hint:   pelton --help, and pelton COMMAND --help, explain every flag
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
        hint:   pelton --help, and pelton COMMAND --help, explain every flag
    "#]],
    );
}

#[test]
fn what_no_command_is() {
    check_line(
        "pelton",
        expect![[r#"
        pelton: no command was given
        hint:   pelton --help, and pelton COMMAND --help, explain every flag
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
fn short_help_shows_common_settings_only() {
    check_line(
        "pelton check -h",
        expect![[r#"
            Print the configuration and every limit, and report problems

            Usage: pelton check [OPTIONS]

            Options:
                  --config <FILE>  File of settings: TOML, or WebP Server Go's config.json; also PELTON_CONFIG
                                   [default: pelton.toml, if there]
              -h, --help           Print help (see more with '--help')

            Settings (each also a key of the file, and a PELTON_ variable):
                  --root <DIRECTORY>   Folder to serve [default: .]
                  --listen <ADDRESS>   Addresses for HTTP [default: 127.0.0.1:3333]
                  --data <DIRECTORY>   Data directory: variants, index, users, store [default: ./pelton-data]
                  --quality <1-100>    Quality of converted pictures if the request names none, on libjpeg's
                                       scale; all formats are encoded to look alike [default: 70]
                  --formats <FORMATS>  Output formats for clients that accept them [default: avif,webp]

            Examples:
              pelton check
              pelton check --config config.json        (WebP Server Go's: tells what is taken and what is not)
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

        Every picture below ROOT is sent in the smallest version that the client can decode: AVIF, WebP or
        the untouched original, in the size that the query asks for. Conversions run in sandboxes; their
        results are kept in the data directory.

        Examples:
          pelton serve ~/Pictures
          pelton serve /srv/photos --listen 0.0.0.0:80 --limits-variants-bytes-max 20GiB
          pelton serve ~/Pictures --store-listen 127.0.0.1:6380     (then look with redis-cli -p 6380)
    "#]]);
    check_help::<Convert>(expect![[r#"
        Convert one picture as the server would.

        IN is decoded, rotated upright, scaled by the query and encoded in the format that the extension of
        OUT names, all in a sandbox. Without a query, only the format changes.

        Examples:
          pelton convert photo.jpg photo.avif
          pelton convert photo.jpg thumb.webp --query 'w=320&h=320&fit=cover&q=80'
    "#]]);
    check_help::<Prefetch>(expect![[r#"
        Convert the pictures of a folder ahead of the first request.

        Creates the variants that requests without a query get, for every picture below ROOT, where `pelton
        serve` finds them. Use the same settings as the server.

        Examples:
          pelton prefetch ~/Pictures
          pelton prefetch /srv/photos --config /etc/pelton.toml --formats webp
    "#]]);
    check_help::<Scan>(expect![[r#"
        Index the music and pictures of a library, and report the result.

        Reads only new and changed files below ROOT: tags, durations, positions of covers, and when and
        where pictures were taken. The new index replaces the old one when it is complete. Exits with 1 if a
        file could not be read; each such file is listed with the reason.

        Examples:
          pelton scan ~/Music
          pelton scan ~/Music --only 'New Band' --only 'Old Band/1999 - Album'
          pelton scan /srv/media --data /var/lib/pelton --afresh
    "#]]);
    check_help::<Check>(expect![[r#"
        Print the configuration and every limit, and report problems.

        Prints each key with its value, unit and origin: a flag, a variable, a line of a file, or the
        default. Changes nothing. Exits with 1 if the server could not start, or would not do what is
        configured.

        Examples:
          pelton check
          pelton check --config config.json        (WebP Server Go's: tells what is taken and what is not)
    "#]]);
    check_help::<Cell>(expect![[r#"
        Show which isolation this machine offers to conversions.

        Starts a sandbox and proves from inside that it is denied files, network, other processes, and
        memory and time beyond its limits.

        Examples:
          pelton cell --probe
          pelton cell --probe --cell-backend kvm
          pelton cell --replay crashes/0123456789abcdef.job
          sudo -u www-data pelton cell --probe     (as the user that the server runs as)
    "#]]);
}

#[test]
fn names_of_answers() {
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
fn flags_of_webp_server_go_are_told_what_does_the_same() {
    let mut told = String::new();
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
            Err(err) => writeln!(told, "{line}\n{err}").unwrap(),
            Ok(_) => panic!("{line} is taken"),
        }
    }
    expect![[r#"
        pelton -config config.json
        pelton: unexpected argument '-c' found
        hint:   -config of WebP Server Go corresponds to pelton serve --config FILE
        pelton --config config.json
        pelton: unexpected argument '--config' found
        hint:   -config of WebP Server Go corresponds to pelton serve --config FILE
        pelton -config=config.json -prefetch -jobs 4
        pelton: unexpected argument '-c' found
        hint:   -config of WebP Server Go corresponds to pelton serve --config FILE
        pelton -prefetch
        pelton: unexpected argument '-p' found
        hint:   -prefetch of WebP Server Go corresponds to pelton prefetch ROOT
        pelton --prefetch
        pelton: unexpected argument '--prefetch' found
        hint:   -prefetch of WebP Server Go corresponds to pelton prefetch ROOT
        pelton serve -dump-config
        pelton: unexpected argument '-d' found
        hint:   -dump-config of WebP Server Go corresponds to pelton check, which lists every key with its value
        pelton -dump-systemd
        pelton: unexpected argument '-d' found
        hint:   -dump-systemd of WebP Server Go corresponds to dist/pelton.service in the sources, which is a unit to install
        pelton serve --config config.json --lisen :80
        pelton: unexpected argument '--lisen' found
        hint:   a similar argument exists: '--listen'
    "#]].assert_eq(&told);
}

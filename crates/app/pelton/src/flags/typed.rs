//! Stage one: what was typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};

use super::settings::SettingFlags;
use crate::report::Error;

/// Width of help, on every terminal: what is documented is what is shown.
pub(super) const HELP_COLUMNS: usize = 100;

const HELP: &str = "pelton --help, and pelton COMMAND --help, explain every flag";

/// A media origin: it serves a folder of pictures, to every client the smallest version that client can read.
///
/// Answers go to stdout, everything else to stderr. Exit codes: 0 done, 1 done and something was found, 2 the command
/// line or the configuration is wrong, 3 the machine refused.
#[derive(Parser)]
#[command(
    name = "pelton",
    version,
    disable_help_subcommand = true,
    term_width = HELP_COLUMNS
)]
struct Typed {
    #[command(subcommand)]
    command: Command,
}

/// The command, with its flags.
#[derive(Subcommand)]
pub(crate) enum Command {
    Serve(Serve),
    Convert(Convert),
    Prefetch(Prefetch),
    Scan(Scan),
    User(User),
    Quarantine(Quarantine),
    Run(Run),
    Check(Check),
    Cell(Cell),
    Store(Store),
}

/// Serve a folder over HTTP.
///
/// Every picture below ROOT is answered in the smallest version that the client reads, AVIF, WebP or the untouched
/// original, in the size its query asks for. Conversions run in sandboxes and are kept under the data directory.
#[derive(Args)]
#[command(after_help = "Examples:
  pelton serve ~/Pictures
  pelton serve /srv/photos --listen 0.0.0.0:80 --limits-variants-bytes-max 20GiB
  pelton serve ~/Pictures --store-listen 127.0.0.1:6380     (then look with redis-cli -p 6380)")]
pub(crate) struct Serve {
    /// Directory whose files are served; the same as --root
    #[arg(value_name = "ROOT", id = "ROOT", conflicts_with = "root")]
    pub(crate) root: Option<PathBuf>,
    /// Redis-compatible store to keep what is known of variants in; the same as --store-url
    #[arg(long, value_name = "URL", conflicts_with = "store.url")]
    pub(crate) store: Option<String>,
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}

/// Convert one picture, as the server would.
///
/// IN is decoded, turned upright, scaled as the query says and encoded in the format that the extension of OUT names,
/// all in a sandbox. Without a query only the format changes.
#[derive(Args)]
#[command(after_help = "Examples:
  pelton convert photo.jpg photo.avif
  pelton convert photo.jpg thumb.webp --query 'w=320&h=320&fit=cover&q=80'")]
pub(crate) struct Convert {
    /// Picture to read: JPEG, PNG, GIF, WebP, AVIF or BMP
    #[arg(value_name = "IN", id = "IN")]
    pub(crate) input: PathBuf,
    /// File to write, ending in .avif, .webp, .jpg or .png
    #[arg(value_name = "OUT", id = "OUT")]
    pub(crate) output: PathBuf,
    /// Changes to make, written as in a URL
    #[arg(long, value_name = "QUERY", default_value = "")]
    pub(crate) query: String,
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}

/// Convert a folder's pictures ahead of the first request.
///
/// Makes the versions that requests without a query are answered with, for every picture below ROOT, and keeps them
/// where `pelton serve` finds them. Run it with the same settings as the server.
#[derive(Args)]
#[command(after_help = "Examples:
  pelton prefetch ~/Pictures
  pelton prefetch /srv/photos --config /etc/pelton.toml --formats webp")]
pub(crate) struct Prefetch {
    /// Directory whose pictures are converted; the same as --root
    #[arg(value_name = "ROOT", id = "ROOT", conflicts_with = "root")]
    pub(crate) root: PathBuf,
    /// Make the quick variants, which requests get first, and not the best ones; takes a fraction of the time
    #[arg(long)]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}

/// Index a library's music and pictures, and report what was found.
///
/// Reads what is new or changed below ROOT, and nothing else: tags, durations, where covers lie, and when and where
/// pictures were taken. The index under the data directory is replaced once the new one is whole. Exits with 1 when some
/// file could not be read; each is named with the reason.
#[derive(Args)]
#[command(after_help = "Examples:
  pelton scan ~/Music
  pelton scan ~/Music --only 'New Band' --only 'Old Band/1999 - Album'
  pelton scan /srv/media --data /var/lib/pelton --afresh")]
pub(crate) struct Scan {
    /// Directory whose files are indexed; the same as --root
    #[arg(value_name = "ROOT", id = "ROOT", conflicts_with = "root")]
    pub(crate) root: PathBuf,
    /// Look only into this folder below ROOT, and take the rest as it was; may be given several times
    #[arg(long, value_name = "FOLDER")]
    pub(crate) only: Vec<PathBuf>,
    /// Open every file, as if there were no index
    #[arg(long, conflicts_with = "only")]
    pub(crate) afresh: bool,
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}

/// Say who may come in with a music player.
///
/// Users and all they leave, such as playlists, are kept in the data directory. A server that runs on it sees a change
/// with its next request.
#[derive(Args)]
pub(crate) struct User {
    #[command(subcommand)]
    pub(crate) does: UserDoes,
}

/// What is to be done with users.
#[derive(Subcommand)]
pub(crate) enum UserDoes {
    /// Add a user, whose password is a line of standard input; the first one may change what is everybody's
    #[command(after_help = "Examples:
  pelton user add ann                      (asks for the password)
  pelton user add ann < password.txt")]
    Add(AddUser),
    /// Give a user another password, which is a line of standard input
    Password(Whose),
    /// Remove a user, and all that is theirs
    Remove(Whose),
    /// List users, whether they may change what is everybody's, and the labels of their keys
    List(Everybody),
    /// Make a key that lets a program in as this user, and print it; it is not shown again
    Key(Labelled),
    /// Take such a key away
    RemoveKey(Labelled),
    /// Give a user a picture, which players show
    #[command(after_help = "Examples:
  pelton user avatar ann portrait.jpg")]
    Avatar(Portrait),
    /// Take it away
    RemoveAvatar(Whose),
}

impl UserDoes {
    /// The settings that were typed with it.
    pub(crate) fn settings(&self) -> &SettingFlags {
        match self {
            UserDoes::Add(typed) => &typed.settings,
            UserDoes::Password(typed) | UserDoes::Remove(typed) | UserDoes::RemoveAvatar(typed) => {
                &typed.settings
            }
            UserDoes::Avatar(typed) => &typed.settings,
            UserDoes::List(typed) => &typed.settings,
            UserDoes::Key(typed) | UserDoes::RemoveKey(typed) => &typed.settings,
        }
    }
}

/// A user to be added.
#[derive(Args)]
pub(crate) struct AddUser {
    /// Name of the user
    #[arg(value_name = "NAME", id = "NAME")]
    pub(crate) name: String,
    /// Whether the user may change what is everybody's: users and radio stations
    #[arg(long)]
    pub(crate) admin: bool,
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}

/// A user who is there.
#[derive(Args)]
pub(crate) struct Whose {
    /// Name of the user
    #[arg(value_name = "NAME", id = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}

/// A user's picture.
#[derive(Args)]
pub(crate) struct Portrait {
    /// Name of the user
    #[arg(value_name = "NAME", id = "NAME")]
    pub(crate) name: String,
    /// The picture: JPEG, PNG, WebP, AVIF, GIF or BMP
    #[arg(value_name = "FILE", id = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}

/// Nobody in particular.
#[derive(Args)]
pub(crate) struct Everybody {
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}

/// A user's key.
#[derive(Args)]
pub(crate) struct Labelled {
    /// Name of the user
    #[arg(value_name = "NAME", id = "NAME")]
    pub(crate) name: String,
    /// What the key is for, such as phone
    #[arg(value_name = "LABEL", id = "LABEL")]
    pub(crate) label: String,
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}

/// List or lift what crashed its sandbox again and again.
///
/// A picture or track that crashed three sandboxes is not converted any more: it is sent as it is. A server that runs on
/// the data directory tries an original whose quarantine was lifted again within a minute.
#[derive(Args)]
pub(crate) struct Quarantine {
    #[command(subcommand)]
    pub(crate) does: QuarantineDoes,
}

/// What is to be done with the quarantine.
#[derive(Subcommand)]
pub(crate) enum QuarantineDoes {
    /// List originals in quarantine: BLAKE3, bytes, time in seconds since 1970, path and cause, with tabs between
    List(Everybody),
    /// Lift the quarantine of an original
    #[command(after_help = "Examples:
  pelton quarantine lift photos/odd.jpg
  pelton quarantine lift 0c6b…             (a whole BLAKE3 of the list)")]
    Lift(Lift),
}

impl QuarantineDoes {
    /// The settings that were typed with it.
    pub(crate) fn settings(&self) -> &SettingFlags {
        match self {
            QuarantineDoes::List(typed) => &typed.settings,
            QuarantineDoes::Lift(typed) => &typed.settings,
        }
    }
}

/// An original in quarantine.
#[derive(Args)]
pub(crate) struct Lift {
    /// Its BLAKE3, or its path in the library
    #[arg(value_name = "BLAKE3 | PATH", id = "ORIGINAL")]
    pub(crate) original: String,
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}

/// Run a program in a cell.
///
/// PROGRAM is a static program for Linux on x86-64. It gets standard input whole, and what it writes to standard output
/// is written when it has ended. It has no network, no other process and no file but those of --allow, and is held to
/// the limits of a job. Exits with 1 when the program fails, and says why.
#[derive(Args)]
#[command(after_help = "Examples:
  pelton run ./upper < in > out
  pelton run ./report --backend kvm --env LANG=C --allow /etc/localtime -- --wide < in > out")]
pub(crate) struct Run {
    /// Program to run
    #[arg(value_name = "PROGRAM", id = "PROGRAM")]
    pub(crate) program: PathBuf,
    /// Its arguments
    #[arg(value_name = "ARGUMENT", id = "ARGUMENT", last = true)]
    pub(crate) arguments: Vec<String>,
    /// What it runs in, auto, process or kvm; the same as --cell-backend
    #[arg(long, value_name = "BACKEND", conflicts_with = "cell.backend")]
    pub(crate) backend: Option<String>,
    /// A variable of its environment, which is empty otherwise; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// A file that it may open for reading, by this name; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) allow: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}

/// Show the configuration and every limit, resolved, and what is wrong with them.
///
/// Prints each key with its value, its unit and the place it comes from: a flag, a variable, a line of a file or the
/// default. Changes nothing. Exits with 1 when the server could not run like this, or would not do what was asked.
#[derive(Args)]
#[command(after_help = "Examples:
  pelton check
  pelton check --config config.json        (WebP Server Go's: tells what is taken and what is not)")]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}

/// Show which isolation this machine gives to conversions.
///
/// Starts a sandbox and proves from within what it is denied: files, network, other processes, memory and time beyond
/// its limits.
#[derive(Args)]
#[command(after_help = "Examples:
  pelton cell --probe
  pelton cell --probe --cell-backend kvm
  pelton cell --replay crashes/0123456789abcdef.job
  sudo -u www-data pelton cell --probe     (as the user that the server runs as)")]
pub(crate) struct Cell {
    /// Prove each denial by trying it
    #[arg(long, required_unless_present_any = ["pagetables", "replay"])]
    pub(crate) probe: bool,
    /// Show the page tables of a microVM with the worker in it
    #[arg(long, conflicts_with = "probe")]
    pub(crate) pagetables: bool,
    /// Run a job again that crashed and was kept in cell.crash_dir; exit code 1 if it still fails
    #[arg(long, value_name = "FILE", conflicts_with_all = ["probe", "pagetables"])]
    pub(crate) replay: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}

/// Run the Redis-compatible store alone.
///
/// Takes what redis-server takes: a configuration file in redis.conf syntax, or - for stdin, then directives, each with --
/// before its name. Listens on 127.0.0.1:6379 and keeps its files in pelton-data/store unless they say otherwise.
#[derive(Args)]
#[command(after_help = "Examples:
  pelton store --port 7000 --save '' --dir /var/lib/store
  pelton store /etc/redis/redis.conf --daemonize no")]
pub(crate) struct Store {
    /// Configuration file or -, then directives; or --version
    #[arg(
        value_name = "CONF | --DIRECTIVE VALUE",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) words: Vec<String>,
}

impl Store {
    /// Whether nothing but the version is asked for, as redis-server is asked.
    pub(crate) fn asks_for_version(&self) -> bool {
        matches!(self.words.as_slice(), [word] if word == "-v" || word == "--version")
    }
}

/// What there is to do with a command line.
pub(crate) enum Parsed {
    /// Run this.
    Command(Command),
    /// Help or the version was asked for: print this.
    Text(String),
}

/// Parses the whole command line, the program's name included.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Parsed, Error> {
    let words: Vec<OsString> = words.into_iter().collect();
    match Typed::try_parse_from(&words) {
        Ok(typed) => Ok(Parsed::Command(typed.command)),
        Err(err) => match err.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                Ok(Parsed::Text(err.render().to_string()))
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                Err(Error::usage("no command was given").hint(HELP))
            }
            _ => Err(match of_wsg(&words) {
                Some(hint) => in_our_words(&err).hint(hint),
                None => in_our_words(&err),
            }),
        },
    }
}

/// Flags of WebP Server Go, which takes them with one dash or two, and what does the same here.
const OF_WSG: [(&str, &str); 6] = [
    ("config", "pelton serve --config FILE"),
    ("prefetch", "pelton prefetch ROOT"),
    ("jobs", "pelton prefetch ROOT --cell-concurrency JOBS"),
    (
        "dump-config",
        "pelton check, which lists every key with its value",
    ),
    (
        "dump-systemd",
        "dist/pelton.service in the sources, which is a unit to install",
    ),
    ("verbose", "pelton serve --log-level debug"),
];

/// What does here what the first flag of WebP Server Go among `words` does there.
fn of_wsg(words: &[OsString]) -> Option<String> {
    let same = |(index, word): (usize, &OsString)| {
        let word = word.to_str()?;
        let (name, is_ours) = match word.strip_prefix("--") {
            // Behind a command it is our own flag.
            Some(name) => (name, 1 < index && name.starts_with("config")),
            None => (word.strip_prefix('-')?, false),
        };
        let name = name.split_once('=').map_or(name, |(name, _)| name);
        let known = OF_WSG.iter().find(|(known, _)| *known == name && !is_ours);
        known.map(|(name, same)| format!("what -{name} is in WebP Server Go is {same}"))
    };
    words.iter().enumerate().skip(1).find_map(same)
}

/// clap's complaint in the form of all others: `error: …` first, then perhaps `tip: …`, then the usage.
pub(super) fn in_our_words(err: &clap::Error) -> Error {
    let text = err.render().to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().expect("clap says what is wrong");
    let what = first.strip_prefix("error: ").unwrap_or(first);
    let tip = lines.clone().find_map(|line| line.strip_prefix("tip: "));
    // What is missing stands on the lines below "… were not provided:".
    let missing: Vec<&str> = lines
        .take_while(|line| what.ends_with(':') && line.starts_with(['<', '-']))
        .collect();
    let error = Error::usage(format!("{what} {}", missing.join(" ")).trim_end());
    error.hint(tip.unwrap_or(HELP))
}

//! First stage of the command line: parses the words into a command with its flags.

use std::ffi::OsString;
use std::path::PathBuf;

use ::profile::{Format, Of, SECONDS_MAX};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use config::KEYS;
use report::Error;
use upkeep::purge::Selection;
use upkeep::user::{UserAction, UserChange};
use upkeep::{profile, sign};

use super::help::{self, Help};
use super::scope::{
    Cells, CellsAndPrograms, Conversion, Data, DataAndLogin, Diagnosis, Everything, Prefetching,
    Purging, Scanning, Signing,
};
use super::settings::{SettingFlags, SettingsOf};

/// Width of help texts in columns. It is the same on every terminal, so that documents show what
/// users see.
pub(super) const HELP_COLUMNS: usize = 100;

const HELP: &str =
    "pelton COMMAND --help explains the command, pelton help settings lists all settings";

/// Text below the settings in the help of a command.
const MORE_SETTINGS: &str = "\
Each setting can also be set in the configuration file or by an environment variable. For
example, --tls-cert is the key cert in the table [tls] (written tls.cert in these texts) and the
variable PELTON_TLS_CERT. `pelton help settings` explains all settings.";

/// Media server: sends photos in the smallest format that each client accepts, and streams music.
///
/// Results go to stdout, all other messages to stderr. Exit codes: 0: success; 1: the command found
/// problems, or a job failed; 2: the command line or the configuration is wrong; 3: the operating
/// system refused something, such as a port or a permission.
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

/// Command with its flags.
#[derive(Subcommand)]
pub(crate) enum Command {
    Serve(Serve),
    Convert(Convert),
    Prefetch(Prefetch),
    Purge(Purge),
    Scan(Scan),
    User(User),
    Quarantine(Quarantine),
    Run(Run),
    Sign(Sign),
    Check(Check),
    Cell(Cell),
    Doctor(Doctor),
    Tune(Tune),
    Profile(Profile),
    Store(Store),
    Help(Help),
}

/// Serve a folder over HTTP.
///
/// Sends every picture below ROOT in the smallest format that the client accepts: AVIF, WebP or the
/// original file. Parameters in the URL, such as ?w=320, select another size. Converted pictures
/// are kept in the data directory (--data). Music is served to browsers, and to players that use
/// the Subsonic API. Browsers get a web page with a gallery and a music player at /-/.
#[derive(Args)]
#[command(after_help = "Examples:
  pelton serve ~/Pictures
  pelton serve /srv/photos --listen 0.0.0.0:80 --limits-variants-bytes-max 20GiB
  pelton serve ~/Pictures --store-listen 127.0.0.1:6380   (redis-cli -p 6380 --scan lists the index)")]
pub(crate) struct Serve {
    /// Folder to serve; the same as --root
    #[arg(value_name = "ROOT", id = "ROOT", conflicts_with = "root")]
    pub(crate) root: Option<PathBuf>,
    /// URL of a Redis-compatible store in which servers share their index of converted files; the
    /// same as --store-url
    #[arg(long, value_name = "URL", conflicts_with = "store.url")]
    pub(crate) store: Option<String>,
    #[command(flatten)]
    pub(crate) settings: SettingsOf<Everything>,
}

/// Convert pictures as the server would.
///
/// Reads one picture and writes it to OUT, whose extension selects the format. With --to, converts
/// many pictures to one format, several at the same time, and prints a table of their sizes. Turns
/// pictures upright and changes them as --query says; without --query, their sizes stay the same.
/// Each conversion runs in a sandbox. An existing file is replaced only by a complete result.
#[derive(Args)]
#[command(
    override_usage = "pelton convert [OPTIONS] <IN> <OUT>
       pelton convert [OPTIONS] --to <FORMAT> <IN>...",
    after_help = "Examples:
  pelton convert photo.jpg photo.avif
  pelton convert photo.jpg thumb.webp --query 'w=320&h=320&fit=cover&q=80'
  pelton convert *.jpg --to avif --out small --score"
)]
pub(crate) struct Convert {
    /// Pictures to read, in any format that the server converts. Without --to, exactly one picture,
    /// followed by OUT: the file to write, whose name ends in .avif, .webp, .jpg or .png
    #[arg(value_name = "IN", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Format of the results: avif, webp, jpg or png. Each result is named after its picture: with
    /// avif, a.jpg becomes a.avif
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<String>,
    /// Folder for the results of --to, which is created if it is missing [default: the folder of
    /// each picture]
    #[arg(short, long, value_name = "FOLDER", requires = "to")]
    pub(crate) out: Option<PathBuf>,
    /// Also print the SSIMULACRA2 score of each result, which takes about as long as the
    /// conversion. 100 means identical; at 90 no difference is visible; 70 is high and 50 medium
    /// quality. Animations and results of more than 3 megapixels get no score
    #[arg(long)]
    pub(crate) score: bool,
    /// Parameters as in the URL of a picture, joined by &. For example, w=640&q=80 means the width
    /// 640 and the quality 80; other parameters are h, fit, crop, rotate and blur.
    /// docs/operations.md lists all
    #[arg(
        long,
        value_name = "QUERY",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) query: String,
    #[command(flatten)]
    pub(crate) settings: SettingsOf<Conversion>,
}

/// Convert the pictures of a folder before clients request them.
///
/// Converts every picture below ROOT, in its full size, to the formats of --formats. Also makes
/// smaller copies: covers get the sizes in --library-cover-sizes, and pictures in folders without
/// music the heights in --library-picture-sizes. `pelton serve` uses the results if it has the same
/// settings, such as --data and --quality.
#[derive(Args)]
#[command(after_help = "Examples:
  pelton prefetch ~/Pictures
  pelton prefetch /srv/photos --config /etc/pelton.toml --formats webp")]
pub(crate) struct Prefetch {
    /// Folder whose pictures are converted. It must be given, and overrides the setting root
    #[arg(value_name = "ROOT", id = "ROOT", conflicts_with = "root")]
    pub(crate) root: PathBuf,
    /// Encode quickly, which makes larger files
    #[arg(long)]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(crate) settings: SettingsOf<Prefetching>,
}

/// Delete converted pictures and tracks from the cache of a running server.
///
/// Deletes converted pictures and tracks from disk and from memory. PATH selects one file or a
/// folder, --tag the files with a tag, and --all all files. The originals stay, and the next
/// request converts them again. Prints how many entries of the cache were deleted; an entry is a
/// converted file, or a note that a conversion failed or would save nothing. Only admins may purge:
/// pass the API key of an admin with --key-file, or set --admin-token-file.
#[derive(Args)]
#[command(after_help = "Examples:
  pelton purge /2025/summer
  pelton purge --tag summer --url http://nas:3333 --key-file key
  pelton purge --all")]
#[group(id = "selection", required = true, multiple = false, args = ["PATH", "tag", "all"])]
pub(crate) struct Purge {
    /// File or folder to purge: the decoded path of its URL, such as '/My Album/a.jpg'
    #[arg(value_name = "PATH", id = "PATH")]
    pub(crate) path: Option<String>,
    /// Purge the files that have this tag in the setting `tags`
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// Delete all converted pictures and tracks; to convert them again may take hours
    #[arg(long)]
    pub(crate) all: bool,
    /// URL of the server, such as http://nas:3333 [default: the server on this machine, at the
    /// address of --admin-listen, or else of --listen]
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// File with a secret that permits the purge: the API key of an admin, or the same token as in
    /// the server's admin_token_file. Without this flag, the file of --admin-token-file is used
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: SettingsOf<Purging>,
}

impl Purge {
    /// Returns the variants that the command selects.
    pub(crate) fn selection(&self) -> Selection<'_> {
        match (&self.path, &self.tag) {
            (Some(path), _) => Selection::Path(path),
            (None, Some(tag)) => Selection::Tag(tag),
            (None, None) => Selection::Everything,
        }
    }
}

/// Index the music and pictures of a folder, and report the result.
///
/// Reads new and changed files below ROOT: the tags, durations and covers of music, and the time
/// and place at which pictures were taken. The new index replaces the old index when it is
/// complete. The report lists each file that could not be read, with the reason. If there are such
/// files, the exit code is 1.
#[derive(Args)]
#[command(after_help = "Examples:
  pelton scan ~/Music
  pelton scan ~/Music --only 'New Band' --only 'Old Band/1999 - Album'
  pelton scan /srv/media --data /var/lib/pelton --full")]
pub(crate) struct Scan {
    /// Folder to index. It must be given, and overrides the setting root
    #[arg(value_name = "ROOT", id = "ROOT", conflicts_with = "root")]
    pub(crate) root: PathBuf,
    /// Scan only this folder, a path below ROOT, and keep the index of all others. This flag may be
    /// repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) only: Vec<PathBuf>,
    /// Read all files again, not only new and changed ones
    #[arg(long, conflicts_with = "only")]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) settings: SettingsOf<Scanning>,
}

/// Manage the users who log in with music players or on the web page.
///
/// Users, their playlists and their ratings are stored in the data directory (--data). A running
/// server applies changes at the next request.
#[derive(Args)]
pub(crate) struct User {
    #[command(subcommand)]
    pub(crate) does: UserCommand,
}

/// Subcommands of `pelton user`.
#[derive(Subcommand)]
pub(crate) enum UserCommand {
    /// Add a user, whose password is read from standard input. The first user becomes an admin.
    ///
    /// When you add the first user, the value of --require-login is saved in the data directory. If
    /// you do not give this flag, and require_login is not set elsewhere, the command asks for the
    /// value at the terminal. From its next start, the server uses the saved value, unless its own
    /// configuration sets require_login.
    #[command(after_help = "Examples:
  pelton user add ann                      (asks for the password)
  pelton user add ann < password.txt")]
    Add(AddUser),
    /// Change the password of a user. The new password is read from standard input
    Password(OneUser),
    /// Remove a user, and the user's playlists, ratings and API keys
    Remove(OneUser),
    /// List all users, each with its role (user or admin) and the labels of its API keys
    List(AllUsers),
    /// Create and print an API key, with which an app can log in as a user. The key cannot be shown
    /// again
    Key(Labelled),
    /// Revoke an API key of a user
    RemoveKey(Labelled),
    /// Set the picture that music players show for a user
    #[command(after_help = "Examples:
  pelton user avatar ann portrait.jpg")]
    Avatar(Portrait),
    /// Remove the picture of a user
    RemoveAvatar(OneUser),
}

impl UserCommand {
    /// Returns the settings among the flags.
    pub(crate) fn settings(&self) -> &SettingFlags {
        match self {
            UserCommand::Add(typed) => &typed.settings,
            UserCommand::Password(typed)
            | UserCommand::Remove(typed)
            | UserCommand::RemoveAvatar(typed) => &typed.settings,
            UserCommand::Avatar(typed) => &typed.settings,
            UserCommand::List(typed) => &typed.settings,
            UserCommand::Key(typed) | UserCommand::RemoveKey(typed) => &typed.settings,
        }
    }

    /// Returns the action that the command requests.
    pub(crate) fn action(&self) -> UserAction<'_> {
        let (name, change) = match self {
            UserCommand::List(_) => return UserAction::List,
            UserCommand::Add(typed) if typed.admin => (&typed.name, UserChange::AddAdmin),
            UserCommand::Add(typed) => (&typed.name, UserChange::Add),
            UserCommand::Password(typed) => (&typed.name, UserChange::SetPassword),
            UserCommand::Remove(typed) => (&typed.name, UserChange::Remove),
            UserCommand::Key(typed) => (&typed.name, UserChange::AddKey(&typed.label)),
            UserCommand::RemoveKey(typed) => (&typed.name, UserChange::RemoveKey(&typed.label)),
            UserCommand::Avatar(typed) => (&typed.name, UserChange::SetAvatar(&typed.file)),
            UserCommand::RemoveAvatar(typed) => (&typed.name, UserChange::RemoveAvatar),
        };
        UserAction::Change(name, change)
    }
}

/// Flags of `pelton user add`.
#[derive(Args)]
pub(crate) struct AddUser {
    /// Name of the user
    #[arg(value_name = "NAME", id = "NAME")]
    pub(crate) name: String,
    /// Make the user an admin, who may manage users and radio stations, start scans of the library,
    /// purge the cache, release files from quarantine and profile the server
    #[arg(long)]
    pub(crate) admin: bool,
    #[command(flatten)]
    pub(crate) settings: SettingsOf<DataAndLogin>,
}

/// Flags that name a user.
#[derive(Args)]
pub(crate) struct OneUser {
    /// Name of the user
    #[arg(value_name = "NAME", id = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) settings: SettingsOf<Data>,
}

/// Flags of `pelton user avatar`.
#[derive(Args)]
pub(crate) struct Portrait {
    /// Name of the user
    #[arg(value_name = "NAME", id = "NAME")]
    pub(crate) name: String,
    /// Picture file of at most 16 MiB, such as a JPEG or PNG
    #[arg(value_name = "FILE", id = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) settings: SettingsOf<Data>,
}

/// Flags of a command that lists users or originals.
#[derive(Args)]
pub(crate) struct AllUsers {
    #[command(flatten)]
    pub(crate) settings: SettingsOf<Data>,
}

/// Flags that name an API key.
#[derive(Args)]
pub(crate) struct Labelled {
    /// Name of the user
    #[arg(value_name = "NAME", id = "NAME")]
    pub(crate) name: String,
    /// Name by which the key is listed and revoked, such as phone
    #[arg(value_name = "LABEL", id = "LABEL")]
    pub(crate) label: String,
    #[command(flatten)]
    pub(crate) settings: SettingsOf<Data>,
}

/// List or release files that are not converted, because their conversion crashed repeatedly.
///
/// A file that has crashed three conversions is put in quarantine: the server then sends it
/// unconverted. When its quarantine is lifted, a running server may continue to do so for up to a
/// minute. After that, the next request for the file converts it again.
#[derive(Args)]
pub(crate) struct Quarantine {
    #[command(subcommand)]
    pub(crate) does: QuarantineCommand,
}

/// Subcommands of `pelton quarantine`.
#[derive(Subcommand)]
pub(crate) enum QuarantineCommand {
    /// List the files in quarantine. Prints for each file, separated by tabs: the BLAKE3 hash of
    /// its contents, its size in bytes, the Unix time at which it was put in quarantine, its path,
    /// and the cause
    List(AllUsers),
    /// Release one file, named by its hash or path, from quarantine
    #[command(after_help = "Examples:
  pelton quarantine lift photos/odd.jpg
  pelton quarantine lift 0c6b…             (a whole hash from the list)")]
    Lift(Lift),
}

impl QuarantineCommand {
    /// Returns the settings among the flags.
    pub(crate) fn settings(&self) -> &SettingFlags {
        match self {
            QuarantineCommand::List(typed) => &typed.settings,
            QuarantineCommand::Lift(typed) => &typed.settings,
        }
    }
}

/// Flags of `pelton quarantine lift`.
#[derive(Args)]
pub(crate) struct Lift {
    /// File to release: its hash or its path, as `pelton quarantine list` prints them
    #[arg(value_name = "HASH | PATH", id = "ORIGINAL")]
    pub(crate) original: String,
    #[command(flatten)]
    pub(crate) settings: SettingsOf<Data>,
}

/// Run a program in a cell, which is a sandbox for one job.
///
/// PROGRAM is a statically linked Linux program for x86-64. The program can read standard input.
/// Its standard output is printed after the program has ended. The program has no access to the
/// network or to other processes, and can read only the files of --allow. The cell settings below
/// limit its time and memory. If the program fails, pelton prints the reason and exits with 1.
#[derive(Args)]
#[command(after_help = "Examples:
  pelton run ./upper < in > out
  pelton run ./report --backend kvm --env LANG=C --allow /etc/localtime -- --wide < in > out")]
pub(crate) struct Run {
    /// Program to run
    #[arg(value_name = "PROGRAM", id = "PROGRAM")]
    pub(crate) program: PathBuf,
    /// Arguments of the program
    #[arg(value_name = "ARGUMENT", id = "ARGUMENT", last = true)]
    pub(crate) arguments: Vec<String>,
    /// Kind of sandbox: auto, process or kvm; the same as --cell-backend
    #[arg(long, value_name = "BACKEND", conflicts_with = "cell.backend")]
    pub(crate) backend: Option<String>,
    /// Environment variable of the program, which gets no others. This flag may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// File that the program may read, with the same path inside the sandbox as outside. This flag
    /// may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) allow: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: SettingsOf<Cells>,
}

/// Sign the URL of a picture, or check a signed URL.
///
/// Prints the URL with a signature added. If images.require_signature is true, the server accepts
/// parameters such as w=480 only in signed URLs. The URL is signed with the first key of
/// images.signature_keys. With --check, prints until when the URL is valid, or exits with 1 if no
/// configured key has signed it or it has expired. If the path begins with the value of the setting
/// imgproxy.prefix, the URL is signed in the format of imgproxy, another image server, with the
/// first of imgproxy.keys and imgproxy.salts.
#[derive(Args)]
#[command(after_help = "Examples:
  pelton sign '/2019/a.jpg?w=480' --images-signature-key-file /etc/pelton.keys
  pelton sign 'https://photos.example.org/a.jpg?p=thumb' --expires 7d
  pelton sign --check 'https://photos.example.org/a.jpg?w=480&sig=…'")]
pub(crate) struct Sign {
    /// URL of a picture, or only its path and query
    #[arg(value_name = "URL | PATH", id = "URL")]
    url: String,
    /// Key, as KEY or KEY:SALT in hexadecimal digits; the same as --images-signature-keys
    #[arg(long, value_name = "KEY", conflicts_with = "images.signature_keys")]
    pub(crate) key: Option<String>,
    /// Time for which the URL stays valid, such as 1h or 30d [default: forever]
    #[arg(long, value_name = "TIME", conflicts_with = "check")]
    expires: Option<String>,
    /// Check the signature of the URL instead of signing it
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    pub(crate) settings: SettingsOf<Signing>,
}

impl Sign {
    /// Returns the URL with what to do with it.
    pub(crate) fn request(&self) -> sign::Request<'_> {
        sign::Request {
            url: &self.url,
            expires: self.expires.as_deref(),
            check: self.check,
        }
    }
}

/// Print the value of every setting, and report problems.
///
/// Prints each setting with its value, its unit and the place where it was set: a flag, a variable,
/// a line of the configuration file, or the default. Keys and passwords are hidden. Changes
/// nothing. Exits with 1 if the server could not start with these settings, or does not support one
/// of them.
#[derive(Args)]
#[command(after_help = "Examples:
  pelton check
  pelton check --config config.json   (a file of WebP Server Go: reports its unsupported settings)")]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) settings: SettingsOf<Everything>,
}

/// Test the sandboxes (cells) of conversions, or run a failed job again.
///
/// With --probe, starts a sandbox and tests from the inside that it cannot access files, the
/// network or other processes, and cannot exceed its limits on memory and time.
#[derive(Args)]
#[command(
    override_usage = "pelton cell [OPTIONS] <--probe|--pagetables|--replay <FILE>>",
    after_help = "Examples:
  pelton cell --probe
  pelton cell --probe --cell-backend kvm
  pelton cell --replay crashes/0123456789abcdef.job
  sudo -u www-data pelton cell --probe     (as the user that the server runs as)"
)]
pub(crate) struct Cell {
    /// Start a sandbox, try everything that it must deny, and print the results
    #[arg(long, required_unless_present_any = ["pagetables", "replay"])]
    pub(crate) probe: bool,
    /// Print the page tables of a microVM in which pictures are converted, for developers of Pelton
    #[arg(long, conflicts_with = "probe")]
    pub(crate) pagetables: bool,
    /// Run a failed job again from its file in cell.crash_dir. Exits with 1 if the job fails again
    #[arg(long, value_name = "FILE", conflicts_with_all = ["probe", "pagetables"])]
    pub(crate) replay: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: SettingsOf<CellsAndPrograms>,
}

/// Report the settings of this machine that slow a server down or limit it.
///
/// Checks the kernel, the network cards and the resource limits of processes. For each finding,
/// says which change helps, what it gains and what it risks. If a running server uses the data
/// directory, also checks that server. Changes nothing, needs no privileges, and takes less than a
/// second. Exits with 1 if there are findings.
#[derive(Args)]
#[command(after_help = "Examples:
  pelton doctor
  pelton doctor --all | less
  sudo pelton doctor --data /var/lib/pelton   (root can read more)
  pelton doctor --json > doctor.json")]
pub(crate) struct Doctor {
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print every check in full, also those without a finding
    #[arg(long, conflicts_with = "json")]
    pub(crate) all: bool,
    /// Process id of the server to check [default: the running server that uses --data]
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
    #[command(flatten)]
    pub(crate) settings: SettingsOf<Diagnosis>,
}

/// Make the changes to the kernel and the network cards that `pelton doctor` recommends, and undo
/// them.
///
/// `plan` shows the changes for a goal: throughput or latency. `apply` makes them, and undoes them
/// after a minute unless you run `confirm`. So a change that breaks your network connection is
/// undone without your help. `revert` undoes them at any time. Every change is written to a journal
/// in the data directory before it is made. A restart of the machine undoes all changes.
#[derive(Args)]
#[command(after_help = "Examples:
  pelton tune plan
  sudo pelton tune apply --goal latency --exclude tcp.media
  sudo pelton tune confirm
  sudo pelton tune revert")]
pub(crate) struct Tune {
    #[command(subcommand)]
    pub(crate) does: TuneCommand,
}

/// Subcommands of `pelton tune`.
#[derive(Subcommand)]
pub(crate) enum TuneCommand {
    /// Show the changes for a goal, each with its value before and after, and its risk. Changes
    /// nothing
    Plan(TunePlan),
    /// Make the changes of the plan. They are undone after the time in --timeout, unless you run
    /// `pelton tune confirm` earlier
    Apply(TuneApply),
    /// Show which changes are applied, and whether they await confirmation
    Status(TuneState),
    /// Keep the changes until you run `pelton tune revert` or the machine restarts
    Confirm(AllUsers),
    /// Undo all changes, the last one first
    Revert(TuneRevert),
    /// Take changes back at their deadline. `pelton tune apply` starts this process itself
    #[command(hide = true)]
    Guard(TuneGuard),
}

/// Flags that select changes.
#[derive(Args)]
pub(crate) struct TuneChoice {
    /// Goal: throughput, or latency at low and medium load
    #[arg(long, value_name = "GOAL", default_value = "throughput", value_parser = ["throughput", "latency"])]
    pub(crate) goal: String,
    /// Also make the change with this ID, which the plan otherwise leaves out because of its risk.
    /// `pelton tune plan` and `pelton doctor` print the IDs. This flag may be repeated
    #[arg(long, value_name = "ID")]
    pub(crate) include: Vec<String>,
    /// Leave out the change with this ID, such as tcp.media. This flag may be repeated
    #[arg(long, value_name = "ID")]
    pub(crate) exclude: Vec<String>,
    /// Permit running inside a network namespace that is not the host's, such as that of a
    /// container. Only settings of that namespace are changed
    #[arg(long)]
    pub(crate) this_namespace: bool,
    #[command(flatten)]
    pub(crate) settings: SettingsOf<Data>,
}

/// Flags of `pelton tune plan`.
#[derive(Args)]
pub(crate) struct TunePlan {
    /// Print the plan as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) choice: TuneChoice,
}

/// Flags of `pelton tune apply`.
#[derive(Args)]
pub(crate) struct TuneApply {
    /// Time after which the changes are undone unless they are confirmed, such as 60s or 5min; from
    /// 2s to 24h
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) timeout: String,
    #[command(flatten)]
    pub(crate) choice: TuneChoice,
}

/// Flags of `pelton tune status`.
#[derive(Args)]
pub(crate) struct TuneState {
    /// Print the state as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) settings: SettingsOf<Data>,
}

/// Flags of `pelton tune revert`.
#[derive(Args)]
pub(crate) struct TuneRevert {
    /// Also restore settings that another program has changed after `pelton tune apply`, and skip
    /// settings that cannot be restored. Without this flag, the command stops at such a setting
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) settings: SettingsOf<Data>,
}

/// Flags of `pelton tune guard`.
#[derive(Args)]
pub(crate) struct TuneGuard {
    /// Number of the apply
    #[arg(long)]
    pub(crate) session: u32,
    /// Data directory
    #[arg(long)]
    pub(crate) data: PathBuf,
}

/// Show in which functions a running server and its workers spend CPU time.
///
/// Samples the server and the processes that convert its pictures and tracks, 99 times per second
/// on each CPU, while they work as usual, and writes the profile to FILE. By default the server
/// samples itself, which only an admin may request: give an admin's API key with --key-file, or set
/// --admin-token-file. With --pid, this command samples the processes from outside, which works
/// even if the server does not respond, but may need root. docs/profiling.md says how to read a
/// profile.
#[derive(Args)]
#[command(after_help = "Examples:
  pelton profile -o profile.pb.gz && go tool pprof -top profile.pb.gz
  pelton profile --of workers -o flames.svg && xdg-open flames.svg     (in a browser)
  pelton profile --url http://nas:3333 --key-file key --seconds 30 -o profile.folded
  sudo pelton profile --pid $(pgrep -o pelton) -o profile.pb.gz")]
pub(crate) struct Profile {
    /// File to write. An existing file is replaced only by a complete profile
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Format: pprof for go tool pprof, folded for a line of text per stack, or svg for a flame
    /// graph [default: by the extension of FILE: .svg, .folded or .txt, otherwise pprof]
    #[arg(long, value_name = "FORMAT", value_parser = Format::NAMES.map(|(name, _)| name))]
    format: Option<String>,
    /// Duration of the profile in seconds, from 1 to 60
    #[arg(long, value_name = "N", default_value = "10",
        value_parser = clap::value_parser!(u64).range(1..=SECONDS_MAX))]
    seconds: u64,
    /// Processes to show: all, server (without its workers) or workers
    #[arg(long, value_name = "PROCESSES", default_value = "all",
        value_parser = Of::NAMES.map(|(name, _)| name))]
    of: String,
    /// Process id of a server on this machine, which is sampled from outside
    #[arg(long, value_name = "PID", conflicts_with_all = ["url", "key_file"])]
    pid: Option<u32>,
    /// URL of the server, such as http://nas:3333 [default: the server on this machine, at the
    /// address of --admin-listen, or else of --listen]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// File with a secret that permits the profile: the API key of an admin, or the same token as
    /// in the server's admin_token_file. Without this flag, the file of --admin-token-file is used
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: SettingsOf<Purging>,
}

impl Profile {
    /// Returns the profile to take.
    pub(crate) fn request(&self) -> profile::Request<'_> {
        let known = "clap accepts only the names that the help of the flag lists";
        profile::Request {
            way: match self.pid {
                Some(pid) => profile::Way::Process(pid),
                None => profile::Way::Server {
                    url: self.url.as_deref(),
                    key_file: self.key_file.as_deref(),
                },
            },
            seconds: self.seconds,
            of: Of::named(&self.of).expect(known),
            format: self
                .format
                .as_deref()
                .map(|it| Format::named(it).expect(known)),
            output: &self.out,
        }
    }
}

/// Run the Redis-compatible store alone, as a replacement for redis-server.
///
/// Takes the arguments of redis-server: first a configuration file in the syntax of redis.conf (the
/// name - stands for standard input), then directives, each with -- before its name. All of them
/// are optional. docs/store.md says which directives of Redis have no effect here or are refused.
/// By default, the store listens on 127.0.0.1:6379 and keeps its files in pelton-data/store.
#[derive(Args)]
#[command(after_help = "Examples:
  pelton store --port 7000 --save '' --dir /var/lib/store
  pelton store /etc/redis/redis.conf --daemonize no")]
pub(crate) struct Store {
    /// Configuration file or -, then directives with their values; or only --version
    #[arg(
        value_name = "CONF | --DIRECTIVE VALUE",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) words: Vec<String>,
}

impl Store {
    /// Returns whether the only argument is a flag of redis-server that requests the version.
    pub(crate) fn asks_for_version(&self) -> bool {
        matches!(self.words.as_slice(), [word] if word == "-v" || word == "--version")
    }
}

/// Result of parsing a command line.
pub(crate) enum Parsed {
    /// Command to run.
    Command(Command),
    /// Help or version to print.
    Text(String),
}

/// Parses the whole command line, including the program's name.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Parsed, Error> {
    let words: Vec<OsString> = words.into_iter().collect();
    let matches = definition().try_get_matches_from(&words);
    match matches.and_then(|matches| Typed::from_arg_matches(&matches)) {
        Ok(Typed {
            command: Command::Help(help),
        }) => help::text(&help).map(Parsed::Text),
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

/// Returns the definition of all commands and flags.
pub(super) fn definition() -> clap::Command {
    Typed::command().mut_subcommands(with_more_settings)
}

/// Adds [`MORE_SETTINGS`] to the help of commands that have settings.
fn with_more_settings(command: clap::Command) -> clap::Command {
    let command = command.mut_subcommands(with_more_settings);
    let has_settings = command
        .get_arguments()
        .any(|flag| flag.get_id() == "config");
    if !has_settings {
        return command;
    }
    let examples = command.get_after_help().map(|text| format!("\n\n{text}"));
    let examples = examples.unwrap_or_default();
    command.after_help(format!("{MORE_SETTINGS}{examples}"))
}

/// Flags of WebP Server Go, each with the equivalent command of Pelton. WebP Server Go accepts a
/// flag with one dash or two.
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
        "dist/pelton.service in the source tree, a systemd unit to install",
    ),
    ("verbose", "pelton serve --log-level debug"),
];

/// Returns a hint about the first flag of WebP Server Go among `words`, if any.
fn of_wsg(words: &[OsString]) -> Option<String> {
    let same = |(index, word): (usize, &OsString)| {
        let word = word.to_str()?;
        let (name, is_ours) = match word.strip_prefix("--") {
            // After a command, a name that begins with `config` is a flag of Pelton.
            Some(name) => (name, 1 < index && name.starts_with("config")),
            None => (word.strip_prefix('-')?, false),
        };
        let name = name.split_once('=').map_or(name, |(name, _)| name);
        let known = OF_WSG.iter().find(|(known, _)| *known == name && !is_ours);
        known
            .map(|(name, same)| format!("the flag -{name} of WebP Server Go corresponds to {same}"))
    };
    words.iter().enumerate().skip(1).find_map(same)
}

/// Converts an error of clap into the form of all other errors. The text of clap is `error: …`,
/// perhaps `tip: …`, then the usage.
pub(super) fn in_our_words(err: &clap::Error) -> Error {
    let text = err.render().to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().expect("errors of clap have a first line");
    let what = first.strip_prefix("error: ").unwrap_or(first);
    let tip = lines.clone().find_map(|line| line.strip_prefix("tip: "));
    // clap lists missing arguments on the lines below "… were not provided:".
    let missing: Vec<&str> = lines
        .take_while(|line| what.ends_with(':') && line.starts_with(['<', '-']))
        .collect();
    let error = Error::usage(format!("{what} {}", missing.join(" ")).trim_end());
    let is_before_command = tip.is_some_and(|tip| tip.ends_with(" exists"));
    match inapplicable_setting(err).filter(|_| !is_before_command) {
        Some(name) => error.hint(format!(
            "this command does not use the setting {name}, which may be set only in the \
             configuration file or by a variable"
        )),
        None => error.hint(tip.unwrap_or(HELP)),
    }
}

/// Returns the name of a setting if `err` says that its flag is unknown to the command.
fn inapplicable_setting(err: &clap::Error) -> Option<&'static str> {
    let Some(ContextValue::String(flag)) = err.get(ContextKind::InvalidArg) else {
        return None;
    };
    let flag = flag.strip_prefix("--")?;
    let is_unknown = err.kind() == ErrorKind::UnknownArgument;
    let mut keys = KEYS.iter().filter(|_| is_unknown);
    keys.find(|key| key.flag() == flag).map(|key| key.name)
}

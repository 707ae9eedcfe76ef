//! Tests of the AOF and of snapshots. For example, if an AOF file is truncated at any byte, all
//! commands that end before that byte are still loaded.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use keyspace::{Keyspace, Prefetched, Session};
use reactor::Stop;
use resp::{Out, Proto};

use crate::client::Peer;
use crate::dispatch::dispatch;
use crate::persist::{self, Persist};
use crate::state::State;
use crate::{Config, Limits, settings};

/// Temporary directory, which is removed on drop.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let path = std::env::temp_dir().join(format!("pelton-kv-{}-{name}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).expect("a directory");
        Dir(path)
    }

    fn config(&self, directives: &str) -> Config {
        let mut config = Config::default();
        let dir = format!("dir {}\nappendonly yes\n{directives}", self.0.display());
        config.read(&dir, "directives".as_ref()).expect("sound");
        config
    }

    fn increment(&self) -> PathBuf {
        self.0.join("appendonlydir/appendonly.aof.1.incr.aof")
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn run(keyspace: &mut Keyspace, session: &mut Session, line: &str) -> Bytes {
    let args = resp::split_line(line.as_bytes()).expect("sound");
    let mut out = Out::new(Proto::Resp2);
    keyspace.execute(session, &args, 1_000, &mut out);
    out.to_bytes()
}

fn open(config: &Config) -> Result<(Keyspace, Persist), String> {
    let mut keyspace = Keyspace::new(settings::keyspace_limits(config), 7);
    let opened = persist::open(config, &mut keyspace, 1_000).map_err(|error| error.to_string())?;
    let persist =
        Persist::new(config, opened, 1_000, &Arc::default(), Stop::new()).expect("a thread");
    keyspace.set_journaling(true);
    Ok((keyspace, persist))
}

/// Writes commands to an AOF and closes it.
fn write(config: &Config, lines: &[&str]) {
    let (mut keyspace, mut persist) = open(config).expect("sound");
    let mut session = Session::new();
    for line in lines {
        run(&mut keyspace, &mut session, line);
        let journal = std::mem::take(&mut keyspace.effects.journal);
        persist.append(&journal);
    }
}

#[test]
fn a_journal_may_contain_original_and_renamed_commands() {
    let dir = Dir::new("renamed");
    write(&dir.config(""), &["SET a 1"]);
    let mut journal = File::options()
        .append(true)
        .open(dir.increment())
        .expect("written");
    journal
        .write_all(b"*3\r\n$3\r\nput\r\n$1\r\nb\r\n$1\r\n2\r\n")
        .expect("room");
    let config = dir.config("rename-command set PUT");
    let (mut keyspace, _persist) = open(&config).expect("sound");
    let mut session = Session::new();
    assert_eq!(
        run(&mut keyspace, &mut session, "MGET a b"),
        "*2\r\n$1\r\n1\r\n$1\r\n2\r\n"
    );
}

#[test]
fn timestamp_annotations_are_skipped() {
    let dir = Dir::new("annotated");
    let config = dir.config("");
    write(&config, &["SET a 1"]);
    let command = |name: &str| format!("*1\r\n${}\r\n{name}\r\n", name.len());
    let incr = "*2\r\n$4\r\nINCR\r\n$1\r\na\r\n";
    let text = format!(
        "#TS:1628217470\r\n{}#TS:1628217471\r\n{incr}{}#TS:16282",
        command("MULTI"),
        command("EXEC")
    );
    let append = |text: &str| {
        let mut journal = File::options().append(true).open(dir.increment())?;
        journal.write_all(text.as_bytes())
    };
    append(&text).expect("room");
    let before = fs::metadata(dir.increment()).expect("it is there").len();
    let (mut keyspace, persist) = open(&config).expect("sound");
    drop(persist);
    let mut session = Session::new();
    assert_eq!(run(&mut keyspace, &mut session, "GET a"), "$1\r\n2\r\n");
    // A truncated annotation is dropped like a truncated command.
    let after = fs::metadata(dir.increment()).expect("it is there").len();
    assert_eq!(after, before - "#TS:16282".len() as u64);
    append(&format!("#{}\r\n", "x".repeat(2000))).expect("room");
    let fault = open(&config).map(drop).expect_err("refused");
    let expected = format!("at byte {after}: an annotation (a line that begins with #) has no end");
    assert!(fault.ends_with(&expected), "{fault}");
}

#[test]
fn groups_of_streams_survive_a_restart() {
    let dir = Dir::new("groups");
    let config = dir.config("");
    let lines = [
        "XADD s 1-1 f v",
        "XADD s 1-2 f v",
        "XADD s 1-3 f v",
        "XGROUP CREATE s g 0",
        "XREADGROUP GROUP g c COUNT 2 STREAMS s >",
        "XREADGROUP GROUP g c STREAMS s 0",
        "XCLAIM s g d 0 1-2",
        "XACK s g 1-1",
    ];
    write(&config, &lines);
    let (mut keyspace, _persist) = open(&config).expect("sound");
    let mut session = Session::new();
    let pending = run(&mut keyspace, &mut session, "XPENDING s g - + 10");
    assert_eq!(pending, "*1\r\n*4\r\n$3\r\n1-2\r\n$1\r\nd\r\n:0\r\n:3\r\n");
    let next = run(
        &mut keyspace,
        &mut session,
        "XREADGROUP GROUP g c STREAMS s >",
    );
    let entry = "*2\r\n$3\r\n1-3\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n";
    assert_eq!(next, format!("*1\r\n*2\r\n$1\r\ns\r\n*1\r\n{entry}"));
}

#[test]
fn data_survives_a_restart() {
    let dir = Dir::new("back");
    let config = dir.config("");
    write(
        &config,
        &["SET a 1", "SELECT 3", "RPUSH l x y", "SPOP none"],
    );
    write(&config, &["INCR a"]);
    let (mut keyspace, _persist) = open(&config).expect("sound");
    let mut session = Session::new();
    assert_eq!(run(&mut keyspace, &mut session, "GET a"), "$1\r\n2\r\n");
    run(&mut keyspace, &mut session, "SELECT 3");
    assert_eq!(run(&mut keyspace, &mut session, "LLEN l"), ":2\r\n");
}

#[test]
fn a_journal_cut_at_any_byte_loads_to_the_last_whole_command() {
    let dir = Dir::new("cut");
    let config = dir.config("");
    write(&config, &["SET a 1", "SET a 2", "SET a 3"]);
    let whole = fs::read(dir.increment()).expect("written");
    // Offsets at which the commands (SELECT and three others) and the checksum annotation after
    // them start.
    let begins = |at: &usize| matches!(whole[*at], b'*' | b'#');
    let starts: Vec<usize> = (0..whole.len()).filter(begins).collect();
    for cut in 0..=whole.len() {
        fs::write(dir.increment(), &whole[..cut]).expect("written");
        let (mut keyspace, persist) = open(&config).expect("a cut end is dropped");
        drop(persist);
        let commands = starts
            .iter()
            .skip(1)
            .chain([&whole.len()])
            .filter(|end| **end <= cut)
            .count();
        let expected = match commands {
            0 | 1 => "$-1\r\n".to_owned(),
            more => format!("$1\r\n{}\r\n", more.min(4) - 1),
        };
        assert_eq!(
            run(&mut keyspace, &mut Session::new(), "GET a"),
            expected,
            "cut at {cut}"
        );
        let left = fs::metadata(dir.increment()).expect("there").len() as usize;
        assert!(
            left == 0 || starts.contains(&left) || left == whole.len(),
            "cut at {cut}"
        );
    }
}

#[test]
fn a_truncated_transaction_is_dropped_as_a_whole() {
    let dir = Dir::new("transaction");
    let config = dir.config("");
    write(&config, &["SET a 1"]);
    let mut bytes = fs::read(dir.increment()).expect("written");
    let good = bytes.len();
    bytes.extend_from_slice(b"*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n2\r\n");
    fs::write(dir.increment(), &bytes).expect("written");
    let (mut keyspace, _persist) = open(&config).expect("a cut end is dropped");
    assert_eq!(
        run(&mut keyspace, &mut Session::new(), "GET a"),
        "$1\r\n1\r\n"
    );
    assert_eq!(
        fs::metadata(dir.increment()).expect("there").len() as usize,
        good
    );
}

#[test]
fn damage_is_refused_with_its_offset() {
    let dir = Dir::new("damage");
    let config = dir.config("");
    write(&config, &["SET a 1", "SET a 2"]);
    let whole = fs::read(dir.increment()).expect("written");
    let refused = |bytes: &[u8], config: &Config| {
        fs::write(dir.increment(), bytes).expect("written");
        let error = open(config).expect_err("refused");
        error
            .split("incr.aof: ")
            .nth(1)
            .expect("the file")
            .to_owned()
    };
    let mut damaged = whole.clone();
    damaged[23] = b'x';
    assert_eq!(
        refused(&damaged, &config),
        "at byte 23: unexpected byte 0x78 instead of a command"
    );
    let mut damaged = whole.clone();
    damaged.truncate(23);
    damaged.extend_from_slice(b"*1\r\n$7\r\nNOTHING\r\n");
    assert_eq!(
        refused(&damaged, &config),
        "the command at byte 23: ERR unknown command 'NOTHING', with args beginning with: "
            .trim_end()
    );
    let strict = dir.config("aof-load-truncated no");
    let commands = whole.len() - SUM_LINE_BYTES;
    assert_eq!(
        refused(&whole[..commands - 1], &strict),
        format!(
            "the last command begins at byte {} and is truncated at byte {}; set aof-load-truncated yes to drop the truncated command",
            commands - 27,
            commands - 1
        )
    );
}

#[test]
fn an_empty_manifest_is_refused() {
    let dir = Dir::new("manifest");
    let config = dir.config("");
    write(&config, &["SET a 1"]);
    let manifest = dir.0.join("appendonlydir/appendonly.aof.manifest");
    for text in ["", "# nothing\n"] {
        fs::write(&manifest, text).expect("written");
        let error = open(&config).expect_err("refused");
        assert!(
            error.ends_with("appendonly.aof.manifest: the manifest lists no file"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(&manifest).expect("left as it was"), text);
    }
}

#[test]
fn a_new_journal_starts_from_the_existing_snapshot() {
    let dir = Dir::new("base");
    let mut config = dir.config("appendonly no");
    let (mut keyspace, _) = open(&config).expect("nothing there");
    run(&mut keyspace, &mut Session::new(), "RPUSH l a b");
    write_snapshot(&mut keyspace, &dir);
    config = dir.config("");
    let (mut keyspace, persist) = open(&config).expect("a snapshot");
    assert_eq!(run(&mut keyspace, &mut Session::new(), "LLEN l"), ":2\r\n");
    drop(persist);
    fs::remove_file(dir.0.join("dump.rdb")).expect("there");
    let (mut keyspace, _persist) = open(&config).expect("the base holds it");
    assert_eq!(run(&mut keyspace, &mut Session::new(), "LLEN l"), ":2\r\n");
}

#[test]
fn a_snapshot_that_is_short_or_damaged_is_refused() {
    let dir = Dir::new("short");
    let config = dir.config("appendonly no");
    let (mut keyspace, _) = open(&config).expect("nothing there");
    run(&mut keyspace, &mut Session::new(), "SET key value");
    write_snapshot(&mut keyspace, &dir);
    let path = dir.0.join("dump.rdb");
    let whole = fs::read(&path).expect("written");
    for cut in 0..whole.len() {
        fs::write(&path, &whole[..cut]).expect("written");
        let error = open(&config).expect_err("refused");
        assert!(error.contains("dump.rdb: "), "cut at {cut}: {error}");
    }
    // A snapshot file that contains commands instead of a snapshot is refused.
    fs::write(&path, b"*1\r\n$8\r\nFLUSHALL\r\n").expect("written");
    let error = open(&config).expect_err("refused");
    assert!(
        error.ends_with("dump.rdb: the file is not a snapshot: unknown magic number at byte 0"),
        "{error}"
    );
    let mut damaged = whole.clone();
    let place = damaged.len() - 12;
    damaged[place] ^= 1;
    fs::write(&path, &damaged).expect("written");
    open(&config).expect_err("refused");
}

#[test]
fn a_snapshot_of_valkey_is_read_alone_and_before_a_journal() {
    let dir = Dir::new("valkey");
    let (mut keyspace, _) = open(&dir.config("appendonly no")).expect("nothing there");
    run(&mut keyspace, &mut Session::new(), "SET key value");
    write_snapshot(&mut keyspace, &dir);
    let path = dir.0.join("dump.rdb");
    let mut snapshot = fs::read(&path).expect("written");
    snapshot[..9].copy_from_slice(b"VALKEY080");
    // A checksum of zero is not verified.
    let end = snapshot.len() - 8;
    snapshot[end..].fill(0);
    fs::write(&path, &snapshot).expect("written");
    let (mut keyspace, _) = open(&dir.config("appendonly no")).expect("sound");
    let value = run(&mut keyspace, &mut Session::new(), "GET key");
    assert_eq!(value, "$5\r\nvalue\r\n");
    for cut in 0..snapshot.len() {
        fs::write(&path, &snapshot[..cut]).expect("written");
        open(&dir.config("appendonly no")).expect_err("refused");
    }

    // The same snapshot is accepted at the start of a single-file AOF, which becomes the base of
    // the new AOF.
    fs::remove_file(&path).expect("there");
    snapshot.extend_from_slice(b"*3\r\n$3\r\nSET\r\n$5\r\nother\r\n$1\r\n1\r\n");
    fs::write(dir.0.join("appendonly.aof"), &snapshot).expect("written");
    let (mut keyspace, _persist) = open(&dir.config("")).expect("sound");
    let found = run(&mut keyspace, &mut Session::new(), "EXISTS key other");
    assert_eq!(found, ":2\r\n");
}

#[test]
fn unfinished_snapshots_of_processes_that_are_gone_are_removed() {
    let dir = Dir::new("unfinished");
    let journals = dir.0.join("appendonlydir");
    fs::create_dir_all(&journals).expect("a directory");
    let ours = std::process::id();
    // This process id is above the kernel's maximum, so no process has it.
    let gone = u32::MAX;
    let left = |path: &PathBuf| path.exists();
    let removed = [
        dir.0.join(format!("dump.rdb.{gone}.tmp")),
        journals.join(format!("appendonly.aof.7.base.rdb.{gone}.tmp")),
    ];
    let kept = [
        dir.0.join(format!("dump.rdb.{ours}.tmp")),
        dir.0.join(format!("other.{gone}.tmp")),
        dir.0.join("dump.rdb.x.tmp"),
    ];
    for path in removed.iter().chain(&kept) {
        fs::write(path, "part").expect("written");
    }
    drop(open(&dir.config("")).expect("sound"));
    assert!(!removed.iter().any(left) && kept.iter().all(left));
}

#[test]
fn files_without_a_manifest_are_set_aside() {
    let dir = Dir::new("unlisted");
    let config = dir.config("");
    write(&config, &["SET a 1"]);
    let before = fs::read(dir.increment()).expect("written");
    let manifest = dir.0.join("appendonlydir/appendonly.aof.manifest");
    for other in ["SET b 1", "SET c 1"] {
        fs::remove_file(&manifest).expect("written");
        write(&config, &[other]);
        let (mut keyspace, _persist) = open(&config).expect("sound");
        assert_eq!(
            run(&mut keyspace, &mut Session::new(), "EXISTS a b c"),
            ":1\r\n",
            "{other}"
        );
    }
    let aside = |number| {
        dir.increment()
            .with_extension(format!("aof.unlisted.{number}"))
    };
    assert_eq!(fs::read(aside(1)).expect("kept"), before);
    assert!(aside(2).exists());
}

/// Length of a checksum annotation, in bytes.
const SUM_LINE_BYTES: usize = "#SUM:0123456789abcdef\r\n".len();

#[test]
fn a_flipped_bit_in_a_journal_is_refused_with_its_offset() {
    let dir = Dir::new("flipped");
    let config = dir.config("");
    let value = "x".repeat(3_000);
    let set = |key: &str| format!("SET {key} {value}");
    write(&config, &[&set("a")]);
    // A crash leaves the last changes without a checksum. The first checksum after the next start
    // covers these changes too.
    let a_alone = fs::read(dir.increment()).expect("written");
    fs::write(dir.increment(), &a_alone[..a_alone.len() - SUM_LINE_BYTES]).expect("written");
    write(&config, &[&set("b")]);
    write(&config, &[&set("c"), "SET d 1"]);
    let whole = fs::read(dir.increment()).expect("written");
    let sums: Vec<usize> = (0..whole.len())
        .filter(|at| whole[*at..].starts_with(b"#SUM:"))
        .collect();
    assert_eq!(sums.len(), 2, "of a and b, and of c and d");
    let refused = |bytes: &[u8], config: &Config| {
        fs::write(dir.increment(), bytes).expect("written");
        let error = open(config).map(drop).expect_err("refused");
        let (_, fault) = error.split_once("incr.aof: ").expect("the file");
        fault.to_owned()
    };
    let values = (0..whole.len()).filter(|at| whole[*at..].starts_with(b"\r\nxxx"));
    for value in values {
        let mut damaged = whole.clone();
        damaged[value + 9] ^= 1;
        let fault = refused(&damaged, &config);
        let expected = "the file is damaged; to load it anyway, set `rdbchecksum no`";
        assert!(fault.ends_with(expected), "{fault}");
        let unchecked = dir.config("rdbchecksum no");
        open(&unchecked).map(drop).expect("the operator wants it");
    }

    // A damaged length that reaches beyond the end of the file looks like a truncation. The
    // checksum after the damage shows that it is none, so the file is refused.
    let command = b"*3\r\n$3\r\nSET\r\n$1\r\nc\r\n$";
    let at = whole
        .windows(command.len())
        .position(|part| part == command);
    let at = at.expect("the command of c");
    let mut damaged = whole.clone();
    damaged[at + command.len()] ^= 4;
    assert_eq!(damaged[at + command.len()], b'7');
    let fault = refused(&damaged, &config);
    let expected = format!(
        "the command at byte {at} is incomplete, but a checksum follows at byte {}: the file is damaged, not truncated by a crash; \
         truncate -s {at} on the file drops that command and everything \
         after it",
        sums[1]
    );
    assert_eq!(fault, expected);
    assert_eq!(fs::read(dir.increment()).expect("left as it was"), damaged);
}

/// Test of damage that no checksum follows, because the damage is in the last 4 KiB before a crash,
/// or because Redis wrote the AOF.
#[test]
fn a_length_beyond_the_file_before_whole_commands_is_damage() {
    let dir = Dir::new("swallowed");
    let config = dir.config("");
    write(&config, &["SET a 1"]);
    let set = |key: &str| format!("*3\r\n$3\r\nSET\r\n$1\r\n{key}\r\n$1\r\n1\r\n");
    let damaged = "*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$900\r\n1\r\n";
    let torn = "*3\r\n$3\r\nSET\r\n$1\r\nz\r\n$1";
    let multi = "*1\r\n$5\r\nMULTI\r\n";
    let begin = set("a");
    for behind in [set("c"), set("c") + &set("d"), set("c") + torn] {
        for before in [begin.clone(), begin.clone() + multi + &set("y")] {
            let bytes = format!("{before}{damaged}{behind}");
            fs::write(dir.increment(), &bytes).expect("written");
            let fault = open(&config).map(drop).expect_err("refused");
            let (at, next) = (before.len(), before.len() + damaged.len());
            let expected =
                format!("byte {at} is incomplete, but a complete command follows at byte {next}");
            assert!(fault.contains(&expected), "{fault}");
            let whole = begin.len();
            assert!(
                fault.contains(&format!("truncate -s {whole} on")),
                "{fault}"
            );
            assert_eq!(
                fs::read(dir.increment()).expect("left as it was"),
                bytes.as_bytes()
            );
        }
    }
    // Ends of a file that a crash can leave: a truncated value, a truncated value that looks like a
    // command, and a truncated transaction.
    let alike = format!("*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$900\r\n{}and more", set("c"));
    for end in [
        torn.to_owned(),
        alike,
        multi.to_owned() + &set("y"),
        multi.to_owned() + &set("y") + torn,
    ] {
        fs::write(dir.increment(), format!("{begin}{end}")).expect("written");
        let (mut keyspace, _persist) = open(&config).expect("a cut end is dropped");
        let mut session = Session::new();
        assert_eq!(
            run(&mut keyspace, &mut session, "EXISTS a b c y z"),
            ":1\r\n",
            "{end}"
        );
    }
}

#[test]
fn functions_of_a_snapshot_are_in_the_next_one() {
    let dir = Dir::new("functions");
    let library = b"#!lua name=mine\nredis.register_function('f', function() return 1 end)";
    let mut snapshot = b"REDIS0010".to_vec();
    snapshot.extend_from_slice(&[0xf5, 0x40, library.len() as u8]);
    snapshot.extend_from_slice(library);
    // The end marker of the snapshot, and a checksum of zero, which is not verified.
    snapshot.extend_from_slice(&[0xff, 0, 0, 0, 0, 0, 0, 0, 0]);
    fs::write(dir.0.join("dump.rdb"), &snapshot).expect("written");
    let holds = |bytes: &[u8]| {
        let record = &snapshot[9..snapshot.len() - 9];
        bytes.windows(record.len()).any(|part| part == record)
    };

    let (mut keyspace, _) = open(&dir.config("appendonly no")).expect("sound");
    run(&mut keyspace, &mut Session::new(), "FLUSHALL");
    write_snapshot(&mut keyspace, &dir);
    assert!(holds(&fs::read(dir.0.join("dump.rdb")).expect("written")));

    drop(open(&dir.config("")).expect("sound"));
    let base = dir.0.join("appendonlydir/appendonly.aof.1.base.rdb");
    assert!(holds(&fs::read(base).expect("written")));
}

#[test]
fn a_truncated_file_before_an_empty_file_is_accepted() {
    let dir = Dir::new("rotated");
    let config = dir.config("");
    write(&config, &["SET a 1", "SET a 2"]);
    let journals = dir.0.join("appendonlydir");
    let (first, second) = (dir.increment(), journals.join("appendonly.aof.2.incr.aof"));
    let whole = fs::read(&first).expect("written");
    fs::write(&first, &whole[..whole.len() - SUM_LINE_BYTES - 1]).expect("written");
    let manifest = journals.join("appendonly.aof.manifest");
    let mut listed = fs::read_to_string(&manifest).expect("written");
    listed += "file appendonly.aof.2.incr.aof seq 2 type i\n";
    fs::write(&manifest, &listed).expect("written");

    fs::write(&second, "*1\r\n$5\r\nMULTI\r\n*1\r\n$4\r\nEXEC\r\n").expect("written");
    let fault = open(&config).map(drop).expect_err("refused");
    assert!(
        fault.ends_with("more AOF files follow, so no crash truncated this file: it is damaged"),
        "{fault}"
    );
    fs::write(&second, "").expect("written");
    let (mut keyspace, _persist) = open(&config).expect("a cut end is dropped");
    assert_eq!(
        run(&mut keyspace, &mut Session::new(), "GET a"),
        "$1\r\n1\r\n"
    );
}

#[test]
fn conversion_of_a_redis_6_file_can_be_interrupted_anywhere() {
    let journal = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n";
    let manifest = "file appendonly.aof seq 1 type b\n";
    // States that an interrupted conversion leaves. In the first state, the manifest lists a file
    // that is not in `appendonlydir` yet. In the second, which an earlier version of this server
    // left, the file is in `appendonlydir`, but the manifest is missing.
    for (place, listed) in [
        ("appendonly.aof", Some(manifest)),
        ("appendonlydir/appendonly.aof", None),
    ] {
        let dir = Dir::new("cut-over");
        fs::create_dir_all(dir.0.join("appendonlydir")).expect("a directory");
        fs::write(dir.0.join(place), journal).expect("written");
        if let Some(text) = listed {
            fs::write(dir.0.join("appendonlydir/appendonly.aof.manifest"), text).expect("written");
        }
        let (mut keyspace, _persist) = open(&dir.config("")).expect("sound");
        assert_eq!(
            run(&mut keyspace, &mut Session::new(), "GET a"),
            "$1\r\n1\r\n",
            "{place}"
        );
    }
}

#[test]
fn the_single_file_of_redis_6_becomes_the_base() {
    let dir = Dir::new("old");
    let config = dir.config("");
    fs::write(
        dir.0.join("appendonly.aof"),
        "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n",
    )
    .expect("written");
    write(&config, &["INCR a"]);
    let (mut keyspace, _persist) = open(&config).expect("sound");
    assert_eq!(
        run(&mut keyspace, &mut Session::new(), "GET a"),
        "$1\r\n2\r\n"
    );
}

fn write_snapshot(keyspace: &mut Keyspace, dir: &Dir) {
    let options = keyspace::rdb::Options {
        version: 10,
        compress: true,
        aof_base: false,
        now_ms: 1_000,
    };
    assert!(keyspace.start_snapshot(options));
    let mut bytes = Vec::new();
    while !keyspace.write_snapshot_part(64, &mut bytes) {}
    fs::write(dir.0.join("dump.rdb"), bytes).expect("written");
}

/// Opens the store's files, sends commands as a client, and returns the replies.
fn serve(config: &Config, calls: &[&[&str]]) -> String {
    serve_and_keep(config, calls).0
}

/// Serves commands as [`serve`] does, and returns the replies and the state.
fn serve_and_keep(config: &Config, calls: &[&[&str]]) -> (String, State) {
    let (keyspace, persist) = open(config).expect("sound");
    let mut state = State::new(config.clone(), Limits::default(), keyspace, persist);
    let peer = Peer {
        address: "a:1".to_owned(),
        local: "server:1".to_owned(),
        descriptor: 0,
        is_local: true,
        is_unix: false,
    };
    let key = state.admit(peer).expect("room for a client");
    for words in calls {
        let call: Vec<Bytes> = words
            .iter()
            .map(|word| Bytes::copy_from_slice(word.as_bytes()))
            .collect();
        dispatch(&mut state, key, &call, Prefetched::default());
    }
    let replies = state.clients[key].out.to_bytes();
    (String::from_utf8_lossy(&replies).into_owned(), state)
}

#[test]
fn libraries_that_cannot_be_loaded_stay_in_the_files() {
    let dir = Dir::new("unloaded");
    let library = |name: &str| {
        format!("#!lua name={name}\nredis.register_function('{name}', function() return 1 end)")
    };
    let bad = "#!lua name=bad\nreturn +".to_owned();
    let (good, other, nameless) = (library("good"), library("other"), "return 1".to_owned());
    let snapshot_only = dir.config("appendonly no\nenable-debug-command yes");
    let (mut keyspace, persist) = open(&snapshot_only).expect("sound");
    let sources = [&bad, &nameless, &good].map(|source| Bytes::from(source.clone()));
    keyspace.set_functions(sources.to_vec());
    write_snapshot(&mut keyspace, &dir);
    drop(persist);

    let check = |state: &State, expected: &[&String]| {
        let mut kept = state.keyspace.functions().to_vec();
        kept.sort();
        let mut expected: Vec<Bytes> = expected
            .iter()
            .map(|it| Bytes::from((*it).clone()))
            .collect();
        expected.sort();
        assert_eq!(kept, expected);
    };
    let calls: &[&[&str]] = &[
        &["FCALL", "good", "0"],
        &["FUNCTION", "LOAD", &other],
        &["DEBUG", "RELOAD"],
        &["FUNCTION", "DELETE", "good"],
        &["FCALL", "other", "0"],
    ];
    let (replies, state) = serve_and_keep(&snapshot_only, calls);
    assert_eq!(replies, ":1\r\n$5\r\nother\r\n+OK\r\n+OK\r\n:1\r\n");
    check(&state, &[&bad, &nameless, &other]);
    drop(state);

    let journaled = dir.config("enable-debug-command yes");
    let mut calls = calls.to_vec();
    calls[2] = &["DEBUG", "LOADAOF"];
    let (replies, state) = serve_and_keep(&journaled, &calls);
    assert_eq!(replies, ":1\r\n$5\r\nother\r\n+OK\r\n+OK\r\n:1\r\n");
    check(&state, &[&bad, &nameless, &other]);
    drop(state);
    let (_, state) = serve_and_keep(&journaled, &[&["FUNCTION", "DELETE", "bad"]]);
    check(&state, &[&nameless, &other]);
    drop(state);

    // A reload that fails leaves the libraries as they are.
    fs::write(dir.increment(), "damaged").expect("written");
    let (replies, state) = serve_and_keep(
        &snapshot_only,
        &[&["DEBUG", "LOADAOF"], &["FCALL", "good", "0"]],
    );
    assert!(replies.starts_with("-ERR"), "{replies}");
    assert!(replies.ends_with("\r\n:1\r\n"), "{replies}");
    check(&state, &[&bad, &nameless, &good]);
}

#[test]
fn the_limit_of_strings_does_not_bound_libraries_of_a_snapshot() {
    let dir = Dir::new("long-library");
    let padding = "-".repeat(2 << 20);
    let source =
        format!("#!lua name=l\nredis.register_function('f', function() return 1 end)--{padding}");
    let (mut keyspace, persist) = open(&dir.config("appendonly no")).expect("sound");
    keyspace.set_functions(vec![source.into()]);
    write_snapshot(&mut keyspace, &dir);
    drop(persist);
    let config = dir.config("appendonly no\nproto-max-bulk-len 1mb");
    assert_eq!(serve(&config, &[&["FCALL", "f", "0"]]), ":1\r\n");
}

#[test]
fn functions_outlive_a_restart() {
    let dir = Dir::new("libraries");
    let config = dir.config("");
    let library = |name: &str, number: u32| {
        format!(
            "#!lua name={name}\nredis.register_function('{name}', function() return {number} end)"
        )
    };
    let (one, two, other) = (library("one", 1), library("two", 2), library("one", 3));
    let loaded = serve(
        &config,
        &[
            &["FUNCTION", "LOAD", &one],
            &["FUNCTION", "LOAD", &two],
            &["FUNCTION", "LOAD", "REPLACE", &other],
            &["FUNCTION", "DELETE", "two"],
            &["FCALL", "one", "0"],
        ],
    );
    assert_eq!(
        loaded,
        "$3\r\none\r\n$3\r\ntwo\r\n$3\r\none\r\n+OK\r\n:3\r\n"
    );
    let found = serve(&config, &[&["FCALL", "one", "0"], &["FCALL", "two", "0"]]);
    assert_eq!(found, ":3\r\n-ERR Function not found\r\n");

    let (mut keyspace, _persist) = open(&config).expect("sound");
    write_snapshot(&mut keyspace, &dir);
    let snapshot_only = dir.config("appendonly no");
    let found = serve(
        &snapshot_only,
        &[&["FUNCTION", "FLUSH"], &["FUNCTION", "LIST"]],
    );
    assert_eq!(found, "+OK\r\n*0\r\n");
    let found = serve(&snapshot_only, &[&["FCALL", "one", "0"]]);
    assert_eq!(found, ":3\r\n");
}

#[test]
fn the_changes_of_a_script_are_one_transaction() {
    let dir = Dir::new("script");
    let config = dir.config("");
    let source = "redis.call('set', 'a', 1) redis.call('get', 'a') redis.set_repl(redis.REPL_NONE) \
                  redis.call('set', 'b', 1) redis.set_repl(redis.REPL_ALL) return redis.call('incr', 'a')";
    assert_eq!(serve(&config, &[&["EVAL", source, "0"]]), ":2\r\n");
    let journal = fs::read_to_string(dir.increment()).expect("text");
    let words: Vec<&str> = journal
        .lines()
        .filter(|line| !line.starts_with(['*', '$', '#']))
        .collect();
    assert_eq!(words.join(" "), "SELECT 0 MULTI set a 1 incr a EXEC");
    let (mut keyspace, _persist) = open(&config).expect("sound");
    let mut session = Session::new();
    let found = run(&mut keyspace, &mut session, "MGET a b");
    assert_eq!(found, "*2\r\n$1\r\n2\r\n$-1\r\n");
}

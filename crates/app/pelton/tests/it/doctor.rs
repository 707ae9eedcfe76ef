//! Tests of `pelton doctor` on the host that runs them.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use expect_test::expect;
use serde_json::Value;

use crate::dashboard::admin;
use crate::harness::{Home, Server, media, pelton};
use crate::players::user;

/// Id of the user and group `nobody`, which own no files.
const NOBODY: u32 = 65_534;

/// Runs the doctor, and returns its report and exit code.
fn doctor(command: &mut Command) -> (Value, i32) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("the program starts");
    assert_eq!(String::from_utf8_lossy(&stderr), "");
    let report = serde_json::from_slice(&stdout).expect("the report is JSON");
    (report, status.code().expect("the program was not killed"))
}

fn row<'a>(report: &'a Value, id: &str) -> &'a Value {
    let rows = report["checks"].as_array().expect("the report has rows");
    rows.iter()
        .find(|row| row["id"] == id)
        .expect("the report has the row")
}

fn ids(report: &Value) -> String {
    let rows = report["checks"].as_array().expect("the report has rows");
    let mut ids: Vec<&str> = rows.iter().filter_map(|row| row["id"].as_str()).collect();
    ids.sort_unstable();
    ids.join(" ")
}

#[test]
fn the_report_has_every_row() {
    let home = Home::new();
    let (report, code) = doctor(&mut pelton(&home, ["doctor", "--json"]));
    expect!["app.codegen app.pin app.syscalls app.threads app.throttled cpu.clocksource cpu.freq irq.affinity irq.coalesce kernel.version lim.conntrack lim.memlock lim.nofile lim.packets lim.ports mem.numa mem.thp net.bpf net.taps nf.hooks nic.gro nic.rings nic.rps_rfs nic.rss nic.threaded nic.xps poll.epoll poll.irqsuspend poll.sysctl q.fq q.noqueue sec.audit sec.mitig sec.seccomp sock.balance sock.cbpf sock.incoming_cpu sock.reuseport tcp.backlog tcp.cc tcp.media tcp.migrate tcp.overflows"].assert_eq(&ids(&report));
    let rows = report["checks"].as_array().expect("the report has rows");
    let has_findings = rows.iter().any(|row| row["isFinding"] == true);
    assert_eq!(code, i32::from(has_findings));
    for row in rows {
        for member in [
            "title",
            "state",
            "gain",
            "responseSizes",
            "risk",
            "change",
            "undo",
        ] {
            let text = row[member].as_str().expect("a text");
            assert!(!text.is_empty(), "{member} of {row}");
        }
        let evidence = row["evidence"].as_array().expect("a list");
        let sources = evidence
            .iter()
            .all(|one| one["source"].as_str().is_some_and(|text| !text.is_empty()));
        assert!(!evidence.is_empty() && sources, "{row}");
    }
    assert_eq!(report["server"], Value::Null);
    let state = row(&report, "app.pin")["state"].as_str().expect("a text");
    assert!(
        state.ends_with("no running server was found; give --pid or --data to name a server"),
        "{state}"
    );
}

#[test]
fn the_text_names_every_row() {
    let home = Home::new();
    let output = pelton(&home, ["doctor"])
        .output()
        .expect("the program starts");
    let text = String::from_utf8(output.stdout).expect("the report is text");
    let (report, code) = doctor(&mut pelton(&home, ["doctor", "--json"]));
    for id in ids(&report).split(' ') {
        assert!(text.contains(id), "{id}: {text}");
    }
    // A pipe is not a terminal, so the text has no colours.
    assert!(!text.contains('\x1b'), "{text}");
    assert_eq!(output.status.code(), Some(code));
}

#[test]
fn a_running_server_is_found_by_its_data_directory_and_by_its_id() {
    let home = Home::with(&[("a.jpg", &media::photo(64, 48, 1))]);
    let server = Server::plain(&home, &[]);
    let data = home.data();
    let data = data.to_str().expect("the test's directory is text");
    let pid = server.pid().to_string();
    let by_data = doctor(&mut pelton(&home, ["doctor", "--json", "--data", data])).0;
    let by_id = doctor(&mut pelton(&home, ["doctor", "--json", "--pid", &pid])).0;
    for report in [by_data, by_id] {
        assert_eq!(report["server"], server.pid());
        for id in ["app.pin", "sock.reuseport", "sock.cbpf", "lim.nofile"] {
            let row = row(&report, id);
            assert_ne!(row["standing"], "unknown", "{row}");
        }
        // The row needs more requests than this server has got. The metrics show their number.
        let calls = row(&report, "app.syscalls");
        assert_eq!(calls["standing"], "notApplicable", "{calls}");
        assert!(
            calls["evidence"][0]["source"]
                .as_str()
                .is_some_and(|source| source.ends_with("/-/metrics"))
        );
    }
}

#[test]
fn a_server_reports_on_itself_to_admins_only() {
    let home = Home::with(&[("a.jpg", &media::photo(64, 48, 1))]);
    let ann = admin(&home);
    assert_eq!(user(&home, &["add", "bob"], "secret\n").0, Some(0));
    let server = Server::plain(&home, &[]);
    let ask = |method, fields: &str| server.send(method, "/-/api/doctor", fields);
    assert_eq!(ask("GET", "").status, 401);
    let bob = "authorization: Basic Ym9iOnNlY3JldA==\r\n";
    assert_eq!(ask("GET", bob).status, 403);
    assert_eq!(ask("POST", &ann).status, 405);
    let response = ask("GET", &ann);
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(response.field("cache-control"), Some("no-store"));
    let report: Value = serde_json::from_str(response.text()).expect("JSON");
    assert_eq!(report["server"], server.pid());
    let pid = server.pid().to_string();
    let by_id = doctor(&mut pelton(&home, ["doctor", "--json", "--pid", &pid])).0;
    assert_eq!(ids(&report), ids(&by_id));
    for id in ["app.pin", "sock.reuseport", "sock.cbpf", "lim.nofile"] {
        let row = row(&report, id);
        assert_ne!(row["standing"], "unknown", "{row}");
    }
    // The server needs no request to itself for its counters.
    let calls = row(&report, "app.syscalls");
    assert_eq!(calls["standing"], "notApplicable", "{calls}");
    assert_eq!(calls["evidence"][0]["source"], "the server's /-/metrics");
}

#[test]
fn an_unreadable_token_makes_the_metrics_unknown() {
    let home = Home::with(&[("a.jpg", &media::photo(64, 48, 1))]);
    let server = Server::plain(&home, &[]);
    let token = home.directory().join("absent");
    let mut command = pelton(&home, ["doctor", "--json", "--data"]);
    command
        .arg(home.data())
        .arg("--admin-token-file")
        .arg(&token);
    let (report, _) = doctor(&mut command);
    assert_eq!(report["server"], server.pid());
    let calls = row(&report, "app.syscalls");
    assert_eq!(calls["standing"], "unknown");
    let state = format!(
        "admin_token_file {}: does not exist on this host",
        token.display()
    );
    assert_eq!(calls["state"], state);
}

#[test]
fn a_data_directory_whose_server_has_ended_has_no_server() {
    let home = Home::with(&[("a.jpg", &media::photo(64, 48, 1))]);
    drop(Server::plain(&home, &[]));
    assert!(home.data().join("lock").exists());
    let data = home.data();
    let data = data.to_str().expect("the test's directory is text");
    let (report, _) = doctor(&mut pelton(&home, ["doctor", "--json", "--data", data]));
    assert_eq!(report["server"], Value::Null);
}

#[test]
fn an_unknown_process_is_an_error_of_usage() {
    let home = Home::new();
    let output = pelton(&home, ["doctor", "--pid", "4194305"])
        .output()
        .expect("the program starts");
    let text = String::from_utf8(output.stderr).expect("errors are text");
    assert_eq!(text, "pelton: --pid 4194305: there is no such process\n");
    assert_eq!(output.status.code(), Some(2));
}

/// Copies the program to a directory that every user can enter.
fn copy(test: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("pelton-doctor-{test}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary directory");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("a temporary directory");
    fs::copy(env!("CARGO_BIN_EXE_pelton"), folder.join("pelton")).expect("a temporary directory");
    folder
}

#[test]
fn a_user_without_privileges_gets_reasons_and_no_errors() {
    let folder = copy("nobody");
    let mut command = Command::new(folder.join("pelton"));
    command
        .args(["doctor", "--json"])
        .current_dir("/")
        .env_clear();
    // Only root can become another user. Without root, the doctor runs as the user of the test.
    let is_root = fs::metadata("/proc/self")
        .expect("the process exists")
        .uid()
        == 0;
    if is_root {
        command.uid(NOBODY).gid(NOBODY);
    }
    let (report, _) = doctor(&mut command);
    fs::remove_dir_all(folder).expect("the directory exists");
    // Without privileges, a user must not read the rules of the audit or of the firewall.
    let audit = row(&report, "sec.audit");
    let reasons = [
        "permission denied; run as root to read this value",
        "the kernel does not support auditing",
    ];
    let state = audit["state"].as_str().expect("a text");
    assert!(
        reasons.iter().any(|reason| state.ends_with(reason)),
        "{audit}"
    );
    // Every user can read these settings.
    assert_ne!(row(&report, "tcp.backlog")["standing"], "unknown");
    assert_ne!(row(&report, "kernel.version")["standing"], "unknown");
}

/// Returns the lines of a trace that open a file for writing, create one, or write to another
/// descriptor than stdout and stderr.
fn writes(trace: &str) -> Vec<&str> {
    let forbidden = |line: &&str| {
        let call = line
            .split_once(' ')
            .map_or(*line, |(_, call)| call)
            .trim_start();
        let opens = call.starts_with("open") || call.starts_with("creat");
        let makes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"];
        let writes = call.starts_with("write") || call.starts_with("pwrite");
        let is_output = ["write(1,", "write(2,", "writev(1,", "writev(2,"]
            .iter()
            .any(|own| call.starts_with(own));
        call.starts_with("creat")
            || opens && makes.iter().any(|flag| call.contains(flag))
            || writes && !is_output
    };
    trace.lines().filter(forbidden).collect()
}

#[test]
fn lines_of_a_trace_are_told_apart() {
    let trace = "\
12 openat(AT_FDCWD, \"/proc/cmdline\", O_RDONLY|O_CLOEXEC) = 3
12 openat(AT_FDCWD, \"/x\", O_WRONLY|O_CREAT, 0666) = 3
12 open(\"/x\", O_RDWR) = 3
12 creat(\"/x\", 0666) = 3
12 write(1, \"{\", 1) = 1
12 write(3, \"{\", 1) = 1
12 sendto(3, \"\", 20, 0, NULL, 0) = 20
";
    let numbers = writes(trace)
        .into_iter()
        .map(|line| trace.find(line).expect("a line of the trace"));
    assert_eq!(numbers.collect::<Vec<_>>(), [61, 115, 141, 190]);
}

#[test]
fn nothing_is_opened_for_writing() {
    let home = Home::with(&[("a.jpg", &media::photo(64, 48, 1))]);
    let trace = home.directory().join("trace");
    if !can_trace(&trace) {
        return;
    }
    let server = Server::plain(&home, &[]);
    let mut command = Command::new("strace");
    let calls = "trace=open,openat,openat2,creat,write,writev,pwrite64,pwritev,pwritev2";
    command.args(["-f", "-qq", "-e", calls, "-o"]).arg(&trace);
    command
        .arg(env!("CARGO_BIN_EXE_pelton"))
        .args(["doctor", "--json", "--data"])
        .arg(home.data());
    let (report, _) = doctor(command.current_dir(home.directory()));
    assert_eq!(report["server"], server.pid());
    let trace = fs::read_to_string(trace).expect("strace writes the trace");
    assert!(
        trace.contains("/proc/sys/net/core/somaxconn"),
        "the trace lacks files: {trace}"
    );
    assert_eq!(writes(&trace), Vec::<&str>::new());
}

/// Returns whether strace is installed and may trace. Prints the reason if it may not.
fn can_trace(trace: &Path) -> bool {
    let tried = Command::new("strace")
        .arg("-o")
        .arg(trace)
        .arg("true")
        .stderr(Stdio::null())
        .status();
    match tried {
        Ok(status) if status.success() => true,
        Ok(status) => {
            eprintln!("skipped: strace cannot trace here ({status})");
            false
        }
        Err(err) => {
            eprintln!("skipped: strace does not start: {err}");
            false
        }
    }
}

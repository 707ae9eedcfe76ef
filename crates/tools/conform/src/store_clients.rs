//! `conform store-clients`: common clients against `pelton store`. redis-py runs its own tests over
//! both protocols; ioredis, node-redis, go-redis and Jedis run the same short script; BullMQ,
//! Celery, RQ, locks and rate limiters do their work by scripts in the store; redis-cli and
//! redis-benchmark run last.
//!
//! Each client is installed by its own package manager, at a fixed version, into a folder of the
//! cache.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use toolkit::build::Build;
use toolkit::command::{output, succeed, timed};
use toolkit::debian;
use toolkit::stop::{EXIT_FINDINGS, Stop, at};

use crate::store::Served;

const REDIS_PY: &str = "5.2.1";
const PYTEST: &str = "8.3.4";
const IOREDIS: &str = "6.0.0";
const NODE_REDIS: &str = "6.3.1";
const GO_REDIS: &str = "9.7.0";
/// Packages of npm for [`NODE_QUEUES`], with their versions.
const NODE_QUEUE_PACKAGES: [&str; 3] = [
    "bullmq@6.7.0",
    "ioredis@6.0.0",
    "rate-limiter-flexible@11.4.0",
];
/// Packages of PyPI for [`PYTHON_QUEUES`], with their versions.
const PYTHON_QUEUE_PACKAGES: [&str; 4] = [
    "celery==5.7.0",
    "limits==5.8.0",
    "redis==8.1.0",
    "rq==3.0.0",
];

const NODE_SCRIPT: &str = include_str!("store_clients/smoke.mjs");
const GO_SCRIPT: &str = include_str!("store_clients/smoke.go");
const NODE_QUEUES: &str = include_str!("store_clients/queues.mjs");
const PYTHON_QUEUES: &str = include_str!("store_clients/queues.py");
const JAVA_SCRIPT: &str = include_str!("store_clients/Smoke.java");
/// Maven project that names Jedis and its version.
const JAVA_PROJECT: &str = include_str!("store_clients/pom.xml");
const PYTHON_SKIPPED: &str = include_str!("store_clients/redis_py_skip.txt");

/// Test files of redis-py for implemented commands.
const PYTHON_FILES: &[&str] = &[
    "tests/test_commands.py",
    "tests/test_connection_pool.py",
    "tests/test_encoding.py",
    "tests/test_function.py",
    "tests/test_lock.py",
    "tests/test_monitor.py",
    "tests/test_pipeline.py",
    "tests/test_pubsub.py",
    "tests/test_scripting.py",
];

/// Minimum share of passed tests, in per cent of the tests of redis-py that run.
const PASS_PCT_MIN: usize = 95;

/// Client library or program, with the function that tests it in a folder of its own, against the
/// store at a port.
struct Client {
    name: &'static str,
    run: fn(&Path, &str) -> Result<(), Stop>,
}

const CLIENTS: &[Client] = &[
    Client {
        name: "redis-py",
        run: redis_py,
    },
    Client {
        name: "node",
        run: node,
    },
    Client {
        name: "node-queues",
        run: node_queues,
    },
    Client {
        name: "python-queues",
        run: python_queues,
    },
    Client {
        name: "go-redis",
        run: go_redis,
    },
    Client {
        name: "jedis",
        run: jedis,
    },
    Client {
        name: "redis-cli",
        run: redis_cli,
    },
    Client {
        name: "redis-benchmark",
        run: redis_benchmark,
    },
];

/// Runs all clients, or those in `named`, each against a new store.
///
/// # Errors
/// When the store cannot be built or started.
pub(crate) fn run(root: PathBuf, named: &[OsString]) -> Result<ExitCode, Stop> {
    let mut build = Build::open(root)?;
    debian::ensure(&["redis-tools", "python3-venv"])?;
    let server = build.server()?;
    let mut failed = 0;
    for client in CLIENTS {
        if !named.is_empty() && !named.iter().any(|name| name.as_os_str() == client.name) {
            continue;
        }
        let folder = build.cache().join("store-clients").join(client.name);
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        let served = Served::start(&server, &[])?;
        let ran = timed(client.name, || (client.run)(&folder, served.port()));
        if let Err(stop) = ran {
            println!("{}: failed", client.name);
            eprintln!("{stop}");
            failed += 1;
        }
    }
    Ok(match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(EXIT_FINDINGS),
    })
}

fn put(folder: &Path, name: &str, text: &str) -> Result<(), Stop> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(at(&path))
}

/// Runs redis-py's tests, which are in its source package but not in the package that pip installs.
fn redis_py(folder: &Path, port: &str) -> Result<(), Stop> {
    let source = folder.join(format!("redis-{REDIS_PY}"));
    let python = folder.join("venv/bin/python");
    if !source.is_dir() {
        succeed(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(folder.join("venv")),
        )?;
        let pip = |words: &[&str]| {
            let mut pip = Command::new(&python);
            pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
            succeed(pip.args(words).current_dir(folder)).map_err(Stop::on_host)
        };
        let redis = format!("redis=={REDIS_PY}");
        pip(&["download", "--no-deps", "--no-binary", "redis", &redis])?;
        let pytest = format!("pytest=={PYTEST}");
        pip(&[
            "install",
            &redis,
            &pytest,
            "pytest-asyncio",
            "pytest-timeout",
            "cachetools",
        ])?;
        let archive = format!("redis-{REDIS_PY}.tar.gz");
        output(
            Command::new("tar")
                .args(["xzf", &archive])
                .current_dir(folder),
        )?;
    }
    let skipped = PYTHON_SKIPPED.lines();
    let skipped = skipped.filter(|line| !line.starts_with('#') && !line.is_empty());
    let wanted = format!("not ({})", skipped.collect::<Vec<_>>().join(" or "));
    let all = python_tests(&python, &source)?;
    for protocol in ["2", "3"] {
        let mut pytest = Command::new(&python);
        pytest
            .args(["-m", "pytest", "-q", "--tb=line", "-W", "ignore"])
            .args(["-p", "no:cacheprovider", "--timeout", "60", "-k", &wanted])
            .args(["-m", "not redismod and not onlycluster and not ssl"])
            .args(["--protocol", protocol, "--redis-url"])
            .arg(format!("redis://127.0.0.1:{port}/9"))
            .args(PYTHON_FILES)
            .current_dir(&source);
        // pytest's exit code does not say how many tests failed. So the numbers are read from the
        // last line that pytest prints.
        let printed = pytest.output();
        let printed = printed.map_err(|err| Stop::host(format!("{}: {err}", python.display())))?;
        judge_python(protocol, all, &String::from_utf8_lossy(&printed.stdout))?;
    }
    Ok(())
}

/// Returns the number of all tests of redis-py, including tests of commands that our store does not
/// implement.
fn python_tests(python: &Path, source: &Path) -> Result<usize, Stop> {
    let mut pytest = Command::new(python);
    pytest
        .args(["-m", "pytest", "-q", "--collect-only", "-W", "ignore"])
        .args(["-p", "no:cacheprovider", "tests"])
        .current_dir(source);
    // The exit code is ignored, because pytest fails if a test file imports a missing package. The
    // tests of such files are not counted.
    let printed = pytest.output();
    let printed = printed.map_err(|err| Stop::host(format!("{}: {err}", python.display())))?;
    let printed = String::from_utf8_lossy(&printed.stdout);
    let count = printed
        .lines()
        .rev()
        .find_map(|line| counted(line, "tests"));
    count.ok_or_else(|| {
        Stop::host(format!(
            "cannot find the number of tests in pytest's output: {printed}"
        ))
    })
}

fn judge_python(protocol: &str, all: usize, printed: &str) -> Result<(), Stop> {
    for line in printed.lines() {
        if line.starts_with("FAILED ") || line.starts_with("ERROR ") {
            println!("    {line}");
        }
    }
    let last = printed.lines().last().unwrap_or_default();
    let passed = counted(last, "passed").unwrap_or(0);
    let failed = ["failed", "error", "errors"];
    let failed: usize = failed.iter().filter_map(|word| counted(last, word)).sum();
    let rate = 100.0 * passed as f64 / (passed + failed).max(1) as f64;
    let of_all = 100.0 * passed as f64 / all.max(1) as f64;
    println!(
        "redis-py, protocol {protocol}: {passed} tests passed and {failed} failed, so {rate:.1} % \
         of the tests that ran passed; these were the tests in {}; the passed tests are \
         {of_all:.1} % of all {all} tests of redis-py",
        PYTHON_FILES.join(", ")
    );
    match 0 < passed && PASS_PCT_MIN * (passed + failed) <= 100 * passed {
        true => Ok(()),
        false => Err(Stop::findings(format!("redis-py: {last}"))),
    }
}

/// Returns the number before `word` in pytest's last line, such as `3 failed, 20 passed in 1.2s`.
fn counted(line: &str, word: &str) -> Option<usize> {
    let words: Vec<&str> = line
        .split([' ', ','])
        .filter(|word| !word.is_empty())
        .collect();
    let pair = words.windows(2).find(|pair| pair[1] == word)?;
    pair[0].parse().ok()
}

fn node(folder: &Path, port: &str) -> Result<(), Stop> {
    put(folder, "smoke.mjs", NODE_SCRIPT)?;
    if !folder.join("node_modules").is_dir() {
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-fund", "--no-audit"]);
        npm.args([format!("ioredis@{IOREDIS}"), format!("redis@{NODE_REDIS}")]);
        succeed(npm.current_dir(folder)).map_err(Stop::on_host)?;
    }
    succeed(
        Command::new("node")
            .args(["smoke.mjs", port])
            .current_dir(folder),
    )
}

/// Runs BullMQ and a rate limiter, whose work is done by scripts in the store.
fn node_queues(folder: &Path, port: &str) -> Result<(), Stop> {
    put(folder, "queues.mjs", NODE_QUEUES)?;
    if !folder.join("node_modules").is_dir() {
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-fund", "--no-audit"])
            .arg("--ignore-scripts")
            .args(NODE_QUEUE_PACKAGES);
        succeed(npm.current_dir(folder)).map_err(Stop::on_host)?;
    }
    let mut node = Command::new("node");
    succeed(node.args(["queues.mjs", port]).current_dir(folder))
}

/// Runs redis-py's locks, the rate limits of limits, RQ, and a worker of Celery.
fn python_queues(folder: &Path, port: &str) -> Result<(), Stop> {
    put(folder, "queues.py", PYTHON_QUEUES)?;
    let python = folder.join("venv/bin/python");
    if !folder.join("venv").is_dir() {
        let mut venv = Command::new("python3");
        succeed(venv.args(["-m", "venv"]).arg(folder.join("venv")))?;
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"])
            .arg("install")
            .args(PYTHON_QUEUE_PACKAGES);
        succeed(&mut pip).map_err(Stop::on_host)?;
    }
    let mut journeys = Command::new(&python);
    journeys.args(["-W", "ignore", "queues.py", port]);
    succeed(journeys.current_dir(folder))
}

fn go_redis(folder: &Path, port: &str) -> Result<(), Stop> {
    let module =
        format!("module smoke\n\ngo 1.21\n\nrequire github.com/redis/go-redis/v9 v{GO_REDIS}\n");
    put(folder, "main.go", GO_SCRIPT)?;
    put(folder, "go.mod", &module)?;
    let tidied = Command::new("go")
        .args(["mod", "tidy"])
        .current_dir(folder)
        .output();
    tidied.map_err(|err| Stop::host(format!("go: {err}")))?;
    succeed(
        Command::new("go")
            .args(["run", ".", port])
            .current_dir(folder),
    )
}

fn jedis(folder: &Path, port: &str) -> Result<(), Stop> {
    put(folder, "Smoke.java", JAVA_SCRIPT)?;
    put(folder, "pom.xml", JAVA_PROJECT)?;
    if !folder.join("jars").is_dir() {
        let mut maven = Command::new("mvn");
        maven.args([
            "-q",
            "-B",
            "dependency:copy-dependencies",
            "-DoutputDirectory=jars",
        ]);
        succeed(maven.current_dir(folder)).map_err(Stop::on_host)?;
    }
    let mut java = Command::new("java");
    succeed(
        java.args(["-cp", "jars/*", "Smoke.java", port])
            .current_dir(folder),
    )
}

/// Runs commands through redis-cli in both protocols, and makes redis-cli print statistics of all
/// keys. redis-cli also requests the documentation of the commands by itself.
fn redis_cli(_folder: &Path, port: &str) -> Result<(), Stop> {
    let cli = |words: &[&str]| output(Command::new("redis-cli").args(["-p", port]).args(words));
    let printed = [
        cli(&["-3", "HSET", "hash", "field", "value"])?,
        cli(&["-3", "HGETALL", "hash"])?,
        cli(&["RPUSH", "list", "a", "b"])?,
        cli(&["--scan", "--pattern", "l*"])?,
        cli(&["--bigkeys"])?,
        cli(&["--memkeys"])?,
    ];
    let expected = ["1", "field value", "2", "list"];
    for (printed, expected) in printed.iter().zip(expected) {
        if printed.trim() != expected {
            let line = format!("redis-cli: expected {expected:?}, found {printed:?}");
            return Err(Stop::findings(line));
        }
    }
    println!("redis-cli: ok");
    Ok(())
}

/// Runs all of redis-benchmark's tests, with 2000 requests each.
fn redis_benchmark(_folder: &Path, port: &str) -> Result<(), Stop> {
    let mut benchmark = Command::new("redis-benchmark");
    benchmark.args(["-p", port, "-n", "2000", "-q", "-t"]);
    let tests = "ping_inline,ping_mbulk,set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,spop,zadd,zpopmin,lrange,mset";
    let printed = output(benchmark.arg(tests))?;
    let rows = printed.matches("requests per second").count();
    println!("redis-benchmark: {rows} tests");
    match printed.contains("Error") || rows < 16 {
        true => Err(Stop::findings(format!("redis-benchmark: {printed}"))),
        false => Ok(()),
    }
}

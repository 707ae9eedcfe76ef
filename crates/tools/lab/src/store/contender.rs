//! Contenders: our store as shipped, redis-server as packaged by Debian, and Valkey if `--valkey`
//! is given. None of them writes snapshots by itself.

use std::net::SocketAddr;
use std::process::Command;

use toolkit::stop::Stop;

use super::client::Client;
use super::cpus::Cpus;
use crate::SharedFlags;
use crate::scratch::Scratch;
use crate::server::{Server, free_address};

/// Names of the contenders. In a ratio, Pelton's value is divided by the other contender's value.
pub(super) const NAMES: [&str; 2] = ["pelton", "redis"];
/// Name of Valkey, which is compared in some parts only.
pub(super) const VALKEY: &str = "valkey";

/// Returns the names of all contenders, Valkey included if `--valkey` is given.
pub(super) fn all_names(given: &SharedFlags) -> Vec<&'static str> {
    let valkey = given.valkey.is_some().then_some(VALKEY);
    NAMES.into_iter().chain(valkey).collect()
}

/// Running store, pinned to the server's core.
pub(super) struct Contender {
    pub(super) name: &'static str,
    pub(super) server: Server,
    _files: Scratch,
}

impl Contender {
    pub(super) fn client(&self) -> Result<Client, Stop> {
        Client::connect(self.server.address)
    }
}

/// Starts the contenders `names` on the server's core, with `directives` in the syntax of
/// redis.conf.
pub(super) fn start(
    given: &SharedFlags,
    cpus: Cpus,
    names: &[&'static str],
    directives: &[&str],
) -> Result<Vec<Contender>, Stop> {
    let list = cpus.server.to_string();
    let each = names.iter();
    each.map(|name| start_on(given, &list, (name, name), directives))
        .collect()
}

/// Starts the program `program_name` on the cores of `list` (in taskset's syntax). `name` appears
/// in the tables.
pub(super) fn start_on(
    given: &SharedFlags,
    list: &str,
    (program_name, name): (&str, &'static str),
    directives: &[&str],
) -> Result<Contender, Stop> {
    let files = Scratch::new(name)?;
    let address = free_address()?;
    let mut program = Command::new("taskset");
    program.args(["--cpu-list", list]);
    match program_name {
        "redis" => program.arg("redis-server"),
        VALKEY => program.args(&given.valkey),
        _ => program.arg(given.pelton()?).arg("store"),
    };
    program.args(["--bind", "127.0.0.1", "--save", "", "--port"]);
    program.arg(address.port().to_string());
    program.arg("--dir").arg(files.path()).args(directives);
    let server = Server::start_until(program, address, is_ready)?;
    Ok(Contender {
        name,
        server,
        _files: files,
    })
}

fn is_ready(address: SocketAddr) -> bool {
    let response = Client::connect(address).and_then(|mut client| client.ask(&["PING"]));
    response.is_ok_and(|response| response == resp::Reply::Simple("PONG".into()))
}

//! Who takes part: the store as it ships, and redis-server as Debian ships it, both without files.

use std::net::SocketAddr;
use std::process::Command;

use super::Cpus;
use super::client::Client;
use crate::Given;
use crate::scratch::Scratch;
use crate::server::{Server, free_address};
use crate::stop::Stop;

/// Ours first: ratios are ours over the other's.
pub(super) const NAMES: [&str; 2] = ["pelton", "redis"];

/// One of them, running on the server's core.
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

/// Starts both, with `directives` in redis.conf's words.
pub(super) fn start(
    given: &Given,
    cpus: Cpus,
    directives: &[&str],
) -> Result<Vec<Contender>, Stop> {
    NAMES
        .iter()
        .map(|name| {
            let files = Scratch::new(name)?;
            let address = free_address()?;
            let mut program = Command::new("taskset");
            program.args(["--cpu-list", &cpus.server.to_string()]);
            match *name {
                "redis" => program.arg("redis-server"),
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
        })
        .collect()
}

fn is_ready(address: SocketAddr) -> bool {
    let answer = Client::connect(address).and_then(|mut client| client.ask(&["PING"]));
    answer.is_ok_and(|answer| answer == resp::Reply::Simple("PONG".into()))
}

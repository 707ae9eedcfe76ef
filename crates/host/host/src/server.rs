//! Facts of a running server: its sockets and its metrics.
//!
//! To read the options of the server's sockets, this module duplicates the sockets (`pidfd_getfd`)
//! and closes the duplicates at once. That needs the permission to trace the server.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Instant;

use host_checks::{Connection, Fact, Listener, Server, Unread};
use rustix::fd::{AsRawFd as _, OwnedFd};
use rustix::net::sockopt;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::diag::{self, ListeningSocket};
use crate::files::{self, Roots, fact};
use crate::netlink::refusal;
use crate::{metrics, network};

/// Maximum number of open connections whose options are read.
const CONNECTIONS_MAX: usize = 32;

/// Place from which the metrics of a server are read.
pub(crate) enum MetricsSource<'a> {
    /// An HTTP request to the server, with the token of the admin if the server needs one.
    Http(Option<&'a Fact<String>>),
    /// Text that the server itself has written.
    Text(&'a str),
}

/// Reads the facts of the server with this process id.
pub(crate) fn server(
    roots: &Roots,
    pid: u32,
    counters: &MetricsSource<'_>,
    deadline: Instant,
) -> Server {
    let folder = roots.proc.join(pid.to_string());
    let comm = files::text(&folder.join("comm"));
    let own = network::sockets(&folder.join("fd"));
    let listening = diag::listening(deadline);
    let source = format!("{}/fd, sock_diag", folder.display());
    let pairs = match (&own, &listening) {
        (Ok(own), Ok(all)) => Ok(paired(own, all)),
        (Err(why), _) | (_, Err(why)) => Err(*why),
    };
    let mut addresses = BTreeSet::new();
    if let Ok(pairs) = &pairs {
        addresses.extend(pairs.iter().map(|(_, socket)| reachable(socket.address)));
    }
    let listeners = pairs.map(|pairs| {
        let process = open(pid);
        let found = pairs
            .iter()
            .map(|(number, socket)| listener(process.as_ref(), *number, socket));
        found.collect::<Vec<_>>()
    });
    Server {
        pid: comm.and_then(|_| Some(pid)),
        listeners: fact(source, listeners, |all| described(all)),
        connections: connections(&folder, pid, own, listening),
        metrics: match counters {
            MetricsSource::Text(text) => metrics::own(text),
            MetricsSource::Http(None) => metrics::read(&addresses, None, deadline),
            MetricsSource::Http(Some(token)) => match &token.value {
                Ok(value) => metrics::read(&addresses, Some(value), deadline),
                // The server would refuse a request without the token.
                Err(why) => Fact::unknown(token.source.clone(), *why),
            },
        },
    }
}

/// Returns the process id of the server that has locked the data directory `data`. The id in the
/// lock file counts only if the kernel's list of locks has it too, because the server may have
/// ended.
pub fn holder(roots: &Roots, data: &Path) -> Fact<u32> {
    let path = data.join("lock");
    let found = files::read(&path).and_then(|text| {
        let pid = text
            .split_whitespace()
            .next()
            .and_then(|word| word.parse().ok());
        let pid: u32 = pid.ok_or(Unread::NoServer)?;
        let locks = files::read(&roots.proc.join("locks"))?;
        let inode = fs::metadata(&path)
            .map_err(|err| files::unread(&err))?
            .ino();
        match locks.lines().any(|line| is_flock_of(line, pid, inode)) {
            true => Ok(pid),
            false => Err(Unread::NoServer),
        }
    });
    let found = found.map_err(|why| match why {
        Unread::Absent => Unread::NoServer,
        why => why,
    });
    fact(path.display().to_string(), found, u32::to_string)
}

/// Returns whether a line of `/proc/locks` is a lock of the file with the inode `inode` by the
/// process `pid`. The device is not compared, because `stat` reports another device on some file
/// systems.
fn is_flock_of(line: &str, pid: u32, inode: u64) -> bool {
    let mut words = line.split_whitespace().skip(1);
    let is_flock = words.next() == Some("FLOCK");
    let is_own = words.nth(2) == Some(pid.to_string().as_str());
    let file = words.next().and_then(|word| word.rsplit(':').next());
    is_flock && is_own && file == Some(inode.to_string().as_str())
}

/// Returns the listening sockets among those of a process, with their descriptors.
fn paired<'a>(
    own: &HashMap<u32, u64>,
    all: &'a [ListeningSocket],
) -> Vec<(u32, &'a ListeningSocket)> {
    let mut pairs: Vec<_> = own
        .iter()
        .filter_map(|(number, inode)| {
            let socket = all.iter().find(|socket| socket.inode == *inode)?;
            Some((*number, socket))
        })
        .collect();
    // Keep one descriptor per socket. A core has duplicates, which have the same inode.
    pairs.sort_unstable_by_key(|(number, socket)| (socket.inode, *number));
    pairs.dedup_by_key(|(_, socket)| socket.inode);
    pairs
}

fn described(all: &[Listener]) -> String {
    let addresses: BTreeSet<&str> = all.iter().map(|one| one.address.as_str()).collect();
    let parts = addresses.iter().map(|address| {
        let own = all.iter().filter(|one| one.address == **address);
        let waiting: u32 = own.clone().map(|one| one.waiting).sum();
        let backlog = own.clone().map(|one| one.backlog).max().unwrap_or(0);
        let cpus = own
            .clone()
            .filter_map(|one| Some(one.incoming_cpu?.to_string()));
        let cpus = match cpus.collect::<Vec<_>>() {
            cpus if cpus.is_empty() => String::new(),
            cpus => format!(", SO_INCOMING_CPU {}", cpus.join(" ")),
        };
        format!(
            "{address}: {} sockets, {waiting} connections waiting, backlog {backlog}{cpus}",
            own.count()
        )
    });
    parts.collect::<Vec<_>>().join("; ")
}

fn open(pid: u32) -> Result<OwnedFd, Unread> {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or(Unread::NoServer)?;
    pidfd_open(pid, PidfdFlags::empty()).map_err(refusal)
}

fn duplicate(process: Result<&OwnedFd, &Unread>, number: u32) -> Result<OwnedFd, Unread> {
    let process = process.map_err(|why| *why)?;
    let number = i32::try_from(number).map_err(|_| Unread::Malformed)?;
    pidfd_getfd(process, number, PidfdGetfdFlags::empty()).map_err(refusal)
}

fn listener(process: Result<&OwnedFd, &Unread>, number: u32, socket: &ListeningSocket) -> Listener {
    let mut listener = Listener {
        address: socket.address.to_string(),
        waiting: socket.waiting,
        backlog: socket.backlog,
        ..Listener::default()
    };
    if let Ok(own) = duplicate(process, number) {
        // -1 stands for no processor.
        let cpu = sockopt::socket_incoming_cpu(&own).ok();
        listener.incoming_cpu = cpu.filter(|cpu| *cpu != u32::MAX);
        listener.congestion_control = sockopt::tcp_congestion(&own).ok();
    }
    listener
}

/// Reads the options of some open connections of the server.
fn connections(
    folder: &Path,
    pid: u32,
    own: Result<HashMap<u32, u64>, Unread>,
    listening: Result<Vec<ListeningSocket>, Unread>,
) -> Fact<Vec<Connection>> {
    let found = own.and_then(|own| {
        let listening = listening?;
        let process = open(pid)?;
        let mut found = Vec::new();
        for (number, inode) in own {
            if CONNECTIONS_MAX <= found.len() || listening.iter().any(|one| one.inode == inode) {
                continue;
            }
            match duplicate(Ok(&process), number) {
                Ok(socket) if is_connection(&socket) => found.push(Connection {
                    napi_id: incoming_napi_id(&socket)?,
                }),
                // Leave out other sockets, and connections that were closed after the listing.
                Ok(_) | Err(Unread::Errno(_)) => {}
                Err(why) => return Err(why),
            }
        }
        Ok(found)
    });
    let source = format!("{}/fd SO_INCOMING_NAPI_ID", folder.display());
    fact(source, found, |found| {
        let ids: BTreeSet<u32> = found.iter().map(|one| one.napi_id).collect();
        let ids = ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        format!("{} connections; ids {ids}", found.len())
    })
}

/// Returns whether a socket is a TCP connection.
fn is_connection(socket: &OwnedFd) -> bool {
    let protocol = sockopt::socket_protocol(socket);
    protocol == Ok(Some(rustix::net::ipproto::TCP))
        && sockopt::socket_acceptconn(socket) == Ok(false)
}

/// Returns the identifier of the card's queue that received the connection's last packet; 0 if the
/// interface has no identifiers.
fn incoming_napi_id(socket: &OwnedFd) -> Result<u32, Unread> {
    let mut id = 0_u32;
    let mut length = size_of::<u32>() as libc::socklen_t;
    // SAFETY: `id` and `length` outlive the call, and `length` is the size of `id`, so the kernel
    // writes at most four bytes to `id`. Breaks if `length` were larger than `id`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_INCOMING_NAPI_ID,
            (&raw mut id).cast(),
            &raw mut length,
        )
    };
    match result {
        0 => Ok(id),
        _ => Err(files::unread(&std::io::Error::last_os_error())),
    }
}

/// Returns the address at which this host reaches a socket that is bound to `address`.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
    };
    SocketAddr::new(ip, address.port())
}

//! Minimal HTTP server that passes requests to a contender, and clients of this server. Each client
//! sends its next request after it has received a response.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use toolkit::stop::Stop;

use super::contender::{Contender, Work};

/// Load that the clients produce. Each connection sends one request after the other.
#[derive(Clone, Copy)]
pub(super) struct Load {
    pub(super) connections: usize,
    pub(super) time: Duration,
    /// Pause between a response and the next request.
    pub(super) pause: Duration,
}

/// Times of all requests in microseconds, connection by connection, and the wall time of the whole
/// load.
pub(super) struct LoadResult {
    pub(super) times_us: Vec<f64>,
    pub(super) wall_s: f64,
}

/// Sends requests to `contender` on every connection for the duration of `load`. Each response must
/// be as long as `expected`, and the last response on each connection must equal `expected`.
pub(super) fn ask(
    contender: &Contender,
    work: &Work,
    load: Load,
    expected: &[u8],
) -> Result<LoadResult, Stop> {
    let failed =
        |err: io::Error| Stop::host(format!("cannot send requests over the loopback: {err}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    thread::scope(|scope| {
        let mut clients = Vec::new();
        let mut servers = Vec::new();
        let begin = Instant::now();
        for _ in 0..load.connections {
            clients.push(scope.spawn(move || client(address, load, expected)));
            let (stream, _) = listener.accept().map_err(failed)?;
            servers.push(scope.spawn(move || serve(&stream, contender, work)));
        }
        let mut times_us = Vec::new();
        for client in clients {
            let times = client.join().expect("clients do not panic");
            times_us.extend(times.map_err(failed)?);
        }
        let wall_s = begin.elapsed().as_secs_f64();
        for server in servers {
            server.join().expect("servers do not panic")?;
        }
        Ok(LoadResult { times_us, wall_s })
    })
}

fn client(address: SocketAddr, load: Load, expected: &[u8]) -> io::Result<Vec<f64>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut times_us = Vec::new();
    let mut body = vec![0; expected.len()];
    let end = Instant::now() + load.time;
    while Instant::now() < end {
        let begin = Instant::now();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: lab\r\n\r\n")?;
        let length = length(&mut stream)?;
        if length != expected.len() {
            let what = format!(
                "the response has {length} bytes instead of {}",
                expected.len()
            );
            return Err(io::Error::other(what));
        }
        stream.read_exact(&mut body)?;
        times_us.push(begin.elapsed().as_secs_f64() * 1e6);
        thread::sleep(load.pause);
    }
    if body != expected {
        return Err(io::Error::other("the response has a wrong body"));
    }
    Ok(times_us)
}

/// Reads the server's response head, which has a fixed length, and returns the length of the body.
fn length(stream: &mut TcpStream) -> io::Result<usize> {
    let mut head = [0; HEAD_BYTES];
    stream.read_exact(&mut head)?;
    let digits = std::str::from_utf8(&head[HEAD_BYTES - 4 - DIGITS..HEAD_BYTES - 4]);
    let length = digits.ok().and_then(|digits| digits.parse().ok());
    length.ok_or_else(|| io::Error::other("the response head has no Content-Length"))
}

/// Number of digits of Content-Length. The value is padded with zeros, so that all heads are
/// equally long.
const DIGITS: usize = 10;
const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Length: ";
const HEAD_BYTES: usize = HEAD.len() + DIGITS + 4;

fn serve(stream: &TcpStream, contender: &Contender, work: &Work) -> Result<(), Stop> {
    let failed = |err: io::Error| Stop::host(format!("cannot serve over the loopback: {err}"));
    stream.set_nodelay(true).map_err(failed)?;
    let mut requests = BufReader::new(stream);
    let mut line = String::new();
    loop {
        line.clear();
        match requests.read_line(&mut line) {
            Ok(0) => return Ok(()),
            Ok(_) if line != "\r\n" => {}
            Ok(_) => {
                let body = contender.respond(work)?;
                let mut response = format!("{HEAD}{:010}\r\n\r\n", body.len()).into_bytes();
                response.extend_from_slice(&body);
                let mut stream = stream;
                stream.write_all(&response).map_err(failed)?;
            }
            Err(err) => return Err(failed(err)),
        }
    }
}

//! Minimal server on the library hyper, the base of most Rust services. The server has no routes,
//! limits, timeouts or metrics. It holds its files in memory, supports ETag and single ranges, and
//! chooses HTTP/1.1 or HTTP/2 by the client's first bytes.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::SystemTime;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use toolkit::stop::{Stop, at};

/// Arguments of `lab hyper`, which serves the files of a folder until it is killed.
#[derive(clap::Args)]
pub(crate) struct Hyper {
    address: SocketAddr,
    files: PathBuf,
}

type Files = HashMap<String, (Bytes, HeaderValue)>;

/// Serves the files of the given folder. Returns only after an error.
///
/// # Errors
/// Returns an error if the files cannot be read, or if the address is in use.
pub(crate) fn serve(given: &Hyper) -> Result<(), Stop> {
    let files = Rc::new(read(given)?);
    let failed = |err: std::io::Error| Stop::host(format!("hyper: {err}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(failed)?;
    let tasks = tokio::task::LocalSet::new();
    tasks.block_on(&runtime, async {
        let listener = TcpListener::bind(given.address).await.map_err(failed)?;
        loop {
            let (stream, _) = listener.accept().await.map_err(failed)?;
            stream.set_nodelay(true).map_err(failed)?;
            tokio::task::spawn_local(talk(stream, Rc::clone(&files)));
        }
    })
}

fn read(given: &Hyper) -> Result<Files, Stop> {
    let mut files = Files::new();
    for entry in fs::read_dir(&given.files).map_err(at(&given.files))? {
        let path = entry.map_err(at(&given.files))?.path();
        let bytes = fs::read(&path).map_err(at(&path))?;
        let name = path
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let tag = HeaderValue::from_str(&format!("\"{}\"", blake3::hash(&bytes).to_hex()));
        files.insert(
            format!("/{name}"),
            (
                bytes.into(),
                tag.expect("a quoted hexadecimal string is a valid field value"),
            ),
        );
    }
    Ok(files)
}

async fn talk(stream: TcpStream, files: Rc<Files>) {
    let mut preface = [0; 3];
    let peeked = stream.peek(&mut preface).await;
    let service = hyper::service::service_fn(move |request| {
        let response = response(&files, &request);
        async move { Ok::<_, Infallible>(response) }
    });
    let io = TokioIo::new(stream);
    let ended = match peeked {
        Ok(3) if preface == *b"PRI" => {
            hyper::server::conn::http2::Builder::new(Local)
                .serve_connection(io, service)
                .await
        }
        _ => {
            hyper::server::conn::http1::Builder::new()
                .serve_connection(io, service)
                .await
        }
    };
    // Load generators close connections in the middle of a response, so an error is printed but
    // does not stop the server.
    if let Err(err) = ended {
        eprintln!("hyper: {err}");
    }
}

/// Executor that spawns hyper's futures on the single thread.
#[derive(Clone, Copy)]
struct Local;

impl<F: Future + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, future: F) {
        // Dropping the handle detaches the task, which continues to run.
        drop(tokio::task::spawn_local(future));
    }
}

fn response(files: &Files, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    let Some((bytes, tag)) = files.get(request.uri().path()) else {
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    };
    let asked = request.headers();
    let fields = response.headers_mut();
    for (name, value) in [
        (header::SERVER, "hyper"),
        (header::CONTENT_TYPE, "application/json"),
        (header::VARY, "Accept"),
        (header::CACHE_CONTROL, "public, max-age=86400"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        fields.insert(name, HeaderValue::from_static(value));
    }
    let modified = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH);
    fields.insert(
        header::LAST_MODIFIED,
        HeaderValue::from_str(&modified).expect("a date"),
    );
    fields.insert(header::ETAG, tag.clone());
    if asked.get(header::IF_NONE_MATCH) == Some(tag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else if let Some(part) = asked
        .get(header::RANGE)
        .and_then(|range| part(range, bytes))
    {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        *response.body_mut() = Full::new(part);
    } else {
        *response.body_mut() = Full::new(bytes.clone());
    }
    response
}

/// Returns the bytes of a range `bytes=FIRST-LAST`, if it is valid.
fn part(range: &HeaderValue, bytes: &Bytes) -> Option<Bytes> {
    let (first, last) = range
        .to_str()
        .ok()?
        .strip_prefix("bytes=")?
        .split_once('-')?;
    let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last && last < bytes.len()).then(|| bytes.slice(first..=last))
}

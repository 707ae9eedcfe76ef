//! Service with one core, started for one test, and functions that send requests to it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use conversion::{flight, transcode};
use image_plan::Accepts;
use reactor::Stop;
use variants::library::Mount as Directory;

use crate::media_type::AllowedTypes;
use crate::mount::Mounts;
use crate::{Limits, Live, LiveCore, Scheme, Service, Settings, access};

/// Time limit of each read and each HTTP/2 request, longer than any test needs.
const DEADLINE: Duration = Duration::from_secs(30);

/// Running service, stopped on drop.
pub(super) struct TestServer {
    root: PathBuf,
    address: SocketAddr,
    stop: Stop,
    cores: Option<JoinHandle<()>>,
}

impl TestServer {
    pub(super) fn open(mounts: Mounts) -> TestServer {
        TestServer::limited(mounts, Limits::default().mount_responses_bytes)
    }

    /// Starts a service in which response bodies of mounts may occupy `mount_responses_bytes` bytes
    /// of memory.
    pub(super) fn limited(mounts: Mounts, mount_responses_bytes: usize) -> TestServer {
        TestServer::start(mounts, |settings| {
            settings.limits.mount_responses_bytes = mount_responses_bytes;
        })
    }

    /// Starts a service with the access rules `gate`.
    pub(super) fn gated(mounts: Mounts, gate: crate::gate::Gate) -> TestServer {
        TestServer::start(mounts, |settings| settings.gate = gate)
    }

    /// Starts a service with the settings that `set` leaves.
    pub(super) fn start(mounts: Mounts, set: impl FnOnce(&mut Settings)) -> TestServer {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let root =
            std::env::temp_dir().join(format!("pelton-mount-{}-{number}", std::process::id()));
        fs::create_dir_all(root.join("library")).expect("a folder");
        fs::write(root.join("library/digits.txt"), b"0123456789").expect("a file");
        let limits = reactor::Limits {
            cores_max: 1,
            drain_ms_max: 0,
            // A test may send more than the service reads before it closes the connection. The core
            // reads and drops the rest. Otherwise the kernel would reset the connection.
            linger_bytes_max: 1 << 20,
            ..reactor::Limits::default()
        };
        let ids = reactor::usable_cores(&limits).expect("a core");
        let address = "127.0.0.1:0".parse().expect("an address");
        let listeners = reactor::bind(&[address], &ids, &limits).expect("a port");
        let address = listeners.addresses()[0];
        let worker = std::env::var_os("PELTON_WORKER").expect("cargo xtask sets it");
        let worker = fs::read(worker).expect("the worker was built");
        let pool = sandbox::Pool::start(&worker, sandbox::Limits::default()).expect("cells");
        let mut settings = settings(&root);
        set(&mut settings);
        let service = Service::open(settings, pool, listeners.counters(), mounts, None);
        let live = Live::new(service.expect("a service"), Box::new([Scheme::Http]));
        let stop = Stop::new();
        let stopped = stop.clone();
        let cores = thread::spawn(move || {
            let run = reactor::run(listeners, &limits, b"", &stopped, |core| {
                let live = LiveCore::new(&live, core.clone());
                move |conn| crate::serve(live.get(), conn)
            });
            run.expect("the core runs");
        });
        TestServer {
            root,
            address,
            stop,
            cores: Some(cores),
        }
    }

    /// Writes a file of the library.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.root.join("library").join(name), bytes).expect("a file");
    }

    /// Sends a GET request over HTTP/1.1. Returns the head and the body of the response.
    pub(super) fn ask_bytes(&self, target: &str, fields: &str) -> (String, Vec<u8>) {
        let text = format!("GET {target} HTTP/1.1\r\nhost: h\r\n{fields}\r\n");
        let mut stream = self.begin(&text);
        stream.shutdown(Shutdown::Write).expect("it is open");
        let mut received = Vec::new();
        stream.read_to_end(&mut received).expect("a response");
        let end = received.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        let body = received.split_off(end.expect("a head") + 4);
        (String::from_utf8(received).expect("text"), body)
    }

    /// Opens a connection and sends `text`. Does not wait for a response.
    pub(super) fn begin(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).expect("the service listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a socket");
        stream
            .write_all(text.as_bytes())
            .expect("a socket takes it");
        stream
    }

    /// Sends `text` on a new connection. Returns everything received until the service closes the
    /// connection.
    pub(super) fn say(&self, text: &str) -> String {
        ended(self.begin(text))
    }

    /// Sends `text`, reads up to and including `until`, then sends `rest`. Returns what is received
    /// after `until`.
    pub(super) fn say_then(&self, text: &str, until: &str, rest: &str) -> String {
        let mut stream = self.begin(text);
        let mut received = Vec::new();
        while !received.ends_with(until.as_bytes()) {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("the service answers");
            received.extend(byte);
        }
        stream
            .write_all(rest.as_bytes())
            .expect("a socket takes it");
        ended(stream)
    }

    /// Sends a request over HTTP/1.1. Returns the status, the sorted fields and the body, without
    /// anything that differs from one response to the next.
    pub(super) fn ask_http1(&self, method: &str, target: &str, fields: &str, body: &str) -> String {
        let length = match body.is_empty() {
            true => String::new(),
            false => format!("content-length: {}\r\n", body.len()),
        };
        let text = format!("{method} {target} HTTP/1.1\r\nhost: h\r\n{fields}{length}\r\n{body}");
        let response = self.say(&text);
        let (head, body) = response.split_once("\r\n\r\n").expect("a head");
        let mut lines = head.lines();
        let status = lines.next().expect("a status line");
        let fields = lines.map(|line| line.split_once(": ").expect("a field"));
        shown(&status[9..12], fields, body)
    }

    /// Sends a request over HTTP/2. Returns the same as [`TestServer::ask_http1`].
    pub(super) fn ask_http2(&self, method: &str, target: &str, fields: &str, body: &str) -> String {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let response = async {
            let stream = tokio::net::TcpStream::connect(self.address).await;
            let shaken = h2::client::handshake(stream.expect("the service listens")).await;
            let (mut sender, connection) = shaken.expect("HTTP/2 is spoken");
            tokio::spawn(connection);
            let mut request = http::Request::builder()
                .method(method)
                .uri(format!("http://h{target}"));
            for line in fields.lines() {
                let (name, value) = line.split_once(": ").expect("a field");
                request = request.header(name, value);
            }
            let request = request.body(()).expect("a request");
            let (response, mut stream) = sender
                .send_request(request, body.is_empty())
                .expect("sound");
            if !body.is_empty() {
                let body = Bytes::copy_from_slice(body.as_bytes());
                stream.send_data(body, true).expect("the stream is open");
            }
            let (head, mut body) = response.await.expect("a response").into_parts();
            let mut bytes = Vec::new();
            while let Some(part) = body.data().await {
                let part = part.expect("a part");
                let released = body.flow_control().release_capacity(part.len());
                released.expect("what came");
                bytes.extend_from_slice(&part);
            }
            let fields = head.headers.iter();
            let fields =
                fields.map(|(name, value)| (name.as_str(), value.to_str().expect("ASCII")));
            let body = String::from_utf8_lossy(&bytes);
            shown(head.status.as_str(), fields, &body)
        };
        let response = async { tokio::time::timeout(DEADLINE, response).await };
        runtime.block_on(response).expect("in time")
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop.trigger();
        let ended = self.cores.take().map(JoinHandle::join);
        assert!(matches!(ended, Some(Ok(()))), "the core ended well");
        fs::remove_dir_all(&self.root).expect("it was ours");
    }
}

/// Closes the sending side, and returns the rest of the response as text. Bytes that are not text,
/// such as those of an archive, are replaced.
fn ended(mut stream: TcpStream) -> String {
    stream.shutdown(Shutdown::Write).expect("it is open");
    let mut received = Vec::new();
    stream.read_to_end(&mut received).expect("a response");
    String::from_utf8_lossy(&received).into_owned()
}

fn shown<'a>(status: &str, fields: impl Iterator<Item = (&'a str, &'a str)>, body: &str) -> String {
    const OF_THE_MOMENT: [&str; 5] = [
        "date",
        "connection",
        "etag",
        "last-modified",
        "server-timing",
    ];
    let mut fields: Vec<_> = fields
        .filter(|(name, _)| !OF_THE_MOMENT.contains(name))
        .map(|(name, value)| format!("{name}: {value}\n"))
        .collect();
    fields.sort();
    // The `instance` of a problem document is the request id, which differs per request.
    let body = body.split(",\"instance\"").next().unwrap_or(body);
    format!("{status}\n{}\n{body}", fields.concat())
}

fn settings(root: &std::path::Path) -> Settings {
    Settings {
        shared_index: variants::shared_index::Limits::default(),
        gate: crate::gate::Gate::default(),
        permissions: crate::permission::Permissions::default(),
        imgproxy: None,
        iiif: None,
        tags: crate::path_tags::PathTags::default(),
        mounts: vec![Directory {
            prefix: String::new(),
            directory: root.join("library"),
            is_internal: false,
        }],
        data: root.join("data"),
        formats: Accepts {
            avif: true,
            webp: true,
            jxl: true,
            heic: true,
            named: true,
        },
        quality: 80,
        improve: false,
        allowed_types: AllowedTypes {
            all: false,
            extensions: ["txt".to_owned()].into(),
        },
        only_types: AllowedTypes::every(),
        grammar: image_plan::Grammar::default(),
        active_types: AllowedTypes::default(),
        headers: crate::Headers::default(),
        cors: crate::Cors::default(),
        resource_policy: None,
        max_age_s: 60,
        provisional_age_s: 1,
        http: http1::Limits::default(),
        picture: image_plan::Limits::default(),
        flight: flight::Limits {
            concurrency: 1,
            waiting_max: 1,
            waiting_cpu_ms_max: 1_000,
            waiting_ms_max: 1_000,
            memory_bytes_max: 1 << 30,
            waiters_max: 1,
            improving_max: 1,
        },
        transcode: transcode::Limits::default(),
        limits: Limits {
            facts_max: NonZeroUsize::MIN,
            request_body_bytes: 256 << 10,
            core_request_body_bytes: 300 << 10,
            ..Limits::default()
        },
        access: access::Sink::Off,
        access_limits: access::Limits::default(),
    }
}

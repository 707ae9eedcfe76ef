//! A redis-server that serves as oracle, on a Unix socket in a temporary folder.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use resp::{Reply, ReplyLimits};
use toolkit::stop::{Stop, at};

/// Maximum number of attempts to connect to a starting server, [`START_STEP`] apart.
const STARTS: u32 = 100;
const START_STEP: Duration = Duration::from_millis(50);

pub(crate) struct Oracle {
    child: Child,
    folder: PathBuf,
    stream: UnixStream,
    input: BytesMut,
}

impl Oracle {
    pub(crate) fn start() -> Result<Self, Stop> {
        let folder = std::env::temp_dir().join(format!("pelton-store-diff-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(at(&folder))?;
        let socket = folder.join("redis.sock");
        let child = Command::new("redis-server")
            .args([
                "--port",
                "0",
                "--save",
                "",
                "--appendonly",
                "no",
                "--unixsocket",
            ])
            .arg(&socket)
            .arg("--dir")
            .arg(&folder)
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| Stop::host(format!("redis-server: {error}")))?;
        for _ in 0..STARTS {
            if let Ok(stream) = UnixStream::connect(&socket) {
                let input = BytesMut::new();
                return Ok(Self {
                    child,
                    folder,
                    stream,
                    input,
                });
            }
            sleep(START_STEP);
        }
        Err(Stop::host(format!(
            "redis-server does not listen on {}",
            socket.display()
        )))
    }

    /// Sends one command, and returns its reply twice: as bytes, and parsed.
    pub(crate) fn ask(&mut self, args: &[Bytes]) -> Result<(Bytes, Reply), Stop> {
        let mut request = format!("*{}\r\n", args.len()).into_bytes();
        for arg in args {
            request.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
            request.extend_from_slice(arg);
            request.extend_from_slice(b"\r\n");
        }
        let failed = |error: std::io::Error| {
            Stop::host(format!("connection to redis-server failed: {error}"))
        };
        self.stream.write_all(&request).map_err(failed)?;
        let mut chunk = [0; 65_536];
        loop {
            let read = self.stream.read(&mut chunk).map_err(failed)?;
            if read == 0 {
                return Err(Stop::host("redis-server closed the connection"));
            }
            self.input.extend_from_slice(&chunk[..read]);
            let mut copy = self.input.clone();
            let reply = Reply::take(&mut copy, &ReplyLimits::default());
            let reply = reply.map_err(|bad| {
                Stop::host(format!("cannot parse the reply of redis-server: {bad:?}"))
            })?;
            if let Some(reply) = reply {
                let raw = self.input.split_to(self.input.len() - copy.len()).freeze();
                return Ok((raw, reply));
            }
        }
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait().map(drop)) {
            eprintln!("conform: cannot stop redis-server: {error}");
        }
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            eprintln!("conform: {}: {error}", self.folder.display());
        }
    }
}

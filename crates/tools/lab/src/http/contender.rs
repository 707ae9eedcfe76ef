//! Servers that `lab http` compares. All servers are pinned to the same core. A function that
//! starts a server returns when the server accepts requests.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;
use std::rc::Rc;

use toolkit::stop::{Stop, at};

use super::{Row, Transport, target};
use crate::peer::{self, PeerName};
use crate::scratch::Scratch;
use crate::server::{self, Server};
use crate::{SharedFlags, nginx, usage};

/// Names of the contenders. `pelton again` is the control: it is the same process as `pelton`,
/// measured a second time.
const NAMES: [&str; 5] = ["pelton", "nginx", "h2o", "hyper", "pelton again"];

/// Size of the file that libreactor serves.
const LIBREACTOR_BYTES: usize = 150;

/// One server of the comparison.
pub(super) struct Contender {
    pub(super) name: &'static str,
    pub(super) server: Rc<Server>,
    tls: Option<SocketAddr>,
    h2: Option<SocketAddr>,
    /// Size of the only file that the contender serves; `None` if it serves all files.
    only_bytes: Option<usize>,
}

impl Contender {
    /// Returns whether the contender can answer the requests of a row.
    pub(super) fn takes_part(&self, row: &Row) -> bool {
        let has_file = match self.only_bytes {
            // Such a contender supports neither ranges nor conditions, and keeps its connections.
            Some(bytes) => {
                bytes == row.file_bytes
                    && row.field.is_none()
                    && row.requests_a_connection.is_none()
            }
            None => true,
        };
        has_file && self.address(row.transport).is_some()
    }

    /// Returns the address at which the server offers `transport`, or `None` if the server does not
    /// support it.
    pub(super) fn address(&self, transport: Transport) -> Option<SocketAddr> {
        match transport {
            Transport::Plain => Some(self.server.address),
            Transport::Tls => self.tls,
            Transport::H2 => self.h2,
        }
    }
}

/// Content, certificate and core that all contenders use.
struct Site<'a> {
    folder: &'a Scratch,
    cpu: u32,
    /// Target of an existing file. A started server is ready when a request for this target
    /// succeeds.
    target: String,
}

/// Starts all contenders, Pelton first, and libreactor if it is given. They serve the files in the
/// subfolder `files` of `folder`.
pub(super) fn start_all(
    given: &SharedFlags,
    folder: &Scratch,
    cpu: u32,
) -> Result<Vec<Contender>, Stop> {
    let files = folder.join("files");
    let mut names = fs::read_dir(&files).map_err(at(&files))?;
    let first = names.next().transpose().map_err(at(&files))?;
    let first = first
        .ok_or_else(|| Stop::findings("the folder of test files for the HTTP servers is empty"))?;
    let site = Site {
        folder,
        cpu,
        target: format!("/{}", first.file_name().to_string_lossy()),
    };
    site.certify()?;
    let pelton = site.pelton(given)?;
    let again = Contender {
        name: NAMES[4],
        server: Rc::clone(&pelton.server),
        ..pelton
    };
    let mut contenders = vec![pelton, site.nginx()?, site.h2o()?, site.hyper()?];
    contenders.extend(site.libreactor(given)?);
    contenders.push(again);
    Ok(contenders)
}

impl Site<'_> {
    /// Creates a P-256 key and a self-signed certificate in the site's folder.
    fn certify(&self) -> Result<(), Stop> {
        let mut openssl = Command::new("openssl");
        openssl.args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
        ]);
        openssl.args(["-nodes", "-days", "2", "-subj", "/CN=localhost"]);
        openssl.args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]);
        openssl.arg("-keyout").arg(self.folder.join("key.pem"));
        openssl.arg("-out").arg(self.folder.join("certificate.pem"));
        usage::run(&mut openssl).map(drop)
    }

    fn pelton(&self, given: &SharedFlags) -> Result<Contender, Stop> {
        let tls = server::free_address()?;
        let given = SharedFlags {
            corpus: self.folder.join("files"),
            ..given.clone()
        };
        let (cpu, tls_text) = (self.cpu.to_string(), tls.to_string());
        let path = |name: &str| self.folder.join(name).to_string_lossy().into_owned();
        let (certificate, key) = (path("certificate.pem"), path("key.pem"));
        let settings = [
            "--cores",
            "1",
            "--allowed-types",
            "json",
            // h2load does not reconnect after a connection's last request, so connections must
            // never reach this limit. The other servers have the same limit.
            "--limits-connection-requests-max",
            "1000000000",
        ];
        let secured = [
            "--tls-listen",
            &tls_text,
            "--tls-cert",
            &certificate,
            "--tls-key",
            &key,
        ];
        let settings: Vec<&str> = settings.into_iter().chain(secured).collect();
        let under = ["taskset", "--cpu-list", &cpu];
        let server = Server::pelton(&under, &given, &self.folder.join("data"), &settings)?;
        let h2 = server.address;
        Ok(Contender {
            name: NAMES[0],
            server: Rc::new(server),
            tls: Some(tls),
            h2: Some(h2),
            only_bytes: None,
        })
    }

    fn nginx(&self) -> Result<Contender, Stop> {
        let (tls, h2) = (server::free_address()?, server::free_address()?);
        let folder = self.folder.path().to_string_lossy();
        let more = format!(
            "listen {tls} ssl; listen {h2} http2; ssl_protocols TLSv1.3; \
             ssl_certificate {folder}/certificate.pem; ssl_certificate_key {folder}/key.pem;"
        );
        let server = nginx::start(self.folder, self.cpu, &more, &self.target)?;
        Ok(Contender {
            name: NAMES[1],
            server: Rc::new(server),
            tls: Some(tls),
            h2: Some(h2),
            only_bytes: None,
        })
    }

    /// Starts h2o with one thread and no log. It caches open files by default.
    fn h2o(&self) -> Result<Contender, Stop> {
        let (address, tls) = (server::free_address()?, server::free_address()?);
        let folder = self.folder.path().to_string_lossy();
        let config = format!(
            "num-threads: 1\n\
             max-connections: 1024\n\
             http2-idle-timeout: 75\n\
             listen: {{ host: {}, port: {} }}\n\
             listen:\n  host: {}\n  port: {}\n  ssl:\n    certificate-file: {folder}/certificate.pem\n    \
             key-file: {folder}/key.pem\n    minimum-version: TLSv1.3\n\
             hosts:\n  default:\n    paths:\n      /:\n        file.dir: {folder}/files\n        \
             header.set: \"Vary: Accept\"\n        header.set: \"Cache-Control: public, max-age=86400\"\n        \
             header.set: \"X-Content-Type-Options: nosniff\"\n",
            address.ip(),
            address.port(),
            tls.ip(),
            tls.port(),
        );
        let path = self.folder.join("h2o.conf");
        fs::write(&path, config).map_err(at(&path))?;
        let mut h2o = self.pinned("h2o");
        h2o.arg("--conf").arg(&path);
        let server = Server::start(h2o, address, &self.target)?;
        Ok(Contender {
            name: NAMES[2],
            server: Rc::new(server),
            tls: Some(tls),
            h2: Some(address),
            only_bytes: None,
        })
    }

    fn hyper(&self) -> Result<Contender, Stop> {
        let address = server::free_address()?;
        let own = std::env::current_exe().map_err(at(self.folder.path()))?;
        let mut hyper = self.pinned(&own.to_string_lossy());
        hyper
            .arg("hyper")
            .arg(address.to_string())
            .arg(self.folder.join("files"));
        let server = Server::start(hyper, address, &self.target)?;
        Ok(Contender {
            name: NAMES[3],
            server: Rc::new(server),
            tls: None,
            h2: Some(address),
            only_bytes: None,
        })
    }

    /// Starts libreactor, if it is given and its file was written. It serves a single file.
    fn libreactor(&self, given: &SharedFlags) -> Result<Option<Contender>, Stop> {
        let name = PeerName::Libreactor;
        let file = self
            .folder
            .join("files")
            .join(&target(LIBREACTOR_BYTES)[1..]);
        let Some(program) = given.peer(name).filter(|_| file.exists()) else {
            eprintln!(
                "lab: {} is left out, because no option --peer gives its path",
                name.name()
            );
            return Ok(None);
        };
        Ok(Some(Contender {
            name: name.name(),
            server: Rc::new(peer::libreactor(program, &file, self.cpu)?),
            tls: None,
            h2: None,
            only_bytes: Some(LIBREACTOR_BYTES),
        }))
    }

    fn pinned(&self, program: &str) -> Command {
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &self.cpu.to_string(), program]);
        command
    }
}

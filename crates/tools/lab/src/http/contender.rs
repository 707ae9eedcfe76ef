//! Servers that `lab http` compares. All servers are pinned to the same core. A function that
//! starts a server returns when the server accepts requests.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;
use std::rc::Rc;

use toolkit::stop::{Stop, at};

use super::Transport;
use crate::scratch::Scratch;
use crate::server::{self, Server};
use crate::{SharedFlags, nginx, usage};

/// Names of the contenders, in the order of the tables. `pelton again` is the control: it is the
/// same process as `pelton`, measured a second time.
pub(super) const NAMES: [&str; 5] = ["pelton", "nginx", "h2o", "hyper", "pelton again"];

/// One server of the comparison.
pub(super) struct Contender {
    pub(super) name: &'static str,
    pub(super) server: Rc<Server>,
    tls: Option<SocketAddr>,
    h2: Option<SocketAddr>,
}

impl Contender {
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

/// Starts all contenders in the order of [`NAMES`]. They serve the files in the subfolder `files`
/// of `folder`.
pub(super) fn start_all(
    given: &SharedFlags,
    folder: &Scratch,
    cpu: u32,
) -> Result<Vec<Contender>, Stop> {
    let files = folder.join("files");
    let mut names = fs::read_dir(&files).map_err(at(&files))?;
    let first = names.next().transpose().map_err(at(&files))?;
    let first = first.ok_or_else(|| Stop::findings("no files were written"))?;
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
    Ok(vec![
        pelton,
        site.nginx()?,
        site.h2o()?,
        site.hyper()?,
        again,
    ])
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
        })
    }

    fn pinned(&self, program: &str) -> Command {
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &self.cpu.to_string(), program]);
        command
    }
}

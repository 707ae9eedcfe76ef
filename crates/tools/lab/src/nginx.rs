//! nginx, for comparison with our server: one process that sends static files by sendfile and
//! writes no log.

use std::fs;
use std::path::Path;
use std::process::Command;

use toolkit::stop::{Stop, at};

use crate::scratch::Scratch;
use crate::server::{self, Server};

/// Configuration template. nginx sends the same response fields as Pelton, so that both write the
/// same number of bytes. It caches open files, so that it does not open a file per request.
const CONFIG: &str = "
daemon off;
master_process off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events { worker_connections 1024; }
http {
    access_log off;
    server_tokens off;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    keepalive_timeout 75s;
    keepalive_requests 1000000000;
    open_file_cache max=100;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    types { image/webp webp; application/json json; }
    server {
        listen {address};
        {more}
        root {folder}/files;
        add_header Vary Accept;
        add_header Cache-Control \"public, max-age=86400\";
        add_header X-Content-Type-Options nosniff;
    }
}
";

/// Starts nginx, pinned to the core `cpu`. It serves the subfolder `files` of `folder`. `more`
/// holds additional directives of the `server` block.
pub(crate) fn start(folder: &Scratch, cpu: u32, more: &str, target: &str) -> Result<Server, Stop> {
    let address = server::free_address()?;
    let config = CONFIG
        .replace("{folder}", &folder.path().to_string_lossy())
        .replace("{address}", &address.to_string())
        .replace("{more}", more);
    let path = folder.join("nginx.conf");
    fs::write(&path, config).map_err(at(&path))?;
    let mut nginx = Command::new("taskset");
    nginx
        .args(["--cpu-list", &cpu.to_string(), "nginx", "-c"])
        .arg(&path);
    Server::start(nginx, address, target)
}

/// Writes `bytes` to a file that nginx serves as `/name`.
pub(crate) fn add_file(folder: &Scratch, name: &str, bytes: &[u8]) -> Result<(), Stop> {
    let path = folder.join(Path::new("files").join(name));
    let parent = folder.join("files");
    fs::create_dir_all(&parent).map_err(at(&parent))?;
    fs::write(&path, bytes).map_err(at(&path))
}

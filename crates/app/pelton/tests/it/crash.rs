//! `kill -9` at any time. After a restart, the server sends only complete responses, and never the
//! response to another request.

use std::collections::HashMap;
use std::fs;

use crate::harness::{Client, Home, Response, Server, eventually, media};

const ROUNDS: u32 = 20;
const PHOTOS: usize = 4;
const ACCEPTS: [&str; 2] = ["image/avif", "image/webp"];

/// Valid bodies by entity tag.
type Bodies = HashMap<String, Vec<u8>>;

/// Returns the requests of each round, as pairs of target and Accept.
fn requests() -> Vec<(String, &'static str)> {
    let targets = (0..PHOTOS).flat_map(|photo| {
        let whole = format!("/{photo}.jpg");
        let small = format!("/{photo}.jpg?w=150&h=150&fit=cover");
        [whole, small]
    });
    let requests = targets.flat_map(|target| ACCEPTS.map(|accept| (target.clone(), accept)));
    requests.collect()
}

/// Returns all valid response bodies, from a server that is not killed. Each request has two valid
/// bodies: the quickly encoded first variant, and the smaller variant that replaces it.
fn bodies(home: &Home) -> Bodies {
    let data = home.directory().join("reference");
    let data = data.to_str().expect("paths of tests are text");
    let server = Server::start(home, &["--data", data]);
    let mut bodies = Bodies::new();
    for (target, accept) in requests() {
        eventually("the better variant is there", || {
            let response = server.get_as(&target, accept);
            assert_eq!(response.status, 200);
            let is_final = response.field("last-modified").is_some();
            bodies.insert(response.etag().to_owned(), response.body);
            is_final.then_some(())
        });
    }
    server.stop();
    bodies
}

/// Waits for the moment at which the server is to be killed: when the state that belongs to `round`
/// is observed, and at the latest when all responses have started.
fn wait_for_state(round: u32, server: &Server, home: &Home, clients: &mut [Client]) {
    let before = home.variants().len();
    eventually("the moment to kill", || {
        let started = clients
            .iter_mut()
            .filter_map(|client| client.has_begun().then_some(()));
        let started = started.count();
        let is_reached = match round % 5 {
            // Kill the server immediately.
            0 => true,
            // Kill the server while a conversion is running.
            1 => 1 <= server.metrics().get("pelton_conversions_running"),
            // Kill the server while a file is being written.
            2 => !home.temporaries().is_empty(),
            // Kill the server after a file was renamed to its final name.
            3 => home.variants().len() != before,
            // Kill the server when the number of responses that have started to arrive exceeds
            // `round % clients.len()`.
            _ => round as usize % clients.len() < started,
        };
        (is_reached || started == clients.len()).then_some(())
    });
}

/// Checks that the content of each variant matches its name.
fn check_files(home: &Home, bodies: &Bodies) {
    for path in home.variants() {
        let name = path.file_name().and_then(|name| name.to_str());
        let (stem, extension) = name.and_then(|name| name.rsplit_once('.')).expect("a name");
        let (key, length) = stem.split_once('-').expect("a key and a length");
        let bytes = fs::read(&path).expect("a variant can be read");
        assert_eq!(bytes.len().to_string(), length, "{}", path.display());
        let body = bodies.get(&format!("\"{key}\"")).expect("a known key");
        assert!(bytes == *body, "{}", path.display());
        let facts = image_plan::probe(&bytes[..], bytes.len() as u64).expect("a picture");
        assert_eq!(facts.format.extension(), extension);
    }
}

fn check(response: &Response, accept: &str, bodies: &Bodies) {
    assert_eq!((response.status, response.content_type()), (200, accept));
    let body = bodies.get(response.etag()).expect("a known representation");
    assert!(
        response.body == *body,
        "another body under {}",
        response.etag()
    );
    assert_eq!(response.facts().format.media_type(), accept);
}

#[test]
fn nothing_is_mixed_or_cut_off_however_often_the_server_is_killed() {
    let home = Home::new();
    for photo in 0..PHOTOS {
        let pixels = media::photo(320, 240, photo as u32);
        home.put(&format!("{photo}.jpg"), &pixels);
    }
    let bodies = bodies(&home);
    for round in 0..ROUNDS {
        let server = Server::start(&home, &[]);
        let mut clients: Vec<_> = requests()
            .iter()
            .map(|(target, accept)| {
                let mut client = server.connect();
                client.request("GET", target, &format!("accept: {accept}\r\n"));
                client
            })
            .collect();
        wait_for_state(round, &server, &home, &mut clients);
        server.kill();
        check_files(&home, &bodies);
        // Removes a third of the variants, so that the next round has variants to create.
        for path in home.variants().iter().skip(round as usize % 3).step_by(3) {
            fs::remove_file(path).expect("the home can be written");
        }
    }
    let server = Server::start(&home, &[]);
    for (target, accept) in requests() {
        eventually("the better variant is there", || {
            let response = server.get_as(&target, accept);
            check(&response, accept, &bodies);
            response.field("last-modified").map(|_| ())
        });
    }
    eventually("nothing half written is left", || {
        home.temporaries().is_empty().then_some(())
    });
    server.stop();
    check_files(&home, &bodies);
}

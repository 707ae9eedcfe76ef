//! The shared index as Redis clients see it: in the server's own store, and in Debian's
//! redis-server, which a test starts and stops while the server runs.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use resp::Reply;

use crate::harness::{Home, Server, eventually, media};

/// Returns an address with a free port.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("bound")
}

/// Debian's redis-server without snapshots, killed when dropped.
struct Redis(Child);

impl Redis {
    fn start(home: &Home, address: SocketAddr) -> Redis {
        let child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--port"])
            .arg(address.port().to_string())
            .current_dir(home.directory())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is installed: cargo xtask test sees to it");
        let redis = Redis(child);
        eventually("it listens", || TcpStream::connect(address).ok());
        redis
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // An error is ignored: the process may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Client of the server's own store or of Redis.
struct Client(store::Remote);

impl Client {
    fn of(address: SocketAddr) -> Client {
        let url = format!("redis://{address}").parse().expect("a URL");
        Client(store::Remote::new(url, Duration::from_secs(60)))
    }

    fn ask(&self, line: &str) -> Reply {
        let words = line
            .split(' ')
            .map(|word| Bytes::copy_from_slice(word.as_bytes()));
        let replies = self.0.run(&[words.collect()]).expect("it answers");
        replies[0].clone()
    }

    /// Returns the entries of the index, each as its fields and values.
    fn variants(&self) -> Vec<Vec<String>> {
        let keys = texts(self.ask("KEYS pelton:variant:*"));
        let fields = keys
            .iter()
            .map(|key| texts(self.ask(&format!("HGETALL {key}"))));
        fields.collect()
    }

    /// Returns the only entry, once it contains the path of its original.
    fn variant(&self) -> Vec<String> {
        eventually("the variant is recorded", || match &self.variants()[..] {
            [variant] if variant.contains(&"path".to_owned()) => Some(variant.clone()),
            _ => None,
        })
    }
}

fn texts(reply: Reply) -> Vec<String> {
    let Reply::Array(elements) = reply else {
        panic!("{reply:?}");
    };
    let texts = elements.into_iter().map(|element| match element {
        Reply::Bulk(text) => String::from_utf8(text.to_vec()).expect("text"),
        other => panic!("{other:?}"),
    });
    texts.collect()
}

fn value<'a>(fields: &'a [String], name: &str) -> Option<&'a str> {
    let at = fields.iter().step_by(2).position(|field| field == name)?;
    Some(&fields[2 * at + 1])
}

fn home() -> Home {
    Home::with(&[
        ("a b.jpg", &media::photo(400, 300, 1)),
        ("c.jpg", &media::photo(400, 300, 2)),
    ])
}

#[test]
fn redis_clients_see_the_index() {
    let home = home();
    let address = free_address();
    let mut server = Server::plain(&home, &["--store-listen", &address.to_string()]);
    let response = server.get_as("/a%20b.jpg?w=200", "image/webp");
    assert_eq!(response.content_type(), "image/webp");
    let client = Client::of(address);
    let variant = client.variant();
    let bytes = response.body.len().to_string();
    for (name, expected) in [
        ("kind", "webp"),
        ("bytes", bytes.as_str()),
        ("path", "a b.jpg"),
        ("width", "200"),
        ("height", "150"),
    ] {
        assert_eq!(value(&variant, name), Some(expected), "{variant:?}");
    }
    eventually("it is counted", || {
        let count = client.ask("HGET pelton:counters conversions");
        (count == Reply::Bulk("1".into())).then_some(())
    });
    assert_eq!(texts(client.ask("KEYS pelton:process:*")).len(), 1);

    // A new process listens on the same socket, and records the variants that it finds on disk.
    server.upgrade();
    let client = Client::of(address);
    eventually("the new process records it too", || {
        let variants = client.variants();
        let kind = variants
            .first()
            .and_then(|variant| value(variant, "kind"))?;
        (kind == "webp").then_some(())
    });
    assert_eq!(
        server.get_as("/a%20b.jpg?w=200", "image/webp").etag(),
        response.etag()
    );
    server.stop();
}

#[test]
fn a_store_elsewhere_comes_and_goes() {
    let home = home();
    let address = free_address();
    let url = format!("redis://{address}");
    let server = Server::plain(&home, &["--store", &url]);
    assert_eq!(
        server.get_as("/c.jpg", "image/webp").status,
        200,
        "without a store"
    );
    assert_eq!(server.metrics().get("pelton_store_reachable"), 0);
    for round in 0..2 {
        let redis = Redis::start(&home, address);
        let client = Client::of(address);
        eventually("all is recorded", || {
            (client.variants().len() == 1 + round).then_some(())
        });
        assert_eq!(server.metrics().get("pelton_store_reachable"), 1);
        drop(redis);
        let target = format!("/a%20b.jpg?w={}", 100 + round);
        assert_eq!(
            server.get_as(&target, "image/webp").status,
            200,
            "without it"
        );
        assert_eq!(server.get_as("/c.jpg", "image/webp").status, 200);
    }
    server.stop();
}

#[test]
fn what_an_earlier_process_found_out_is_not_tried_again() {
    let home = Home::with(&[("broken.png", &media::undecodable())]);
    let address = free_address();
    let redis = Redis::start(&home, address);
    let url = format!("redis://{address}");
    let ask = |server: &Server| {
        let response = server.get_as("/broken.png", "image/webp");
        assert_eq!(
            (response.status, response.content_type()),
            (200, "image/png")
        );
        server.metrics().jobs()
    };
    let server = Server::plain(&home, &["--store", &url]);
    assert_eq!(ask(&server), 1);
    let client = Client::of(address);
    eventually("it is recorded", || {
        (!client.variants().is_empty()).then_some(())
    });
    server.stop();
    std::fs::remove_dir_all(home.data()).expect("the data can be lost");
    let server = Server::plain(&home, &["--store", &url]);
    assert_eq!(ask(&server), 0);
    server.stop();
    drop(redis);
}

#[test]
fn processes_of_one_folder_convert_once() {
    const TARGET: &str = "/large.jpg?w=1500";
    let home = Home::with(&[("large.jpg", &media::photo(2000, 1500, 1))]);
    let address = free_address();
    let redis = Redis::start(&home, address);
    let url = format!("redis://{address}");
    let servers = [(); 3].map(|()| Server::plain(&home, &["--store", &url]));
    let etags = thread::scope(|scope| {
        let asking = servers
            .each_ref()
            .map(|server| scope.spawn(|| server.get_as(TARGET, "image/avif").etag().to_owned()));
        asking.map(|asked| asked.join().expect("a response"))
    });
    assert!(etags.iter().all(|etag| *etag == etags[0]), "{etags:?}");
    let jobs: u64 = servers.iter().map(|server| server.metrics().jobs()).sum();
    assert_eq!(jobs, 1);
    // The key `pelton:flight:…`, which locks a conversion, is removed when the conversion ends.
    let client = Client::of(address);
    eventually("nothing is under way", || {
        texts(client.ask("KEYS pelton:flight:*"))
            .is_empty()
            .then_some(())
    });
    servers.into_iter().for_each(Server::stop);
    drop(redis);
}

#[test]
fn one_store_is_enough() {
    let home = home();
    let flags = [
        "--store-listen",
        "127.0.0.1:6380",
        "--store-url",
        "redis://h",
    ];
    let mut command = crate::harness::pelton(&home, ["serve"]);
    let output = command.arg(home.library()).args(flags).output();
    let output = output.expect("the program starts");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("store.listen and store.url"), "{text}");
}

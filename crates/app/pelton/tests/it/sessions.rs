//! Sessions of browsers: the login, which sets a cookie; the paths that the cookie gives access to;
//! and the pages that may use the cookie.

use rustix::process::Signal;
use rustls::version::TLS13;
use serde_json::Value;

use crate::harness::{
    Certificate, Client, Home, Http2, Response, Server, eventually, media, signal, trusting,
};
use crate::players::{ANN, user};

const SONG: &str = "/Band/1.flac";
const FLAC: &[u8] = include_bytes!("../../../../library/tags/testdata/sine.flac");
/// Origin of the server's own page. The clients in these tests send `pelton` as the host name.
const OWN: &str = "origin: http://pelton\r\n";

fn home() -> Home {
    let home = Home::with(&[
        ("Band/1.flac", FLAC),
        ("photo.jpg", &media::photo(48, 32, 1)),
    ]);
    assert_eq!(user(&home, &["add", "ann"], "sesame\n").0, Some(0));
    assert_eq!(user(&home, &["add", "bob"], "secret\n").0, Some(0));
    home
}

/// Returns the end of a login request: all fields except Host, and the body. `fields` are
/// additional fields.
fn login(name: &str, password: &str, fields: &str) -> String {
    let body = format!("{{\"name\":\"{name}\",\"password\":\"{password}\"}}");
    let length = body.len();
    format!("{fields}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
}

fn log_in_with(server: &Server, name: &str, password: &str, fields: &str) -> Response {
    let mut client = server.connect();
    let rest = login(name, password, fields);
    client.send(format!(
        "POST /-/api/session HTTP/1.1\r\nhost: pelton\r\n{rest}"
    ));
    client.response()
}

/// Returns the Cookie line of a new session.
fn log_in(server: &Server, name: &str, password: &str) -> String {
    let response = log_in_with(server, name, password, OWN);
    assert_eq!(response.status, 200, "{}", response.text());
    let cookie = response.field("set-cookie").expect("a cookie");
    let (pair, attributes) = cookie.split_once("; ").expect("attributes");
    let expected = "Path=/-/; Max-Age=2592000; HttpOnly; SameSite=Lax";
    assert_eq!(attributes, expected);
    format!("cookie: {pair}\r\n")
}

fn session(server: &Server, fields: &str) -> Value {
    let response = server.send("GET", "/-/api/session", fields);
    assert_eq!(response.status, 200, "{}", response.text());
    serde_json::from_str(response.text()).expect("JSON")
}

fn status(server: &Server, target: &str, fields: &str) -> u16 {
    server.send("GET", target, fields).status
}

#[test]
fn a_session_opens_everything_below_the_page_and_nothing_else() {
    let home = home();
    let server = Server::plain(&home, &["--require-login", "all"]);
    let guest = session(&server, "");
    assert_eq!(
        (&guest["name"], &guest["hasUsers"]),
        (&Value::Null, &true.into())
    );
    let cookie = log_in(&server, "bob", "secret");
    let bob = session(&server, &cookie);
    assert_eq!(
        (&bob["name"], &bob["isAdmin"]),
        (&"bob".into(), &false.into())
    );
    let files = bob["files"].as_str().expect("text").to_owned();
    for (target, with_cookie) in [
        ("/-/api", 200),
        ("/-/at/", 200),
        ("/-/plain/music", 200),
        ("/-/metrics", 403),
        ("/-/api/cells", 403),
        ("/-/api/quarantine", 403),
        ("/photo.jpg", 401),
        (SONG, 401),
        (&format!("{files}/photo.jpg"), 200),
        (&format!("{files}/photo.jpg?w=8"), 200),
        (&format!("{files}{SONG}"), 200),
        (&format!("{files}/-/art/x"), 404),
    ] {
        assert_eq!(status(&server, target, ""), 401, "{target}");
        assert_eq!(status(&server, target, &cookie), with_cookie, "{target}");
    }
    let refused = server.send("GET", "/rest/ping?f=json", &cookie);
    assert!(refused.text().contains("\"failed\""), "{}", refused.text());
    // Files have validators, support ranges, are negotiated, and must not be stored by shared
    // caches.
    let target = format!("{files}/photo.jpg?w=8");
    let fields = format!("{cookie}accept: image/webp\r\n");
    let photo = server.send("GET", &target, &fields);
    assert_eq!(photo.content_type(), "image/webp");
    let caching = photo.field("cache-control").expect("it is said");
    assert!(caching.starts_with("private"), "{caching}");
    let held = format!("{fields}if-none-match: {}\r\n", photo.etag());
    assert_eq!(server.send("GET", &target, &held).status, 304);
    let part = format!("{cookie}range: bytes=0-3\r\n");
    let part = server.send("GET", &format!("{files}{SONG}"), &part);
    assert_eq!((part.status, &part.body[..]), (206, &FLAC[..4]));
    let mut http2 = Http2::connect(server.address());
    assert_eq!(http2.send("GET", &target, &cookie).status, 200);
    assert_eq!(http2.send("GET", "/photo.jpg", &cookie).status, 401);
    // The page has a login form of its own, so its requests do not get a challenge of type `Basic`.
    let page = "referer: http://pelton/-/photos\r\n";
    let challenge = server.send("GET", "/-/api", page);
    assert_eq!(
        challenge.field("www-authenticate"),
        Some("Bearer realm=\"Pelton\"")
    );
    let ann = log_in(&server, "ann", "sesame");
    assert_eq!(status(&server, "/-/metrics", &ann), 200);
    server.stop();

    // Public files are the same with and without a session, so that shared caches may store them.
    let server = Server::plain(&home, &[]);
    assert_eq!(session(&server, &cookie)["files"], "");
    let photo = server.send("GET", "/photo.jpg", &cookie);
    let caching = photo.field("cache-control").expect("it is said");
    assert!(caching.starts_with("public"), "{caching}");
    assert_eq!(photo.field("set-cookie"), None);
    server.stop();
}

#[test]
fn only_the_own_page_changes_something_in_a_session() {
    let home = home();
    let server = Server::plain(&home, &["--origins", "https://player.example.org"]);
    let cookie = log_in(&server, "ann", "sesame");
    let scan = |method, origin: &str| {
        let fields = format!("{cookie}{origin}content-length: 0\r\n");
        server.send(method, "/-/api/scan", &fields)
    };
    for method in ["POST", "DELETE"] {
        for (origin, expected) in [
            (OWN, 200),
            ("", 403),
            ("origin: null\r\n", 403),
            ("origin: http://pelton:81\r\n", 403),
            ("origin: http://evil.example\r\n", 403),
            ("origin: https://player.example.org\r\n", 403),
        ] {
            let response = scan(method, origin);
            assert_eq!(response.status, expected, "{method} {origin}");
        }
    }
    let refused = scan("POST", "");
    assert!(refused.text().contains("Origin"), "{}", refused.text());
    let bob = log_in(&server, "bob", "secret");
    let bobs = format!("{bob}{OWN}content-length: 0\r\n");
    assert_eq!(server.send("POST", "/-/api/scan", &bobs).status, 403);
    // If the server requires no login, every client may read the quarantine. Only admins may change
    // the quarantine.
    assert_eq!(status(&server, "/-/api/quarantine", ""), 200);
    let lift = |fields: &str| {
        let target = "/-/api/quarantine/0000";
        server.send("DELETE", target, fields).status
    };
    assert_eq!((lift(""), lift(&bobs)), (401, 403));
    assert_eq!(lift(&format!("{cookie}{OWN}")), 404);
    // A page of another origin must not be able to log its visitor in, for example as another user.
    let foreign = log_in_with(&server, "ann", "sesame", "origin: http://evil.example\r\n");
    assert_eq!((foreign.status, foreign.field("set-cookie")), (403, None));
    server.stop();
}

#[test]
fn sessions_outlive_the_server_until_they_are_ended() {
    let home = home();
    let server = Server::plain(&home, &[]);
    let [first, second] = [(); 2].map(|()| log_in(&server, "ann", "sesame"));
    signal(server.pid(), Signal::KILL);
    drop(server);
    let server = Server::plain(&home, &[]);
    let name = |cookie: &str| session(&server, cookie)["name"].clone();
    assert_eq!((name(&first), name(&second)), ("ann".into(), "ann".into()));
    let list = server.send("GET", "/-/api/sessions", &first);
    let list: Value = serde_json::from_str(list.text()).expect("JSON");
    let items = list["items"].as_array().expect("a list");
    assert_eq!(items.len(), 2);
    let other = items.iter().find(|it| it["present"] == false);
    let id = other.expect("the second session")["id"].as_str();
    let target = format!("/-/api/sessions/{}", id.expect("text"));
    let fields = format!("{first}{OWN}");
    assert_eq!(server.send("DELETE", &target, &fields).status, 200);
    assert_eq!((name(&first), name(&second)), ("ann".into(), Value::Null));
    let out = server.send("DELETE", "/-/api/session", &fields);
    assert_eq!(out.status, 200);
    let removed = out.field("set-cookie").expect("a cookie");
    assert!(removed.contains("Max-Age=0"), "{removed}");
    assert_eq!(name(&first), Value::Null);
    // A new password ends all sessions, even if it is set on the command line.
    let third = log_in(&server, "ann", "sesame");
    assert_eq!(user(&home, &["password", "ann"], "open\n").0, Some(0));
    assert_eq!(name(&third), Value::Null);
    server.stop();
}

#[test]
fn an_ended_session_opens_nothing_for_longer_than_a_moment() {
    let home = home();
    let server = Server::plain(&home, &["--require-login", "all"]);
    let cookie = log_in(&server, "ann", "sesame");
    assert_eq!(status(&server, "/-/api", &cookie), 200);
    let fields = format!("{cookie}{OWN}");
    server.send("DELETE", "/-/api/session", &fields);
    // Each core trusts a verified login for `limits.revalidate_after`, so the session may end on
    // some cores later than on others.
    eventually("the session has ended everywhere", || {
        (status(&server, "/-/api", &cookie) == 401).then_some(())
    });
    server.stop();
}

#[test]
fn over_tls_the_cookie_needs_tls() {
    let home = home();
    let certificate = Certificate::issue(&home, "own", &["pelton"]);
    let flags = Certificate::flags(&[&certificate]);
    let flags: Vec<_> = flags.iter().map(String::as_str).collect();
    let server = Server::plain(&home, &flags);
    let config = trusting(&[&certificate], &["http/1.1"], &[&TLS13]);
    let mut client = Client::secure(server.secure_address(), &config, "pelton").expect("TLS");
    let rest = login("ann", "sesame", "origin: https://pelton\r\n");
    client.send(format!(
        "POST /-/api/session HTTP/1.1\r\nhost: pelton\r\n{rest}"
    ));
    let response = client.response();
    let cookie = response.field("set-cookie").expect("a cookie");
    assert!(cookie.starts_with("__Secure-pelton="), "{cookie}");
    assert!(cookie.ends_with("; Secure"), "{cookie}");
    let (pair, _) = cookie.split_once(';').expect("attributes");
    let (_, token) = pair.split_once('=').expect("a value");
    let change = |name: &str, origin: &str| {
        let fields = format!("cookie: {name}={token}\r\norigin: {origin}\r\n");
        format!("{fields}content-length: 0\r\n")
    };
    for (name, origin, status) in [
        ("__Secure-pelton", "https://pelton", 200),
        ("__Secure-pelton", "http://pelton", 403),
        // Over TLS, the server does not accept a cookie of this name: an attacker who can modify
        // plain HTTP could have set it.
        ("pelton", "https://pelton", 401),
    ] {
        client.request("POST", "/-/api/scan", &change(name, origin));
        assert_eq!(client.response().status, status, "{name} {origin}");
    }
    // A proxy on this host says that it received the request over TLS.
    let forwarded = "x-forwarded-proto: https\r\n";
    let response = log_in_with(&server, "ann", "sesame", forwarded);
    let cookie = response.field("set-cookie").expect("a cookie");
    assert!(cookie.starts_with("__Secure-pelton="), "{cookie}");
    server.stop();
}

#[test]
fn guesses_have_to_wait_and_without_users_no_login_succeeds() {
    let home = home();
    let server = Server::plain(&home, &[]);
    for _ in 0..10 {
        let response = log_in_with(&server, "ann", "wrong", OWN);
        assert_eq!(response.status, 401);
    }
    let response = log_in_with(&server, "ANN", "sesame", OWN);
    assert_eq!(response.status, 429);
    assert!(response.field("retry-after").is_some());
    // The failed logins of the browser also delay logins of players as the same user.
    let player = server.get(&format!("/rest/ping?{ANN}"));
    assert_eq!(player.status, 429);
    server.stop();
    let home = Home::with(&[("photo.jpg", &media::photo(48, 32, 1))]);
    let server = Server::plain(&home, &[]);
    assert_eq!(session(&server, "")["hasUsers"], false);
    let response = log_in_with(&server, "ann", "sesame", OWN);
    assert_eq!(response.status, 409);
    assert!(
        response.text().contains("pelton user add"),
        "{}",
        response.text()
    );
    server.stop();
}

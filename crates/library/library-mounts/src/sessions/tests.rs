use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use catalog::{Catalog, CoverOwner, build};
use image_plan::Placeholder;
use library_api::{Index, LibraryAccess, Limits, Scanning, Store};
use server::gate::Users as _;
use server::media_type::AllowedTypes;
use tags::Splits;

use super::*;

/// Library without files.
struct Empty(Arc<Index>);

impl LibraryAccess for Empty {
    fn index(&self) -> Arc<Index> {
        Arc::clone(&self.0)
    }

    fn scanning(&self) -> Scanning {
        Scanning::default()
    }

    fn unreadable(&self, _: &Index) -> Vec<(Vec<u8>, String)> {
        Vec::new()
    }

    fn scan(&self, _: Vec<Vec<u8>>) {}

    fn cancel_scan(&self) {}

    fn cover(&self, _: &Index, _: CoverOwner, _: &str) -> Option<String> {
        None
    }

    fn has_cover(&self, _: &Index, _: CoverOwner) -> bool {
        false
    }

    fn placeholder(&self, _: &Index, _: CoverOwner) -> Option<Placeholder> {
        None
    }

    fn placeholder_of_file(&self, _: &[u8]) -> Option<Placeholder> {
        None
    }

    fn videos(&self, _: &[u8], _: &[&str]) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn videos_below(&self, _: &[u8], _: &[&str]) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn motion(&self, _: &[u8]) -> std::io::Result<Option<library_api::MotionVideo>> {
        Ok(None)
    }

    fn avatar(&self, _: &str) -> Option<String> {
        None
    }

    fn lyrics(&self, _: &[u8]) -> Vec<Vec<u8>> {
        Vec::new()
    }
}

/// Sessions of a server whose only user is the admin ann, or of a server without users.
struct Scene {
    folder: PathBuf,
    sessions: Sessions,
    require_login: RequireLogin,
}

impl Scene {
    fn new() -> Scene {
        let scene = Scene::empty();
        let store = Store::open(&scene.folder).expect("a folder");
        store.add_user("ann", "sesame", true, 1).expect("a user");
        scene
    }

    fn empty() -> Scene {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = format!("pelton-sessions-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let store = Arc::new(Store::open(&folder).expect("a folder"));
        let index = Catalog::open(build(Vec::new(), &Splits::default()).into());
        let house = Arc::new(Empty(Arc::new(index.expect("an index"))));
        let server = Server::new(house, store, Splits::default(), Limits::default());
        let sessions = Sessions {
            server: Arc::new(server),
            proxies: Networks::loopback(),
            max_age_s: 60,
        };
        Scene {
            folder,
            sessions,
            require_login: RequireLogin::Off,
        }
    }

    /// Returns the response to a request with these fields and this body.
    fn ask(&self, request: &str, fields: &str, body: &str) -> Response {
        self.ask_from("127.0.0.1", (request, fields, body))
    }

    fn ask_from(&self, peer: &str, (request, fields, body): (&str, &str, &str)) -> Response {
        let text = format!("{request} HTTP/1.1\r\nhost: h\r\n{fields}\r\n");
        let parsed = http1::parse(text.as_bytes(), &http1::Limits::default());
        let parsed = parsed.expect("sound").expect("whole");
        let request = MountRequest {
            method: parsed.method_name,
            path: parsed.target.path,
            query: parsed.target.query,
            fields: parsed.fields(),
            body: body.to_owned().into(),
            peer: peer.parse().expect("an address"),
            secure: fields.contains("test-tls: yes"),
            require_login: self.require_login,
            allowed_types: &AllowedTypes::default(),
            only_types: &AllowedTypes::every(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.expect("a runtime");
        let reply = runtime.block_on(self.sessions.reply(request));
        let Reply::Whole {
            status,
            fields,
            body,
        } = reply
        else {
            panic!("a document");
        };
        let value = |name: &str| {
            let mut fields = fields.iter();
            let (_, value) = fields.find(|(other, _)| other == name)?;
            Some(value.to_string())
        };
        assert_eq!(value("cache-control").as_deref(), Some("no-store"));
        Response {
            status,
            body: String::from_utf8(body.to_vec()).expect("text"),
            cookie: value("set-cookie"),
            retry_after: value("retry-after"),
        }
    }

    /// Logs ann in, and returns the Cookie line of the session.
    fn log_in(&self) -> String {
        let response = self.ask("POST /-/api/session", JSON, RIGHT);
        response.cookie_line()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if self.folder.exists() {
            std::fs::remove_dir_all(&self.folder).expect("it was made");
        }
    }
}

struct Response {
    status: u16,
    body: String,
    cookie: Option<String>,
    retry_after: Option<String>,
}

impl Response {
    fn cookie_line(&self) -> String {
        let cookie = self.cookie.as_deref().expect("a cookie");
        let (pair, _) = cookie.split_once(';').expect("attributes");
        format!("cookie: {pair}\r\n")
    }
}

const JSON: &str = "content-type: application/json\r\nuser-agent: Browser/1\r\n";
const RIGHT: &str = r#"{"name":"ann","password":"sesame"}"#;
const GUEST: &str = r#"{"files":"","hasUsers":true,"isAdmin":false,"name":null}"#;
const ANN: &str = r#"{"files":"","hasUsers":true,"isAdmin":true,"name":"ann"}"#;

#[test]
fn without_users_a_login_is_refused_with_the_command_that_adds_one() {
    let scene = Scene::empty();
    let response = scene.ask("GET /-/api/session", "", "");
    let nobody = r#"{"files":"","hasUsers":false,"isAdmin":false,"name":null}"#;
    assert_eq!((response.status, &*response.body), (200, nobody));
    let response = scene.ask("POST /-/api/session", JSON, RIGHT);
    assert_eq!((response.status, response.cookie), (409, None));
    assert!(
        response.body.contains("pelton user add NAME"),
        "{}",
        response.body
    );
    assert!(!scene.folder.exists(), "nothing is written");
}

#[test]
fn a_login_gives_a_cookie_and_a_logout_takes_it() {
    let scene = Scene::new();
    let guest = scene.ask("GET /-/api/session", "", "");
    assert_eq!((guest.status, &*guest.body), (200, GUEST));
    let response = scene.ask("POST /-/api/session", JSON, RIGHT);
    assert_eq!((response.status, &*response.body), (200, ANN));
    let cookie = response.cookie.clone().expect("a cookie");
    let (pair, attributes) = cookie.split_once("; ").expect("attributes");
    assert_eq!(attributes, "Path=/-/; Max-Age=60; HttpOnly; SameSite=Lax");
    assert_eq!(pair.len(), "pelton=".len() + 16 + 1 + 64);
    let line = response.cookie_line();
    let here = scene.ask("GET /-/api/session", &line, "");
    // The response contains no new token, since the present token was issued just now.
    assert_eq!((&*here.body, here.cookie), (ANN, None));
    let out = scene.ask("DELETE /-/api/session", &line, "");
    assert_eq!((out.status, &*out.body), (200, GUEST));
    let removed = "pelton=; Path=/-/; Max-Age=0; HttpOnly; SameSite=Lax";
    assert_eq!(out.cookie.as_deref(), Some(removed));
    let after = scene.ask("GET /-/api/session", &line, "");
    assert_eq!((&*after.body, after.cookie), (GUEST, None));
    assert_eq!(scene.ask("DELETE /-/api/session", "", "").status, 200);
}

#[test]
fn the_cookie_is_secure_if_the_browsers_connection_is() {
    let scene = Scene::new();
    let cookie = |peer, fields: &str| {
        let fields = format!("{JSON}{fields}");
        let response = scene.ask_from(peer, ("POST /-/api/session", &fields, RIGHT));
        response.cookie.expect("a cookie")
    };
    let is_secure = |cookie: &str| {
        let is_named = cookie.starts_with("__Secure-pelton=");
        assert_eq!(cookie.ends_with("; Secure"), is_named, "{cookie}");
        is_named
    };
    for (peer, fields, expected) in [
        ("127.0.0.1", "", false),
        ("192.0.2.1", "test-tls: yes\r\n", true),
        ("127.0.0.1", "x-forwarded-proto: https\r\n", true),
        (
            "::ffff:127.0.0.1",
            "x-forwarded-proto: HTTPS, http\r\n",
            true,
        ),
        ("127.0.0.1", "x-forwarded-proto: http, https\r\n", false),
        ("192.0.2.1", "x-forwarded-proto: https\r\n", false),
    ] {
        assert_eq!(
            is_secure(&cookie(peer, fields)),
            expected,
            "{peer} {fields}"
        );
    }
    let below = "referer: https://h/photos/-/settings\r\n";
    assert!(cookie("127.0.0.1", below).contains("; Path=/photos/-/; "));
}

#[test]
fn what_is_no_login_is_refused() {
    let scene = Scene::new();
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    for (fields, body, status) in [
        (JSON, r#"{"name":"ann","password":"wrong"}"#, 401),
        (JSON, r#"{"name":"eve","password":"sesame"}"#, 401),
        (JSON, r#"{"name":"ann"}"#, 400),
        (JSON, r#"{"name":"ann","password":1}"#, 400),
        (JSON, "[]", 400),
        (JSON, "", 400),
        ("", RIGHT, 400),
        (form, RIGHT, 400),
        ("content-type: text/plain\r\n", RIGHT, 400),
        (
            "content-type: Application/JSON; charset=utf-8\r\n",
            RIGHT,
            200,
        ),
    ] {
        let response = scene.ask("POST /-/api/session", fields, body);
        assert_eq!(
            response.status, status,
            "{fields} {body}: {}",
            response.body
        );
        assert_eq!(response.cookie.is_some(), status == 200, "{body}");
    }
    for (request, status) in [
        ("PUT /-/api/session", 405),
        ("POST /-/api/sessions", 405),
        ("PUT /-/api/sessions/0", 405),
        ("GET /-/api/session/x", 404),
        ("GET /-/api/sessions", 401),
        ("DELETE /-/api/sessions/0", 401),
    ] {
        assert_eq!(scene.ask(request, "", "").status, status, "{request}");
    }
}

#[test]
fn guessing_has_to_wait() {
    let scene = Scene::new();
    let wrong = r#"{"name":"ANN","password":"wrong"}"#;
    for _ in 0..10 {
        let response = scene.ask("POST /-/api/session", JSON, wrong);
        assert_eq!(response.status, 401);
    }
    let response = scene.ask("POST /-/api/session", JSON, RIGHT);
    assert_eq!((response.status, response.cookie), (429, None));
    let wait: u64 = response
        .retry_after
        .expect("a time")
        .parse()
        .expect("seconds");
    assert!((1..=60).contains(&wait), "{wait}");
    let other = scene.ask_from("192.0.2.1", ("POST /-/api/session", JSON, RIGHT));
    assert_eq!(other.status, 200);
}

#[test]
fn users_see_and_end_their_sessions() {
    let scene = Scene::new();
    let (first, second) = (scene.log_in(), scene.log_in());
    let list = |line: &str| {
        let response = scene.ask("GET /-/api/sessions", line, "");
        let list: Value = serde_json::from_str(&response.body).expect("JSON");
        list["items"].as_array().expect("a list").clone()
    };
    let items = list(&second);
    assert_eq!(items.len(), 2);
    let is_present: Vec<_> = items.iter().map(|it| &it["present"]).collect();
    assert!(is_present.contains(&&json!(true)) && is_present.contains(&&json!(false)));
    for item in &items {
        assert_eq!(item["agent"], "Browser/1");
        assert!(
            item["created"]
                .as_str()
                .is_some_and(|time| time.ends_with('Z'))
        );
        assert_eq!(item["used"], item["created"]);
    }
    let other = items.iter().find(|it| it["present"] == false);
    let id = other.expect("the first session")["id"].as_str();
    let end = format!("DELETE /-/api/sessions/{}", id.expect("text"));
    let ended = scene.ask(&end, &second, "");
    assert_eq!((ended.status, &*ended.body), (200, "{}"));
    assert_eq!(scene.ask(&end, &second, "").status, 404);
    assert_eq!(scene.ask("GET /-/api/session", &first, "").body, GUEST);
    assert_eq!(list(&second).len(), 1);
    // A login in the same browser replaces the browser's previous session.
    let third = scene.ask("POST /-/api/session", &format!("{JSON}{second}"), RIGHT);
    assert_eq!(list(&third.cookie_line()).len(), 1);
}

#[test]
fn keys_and_passwords_tell_who_they_are_too() {
    let scene = Scene::new();
    let basic = "authorization: Basic YW5uOnNlc2FtZQ==\r\n";
    assert_eq!(scene.ask("GET /-/api/session", basic, "").body, ANN);
    let wrong = "authorization: Basic YW5uOndyb25n\r\n";
    assert_eq!(scene.ask("GET /-/api/session", wrong, "").status, 401);
    // The Authorization field takes precedence over the cookie.
    let both = format!("{wrong}{}", scene.log_in());
    assert_eq!(scene.ask("GET /-/api/session", &both, "").status, 401);
}

#[test]
fn users_load_files_below_the_page_if_files_need_a_login() {
    let mut scene = Scene::new();
    let line = scene.log_in();
    for (login, files) in [
        (RequireLogin::Off, ""),
        (RequireLogin::Music, "/-/file"),
        (RequireLogin::All, "/-/file"),
    ] {
        scene.require_login = login;
        let files_of = |line| {
            let response = scene.ask("GET /-/api/session", line, "");
            let session: Value = serde_json::from_str(&response.body).expect("JSON");
            session["files"].as_str().expect("text").to_owned()
        };
        assert_eq!((&*files_of(&line), &*files_of("")), (files, ""));
    }
}

#[test]
fn the_verifier_of_logins_knows_sessions() {
    use server::gate::Credentials;
    let scene = Scene::new();
    let users = crate::players::SubsonicUsers(Arc::clone(&scene.sessions.server));
    let line = scene.log_in();
    let token = line
        .trim()
        .strip_prefix("cookie: pelton=")
        .expect("a token");
    let peer = IpAddr::from([127, 0, 0, 1]);
    let admin = users.log_in(Credentials::Session(token), peer);
    assert!(admin.is_ok_and(|login| login.is_admin));
    let bearer = format!("Bearer {token}");
    for credentials in [
        Credentials::Session("x"),
        Credentials::Authorization(&bearer),
        Credentials::Authorization(token),
    ] {
        assert!(users.log_in(credentials, peer).is_err(), "{credentials:?}");
    }
    assert_eq!(users.has_users(), Ok(true));
}

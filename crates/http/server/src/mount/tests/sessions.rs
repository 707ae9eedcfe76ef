//! Tests of sessions: the requests that a session cookie authorizes, and the pages that may send
//! them.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use super::peer::TestServer;
use crate::archive::ArchiveFile;
use crate::gate::{Credentials, Gate, Login, LoginFailure, Part, RequireLogin, Token, Users};
use crate::mount::{Mount, MountRequest, Mounts, Reply};

/// Two users: the admin ann, and bob. The credentials of a user are the user's name.
struct Two;

impl Users for Two {
    fn log_in(&self, credentials: Credentials<'_>, _: IpAddr) -> Result<Login, LoginFailure> {
        match credentials {
            Credentials::Session("ann") | Credentials::Authorization("Bearer ann") => {
                Ok(Login { is_admin: true })
            }
            Credentials::Session("bob") | Credentials::Authorization("Bearer bob") => {
                Ok(Login { is_admin: false })
            }
            _ => Err(LoginFailure::Unknown),
        }
    }

    fn has_users(&self) -> Result<bool, LoginFailure> {
        Ok(true)
    }
}

struct NoUsers;

impl Users for NoUsers {
    fn log_in(&self, _: Credentials<'_>, _: IpAddr) -> Result<Login, LoginFailure> {
        Err(LoginFailure::Unknown)
    }

    fn has_users(&self) -> Result<bool, LoginFailure> {
        Ok(false)
    }
}

/// Mount that belongs to the given part of the server. It responds with the name of the part and
/// with the setting `require_login`.
struct Of(Part);

impl Mount for Of {
    fn respond<'a>(&'a self, visit: MountRequest<'a>) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        let body = format!("{:?} {:?}", self.0, visit.require_login);
        Box::pin(async move {
            Reply::Whole {
                status: 200,
                fields: vec![("cache-control".into(), "public".into())],
                body: body.into(),
            }
        })
    }

    fn part(&self) -> Part {
        self.0
    }
}

/// Mount below `/-/`, where the session cookie is read. It responds with a file of the library.
struct Behind;

impl Mount for Behind {
    fn respond<'a>(&'a self, visit: MountRequest<'a>) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        let target = visit.path["/-/file".len()..].to_owned();
        let fields = Vec::new();
        Box::pin(async move { Reply::Internal { target, fields } })
    }

    fn part(&self) -> Part {
        Part::Music
    }
}

/// Mount of the API. It responds with a file of the library and never converts the file.
struct Unchanged;

impl Mount for Unchanged {
    fn respond<'a>(&'a self, visit: MountRequest<'a>) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        let path = visit.path["/-/api/file".len()..].to_owned();
        let fields = vec![("content-disposition".into(), "attachment".into())];
        Box::pin(async move { Reply::Original { path, fields } })
    }

    fn part(&self) -> Part {
        Part::Api
    }
}

/// Mount of the API. Its response is the same as if the client had requested the path of a file of
/// the library, so the file may be converted.
struct Streamed;

impl Mount for Streamed {
    fn respond<'a>(&'a self, visit: MountRequest<'a>) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        let target = visit.path["/-/api/stream".len()..].to_owned();
        let fields = Vec::new();
        Box::pin(async move { Reply::Internal { target, fields } })
    }

    fn part(&self) -> Part {
        Part::Api
    }
}

/// Mount of the API that compares a file of the library with the variant that the client would get.
struct Compared;

impl Mount for Compared {
    fn respond<'a>(&'a self, visit: MountRequest<'a>) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        let target = visit.path["/-/api/compare".len()..].to_owned();
        let fields = Vec::new();
        Box::pin(async move { Reply::Comparison { target, fields } })
    }

    fn part(&self) -> Part {
        Part::Api
    }
}

/// Mount of the API that responds with an archive of one file of the library.
struct Archived;

impl Mount for Archived {
    fn respond<'a>(&'a self, visit: MountRequest<'a>) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        let file = ArchiveFile {
            path: visit.path["/-/api/archive".len()..].to_owned(),
            name: "digits.txt".to_owned(),
        };
        let fields = Vec::new();
        Box::pin(async move {
            Reply::Archive {
                files: vec![file],
                fields,
            }
        })
    }

    fn part(&self) -> Part {
        Part::Api
    }
}

const PARTS: [(&str, Part); 8] = [
    ("/-/open", Part::Open),
    ("/rest", Part::Players),
    ("/-/admin", Part::Admin),
    ("/-/dashboard", Part::Dashboard),
    ("/-/api", Part::Api),
    ("/-/session", Part::Sessions),
    ("/-/music", Part::Music),
    ("/program", Part::Files),
];

fn start_server(users: impl Users + 'static, gate: Gate) -> TestServer {
    let mounts = PARTS.map(|(path, part)| {
        let mount: Arc<dyn Mount> = Arc::new(Of(part));
        (path.to_owned(), mount)
    });
    let mut mounts = Vec::from(mounts);
    mounts.push(("/-/file".to_owned(), Arc::new(Behind)));
    mounts.push(("/-/api/file".to_owned(), Arc::new(Unchanged)));
    mounts.push(("/-/api/stream".to_owned(), Arc::new(Streamed)));
    mounts.push(("/-/api/compare".to_owned(), Arc::new(Compared)));
    mounts.push(("/-/api/archive".to_owned(), Arc::new(Archived)));
    let mounts = Mounts::new(mounts).with_users(Some(Arc::new(users)));
    TestServer::gated(mounts, gate)
}

/// Returns the status of the same request in both protocols.
fn status(server: &TestServer, method: &str, target: &str, fields: &str) -> u16 {
    let [first, second] = [
        server.ask_http1(method, target, fields, ""),
        server.ask_http2(method, target, fields, ""),
    ];
    let [first, second] = [first, second].map(|response| response[..3].parse().expect("a status"));
    assert_eq!(first, second, "{method} {target} {fields}");
    first
}

/// The token of the administration grants access to the API, but not to files that need a login.
#[test]
fn files_of_the_api_need_the_login_that_files_need() {
    for (login, of_token, of_guest) in [
        (RequireLogin::All, 401, 401),
        (RequireLogin::Music, 401, 401),
        (RequireLogin::Off, 200, 401),
    ] {
        let gate = Gate {
            login,
            token: Some(Token::new("token")),
            ..Gate::default()
        };
        let server = start_server(Two, gate);
        let of = |target, fields| status(&server, "GET", target, fields);
        let token = "authorization: Bearer token\r\n";
        assert_eq!(of("/-/api/x", token), 200);
        for (fields, expected) in [(token, of_token), ("", of_guest), (BOB, 200)] {
            for target in [
                "/-/api/file/digits.txt",
                "/-/api/stream/digits.txt",
                "/-/api/archive/digits.txt",
            ] {
                let found = of(target, fields);
                assert_eq!(found, expected, "{login:?} {fields} {target}");
            }
            // A text cannot be compared with a variant, so a client that may read the file gets the
            // status 422. Other clients get the same status as for the file.
            let compared = if expected == 200 { 422 } else { expected };
            let found = of("/-/api/compare/digits.txt", fields);
            assert_eq!(found, compared, "{login:?} {fields}");
        }
        assert_eq!(of("/-/api/file/missing.txt", BOB), 404);
    }
}

#[test]
fn files_of_the_api_have_ranges_and_are_private_for_users() {
    let gate = Gate {
        login: RequireLogin::All,
        ..Gate::default()
    };
    let server = start_server(Two, gate);
    let part = format!("{BOB}range: bytes=2-4\r\n");
    let answers = [
        server.ask_http1("GET", "/-/api/file/digits.txt", &part, ""),
        server.ask_http2("GET", "/-/api/file/digits.txt", &part, ""),
    ];
    for response in answers {
        assert!(response.starts_with("206\n"), "{response}");
        assert!(response.ends_with("\n\n234"), "{response}");
        for field in ["cache-control: private", "content-disposition: attachment"] {
            assert!(response.contains(field), "{response}");
        }
    }
    let head = server.ask_http1("HEAD", "/-/api/file/digits.txt", BOB, "");
    assert!(
        head.starts_with("200\n") && head.contains("content-length: 10\n"),
        "{head}"
    );
}

const ANN: &str = "cookie: pelton=ann\r\n";
const BOB: &str = "cookie: pelton=bob\r\n";
const EVE: &str = "cookie: pelton=eve\r\n";

#[test]
fn the_cookie_authenticates_everything_below_its_path_and_nothing_else() {
    let gate = Gate {
        login: RequireLogin::All,
        ..Gate::default()
    };
    let server = start_server(Two, gate);
    let of = |target, fields| status(&server, "GET", target, fields);
    for (target, eve, bob, ann) in [
        ("/-/open", 200, 200, 200),
        ("/-/session", 200, 200, 200),
        ("/-/api/x", 401, 200, 200),
        ("/-/music", 401, 200, 200),
        ("/-/at/", 401, 200, 200),
        ("/-/file/digits.txt", 401, 200, 200),
        ("/-/admin", 401, 403, 200),
        ("/-/metrics", 401, 403, 200),
        ("/-/dashboard", 401, 403, 200),
        ("/program", 401, 401, 401),
        ("/digits.txt", 401, 401, 401),
        ("/-/../digits.txt", 401, 404, 404),
    ] {
        assert_eq!(of(target, ""), eve, "{target}");
        assert_eq!(of(target, EVE), eve, "{target}");
        assert_eq!(of(target, BOB), bob, "{target}");
        assert_eq!(of(target, ANN), ann, "{target}");
    }
    // The cache of verified logins distinguishes session cookies from Authorization fields: a field
    // with the text of a verified cookie is not accepted.
    for fields in ["authorization: ann\r\n", "authorization: pelton=ann\r\n"] {
        assert_eq!(of("/digits.txt", fields), 401, "{fields}");
    }
    assert_eq!(of("/digits.txt", "authorization: Bearer bob\r\n"), 200);
    // An Authorization field takes precedence over the session cookie.
    let both = format!("{ANN}authorization: Bearer eve\r\n");
    assert_eq!(of("/-/api", &both), 401);
}

#[test]
fn what_a_session_got_is_private_and_public_files_need_no_cookie() {
    let gate = |login| Gate {
        login,
        ..Gate::default()
    };
    let server = start_server(Two, gate(RequireLogin::All));
    for target in ["/-/api", "/-/file/digits.txt"] {
        let response = server.ask_http1("GET", target, ANN, "");
        assert!(response.contains("cache-control: private"), "{response}");
    }
    drop(server);
    let server = start_server(Two, gate(RequireLogin::Off));
    for target in ["/digits.txt", "/-/file/digits.txt"] {
        let response = server.ask_http1("GET", target, ANN, "");
        assert!(response.contains("cache-control: public"), "{response}");
        assert!(!response.to_lowercase().contains("cookie"), "{response}");
    }
    let response = server.ask_http1("GET", "/-/api", "", "");
    assert!(response.ends_with("Api Off"), "{response}");
}

#[test]
fn a_change_in_a_session_needs_an_origin_that_equals_the_host() {
    for login in [RequireLogin::Off, RequireLogin::All] {
        let gate = Gate {
            login,
            origins: vec!["http://trusted.example".to_owned()],
            ..Gate::default()
        };
        let server = start_server(Two, gate);
        let cases = [
            ("", 403),
            ("origin: http://h\r\n", 200),
            ("origin: https://h\r\n", 200),
            ("origin: http://h:8080\r\n", 403),
            ("origin: http://evil.example\r\n", 403),
            ("origin: http://trusted.example\r\n", 403),
            ("origin: null\r\n", 403),
        ];
        for method in ["POST", "PUT", "DELETE", "PATCH"] {
            for (origin, expected) in cases {
                let fields = format!("{ANN}{origin}");
                for target in ["/-/api", "/-/session", "/-/admin", "/-/dashboard"] {
                    let response = server.ask_http1(method, target, &fields, "");
                    let which = format!("{login:?} {method} {target} {origin:?}: {response}");
                    assert_eq!(response[..3], expected.to_string(), "{which}");
                }
            }
        }
        for method in ["GET", "HEAD"] {
            assert_eq!(status(&server, method, "/-/api", ANN), 200);
        }
        let refused = server.ask_http1("POST", "/-/api", ANN, "");
        assert!(refused.contains("needs an Origin field"), "{refused}");
        // Requests with an Authorization field come from programs, which send no Origin field. So
        // the field is not required.
        let key = "authorization: Bearer ann\r\n";
        assert_eq!(status(&server, "POST", "/-/api", key), 200);
        // A login needs no Origin field, but is refused if the field names another site.
        assert_eq!(status(&server, "POST", "/-/session", ""), 200);
        let other = "origin: http://evil.example\r\n";
        assert_eq!(status(&server, "POST", "/-/session", other), 403);
        let program = status(&server, "POST", "/rest", ANN);
        assert_eq!(program, 200, "players bring their own credentials");
    }
}

#[test]
fn once_there_are_users_only_admins_see_the_dashboard_and_change_the_server() {
    let own = |cookie: &str| format!("{cookie}origin: http://h\r\n");
    let server = start_server(Two, Gate::default());
    for (method, target, guest, bob, ann) in [
        ("GET", "/-/admin", 200, 200, 200),
        ("DELETE", "/-/admin", 401, 403, 200),
        ("GET", "/-/dashboard", 401, 403, 200),
        ("POST", "/-/dashboard", 401, 403, 200),
        ("GET", "/-/api", 200, 200, 200),
    ] {
        for (fields, expected) in [("", guest), (&own(BOB), bob), (&own(ANN), ann)] {
            let found = status(&server, method, target, fields);
            assert_eq!(found, expected, "{method} {target} {fields}");
        }
    }
    drop(server);
    let server = start_server(NoUsers, Gate::default());
    for (method, target) in [("DELETE", "/-/admin"), ("GET", "/-/dashboard")] {
        assert_eq!(status(&server, method, target, ""), 200, "{target}");
    }
    drop(server);
    let gate = Gate {
        token: Some(Token::new("sesame")),
        ..Gate::default()
    };
    let server = start_server(NoUsers, gate);
    assert_eq!(status(&server, "GET", "/-/dashboard", ""), 401);
    let token = "authorization: Bearer sesame\r\n";
    assert_eq!(status(&server, "GET", "/-/dashboard", token), 200);
}

/// Browsers show their own login window for a `Basic` challenge. The web page has a login form, so
/// the page's requests get a `Bearer` challenge instead.
#[test]
fn the_page_is_asked_for_no_password_by_the_browser() {
    let gate = Gate {
        login: RequireLogin::All,
        ..Gate::default()
    };
    let server = start_server(Two, gate);
    for (fields, is_basic) in [
        ("", true),
        ("referer: http://h/digits.txt\r\n", true),
        ("referer: http://h/-/music\r\n", true),
        ("referer: http://evil.example/-/open\r\n", true),
        ("sec-fetch-dest: image\r\n", true),
        ("referer: http://h/-/open/x\r\n", false),
        ("referer: http://h/prefix/-/open\r\n", false),
        ("sec-fetch-dest: empty\r\n", false),
    ] {
        for target in ["/-/api", "/digits.txt"] {
            let response = server.ask_http1("GET", target, fields, "");
            assert!(response.starts_with("401"), "{response}");
            let scheme = ["Bearer", "Basic"][usize::from(is_basic)];
            let challenge = format!("www-authenticate: {scheme} realm=\"Pelton\"");
            assert!(response.contains(&challenge), "{fields}: {response}");
        }
    }
}

use std::net::{IpAddr, Ipv4Addr};

use super::scene::{NOW_MS, Scene, ids};
use crate::{Limits, LoggedIn, LoginError, SessionInfo, SessionLogin};

const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

fn login<'a>(name: &'a str, password: &'a str) -> SessionLogin<'a> {
    SessionLogin {
        name,
        password,
        agent: "Browser/1",
        replaces: None,
        peer: PEER,
    }
}

/// Begins a session of the user ann, and returns its token.
fn begin(scene: &Scene, now_ms: i64) -> String {
    let begun = scene
        .server()
        .begin_session(&login("ann", "sesame"), now_ms);
    begun.expect("the password is right").token
}

fn who(scene: &Scene, token: &str, now_ms: i64) -> Option<String> {
    match scene.server().session_user(token, now_ms) {
        Ok(user) => Some(user.name),
        Err(LoginError::Unknown) => None,
        Err(other) => panic!("{other:?}"),
    }
}

fn listed(scene: &Scene, present: Option<&str>, now_ms: i64) -> Vec<SessionInfo> {
    let listed = scene.server().sessions("ann", present, now_ms);
    listed.expect("the store can be read")
}

#[test]
fn a_password_begins_a_session_that_outlives_the_process() {
    let scene = Scene::new("sessions");
    let begun = scene.server().begin_session(&login("ANN", "sesame"), 1);
    let begun = begun.expect("the password is right");
    let ann = LoggedIn {
        name: "ann".to_owned(),
        is_admin: true,
    };
    assert_eq!(begun.user, ann);
    assert_eq!(
        scene.again().server().session_user(&begun.token, 2),
        Ok(ann)
    );
    let (id, secret) = begun.token.split_once('.').expect("an id and a secret");
    assert_eq!((id.len(), secret.len()), (16, 64));
    let another = begin(&scene, 1);
    assert_ne!(another, begun.token);
    for wrong in [
        "",
        ".",
        id,
        &format!("{id}."),
        &format!("{id}.{}", &secret[1..]),
        &format!("{}.{secret}", another.split_once('.').expect("an id").0),
        &format!("+{}.{secret}", &id[1..]),
    ] {
        assert_eq!(who(&scene, wrong, 2), None, "{wrong}");
    }
    for (name, password) in [("ann", "wrong"), ("nobody", "sesame"), ("ann", "")] {
        let refused = scene.server().begin_session(&login(name, password), 1);
        assert_eq!(refused, Err(LoginError::Unknown), "{name}");
    }
}

#[test]
fn the_journal_contains_no_token() {
    let scene = Scene::new("sessions-secret");
    let token = begin(&scene, 1);
    let (_, secret) = token.split_once('.').expect("an id and a secret");
    let journal = scene.journal();
    assert!(journal.contains("Browser/1"), "the session is stored");
    assert!(!journal.contains(secret));
    assert!(!journal.contains(&secret[..32]));
}

#[test]
fn guesses_of_sessions_and_of_other_logins_count_together() {
    let scene = Scene::new("sessions-guess");
    let wrong = |name| scene.server().begin_session(&login(name, "wrong"), 1);
    for _ in 1..Limits::default().failures_max {
        assert_eq!(wrong("ann"), Err(LoginError::Unknown));
    }
    // Base64 of `ann:wrong`.
    let basic = scene.server().log_in("Basic YW5uOndyb25n", PEER, 1);
    assert_eq!(basic, Err(LoginError::Unknown));
    let right = scene.server().begin_session(&login("ann", "sesame"), 1);
    assert_eq!(right, Err(LoginError::Guessing { wait_s: 60 }));
    let bob = scene.server().begin_session(&login("bob", "secret"), 1);
    assert_eq!(bob.map(|begun| begun.user.is_admin), Ok(false));
}

#[test]
fn a_session_ends_after_thirty_days_without_use() {
    let scene = Scene::new("sessions-idle");
    let token = begin(&scene, 1);
    for week in 1..20 {
        let at_ms = 1 + week * 7 * DAY_MS;
        assert_eq!(who(&scene, &token, at_ms).as_deref(), Some("ann"), "{week}");
    }
    let last_ms = 1 + 19 * 7 * DAY_MS;
    let again = scene.again();
    assert_eq!(who(&again, &token, last_ms + 30 * DAY_MS), None);
    assert_eq!(listed(&again, None, last_ms + 30 * DAY_MS), []);
    assert_eq!(
        who(&again, &token, last_ms + 30 * DAY_MS - 1).as_deref(),
        Some("ann")
    );
}

#[test]
fn the_token_is_renewed_once_a_day() {
    let scene = Scene::new("sessions-renewal");
    let first = begin(&scene, 1);
    let renew = |token: &str, at_ms| scene.server().renew_session(token, at_ms);
    assert_eq!(renew(&first, DAY_MS), Ok(None));
    let second = renew(&first, 1 + DAY_MS)
        .expect("a session")
        .expect("a token");
    // Another tab sent its request with the old token before the renewal.
    assert_eq!(renew(&first, 2 + DAY_MS), Ok(None));
    assert_eq!(who(&scene, &first, 3 + DAY_MS).as_deref(), Some("ann"));
    assert_eq!(who(&scene, &second, 3 + DAY_MS).as_deref(), Some("ann"));
    assert_eq!(who(&scene, &first, 4 + DAY_MS).as_deref(), Some("ann"));
    assert_eq!(who(&scene, &first, 3 + DAY_MS + 60_000), None);
    assert_eq!(renew(&first, DAY_MS * 3), Err(LoginError::Unknown));
    assert_eq!(listed(&scene, Some(&second), 4 + DAY_MS).len(), 1);
}

#[test]
fn a_login_ends_the_session_that_the_browser_had() {
    let scene = Scene::new("sessions-replaced");
    let (first, other) = (begin(&scene, 1), begin(&scene, 1));
    let login = SessionLogin {
        replaces: Some(&first),
        ..login("bob", "secret")
    };
    let begun = scene.server().begin_session(&login, 2).expect("a password");
    assert_eq!(who(&scene, &first, 3), None);
    assert_eq!(who(&scene, &other, 3).as_deref(), Some("ann"));
    assert_eq!(who(&scene, &begun.token, 3).as_deref(), Some("bob"));
}

#[test]
fn too_many_sessions_end_the_one_unused_longest() {
    let scene = Scene::new("sessions-many");
    let oldest = begin(&scene, 1);
    let tokens: Vec<_> = (0..49).map(|_| begin(&scene, 2)).collect();
    assert_eq!(listed(&scene, None, 3).len(), 50);
    // The session that began first was used last, so it does not end when a further session begins.
    let hour_ms = HOUR_MS + 2;
    assert_eq!(who(&scene, &oldest, hour_ms).as_deref(), Some("ann"));
    let newest = begin(&scene, hour_ms);
    assert_eq!(listed(&scene, None, hour_ms).len(), 50);
    for token in [&oldest, &newest] {
        assert_eq!(who(&scene, token, hour_ms).as_deref(), Some("ann"));
    }
    let ended = tokens.iter().filter(|it| who(&scene, it, 3).is_none());
    assert_eq!(ended.count(), 1);
    // Expired sessions end before others, and the sessions of other users do not end.
    let bob = scene.server().begin_session(&login("bob", "secret"), 1);
    let bob = bob.expect("a password").token;
    let month_ms = 30 * DAY_MS + 3;
    let last = begin(&scene, month_ms);
    let left = listed(&scene, Some(&last), month_ms);
    assert_eq!(left.len(), 3);
    assert!(left[0].is_present && !left[1].is_present);
    assert_eq!(who(&scene, &bob, DAY_MS).as_deref(), Some("bob"));
}

#[test]
fn users_list_and_end_their_own_sessions() {
    let scene = Scene::new("sessions-list");
    let long = "Ü".repeat(200);
    let other = SessionLogin {
        agent: &long,
        ..login("ann", "sesame")
    };
    let other = scene.server().begin_session(&other, NOW_MS);
    let other = other.expect("the password is right").token;
    let present = begin(&scene, NOW_MS + 1);
    let list = listed(&scene, Some(&present), NOW_MS + 1);
    let row = |token: &str, created: &str, agent: &str, is_present| SessionInfo {
        id: token[..16].to_owned(),
        created: created.to_owned(),
        used: created.to_owned(),
        agent: agent.to_owned(),
        is_present,
    };
    let expected = [
        row(&present, "1970-01-01T00:16:40.001Z", "Browser/1", true),
        row(&other, "1970-01-01T00:16:40.000Z", &"Ü".repeat(128), false),
    ];
    assert_eq!(list, expected);
    let end = |user, id: &str| {
        let ended = scene.server().end_session_of(user, id);
        ended.expect("the store can be written")
    };
    assert!(!end("bob", &list[1].id), "the session is not bob's");
    assert!(!end("ann", "0"));
    assert!(end("ann", &list[1].id));
    assert!(!end("ann", &list[1].id), "it has ended");
    assert_eq!(who(&scene, &other, NOW_MS + 2), None);
    let ended = scene.server().end_session(&present, NOW_MS + 2);
    ended.expect("the store can be written");
    assert_eq!(who(&scene.again(), &present, NOW_MS + 2), None);
}

#[test]
fn another_password_ends_all_sessions_and_another_role_none() {
    let scene = Scene::new("sessions-password");
    let token = begin(&scene, 1);
    let bob = scene.server().begin_session(&login("bob", "secret"), 1);
    let bob = bob.expect("a password").token;
    scene.ok("updateUser?username=bob&adminRole=true");
    let now_admin = scene.server().session_user(&bob, 2);
    assert_eq!(now_admin.map(|user| user.is_admin), Ok(true));
    scene.ok("changePassword?username=ann&password=other");
    assert_eq!(who(&scene, &token, 2), None);
    assert_eq!(who(&scene.again(), &token, 2), None);
    assert_eq!(who(&scene, &bob, 2).as_deref(), Some("bob"));
    scene.store().remove_user("bob").expect("a user");
    assert_eq!(who(&scene, &bob, 3), None);
    // A new user of the same name does not inherit the sessions.
    let added = scene.store().add_user("bob", "secret", false, 4);
    added.expect("the name is free");
    assert_eq!(who(&scene, &bob, 5), None);
}

#[test]
fn a_session_may_do_what_its_user_may() {
    let scene = Scene::new("sessions-api");
    let [_, _, song] = ids(&scene);
    let ann = begin(&scene, NOW_MS);
    let bob = scene
        .server()
        .begin_session(&login("bob", "secret"), NOW_MS);
    let bob = bob.expect("a password").token;
    let rate = format!("/tracks/{song}/rating/5");
    let ask = |method, target: &str, session| scene.api_in(method, target, session);
    assert!(ask("PUT", &rate, None).starts_with("401 "));
    assert!(ask("PUT", &rate, Some("0000000000000000.0")).starts_with("401 "));
    assert_eq!(ask("PUT", &rate, Some(&bob)), "200 {}");
    assert!(ask("POST", "/scan", Some(&bob)).starts_with("403 "));
    assert!(ask("POST", "/scan", Some(&ann)).starts_with("200 "));
    assert!(ask("DELETE", "/scan", Some(&bob)).starts_with("403 "));
    assert!(ask("DELETE", "/scan", Some(&ann)).starts_with("200 "));
    // The token of a session does not work as an API key or a password.
    let bearer = format!("Bearer {ann}");
    assert!(scene.api("PUT", &rate, Some(&bearer)).starts_with("401 "));
    let refused = scene.server().log_in(&bearer, PEER, NOW_MS);
    assert_eq!(refused, Err(LoginError::Unknown));
    for who in [
        format!("apiKey={ann}"),
        format!("u=ann&p={ann}"),
        format!("u=ann&t={ann}&s=x"),
    ] {
        let response = scene.ask_as("ping?f=json", &who);
        assert!(response.contains("\"failed\""), "{response}");
    }
}

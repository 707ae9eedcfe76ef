use std::net::{IpAddr, Ipv4Addr};

use super::scene::Scene;
use crate::{LoggedIn, LoginError};

const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Value of the Authorization field for `ann:sesame`.
const ANN: &str = "Basic YW5uOnNlc2FtZQ==";
/// Value of the Authorization field for `ann:wrong`.
const WRONG: &str = "Basic YW5uOndyb25n";

#[test]
fn a_password_or_a_key_lets_in() {
    let scene = Scene::new("login");
    let key = scene.store().add_key("bob", "phone", 1).expect("a key");
    let log_in = |authorization: &str| scene.server().log_in(authorization, PEER, 1);
    let user = |name: &str, is_admin| {
        Ok(LoggedIn {
            name: name.to_owned(),
            is_admin,
        })
    };
    assert_eq!(log_in(ANN), user("ann", true));
    // Base64 of `aNN:sesame`.
    assert_eq!(log_in("Basic YU5OOnNlc2FtZQ=="), user("ann", true));
    // Base64 of `bob:secret`, without padding.
    assert_eq!(log_in("basic Ym9iOnNlY3JldA"), user("bob", false));
    assert_eq!(log_in(&format!("Bearer {key}")), user("bob", false));
    for nobody in [
        "",
        "Basic",
        "Basic ",
        "Bearer ",
        "Bearer x",
        WRONG,
        // Base64 of `ann`, `nobody:`, `ann:`, and `ann:` with a byte that is not UTF-8.
        "Basic YW5u",
        "Basic bm9ib2R5Og==",
        "Basic YW5uOg==",
        "Basic YW5uOv8=",
        "Basic !",
        "Digest YW5uOnNlc2FtZQ==",
    ] {
        assert_eq!(log_in(nobody), Err(LoginError::Unknown), "{nobody}");
    }
}

#[test]
fn guessing_has_to_wait_whichever_way_it_is_tried() {
    let scene = Scene::new("login-guess");
    let log_in = |authorization| scene.server().log_in(authorization, PEER, 1);
    let tries = crate::Limits::default().failures_max;
    for _ in 0..tries {
        assert_eq!(log_in(WRONG), Err(LoginError::Unknown));
    }
    assert!(matches!(log_in(ANN), Err(LoginError::Guessing { .. })));
    // Failed logins with another spelling of the name count too: `ANN:wrong`, then `ann:sesame`.
    let scene = Scene::new("login-guess-spelling");
    for _ in 0..tries {
        let wrong = scene.server().log_in("Basic QU5OOndyb25n", PEER, 1);
        assert_eq!(wrong, Err(LoginError::Unknown));
    }
    let right = scene.server().log_in(ANN, PEER, 1);
    assert!(matches!(right, Err(LoginError::Guessing { .. })));
    // Failed logins through the Subsonic API and on the web page count towards one limit per user
    // and address.
    let scene = Scene::new("login-guess-player");
    for _ in 0..tries {
        scene.ask_as("ping", "u=ann&p=wrong");
    }
    let right = scene.server().log_in(ANN, PEER, 1_000_000);
    assert!(matches!(right, Err(LoginError::Guessing { .. })));
}

#[test]
fn an_operator_may_write_a_users_name_in_any_case() {
    let scene = Scene::new("login-operator");
    let store = scene.store();
    let key = store.add_key("BOB", "phone", 1).expect("a key");
    assert!(
        store
            .read(|state| state.users["bob"].keys.len())
            .is_ok_and(|keys| keys == 1)
    );
    let with_key = scene.server().log_in(&format!("Bearer {key}"), PEER, 1);
    assert_eq!(with_key.map(|user| user.name), Ok("bob".to_owned()));
    assert_eq!(store.keys("Bob").expect("a user"), ["phone"]);
    assert_eq!(
        store.avatar("Bob").expect("a user"),
        store.avatar("bob").expect("a user")
    );
    store.remove_key("bOb", "phone").expect("a key");
    store.set_password("Bob", "other", 2).expect("a user");
    let names = || -> Vec<String> {
        let users = store.users().expect("a folder").into_iter();
        users.map(|(name, _)| name).collect()
    };
    assert_eq!(names(), ["ann", "bob"]);
    store.remove_user("BOB").expect("a user");
    assert_eq!(names(), ["ann"]);
}

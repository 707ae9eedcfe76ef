use super::{OVERLAP_MS, RENEWAL_MS, Replaced, Session, TokenMatch, USE_STEP_MS};
use crate::store::{State, User, key_hash};

const BEGUN_MS: i64 = 1_000_000;
const IDLE_MS: i64 = 30 * 24 * 3_600_000;

fn session() -> Session {
    Session {
        user: "ann".to_owned(),
        hash: key_hash("first"),
        created_ms: BEGUN_MS,
        used_ms: BEGUN_MS,
        issued_ms: BEGUN_MS,
        ..Session::default()
    }
}

/// Returns the session after its token `first` was replaced by `second`, a day after the login.
fn renewed() -> Session {
    session().renewed(
        TokenMatch::Present,
        key_hash("second"),
        BEGUN_MS + RENEWAL_MS,
    )
}

#[test]
fn uses_are_recorded_once_an_hour() {
    let session = session();
    let used = |at_ms| session.used(TokenMatch::Present, at_ms);
    assert_eq!(used(BEGUN_MS + USE_STEP_MS - 1), None);
    let later = used(BEGUN_MS + USE_STEP_MS).expect("a change");
    assert_eq!(later.used_ms, BEGUN_MS + USE_STEP_MS);
    // A use is not recorded if the host's clock was set back.
    assert_eq!(used(BEGUN_MS - 5 * USE_STEP_MS), None);
}

#[test]
fn a_token_is_renewed_after_a_day() {
    let session = session();
    let is_due = |at_ms| session.is_renewal_due(TokenMatch::Present, at_ms);
    assert!(!is_due(BEGUN_MS + RENEWAL_MS - 1));
    assert!(is_due(BEGUN_MS + RENEWAL_MS));
    let next = renewed();
    assert!(!next.is_renewal_due(TokenMatch::Present, next.issued_ms + RENEWAL_MS - 1));
    assert_eq!((next.created_ms, next.user), (BEGUN_MS, "ann".to_owned()));
}

#[test]
fn the_replaced_token_is_valid_until_the_browser_has_sent_the_new_one() {
    let next = renewed();
    let at_ms = next.issued_ms;
    let matched =
        |session: &Session, secret: &str, at_ms| session.match_token(&key_hash(secret), at_ms);
    let week_ms = 7 * RENEWAL_MS;
    assert_eq!(
        matched(&next, "first", at_ms + week_ms),
        Some(TokenMatch::Replaced)
    );
    assert_eq!(matched(&next, "second", at_ms), Some(TokenMatch::Present));
    assert_eq!(matched(&next, "third", at_ms), None);
    let known = next.used(TokenMatch::Present, at_ms + 5).expect("a change");
    let until_ms = at_ms + 5 + OVERLAP_MS;
    let replaced = Replaced {
        hash: key_hash("first"),
        until_ms: Some(until_ms),
    };
    assert_eq!(known.replaced, Some(replaced));
    assert_eq!(
        matched(&known, "first", until_ms - 1),
        Some(TokenMatch::Replaced)
    );
    assert_eq!(matched(&known, "first", until_ms), None);
    // Further uses of either token do not extend the validity of the replaced token.
    assert_eq!(known.used(TokenMatch::Present, at_ms + 10), None);
    assert_eq!(known.used(TokenMatch::Replaced, at_ms + 10), None);
}

/// Second renewal of a token, because the response with the new token may have been lost. The
/// second renewal waits a minute, so that two tabs that send the old token at the same time get
/// only one new token.
#[test]
fn a_new_token_that_was_never_sent_is_replaced_after_a_minute() {
    let next = renewed();
    let is_due = |at_ms| next.is_renewal_due(TokenMatch::Replaced, at_ms);
    assert!(!is_due(next.issued_ms + OVERLAP_MS - 1));
    assert!(is_due(next.issued_ms + OVERLAP_MS));
    let third = next.renewed(
        TokenMatch::Replaced,
        key_hash("third"),
        next.issued_ms + OVERLAP_MS,
    );
    let at_ms = third.issued_ms;
    assert_eq!(
        third.match_token(&key_hash("third"), at_ms),
        Some(TokenMatch::Present)
    );
    assert_eq!(
        third.match_token(&key_hash("first"), at_ms),
        Some(TokenMatch::Replaced)
    );
    assert_eq!(third.match_token(&key_hash("second"), at_ms), None);
    // Once the browser has sent the new token, a use of the old token causes no further renewal.
    let known = next.used(TokenMatch::Present, at_ms).expect("a change");
    assert!(!known.is_renewal_due(TokenMatch::Replaced, at_ms + RENEWAL_MS));
}

#[test]
fn a_session_needs_its_secret_a_user_with_a_password_and_use() {
    let user = |password: &str| User {
        password: password.to_owned(),
        ..User::default()
    };
    let mut state = State::default();
    state.sessions.insert(7, session());
    let has = |state: &State, id, secret: &str, at_ms| {
        let found = state.session((id, &key_hash(secret)), IDLE_MS, at_ms);
        found.is_some()
    };
    assert!(!has(&state, 7, "first", BEGUN_MS), "no user");
    state.users.insert("ann".to_owned(), user(""));
    assert!(!has(&state, 7, "first", BEGUN_MS), "no password");
    state.users.insert("ann".to_owned(), user("sealed"));
    assert!(has(&state, 7, "first", BEGUN_MS + IDLE_MS - 1));
    for (id, secret, at_ms) in [
        (7, "first", BEGUN_MS + IDLE_MS),
        (7, "", BEGUN_MS),
        (7, "firs", BEGUN_MS),
        (8, "first", BEGUN_MS),
    ] {
        assert!(!has(&state, id, secret, at_ms), "{id} {secret} {at_ms}");
    }
}

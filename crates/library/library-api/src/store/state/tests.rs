//! Tests of the limit on the memory that a user's data takes.

use super::{Change, Playlist, Share, State};
use crate::ids::Id;
use catalog::TrackId;

fn playlist(id: u64, owner: &str, tracks: usize) -> Change {
    let playlist = Playlist {
        owner: owner.to_owned(),
        tracks: vec![Id::Track(TrackId(1)); tracks],
        ..Playlist::default()
    };
    Change::Playlist {
        id,
        playlist: Some(playlist),
    }
}

fn share(token: &str, owner: &str, text_bytes: usize) -> Change {
    let share = Share {
        owner: owner.to_owned(),
        description: "x".repeat(text_bytes),
        ..Share::default()
    };
    Change::Share {
        token: token.to_owned(),
        share: Some(share),
    }
}

/// Returns the state after `changes`.
fn state(changes: Vec<Change>) -> State {
    let mut state = State::default();
    changes.into_iter().for_each(|change| state.apply(change));
    state
}

#[test]
fn data_that_does_not_grow_needs_no_room() {
    let state = state(vec![playlist(1, "ann", 100)]);
    for tracks in [100, 99, 0] {
        assert!(state.has_room(&[playlist(1, "ann", tracks)], 0), "{tracks}");
    }
    assert!(!state.has_room(&[playlist(1, "ann", 101)], 0));
    let removed = Change::Playlist {
        id: 1,
        playlist: None,
    };
    assert!(state.has_room(&[removed], 0));
}

#[test]
fn a_change_counts_for_the_owner_of_the_data_only() {
    let state = state(vec![
        share("of-ann", "ann", 5_000),
        share("of-bob", "bob", 100),
    ]);
    let (of_ann, of_bob) = (state.stored_bytes("ann"), state.stored_bytes("bob"));
    assert!(of_bob < of_ann);
    // Ann's larger share does not count towards the limit on Bob's data, and a reduction of Ann's
    // share leaves no more room for Bob's data.
    let more = share("of-bob", "bob", 101);
    assert!(state.has_room(std::slice::from_ref(&more), of_bob + 1));
    assert!(!state.has_room(std::slice::from_ref(&more), of_bob));
    let less = share("of-ann", "ann", 0);
    assert!(!state.has_room(&[less, more], of_bob));
    // A change of Ann's share is possible although Ann's data exceeds the limit.
    assert!(state.has_room(&[share("of-ann", "ann", 4_999)], of_bob));
}

#[test]
fn changes_of_one_key_and_of_a_new_owner_do_not_underflow() {
    let state = state(vec![playlist(1, "ann", 100)]);
    let twice = [playlist(1, "ann", 0), playlist(1, "ann", 1)];
    assert!(state.has_room(&twice, 0));
    let taken = [playlist(1, "bob", 10)];
    assert!(!state.has_room(&taken, 0));
    assert!(state.has_room(&taken, 10_000));
}

use super::{Edit, Position};
use crate::ids::Id;
use crate::store::Playlist;

/// Returns the track with this number. Tracks from 90 on are not in the library.
fn track(number: u64) -> Id {
    Id::parse(&format!("tr-{number:016}")).expect("an id")
}

fn at(index: usize) -> Position {
    let expected = None;
    Position { index, expected }
}

/// Returns the numbers of the tracks after an edit of the tracks 1, 90, 2, 3 and 91, or the status
/// of the refusal.
fn edited(edit: Edit) -> Result<Vec<u64>, u16> {
    let mut playlist = Playlist {
        tracks: [1, 90, 2, 3, 91].map(track).into(),
        ..Playlist::default()
    };
    let applied = edit.apply(&mut playlist, 6, |id| id < track(90));
    applied.map_err(|refusal| refusal.document().0)?;
    let numbers = playlist.tracks.iter().map(|id| id.to_string()[3..].parse());
    Ok(numbers.collect::<Result<_, _>>().expect("numbers"))
}

#[test]
fn positions_count_the_tracks_in_the_library_and_the_others_stay() {
    let insert = |at, count| {
        let tracks = vec![track(7); count];
        edited(Edit::Insert { tracks, at })
    };
    assert_eq!(insert(Some(0), 1), Ok(vec![7, 1, 90, 2, 3, 91]));
    assert_eq!(insert(Some(1), 1), Ok(vec![1, 90, 7, 2, 3, 91]));
    assert_eq!(insert(Some(3), 1), Ok(vec![1, 90, 2, 3, 91, 7]));
    assert_eq!(insert(None, 1), Ok(vec![1, 90, 2, 3, 91, 7]));
    assert_eq!(insert(Some(4), 1), Err(400));
    assert_eq!(insert(None, 2), Err(403));
    let remove = |positions: &[usize]| {
        let positions = positions.iter().map(|&index| at(index));
        edited(Edit::Remove(positions.collect()))
    };
    assert_eq!(remove(&[1]), Ok(vec![1, 90, 3, 91]));
    assert_eq!(remove(&[2, 0, 2]), Ok(vec![90, 2, 91]));
    assert_eq!(remove(&[3]), Err(400));
    let moved = |from, to| edited(Edit::Move { from: at(from), to });
    assert_eq!(moved(0, 1), Ok(vec![90, 2, 1, 3, 91]));
    assert_eq!(moved(2, 0), Ok(vec![3, 1, 90, 2, 91]));
    assert_eq!(moved(0, 2), Ok(vec![90, 2, 3, 91, 1]));
    assert_eq!(moved(1, 1), Ok(vec![1, 90, 2, 3, 91]));
    assert_eq!(moved(3, 0), Err(404));
    assert_eq!(moved(0, 3), Err(400));
    let replaced = edited(Edit::Replace(vec![track(5)]));
    assert_eq!(replaced, Ok(vec![5]));
}

#[test]
fn a_position_with_another_track_than_the_expected_one_is_refused() {
    let remove = |index, expected: u64| {
        let expected = Some(track(expected));
        edited(Edit::Remove(vec![Position { index, expected }]))
    };
    assert_eq!(remove(1, 2), Ok(vec![1, 90, 3, 91]));
    assert_eq!(remove(1, 3), Err(409));
    assert_eq!(remove(1, 90), Err(409), "the index in the stored playlist");
    assert_eq!(remove(3, 91), Err(409), "no such position");
}

use super::scene::Scene;
use crate::ids::Id;
use crate::store::Change;

/// Former ids of the artist Björk and the album Über, computed from names without accents and
/// punctuation, and the id of an album that is not in the library.
const OLD: [&str; 3] = [
    "ar-a7a7b354db8aa4d3",
    "al-0475a7867d371d75",
    "al-0000000000000001",
];

#[test]
fn stars_and_ratings_stay_with_names_that_have_another_id() {
    let scene = Scene::new("renamed");
    let marks = OLD.into_iter().zip(1..).flat_map(|(id, number)| {
        let id = Id::parse(id).expect("an id");
        let user = || "ann".to_owned();
        let star = Change::Star {
            user: user(),
            id,
            at_ms: Some(i64::from(number) * 1_000),
        };
        let rating = Change::Rating {
            user: user(),
            id,
            rating: number,
        };
        [star, rating]
    });
    let left = scene.store().change(|_| Ok::<_, ()>(marks.collect()));
    left.expect("a folder").expect("no refusal");
    assert_eq!(
        scene.all("getStarred2", "artist.starred"),
        ["1970-01-01T00:00:01.000Z"]
    );
    assert_eq!(scene.all("getStarred2", "artist.userRating"), ["1"]);
    assert_eq!(
        scene.all("getStarred2", "album.starred"),
        ["1970-01-01T00:00:02.000Z"]
    );
    assert_eq!(scene.all("getStarred2", "album.userRating"), ["2"]);
    // The album that is not in the library keeps its stars and ratings. The former ids of the other
    // objects have no stars or ratings left.
    let marked = scene.store().read(|state| {
        let ann = &state.users["ann"];
        OLD.map(|id| {
            let id = Id::parse(id).expect("an id");
            (ann.stars.contains_key(&id), ann.ratings.contains_key(&id))
        })
    });
    let expected = [(false, false), (false, false), (true, true)];
    assert_eq!(marked.expect("a folder"), expected);
}

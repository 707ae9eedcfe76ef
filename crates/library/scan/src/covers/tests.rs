//! Tests of the extraction of covers, with files that contain a few bytes followed by a picture.

use std::fs;
use std::os::fd::AsFd as _;
use std::path::PathBuf;

use catalog::Cover;
use tags::{Mime, Picture, PictureKind, Stored};

use super::{CoverLimits, Covers, ExtractError};
use crate::root::{open, open_root, stat};

/// Temporary folder with a library and its extracted covers, removed when dropped.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Home {
        let path =
            std::env::temp_dir().join(format!("pelton-covers-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("library")).expect("a folder of our own");
        Home(path)
    }

    fn covers(&self, limits: CoverLimits) -> Covers {
        Covers::open(&self.0.join("library"), &self.0.join("covers"), limits)
            .expect("a folder of our own")
    }

    /// Writes a music file with an embedded picture. Returns the file and the position of the
    /// picture.
    fn song(&self, name: &str, picture: &[u8]) -> (Cover, Picture) {
        let path = self.0.join("library").join(name);
        fs::write(path, [b"music ", picture].concat()).expect("a folder of our own");
        let root = open_root(&self.0.join("library")).expect("a folder of our own");
        let file = open(root.as_fd(), name.as_bytes()).expect("just written");
        let inside = Picture {
            kind: PictureKind::FRONT,
            mime: Mime::Jpeg,
            stored: Stored::Plain,
            offset: 6,
            bytes: picture.len() as u64,
            skip: 0,
        };
        let cover = Cover {
            path: name.as_bytes().to_vec(),
            stat: stat(file.as_fd(), b"").expect("just written"),
            inside: Some(inside),
        };
        (cover, inside)
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.0.join("covers").join(name)).ok()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("the test made it");
    }
}

#[test]
fn a_file_that_a_power_cut_left_empty_is_written_anew() {
    let home = Home::new("empty");
    let (cover, inside) = home.song("1", b"front");
    let extract = |covers: &Covers| covers.extract(&cover, &inside).expect("it is there");
    let name = extract(&home.covers(CoverLimits::default()));
    fs::write(home.0.join("covers").join(&name), b"").expect("it is ours");
    assert_eq!(extract(&home.covers(CoverLimits::default())), name);
    assert_eq!(home.read(&name).as_deref(), Some(&b"front"[..]));
}

#[test]
fn one_content_is_one_file() {
    let home = Home::new("one");
    let covers = home.covers(CoverLimits::default());
    let songs = [("1", &b"front"[..]), ("2", b"front"), ("3", b"other")];
    let songs = songs.map(|(name, picture)| home.song(name, picture));
    let names = songs
        .each_ref()
        .map(|(cover, inside)| covers.extract(cover, inside).expect("it is there"));
    assert_eq!(names[0], names[1]);
    assert_ne!(names[0], names[2]);
    assert_eq!(home.read(&names[0]).as_deref(), Some(&b"front"[..]));
    // The music file is not needed again, since its picture is already extracted. After a restart,
    // the same picture in another music file is extracted to the same name.
    fs::remove_file(home.0.join("library/1")).expect("it is there");
    assert_eq!(
        covers
            .extract(&songs[0].0, &songs[0].1)
            .expect("it is known"),
        names[0]
    );
    let again = home.covers(CoverLimits::default());
    assert_eq!(
        again
            .extract(&songs[1].0, &songs[1].1)
            .expect("it is there"),
        names[0]
    );
}

#[test]
fn the_least_recently_used_make_room() {
    let home = Home::new("room");
    let limits = CoverLimits {
        bytes_max: 10,
        ..CoverLimits::default()
    };
    let covers = home.covers(limits.clone());
    let songs = ["aaaa", "bbbb", "cccc"].map(|picture| home.song(picture, picture.as_bytes()));
    let take = |at: usize| {
        covers
            .extract(&songs[at].0, &songs[at].1)
            .expect("it is there")
    };
    let names = [take(0), take(1), take(0), take(2)];
    let there = |name: &String| home.read(name).is_some();
    assert_eq!(names.each_ref().map(there), [true, false, true, true]);
    assert_eq!((take(1), there(&names[1])), (names[1].clone(), true));
    fs::write(home.0.join("covers/partial-7"), b"half").expect("a folder of our own");
    home.covers(CoverLimits {
        bytes_max: 4,
        ..limits
    });
    let left = [&names[0], &names[1], &names[3], &"partial-7".to_owned()].map(there);
    assert_eq!(left.iter().filter(|left| **left).count(), 1);
}

#[test]
fn what_is_not_as_it_was_is_not_taken() {
    let home = Home::new("changed");
    let covers = home.covers(CoverLimits {
        cover_bytes_max: 5,
        ..CoverLimits::default()
    });
    let (cover, inside) = home.song("1", b"front");
    home.song("1", b"other picture");
    assert!(matches!(
        covers.extract(&cover, &inside),
        Err(ExtractError::Changed)
    ));
    fs::remove_file(home.0.join("library/1")).expect("it is there");
    assert!(matches!(
        covers.extract(&cover, &inside),
        Err(ExtractError::Changed)
    ));
    let (cover, inside) = home.song("2", b"larger");
    assert!(matches!(
        covers.extract(&cover, &inside),
        Err(ExtractError::TooLarge)
    ));
    assert_eq!(
        fs::read_dir(home.0.join("covers"))
            .expect("it was made")
            .count(),
        0
    );
}

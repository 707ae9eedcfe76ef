//! Tags of music, and EXIF.

use tags::{Limits, Reader, Splits, Track, read_cover, shot};

/// Music and EXIF: a verdict within the limits, pictures inside the file, and the same again for the same bytes.
pub fn tags(bytes: &[u8]) {
    let limits = Limits::default();
    let len = bytes.len() as u64;
    let mut reader = Reader::new(limits.clone());
    let media = reader.read(bytes, len);
    let spent = reader.spent();
    assert!(spent.reads <= limits.reads_max && spent.bytes <= limits.read_bytes_max);
    if let Ok(media) = media {
        assert!(media.pictures.len() <= limits.pictures_max);
        for picture in &media.pictures {
            assert!(
                picture.offset + picture.bytes <= len,
                "{picture:?} in {len} bytes"
            );
            if let Ok(cover) = read_cover(bytes, len, picture, len) {
                assert!(cover.len() as u64 <= picture.bytes, "{picture:?}");
            }
        }
        let track = Track::new(&media, b"Artist/Album/01 Title", &Splits::default());
        assert!(!track.title.is_empty() && !track.artist.is_empty());
        let again = reader.read(bytes, len).expect("what was read once");
        assert_eq!(media, again);
    }
    if let Ok(shot) = shot(bytes, len, &limits) {
        assert!(
            shot.place
                .is_none_or(|place| place.latitude_e7.abs() <= 900_000_000)
        );
    }
}

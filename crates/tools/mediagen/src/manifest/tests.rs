use super::{Expected, Line};

#[test]
fn paths_survive_the_manifest() {
    let path = b"a 100%/\xe9t\xe9 \xe5\xa4\x9c.flac";
    let line = Line::new(path, Expected::Verdict("Unknown".to_owned()));
    assert_eq!(line.path, "a 100%25/%E9t%E9 夜.flac");
    assert_eq!(line.path(), path);
}

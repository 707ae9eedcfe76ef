use super::*;

#[test]
fn words_stand_left_and_numbers_right() {
    let rows = [["jpeg", "9.5"], ["avif", "10.25"]].map(|row| row.map(str::to_owned).to_vec());
    let text = render(&["format", "ms"], &rows);
    assert_eq!(text, "format     ms\njpeg      9.5\navif    10.25\n");
}

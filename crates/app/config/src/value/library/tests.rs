use expect_test::expect;

use super::super::{Raw, Value};
use super::{Sides, Sources, Texts, WatchMeans};

/// Returns the displayed value of each word, and checks that the displayed text is parsed to the
/// same value as the word.
fn shown<T: Value + PartialEq + std::fmt::Debug>(words: &[&str]) -> String {
    let lines = words
        .iter()
        .map(|word| match T::read(&Raw::Word(word.into())) {
            Err(_) => format!("{word}: refused\n"),
            Ok(value) => {
                let shown = value.show();
                assert_eq!(
                    T::read(&Raw::Word(shown.clone().into())),
                    Ok(value),
                    "{word}"
                );
                format!("{word}: {shown}\n")
            }
        });
    lines.collect()
}

#[test]
fn words() {
    let texts = shown::<Texts>(&["", ";", " ; , feat. ", "\" feat. \",\"; \"", "\"\""]);
    expect![[r#"
        : 
        ;: ";"
         ; , feat. : ";","feat."
        " feat. ","; ": " feat. ","; "
        "": refused
    "#]]
    .assert_eq(&texts);
    let sources = shown::<Sources>(&["cover.*, embedded,any", "disc,album", "embeded", "../*"]);
    expect![[r#"
        cover.*, embedded,any: cover.*,embedded,any
        disc,album: disc,album
        embeded: refused
        ../*: refused
    "#]]
    .assert_eq(&sources);
    let means = shown::<WatchMeans>(&["auto", "poll", "off", "on"]);
    expect![[r#"
        auto: auto
        poll: poll
        off: off
        on: refused
    "#]]
    .assert_eq(&means);
    let sides = shown::<Sides>(&["", "300,600", "0", "4097", "wide"]);
    expect![[r#"
        : 
        300,600: 300,600
        0: refused
        4097: refused
        wide: refused
    "#]]
    .assert_eq(&sides);
}

#[test]
fn texts_of_a_file_are_taken_as_they_are() {
    let list = Raw::List(vec![
        Raw::Text("\" a \"".to_owned()),
        Raw::Text(" b ".to_owned()),
    ]);
    assert_eq!(
        Texts::read(&list).map(|texts| texts.0),
        Ok(vec!["\" a \"".to_owned(), " b ".to_owned()])
    );
    assert!(Texts::read(&Raw::List(vec![Raw::Integer(1)])).is_err());
}

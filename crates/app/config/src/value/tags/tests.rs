use super::*;

fn shown(raw: &Raw) -> Result<String, Wrong> {
    Tags::read(raw).map(|tags| tags.show())
}

fn word(text: &str) -> Raw {
    Raw::Word(text.into())
}

#[test]
fn a_table_and_a_word_give_the_same_tags() {
    let text = |text: &str| Raw::Text(text.to_owned());
    let table = Raw::Table(vec![
        (
            "summer".to_owned(),
            Raw::List(vec![text("/2024/july"), text("2025/july/")]),
        ),
        ("best".to_owned(), text("/a b.jpg")),
    ]);
    let expected = "summer=/2024/july|summer=/2025/july|best=/a b.jpg";
    assert_eq!(shown(&table), Ok(expected.to_owned()));
    assert_eq!(shown(&word(expected)), Ok(expected.to_owned()));
    assert_eq!(shown(&word("")), Ok(String::new()));
}

#[test]
fn other_values_are_refused() {
    assert_eq!(
        shown(&word("summer")),
        Err(Wrong::Found("\"summer\"".to_owned()))
    );
    assert_eq!(
        shown(&Raw::Truth(true)),
        Err(Wrong::Found("true".to_owned()))
    );
    let refusal = shown(&word("a b=/x"));
    assert!(matches!(refusal, Err(Wrong::Because(why)) if why.starts_with("\"a b\" is not a tag")));
}

use super::*;

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

#[test]
fn the_closing_lines_of_node_are_counted() {
    let plain = "ok 1 - pass 9 of them\n# tests 15\n# pass 12\n# fail 2\n# cancelled 1\n# todo 0";
    let terminal = "ℹ tests 15\nℹ pass 12\nℹ fail 2\nℹ cancelled 1\nℹ duration_ms 9";
    for text in [plain, terminal] {
        let expected = Count {
            passed: 12,
            failed: 3,
        };
        assert_eq!(counted(&lines(text)), expected, "{text}");
    }
    assert_eq!(counted(&lines("Error: no such file")), Count::default());
}

#[test]
fn files_that_differ_are_named() {
    let folder = |files: &[(&str, &str)]| {
        let files = files.iter();
        files
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
            .collect::<BTreeMap<_, _>>()
    };
    let committed = folder(&[("app.js", "1"), ("gone.js", ""), ("same.css", "x")]);
    let built = folder(&[("app.js", "2"), ("new.js", ""), ("same.css", "x")]);
    assert_eq!(
        differing(&committed, &built),
        ["app.js", "gone.js", "new.js"]
    );
    assert!(differing(&built, &built).is_empty());
}

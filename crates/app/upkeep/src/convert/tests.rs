use expect_test::expect;

use super::*;

fn outputs(inputs: &[&str], folder: Option<&str>) -> Result<Vec<String>, String> {
    let inputs: Vec<PathBuf> = inputs.iter().map(PathBuf::from).collect();
    let conversions = to_folder(&inputs, Target::Jpeg, "jpg", folder.map(Path::new));
    let conversions = conversions.map_err(|err| err.to_string())?;
    Ok(conversions
        .iter()
        .map(|it| it.output.display().to_string())
        .collect())
}

#[test]
fn outputs_are_named_after_their_inputs() {
    assert_eq!(
        outputs(&["a.png", "b/c.d.heic"], None).expect("different names"),
        ["a.jpg", "b/c.d.jpg"]
    );
    assert_eq!(
        outputs(&["a.png", "b/c.d.heic", "e"], Some("out")).expect("different names"),
        ["out/a.jpg", "out/c.d.jpg", "out/e.jpg"]
    );
}

#[test]
fn no_result_replaces_an_input_or_another_result() {
    let refused = |inputs: &[&str], folder| outputs(inputs, folder).expect_err("refused");
    assert!(
        refused(&["a.png", "a.webp"], None).contains("a.png and a.webp would both become a.jpg")
    );
    assert!(
        refused(&["x/a.png", "y/a.png"], Some("out"))
            .contains("x/a.png and y/a.png would both become out/a.jpg")
    );
    assert!(
        refused(&["a.jpg"], None)
            .contains("a.jpg: this input would be overwritten by the result of a conversion")
    );
    assert!(refused(&["b.png", "b.jpg"], None).contains("would both become b.jpg"));
}

/// Paths may differ although the files are the same: `a.jpg` and `./a.jpg`, for example.
#[test]
fn files_are_compared_and_not_only_paths() {
    let home = std::env::temp_dir().join(format!("pelton-convert-{}", std::process::id()));
    fs::create_dir_all(home.join("in")).expect("a folder");
    for name in ["a.jpg", "b.png", "c.png"] {
        fs::write(home.join("in").join(name), name).expect("a file");
    }
    let linked = |target: &str, name: &str| std::os::unix::fs::symlink(target, home.join(name));
    linked("in", "other").expect("a link");
    linked("in/c.png", "link.jpg").expect("a link");
    let refused = |pairs: &[(&str, &str)]| {
        let conversion = |(input, output): &(&str, &str)| Conversion {
            input: home.join(input),
            output: home.join(output),
            target: Target::Jpeg,
        };
        let conversions: Vec<_> = pairs.iter().map(conversion).collect();
        let result = check_results(&conversions);
        result.map_err(|err| err.to_string().replace(&format!("{}/", home.display()), ""))
    };
    let replaced = |pairs| {
        let text = refused(pairs).expect_err("a picture would be lost");
        assert!(
            text.contains("this result of a conversion would overwrite an input"),
            "{text}"
        );
    };
    replaced(&[("in/a.jpg", "in/../in/a.jpg")]);
    replaced(&[("in/a.jpg", "other/a.jpg")]);
    replaced(&[("in/b.png", "b.jpg"), ("in/c.png", "other/b.png")]);
    // The result would replace the link by which the picture was named.
    replaced(&[("link.jpg", "other/../link.jpg")]);
    let text = refused(&[("in/b.png", "in/x.jpg"), ("in/c.png", "other/x.jpg")]);
    let text = text.expect_err("one result would be lost");
    let expected = "in/b.png and in/c.png would both become other/x.jpg";
    assert!(text.contains(expected), "{text}");
    assert_eq!(
        refused(&[("in/a.jpg", "a.jpg"), ("in/b.png", "b.jpg")]),
        Ok(())
    );
    // A link is replaced, and not the picture to which it leads.
    assert_eq!(refused(&[("in/c.png", "link.jpg")]), Ok(()));
    fs::remove_dir_all(home).expect("it was made here");
}

#[test]
fn the_table_lists_pictures_and_totals() {
    let conversion = |output: &str| Conversion {
        input: PathBuf::from("unused"),
        output: PathBuf::from(output),
        target: Target::Avif,
    };
    let (first, second) = (conversion("out/a.avif"), conversion("out/b\u{7}.avif"));
    let made = |bytes, score| Converted {
        original_bytes: 4 * bytes,
        bytes,
        size: Size::new(640, 480),
        cpu_us: 250_000,
        score,
    };
    let rows = [
        (&first, made(50_000, Some(78.25))),
        (&second, made(1_500, None)),
    ];
    let table = |with_scores| {
        let mut out = Vec::new();
        write_table(&mut out, &rows, with_scores).expect("a vector accepts all bytes");
        String::from_utf8(out).expect("text")
    };
    expect![[r#"
        output           before       after  ratio       pixels    CPU s  SSIMULACRA2
        out/a.avif   195.31 KiB   48.83 KiB   0.25      640x480     0.25         78.2
        out/b�.avif    5.86 KiB    1.46 KiB   0.25      640x480     0.25            -
        2 pictures   201.17 KiB   50.29 KiB   0.25                  0.50
    "#]]
    .assert_eq(&table(true));
    expect![[r#"
        output           before       after  ratio       pixels    CPU s
        out/a.avif   195.31 KiB   48.83 KiB   0.25      640x480     0.25
        out/b�.avif    5.86 KiB    1.46 KiB   0.25      640x480     0.25
        2 pictures   201.17 KiB   50.29 KiB   0.25                  0.50
    "#]]
    .assert_eq(&table(false));
}

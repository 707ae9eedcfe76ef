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
    assert!(refused(&["a.jpg"], None).contains("a.jpg: a result would replace this picture"));
    assert!(refused(&["b.png", "b.jpg"], None).contains("would both become b.jpg"));
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

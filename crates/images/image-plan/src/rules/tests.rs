use expect_test::{Expect, expect};

use super::*;

/// Rules with three presets and a list of each kind.
fn rules() -> RecipeRules {
    let preset = |name: &str, query: &str| (name.to_owned(), query.to_owned());
    RecipeRules {
        presets: [
            preset("thumb", "w=96&h=96&fit=cover"),
            preset("small", "w=333&q=11"),
            preset("plain", ""),
        ]
        .into(),
        presets_only: false,
        widths_px: vec![200, 400],
        heights_px: vec![100],
        formats: vec![Target::Webp, Target::Jpeg],
        qualities_pct: vec![60, 80],
        operations: ["w", "h", "fit", "q", "format", "dpr"]
            .map(str::to_owned)
            .into(),
        exempt: vec![parse_query("h=240").expect("a sound query").recipe],
    }
}

/// Compares the outcome of each of `queries`, which are separated by white space, with `expect`.
fn check(rules: &RecipeRules, grammar: Grammar, queries: &str, expect: Expect) {
    let mut table = String::new();
    for query in queries.split_whitespace() {
        let parsed = rules.expand(query).and_then(|it| grammar.parse(&it));
        let outcome = match parsed {
            Err(err) => format!("{:?}: {err}", err.kind),
            Ok(parsed) => match rules.check(query, grammar, &parsed) {
                Ok(()) => format!("{}", parsed.recipe),
                Err(err) => format!("{:?}: {err}", err.rule),
            },
        };
        table.push_str(&format!("{query} -> {outcome}\n"));
    }
    expect.assert_eq(&table);
}

#[test]
fn without_rules_every_query_is_permitted() {
    let none = RecipeRules::default();
    let queries = "w=333&q=7&format=png&crop=1:1 preset=thumb p=thumb&p=thumb meta=full";
    check(
        &none,
        Grammar::Pelton,
        queries,
        expect![[r#"
            w=333&q=7&format=png&crop=1:1 -> crop=1:1&w=333&format=png
            preset=thumb -> 
            p=thumb&p=thumb -> 
            meta=full -> 
        "#]],
    );
}

#[test]
fn presets_stand_for_their_parameters() {
    let none = RecipeRules {
        presets: rules().presets,
        ..RecipeRules::default()
    };
    check(
        &none,
        Grammar::Strict,
        "preset=thumb p=thumb p=plain p=thumb&w=50 %77=50&p=thumb p=thumb&format=webp&q=5
         p=other preset= p p=thumb&preset=small p=thumb&p=thumb p=thumb&width=5",
        expect![[r#"
            preset=thumb -> w=96&h=96&fit=cover
            p=thumb -> w=96&h=96&fit=cover
            p=plain -> 
            p=thumb&w=50 -> w=50&h=96&fit=cover
            %77=50&p=thumb -> w=50&h=96&fit=cover
            p=thumb&format=webp&q=5 -> w=96&h=96&fit=cover&format=webp&q=5
            p=other -> Value: p: there is no such preset
            preset= -> Value: preset: there is no such preset
            p -> Value: p: there is no such preset
            p=thumb&preset=small -> Duplicate: preset: must not be given more than once
            p=thumb&p=thumb -> Duplicate: p: must not be given more than once
            p=thumb&width=5 -> Contradiction: w: cannot be combined with width
        "#]],
    );
}

#[test]
fn values_must_be_in_their_lists() {
    check(
        &rules(),
        Grammar::Pelton,
        "w=200 w=201 w=200&dpr=2 w=200&dpr=3 h=100 h=101 h=240 h=240&q=60 w=400&h=100&fit=fill
         q=60 q=61 q=auto format=webp format=png format=auto w=%32%30%31 other=1 meta=full crop=1:1
         w=200&rotate=90 w=200&%72otate=90 p=small p=small&w=200 p=small&q=80 p=small&q=80&w=200",
        expect![[r#"
            w=200 -> w=200
            w=201 -> Width: the width 201 is not permitted; the permitted widths are 200, 400
            w=200&dpr=2 -> w=400
            w=200&dpr=3 -> Width: the width 600 is not permitted; the permitted widths are 200, 400
            h=100 -> h=100
            h=101 -> Height: the height 101 is not permitted; the permitted heights are 100
            h=240 -> h=240
            h=240&q=60 -> Height: the height 240 is not permitted; the permitted heights are 100
            w=400&h=100&fit=fill -> w=400&h=100&fit=fill
            q=60 -> q=60
            q=61 -> Quality: the quality 61 is not permitted; the permitted qualities are 60, 80
            q=auto -> Quality: the quality auto is not permitted; the permitted qualities are 60, 80
            format=webp -> format=webp
            format=png -> Format: the format png is not permitted; the permitted formats are webp, jpeg
            format=auto -> 
            w=%32%30%31 -> Width: the width 201 is not permitted; the permitted widths are 200, 400
            other=1 -> 
            meta=full -> Operation: meta: this parameter is not permitted; the permitted parameters are w, h, fit, q, format, dpr
            crop=1:1 -> Operation: crop: this parameter is not permitted; the permitted parameters are w, h, fit, q, format, dpr
            w=200&rotate=90 -> Operation: rotate: this parameter is not permitted; the permitted parameters are w, h, fit, q, format, dpr
            w=200&%72otate=90 -> Operation: rotate: this parameter is not permitted; the permitted parameters are w, h, fit, q, format, dpr
            p=small -> w=333&q=11
            p=small&w=200 -> Quality: the quality 11 is not permitted; the permitted qualities are 60, 80
            p=small&q=80 -> Width: the width 333 is not permitted; the permitted widths are 200, 400
            p=small&q=80&w=200 -> w=200&q=80
        "#]],
    );
}

#[test]
fn only_presets() {
    let rules = RecipeRules {
        presets_only: true,
        ..rules()
    };
    check(
        &rules,
        Grammar::Pelton,
        "p=thumb p=thumb&w=200 w=200 p=thumb&other=1 h=240 meta=full p=thumb&meta=full format=auto&w=9",
        expect![[r#"
            p=thumb -> w=96&h=96&fit=cover
            p=thumb&w=200 -> PresetsOnly: w: this parameter is not permitted; use a preset instead, as in preset=NAME
            w=200 -> PresetsOnly: w: this parameter is not permitted; use a preset instead, as in preset=NAME
            p=thumb&other=1 -> w=96&h=96&fit=cover
            h=240 -> h=240
            meta=full -> Operation: meta: this parameter is not permitted; the permitted parameters are w, h, fit, q, format, dpr
            p=thumb&meta=full -> Operation: meta: this parameter is not permitted; the permitted parameters are w, h, fit, q, format, dpr
            format=auto&w=9 -> PresetsOnly: format: this parameter is not permitted; use a preset instead, as in preset=NAME
        "#]],
    );
}

#[test]
fn lenient_grammars() {
    let queries = "w=201 width=200 width=x&w=200 rotate=90 p=small p=other";
    check(
        &rules(),
        Grammar::WebpServerGo,
        queries,
        expect![[r#"
            w=201 -> Width: the width 201 is not permitted; the permitted widths are 200, 400
            width=200 -> Operation: width: this parameter is not permitted; the permitted parameters are w, h, fit, q, format, dpr
            width=x&w=200 -> Operation: width: this parameter is not permitted; the permitted parameters are w, h, fit, q, format, dpr
            rotate=90 -> Operation: rotate: this parameter is not permitted; the permitted parameters are w, h, fit, q, format, dpr
            p=small -> w=333&q=11
            p=other -> Value: p: there is no such preset
        "#]],
    );
    check(
        &rules(),
        Grammar::MetaOnly,
        queries,
        expect![[r#"
            w=201 -> 
            width=200 -> 
            width=x&w=200 -> 
            rotate=90 -> 
            p=small -> 
            p=other -> Value: p: there is no such preset
        "#]],
    );
}

#[test]
fn presets_are_checked() {
    let outcomes = [
        ("thumb", "w=96&h=96&fit=cover"),
        ("a.b-c_D9", ""),
        ("", "w=1"),
        ("a b", "w=1"),
        ("a", "w=0"),
        ("a", "meta=full"),
    ]
    .map(|(name, query)| match check_preset(name, query) {
        Ok(()) => "sound".to_owned(),
        Err(err) => err,
    });
    expect![[r#"
        sound
        sound
        "": the name of a preset must consist of 1 to 64 letters, digits, -, _ or .
        "a b": the name of a preset must consist of 1 to 64 letters, digits, -, _ or .
        a: w: must be a whole number from 1 to 16384
        a: a preset cannot contain meta"#]]
    .assert_eq(&outcomes.join("\n"));
    for query in ["other=1", "p=b", "sig=1"] {
        let fault = check_preset("a", query).expect_err("it is unknown");
        assert!(fault.contains("unknown parameter"), "{fault}");
    }
}

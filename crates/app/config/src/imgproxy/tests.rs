use super::*;

#[test]
fn each_variable_names_a_setting() {
    for (name, meaning) in VARIABLES {
        let setting = match meaning {
            Meaning::Same(setting)
            | Meaning::Flag(setting)
            | Meaning::Seconds(setting)
            | Meaning::Megapixels(setting) => setting,
            Meaning::Bind => "listen",
            Meaning::Presets => "imgproxy.presets",
            Meaning::Nothing(_) | Meaning::Unsupported => continue,
        };
        assert!(Key::named(setting).is_some(), "{name}");
    }
}

#[test]
fn each_key_has_a_salt() {
    let mut config = Config::default();
    config.imgproxy.keys.0 = vec![vec![1]];
    let first_line = |text: String| text.lines().next().map(str::to_owned);
    let text = |config: &Config| {
        let loaded = load(config).map(|_| ());
        loaded.map_err(|err| first_line(err.to_string()).unwrap_or_default())
    };
    let expected = "pelton: imgproxy.keys has 1 keys, but imgproxy.salts has 0 salts";
    assert_eq!(text(&config), Err(expected.to_owned()));
    config.imgproxy.salts.0 = vec![vec![2]];
    assert_eq!(text(&config), Ok(()));
    config.imgproxy.only_presets = true;
    let expected = "pelton: imgproxy.only_presets is true, but there are no presets";
    assert_eq!(text(&config), Err(expected.to_owned()));
}

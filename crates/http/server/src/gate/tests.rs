use super::{Gate, Part, RequireLogin, Token};

fn gate(hosts: &[&str]) -> Gate {
    Gate {
        hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
        ..Gate::default()
    }
}

#[test]
fn names_that_a_stranger_can_have_are_known_only_by_the_settings() {
    let default = gate(&[]);
    for host in [
        "localhost",
        "LOCALHOST:3333",
        "music.localhost",
        "127.0.0.1:3333",
        "192.168.1.4",
        "[::1]",
        "[fe80::1]:3333",
        "nas",
        "nas:80",
        "nas.local",
        "NAS.Local.",
        "nas.home.arpa",
        "pelton.default.svc.cluster.local",
        "pelton.internal",
    ] {
        assert!(default.is_known_host(host), "{host}");
    }
    let strangers = [
        "evil.example",
        "evil.example:3333",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "nas.local.evil.example",
        "xlocal.example",
        "music.example.org",
        "1.2.3",
        "1.2.3.4.5",
    ];
    for host in strangers {
        assert!(!default.is_known_host(host), "{host}");
        assert!(gate(&["*"]).is_known_host(host), "{host}");
    }
    let listed = gate(&["music.example.org", "*.example.net"]);
    for (host, is_known) in [
        ("music.example.org:443", true),
        ("Music.Example.Org.", true),
        ("example.org", false),
        ("x.music.example.org", false),
        ("a.example.net", true),
        ("a.b.example.net", true),
        ("example.net", false),
        ("evilexample.net", false),
        ("nas", true),
    ] {
        assert_eq!(listed.is_known_host(host), is_known, "{host}");
    }
}

#[test]
fn what_is_open_follows_from_the_settings() {
    let open = |login, token: Option<&str>, has_admin_listener| {
        let gate = Gate {
            login,
            token: token.map(Token::new),
            has_admin_listener,
            ..Gate::default()
        };
        let always = [Part::Open, Part::Players, Part::Sessions];
        assert!(always.into_iter().all(|part| gate.is_open(part)));
        assert_eq!(gate.is_open(Part::Dashboard), gate.is_open(Part::Admin));
        gate.open_parts().join(" ")
    };
    let all = "files /-/at/ /-/plain/music /-/api /-/metrics /-/profile /-/status";
    assert_eq!(open(RequireLogin::Off, None, false), all);
    assert_eq!(
        open(RequireLogin::Off, None, true),
        "files /-/at/ /-/plain/music"
    );
    assert_eq!(
        open(RequireLogin::Off, Some("secret"), false),
        "files /-/at/ /-/plain/music"
    );
    assert_eq!(open(RequireLogin::Music, None, false), "files /-/at/");
    assert_eq!(open(RequireLogin::All, None, false), "");
}

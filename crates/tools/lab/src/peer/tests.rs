use super::*;

#[test]
fn a_peer_is_a_known_name_and_a_file() {
    let table = [
        (
            "webp-server-go=/opt/webp",
            Ok((PeerName::WebpServerGo, "/opt/webp")),
        ),
        ("imgproxy=a=b", Ok((PeerName::Imgproxy, "a=b"))),
        ("libreactor=./json", Ok((PeerName::Libreactor, "./json"))),
        (
            "thumbor=/opt/thumbor",
            Err("no such peer; the peers are webp-server-go, imgproxy, libreactor"),
        ),
        ("imgproxy", Err("not in the form NAME=FILE")),
    ];
    for (typed, expected) in table {
        let expected = expected.map(|(name, path)| PeerProgram {
            name,
            path: path.into(),
        });
        assert_eq!(typed.parse(), expected.map_err(str::to_owned), "{typed}");
    }
}

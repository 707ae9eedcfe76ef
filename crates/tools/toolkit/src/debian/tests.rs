use super::*;

#[test]
fn what_dpkg_does_not_call_installed_is_missing() {
    let listed = "installed cmake\nconfig-files nasm\ninstalled perl\n";
    let packages = ["cmake", "meson", "nasm", "perl"];
    assert_eq!(missing(&packages, listed), ["meson", "nasm"]);
    assert_eq!(missing(&packages, ""), packages);
}

#[test]
fn benchmarks_name_their_peers() {
    assert_eq!(peers("hit"), ["nginx", "wrk"]);
    assert_eq!(
        peers("quality"),
        ["libavif-bin", "libjpeg-turbo-progs", "webp"]
    );
    assert!(peers("no such benchmark").is_empty());
}

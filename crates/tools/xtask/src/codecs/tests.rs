use toolkit::cache::C_CODECS;

use super::first_flaw;

#[test]
fn a_linked_function_with_a_flaw_is_found() {
    let linked = "0000000000401000 T avifEncoderFinish\n";
    assert!(first_flaw(linked).expect("symbols").is_none());
    let flawed = format!("{linked}0000000000402000 T avifImageRGBToYUV\n");
    let found = first_flaw(&flawed).expect("symbols").expect("a flaw");
    assert_eq!(found.flaw, "CVE-2025-48175");
    let similar = format!("{linked}0000000000402000 t avifImageRGBToYUVLibYUV\n");
    assert!(first_flaw(&similar).expect("symbols").is_none());
}

#[test]
fn a_stripped_worker_is_refused() {
    assert!(first_flaw("").is_err());
}

/// Checks that `docs/THREATS.md` lists each bundled library in the locked version, so that an
/// update of a library forces an update of that list.
#[test]
fn the_list_of_bundled_libraries_names_the_locked_versions() {
    let threats = include_str!("../../../../../docs/THREATS.md");
    let lock = include_str!("../../../../../Cargo.lock");
    for codec in C_CODECS {
        let (_, package) = lock
            .split_once(&format!("name = \"{codec}\"\nversion = \""))
            .expect("a locked codec");
        let (version, _) = package.split_once('"').expect("a version");
        let row = format!("| `{codec}` {version} |");
        assert!(threats.contains(&row), "docs/THREATS.md has no row {row}");
    }
}

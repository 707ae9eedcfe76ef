use std::fs;

use super::*;

#[test]
fn what_is_left_out_is_named_and_counts() {
    let suite = std::env::temp_dir().join(format!("pelton-xtask-suite-{}", std::process::id()));
    for file in [
        "unit/expire.tcl",
        "unit/geo.tcl",
        "unit/scripting.tcl",
        "unit/aofrw.tcl",
        "unit/type/hash.tcl",
        "unit/type/README",
        "unit/cluster/links.tcl",
        "integration/aof.tcl",
        "integration/rdb.tcl",
    ] {
        let path = suite.join("tests").join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, "").expect("written");
    }
    let left_out = left_out(&suite).expect("readable");
    fs::remove_dir_all(&suite).expect("removed");
    assert_eq!(
        left_out,
        ["integration/rdb", "unit/cluster/links", "unit/geo"]
    );
    assert_eq!(
        share(1_355, 1_264, &left_out),
        "Redis 7.4.1 passes 2181 tests in external mode; Pelton passes 1355 of these tests, 62.1 %\n\
         91 of the passed tests start servers of their own, and may not test Pelton; without them, \
         Pelton passes 1264, 58.0 %\n\
         3 units were not run: integration/rdb unit/cluster/links unit/geo"
    );
}

use super::*;

#[test]
fn a_name_with_parentheses_does_not_shift_the_fields() {
    let text = "812 (a) (b c) S 1 812 812 0 -1 4194560 1 2 3 4 50 25 7 3 20 0 5 0 99 1 1";
    let expected = Stat {
        pid: 812,
        parent: 1,
        ticks: 85,
    };
    assert_eq!(stat(text), Some(expected));
    assert_eq!(stat("812 (cut"), None);
    assert_eq!(stat("812 (short) S 1 2"), None);
}

#[test]
fn proportional_memory_is_read_in_bytes() {
    let rollup = "5581-7ffd ---p 00000000 00:00 0 [rollup]\nRss:    2048 kB\nPss:    1000 kB\n";
    assert_eq!(pss_bytes(rollup), 1_024_000);
    assert_eq!(pss_bytes(""), 0);
}

#[test]
fn a_tree_holds_each_process_once() {
    let mut child = Command::new("sleep").arg("60").spawn().expect("sleep runs");
    let own = std::process::id();
    let (tree, processes) = (Tree::read(own), descendants(own));
    child.kill().expect("the child is ours");
    child.wait().expect("the child is ours");
    assert!(0 < tree.expect("we live").memory_bytes);
    let processes = processes.expect("we live");
    let times = |pid: u32| processes.iter().filter(|stat| stat.pid == pid).count();
    assert_eq!((times(own), times(child.id())), (1, 1));
}

#[test]
fn a_command_that_computes_takes_time() {
    let mut busy = Command::new("sh");
    busy.args([
        "-c",
        "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; echo done",
    ]);
    let (stdout, usage) = run(&mut busy).expect("sh runs");
    assert_eq!(stdout, b"done\n");
    assert!(1_000 < usage.cpu_us, "{usage:?}");
    let failed = run(Command::new("sh").args(["-c", "echo why >&2; exit 3"]));
    let line = failed.expect_err("it exits with 3").to_string();
    assert!(line.contains("exit status: 3: why"), "{line}");
}

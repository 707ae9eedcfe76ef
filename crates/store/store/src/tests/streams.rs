//! Tests of clients that wait for stream entries.

use super::check;

#[test]
fn readers_are_served_by_each_new_entry() {
    check(
        "",
        r#"
        w> XADD s 1-1 f old
        w< "1-1"
        a> XREAD BLOCK 0 STREAMS s $
        b> XREAD BLOCK 0 STREAMS absent s 0 1-1
        c> XREAD BLOCK 50 STREAMS s +
        c< [["s" [["1-1" ["f" "old"]]]]]
        c> XREAD BLOCK 50 STREAMS s 1-1
        wait 60
        c< nil
        w> XADD s 1-2 f new
        w< "1-2"
        a< [["s" [["1-2" ["f" "new"]]]]]
        b< [["s" [["1-2" ["f" "new"]]]]]
        a> XREAD BLOCK 0 STREAMS s $
        w> MULTI
        w< OK
        w> XADD s 2-1 f 1
        w< QUEUED
        w> XADD s 2-2 f 2
        w< QUEUED
        w> EXEC
        w< ["2-1" "2-2"]
        a< [["s" [["2-1" ["f" "1"]] ["2-2" ["f" "2"]]]]]
        "#,
    );
}

#[test]
fn readers_of_a_group_share_its_entries_in_turn() {
    check(
        "",
        r#"
        w> XGROUP CREATE s g $ MKSTREAM
        w< OK
        a> XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
        b> XREADGROUP GROUP g bob BLOCK 0 STREAMS s >
        w> XADD s 1-1 f 1
        w< "1-1"
        a< [["s" [["1-1" ["f" "1"]]]]]
        b<
        w> XADD s 1-2 f 2
        w< "1-2"
        b< [["s" [["1-2" ["f" "2"]]]]]
        w> XPENDING s g
        w< [2 "1-1" "1-2" [["alice" "1"] ["bob" "1"]]]
        "#,
    );
}

#[test]
fn readers_of_a_group_learn_that_it_vanished() {
    let gone = "-UNBLOCKED the stream key no longer exists";
    for (command, reply, error) in [
        ("DEL s", "1", gone),
        ("SET s text", "OK", gone),
        ("RENAME s t", "OK", gone),
        ("FLUSHDB", "OK", gone),
        ("SWAPDB 0 1", "OK", gone),
        ("PEXPIREAT s 1", "1", gone),
        (
            "XGROUP DESTROY s g",
            "1",
            "-NOGROUP the consumer group this client was blocked on no longer exists",
        ),
    ] {
        check(
            "",
            &format!(
                r#"
                w> XGROUP CREATE s g $ MKSTREAM
                w< OK
                x> XREAD BLOCK 10 STREAMS s 0
                a> XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
                w> {command}
                w< {reply}
                a< {error}
                wait 20
                x< nil
                "#
            ),
        );
    }
}

#[test]
fn a_list_at_the_key_does_not_wake_a_reader() {
    check(
        "",
        r#"
        a> XREAD BLOCK 0 STREAMS k 0
        w> RPUSH k element
        w< 1
        a<
        w> DEL k
        w< 1
        w> XADD k 1-1 f v
        w< "1-1"
        a< [["k" [["1-1" ["f" "v"]]]]]
        "#,
    );
}

#[test]
fn changes_are_reported_as_events() {
    check(
        "notify-keyspace-events Et",
        r#"
        s> SUBSCRIBE __keyevent@0__:xadd __keyevent@0__:xtrim __keyevent@0__:xdel __keyevent@0__:xgroup-createconsumer
        s< ["subscribe" "__keyevent@0__:xadd" 1]
        s< ["subscribe" "__keyevent@0__:xtrim" 2]
        s< ["subscribe" "__keyevent@0__:xdel" 3]
        s< ["subscribe" "__keyevent@0__:xgroup-createconsumer" 4]
        w> XADD s 1-1 f v
        w< "1-1"
        s< ["message" "__keyevent@0__:xadd" "s"]
        w> XADD s MAXLEN 1 1-2 f v
        w< "1-2"
        s< ["message" "__keyevent@0__:xadd" "s"]
        s< ["message" "__keyevent@0__:xtrim" "s"]
        w> XGROUP CREATE s g 0
        w< OK
        w> XREADGROUP GROUP g c STREAMS s >
        w< [["s" [["1-2" ["f" "v"]]]]]
        s< ["message" "__keyevent@0__:xgroup-createconsumer" "s"]
        w> XDEL s 1-2
        w< 1
        s< ["message" "__keyevent@0__:xdel" "s"]
        "#,
    );
}

/// XSETID lowers the stream's last id below the id of a removed entry. The next entry is too long
/// for the node of the removed entry, so it begins a new node.
#[test]
fn a_lowered_last_id_does_not_collide_with_a_removed_entry() {
    let long = "x".repeat(5_000);
    let script = format!(
        r#"
        w> XADD s 5-1 f v
        w< "5-1"
        w> XADD s 10-1 f v
        w< "10-1"
        w> XDEL s 10-1
        w< 1
        w> XSETID s 10-1 ENTRIESADDED 2 MAXDELETEDID 1-1
        w< OK
        w> XSETID s 6-1
        w< OK
        w> XADD s 7-1 f {long}
        w< "7-1"
        w> XADD s 8-1 f v
        w< "8-1"
        w> XLEN s
        w< 3
        w> XREVRANGE s + - COUNT 1
        w< [["8-1" ["f" "v"]]]
        "#
    );
    check("", &script);
}

//! Streams from the view of a client. The expected replies are those of redis-server 7.0.15, except
//! for the fields that Redis 7.2 added.

use expect_test::expect;

use super::*;

/// Restores in a new store what the commands of `script` put into the append-only file, and
/// compares the groups and entries of the stream `s` in both.
fn check_replay(script: &str) {
    let mut client = Client::new();
    client.keyspace.set_journaling(true);
    let mut replay = Client::new();
    for line in script.lines() {
        client.send(line.trim());
        client.now_ms += 7;
    }
    replay.now_ms = client.now_ms;
    replay.session.set_replay(true);
    for (_, args) in std::mem::take(&mut client.keyspace.effects.journal) {
        let mut out = Out::new(Proto::Resp2);
        replay.run(&args, &mut out);
        assert_eq!(out.errors(), 0, "{args:?}");
    }
    for line in [
        "XRANGE s - +",
        "XINFO GROUPS s",
        "XPENDING s g - + 100",
        "XPENDING s g",
    ] {
        assert_eq!(client.send(line), replay.send(line), "{line}");
    }
}

#[test]
fn entries_are_added_and_read() {
    Client::new().check(
        "XADD s 0-0 f v
         XADD s 1-* f v
         XADD s 1-* f v g w
         XADD s 00003-7 f v
         XADD s 3-7 f v
         XADD s 3 f
         XADD s NOMKSTREAM 4-1 f v
         XADD absent NOMKSTREAM 4-1 f v
         XLEN s
         XRANGE s (1-0 + COUNT 1
         XREVRANGE s + 3
         XRANGE s - + COUNT 0
         XDEL s 1-0 9-9
         XREAD COUNT 1 STREAMS s other 1-1 0
         XREAD STREAMS s 4-1
         XREAD STREAMS s +
         TYPE s
         OBJECT ENCODING s",
        expect![[r#"
            XADD s 0-0 f v
                -ERR The ID specified in XADD must be greater than 0-0
            XADD s 1-* f v
                $3 1-0
            XADD s 1-* f v g w
                $3 1-1
            XADD s 00003-7 f v
                $3 3-7
            XADD s 3-7 f v
                -ERR The ID specified in XADD is equal or smaller than the target stream top item
            XADD s 3 f
                -ERR wrong number of arguments for 'xadd' command
            XADD s NOMKSTREAM 4-1 f v
                $3 4-1
            XADD absent NOMKSTREAM 4-1 f v
                $-1
            XLEN s
                :4
            XRANGE s (1-0 + COUNT 1
                *1 *2 $3 1-1 *4 $1 f $1 v $1 g $1 w
            XREVRANGE s + 3
                *2 *2 $3 4-1 *2 $1 f $1 v *2 $3 3-7 *2 $1 f $1 v
            XRANGE s - + COUNT 0
                *-1
            XDEL s 1-0 9-9
                :1
            XREAD COUNT 1 STREAMS s other 1-1 0
                *1 *2 $1 s *1 *2 $3 3-7 *2 $1 f $1 v
            XREAD STREAMS s 4-1
                *-1
            XREAD STREAMS s +
                *1 *2 $1 s *1 *2 $3 4-1 *2 $1 f $1 v
            TYPE s
                +stream
            OBJECT ENCODING s
                $6 stream
        "#]],
    );
}

#[test]
fn trimming_is_exact_or_by_nodes() {
    let mut client = Client::new();
    let mut limits = Limits::default();
    limits.encodings.stream_node_entries_max = 4;
    client.keyspace.set_limits(limits);
    for ms in 1..=20 {
        client.send(&format!("XADD s {ms}-0 f v"));
    }
    client.check(
        "XTRIM s MAXLEN ~ 15
         XTRIM s MAXLEN 15
         XTRIM s MINID ~ 11 LIMIT 3
         XTRIM s MINID = 11
         XTRIM s MAXLEN 5 LIMIT 3
         XADD s MAXLEN 3 21-0 f v
         XADD s MAXLEN 3 MINID 5 * f v
         XRANGE s - + COUNT 1
         XINFO STREAM s",
        expect![[r#"
            XTRIM s MAXLEN ~ 15
                :4
            XTRIM s MAXLEN 15
                :1
            XTRIM s MINID ~ 11 LIMIT 3
                :3
            XTRIM s MINID = 11
                :2
            XTRIM s MAXLEN 5 LIMIT 3
                -ERR syntax error, LIMIT cannot be used without the special ~ option
            XADD s MAXLEN 3 21-0 f v
                $4 21-0
            XADD s MAXLEN 3 MINID 5 * f v
                -ERR syntax error, MAXLEN and MINID options at the same time are not compatible
            XRANGE s - + COUNT 1
                *1 *2 $4 19-0 *2 $1 f $1 v
            XINFO STREAM s
                *20 $6 length :3 $15 radix-tree-keys :2 $16 radix-tree-nodes :3 $17 last-generated-id $4 21-0 $20 max-deleted-entry-id $3 0-0 $13 entries-added :21 $23 recorded-first-entry-id $4 19-0 $6 groups :0 $11 first-entry *2 $4 19-0 *2 $1 f $1 v $10 last-entry *2 $4 21-0 *2 $1 f $1 v
        "#]],
    );
}

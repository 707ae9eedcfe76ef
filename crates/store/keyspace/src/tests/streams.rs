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
        "XINFO STREAM s",
        "XINFO GROUPS s",
        "XPENDING s g - + 100",
        "XPENDING s g",
    ] {
        assert_eq!(client.send(line), replay.send(line), "{line}");
    }
    assert_eq!(consumers(&mut client), consumers(&mut replay));
}

/// Returns the names of the consumers of the group `g` with their numbers of pending entries. The
/// append-only file does not have the times of their last commands.
fn consumers(client: &mut Client) -> Vec<String> {
    let reply = client.send("XINFO CONSUMERS s g");
    let consumers = reply.split("$4 name ").skip(1);
    let until_times =
        consumers.map(|text| text.split(" $4 idle").next().unwrap_or(text).to_owned());
    until_times.collect()
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

#[test]
fn groups_keep_pending_entries() {
    let mut client = Client::new();
    client.check(
        "XGROUP CREATE s g $
         XGROUP CREATE s g $ MKSTREAM
         XGROUP CREATE s g 0
         XADD s 1-1 f v
         XADD s 2-1 f v
         XREADGROUP GROUP g c COUNT 1 STREAMS s >
         XREADGROUP GROUP g d STREAMS s >
         XREADGROUP GROUP g d STREAMS s >
         XREADGROUP GROUP g d STREAMS s 0
         XDEL s 2-1
         XREADGROUP GROUP g d STREAMS s 0
         XPENDING s g
         XPENDING s g IDLE 0 - + 10 d
         XCLAIM s g c 0 1-1 2-1 JUSTID
         XAUTOCLAIM s g e 0 - COUNT 1
         XACK s g 1-1 1-1
         XPENDING s g
         XGROUP DELCONSUMER s g c
         XGROUP SETID s nog 0
         XGROUP DESTROY s g
         XREADGROUP GROUP g c STREAMS s >",
        expect![[r#"
            XGROUP CREATE s g $
                -ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically.
            XGROUP CREATE s g $ MKSTREAM
                +OK
            XGROUP CREATE s g 0
                -BUSYGROUP Consumer Group name already exists
            XADD s 1-1 f v
                $3 1-1
            XADD s 2-1 f v
                $3 2-1
            XREADGROUP GROUP g c COUNT 1 STREAMS s >
                *1 *2 $1 s *1 *2 $3 1-1 *2 $1 f $1 v
            XREADGROUP GROUP g d STREAMS s >
                *1 *2 $1 s *1 *2 $3 2-1 *2 $1 f $1 v
            XREADGROUP GROUP g d STREAMS s >
                *-1
            XREADGROUP GROUP g d STREAMS s 0
                *1 *2 $1 s *1 *2 $3 2-1 *2 $1 f $1 v
            XDEL s 2-1
                :1
            XREADGROUP GROUP g d STREAMS s 0
                *1 *2 $1 s *1 *2 $3 2-1 *-1
            XPENDING s g
                *4 :2 $3 1-1 $3 2-1 *2 *2 $1 c $1 1 *2 $1 d $1 1
            XPENDING s g IDLE 0 - + 10 d
                *1 *4 $3 2-1 $1 d :0 :2
            XCLAIM s g c 0 1-1 2-1 JUSTID
                *1 $3 1-1
            XAUTOCLAIM s g e 0 - COUNT 1
                *3 $3 0-0 *1 *2 $3 1-1 *2 $1 f $1 v *0
            XACK s g 1-1 1-1
                :1
            XPENDING s g
                *4 :0 $-1 $-1 *-1
            XGROUP DELCONSUMER s g c
                :0
            XGROUP SETID s nog 0
                -NOGROUP No such consumer group 'nog' for key name 's'
            XGROUP DESTROY s g
                :1
            XREADGROUP GROUP g c STREAMS s >
                -NOGROUP No such key 's' or consumer group 'g' in XREADGROUP with GROUP option
        "#]],
    );
}

#[test]
fn a_read_without_new_entries_creates_its_consumer() {
    let mut client = Client::new();
    client.send("XGROUP CREATE s g $ MKSTREAM");
    client.send("XADD t 1-1 f v");
    client.send("XGROUP CREATE t g 0");
    let before = client.keyspace.effects.changes;
    let found = client.send("XREADGROUP GROUP g c STREAMS s t > >");
    assert_eq!(found, "*1 *2 $1 t *1 *2 $3 1-1 *2 $1 f $1 v");
    // Two consumers were created, and one entry was delivered.
    assert_eq!(client.keyspace.effects.changes - before, 3);
    client.now_ms += 5;
    client.check(
        "XINFO CONSUMERS s g
         XINFO CONSUMERS t g
         XREADGROUP GROUP g c BLOCK 0 STREAMS s >
         XINFO CONSUMERS s g",
        expect![[r#"
            XINFO CONSUMERS s g
                *1 *8 $4 name $1 c $7 pending :0 $4 idle :5 $8 inactive :-1
            XINFO CONSUMERS t g
                *1 *8 $4 name $1 c $7 pending :1 $4 idle :5 $8 inactive :5
            XREADGROUP GROUP g c BLOCK 0 STREAMS s >
                +waits for [b"s"]
            XINFO CONSUMERS s g
                *1 *8 $4 name $1 c $7 pending :0 $4 idle :0 $8 inactive :-1
        "#]],
    );
    // The consumer exists, so that the command that waits has changed nothing.
    assert_eq!(client.keyspace.effects.changes - before, 3);
}

#[test]
fn a_claim_of_nothing_creates_its_consumer() {
    let mut client = Client::new();
    client.send("XGROUP CREATE s g $ MKSTREAM");
    client.check(
        "XCLAIM s g c 0 1-1
         XAUTOCLAIM s g d 0 -
         XINFO CONSUMERS s g",
        expect![[r#"
            XCLAIM s g c 0 1-1
                *0
            XAUTOCLAIM s g d 0 -
                *3 $3 0-0 *0 *0
            XINFO CONSUMERS s g
                *2 *8 $4 name $1 c $7 pending :0 $4 idle :0 $8 inactive :-1 *8 $4 name $1 d $7 pending :0 $4 idle :0 $8 inactive :-1
        "#]],
    );
}

#[test]
fn reading_pending_entries_is_no_change() {
    let mut client = Client::new();
    client.keyspace.set_journaling(true);
    for line in [
        "XADD s 1-1 f v",
        "XGROUP CREATE s g 0",
        "XREADGROUP GROUP g c STREAMS s >",
    ] {
        client.send(line);
    }
    client.keyspace.effects = Effects::default();
    client.check(
        "XREADGROUP GROUP g c STREAMS s 0
         XREADGROUP GROUP g c STREAMS s 1-1
         XPENDING s g - + 9",
        expect![[r#"
            XREADGROUP GROUP g c STREAMS s 0
                *1 *2 $1 s *1 *2 $3 1-1 *2 $1 f $1 v
            XREADGROUP GROUP g c STREAMS s 1-1
                *1 *2 $1 s *0
            XPENDING s g - + 9
                *1 *4 $3 1-1 $1 c :0 :2
        "#]],
    );
    assert_eq!(client.keyspace.effects.changes, 0);
    assert!(client.keyspace.effects.journal.is_empty());
    // A consumer that did not exist is created, which is a change.
    client.send("XREADGROUP GROUP g d STREAMS s 0");
    assert_eq!(client.keyspace.effects.changes, 1);
    let [(0, created)] = &client.keyspace.effects.journal[..] else {
        panic!("{:?}", client.keyspace.effects.journal);
    };
    assert_eq!(created[..], ["XGROUP", "CREATECONSUMER", "s", "g", "d"]);
}

#[test]
fn replies_stop_when_they_are_full() {
    let mut client = Client::new();
    for number in 1..=100 {
        client.send(&format!("XADD s {number}-1 f v"));
        client.send(&format!("XGROUP CREATE s g{number} 0"));
        client.send(&format!("XGROUP CREATECONSUMER s g1 idle{number}"));
        client.send(&format!(
            "XREADGROUP GROUP g1 c{number} COUNT 1 STREAMS s >"
        ));
        client.send("XREADGROUP GROUP g2 c COUNT 1 STREAMS s >");
    }
    for line in [
        "XREAD STREAMS s 0",
        "XREADGROUP GROUP g3 c STREAMS s >",
        "XREADGROUP GROUP g2 c STREAMS s 0",
        "XPENDING s g1",
        "XPENDING s g2 - + 100",
        "XINFO GROUPS s",
        "XINFO CONSUMERS s g1",
        "XINFO STREAM s FULL COUNT 1",
        "XINFO STREAM s FULL COUNT 0",
        "XAUTOCLAIM s g2 d 0 - COUNT 100",
        "XAUTOCLAIM s g2 d 0 - COUNT 100 JUSTID",
    ] {
        let args = resp::split_line(line.as_bytes()).expect("a test's line is sound");
        let mut out = Out::new(Proto::Resp2);
        out.set_bytes_max(500);
        client.run(&args, &mut out);
        assert!((500..700).contains(&out.len()), "{line}: {}", out.len());
    }
    // The entries that the full reply of XREADGROUP left out are still new.
    let delivered = client.send("XPENDING s g3");
    assert!(
        delivered.starts_with("*4 :16 $3 1-1 $4 16-1"),
        "{delivered}"
    );
    let next = client.send("XREADGROUP GROUP g3 c COUNT 1 STREAMS s >");
    assert!(next.contains("17-1"), "{next}");
}

#[test]
fn the_lag_of_a_group_is_known_unless_entries_were_removed() {
    Client::new().check(
        "XADD s 1-1 f v
         XADD s 2-1 f v
         XADD s 3-1 f v
         XGROUP CREATE s g 0
         XREADGROUP GROUP g c COUNT 1 STREAMS s >
         XINFO GROUPS s
         XDEL s 2-1
         XINFO GROUPS s
         XREADGROUP GROUP g c STREAMS s >
         XINFO GROUPS s",
        expect![[r#"
            XADD s 1-1 f v
                $3 1-1
            XADD s 2-1 f v
                $3 2-1
            XADD s 3-1 f v
                $3 3-1
            XGROUP CREATE s g 0
                +OK
            XREADGROUP GROUP g c COUNT 1 STREAMS s >
                *1 *2 $1 s *1 *2 $3 1-1 *2 $1 f $1 v
            XINFO GROUPS s
                *1 *12 $4 name $1 g $9 consumers :1 $7 pending :1 $17 last-delivered-id $3 1-1 $12 entries-read :1 $3 lag :2
            XDEL s 2-1
                :1
            XINFO GROUPS s
                *1 *12 $4 name $1 g $9 consumers :1 $7 pending :1 $17 last-delivered-id $3 1-1 $12 entries-read :1 $3 lag $-1
            XREADGROUP GROUP g c STREAMS s >
                *1 *2 $1 s *1 *2 $3 3-1 *2 $1 f $1 v
            XINFO GROUPS s
                *1 *12 $4 name $1 g $9 consumers :1 $7 pending :2 $17 last-delivered-id $3 3-1 $12 entries-read :2 $3 lag :1
        "#]],
    );
}

#[test]
fn the_append_only_file_restores_groups() {
    check_replay(
        "XADD s * f v
         XADD s * f v
         XADD s MAXLEN ~ 100 * f v
         XGROUP CREATE s g 0
         XREADGROUP GROUP g c COUNT 2 STREAMS s >
         XREADGROUP GROUP g d NOACK STREAMS s >
         XREADGROUP GROUP g h STREAMS s >
         XADD s 1800000000000-1 f v
         XREADGROUP GROUP g c STREAMS s 0
         XCLAIM s g e 0 1700000000000-0 IDLE 100 RETRYCOUNT 9
         XDEL s 1700000000007-0
         XAUTOCLAIM s g f 0 0
         XREADGROUP GROUP g d STREAMS s >
         XTRIM s MAXLEN ~ 1 LIMIT 1
         XACK s g 1800000000000-1
         XAUTOCLAIM s g i 99999999 0
         XCLAIM s g e 0 1800000000000-1 LASTID 1900000000000-0
         XGROUP DELCONSUMER s g d
         XSETID s 2000000000000-0 ENTRIESADDED 9 MAXDELETEDID 1900000000000-0",
    );
}

#[test]
fn a_blocked_read_fixes_its_ids() {
    let mut client = Client::new();
    client.send("XADD s 5-1 f v");
    let args = ["XREAD", "BLOCK", "0", "STREAMS", "s", "t", "$", "+"].map(Bytes::from);
    let mut out = Out::new(Proto::Resp2);
    let outcome = client
        .keyspace
        .execute(&mut client.session, &args, 1, &mut out);
    let Outcome::Block(block) = outcome else {
        panic!("{outcome:?}");
    };
    let again = block.again.expect("the ids depend on the time");
    assert_eq!(again[6..], ["5-1", "0-0"].map(Bytes::from));
    assert_eq!(block.deadline_ms, None);
}

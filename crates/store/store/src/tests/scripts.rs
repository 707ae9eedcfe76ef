//! Scripts of client commands, with the replies that are expected.

use super::{check, last_reply};

#[test]
fn commands_are_answered_in_order_whatever_their_protocol() {
    check(
        "",
        r#"
        a> PING
        a> SET k v
        a> GET k
        a< PONG
        a< OK
        a< "v"
        a> FOO bar
        a< -ERR unknown command 'FOO', with args beginning with: 'bar' 
        a> HELLO 3 SETNAME me
        a< {"server": "redis", "version": "7.2.4", "proto": 3, "id": 1, "mode": "standalone", "role": "master", "modules": []}
        a> CLIENT GETNAME
        a< "me"
        a> GET none
        a< nil
        a> HELLO 4
        a< -NOPROTO unsupported protocol version
        a> HELLO 2 SETNAME
        a< -ERR Syntax error in HELLO option 'SETNAME'
        a> RESET
        a< RESET
        a> CLIENT GETNAME
        a< nil
        a> QUIT
        a< OK
        a closed
        "#,
    );
}

#[test]
fn a_password_comes_first() {
    check(
        "requirepass secret",
        r#"
        a> GET k
        a< -NOAUTH Authentication required.
        a> AUTH wrong
        a< -WRONGPASS invalid username-password pair or user is disabled.
        a> HELLO 3
        a< -NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time
        a> AUTH default secret
        a< OK
        a> GET k
        a< nil
        a> RESET
        a< RESET
        a> GET k
        a< -NOAUTH Authentication required.
        b> *11
        b< -ERR Protocol error: unauthenticated multibulk length
        b closed
        "#,
    );
    check(
        "",
        "a> AUTH x
         a< -ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
    );
}

#[test]
fn protected_mode_refuses_remote_clients() {
    let refusal = "stranger< -DENIED protected mode is on and no password is set, so only clients on this machine are served: \
                   set requirepass, or set protected-mode no if only trusted machines can connect\nstranger closed";
    check("", refusal);
    check("protected-mode no", "stranger> PING\nstranger< PONG");
    check("requirepass s", "stranger> AUTH s\nstranger< OK");
}

#[test]
fn clients_above_maxclients_are_refused() {
    check(
        "maxclients 1",
        "a> PING\na< PONG\nb< -ERR max number of clients reached\nb closed\na> PING\na< PONG",
    );
}

#[test]
fn renamed_commands_are_called_by_their_new_names() {
    check(
        "rename-command FLUSHALL \"\"\nrename-command set put\nrename-command Config cfg",
        r#"
        a> SET k v
        a< -ERR unknown command 'SET', with args beginning with: 'k' 'v'
        a> PUT k v
        a< OK
        a> flushall
        a< -ERR unknown command 'flushall', with args beginning with:
        a> CFG GET port
        a< ["port" "6379"]
        a> CONFIG GET port
        a< -ERR unknown command 'CONFIG', with args beginning with: 'GET' 'port'
        a> MULTI
        a< OK
        a> PUT k w
        a< QUEUED
        a> FLUSHALL
        a< -ERR unknown command 'FLUSHALL', with args beginning with:
        a> EXEC
        a< -EXECABORT Transaction discarded because of previous errors.
        a> PUT k
        a< -ERR wrong number of arguments for 'set' command
        "#,
    );
}

#[test]
fn a_reply_above_the_output_limit_closes_the_connection() {
    let long = "x".repeat(200);
    check(
        "client-output-buffer-limit normal 100 0 0",
        &format!(
            r#"
            a> SET k {long}
            a< OK
            a> GET k
            a closed
            b> MULTI
            b< OK
            b> GET k
            b< QUEUED
            b> SET k short
            b< QUEUED
            b> EXEC
            b closed
            c> GET k
            c< "short"
            "#
        ),
    );
}

#[test]
fn messages_reach_their_subscribers() {
    check(
        "",
        r#"
        a> SUBSCRIBE news
        a< ["subscribe" "news" 1]
        a> PSUBSCRIBE n*
        a< ["psubscribe" "n*" 2]
        a> GET k
        a< -ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context
        a> PING x
        a< ["pong" "x"]
        b> PUBLISH news hi
        b< 2
        a< ["message" "news" "hi"]
        a< ["pmessage" "n*" "news" "hi"]
        b> PUBSUB NUMSUB news other
        b< ["news" 1 "other" 0]
        b> PUBSUB NUMPAT
        b< 1
        b> SSUBSCRIBE shard
        b< ["ssubscribe" "shard" 1]
        c> SPUBLISH shard x
        c< 1
        b< ["smessage" "shard" "x"]
        a> UNSUBSCRIBE
        a< ["unsubscribe" "news" 1]
        a> PUNSUBSCRIBE n* n*
        a< ["punsubscribe" "n*" 0]
        a< ["punsubscribe" "n*" 0]
        a> GET k
        a< nil
        c> PUBLISH news hi
        c< 0
        "#,
    );
}

#[test]
fn a_message_to_the_publisher_follows_its_reply() {
    check(
        "",
        r#"
        a> HELLO 3
        a< {"server": "redis", "version": "7.2.4", "proto": 3, "id": 1, "mode": "standalone", "role": "master", "modules": []}
        a> SUBSCRIBE me
        a< >["subscribe" "me" 1]
        a> PUBLISH me hi
        a< 1
        a< >["message" "me" "hi"]
        "#,
    );
}

#[test]
fn events_of_keys_are_published() {
    check(
        "notify-keyspace-events KEA",
        r#"
        a> PSUBSCRIBE *
        a< ["psubscribe" "*" 1]
        b> SET k v PX 50
        b< OK
        a< ["pmessage" "*" "__keyspace@0__:k" "set"]
        a< ["pmessage" "*" "__keyevent@0__:set" "k"]
        a< ["pmessage" "*" "__keyspace@0__:k" "expire"]
        a< ["pmessage" "*" "__keyevent@0__:expire" "k"]
        wait 200
        a< ["pmessage" "*" "__keyspace@0__:k" "expired"]
        a< ["pmessage" "*" "__keyevent@0__:expired" "k"]
        "#,
    );
}

#[test]
fn the_longest_blocked_client_is_served_first() {
    check(
        "",
        r#"
        a> BLPOP l 0
        b> BRPOP other l 0
        c> BLPOP l 0.05
        a<
        d> RPUSH l one two
        d< 2
        a< ["l" "one"]
        b< ["l" "two"]
        wait 60
        c< nil
        c> PING
        c< PONG
        d> LLEN l
        d< 0
        "#,
    );
}

#[test]
fn a_key_of_another_type_wakes_no_client() {
    check(
        "",
        r#"
        a> BLPOP k 0
        b> SET k v
        b< OK
        a<
        b> MULTI
        b< OK
        b> DEL k
        b< QUEUED
        b> RPUSH k x
        b< QUEUED
        b> EXEC
        b< [1 1]
        a< ["k" "x"]
        "#,
    );
}

#[test]
fn requests_of_a_blocked_client_wait() {
    check(
        "",
        r#"
        a> BLPOP l 0
        a> PING
        a<
        b> CLIENT UNBLOCK 1 ERROR
        b< 1
        a< -UNBLOCKED client unblocked via CLIENT UNBLOCK
        a< PONG
        b> CLIENT UNBLOCK 1
        b< 0
        "#,
    );
}

#[test]
fn a_pause_holds_writes_back() {
    check(
        "",
        r#"
        a> CLIENT PAUSE 100 WRITE
        a< OK
        b> GET k
        b< nil
        b> SET k v
        b<
        c> MULTI
        c< OK
        c> PING
        c< QUEUED
        c> EXEC
        c< [PONG]
        wait 150
        b< OK
        a> CLIENT PAUSE 60000
        a< OK
        b> PING
        b<
        "#,
    );
}

#[test]
fn replies_can_be_turned_off() {
    check(
        "",
        r#"
        a> CLIENT REPLY OFF
        a> SET k v
        a> CLIENT REPLY ON
        a< OK
        a> CLIENT REPLY SKIP
        a> GET k
        a> GET k
        a< "v"
        a> CLIENT REPLY SKIP
        a> CLIENT REPLY ON
        a< OK
        "#,
    );
}

#[test]
fn client_kill_closes_connections() {
    check(
        "",
        r#"
        a> CLIENT SETNAME "a b"
        a< -ERR Client names cannot contain spaces, newlines or special characters.
        a> CLIENT ID
        a< 1
        b> CLIENT KILL ID 1
        b< 1
        a closed
        b> CLIENT KILL nobody:1
        b< -ERR No such client
        b> CLIENT KILL ID 2 SKIPME no
        b< 1
        b closed
        "#,
    );
}

#[test]
fn a_monitor_sees_commands_of_other_clients() {
    check(
        "timeout 1",
        r#"
        a> MONITOR
        a< OK
        b> AUTH hidden
        b< -ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?
        wait 3000
        b closed
        "#,
    );
}

#[test]
fn settings_change_together_or_not_at_all() {
    check(
        "",
        r#"
        a> CONFIG SET maxmemory 1mb timeout x
        a< -ERR CONFIG SET failed (possibly related to argument 'timeout') - argument couldn't be parsed into an integer
        a> CONFIG GET maxmemory
        a< ["maxmemory" "0"]
        a> CONFIG SET maxmemory 1mb hash-max-ziplist-entries 3
        a< OK
        a> CONFIG GET max*y hash-*-entries
        a< ["maxmemory" "1048576" "maxmemory-policy" "noeviction" "maxmemory-eviction-tenacity" "10" "hash-max-listpack-entries" "3" "hash-max-ziplist-entries" "3"]
        a> CONFIG SET port 1
        a< -ERR CONFIG SET failed (possibly related to argument 'port') - can't set immutable config
        a> CONFIG SET nonsense 1
        a< -ERR Unknown option or number of arguments for CONFIG SET - 'nonsense'
        "#,
    );
}

#[test]
fn config_get_and_set_behave_as_in_redis() {
    check(
        "",
        r#"
        a> CONFIG SET foo bar baz
        a< -ERR syntax error
        a> CONFIG SET timeout x nonsense 1
        a< -ERR Unknown option or number of arguments for CONFIG SET - 'nonsense'
        a> CONFIG SET timeout 1 TIMEOUT 2
        a< -ERR CONFIG SET failed (possibly related to argument 'TIMEOUT') - duplicate parameter
        a> CONFIG SET DAEMONIZE yes
        a< -ERR CONFIG SET failed (possibly related to argument 'DAEMONIZE') - can't set immutable config
        a> CONFIG GET MAXMEMORY maxmemory
        a< ["MAXMEMORY" "0"]
        a> CONFIG GET TIME*T timeout
        a< ["timeout" "0"]
        a> CONFIG GET bgsave*cpulist rdma-port* rdma-port
        a< ["bgsave_cpulist" "" "rdma-port" "0"]
        a> CONFIG GET bgsave-cpulist
        a< ["bgsave-cpulist" ""]
        a> CONFIG SET maxmemory-samples 65
        a< OK
        a> CONFIG SET hz 1000
        a< OK
        a> CONFIG GET hz
        a< ["hz" "500"]
        a> CONFIG SET hz -1
        a< -ERR CONFIG SET failed (possibly related to argument 'hz') - argument must be between 0 and 2147483647 inclusive
        a> CONFIG SET appendfsync x
        a< -ERR CONFIG SET failed (possibly related to argument 'appendfsync') - argument(s) must be one of the following: everysec, always, no
        a> CONFIG SET client-output-buffer-limit "normal x 0 0"
        a< -ERR CONFIG SET failed (possibly related to argument 'client-output-buffer-limit') - Error in hard, soft or soft_seconds setting in buffer limit configuration.
        a> CONFIG SET oom-score-adj foo
        a< -ERR CONFIG SET failed (possibly related to argument 'oom-score-adj') - argument(s) must be one of the following: no, yes, relative, absolute
        a> CONFIG SET tls-port 6380
        a< -ERR CONFIG SET failed (possibly related to argument 'tls-port') - the store does not support TLS
        a> CONFIG SET slave-priority 7
        a< OK
        a> CONFIG GET replica-priority
        a< ["replica-priority" "7"]
        a> CONFIG SET save "1 1"
        a< OK
        a> CONFIG SET save "2 2"
        a< OK
        a> CONFIG GET save
        a< ["save" "2 2"]
        "#,
    );
}

#[test]
fn a_configuration_without_a_file_is_not_rewritten() {
    check(
        "",
        "a> CONFIG REWRITE
         a< -ERR The server is running without a config file",
    );
}

#[test]
fn a_monitor_cannot_run_data_commands() {
    check(
        "",
        "a> MONITOR
         a< OK
         a> GET k
         a< -ERR Replica can't interact with the keyspace
         a> SET k v
         a< -ERR Replica can't interact with the keyspace
         b> GET k
         b< nil",
    );
}

#[test]
fn debug_replies_have_every_form() {
    check(
        "enable-debug-command yes",
        r#"
        a> DEBUG SLEEP abc
        a< OK
        a> DEBUG SLEEP -1
        a< OK
        a> DEBUG PROTOCOL push
        a< -ERR RESP2 is not supported by this command
        a> DEBUG PROTOCOL attrib
        a< "Some real reply following the attribute"
        a> DEBUG PROTOCOL list
        a< -ERR Wrong protocol type name. Please use one of the following: string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false
        "#,
    );
}

#[test]
fn harmless_debug_subcommands_run_where_allowed() {
    check(
        "enable-debug-command no",
        r#"
        a> DEBUG SLEEP 0
        a< -ERR DEBUG command not allowed. If the enable-debug-command option is set to "local", you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server.
        "#,
    );
    check(
        "enable-debug-command yes",
        r#"
        a> SET key:1 kept
        a< OK
        a> DEBUG POPULATE 3
        a< OK
        a> MGET key:0 key:1 key:2 key:3
        a< ["value:0" "kept" "value:2" nil]
        a> DEBUG POPULATE 2 long 100
        a< OK
        a> STRLEN long:1
        a< 100
        a> DEBUG RELOAD
        a< OK
        a> DBSIZE
        a< 5
        a> DEBUG ERROR "WHAT it is"
        a< -WHAT it is
        a> DEBUG SEGFAULT
        a< -ERR unknown subcommand or wrong number of arguments for 'SEGFAULT'. Try DEBUG HELP.
        "#,
    );
}

#[test]
fn slow_commands_are_kept() {
    check(
        "slowlog-log-slower-than 0\nslowlog-max-len 2",
        r#"
        a> SET a 1
        a< OK
        a> SLOWLOG LEN
        a< 1
        a> SET b 1
        a< OK
        a> SLOWLOG LEN
        a< 2
        a> CONFIG SET slowlog-log-slower-than -1
        a< OK
        a> SLOWLOG RESET
        a< OK
        a> SLOWLOG GET
        a< []
        "#,
    );
}

#[test]
fn a_client_that_does_not_read_is_disconnected() {
    // The in-memory stream buffers 1 MiB; only output beyond 1 MiB waits in the server.
    let publish = format!("b> PUBLISH c {}\nb< 1\n", "x".repeat(60_000));
    let script = "a> SUBSCRIBE c\na< [\"subscribe\" \"c\" 1]\n".to_owned()
        + &publish.repeat(20)
        + "b> PUBSUB NUMSUB c\nb< [\"c\" 0]";
    check("client-output-buffer-limit pubsub 100kb 0 0", &script);
}

#[test]
fn a_protocol_error_is_reported_and_closes_the_connection() {
    check(
        "",
        "a> *x
         a< -ERR Protocol error: invalid multibulk length
         a closed
         b> PING
         b< PONG",
    );
}

#[test]
fn a_pipeline_continues_after_a_blocking_command() {
    check(
        "",
        r#"
        a> SET k 1
        a> BLPOP q 0
        a> GET k
        a> INCR k
        a> *1
        a< OK
        a<
        b> SET k 7
        b> RPUSH q x
        b< OK
        b< 1
        a< ["q" "x"]
        a< "7"
        a< 8
        a> $7
        a> UNKNOWN
        a< -ERR unknown command 'UNKNOWN', with args beginning with: 
        a> GET k
        a> QUIT
        a> GET k
        a< "8"
        a< OK
        a closed
        "#,
    );
}

#[test]
fn a_pipeline_may_start_with_auth() {
    check(
        "requirepass secret",
        r#"
        a> GET k
        a> AUTH secret
        a> SET k v
        a> GET k
        a> *1
        a> foo
        a< -NOAUTH Authentication required.
        a< OK
        a< OK
        a< "v"
        a< -ERR Protocol error: expected '$', got 'f'
        a closed
        "#,
    );
}

#[test]
fn getorlock_waiters_get_the_value_or_the_lock() {
    check(
        "",
        r#"
        a> GETORLOCK made 1000
        a< nil
        b> GETORLOCK made 1000
        c> GETORLOCK made 1000
        b<
        a> SET made value
        a< OK
        b< "value"
        c< "value"
        a> DEL made
        a< 1
        a> GETORLOCK made 1000
        a< nil
        b> GETORLOCK made 500
        c> GETORLOCK made 500
        a> DEL made
        a< 0
        b< nil
        c<
        wait 1002
        c< nil
        b> GETORLOCK made 500
        b<
        c> RPUSH made x
        c< 1
        b< -WRONGTYPE Operation against a key holding the wrong kind of value
        "#,
    );
}

#[test]
fn http_requests_close_the_connection() {
    for line in ["POST / HTTP/1.1", "host: 127.0.0.1", "Post"] {
        let script = format!("a> {line}\na> SET k v\na closed\nb> EXISTS k\nb< 0");
        check("", &script);
    }
    check("requirepass s", "a> POST / HTTP/1.1\na closed");
}

#[test]
fn passwords_are_not_shown_to_others() {
    let script = "a> MONITOR\na< OK\nb> HELLO 2 AUTH default secret";
    let shown = last_reply(
        "requirepass secret",
        &script.replace("a> ", "a> AUTH secret\na< OK\na> "),
        Some("a"),
    );
    assert!(
        shown.ends_with(r#""HELLO" "2" "AUTH" "(redacted)" "(redacted)""#),
        "{shown}"
    );
    let script = "a> CONFIG SET requirepass secret\na< OK\na> SLOWLOG GET 1";
    let noted = last_reply("slowlog-log-slower-than 0", script, Some("a"));
    assert!(noted.contains(r#""requirepass" "(redacted)""#), "{noted}");
    assert!(!noted.contains("secret"), "{noted}");
}

#[test]
fn invalid_settings_are_reported_before_protected_ones() {
    check(
        "requirepass s",
        "a> FOO
         a< -ERR unknown command 'FOO', with args beginning with: 
         a> GET
         a< -ERR wrong number of arguments for 'get' command
         a> GET k
         a< -NOAUTH Authentication required.",
    );
}

#[test]
fn a_transaction_may_start_snapshots_and_subscribe_except_to_shards() {
    check(
        "",
        r#"
        a> MULTI
        a> BGSAVE SCHEDULE
        a> BGREWRITEAOF
        a> DISCARD
        a< OK
        a< QUEUED
        a< QUEUED
        a< OK
        a> MULTI
        a> SUBSCRIBE c
        a> SSUBSCRIBE d
        a> EXEC
        a< OK
        a< QUEUED
        a< QUEUED
        a< [["subscribe" "c" 1] -ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client]
        "#,
    );
}

#[test]
fn pubsub_numsub_replies_with_an_array_in_both_protocols() {
    check(
        "",
        r#"
        a> HELLO 3
        a< {"server": "redis", "version": "7.2.4", "proto": 3, "id": 1, "mode": "standalone", "role": "master", "modules": []}
        a> PUBSUB NUMSUB a b
        a< ["a" 0 "b" 0]
        a> PUBSUB SHARDNUMSUB a
        a< ["a" 0]
        "#,
    );
}

#[test]
fn calls_are_counted_when_they_run_and_by_how_they_end() {
    let script = r#"
        a> MULTI
        a< OK
        a> SET k v
        a< QUEUED
        a> EXEC
        a< [OK]
        a> SET k
        a< -ERR wrong number of arguments for 'set' command
        a> INCR k
        a< -ERR value is not an integer or out of range
        b> CLIENT ID
        b< 2
        b> BLPOP list 0
        a> CLIENT UNBLOCK 2 ERROR
        a< 1
        b< -UNBLOCKED client unblocked via CLIENT UNBLOCK
        a> MULTI
        a< OK
        a> LPUSH k x
        a< QUEUED
        a> EXEC
        a< [-WRONGTYPE Operation against a key holding the wrong kind of value]
        a> INFO commandstats errorstats"#;
    let reply = last_reply("", script, Some("a"));
    for line in [
        "cmdstat_set:calls=1,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=0",
        "cmdstat_incr:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=1",
        "cmdstat_blpop:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=1",
        "cmdstat_exec:calls=2,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=0",
        "cmdstat_lpush:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=1",
        "errorstat_ERR:count=2",
        "errorstat_WRONGTYPE:count=1",
        "errorstat_UNBLOCKED:count=1",
    ] {
        assert!(reply.contains(line), "{line} in {reply}");
    }
}

#[test]
fn times_of_commands_are_counted_by_range() {
    let script = "a> SET k v\na< OK\na> GET k\na< \"v\"\na> LATENCY HISTOGRAM get config nothing";
    let reply = last_reply("", script, Some("a"));
    // Time is paused, so every call takes 0 µs and falls into the first bucket, which ends at 1 µs.
    assert_eq!(reply, r#"["get" ["calls" 1 "histogram_usec" [1 1]]]"#);
    let script = "a> GET k\na< nil\na> GET k\na< nil\na> INFO latencystats";
    let reply = last_reply("", script, Some("a"));
    assert!(
        reply.contains("latency_percentiles_usec_get:p50=1.000,p99=1.000,p99.9=1.000"),
        "{reply}"
    );
    let percentiles = "latency-tracking-info-percentiles 100 12.5";
    let reply = last_reply(percentiles, script, Some("a"));
    assert!(
        reply.contains("latency_percentiles_usec_get:p100=1.000,p12.5=1.000"),
        "{reply}"
    );
    let script = "a> GET k\na< nil\na> CONFIG SET latency-tracking no\na< OK\na> GET k\na< nil\n\
                  a> LATENCY HISTOGRAM get";
    let reply = last_reply("", script, Some("a"));
    assert_eq!(reply, r#"["get" ["calls" 1 "histogram_usec" [1 1]]]"#);
    let mut calls = crate::stats::Calls::default();
    for took_us in [0, 1, 2, 3, 70, 70, u64::MAX / 2000] {
        calls.track(took_us);
    }
    assert_eq!(calls.histogram()[..4], [(1, 2), (2, 3), (4, 4), (131, 6)]);
    assert_eq!(
        [50.0, 99.0].map(|percent| calls.percentile_us(percent)),
        [4, (1024 << 30) / 1000]
    );
}

#[test]
fn texts_equal_those_of_redis() {
    check(
        "",
        r#"
        a> MEMORY nothing
        a< -ERR unknown subcommand 'nothing'. Try MEMORY HELP.
        a> WAIT a 0
        a< -ERR value is not an integer or out of range
        a> WAIT 0 b
        a< -ERR timeout is not an integer or out of range
        a> WAIT 0 -1
        a< -ERR timeout is negative
        a> WAIT 0 9223372036854775807
        a< -ERR timeout is out of range
        a> WAIT 0 0
        a< 0
        a> WAITAOF 2 0 0
        a< -ERR value is out of range, value must between 0 and 1
        a> WAITAOF 0 -1 0
        a< -ERR value is out of range, must be positive
        a> WAITAOF 0 0 9223372036854775807
        a< -ERR timeout is out of range
        a> WAITAOF 1 0 0
        a< -ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.
        a> WAITAOF 0 0 0
        a< [0 0]
        a> CLIENT PAUSE 9223372036854775807
        a< -ERR timeout is out of range
        a> CLIENT PAUSE -1
        a< -ERR timeout is negative
        a> SLOWLOG GET many
        a< -ERR count should be greater than or equal to -1
        a> MOVE small 9223372036854775807
        a< -ERR value is out of range, value must between -2147483648 and 2147483647
        a> MSET small 9999 large 10000
        a< OK
        a> OBJECT REFCOUNT small
        a< 2147483647
        a> OBJECT REFCOUNT large
        a< 1
        "#,
    );
    let shown = last_reply("", "a> MONITOR\na< OK\nb> SELECT 3", Some("a"));
    assert!(shown.ends_with(r#" [3 b:1] "SELECT" "3""#), "{shown}");
}

#[test]
fn a_monitor_sees_a_command_that_waits_once() {
    check(
        "",
        r#"
        a> MONITOR
        a< OK
        b> BLPOP list 0
        a~ "BLPOP" "list" "0"
        c> RPUSH list x
        c< 1
        b< ["list" "x"]
        a~ "RPUSH" "list" "x"
        b> GETORLOCK lock 100
        b< nil
        a~ b:1] "GETORLOCK"
        c> GETORLOCK lock 100
        a~ c:1] "GETORLOCK"
        wait 300
        c< nil
        b> PING
        b< PONG
        a~ "PING"
        "#,
    );
}

#[test]
fn clients_are_killed_by_their_age() {
    check(
        "",
        r#"
        old> PING
        old< PONG
        wait 3000
        new> PING
        new< PONG
        new> CLIENT KILL MAXAGE x
        new< -ERR maxage is not an integer or out of range
        new> CLIENT KILL MAXAGE 0
        new< -ERR maxage should be greater than 0
        new> CLIENT KILL MAXAGE 4
        new< 0
        new> CLIENT KILL MAXAGE 2
        new< 1
        old closed
        new> PING
        new< PONG
        "#,
    );
}

#[test]
fn client_eviction_closes_the_largest_client_first() {
    let value = "v".repeat(40_000);
    let script = format!(
        "small> MULTI
         small< OK
         small> SET a b
         small< QUEUED
         kept> CLIENT NO-EVICT ON
         kept< OK
         kept> MULTI
         kept< OK
         kept> SET k {value}
         kept< QUEUED
         big> MULTI
         big< OK
         big> SET k {value}
         big< QUEUED
         big> SET k {value}
         big closed
         kept> EXEC
         kept< [OK]
         small> EXEC
         small< [OK]
         small> INFO stats"
    );
    for bound in [
        "maxmemory-clients 100kb",
        "maxmemory 10mb\nmaxmemory-clients 1%",
    ] {
        let reported = last_reply(bound, &script, Some("small"));
        assert!(
            reported.contains("evicted_clients:1\\r\\n"),
            "{bound}: {reported}"
        );
    }
}

#[test]
fn client_memory_counts_towards_maxmemory() {
    let value = "v".repeat(60_000);
    check(
        "maxmemory 200kb\nmaxmemory-policy noeviction",
        &format!(
            "a> MULTI
             a< OK
             a> SET k {value}
             a< QUEUED
             a> SET k {value}
             a< QUEUED
             a> SET k {value}
             a< QUEUED
             b> SET k {value}
             b< OK
             b> SET other {value}
             b< -OOM command not allowed when used memory > 'maxmemory'.
             a> DISCARD
             a< OK
             b> SET other {value}
             b< OK"
        ),
    );
}

#[test]
fn a_transaction_is_bounded_also_where_its_arguments_are_empty() {
    let many = "\"\" ".repeat(15_000);
    check(
        "client-query-buffer-limit 1mb",
        &format!(
            "a> MULTI
             a< OK
             a> DEL {many}
             a< QUEUED
             a> DEL {many}
             a< QUEUED
             a> DEL {many}
             a closed"
        ),
    );
}

//! Scripts of clients.

use super::check;

const UNLOCK: &str = "\"if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end\"";

#[test]
fn a_lock_is_released_by_its_owner_alone() {
    check(
        "",
        &format!(
            "a> SET lock mine NX PX 10000
             a< OK
             a> EVAL {UNLOCK} 1 lock other
             a< 0
             a> EVAL {UNLOCK} 1 lock mine
             a< 1
             a> EXISTS lock
             a< 0"
        ),
    );
}

#[test]
fn scripts_are_cached_by_their_sha1() {
    check(
        "",
        r##"
        a> EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0
        a< -NOSCRIPT No matching script. Please use EVAL.
        a> SCRIPT LOAD "return 1"
        a< "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"
        a> EVALSHA E0E1F9FABFC9D4800C877A703B823AC0578FF8DB 0
        a< 1
        a> SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0000000000000000000000000000000000000000
        a< [1 0]
        a> EVAL "return 2" 0
        a< 2
        a> EVALSHA 7f923f79fe76194c868d7e1d0820de36700eb649 0
        a< 2
        a> SCRIPT FLUSH
        a< OK
        a> SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db
        a< [0]
        a> SCRIPT FLUSH NOW
        a< -ERR SCRIPT FLUSH only support SYNC|ASYNC option
        a> SCRIPT LOAD "return 1 +"
        a< -ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'
        a> SCRIPT KILL
        a< -NOTBUSY No scripts in execution right now.
        "##,
    );
}

#[test]
fn calls_of_scripts_are_checked() {
    check(
        "",
        r##"
        a> EVAL "return 1" x
        a< -ERR value is not an integer or out of range
        a> EVAL "return 1" -1
        a< -ERR Number of keys can't be negative
        a> EVAL "return 1" 2 k
        a< -ERR Number of keys can't be greater than number of args
        a> EVAL "return 1"
        a< -ERR wrong number of arguments for 'eval' command
        a> EVAL "return redis.call('nothing')" 0
        a~ -ERR Unknown Redis command called from script script: 
        a> EVAL "return redis.call('get')" 0
        a~ -ERR Wrong number of args calling Redis command from script script: 
        a> EVAL "return redis.call('subscribe', 'c')" 0
        a~ -ERR This Redis command is not allowed from script script: 
        a> EVAL_RO "return redis.call('set', 'k', 'v')" 0
        a~ -ERR Write commands are not allowed from read-only scripts. script: 
        a> EVAL "#!lua flags=no-writes\nreturn redis.call('set', 'k', 'v')" 0
        a~ -ERR Write commands are not allowed from read-only scripts. script: 
        a> EVAL_RO "#!lua\nreturn 1" 0
        a< -ERR Can not execute a script with write flag using *_ro command.
        a> EVAL "#!lua flags=other\nreturn 1" 0
        a< -ERR Unexpected flag in script shebang: other
        a> EVAL_RO "return redis.call('exists', 'k')" 0
        a< 0
        a> LPUSH list x
        a< 1
        a> EVAL "return redis.call('get', KEYS[1])" 1 list
        a~ -WRONGTYPE Operation against a key holding the wrong kind of value script: 
        a> COMMAND GETKEYS EVAL "return 1" 2 a b c
        a< ["a" "b"]
        a> COMMAND GETKEYS EVAL "return 1" 0
        a< []
        "##,
    );
}

#[test]
fn commands_of_scripts_never_wait_and_keep_their_database() {
    check(
        "",
        r##"
        a> EVAL "redis.call('select', 3); redis.call('set', 'k', 'three'); return redis.call('blpop', 'none', 0)" 0
        a< nil
        a> GET k
        a< nil
        a> SELECT 3
        a< OK
        a> GET k
        a< "three"
        "##,
    );
}

#[test]
fn scripts_wake_blocked_clients_when_they_end() {
    check(
        "",
        r##"
        a> BLPOP queue 0
        b> EVAL "redis.call('rpush', 'queue', 'one'); return redis.call('llen', 'queue')" 0
        b< 1
        a< ["queue" "one"]
        b> LLEN queue
        b< 0
        "##,
    );
}

#[test]
fn scripts_run_within_transactions() {
    check(
        "",
        r##"
        a> MULTI
        a< OK
        a> EVAL "return redis.call('incr', 'n')" 0
        a< QUEUED
        a> EVAL "return redis.call('incr', 'n')" 0
        a< QUEUED
        a> EXEC
        a< [1 2]
        "##,
    );
}

#[test]
fn a_busy_script_keeps_others_out_and_can_be_killed() {
    check(
        "busy-reply-threshold 1",
        r##"
        a> EVAL "while true do end" 0
        b> GET k
        b< -BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.
        b> EVAL "return 1" 0
        b< -BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.
        b> SHUTDOWN
        b< -BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.
        b> SCRIPT KILL
        b< OK
        a~ -ERR Script killed by user with SCRIPT KILL. script: 
        b> GET k
        b< nil
        a> PING
        a< PONG
        "##,
    );
}

#[test]
fn a_script_that_has_written_cannot_be_killed() {
    check(
        "busy-reply-threshold 1",
        r##"
        a> EVAL "redis.call('set', 'k', 'v') for i = 1, 20000000 do end return redis.call('get', 'k')" 0
        b> SCRIPT KILL
        b~ -UNKILLABLE Sorry the script already executed write commands against the dataset.
        a< "v"
        b> GET k
        b< "v"
        "##,
    );
}

#[test]
fn a_transaction_goes_on_after_a_busy_script() {
    check(
        "busy-reply-threshold 1",
        r##"
        a> MULTI
        a< OK
        a> SET k 1
        a< QUEUED
        a> EVAL "for i = 1, 20000000 do end return redis.call('incr', 'k')" 0
        a< QUEUED
        a> INCR k
        a< QUEUED
        a> EXEC
        b> GET k
        b~ -BUSY Redis is busy running a script.
        a< [OK 2 3]
        b> GET k
        b< "3"
        "##,
    );
}

#[test]
fn a_busy_script_survives_its_client() {
    check(
        "busy-reply-threshold 1",
        r##"
        a> EVAL "while true do end" 0
        a closes
        b> GET k
        b~ -BUSY Redis is busy running a script.
        b> SCRIPT KILL
        b< OK
        b> GET k
        b< nil
        "##,
    );
}

#[test]
fn memory_is_checked_when_a_script_starts() {
    check(
        "maxmemory 1",
        r##"
        a> EVAL "return redis.call('set', 'k', 'v')" 0
        a~ -OOM command not allowed when used memory
        a> EVAL "#!lua\nreturn redis.call('set', 'k', 'v')" 0
        a< -OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'
        a> EVAL "#!lua flags=allow-oom\nreturn redis.call('set', 'k', 'v')" 0
        a< OK
        a> EVAL "return redis.call('get', 'k')" 0
        a< "v"
        "##,
    );
}

#[test]
fn transactions_end_when_a_busy_script_keeps_them_out() {
    check(
        "busy-reply-threshold 1",
        r#"
        b> MULTI
        b< OK
        b> SET k 1
        b< QUEUED
        a> EVAL "while true do end" 0
        b> EXEC
        b< -EXECABORT Transaction discarded because of: BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.
        b> SCRIPT KILL
        b< OK
        b> EXEC
        b< -ERR EXEC without MULTI
        b> GET k
        b< nil
        "#,
    );
}

#[test]
fn monitors_see_a_script_and_its_commands() {
    check(
        "",
        r#"
        m> MONITOR
        m< OK
        a> EVAL "return redis.call('get', 'k')" 0
        a< nil
        m~ "EVAL" "return redis.call('get', 'k')" "0"
        m~ [0 lua] "get" "k"
        "#,
    );
}

#[test]
fn scripts_that_only_read_publish_nothing() {
    check(
        "",
        r#"
        a> EVAL_RO "return redis.call('publish', 'c', 'm')" 0
        a~ -ERR Write commands are not allowed from read-only scripts.
        a> EVAL "return redis.call('publish', 'c', 'm')" 0
        a< 0
        "#,
    );
}

#[test]
fn errors_of_commands_are_counted_once() {
    check(
        "",
        r#"
        a> EVAL "return redis.call('select', 99)" 0
        a~ -ERR DB index is out of range script: 
        a> EVAL "return redis.pcall('select', 99)" 0
        a< -ERR DB index is out of range
        a> EVAL "return redis.pcall('select', 99).err" 0
        a< "ERR DB index is out of range"
        a> EVAL_RO "return redis.pcall('set', 'k', 'v')" 0
        a< -ERR Write commands are not allowed from read-only scripts.
        a> EVAL "return redis.error_reply('MINE text')" 0
        a< -MINE text
        a> EVAL "return {err = 'MINE other'}" 0
        a< -MINE other
        a> INFO errorstats
        a~ errorstat_ERR:count=4\r\nerrorstat_MINE:count=2\r\n
        a> INFO commandstats
        a~ cmdstat_set:calls=0,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=0
        "#,
    );
}

#[test]
fn a_pause_of_writes_delays_scripts_by_their_flags() {
    check(
        "",
        r##"
        a> FUNCTION LOAD "#!lua name=l\nredis.register_function('f', function() return 3 end) redis.register_function{function_name='g', callback=function() return 4 end, flags={'no-writes'}}"
        a< "l"
        d> MULTI
        d< OK
        d> EVAL "return 1" 0
        d< QUEUED
        a> CLIENT PAUSE 500 WRITE
        a< OK
        b> EVAL "#!lua flags=no-writes\nreturn 1" 0
        b< 1
        b> FCALL g 0
        b< 4
        b> EVAL_RO "return 2" 0
        b< 2
        b> MULTI
        b< OK
        b> EVAL "#!lua flags=no-writes\nreturn 1" 0
        b< QUEUED
        b> EXEC
        b< [1]
        d> EXEC
        d<
        c> FCALL f 0
        c<
        wait 600
        d< [1]
        c< 3
        "##,
    );
}

#[test]
fn sort_of_a_set_has_a_fixed_order_in_scripts() {
    check(
        "",
        r#"
        a> SADD s c a b 10 9
        a< 5
        a> EVAL "return redis.call('sort', 's', 'by', 'none')" 0
        a< ["10" "9" "a" "b" "c"]
        "#,
    );
}

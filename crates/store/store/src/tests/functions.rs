//! Libraries of functions.

use super::check;

#[test]
fn functions_are_called_by_name() {
    check(
        "",
        r##"
        a> FUNCTION LOAD "#!lua name=lib\nredis.register_function('set', function(keys, args) return redis.call('set', keys[1], args[1]) end)"
        a< "lib"
        a> FCALL SET 1 k v
        a< OK
        a> GET k
        a< "v"
        a> FCALL none 0
        a< -ERR Function not found
        a> FCALL set x
        a< -ERR Bad number of keys provided
        a> FCALL set -1
        a< -ERR Number of keys can't be negative
        a> FCALL set 2 k
        a< -ERR Number of keys can't be greater than number of args
        a> FCALL_RO set 1 k v
        a< -ERR Can not execute a script with write flag using *_ro command.
        a> COMMAND GETKEYS FCALL set 1 k v
        a< ["k"]
        a> FUNCTION LIST
        a< [["library_name" "lib" "engine" "LUA" "functions" [["name" "set" "description" nil "flags" []]]]]
        a> FUNCTION STATS
        a< ["running_script" nil "engines" ["LUA" ["libraries_count" 1 "functions_count" 1]]]
        a> FUNCTION DELETE lib
        a< OK
        a> FCALL set 1 k v
        a< -ERR Function not found
        a> FUNCTION DELETE lib
        a< -ERR Library not found
        "##,
    );
}

#[test]
fn a_library_that_cannot_be_loaded_changes_nothing() {
    check(
        "",
        r##"
        a> FUNCTION LOAD "#!lua name=one\nredis.register_function('f', function() return 1 end)"
        a< "one"
        a> FUNCTION LOAD "#!lua name=one\nredis.register_function('f', function() return 2 end)"
        a< -ERR Library 'one' already exists
        a> FUNCTION LOAD REPLACE "#!lua name=one\nredis.register_function('f', function() return 2 end) error('late')"
        a~ -ERR Error registering functions: ERR user_function:2: Script attempted to access nonexistent global variable 'error'
        a> FUNCTION LOAD "#!lua name=two\nredis.register_function('g', function() end) redis.register_function('F', function() end)"
        a< -ERR Function F already exists
        a> FUNCTION LOAD "#!lua name=two\nlocal x = 1"
        a< -ERR No functions registered
        a> FUNCTION LOAD NOW "#!lua name=two\nlocal x = 1"
        a< -ERR Unknown option given: NOW
        a> FUNCTION LOAD "#!lua name=two\nwhile true do end"
        a< -ERR Error registering functions: ERR FUNCTION LOAD timeout
        a> FCALL f 0
        a< 1
        a> FCALL g 0
        a< -ERR Function not found
        a> FUNCTION LOAD REPLACE "#!lua name=one\nredis.register_function('g', function() return 2 end)"
        a< "one"
        a> FCALL f 0
        a< -ERR Function not found
        a> FCALL g 0
        a< 2
        a> FUNCTION FLUSH NOW
        a< -ERR FUNCTION FLUSH only supports SYNC|ASYNC option
        a> SCRIPT FLUSH
        a< OK
        a> FCALL g 0
        a< 2
        a> FUNCTION FLUSH
        a< OK
        a> FUNCTION LIST
        a< []
        "##,
    );
}

#[test]
fn flags_of_functions_are_checked() {
    check(
        "maxmemory 1",
        r##"
        a> CONFIG SET maxmemory 0
        a< OK
        a> FUNCTION LOAD "#!lua name=l\nlocal function set() return redis.call('set', 'k', 'v') end redis.register_function('plain', set) redis.register_function{function_name='reads', callback=set, flags={'no-writes'}, description='text'} redis.register_function{function_name='oom', callback=set, flags={'allow-oom'}}"
        a< "l"
        a> FUNCTION LIST LIBRARYNAME m*
        a< []
        a> FUNCTION LIST LIBRARYNAME
        a< -ERR library name argument was not given
        a> FUNCTION LIST WITHCODE WITHCODE
        a< -ERR Unknown argument WITHCODE
        a> FUNCTION LIST LIBRARYNAME ?
        a< [["library_name" "l" "engine" "LUA" "functions" [["name" "oom" "description" nil "flags" [allow-oom]] ["name" "plain" "description" nil "flags" []] ["name" "reads" "description" "text" "flags" [no-writes]]]]]
        a> FCALL reads 0
        a< -ERR Write commands are not allowed from read-only scripts. script: reads, on @user_function:2.
        a> CONFIG SET maxmemory 1
        a< OK
        a> FCALL plain 0
        a< -OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'
        a> FCALL oom 0
        a< OK
        a> FUNCTION LOAD "#!lua name=m\nlocal x = 1"
        a< -OOM command not allowed when used memory > 'maxmemory'.
        "##,
    );
}

#[test]
fn a_busy_function_is_ended_by_function_kill() {
    check(
        "busy-reply-threshold 1",
        r##"
        a> FUNCTION LOAD "#!lua name=l\nredis.register_function('spin', function() while true do end end)"
        a< "l"
        a> FCALL spin 0
        b> GET k
        b< -BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.
        b> SCRIPT KILL
        b< -BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.
        b> FUNCTION STATS
        b~ ["running_script" ["name" "spin" "command" ["FCALL" "spin" "0"] "duration_ms" 
        b> FUNCTION KILL
        b< OK
        a~ -ERR Script killed by user with FUNCTION KILL. script: spin, on @user_function:2.
        b> FUNCTION KILL
        b< -NOTBUSY No scripts in execution right now.
        a> EVAL "while true do end" 0
        b> FUNCTION KILL
        b< -BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.
        b> SCRIPT KILL
        b< OK
        a~ -ERR Script killed by user with SCRIPT KILL. script: 
        "##,
    );
}

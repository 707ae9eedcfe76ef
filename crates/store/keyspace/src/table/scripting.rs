//! Rows of the command table for scripts and functions, which the crate `store` executes.

use super::rows::rows;
use crate::command::Handler::{Container, Help, Service};
use crate::command::{Command, Flags, Group, Keys};

const NONE: Keys = Keys::None;
const KEYS: Keys = Keys::Counted { at: 2 };

rows! {
    "eval" -3 [NOSCRIPT STALE SKIP_MONITOR NO_MANDATORY_KEYS], KEYS, Scripting, "2.6.0", "the complexity of the commands in the script",
        Service, "Runs a Lua script.", "script numkeys:integer [key ...] [arg ...]";
    "eval_ro" -3 [NOSCRIPT STALE SKIP_MONITOR NO_MANDATORY_KEYS READONLY], KEYS, Scripting, "7.0.0", "the complexity of the commands in the script",
        Service, "Runs a Lua script that only reads data.", "script numkeys:integer [key ...] [arg ...]";
    "evalsha" -3 [NOSCRIPT STALE SKIP_MONITOR NO_MANDATORY_KEYS], KEYS, Scripting, "2.6.0", "the complexity of the commands in the script",
        Service, "Runs the cached script that has the given SHA-1.", "sha1 numkeys:integer [key ...] [arg ...]";
    "evalsha_ro" -3 [NOSCRIPT STALE SKIP_MONITOR NO_MANDATORY_KEYS READONLY], KEYS, Scripting, "7.0.0", "the complexity of the commands in the script",
        Service, "Runs a cached script that only reads data.", "sha1 numkeys:integer [key ...] [arg ...]";
    "fcall" -3 [NOSCRIPT STALE SKIP_MONITOR NO_MANDATORY_KEYS], KEYS, Scripting, "7.0.0", "the complexity of the commands in the function",
        Service, "Calls a function of a library.", "function numkeys:integer [key ...] [arg ...]";
    "fcall_ro" -3 [NOSCRIPT STALE SKIP_MONITOR NO_MANDATORY_KEYS READONLY], KEYS, Scripting, "7.0.0", "the complexity of the commands in the function",
        Service, "Calls a function that only reads data.", "function numkeys:integer [key ...] [arg ...]";
    "function" -2 [], NONE, Scripting, "7.0.0", "see the subcommands",
        Container, "Controls the libraries of functions and the running function.";
    "function|delete" 3 [NOSCRIPT WRITE], NONE, Scripting, "7.0.0", "O(1)",
        Service, "Removes a library.", "library-name";
    "function|dump" 2 [NOSCRIPT], NONE, Scripting, "7.0.0", "O(N) for N bytes",
        Service, "Returns all libraries in the form for FUNCTION RESTORE.";
    "function|flush" -2 [NOSCRIPT WRITE], NONE, Scripting, "7.0.0", "O(N) for N functions",
        Service, "Removes all libraries.", "[ASYNC | SYNC]";
    "function|help" 2 [LOADING STALE], NONE, Scripting, "7.0.0", "O(1)",
        Help, "Lists the subcommands.";
    "function|kill" 2 [NOSCRIPT ALLOW_BUSY], NONE, Scripting, "7.0.0", "O(1)",
        Service, "Ends the running function, unless it has changed data.";
    "function|list" -2 [NOSCRIPT], NONE, Scripting, "7.0.0", "O(N) for N functions",
        Service, "Returns the libraries and their functions.", "[LIBRARYNAME library-name-pattern] [WITHCODE]";
    "function|load" -3 [NOSCRIPT WRITE DENYOOM], NONE, Scripting, "7.0.0", "O(N) for N bytes",
        Service, "Loads a library, and returns its name.", "[REPLACE] function-code";
    "function|restore" -3 [NOSCRIPT WRITE DENYOOM], NONE, Scripting, "7.0.0", "O(N) for N bytes",
        Service, "Loads the libraries of FUNCTION DUMP.", "serialized-value [FLUSH | APPEND | REPLACE]";
    "function|stats" 2 [NOSCRIPT ALLOW_BUSY], NONE, Scripting, "7.0.0", "O(1)",
        Service, "Returns the running function, and the number of libraries and functions.";
    "script" -2 [], NONE, Scripting, "2.6.0", "see the subcommands",
        Container, "Controls the cache of scripts and the running script.";
    "script|debug" 3 [NOSCRIPT], NONE, Scripting, "3.2.0", "O(1)",
        Service, "Accepts only NO: there is no debugger.", "(YES | SYNC | NO)";
    "script|exists" -3 [NOSCRIPT], NONE, Scripting, "2.6.0", "O(N) for N scripts",
        Service, "Returns for each given SHA-1 whether its script is cached.", "sha1 ...";
    "script|flush" -2 [NOSCRIPT], NONE, Scripting, "2.6.0", "O(N) for N cached scripts",
        Service, "Removes all scripts from the cache.", "[ASYNC | SYNC]";
    "script|help" 2 [LOADING STALE], NONE, Scripting, "5.0.0", "O(1)",
        Help, "Lists the subcommands.";
    "script|kill" 2 [NOSCRIPT ALLOW_BUSY], NONE, Scripting, "2.6.0", "O(1)",
        Service, "Ends the running script, unless it has changed data.";
    "script|load" 3 [NOSCRIPT STALE], NONE, Scripting, "2.6.0", "O(N) for N bytes",
        Service, "Caches a script, and returns its SHA-1.", "script";
}

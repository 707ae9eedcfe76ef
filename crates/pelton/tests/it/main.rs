//! The program from outside: spawn it, speak to it, stop it, kill it, and see what it says and how it ends.

mod harness;

mod access;
mod backends;
mod bad_input;
mod cells;
mod changes;
mod check;
mod commands;
mod covers;
mod crash;
mod disk;
mod documents;
mod flights;
mod floods;
mod framing;
mod h2;
mod improvement;
mod life;
mod negotiation;
mod overload;
mod paths;
mod players;
mod programs;
mod queries;
mod record;
mod room;
mod scan;
mod semantics;
mod slow;
mod soak;
mod steady;
mod store;
mod tls;
mod types;
mod wire;

//! Parts that the developer tools share: `xtask`, `conform`, `mediagen` and `lab`.
//!
//! Principal types: [`stop::Stop`], the error that ends a tool with an exit code and a hint, and
//! [`build::Build`], through which all tools call cargo. The other modules run child processes,
//! install Debian packages and outside tools, and find the cache folder. No program that users run
//! imports this crate.
//!
//! Data goes to stdout, everything else to stderr. Each line on stderr begins with the tool's name.
//! Exit codes: 0 ok, 1 findings, 2 usage, 3 host.

#![forbid(unsafe_code)]

pub mod build;
pub mod cache;
pub mod command;
pub mod debian;
pub mod node;
pub mod stop;
pub mod target_dir;
pub mod tools;

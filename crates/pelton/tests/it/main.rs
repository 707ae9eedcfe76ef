//! The program from outside: spawn it, and see what it says and how it ends.

mod check;

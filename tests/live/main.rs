//! Tests against real machines: the lab must be up (`make lab`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod containers;
mod lab;
mod runs;

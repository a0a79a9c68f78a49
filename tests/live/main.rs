//! Tests against real machines: the lab must be up (`make lab`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests touch the disk")]

mod containers;
mod lab;
mod runs;

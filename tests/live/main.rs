//! Tests against real machines: the lab must be up (`make lab`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests touch the disk")]

mod containers;
mod ec2;
mod ecs;
mod faults;
mod files;
mod html;
mod keys;
mod kills;
mod lab;
mod ledger;
mod limits;
mod locks;
mod noise;
mod reach;
mod resume;
mod runs;
mod ssh;
mod ssh_login;
mod vagrant;

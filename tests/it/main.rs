//! Tests that need no machine but this one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests touch the disk")]

mod metrics;
mod report;

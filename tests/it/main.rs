//! Tests that need no machine but this one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod metrics;
mod report;

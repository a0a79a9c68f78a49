//! Every test that needs no other machine, as one binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests touch the disk")]

mod adaptive;
mod architecture;
mod aside;
mod cases;
mod charts;
mod cli;
mod cli_check;
mod cli_compare;
mod cli_explain;
mod cli_extract;
mod cli_init;
mod cli_plan;
mod cli_report;
mod costs;
mod details;
mod docs;
mod end_to_end;
mod excluded;
mod failures;
mod form;
mod keys;
mod labels;
mod language;
mod leftovers;
mod limits;
mod messages;
mod metrics;
mod monitor;
mod noise;
mod pipeline;
mod plan;
mod problems;
mod report;
mod resume;
mod retries;
mod schema;
mod services;
mod small_runs;
mod templates;
mod unusual;
mod world;

//! Declarative experiments on real machines. The folder list is the data flow:
//!
//! ```text
//!  experiments/x.yaml --spec--> Spec --plan--> Plan (cells, trials)                pure: text in, values out
//!                                               |
//!       hosts -> Machine -> environments -> Place -> execution -> Event --> ui (progress)
//!                               (over transports)        |          \--> record -> results/x/<run>/
//!                                                     metrics                        |
//!  ------------------------------ the seam: files on disk ---------------------------+----------------
//!                               report <-- Summary <-- analysis <-- Record <---------/   pure again
//!                            (templates/)
//! ```
//!
//! One half measures and writes, the other reads and reports; they meet only in the files of `results/`.

pub mod analysis;
pub mod cli;
pub mod commands;
pub mod cores;
pub mod diagnostic;
pub mod environments;
pub mod error;
pub mod event;
pub mod execution;
pub mod hosts;
pub mod metrics;
pub mod monitor;
pub mod plan;
pub mod record;
pub mod report;
pub mod secrets;
pub mod spec;
pub mod terminal;
pub mod transports;
pub mod ui;
pub mod units;

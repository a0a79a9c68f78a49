//! `services`: processes that a workload needs beside it. Read [`Service`] first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::located::{Located, Text};
use super::metric::Metrics;
use super::schema;
use super::time::TimeSpan;
use super::workload::Command;

/// A process beside the workload, started before `prepare` and always stopped.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// The host it runs on.
    ///
    /// Default: the trial's. Example: `host: gigabit-server`
    pub host: Option<Text>,
    /// The environment it runs in.
    ///
    /// Default: the trial's. Example: `environment: native`
    pub environment: Option<Text>,
    /// The command: a line for the shell, or a list of arguments. A free port is offered as `{{ port }}`.
    ///
    /// Example: `run: "iperf3 --server --port {{ port }}"`
    pub run: Command,
    /// The sign that it may be used.
    ///
    /// Example: `ready: { port: "{{ port }}", within: 10s }`
    pub ready: Located<Ready>,
    /// How it is ended after each trial.
    ///
    /// Default: `{ signal: TERM, grace: 5s }`. Example: `stop: { signal: INT, grace: 10s }`
    pub stop: Option<StopRule>,
    /// What is read from its own output; the metrics are called `SERVICE.METRIC`.
    ///
    /// Default: nothing. Example: `metrics: { tool: iperf3 }`
    #[serde(default, skip_serializing_if = "Metrics::is_empty")]
    pub metrics: Metrics,
}

/// The sign that a service may be used: one of `port`, `log`, `command`, or `delay` alone.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = schema::ready()))]
pub struct Ready {
    /// Something listens on this TCP port of the service's machine. No connection is made.
    ///
    /// Example: `port: "{{ port }}"`
    #[schemars(with = "Option<schema::Port>")]
    pub port: Option<Text>,
    /// A line of its output matches this regular expression.
    ///
    /// Example: `log: "listening on \\d+"`
    pub log: Option<Text>,
    /// This command ends with 0 where the service runs.
    ///
    /// Example: `command: redis-cli ping`
    pub command: Option<Text>,
    /// A wait: after the sign, or instead of one.
    ///
    /// Default: none. Example: `delay: 500ms`
    pub delay: Option<Located<TimeSpan>>,
    /// The longest wait for the sign.
    ///
    /// Default: `10s`. Example: `within: 30s`
    pub within: Option<Located<TimeSpan>>,
}

/// How a service is ended.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopRule {
    /// The first signal that its processes get; KILL comes after `grace`.
    ///
    /// Default: `TERM`. Example: `signal: INT`
    pub signal: Option<Located<Signal>>,
    /// How long it may take to end by itself after the signal.
    ///
    /// Default: `5s`. Example: `grace: 10s`
    pub grace: Option<Located<TimeSpan>>,
}

/// A signal that ends a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum Signal {
    /// The polite one.
    #[default]
    #[serde(alias = "SIGTERM")]
    Term,
    /// What Ctrl-C sends.
    #[serde(alias = "SIGINT")]
    Int,
    /// What a closed terminal sends.
    #[serde(alias = "SIGHUP")]
    Hup,
    /// Ctrl-\.
    #[serde(alias = "SIGQUIT")]
    Quit,
    /// Free for the program's own use.
    #[serde(alias = "SIGUSR1")]
    Usr1,
    /// Free for the program's own use.
    #[serde(alias = "SIGUSR2")]
    Usr2,
    /// The one that can't be refused.
    #[serde(alias = "SIGKILL")]
    Kill,
}

impl Signal {
    /// Its name without `SIG`.
    pub fn as_str(self) -> &'static str {
        match self {
            Signal::Term => "TERM",
            Signal::Int => "INT",
            Signal::Hup => "HUP",
            Signal::Quit => "QUIT",
            Signal::Usr1 => "USR1",
            Signal::Usr2 => "USR2",
            Signal::Kill => "KILL",
        }
    }
}

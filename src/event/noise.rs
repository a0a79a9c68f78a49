//! What a machine was like around a trial: figures that it told right before and right after the measured
//! command, and what about them makes the trial suspicious. Read [`Noise`] first.

use serde::{Deserialize, Serialize};

/// The state of one machine around one command. What the machine does not tell is missing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Noise {
    /// The load average over a minute, right before the command. In a container it is that of its host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_before: Option<f64>,
    /// The same right after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_after: Option<f64>,
    /// How much of the time in which CPUs had something to do the hypervisor took away, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_percent: Option<f64>,
    /// How much of the time of all CPUs they had nothing to do, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_percent: Option<f64>,
    /// User time of programs that are not part of the command, in percent of one CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others_cpu_percent: Option<f64>,
    /// How much of the time some task waited for a CPU, in percent; the command's own count too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_pressure_percent: Option<f64>,
    /// The same for input and output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_pressure_percent: Option<f64>,
    /// The same for memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_pressure_percent: Option<f64>,
    /// The hottest sensor of the CPU before the command, in degrees Celsius.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_c_before: Option<f64>,
    /// The same after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_c_after: Option<f64>,
    /// The governor of the CPU's frequency before the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// The governor after it, where it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor_after: Option<String>,
    /// The highest frequency that is allowed, before the command, in kHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_limit_khz: Option<u64>,
    /// The same after it, where it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_limit_khz_after: Option<u64>,
    /// Whether the CPU was slowed down for its heat or its supply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled: Option<bool>,
    /// By what a Raspberry Pi's firmware has held the CPU back meanwhile; empty for other machines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub throttled_by: Vec<Throttling>,
    /// By what it had done so since the machine's start, but not meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub throttled_earlier: Vec<Throttling>,
    /// Why the figures of the trial are to be taken with care.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suspicious: Vec<Suspicion>,
}

impl Noise {
    /// Whether the machine told nothing at all.
    pub fn is_empty(&self) -> bool {
        *self == Noise::default()
    }
}

/// By what a Raspberry Pi's firmware holds the CPU back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Throttling {
    /// The supply is too low.
    UnderVoltage,
    /// The frequency is capped.
    FrequencyCapped,
    /// It is throttled.
    Throttled,
    /// The soft temperature limit is reached.
    SoftTemperatureLimit,
}

/// Why a trial is suspicious.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Suspicion {
    /// Something that the run has not started was at work before the command.
    Load,
    /// Programs that are not part of the trial used a CPU meanwhile.
    OtherPrograms,
    /// The hypervisor took time away.
    Steal,
    /// The CPU was slowed down.
    Throttled,
    /// The CPU was at a temperature where it is slowed down.
    Hot,
    /// The governor was changed meanwhile.
    Governor,
    /// The frequency limit, or whether the CPU may go above its nominal frequency, was changed meanwhile.
    FrequencyLimit,
    /// The machine's clock was set meanwhile.
    ClockSet,
}

/// One `wait_idle` or `cool_down` that was waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// `wait_idle` or `cool_down`.
    pub step: String,
    /// The machine that was looked at.
    pub host: String,
    /// How long it took, in seconds.
    pub waited_s: f64,
    /// What was found at first: the load of a second, or degrees Celsius.
    pub first: f64,
    /// What was found when the machine was fit.
    pub last: f64,
}

//! The steps that wait until a machine is fit to be measured: `wait_idle` and `cool_down`. They are found in
//! a [`super::step::Step`]; here are their settings and their defaults.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error};

use super::time::TimeSpan;

/// The load below which a machine counts as idle when the file does not say: a daemon now and then stays
/// below it, one busy program is 1.
const LOAD_BELOW: f64 = 0.3;
/// How long to wait for an idle machine when the file does not say.
const IDLE_WITHIN: Duration = Duration::from_secs(60);
/// How long to wait for a cool machine when the file does not say: cooling down takes minutes.
const COOL_WITHIN: Duration = Duration::from_secs(300);

/// The step `wait_idle`: goes on once the machine below the place has nothing to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WaitIdle {
    /// Tasks that run or wait for a disk, on average over a second.
    pub load_below: f64,
    /// The longest time to wait.
    pub within: TimeSpan,
}

/// The step `cool_down`: goes on once the CPU of the machine below the place is cool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoolDown {
    /// The highest temperature to go on at is just below this.
    pub below: Celsius,
    /// The longest time to wait.
    pub within: TimeSpan,
    /// Whether a machine without a thermal sensor gives a warning instead of a failure.
    pub optional: bool,
}

/// Settings of `wait_idle`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitIdleFields {
    /// How many tasks may run or wait for a disk, on average over a second. One busy program is 1.
    ///
    /// Default: `0.3`. Example: `{ load_below: 0.1 }`
    #[schemars(extend("exclusiveMinimum" = 0))]
    load_below: Option<f64>,
    /// The longest time to wait; a machine that is busy longer fails the trial.
    ///
    /// Default: `60s`. Example: `{ within: 5m }`
    within: Option<TimeSpan>,
}

/// Settings of `cool_down`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CoolDownFields {
    /// The temperature of the CPU must be below this.
    ///
    /// Example: `{ below: 60C }`
    below: Celsius,
    /// The longest time to wait; a machine that is hot longer fails the trial.
    ///
    /// Default: `5m`. Example: `{ below: 60C, within: 10m }`
    within: Option<TimeSpan>,
    /// Whether a machine without a thermal sensor gives a warning instead of a failure.
    ///
    /// Default: `false`. Example: `{ below: 60C, optional: true }`
    optional: Option<bool>,
}

impl Default for WaitIdle {
    fn default() -> Self {
        WaitIdle { load_below: LOAD_BELOW, within: TimeSpan(IDLE_WITHIN) }
    }
}

impl TryFrom<WaitIdleFields> for WaitIdle {
    type Error = String;

    fn try_from(fields: WaitIdleFields) -> Result<Self, String> {
        let default = WaitIdle::default();
        let load_below = fields.load_below.unwrap_or(default.load_below);
        if !(load_below > 0.0 && load_below.is_finite()) {
            return Err("`load_below` must be above 0: no machine does less than nothing".into());
        }
        Ok(WaitIdle { load_below, within: fields.within.unwrap_or(default.within) })
    }
}

impl From<CoolDownFields> for CoolDown {
    fn from(CoolDownFields { below, within, optional }: CoolDownFields) -> Self {
        let within = within.unwrap_or(TimeSpan(COOL_WITHIN));
        CoolDown { below, within, optional: optional.unwrap_or(false) }
    }
}

/// A temperature in degrees Celsius.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Celsius(pub f64);

impl Celsius {
    /// Reads `60C`, `60 °C`, `72.5C`.
    ///
    /// # Errors
    /// When it is something else, or has no unit.
    pub fn parse(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains('e');
        let number = |text: &str| text.parse::<f64>().ok().filter(|_| is_number(text));
        if number(trimmed).is_some() {
            return Err(format!("`{text}` has no unit: write `{trimmed}C`"));
        }
        let bare = trimmed.strip_suffix('C').map(|bare| bare.strip_suffix('°').unwrap_or(bare).trim_end());
        let degrees = bare.and_then(number).filter(|degrees| *degrees > 0.0);
        degrees.map(Celsius).ok_or_else(|| format!("`{text}` is not a temperature such as `60C` or `72.5C`"))
    }
}

impl std::fmt::Display for Celsius {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}C", self.0)
    }
}

impl<'de> Deserialize<'de> for Celsius {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Celsius::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::Celsius;

    #[test]
    fn temperatures_as_people_write_them() {
        for (text, degrees) in [("60C", 60.0), ("60 °C", 60.0), (" 72.5°C ", 72.5)] {
            assert_eq!(Celsius::parse(text), Ok(Celsius(degrees)), "{text}");
        }
        for text in ["60", "60F", "C", "-3C", "0C", "hot", "1e2C", "infC", ""] {
            assert!(Celsius::parse(text).is_err(), "{text}");
        }
        assert_eq!(Celsius(72.5).to_string(), "72.5C");
    }
}

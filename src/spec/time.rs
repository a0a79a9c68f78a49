//! Durations as people write them: `250ms`, `30s`, `1h30m`, `5 min`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error};

/// A positive length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct TimeSpan(pub Duration);

impl<'de> Deserialize<'de> for TimeSpan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        TimeSpan::parse(&text).map_err(D::Error::custom)
    }
}

impl TimeSpan {
    /// Reads `250ms`, `30s`, `1h30m`, `5 min`.
    ///
    /// # Errors
    /// When it is something else, or has no unit.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse(text).map(TimeSpan)
    }
}

impl std::fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match jiff::SignedDuration::try_from(self.0) {
            Ok(duration) => write!(f, "{duration:#}"),
            Err(_) => write!(f, "{}s", self.0.as_secs()),
        }
    }
}

fn parse(text: &str) -> Result<Duration, String> {
    if text.trim().parse::<f64>().is_ok() {
        return Err(format!("`{text}` has no unit: write `{text}s` or `{text}ms`"));
    }
    let parsed: jiff::SignedDuration =
        text.parse().map_err(|_| format!("`{text}` is not a duration such as `250ms`, `30s` or `1h30m`"))?;
    Duration::try_from(parsed).map_err(|_| format!("`{text}` is negative"))
}

#[cfg(test)]
mod tests {
    use super::parse;
    use std::time::Duration;

    #[test]
    fn as_people_write_them() {
        for (text, milliseconds) in
            [("250ms", 250), ("30s", 30_000), ("1h30m", 5_400_000), ("5 min", 300_000)]
        {
            assert_eq!(parse(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["30", "0.5", "5 parsecs", "-3s", ""] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}

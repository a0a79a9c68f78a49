//! From records to numbers: pure functions, no file and no formatting. Only trials that are ok count; a
//! failed one is never 0. Read [`Summary`] and [`summarise`] first.

mod compare;
mod descriptive;
mod differences;
mod forecast;
mod interval;
mod noise;
#[cfg(test)]
mod reference;
mod standing;
mod summary;

pub use compare::Ratio;
pub use descriptive::Description;
pub use differences::{Difference, Group, differences};
pub use forecast::{Forecast, Load, forecast};
pub use interval::Interval;
pub use noise::{SuspiciousHost, suspicious_hosts};
pub use standing::{Standing, standing};
pub use summary::{ELAPSED, MetricKey, Summary, summarise};

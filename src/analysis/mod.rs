//! From records to numbers: pure functions, no file and no formatting. Only trials that are ok count; a
//! failed one is never 0. Read [`Summary`] and [`summarise`] first.

mod compare;
mod descriptive;
mod differences;
mod distribution;
mod drift;
mod forecast;
mod interval;
mod mean;
mod noise;
mod precision;
#[cfg(test)]
mod reference;
mod standing;
mod summary;

pub use compare::Ratio;
pub use descriptive::Description;
pub use differences::{Difference, Group, Versions, differences, versions};
pub use distribution::{Merged, QUANTILES, distributions};
pub use drift::Drift;
pub use forecast::{Forecast, Load, forecast};
pub use interval::Interval;
pub use mean::Mean;
pub use noise::{SuspiciousHost, suspicious_hosts};
pub use precision::{is_precise, width};
pub use standing::{Standing, open, standing};
pub use summary::{MetricKey, Summary, summarise};

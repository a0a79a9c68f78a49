//! Units of measured values: how they are stored (always base units) and how they are shown.
//! It knows nothing of tools or tables; read [`Unit`] first.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The unit a value is stored in. Known units scale when shown (bit/s becomes Mbit/s); any other
/// text is kept as it is and never scaled.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Unit {
    /// Network rates, stored in bit/s, shown with decimal prefixes (1 Mbit/s = 10^6 bit/s).
    BitPerSecond,
    /// Storage and memory rates, stored in byte/s, shown with decimal prefixes (1 MB/s = 10^6 byte/s).
    BytePerSecond,
    /// Amounts of data in bytes.
    Byte,
    /// Durations in seconds, shown as s, ms, us or ns.
    Second,
    /// A number of things.
    Count,
    /// Events per second.
    PerSecond,
    /// Parts of a hundred.
    Percent,
    /// A unit written in the experiment file, shown as written; empty for a bare number.
    Other(String),
}

impl Unit {
    /// The name of the base unit, as in records, CSV and YAML: `bit/s`, `byte/s`, `byte`, `s`, `count`, `1/s`, `%`.
    pub fn as_str(&self) -> &str {
        match self {
            Unit::BitPerSecond => "bit/s",
            Unit::BytePerSecond => "byte/s",
            Unit::Byte => "byte",
            Unit::Second => "s",
            Unit::Count => "count",
            Unit::PerSecond => "1/s",
            Unit::Percent => "%",
            Unit::Other(name) => name,
        }
    }
}

/// How values of one unit are shown: divided by `factor`, followed by `name`.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    /// How many base units one shown unit is; more than 0.
    pub factor: f64,
    /// What is written beside the shown value, e.g. `Mbit/s`; empty for a bare number.
    pub name: String,
}

/// Known shown units with their size in base units: for each unit the ones it is shown in, largest first.
const NATURAL: &[(Unit, f64, &str)] = &[
    (Unit::BitPerSecond, 1e12, "Tbit/s"),
    (Unit::BitPerSecond, 1e9, "Gbit/s"),
    (Unit::BitPerSecond, 1e6, "Mbit/s"),
    (Unit::BitPerSecond, 1e3, "kbit/s"),
    (Unit::BitPerSecond, 1.0, "bit/s"),
    (Unit::BytePerSecond, 1e12, "TB/s"),
    (Unit::BytePerSecond, 1e9, "GB/s"),
    (Unit::BytePerSecond, 1e6, "MB/s"),
    (Unit::BytePerSecond, 1e3, "kB/s"),
    (Unit::BytePerSecond, 1.0, "B/s"),
    (Unit::Byte, 1e12, "TB"),
    (Unit::Byte, 1e9, "GB"),
    (Unit::Byte, 1e6, "MB"),
    (Unit::Byte, 1e3, "kB"),
    (Unit::Byte, 1.0, "B"),
    (Unit::Second, 1.0, "s"),
    (Unit::Second, 1e-3, "ms"),
    (Unit::Second, 1e-6, "us"),
    (Unit::Second, 1e-9, "ns"),
];

/// Units that are shown only where a file asks for them.
const ASKED_FOR: &[(Unit, f64, &str)] = &[
    (Unit::BytePerSecond, 1024.0, "KiB/s"),
    (Unit::BytePerSecond, 1048576.0, "MiB/s"),
    (Unit::BytePerSecond, 1073741824.0, "GiB/s"),
    (Unit::Byte, 1024.0, "KiB"),
    (Unit::Byte, 1048576.0, "MiB"),
    (Unit::Byte, 1073741824.0, "GiB"),
];

impl Scale {
    /// The value as it is shown: 941e6 bit/s is 941 in Mbit/s.
    pub fn apply(&self, value: f64) -> f64 {
        value / self.factor
    }

    /// The names of the units in which values of `unit` can be shown, largest first; none of a unit that is shown
    /// only as it is.
    pub fn all_of(unit: &Unit) -> impl Iterator<Item = &'static str> {
        NATURAL.iter().chain(ASKED_FOR).filter(move |(own, ..)| own == unit).map(|(.., name)| *name)
    }

    /// A shown value in base units: 5 in ms is 0.005. Rounded once, also where the factor has no exact binary form.
    pub fn to_base(&self, shown: f64) -> f64 {
        match self.factor < 1.0 {
            true => shown / self.factor.recip().round(),
            false => shown * self.factor,
        }
    }

    /// The unit and scale of a shown name such as `Mbit/s`, `MiB` or `ms`; base names (`byte/s`) are known
    /// too. `None` for a name that stands for itself.
    pub fn named(name: &str) -> Option<(Unit, Scale)> {
        let mut known = NATURAL.iter().chain(ASKED_FOR);
        if let Some((unit, factor, name)) = known.find(|(.., known)| *known == name) {
            return Some((unit.clone(), Scale { factor: *factor, name: (*name).to_owned() }));
        }
        match Unit::from(name.to_owned()) {
            Unit::Other(_) => None,
            unit => Some((unit, Scale { factor: 1.0, name: name.to_owned() })),
        }
    }
}

impl Unit {
    /// Whether it is a known unit of something by time.
    pub fn is_rate(&self) -> bool {
        matches!(self, Unit::BitPerSecond | Unit::BytePerSecond | Unit::PerSecond)
    }

    /// One scale for all `values` of a table column: the largest in which the median of their sizes is at
    /// least 1, so that no single extreme value decides. Zeros count only when there is nothing else.
    pub fn scale(&self, values: &[f64]) -> Scale {
        let mut sizes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
        sizes.retain(|size| *size > 0.0 && size.is_finite());
        sizes.sort_by(f64::total_cmp);
        let median = sizes.get(sizes.len().saturating_sub(1) / 2).copied();
        let own = || NATURAL.iter().filter(|(unit, ..)| unit == self);
        let fits = own().find(|(_, factor, _)| median.is_some_and(|median| median >= *factor));
        // Nothing to show takes the unit itself; less than the smallest takes the smallest.
        let fallback =
            if median.is_some() { own().next_back() } else { own().find(|(_, factor, _)| *factor == 1.0) };
        match fits.or(fallback) {
            Some((_, factor, name)) => Scale { factor: *factor, name: (*name).to_owned() },
            None => Scale { factor: 1.0, name: self.as_str().to_owned() },
        }
    }
}

impl From<String> for Unit {
    fn from(name: String) -> Self {
        match name.as_str() {
            "bit/s" => Unit::BitPerSecond,
            "byte/s" => Unit::BytePerSecond,
            "byte" => Unit::Byte,
            "s" => Unit::Second,
            "count" => Unit::Count,
            "1/s" => Unit::PerSecond,
            "%" => Unit::Percent,
            _ => Unit::Other(name),
        }
    }
}

impl From<Unit> for String {
    fn from(unit: Unit) -> Self {
        unit.as_str().to_owned()
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the trials of a rate hold fixed; it decides which mean of the rates is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Fixed {
    /// The same work each time, which takes as long as it takes (`dd`): the mean is all work by all time, the
    /// harmonic mean.
    Work,
    /// The same time, in which as much is done as can be (`iperf3`): the mean is the arithmetic one.
    Time,
}

/// Which direction of a value is the good one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Better {
    /// More is better: rates.
    Higher,
    /// Less is better: durations, losses.
    Lower,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_scale_fits_a_column() {
        let cases: &[(Unit, &[f64], f64, &str)] = &[
            (Unit::BitPerSecond, &[1e6], 1e6, "Mbit/s"),
            (Unit::BitPerSecond, &[999_999.0], 1e3, "kbit/s"),
            (Unit::BitPerSecond, &[941e6, 938e6, 1.2e9], 1e6, "Mbit/s"),
            (Unit::BitPerSecond, &[8.15e9, -2e9], 1e9, "Gbit/s"),
            (Unit::BytePerSecond, &[21.2e6, f64::NAN, 0.0], 1e6, "MB/s"),
            (Unit::Byte, &[268_435_456.0], 1e6, "MB"),
            (Unit::Byte, &[512.0], 1.0, "B"),
            (Unit::Second, &[12.6], 1.0, "s"),
            (Unit::Second, &[0.0012, 0.9], 1e-3, "ms"),
            (Unit::Second, &[7.8e-5], 1e-6, "us"),
            (Unit::Second, &[3e-10], 1e-9, "ns"),
            (Unit::Second, &[0.0], 1.0, "s"),
            (Unit::BitPerSecond, &[], 1.0, "bit/s"),
            (Unit::BytePerSecond, &[], 1.0, "B/s"),
            (Unit::Count, &[1e9], 1.0, "count"),
            (Unit::Percent, &[1e-3], 1.0, "%"),
            (Unit::Other("K/h".to_owned()), &[1e9], 1.0, "K/h"),
        ];
        for (unit, values, factor, name) in cases {
            let expected = Scale { factor: *factor, name: (*name).to_owned() };
            assert_eq!(unit.scale(values), expected, "{unit} {values:?}");
        }
    }

    #[test]
    fn shown_names_are_exact_multiples_of_base_units() {
        let cases = [
            ("Mbit/s", Unit::BitPerSecond, 1e6),
            ("bit/s", Unit::BitPerSecond, 1.0),
            ("MB/s", Unit::BytePerSecond, 1e6),
            ("MiB/s", Unit::BytePerSecond, 1_048_576.0),
            ("byte/s", Unit::BytePerSecond, 1.0),
            ("MB", Unit::Byte, 1e6),
            ("GiB", Unit::Byte, 1_073_741_824.0),
            ("s", Unit::Second, 1.0),
            ("ms", Unit::Second, 1e-3),
            ("us", Unit::Second, 1e-6),
            ("ns", Unit::Second, 1e-9),
            ("count", Unit::Count, 1.0),
        ];
        for (name, unit, factor) in cases {
            assert_eq!(Scale::named(name), Some((unit, Scale { factor, name: name.to_owned() })));
        }
        assert_eq!(Scale::named("furlong"), None);
        assert_eq!(Scale { factor: 1e6, name: "Mbit/s".to_owned() }.apply(941e6), 941.0);
        assert_eq!(Scale { factor: 1e-3, name: "ms".to_owned() }.apply(0.005), 5.0);
    }

    #[test]
    fn shown_values_become_base_units_exactly() {
        for (value, name, expected) in [
            (7.3, "ms", 0.0073),
            (0.3, "us", 3e-7),
            (123.0, "ns", 1.23e-7),
            (1.5, "GiB/s", 1_610_612_736.0),
            (940.0, "Mbit/s", 940e6),
            (3.0, "%", 3.0),
        ] {
            let (_, scale) = Scale::named(name).unwrap();
            assert_eq!(scale.to_base(value), expected, "{value} {name}");
        }
    }

    #[test]
    fn units_keep_their_name() {
        for name in ["bit/s", "byte/s", "byte", "s", "count", "1/s", "%", "K/h", ""] {
            assert_eq!(Unit::from(name.to_owned()).as_str(), name);
        }
    }
}

//! Many values of one trial as counts: what `histogram` reads, and the figures that a table shows of it.

use std::collections::BTreeMap;

use crate::metrics::histogram::{self, hdr, ranges, values};
use crate::metrics::{Distribution, Read, text};
use crate::spec::metric::{Extract, Form};
use crate::units::{Scale, Unit};

/// Reads the distribution `name` out of an output, in base units.
///
/// # Errors
/// Why there is none.
pub(super) fn read(name: &str, extract: &Extract, form: Form, bytes: &[u8]) -> Result<Read, String> {
    let written = extract.unit.as_ref().map(|unit| unit.value.clone()).unwrap_or_default();
    let scale = Scale::named(&written);
    let factor = scale.as_ref().map_or(1.0, |(_, scale)| scale.factor);
    let is_told = extract.unit.is_some();
    let unit = scale.map_or_else(|| Unit::from(written), |(unit, _)| unit);
    let untagged = |histogram| vec![(BTreeMap::new(), histogram)];
    let found = match form {
        Form::Values => untagged(values::read(bytes, factor)?),
        // A table may tell its unit itself; it is a time then.
        Form::Ranges => untagged(ranges::read(&text::clean(bytes), is_told.then_some(factor))?),
        Form::Log => {
            let tagged = hdr::read(&text::clean(bytes), factor)?.into_iter();
            tagged.map(|found| (labels(found.tag), found.histogram)).collect()
        }
    };
    let unit = if form == Form::Ranges && !is_told { Unit::Second } else { unit };
    let mut read = Read::default();
    for (labels, histogram) in found {
        let figures = histogram::measurements(name, &unit, &histogram).into_iter();
        read.measurements.extend(figures.map(|mut figure| {
            figure.labels = labels.clone();
            figure.better = extract.better.as_ref().map(|better| better.value).or(figure.better);
            figure
        }));
        read.warnings.extend(histogram::warnings(name, &unit, &histogram));
        let (name, unit) = (name.to_owned(), unit.clone());
        read.details.histograms.push(Distribution { name, unit, labels, histogram });
    }
    Ok(read)
}

/// Tags of a log are labels.
pub(in crate::metrics) fn labels(tag: Option<String>) -> BTreeMap<String, String> {
    tag.map(|tag| ("tag".to_owned(), tag)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Located, Text};

    fn rule(form: Form, unit: Option<&str>) -> Extract {
        let unit = unit.map(|unit| Text::unwritten(unit.to_owned()));
        Extract { histogram: Some(Located::unwritten(form)), unit, ..Extract::default() }
    }

    #[test]
    fn values_come_in_base_units_with_their_distribution() {
        let bytes: String = (1..=100).map(|n| format!("{n}\n")).collect();
        let found = read("latency", &rule(Form::Values, Some("us")), Form::Values, bytes.as_bytes()).unwrap();
        let value = |name: &str| {
            let found = found.measurements.iter().find(|one| one.name == name)?;
            Some((found.value, found.unit.clone()))
        };
        assert_eq!(value("latency_count"), Some((100.0, Unit::Count)));
        assert_eq!(value("latency_max"), Some((100e-6, Unit::Second)));
        assert_eq!(value("latency_mean"), Some((50.5e-6, Unit::Second)));
        assert_eq!(value("latency_p99"), None, "100 values are too few");
        assert_eq!(found.details.histograms[0].histogram.count(), 100);
    }

    #[test]
    fn a_table_tells_its_unit_or_is_told_it() {
        let table = "latency (ms)\n0 - 10: 5\n10 - 20: 3\ntotal: 8\n\n";
        let own = read("l", &rule(Form::Ranges, None), Form::Ranges, table.as_bytes()).unwrap();
        assert_eq!((own.measurements[2].name.as_str(), own.measurements[2].unit.as_str()), ("l_max", "s"));
        assert!(own.measurements[2].value <= 0.02, "{:?}", own.measurements);
        assert!(read("l", &rule(Form::Values, None), Form::Values, table.as_bytes()).is_err());
    }
}

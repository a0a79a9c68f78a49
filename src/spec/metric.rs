//! The `metrics:` key of a workload: which tool printed the output, and what else is read out of it.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::located::{List, Located, Text};
use super::schema;
use crate::units::{Better, Fixed};

/// Which metrics a workload has, besides `elapsed`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// A known tool, whose standard metrics are read.
    ///
    /// Default: none. Example: `tool: iperf3`
    pub tool: Option<Text>,
    /// The tool's metrics to keep.
    ///
    /// Default: its headline metrics. Example: `keep: [throughput_received]`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub keep: List,
    /// Whether what the tool tells over the time of a trial is kept too, for `series.csv`: with iperf3 the
    /// throughput of each interval. No point of it is a sample.
    ///
    /// Default: false. Example: `series: true`
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub series: bool,
    /// Further metrics, by name.
    ///
    /// Default: none. Example: `extract: { rate: { regex: "rate: (\\S+)", unit: MB/s, better: higher } }`
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub extract: IndexMap<Text, Extract>,
}

impl Metrics {
    /// Whether nothing is read.
    pub fn is_empty(&self) -> bool {
        self.tool.is_none() && self.keep.is_empty() && self.extract.is_empty()
    }
}

/// A metric read by a rule of the file's own: exactly one of `regex`, `json`, `csv`, `lines` and `histogram`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = schema::exactly_one(Extract::RULES)))]
pub struct Extract {
    /// A regular expression that matches once; the group named `value`, else the first group, else the
    /// whole match is the number.
    ///
    /// Example: `regex: "rate: (\\S+)"`
    pub regex: Option<Text>,
    /// A JSONPath (RFC 9535) that leads to one number in the JSON document that is printed, whatever text
    /// stands round it.
    ///
    /// Example: `json: "$.jobs[0].read.iops"`
    pub json: Option<Text>,
    /// A cell of comma-separated values.
    ///
    /// Example: `csv: { column: MB/s, where: { operation: write }, labels: [threads] }`
    pub csv: Option<Located<Csv>>,
    /// A regular expression for single lines: each that it matches has a value, its group named `value`. The
    /// other named groups are labels, which tell the values apart.
    ///
    /// Example: `lines: "^(?<operation>\\w+): (?<value>\\S+) MB/s$"`
    pub lines: Option<Text>,
    /// Many values of one trial, such as the latency of each message: `values`, one a line; `ranges`, a table of
    /// ranges and counts; or `log`, what HdrHistogram writes. The metrics are `NAME_mean`, `NAME_min`, `NAME_max`,
    /// `NAME_count`, and `NAME_p50` to `NAME_p99.99` as far as there are enough values.
    ///
    /// Example: `histogram: values`
    pub histogram: Option<Located<Form>>,
    /// Where it is read from: `stdout`, `stderr`, `services.NAME.stdout`, `services.NAME.stderr`, or a file that
    /// `fetch` brings, by its path.
    ///
    /// Default: `stdout`. Example: `from: stderr`
    pub from: Option<Text>,
    /// The unit of the number: `bit/s`, `byte/s`, `s`, `ms`, `MB/s`, … or any text.
    ///
    /// Default: none. Example: `unit: MB/s`
    pub unit: Option<Text>,
    /// Which direction is good: `higher` or `lower`.
    ///
    /// Default: not said. Example: `better: higher`
    pub better: Option<Located<Better>>,
    /// What the trials of a rate hold fixed, `work` or `time`: it decides which mean is right.
    ///
    /// Default: not said, and the mean is the arithmetic one. Example: `fixed: work`
    pub fixed: Option<Located<Fixed>>,
}

/// How many values of one trial are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// One a line.
    Values,
    /// A table of ranges and counts, where the fullest range may be opened a second time.
    Ranges,
    /// An interval log or a table of percentiles of HdrHistogram.
    Log,
}

/// Which cells of comma-separated values are read. Blanks round a cell do not count.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Csv {
    /// The column of the value, as its header says, or its number from 1 where there is no header.
    ///
    /// Example: `column: MB/s`
    pub column: Text,
    /// The rows that count: columns and what stands in them, letter by letter.
    ///
    /// Default: all. Example: `where: { operation: write }`
    #[serde(default, rename = "where", skip_serializing_if = "IndexMap::is_empty")]
    pub conditions: IndexMap<Text, Text>,
    /// Columns that tell apart the values of several rows. Without them one row must be left.
    ///
    /// Default: none. Example: `labels: [threads]`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub labels: List,
    /// What stands between two cells: one character.
    ///
    /// Default: `,`. Example: `delimiter: ";"`
    pub delimiter: Option<Text>,
    /// Whether the first row names the columns. Without a header they are called 1, 2, 3, ….
    ///
    /// Default: `true`. Example: `header: false`
    pub header: Option<Located<bool>>,
}

/// How a metric of the file's own is read.
#[derive(Debug, Clone, Copy)]
pub enum Rule<'a> {
    /// By a pattern that matches once.
    Regex(&'a Text),
    /// By a path into a JSON document.
    Json(&'a Text),
    /// By the column of a table.
    Csv(&'a Located<Csv>),
    /// By a pattern for each line.
    Lines(&'a Text),
    /// As the distribution of many values.
    Histogram(Form),
}

/// Where a metric of the file's own is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// `stdout` or `stderr` of the command that has the metric.
    Own(String),
    /// An output of a service.
    Service {
        /// Its name.
        service: String,
        /// `stdout` or `stderr`.
        stream: String,
    },
    /// A fetched file, by its path without `.` and doubled slashes.
    File(String),
}

impl Extract {
    /// The keys of the rules.
    pub const RULES: &[&str] = &["regex", "json", "csv", "lines", "histogram"];

    /// Every rule that is written; a checked spec has one.
    pub fn rules(&self) -> Vec<Rule<'_>> {
        let Extract { regex, json, csv, lines, histogram, .. } = self;
        let rules = [
            regex.as_ref().map(Rule::Regex),
            json.as_ref().map(Rule::Json),
            csv.as_ref().map(Rule::Csv),
            lines.as_ref().map(Rule::Lines),
            histogram.as_ref().map(|form| Rule::Histogram(form.value)),
        ];
        rules.into_iter().flatten().collect()
    }

    /// Where it is read from. A file called `stdout` is written `./stdout`.
    pub fn source(&self) -> Source {
        let from = self.from.as_ref().map_or("stdout", |from| from.as_str());
        if ["stdout", "stderr"].contains(&from) {
            return Source::Own(from.to_owned());
        }
        match from.split('.').collect::<Vec<_>>()[..] {
            ["services", service, stream @ ("stdout" | "stderr")] => {
                Source::Service { service: service.to_owned(), stream: stream.to_owned() }
            }
            _ => {
                let parts = from.split('/').filter(|part| !["", "."].contains(part));
                Source::File(parts.collect::<Vec<_>>().join("/"))
            }
        }
    }

    /// All its texts.
    pub fn texts(&self) -> Vec<&Text> {
        let Extract { regex, json, csv, lines, from, unit, .. } = self;
        let of_csv = csv.iter().flat_map(|csv| {
            let conditions = csv.conditions.iter().flat_map(|(column, cell)| [column, cell]);
            std::iter::once(&csv.column).chain(conditions).chain(&csv.labels.values).chain(&csv.delimiter)
        });
        regex.iter().chain(json).chain(lines).chain(of_csv).chain(unit).chain(from).collect()
    }
}

impl Csv {
    /// Whether the first row names the columns.
    pub fn has_header(&self) -> bool {
        self.header.as_ref().is_none_or(|header| header.value)
    }

    /// Every column that it names.
    pub fn columns(&self) -> impl Iterator<Item = &Text> {
        std::iter::once(&self.column).chain(self.conditions.keys()).chain(&self.labels.values)
    }

    /// What stands between two cells; none for a text that can't.
    pub fn delimiter(&self) -> Option<u8> {
        match self.delimiter.as_ref().map_or(&b","[..], |delimiter| delimiter.as_bytes()) {
            [byte] if byte.is_ascii() && !b"\"\n\r".contains(byte) => Some(*byte),
            _ => None,
        }
    }
}

impl Rule<'_> {
    /// Its key.
    pub fn key(&self) -> &'static str {
        match self {
            Rule::Regex(_) => "regex",
            Rule::Json(_) => "json",
            Rule::Csv(_) => "csv",
            Rule::Lines(_) => "lines",
            Rule::Histogram(_) => "histogram",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_streams_services_or_files() {
        let service = |service: &str, stream: &str| Source::Service {
            service: service.to_owned(),
            stream: stream.to_owned(),
        };
        for (from, expected) in [
            (None, Source::Own("stdout".into())),
            (Some("stderr"), Source::Own("stderr".into())),
            (Some("services.server.stderr"), service("server", "stderr")),
            (Some("services.server.log"), Source::File("services.server.log".into())),
            (Some("result.json"), Source::File("result.json".into())),
            (Some("./out//a.csv"), Source::File("out/a.csv".into())),
            (Some("./stdout"), Source::File("stdout".into())),
        ] {
            let from = from.map(|from| Text::unwritten(from.to_owned()));
            assert_eq!(Extract { from, ..Extract::default() }.source(), expected);
        }
    }
}

//! Where each file of a run lies. It touches no disk; read [`RunDirectory`].

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::RecordError;

/// The directory of one run and the paths of the files in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDirectory(PathBuf);

impl RunDirectory {
    /// The run at `path`, e.g. `results/docker-vs-native/2026-11-30T11-45-12Z`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Its own name; empty for a path such as `..`.
    pub fn name(&self) -> String {
        self.0.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// What the run is.
    pub fn manifest(&self) -> PathBuf {
        self.0.join("manifest.json")
    }

    /// The experiment as run.
    pub fn experiment(&self) -> PathBuf {
        self.0.join("experiment.yaml")
    }

    /// What it was in the sitting `id` and before, where a later one changed it.
    pub fn earlier_experiment(&self, id: &str) -> PathBuf {
        self.0.join(format!("experiment-{id}.yaml"))
    }

    /// The folder of the machines' facts.
    pub fn hosts(&self) -> PathBuf {
        self.0.join("hosts")
    }

    /// The facts of one machine.
    pub fn host(&self, name: &str) -> PathBuf {
        self.hosts().join(format!("{name}.json"))
    }

    /// One line an attempt.
    pub fn records(&self) -> PathBuf {
        self.0.join("records.jsonl")
    }

    /// What the run does now; there only while it goes on, or after it was killed.
    pub fn status(&self) -> PathBuf {
        self.0.join("status.json")
    }

    /// What the run has made on machines and not removed; not there when nothing is left.
    pub fn ledger(&self) -> PathBuf {
        self.0.join("ledger.jsonl")
    }

    /// A row per trial and metric.
    pub fn samples(&self) -> PathBuf {
        self.0.join("samples.csv")
    }

    /// A row per point of what changes in the course of a trial.
    pub fn series(&self) -> PathBuf {
        self.0.join("series.csv")
    }

    /// A row per cell and metric.
    pub fn summary(&self) -> PathBuf {
        self.0.join("summary.csv")
    }

    /// The folder of the report's charts.
    pub fn charts(&self) -> PathBuf {
        self.0.join("charts")
    }

    /// The report.
    pub fn report(&self) -> PathBuf {
        self.0.join("report.md")
    }

    /// The report for a browser.
    pub fn html(&self) -> PathBuf {
        self.0.join("report.html")
    }

    /// The copy of the templates that its report is made with; there only where it has some of its own.
    pub fn templates(&self) -> PathBuf {
        self.0.join("templates")
    }
}

/// The name of a run's directory: its start in UTC without colons, `2026-11-30T11-45-12Z`.
///
/// # Errors
///
/// `started` is not an RFC 3339 time.
pub fn directory_name(started: &str) -> Result<String, RecordError> {
    let time: Timestamp =
        started.parse().map_err(|error: jiff::Error| RecordError::new("name", Path::new(started), error))?;
    Ok(time.strftime("%Y-%m-%dT%H-%M-%SZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_named_after_the_start_in_utc() {
        for (started, name) in [
            ("2026-11-30T11:45:12Z", "2026-11-30T11-45-12Z"),
            ("2026-11-30T11:45:12.987654Z", "2026-11-30T11-45-12Z"),
            ("2026-12-01T00:45:12+09:00", "2026-11-30T15-45-12Z"),
        ] {
            assert_eq!(directory_name(started).unwrap(), name);
        }
        assert!(directory_name("yesterday").is_err());
    }
}

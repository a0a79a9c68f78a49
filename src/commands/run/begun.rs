//! A sitting that has begun: where its run lies, and what is made for it stands there before any host is made.

use super::resume::Earlier;
use super::{Experiment, RunArguments, experiment, manifest};
use crate::error::Error;
use crate::hosts::Ledger;
use crate::record::{RunDirectory, RunWriter, keep_templates};

/// The run of a sitting.
pub(super) enum Begun {
    /// It is new; its directory was made.
    New(Box<RunWriter>),
    /// It goes on; its files are touched once its hosts are there.
    Earlier(Box<Earlier>),
}

impl Begun {
    /// Goes on with `earlier`, or makes the directory of a new run.
    pub(super) fn new(
        arguments: &RunArguments,
        experiment: &Experiment,
        id: &str,
        earlier: Option<Earlier>,
    ) -> Result<Begun, Error> {
        if let Some(earlier) = earlier {
            return Ok(Begun::Earlier(Box::new(earlier)));
        }
        let salt = format!("{:016x}", experiment::random());
        let manifest = manifest::new(arguments, experiment, id, salt);
        // Whatever the run's own folder will be called, it lies there.
        let yaml = experiment.yaml_in(&arguments.results.join(&manifest.experiment).join(id));
        let writer = RunWriter::create(&arguments.results, manifest, &yaml, experiment.secrets.clone())?;
        Ok(Begun::New(Box::new(writer)))
    }

    /// Where it lies.
    pub(super) fn directory(&self) -> RunDirectory {
        match self {
            Begun::New(writer) => writer.directory().clone(),
            Begun::Earlier(earlier) => RunDirectory::new(earlier.directory()),
        }
    }

    /// Who writes it; its templates are kept.
    pub(super) fn writer(self, experiment: &Experiment) -> Result<RunWriter, Error> {
        let writer = match self {
            Begun::New(writer) => *writer,
            Begun::Earlier(earlier) => earlier.writer(experiment)?,
        };
        let templates = experiment.templates.as_ref().map(|chosen| chosen.files.as_slice());
        keep_templates(writer.directory(), templates.unwrap_or_default())?;
        Ok(writer)
    }

    /// Ends it before its first trial. A new run of which nothing is left on any machine leaves nothing here.
    pub(super) fn give_up(self, ledger: &Ledger) -> Result<(), Error> {
        ledger.close()?;
        let left = ledger.left();
        crate::ui::show_left(&left, self.directory().path());
        match self {
            Begun::New(writer) if left.is_empty() => Ok(writer.discard()?),
            _ => Ok(()),
        }
    }
}

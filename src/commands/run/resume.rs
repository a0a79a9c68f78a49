//! `runner run FILE --resume [RUN]`: which run is gone on with, whether its experiment is still the same, and
//! what is missing of it. Read [`prepare`], then [`Earlier`].

#![allow(clippy::disallowed_methods, reason = "whether a run is there")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jiff::Timestamp;

use super::experiment::{self, Experiment};
use super::manifest;
use crate::analysis::is_precise;
use crate::cli::{Changes, RunArguments};
use crate::commands::templates::Chosen;
use crate::error::Error;
use crate::execution::{History, Past};
use crate::plan::{Phase, Plan};
use crate::record::{self, Adaptive, Manifest, Reopened, Run, RunDirectory, RunWriter, Status, Tried};
use crate::ui;
use crate::ui::progress::Progress;

/// A run that was begun before.
pub(super) struct Earlier {
    /// What it left.
    run: Run,
    /// Its files, open; none where it is only looked at.
    reopened: Option<Reopened>,
    /// What is done of it.
    pub history: History,
    /// The trials that are done: the number of the cell, and whether it is ok.
    done: Vec<(usize, bool)>,
    /// The cells of which something is missing.
    due: BTreeSet<usize>,
    /// How many measured trials are not needed, of each cell that is known well enough.
    spared: BTreeMap<usize, u32>,
    /// What is planned now.
    planned: Manifest,
    has_changed: bool,
}

/// Opens the run that `which` names, or the newest, and compares it with the experiment. Returns the
/// arguments with the options that the run has kept.
pub(super) fn prepare(
    arguments: &RunArguments,
    which: Option<&Path>,
    id: &str,
) -> Result<(RunArguments, Experiment, Earlier), Error> {
    let directory = find(arguments, which)?;
    let reopened = (!arguments.dry_run).then(|| record::reopen(&directory)).transpose()?;
    if reopened.as_ref().is_some_and(|reopened| reopened.was_torn) {
        ui::resume::show_torn(&directory.records());
    }
    let run = record::read_run(directory.path())?;
    let arguments = with_kept_options(arguments, &run.manifest)?;
    let seed = run.manifest.seed;
    let mut experiment = experiment::read_with_seed(&arguments.file, &arguments.changes, || seed)?;
    super::choose_templates(&arguments, &mut experiment)?;
    let given = run.manifest.options.get("--templates").filter(|_| arguments.templates.is_none());
    if given.is_some() {
        // What the command line of an earlier sitting named may be gone by now; the run has a copy.
        let folder = run.manifest.templates.clone().unwrap_or_default();
        let files = record::kept_templates(&directory, Some(&folder))?;
        experiment.templates = Some(Chosen { folder, files });
    }
    manifest::check(&experiment)?;
    let salt = run.manifest.inputs.as_ref().map(|inputs| inputs.salt.clone());
    let salt = salt.unwrap_or_else(|| format!("{:016x}", experiment::random()));
    let mut planned = manifest::new(&arguments, &experiment, id, salt);
    planned.presentation.excluded = still_excluded(&run.manifest, &planned);
    planned.options.extend(given.map(|folder| ("--templates".to_owned(), folder.clone())));
    let changes = record::changes(&run.manifest, &planned);
    if !changes.is_empty() {
        let accept = arguments.resume.accept_changes;
        accept.then(|| ui::resume::show_accepted(&changes)).ok_or_else(|| changed(&directory, &changes))?;
    }
    let mut earlier = Earlier {
        reopened,
        history: History::default(),
        done: Vec::new(),
        due: BTreeSet::new(),
        spared: BTreeMap::new(),
        // A title is no change to be accepted, but belongs into the manifest.
        has_changed: !changes.is_empty() || run.manifest.digest != planned.digest,
        run: run.planned_as(planned.cells.clone()),
        planned,
    };
    earlier.look(&experiment.plan, arguments.resume.failed);
    earlier.tell(&experiment.plan, arguments.resume.failed);
    Ok((arguments, experiment, earlier))
}

/// The excluded trials of cells that are as they were: others are measured anew.
fn still_excluded(manifest: &Manifest, planned: &Manifest) -> BTreeMap<String, String> {
    let unchanged: BTreeSet<&str> = manifest
        .cells
        .iter()
        .filter(|cell| planned.cells.iter().any(|new| new.cell == cell.cell && new.settings == cell.settings))
        .map(|cell| cell.cell.as_str())
        .collect();
    let is_unchanged = |trial: &str| trial.rsplit_once('#').is_some_and(|(cell, _)| unchanged.contains(cell));
    let excluded = manifest.presentation.excluded.iter().filter(|(trial, _)| is_unchanged(trial));
    excluded.map(|(trial, reason)| (trial.clone(), reason.clone())).collect()
}

impl Earlier {
    /// The ids of the sittings so far: what they hold of machines is ours.
    pub(super) fn ids(&self) -> Vec<String> {
        self.run.manifest.ids().into_iter().map(str::to_owned).collect()
    }

    /// The values by which adaptive repetitions have been ended, or not, by cell.
    fn keep_values(&mut self, plan: &Plan) -> BTreeMap<usize, Vec<f64>> {
        let adaptive = (0..plan.cell_count()).filter(|index| plan.adaptive(*index).is_some());
        let adaptive: BTreeMap<_, _> =
            adaptive.map(|index| (plan.cell(index).name.to_string(), index)).collect();
        let mut values: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for record in self.run.last_attempts() {
            if let (Some(cell), Phase::Measure, Status::Ok, Some(first)) =
                (adaptive.get(&record.cell), record.phase, record.status, record.values().first())
            {
                self.history.insert_value(*cell, *first);
                values.entry(*cell).or_default().push(*first);
            }
        }
        values
    }

    /// Finds what is done and what is missing; failed trials are missing too if they are to be run `again`, and
    /// warm-up wherever something is measured: what an earlier sitting has warmed is cold by now.
    fn look(&mut self, plan: &Plan, again: bool) {
        let values = self.keep_values(plan);
        let tried: BTreeMap<_, _> = self.run.tried();
        let mut seen = Seen { history: std::mem::take(&mut self.history), ..Seen::default() };
        for (index, cell) in plan.cells().enumerate() {
            let known = |phase, repetition| {
                tried.get(&(cell.name.as_str(), phase, repetition)).copied().unwrap_or_default()
            };
            let is_done = |known: Tried| match known.status {
                Some(Status::Ok) => true,
                Some(Status::Failed) => !again,
                Some(Status::Interrupted) | None => false,
            };
            let needed = cell.adaptive.filter(|rule| is_known(*rule, values.get(&index)));
            let needed = needed.map_or(cell.repetitions, |rule| rule.min);
            let is_measured = (1..=needed).any(|n| !is_done(known(Phase::Measure, n)));
            for repetition in 1..=cell.warmup {
                let known = known(Phase::Warmup, repetition);
                seen.add((index, Phase::Warmup, repetition), known, is_done(known) && !is_measured);
            }
            for repetition in 1..=cell.repetitions {
                let known = known(Phase::Measure, repetition);
                match repetition > needed && !is_done(known) && !is_measured {
                    // Where something is measured, that it is known well enough is found out again, and told.
                    true => *seen.spared.entry(index).or_default() += 1,
                    false => seen.add((index, Phase::Measure, repetition), known, is_done(known)),
                }
            }
        }
        (self.history, self.done, self.due, self.spared) = (seen.history, seen.done, seen.due, seen.spared);
    }

    fn tell(&self, plan: &Plan, again: bool) {
        ui::resume::show_done(&ui::resume::Done {
            directory: self.run.directory.path(),
            trials: plan.trial_count() - self.spared.values().sum::<u32>() as usize,
            done: self.done.len(),
            failed: self.done.iter().filter(|(_, is_ok)| !is_ok).count(),
            again,
        });
    }

    /// Where it lies.
    pub(super) fn directory(&self) -> &Path {
        self.run.directory.path()
    }

    /// The hosts that something missing needs.
    pub(super) fn hosts(&self, plan: &Plan) -> BTreeSet<String> {
        self.due.iter().flat_map(|index| plan.cell(*index).hosts()).collect()
    }

    /// Whether it has all its trials and its end: there is nothing to write but the report.
    pub(super) fn is_complete(&self) -> bool {
        let Manifest { ended, interrupted, .. } = &self.run.manifest;
        self.due.is_empty() && !self.has_changed && ended.is_some() && !interrupted
    }

    /// Whether a trial of it is not ok.
    pub(super) fn has_failed(&self) -> bool {
        self.done.iter().any(|(_, is_ok)| !is_ok)
    }

    /// Shows what is done.
    pub(super) fn show(&self, progress: &mut Progress) {
        self.done.iter().for_each(|(index, is_ok)| progress.skip(*index, *is_ok));
        self.spared.iter().for_each(|(index, spared)| progress.spare(*index, *spared, Timestamp::now()));
    }

    /// Goes on with its files.
    pub(super) fn writer(self, experiment: &Experiment) -> Result<RunWriter, Error> {
        let yaml = experiment.yaml_in(self.directory());
        let Some(reopened) = self.reopened else {
            return Err(usage("a run that is only looked at can't be written", "leave out `--dry-run`"));
        };
        Ok(RunWriter::resume(reopened, &self.run, self.planned, &yaml, experiment.secrets.clone())?)
    }
}

/// What [`Earlier::look`] has found so far.
#[derive(Default)]
struct Seen {
    history: History,
    done: Vec<(usize, bool)>,
    due: BTreeSet<usize>,
    spared: BTreeMap<usize, u32>,
}

impl Seen {
    fn add(&mut self, (cell, phase, repetition): (usize, Phase, u32), known: Tried, is_done: bool) {
        match is_done {
            true => self.done.push((cell, known.status == Some(Status::Ok))),
            false => drop(self.due.insert(cell)),
        }
        if known.attempts > 0 {
            self.history.insert(cell, phase, repetition, Past { attempts: known.attempts, is_done });
        }
    }
}

/// Whether the values of a cell end its repetitions.
fn is_known(rule: Adaptive, values: Option<&Vec<f64>>) -> bool {
    values
        .is_some_and(|values| values.len() >= rule.min as usize && is_precise(values, rule.until.fraction()))
}

/// The command that goes on with what `arguments` began.
pub(super) fn command(arguments: &RunArguments) -> String {
    let file = arguments.file.to_string_lossy();
    let results = arguments.results.to_string_lossy();
    let mut words = vec!["runner", "run", &file];
    if results != "results" {
        words.extend(["--results", &results]);
    }
    words.push("--resume");
    shell_words::join(words)
}

fn usage(message: impl Into<String>, help: impl Into<String>) -> Error {
    Error::Usage { message: message.into(), help: help.into() }
}

/// The directory of the run that is meant.
fn find(arguments: &RunArguments, which: Option<&Path>) -> Result<RunDirectory, Error> {
    let name = experiment::name(&arguments.file);
    let folder = arguments.results.join(&name);
    let runs = record::list_runs(&folder)?;
    let found = match which {
        Some(which) => {
            let mut directories = [which.to_owned(), folder.join(which)].into_iter().map(RunDirectory::new);
            directories.find(|directory| directory.manifest().is_file())
        }
        None => runs.first().map(|run| run.directory.clone()),
    };
    let Some(directory) = found else {
        let help = match runs.first() {
            Some(newest) => {
                format!("the newest run is `{}`; `--resume` alone goes on with it", newest.directory.name())
            }
            None => format!("begin one: `runner run {}`", arguments.file.display()),
        };
        let what = which.map_or_else(|| "no run".to_owned(), |which| format!("no run `{}`", which.display()));
        return Err(usage(format!("there is {what} in {}", folder.display()), help));
    };
    Ok(directory)
}

/// The arguments of the last sitting, where the command line does not replace them.
fn with_kept_options(arguments: &RunArguments, manifest: &Manifest) -> Result<RunArguments, Error> {
    let name = experiment::name(&arguments.file);
    if manifest.experiment != name {
        let message = format!("this is a run of the experiment `{}`, not of `{name}`", manifest.experiment);
        return Err(usage(message, format!("name its file, which was `{}`", manifest.file)));
    }
    if manifest.cells.iter().any(|cell| cell.settings.is_empty()) {
        let message = "this run was made by a runner that did not keep the settings of its cells";
        return Err(usage(message, format!("begin a new one: `runner run {}`", arguments.file.display())));
    }
    let words = manifest.sittings.last().map(|sitting| sitting.options.as_slice()).unwrap_or_default();
    let kept = Changes::from_words(words).map_err(|error| {
        let message = format!("the options that the run has kept can't be read: {error}");
        usage(message, "give them again, as they were")
    })?;
    Ok(RunArguments { changes: arguments.changes.clone().or(kept), ..arguments.clone() })
}

/// The experiment is another one by now.
fn changed(directory: &RunDirectory, changes: &[String]) -> Error {
    let kept = directory.experiment();
    usage(
        format!(
            "the experiment has changed since {} was begun\n  {}",
            directory.path().display(),
            changes.join("\n  ")
        ),
        format!(
            "undo it (what was run is `{}`), or go on with `--accept-changes`: trials whose settings did not \
             change are kept, the others are run again",
            kept.display()
        ),
    )
}

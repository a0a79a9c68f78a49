//! The experiment file and what the command line changes of it, as a checked spec and its plan. Every verb
//! that reads an experiment reads it here. Read [`Experiment`] first.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the files of an experiment")]

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::path::{Component, Path, PathBuf};
use std::{
    fs,
    io::{self, Read},
};

use sha2::{Digest, Sha256};

use super::templates::{self, Chosen};
use super::{local_files, references, variables};
use crate::cli::{AxisOption, Changes};
use crate::diagnostic::{Problem, Problems, Sources};
use crate::metrics;
use crate::plan::{self, ChartLayout, Plan, settle};
use crate::record::Reference;
use crate::secrets::Secrets;
use crate::spec::{self, Fragment, Host, Located, Reader, Spec};

/// What will be run.
pub(super) struct Experiment {
    pub spec: Spec,
    pub sources: Sources,
    pub plan: Plan,
    /// The templates of its report, where it has some of its own.
    pub templates: Option<Chosen>,
    /// The charts of its report.
    pub charts: Vec<ChartLayout>,
    /// Whether its seed was drawn for this command, since neither the file nor the command line has one.
    pub is_seed_drawn: bool,
    /// The experiment as it will be run, with the templates of its hosts.
    kept: Spec,
    /// SHA-256 of that YAML without a seed that was only drawn for this run, in hexadecimal.
    pub digest: String,
    /// What may not be written.
    pub secrets: Secrets,
    /// Published figures that stand beside its results.
    pub references: Vec<Reference>,
}

/// Reads and checks everything that can be checked without a machine.
pub(super) fn read(file: &Path, changes: &Changes) -> Result<Experiment, Problems> {
    read_with_seed(file, changes, || random() % 1_000_000)
}

/// The same; `draw` gives the seed where neither the file nor the command line has one.
pub(super) fn read_with_seed(
    file: &Path,
    changes: &Changes,
    draw: impl FnOnce() -> u64,
) -> Result<Experiment, Problems> {
    let mut files = vec![(Fragment::Experiment, file)];
    files.extend(changes.hosts.as_deref().map(|path| (Fragment::Hosts, path)));
    let (mut spec, mut sources) = reader(changes).read(&files)?;
    if let Some(repetitions) = changes.repetitions {
        spec.set_repetitions(repetitions);
    }
    spec.seed = changes.seed.map(Located::unwritten).or(spec.seed);
    let mut found = narrow(&mut spec, changes);
    let (secrets, missing) = variables::read(&mut spec, &sources, &BTreeSet::new());
    found.extend(missing);
    found.extend(metrics::check(&spec, &sources));
    let mut spec = spec::check(spec, &sources, found)?;
    let is_seed_drawn = spec.seed.is_none();
    spec.seed.get_or_insert_with(|| Located::unwritten(draw()));
    // What is kept has the templates: it can be run again, and shows no variable.
    let (title, hosts) = (spec.title.clone(), spec.hosts.clone());
    variables::put_into_hosts(&mut spec);
    if !changes.axes.is_empty() || changes.condition.is_some() {
        settle(&mut spec, &sources)?;
    }
    let plan = Plan::new(&spec, &sources)?;
    let (references, unread) = references::read(&spec, &sources);
    leave_out_unused(&mut spec, &plan);
    let mut missing = local_files::missing(&spec, &sources, &plan);
    missing.extend(unread);
    if !missing.is_empty() {
        return Err(Problems::new(missing, sources));
    }
    let templates = match templates::of_experiment(&spec, &plan, &mut sources) {
        Ok(templates) => templates,
        Err(found) => return Err(Problems::new(found, sources)),
    };
    let charts = plan::charts(&spec, &plan).map_err(|problems| Problems::new(problems, sources.clone()))?;
    let kept = Spec { title, hosts, ..spec.clone() };
    let without_draw = Spec { seed: kept.seed.clone().filter(|_| !is_seed_drawn), ..kept.clone() }.to_yaml();
    let digest = Sha256::digest(without_draw).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Experiment {
        spec,
        sources,
        plan,
        templates,
        charts,
        is_seed_drawn,
        kept,
        digest,
        secrets,
        references,
    })
}

/// The hosts of a run, as far as it takes to connect to them.
pub(super) struct Hosts {
    pub spec: Spec,
    pub sources: Sources,
}

/// Reads the hosts of the experiment that a run has kept, and those of a file that replaces some. Only the
/// variables that they name must be set, and those of `names`: what else the experiment needs may be gone.
pub(super) fn read_hosts(
    kept: &Path,
    replaced_by: Option<&Path>,
    names: &BTreeSet<String>,
) -> Result<Hosts, Problems> {
    let mut files = vec![(Fragment::Experiment, kept)];
    files.extend(replaced_by.map(|path| (Fragment::Hosts, path)));
    let (spec, sources) = Reader::new(&text).read(&files)?;
    let mut spec = Spec { hosts: spec.hosts, ..Spec::default() };
    let (_, missing) = variables::read(&mut spec, &sources, names);
    if !missing.is_empty() {
        return Err(Problems::new(missing, sources));
    }
    variables::put_into_hosts(&mut spec);
    Ok(Hosts { spec, sources })
}

/// The experiment that a run has kept, as far as its outputs are read by it. Variables have no values.
pub(super) fn read_kept(kept: &Path) -> Result<Spec, Problems> {
    let (spec, sources) = Reader::new(&text).read(&[(Fragment::Experiment, kept)])?;
    match metrics::check(&spec, &sources) {
        problems if problems.is_empty() => Ok(spec),
        problems => Err(Problems::new(problems, sources)),
    }
}

impl Experiment {
    /// How each host of the plan is reached, by name; of variables only their names.
    pub(super) fn ways(&self) -> BTreeMap<String, String> {
        let hosts = self.plan.hosts().into_iter();
        hosts.filter_map(|name| Some((name.clone(), self.kept.hosts.get(name.as_str())?.way()))).collect()
    }

    /// A host with its templates.
    pub(super) fn host(&self, name: &str) -> Option<&Host> {
        self.kept.hosts.get(name)
    }

    /// A workload in these environments and on these hosts alone, with the templates of the hosts.
    pub(super) fn part(
        &self,
        workload: &str,
        environments: &BTreeSet<String>,
        hosts: &BTreeSet<String>,
    ) -> Spec {
        let Spec { workloads, environments: all, hosts: every, .. } = self.kept.clone();
        Spec {
            workloads: workloads.into_iter().filter(|(name, _)| name.value == workload).collect(),
            environments: all.into_iter().filter(|(name, _)| environments.contains(&name.value)).collect(),
            hosts: every.into_iter().filter(|(name, _)| hosts.contains(&name.value)).collect(),
            ..Spec::default()
        }
    }

    /// The experiment as YAML that lies in `folder`: the files that it names are found from there.
    pub(super) fn yaml_in(&self, folder: &Path) -> String {
        let mut kept = self.kept.clone();
        for path in kept.paths_mut() {
            let named = self.sources.directory(path.span).join(path.as_str());
            if let Some(relative) = relative(&named, folder) {
                path.value = relative;
            }
        }
        kept.to_yaml()
    }
}

/// `path` as it is written from `folder`.
fn relative(path: &Path, folder: &Path) -> Option<String> {
    let plain = |path: &Path| {
        let whole = std::path::absolute(path).ok()?;
        // `x/..` is nothing, as long as `x` is no link; then the path still leads there, only longer.
        whole.components().try_fold(PathBuf::new(), |mut plain, part| {
            match part {
                Component::ParentDir => drop(plain.pop()),
                part => plain.push(part),
            }
            Some(plain)
        })
    };
    let (path, folder) = (plain(path)?, plain(folder)?);
    let same = path.components().zip(folder.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(same).map(|_| Component::ParentDir);
    let relative: PathBuf = up.chain(path.components().skip(same)).collect();
    Some(relative.to_string_lossy().into_owned())
}

/// What reads the files; `--set` replaces values in them as they are read.
fn reader(changes: &Changes) -> Reader<'static> {
    let sets: Vec<String> = changes.sets.iter().map(ToString::to_string).collect();
    Reader::new(&text).with_sets(&sets)
}

/// Leaves in the matrix only what `--axis` and `--where` ask for.
fn narrow(spec: &mut Spec, changes: &Changes) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (number, AxisOption { name, values }) in changes.axes.iter().enumerate() {
        if changes.axes[..number].iter().any(|other| other.name == *name) {
            let problem = Problem::of_file(format!("`--axis {name}=` is given twice"));
            problems.push(problem.help(format!("write the values in one: `--axis {name}=A,B`")));
        }
        problems.extend(spec.replace_axis(name, values).err());
    }
    if let Some(condition) = &changes.condition {
        problems.extend(spec.keep_where(condition).err());
    }
    problems
}

/// The experiment's name, after which the folder of its results is called.
pub(super) fn name(file: &Path) -> String {
    file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Environments that nobody asked for are not part of what is run; in the kept experiment they would widen
/// its matrix.
fn leave_out_unused(spec: &mut Spec, plan: &Plan) {
    let used = plan.environments();
    let offered = &spec.offered;
    spec.environments.retain(|name, _| !offered.contains(&name.value) || used.contains(&name.value));
}

/// The text of a file, or why there is none.
fn text(path: &Path) -> Result<String, String> {
    let told = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "it may not be read".to_owned(),
        _ => error.to_string(),
    };
    // A pipe would block when it is opened; what was opened is looked at again, and read to the limit alone.
    if !fs::metadata(path).map_err(told)?.is_file() {
        return Err("it is not a file".into());
    }
    let file = fs::File::open(path).map_err(told)?;
    if !file.metadata().map_err(told)?.is_file() {
        return Err("it is not a file".into());
    }
    let mut bytes = Vec::new();
    file.take(spec::FILE_LIMIT as u64 + 1).read_to_end(&mut bytes).map_err(told)?;
    if bytes.len() > spec::FILE_LIMIT {
        return Err(format!("it is larger than {} MiB", spec::FILE_LIMIT >> 20));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        format!("line {} is not UTF-8 text", 1 + valid.iter().filter(|&&byte| byte == b'\n').count())
    })
}

/// A number that is different in each process: std seeds its hash maps from the kernel's randomness.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

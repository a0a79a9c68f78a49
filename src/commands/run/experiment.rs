//! The experiment file and what the command line changes of it, as a checked spec and its plan.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::cli::RunArguments;
use crate::diagnostic::{Problems, Sources};
use crate::metrics;
use crate::plan::Plan;
use crate::spec::{self, Fragment, Reader, Spec};

/// What will be run.
pub(super) struct Experiment {
    pub spec: Spec,
    pub sources: Sources,
    pub plan: Plan,
    /// The experiment as it will be run, as YAML.
    pub yaml: String,
    /// SHA-256 of that YAML without a seed that was only drawn for this run, in hexadecimal.
    pub digest: String,
}

/// Reads and checks everything that can be checked without a machine.
pub(super) fn read(arguments: &RunArguments) -> Result<Experiment, Problems> {
    let text = |path: &Path| match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => Err("it is not a file".to_owned()),
        Ok(_) => fs::read_to_string(path).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let mut files = vec![(Fragment::Experiment, arguments.file.as_path())];
    files.extend(arguments.hosts.as_deref().map(|path| (Fragment::Hosts, path)));
    let (mut spec, sources) = Reader::new(&text).read(&files)?;
    if let Some(repetitions) = arguments.repetitions {
        spec.set_repetitions(repetitions);
    }
    spec.seed = arguments.seed.or(spec.seed);
    let spec = check(spec, &sources)?;
    let digest = Sha256::digest(spec.to_yaml()).iter().map(|byte| format!("{byte:02x}")).collect();
    let spec = Spec { seed: Some(spec.seed.unwrap_or_else(|| random() % 1_000_000)), ..spec };
    let plan = Plan::new(&spec, &sources)?;
    let yaml = spec.to_yaml();
    Ok(Experiment { spec, sources, plan, yaml, digest })
}

/// Both stages' rules, so that all mistakes come at once.
fn check(spec: Spec, sources: &Sources) -> Result<Spec, Problems> {
    let of_metrics = metrics::check(&spec, sources);
    match (spec::check(spec, sources), of_metrics) {
        (Ok(spec), Ok(())) => Ok(spec),
        (Ok(_), Err(problems)) | (Err(problems), Ok(())) => Err(problems),
        (Err(mut problems), Err(more)) => {
            problems.problems.extend(more.problems);
            Err(problems)
        }
    }
}

/// A number that is different in each process: std seeds its hash maps from the kernel's randomness.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

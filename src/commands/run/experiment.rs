//! The experiment file and what the command line changes of it, as a checked spec and its plan.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::{fs, io};

use sha2::{Digest, Sha256};

use crate::cli::RunArguments;
use crate::diagnostic::{Problems, Sources};
use crate::metrics;
use crate::plan::Plan;
use crate::spec::{self, Fragment, Located, Reader, Spec};

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
    let mut files = vec![(Fragment::Experiment, arguments.file.as_path())];
    files.extend(arguments.hosts.as_deref().map(|path| (Fragment::Hosts, path)));
    let (mut spec, sources) = Reader::new(&text).read(&files)?;
    if let Some(repetitions) = arguments.repetitions {
        spec.set_repetitions(repetitions);
    }
    spec.seed = arguments.seed.map(Located::unwritten).or(spec.seed);
    let found = metrics::check(&spec);
    let mut spec = spec::check(spec, &sources, found)?;
    let is_drawn = spec.seed.is_none();
    spec.seed.get_or_insert_with(|| Located::unwritten(random() % 1_000_000));
    let plan = Plan::new(&spec, &sources)?;
    leave_out_unused(&mut spec, &plan);
    let yaml = spec.to_yaml();
    let without_draw = Spec { seed: spec.seed.clone().filter(|_| !is_drawn), ..spec.clone() }.to_yaml();
    let digest = Sha256::digest(without_draw).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Experiment { spec, sources, plan, yaml, digest })
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
    let metadata = fs::metadata(path).map_err(told)?;
    if !metadata.is_file() {
        return Err("it is not a file".into());
    }
    if metadata.len() > spec::FILE_LIMIT as u64 {
        return Err(format!("it is larger than {} MiB", spec::FILE_LIMIT >> 20));
    }
    String::from_utf8(fs::read(path).map_err(told)?).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        format!("line {} is not UTF-8 text", 1 + valid.iter().filter(|&&byte| byte == b'\n').count())
    })
}

/// A number that is different in each process: std seeds its hash maps from the kernel's randomness.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

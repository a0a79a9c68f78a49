//! What the cells of a run take from this machine, as digests: files and folders that are uploaded or built
//! from, variables, and which machine each host is. Read [`take`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the files of an experiment")]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::contents;
use super::experiment::Experiment;
use crate::plan::{Cell, substitute::Context};
use crate::record::{Inputs, PlannedCell};
use crate::spec::step::Step;
use crate::spec::{Host, Spec, Text, template::is_template};

/// Hexadecimal digits of a variable's digest: enough to see a change, too few to find a value by.
const OF_VARIABLE: usize = 8;

/// The inputs of all cells of `experiment`, and its cells: what a cell takes is part of its settings.
pub(super) fn take(experiment: &Experiment, salt: String) -> (Inputs, Vec<PlannedCell>) {
    let inputs = Inputs { salt, ..Inputs::default() };
    let mut taking = Taking {
        experiment,
        inputs,
        hosts: hosts(experiment),
        files: BTreeMap::new(),
        contents: HashMap::new(),
        named: HashMap::new(),
    };
    let cells = experiment.plan.cells().map(|cell| taking.planned(&cell)).collect();
    let digest = |digests: &BTreeSet<String>| hexadecimal(digests.iter().map(String::as_str));
    taking.inputs.files =
        taking.files.iter().map(|(path, digests)| (path.clone(), digest(digests))).collect();
    (taking.inputs, cells)
}

/// What is known while the cells are gone through.
struct Taking<'a> {
    experiment: &'a Experiment,
    inputs: Inputs,
    /// What makes each host the machine it is.
    hosts: BTreeMap<String, String>,
    /// By path as it is written: in each cell it may be another one.
    files: BTreeMap<String, BTreeSet<String>>,
    /// The digest of what lies at each path.
    contents: HashMap<PathBuf, String>,
    /// The variables that are named by a workload in environments on hosts.
    named: HashMap<(String, BTreeSet<String>, BTreeSet<String>), Vec<String>>,
}

impl Taking<'_> {
    fn planned(&mut self, cell: &Cell) -> PlannedCell {
        let hosts = cell.hosts();
        let services = cell.services.iter().map(|service| service.environment.clone());
        let environments: BTreeSet<String> = services.chain([cell.environment.clone()]).collect();
        let of_hosts = hosts
            .iter()
            .map(|name| format!("host {name} {}", self.hosts.get(name).map_or("", String::as_str)));
        let mut parts: Vec<String> = of_hosts.collect();
        parts.extend(self.files_of(cell, &environments));
        parts.extend(self.variables_of(cell, environments, hosts));
        let mut planned = PlannedCell::from(cell);
        planned.settings =
            format!("{}-{}", cell.id, &hexadecimal(parts.iter().map(String::as_str))[..cell.id.len()]);
        planned
    }

    fn files_of(&mut self, cell: &Cell, environments: &BTreeSet<String>) -> Vec<String> {
        let spec = &self.experiment.spec;
        let paths = paths(spec, &cell.workload, environments);
        let context = match paths.iter().any(|path| is_template(path)) {
            true => Context::of_cell(spec, cell),
            false => Context::default(),
        };
        let mut parts = Vec::new();
        for path in paths {
            // What can't be rendered fails where it is used, and says so.
            let Ok(rendered) = context.render(path) else { continue };
            let at = self.experiment.sources.directory(path.span).join(rendered);
            let digest = self.contents.entry(at).or_insert_with_key(|at| contents::digest(at)).clone();
            parts.push(format!("file {} {digest}", path.as_str()));
            self.files.entry(path.value.clone()).or_default().insert(digest);
        }
        parts
    }

    fn variables_of(
        &mut self,
        cell: &Cell,
        environments: BTreeSet<String>,
        hosts: BTreeSet<String>,
    ) -> Vec<String> {
        let Experiment { spec, sources, .. } = self.experiment;
        if spec.variables.is_empty() {
            return Vec::new();
        }
        let named = self.named.entry((cell.workload.clone(), environments, hosts));
        let named = named.or_insert_with_key(|(workload, environments, hosts)| {
            let part = self.experiment.part(workload, environments, hosts);
            part.named_variables(sources).into_keys().collect()
        });
        let mut parts = Vec::new();
        for name in named {
            let Some(value) = spec.variables.get(name) else { continue };
            let mut digest = hexadecimal([self.inputs.salt.as_str(), name, value]);
            digest.truncate(OF_VARIABLE);
            parts.push(format!("variable {name} {digest}"));
            self.inputs.variables.insert(name.clone(), digest);
        }
        parts
    }
}

/// What makes each host the machine it is, and what templates read of it; of variables only their names.
fn hosts(experiment: &Experiment) -> BTreeMap<String, String> {
    let labels = |host: &Host| {
        let labels = host.labels.iter().map(|(label, text)| format!(" {}={}", label.as_str(), text.as_str()));
        labels.collect::<String>()
    };
    let peer = |host: &Host| host.peer_address.as_ref().map_or("", |text| text.as_str()).to_owned();
    let told = experiment.ways().into_iter().map(|(name, way)| {
        let more = experiment
            .host(&name)
            .map(|host| format!(" {}{}{}", peer(host), labels(host), vagrantfile(host)));
        (name, way + &more.unwrap_or_default())
    });
    told.collect()
}

/// Which Vagrantfile a machine of Vagrant is made by, where the experiment gives one.
fn vagrantfile(host: &Host) -> String {
    let given = host.vagrant.as_ref().and_then(|vagrant| vagrant.vagrantfile.as_ref());
    // What can't be written as JSON could not be read from YAML.
    let text = given.and_then(|given| serde_json::to_string(&given.value).ok());
    text.map(|text| format!(" Vagrantfile {}", &hexadecimal([text.as_str()])[..OF_VARIABLE]))
        .unwrap_or_default()
}

/// Every file and folder of this machine that a workload needs in these environments.
fn paths<'a>(spec: &'a Spec, workload: &str, environments: &BTreeSet<String>) -> Vec<&'a Text> {
    let workload = spec.workloads.get(workload);
    let environments = environments.iter().filter_map(|name| spec.environments.get(name.as_str()));
    let environments: Vec<_> = environments.collect();
    let builds = environments.iter().filter_map(|environment| environment.container.as_ref()?.build.as_ref());
    let steps = environments.iter().flat_map(|environment| [&environment.setup, &environment.cleanup]);
    let steps = workload.into_iter().flat_map(|workload| workload.steps()).chain(steps);
    let uploads = steps.flat_map(|steps| &steps.0).filter_map(|step| match &step.value {
        Step::Upload(upload) => Some(&upload.from),
        _ => None,
    });
    let files = workload.into_iter().flat_map(|workload| &workload.files).map(|file| &file.from);
    files.chain(uploads).chain(builds).collect()
}

/// SHA-256 of texts of which each is told from the next.
fn hexadecimal<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let whole = texts.into_iter().fold(Sha256::new(), |digest, text| {
        digest.chain_update((text.len() as u64).to_le_bytes()).chain_update(text)
    });
    whole.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

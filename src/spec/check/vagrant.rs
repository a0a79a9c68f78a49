//! Rules on the machines of Vagrant, and on what their Vagrantfiles are made of.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::super::filters::bytes;
use super::super::host::{Host, Vagrant, Vagrantfile, VagrantfileFields};
use super::super::template::is_template;
use super::super::{Located, Text};
use crate::diagnostic::Problem;

/// The least memory in bytes that a provider can be given.
const LEAST_MEMORY: f64 = 1_048_576.0;
/// Kinds of synced folders that one provider alone has.
const OWN_KINDS: [(&str, &str); 2] = [("docker", "docker"), ("virtualbox", "virtualbox")];

pub(super) fn check(hosts: &IndexMap<Text, Host>, problems: &mut Vec<Problem>) {
    let mut seen: Vec<(&str, &Vagrant)> = Vec::new();
    for (name, host) in hosts {
        let Some(Located { value: vagrant, span }) = &host.vagrant else { continue };
        if let Some(machine) = &vagrant.machine {
            problems.extend(no_machine(machine));
        }
        if let Some(Vagrantfile::Made(fields)) = vagrant.vagrantfile.as_ref().map(|found| &found.value) {
            check_fields(vagrant, fields, problems);
        }
        let same_folder = |(_, other): &&(&str, &Vagrant)| {
            other.directory == vagrant.directory && text(other) != text(vagrant)
        };
        if let Some((twin, _)) = seen.iter().find(same_folder) {
            let span = vagrant.vagrantfile.as_ref().map_or(*span, |file| file.span);
            let message = format!("`{twin}` and `{}` have two Vagrantfiles in one folder", name.value);
            problems.push(Problem::at(span, message).help("give each a `directory`, or both the same text"));
        }
        seen.push((name, vagrant));
    }
}

/// What tells its Vagrantfile from another. One that is made is of one machine.
fn text(vagrant: &Vagrant) -> Option<String> {
    match &vagrant.vagrantfile.as_ref()?.value {
        Vagrantfile::Inline(text) => Some(text.value.clone()),
        Vagrantfile::Made(_) => Some(format!("made of fields for {}", vagrant.machine())),
    }
}

fn no_machine(machine: &Text) -> Option<Problem> {
    let is_name = |name: &str| !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '/');
    let is_good = is_template(machine) || (is_name(machine) && !machine.starts_with('-'));
    (!is_good).then(|| {
        Problem::at(machine.span, format!("`{}` can't be the name of a machine", machine.value))
            .help("write the name that `vagrant status` shows, without blanks")
    })
}

fn check_fields(vagrant: &Vagrant, fields: &VagrantfileFields, problems: &mut Vec<Problem>) {
    let provider = vagrant.provider.as_ref().map(|provider| provider.value.as_str());
    if let Some(cpus) = fields.cpus.as_ref().filter(|cpus| cpus.value == 0) {
        problems.push(Problem::at(cpus.span, "a machine has at least one CPU").help("write `cpus: 1` or more"));
    }
    if let Some(memory) = fields.memory.as_ref().filter(|memory| !is_template(memory)) {
        let problem = match bytes(memory) {
            Err(error) => Some(error),
            Ok(amount) if amount < LEAST_MEMORY => Some(format!("`{}` is too little memory", memory.value)),
            Ok(_) => None,
        };
        problems.extend(problem.map(|problem| Problem::at(memory.span, problem).help("write `memory: 2GiB`")));
    }
    if let (Some("docker"), Some(version)) = (provider, &fields.version) {
        problems.push(
            Problem::at(version.span, "an image of the provider `docker` has no version of a box")
                .help("write its tag behind `box`: `box: bench:1.2`"),
        );
    }
    let mut guests = BTreeSet::new();
    for folder in &fields.synced_folders {
        let guest = folder.guest.trim_end_matches('/');
        if !folder.guest.starts_with('/') && !is_template(&folder.guest) {
            problems.push(
                Problem::at(folder.guest.span, format!("`{}` is no whole path", folder.guest.value))
                    .help("write the path in the virtual machine from `/` on"),
            );
        }
        if !guests.insert(guest) {
            problems.push(
                Problem::at(folder.guest.span, format!("two synced folders are at `{guest}`"))
                    .help("give each a path of its own in the virtual machine"),
            );
        }
        let own = OWN_KINDS.into_iter().find(|(kind, _)| *kind == folder.kind.as_str());
        if let (Some((kind, of)), Some(provider)) = (own, provider)
            && provider != of
        {
            let message = format!("only the provider `{of}` has synced folders of the type `{kind}`");
            problems.push(Problem::at(folder.kind.span, message).help("`rsync` and `nfs` go with most providers"));
        }
    }
}

//! Files of this machine that an experiment names must be there before anything runs.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "whether files are there")]

use crate::diagnostic::{Problem, Sources};
use crate::hosts::local_path;
use crate::plan::Plan;
use crate::spec::host::Vagrant;
use crate::spec::step::Step;
use crate::spec::template::is_template;
use crate::spec::{Spec, Text};

/// A mistake for each file that what is used of `spec` names and that is not there. What holds
/// a `{{ … }}` is known only in a cell, and left out.
pub(super) fn missing(spec: &Spec, sources: &Sources, plan: &Plan) -> Vec<Problem> {
    let (environments, hosts) = (plan.environments(), plan.hosts());
    let used = environments.iter().map(|name| &spec.environments[name.as_str()]);
    let builds = used.clone().filter_map(|environment| environment.container.as_ref()?.build.as_ref());
    let builds = written(builds).filter_map(|folder| no_dockerfile(folder, sources));
    let hosts = hosts.iter().map(|name| &spec.hosts[name.as_str()]);
    let machines = hosts.clone().filter_map(|host| host.vagrant.as_ref().map(|vagrant| &vagrant.value));
    let identities = hosts.filter_map(|host| host.ssh.as_ref()?.0.identity.as_ref());
    let identities = identities.chain(machines.clone().filter_map(Vagrant::identity));
    let identities = written(identities).filter_map(|file| no_file(file, sources));
    let folders = machines.filter(|vagrant| vagrant.vagrantfile.is_none());
    let folders = written(folders.filter_map(|vagrant| vagrant.directory.as_ref()));
    let vagrantfiles = folders.filter_map(|folder| no_vagrantfile(folder, sources));
    let workloads = plan.workloads();
    let workloads = workloads.iter().map(|name| &spec.workloads[name.as_str()]);
    let steps = workloads.clone().flat_map(|workload| workload.steps());
    let steps = steps.chain(used.flat_map(|environment| [&environment.setup, &environment.cleanup]));
    let uploads = steps.flat_map(|steps| &steps.0).filter_map(|step| match &step.value {
        Step::Upload(upload) => Some(upload),
        _ => None,
    });
    let uploads = workloads.flat_map(|workload| &workload.files).chain(uploads);
    let uploads = written(uploads.map(|upload| &upload.from)).filter_map(|path| nothing_there(path, sources));
    builds.chain(identities).chain(vagrantfiles).chain(uploads).collect()
}

fn written<'a>(texts: impl Iterator<Item = &'a Text>) -> impl Iterator<Item = &'a Text> {
    texts.filter(|text| !is_template(text))
}

fn no_dockerfile(folder: &Text, sources: &Sources) -> Option<Problem> {
    let path = sources.directory(folder.span).join(folder.as_str());
    let dockerfile = path.join("Dockerfile");
    if dockerfile.is_file() {
        return None;
    }
    let message = match path.is_dir() {
        true => format!("there is no `{}`", dockerfile.display()),
        false => format!("there is no folder `{}`", path.display()),
    };
    let help = "name a folder with a Dockerfile, by a path that starts at the folder of this file";
    Some(Problem::at(folder.span, message).label("an image is to be built from here").help(help))
}

fn no_vagrantfile(folder: &Text, sources: &Sources) -> Option<Problem> {
    let path = local_path(folder, sources).join("Vagrantfile");
    (!path.is_file()).then(|| {
        Problem::at(folder.span, format!("there is no `{}`", path.display()))
            .help("name the folder of a Vagrantfile by `directory`, or give one by `vagrantfile`")
    })
}

fn nothing_there(path: &Text, sources: &Sources) -> Option<Problem> {
    let found = sources.directory(path.span).join(path.as_str());
    (!found.exists()).then(|| {
        Problem::at(path.span, format!("there is no `{}`", found.display()))
            .help("name a file or folder by a path that starts at the folder of this file")
    })
}

fn no_file(file: &Text, sources: &Sources) -> Option<Problem> {
    let path = local_path(file, sources);
    let help = "write a path that starts at `/`, at `~/`, or at the folder of this file";
    (!path.is_file())
        .then(|| Problem::at(file.span, format!("there is no file `{}`", path.display())).help(help))
}

//! The paths of local files that an experiment names, relative to the file that each is written in.

use super::environment::Container;
use super::step::{Step, Steps};
use super::{Spec, Text};

impl Spec {
    /// Every path of a local file; not what stands for something else, and no template.
    pub fn paths_mut(&mut self) -> Vec<&mut Text> {
        let mut paths: Vec<&mut Text> = Vec::new();
        for host in self.hosts.values_mut() {
            if let Some(ssh) = &mut host.ssh {
                let fields = &mut ssh.value.0;
                let known_hosts = fields.known_hosts.as_mut().filter(|text| text.as_str() != "accept-new");
                let identity = fields.identity.as_mut().into_iter();
                paths.extend(identity.chain(known_hosts).chain(fields.config.as_mut()));
            }
            let vagrant = host.vagrant.iter_mut().flat_map(|vagrant| vagrant.value.paths_mut());
            let identity = host.ec2.iter_mut().filter_map(|ec2| ec2.value.identity.as_mut());
            paths.extend(vagrant.chain(identity));
        }
        for environment in self.environments.values_mut() {
            let container: Option<&mut Container> =
                environment.container.as_mut().map(|found| &mut found.value);
            paths.extend(container.and_then(|container| container.build.as_mut()));
            paths.extend(uploads(&mut environment.setup).chain(uploads(&mut environment.cleanup)));
        }
        for workload in self.workloads.values_mut() {
            paths.extend(workload.files.iter_mut().map(|file| &mut file.from));
            for steps in
                [&mut workload.setup, &mut workload.prepare, &mut workload.conclude, &mut workload.cleanup]
            {
                paths.extend(uploads(steps));
            }
        }
        paths.extend(self.report.references.values.iter_mut());
        paths.extend(self.report.templates.as_mut());
        paths.retain(|path| !path.starts_with(['/', '~']) && !super::template::is_template(path));
        paths
    }
}

fn uploads(steps: &mut Steps) -> impl Iterator<Item = &mut Text> {
    steps.0.iter_mut().filter_map(|step| match &mut step.value {
        Step::Upload(upload) => Some(&mut upload.from),
        _ => None,
    })
}

//! The settings of an environment in one cell, and the container that they ask for.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::DEFAULT_WORKDIR;
use crate::diagnostic::Sources;
use crate::hosts::{Entry, Kind, Ledger, Machine, Thing};
use crate::spec::environment::{self, Container as Declared, Environment, Fresh};
use crate::spec::{List, Text};
use crate::transports::TransportError;
use crate::transports::docker::{Container, ContainerOptions, Pull};

/// An environment with every `{{ … }}` replaced.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the cell's directory is made.
    pub workdir: String,
    /// Variables for everything that runs in it.
    pub env: Vec<(String, String)>,
    /// The shell for command lines, with its options.
    pub shell: Vec<String>,
    /// The container, if it is one.
    pub container: Option<ContainerSettings>,
}

/// A container with every `{{ … }}` replaced.
#[derive(Debug, Clone)]
pub struct ContainerSettings {
    build: Option<PathBuf>,
    /// Whether all cells of the run with these settings share it.
    pub is_shared: bool,
    pull: Pull,
    pub(super) options: ContainerOptions,
}

impl Settings {
    /// The settings of `environment`; `render` replaces what stands in braces.
    ///
    /// # Errors
    /// A value that can't be rendered or is not what its key wants.
    pub fn new(
        environment: &Environment,
        sources: &Sources,
        render: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, String> {
        let text = |text: &Option<Text>| text.as_ref().map(|text| render(text)).transpose();
        let container = environment.container.as_deref();
        let variable = |(name, value): (&Text, &Text)| Ok((name.value.clone(), render(value)?));
        Ok(Settings {
            workdir: text(&environment.workdir)?.unwrap_or_else(|| DEFAULT_WORKDIR.into()),
            env: environment.env.iter().map(variable).collect::<Result<_, String>>()?,
            shell: environment::shell(&text(&environment.shell)?.unwrap_or_else(|| "sh".into()))?,
            container: container
                .map(|container| ContainerSettings::new(container, sources, render))
                .transpose()?,
        })
    }

    /// The network of its container; `None` when it is native.
    pub fn network(&self) -> Option<&str> {
        self.container.as_ref().map(|container| container.options.network.as_deref().unwrap_or("bridge"))
    }

    /// The path on the machine of `directory` in the container, where it lies on a folder of the machine.
    pub(super) fn on_machine(&self, directory: &str) -> Option<String> {
        let volumes = self.container.as_ref()?.options.volumes.iter();
        let paths = volumes.filter_map(|volume| {
            let (source, target) = volume.split_once(':')?;
            let target = target.split(':').next()?.trim_end_matches('/');
            let rest = directory.strip_prefix(target).filter(|rest| rest.starts_with('/'))?;
            // A name is a volume of the engine, not a folder.
            source.starts_with('/').then(|| (target.len(), format!("{}{rest}", source.trim_end_matches('/'))))
        });
        // The innermost is the one that is seen.
        paths.max_by_key(|(length, _)| *length).map(|(_, path)| path)
    }

    /// Publishes `port` of the container on its machine, under the same number.
    pub fn publish(&mut self, port: u16) {
        if let Some(container) = &mut self.container {
            container.options.ports.push(format!("{port}:{port}"));
        }
    }
}

impl ContainerSettings {
    fn new(
        container: &Declared,
        sources: &Sources,
        render: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, String> {
        let text = |text: &Option<Text>| text.as_ref().map(|text| render(text)).transpose();
        let list = |list: &List| list.values.iter().map(|text| render(text)).collect::<Result<Vec<_>, _>>();
        let folder = container.build.as_ref().map(|build| sources.directory(build.span));
        let privileged = text(&container.privileged)?.map(|text| environment::flag(&text)).transpose()?;
        Ok(ContainerSettings {
            build: folder.zip(text(&container.build)?).map(|(folder, build)| folder.join(build)),
            is_shared: container.fresh == Fresh::Run,
            pull: match container.pull {
                environment::Pull::Missing => Pull::Missing,
                environment::Pull::Always => Pull::Always,
                environment::Pull::Never => Pull::Never,
            },
            options: ContainerOptions {
                image: text(&container.image)?.unwrap_or_default(),
                network: text(&container.network)?,
                cpus: text(&container.cpus)?.map(|text| environment::cpus(&text)).transpose()?,
                memory: text(&container.memory)?.map(|text| environment::memory(&text)).transpose()?,
                volumes: list(&container.volumes)?,
                ports: list(&container.ports)?,
                user: text(&container.user)?,
                privileged: privileged.unwrap_or(false),
                entrypoint: list(&container.entrypoint)?,
                platform: text(&container.platform)?,
                ..ContainerOptions::default()
            },
        })
    }
}

/// Starts the container of `settings`, if they ask for one; `ledger` has it, and its network, before they are
/// there.
pub(super) async fn start(
    machine: &Arc<Machine>,
    settings: &Settings,
    run: &str,
    name: &str,
    ledger: &Ledger,
    stop: &CancellationToken,
) -> Result<Option<(Container, Entry)>, TransportError> {
    /// Hosts can share an engine: one at a time looks for an image or network and makes it.
    static MAKING: Mutex<()> = Mutex::const_new(());
    let Some(container) = &settings.container else { return Ok(None) };
    let engine = machine.engine().await?;
    let mut options =
        ContainerOptions { name: name.to_owned(), run: run.to_owned(), ..container.options.clone() };
    let make = async {
        let _one_at_a_time = MAKING.lock().await;
        match &container.build {
            Some(folder) => options.image = engine.ensure_build(folder, options.platform.as_deref()).await?,
            None => engine.ensure_image(&options.image, options.platform.as_deref(), container.pull).await?,
        }
        match &options.network {
            Some(network) => {
                let made = |network| ledger.made(thing(machine, Kind::Network, network, run));
                let entry = (!is_given(network)).then(|| made(network)).transpose()?;
                let is_own = engine.ensure_network(network, run).await?;
                // One that was there already has another run's label or none, and is left alone.
                entry.filter(|_| !is_own).inspect(|entry| ledger.released(*entry));
                Ok::<(), TransportError>(())
            }
            None => Ok(()),
        }
    };
    tokio::select! {
        made = make => made?,
        () = stop.cancelled() => {
            return Err(TransportError { message: "the run was interrupted".into(), hint: None, is_lost: false });
        }
    }
    let entry = ledger.made(thing(machine, Kind::Container, name, run))?;
    // One that is left half made carries the run's label, and goes with its other containers.
    tokio::select! {
        started = engine.start_container(&options) => started.map(|container| Some((container, entry))),
        () = stop.cancelled() => Err(TransportError { message: "the run was interrupted".into(), hint: None, is_lost: false }),
    }
}

/// Whether every engine has a network of this name, or it is that of another container.
fn is_given(network: &str) -> bool {
    ["host", "none", "bridge", "default"].contains(&network) || network.starts_with("container:")
}

/// Something of `run` on `machine`, as its ledger has it.
pub(super) fn thing(machine: &Machine, kind: Kind, name: &str, run: &str) -> Thing {
    Thing { host: machine.name.clone(), kind, name: name.to_owned(), run: run.to_owned(), place: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_on_a_folder_of_the_machine() {
        let volumes = ["/srv/a:/data", "/srv/b/:/data/in:ro", "named:/kept", "/:/host"];
        let options =
            ContainerOptions { volumes: volumes.map(str::to_owned).to_vec(), ..ContainerOptions::default() };
        let container = ContainerSettings { build: None, is_shared: false, pull: Pull::Missing, options };
        let (workdir, env, shell) = (String::new(), Vec::new(), Vec::new());
        let settings = Settings { workdir, env, shell, container: Some(container) };
        for (inside, outside) in [
            ("/data/x", Some("/srv/a/x")),
            ("/data/in/x", Some("/srv/b/x")),
            ("/host/x/y", Some("/x/y")),
            ("/datax/y", None),
            ("/kept/x", None),
            ("/var/tmp/x", None),
        ] {
            assert_eq!(settings.on_machine(inside).as_deref(), outside, "{inside}");
        }
    }
}

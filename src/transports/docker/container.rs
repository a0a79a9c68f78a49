//! One container: made idle, so that commands run in it by exec, and removed by force.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bollard::models::{ContainerCreateBody, HealthConfig, HostConfig, PortBinding};
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, LogsOptionsBuilder, RemoveContainerOptionsBuilder,
};
use futures_util::StreamExt;

use super::{DockerExec, End, Engine, is_missing, labels};
use crate::transports::{Transport, TransportError, job};

/// What keeps a container alive.
const IDLE: [&str; 2] = ["sleep", "2147483647"];
/// How long an entrypoint may prepare things.
const ENTRYPOINT_LIMIT: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// What a container is made of.
#[derive(Debug, Clone, Default)]
pub struct ContainerOptions {
    /// Its name on the engine.
    pub name: String,
    /// The run that makes it; kept as a label.
    pub run: String,
    /// The image, which must be on the engine.
    pub image: String,
    /// `host`, `none`, `bridge` or the name of a network.
    pub network: Option<String>,
    /// CPU limit in CPUs.
    pub cpus: Option<f64>,
    /// Memory limit in bytes, without swap beyond it.
    pub memory: Option<u64>,
    /// `source:target[:ro]`.
    pub volumes: Vec<String>,
    /// Ports to publish: `[address:]port:container_port[/protocol]`.
    pub ports: Vec<String>,
    /// The user inside.
    pub user: Option<String>,
    /// Whether it has all rights on the machine.
    pub privileged: bool,
    /// `os/architecture[/variant]`, where the engine can run several.
    pub platform: Option<String>,
    /// A program of the image that prepares things and then executes its arguments; none if empty.
    pub entrypoint: Vec<String>,
}

/// A running container.
#[derive(Clone)]
pub struct Container {
    engine: Engine,
    /// The engine's id of it.
    pub id: String,
    /// Its address on its network; empty on the host's network.
    pub address: String,
    /// The network it is on.
    pub network: String,
    /// The image it was made of.
    pub image: String,
    /// How many of its processes the kernel had ended for want of memory when that was last looked at.
    out_of_memory: Arc<AtomicU64>,
    /// Whose shells are kept from the first look on.
    exec: DockerExec,
}

impl Engine {
    /// Makes and starts a container that does nothing, and checks that its limits hold.
    ///
    /// # Errors
    /// When the engine refuses, or a limit was not enforced; nothing is left then.
    pub async fn start_container(&self, options: &ContainerOptions) -> Result<Container, TransportError> {
        let failed = |action: &str, error: &bollard::errors::Error| self.failed(action, &options.name, error);
        let name = CreateContainerOptionsBuilder::new().name(&options.name);
        let name = name.platform(options.platform.as_deref().unwrap_or_default()).build();
        let created = self.docker.create_container(Some(name), body(options)).await;
        let id = created.map_err(|error| failed("make container", &error))?.id;
        let started = async {
            self.docker
                .start_container(&id, None)
                .await
                .map_err(|error| failed("start container", &error))?;
            let found = self
                .docker
                .inspect_container(&id, None)
                .await
                .map_err(|error| failed("inspect container", &error))?;
            let network = options.network.clone().unwrap_or_else(|| "bridge".into());
            let networks = found.network_settings.and_then(|settings| settings.networks).unwrap_or_default();
            let address =
                networks.get(&network).and_then(|endpoint| endpoint.ip_address.clone()).unwrap_or_default();
            let container = Container {
                engine: self.clone(),
                id: id.clone(),
                address,
                network,
                image: options.image.clone(),
                out_of_memory: Arc::default(),
                exec: DockerExec::new(self, id.clone()),
            };
            if !options.entrypoint.is_empty() {
                container.await_entrypoint().await.map_err(|reason| TransportError {
                    message: format!(
                        "`{}`: entrypoint `{}` failed: {reason}",
                        self.machine,
                        shell_words::join(&options.entrypoint)
                    ),
                    hint: Some("let it end with `exec \"$@\"`".into()),
                    is_lost: false,
                })?;
            }
            self.check_limits(&container, options).await?;
            Ok(container)
        };
        match started.await {
            Ok(container) => Ok(container),
            Err(error) => {
                // The first failure is the one to tell; what can't be removed now is tried again at the end.
                let _ = self.remove_container(&id).await;
                Err(error)
            }
        }
    }

    /// Ends and removes a container; one that is gone already is fine.
    ///
    /// # Errors
    /// When the engine refuses.
    pub async fn remove_container(&self, id: &str) -> Result<(), TransportError> {
        let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
        match self.docker.remove_container(id, Some(options)).await {
            Err(error) if !is_missing(&error) => Err(self.failed("remove container", id, &error)),
            _ => Ok(()),
        }
    }

    /// Reads the limits where the kernel enforces them: in the container's own control group.
    async fn check_limits(
        &self,
        container: &Container,
        options: &ContainerOptions,
    ) -> Result<(), TransportError> {
        if options.cpus.is_none() && options.memory.is_none() {
            return Ok(());
        }
        let script = "cd /sys/fs/cgroup
if [ -f memory.max ]; then cat memory.max cpu.max
else cat memory/memory.limit_in_bytes; echo $(cat cpu/cpu.cfs_quota_us cpu/cpu.cfs_period_us); fi";
        let printed = job::query(&container.exec(), script).await?;
        let text = String::from_utf8_lossy(&printed);
        let numbers: Vec<Option<f64>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
        let [memory, quota, period] = [0, 1, 2].map(|index| numbers.get(index).copied().flatten());
        let cpus = quota.zip(period).map(|(quota, period)| quota / period).filter(|cpus| *cpus > 0.0);
        let limits =
            [("cpus", options.cpus, cpus), ("memory", options.memory.map(|bytes| bytes as f64), memory)];
        for (name, wanted, enforced) in limits {
            let Some(wanted) = wanted else { continue };
            // The kernel rounds memory to pages and time to microseconds.
            if enforced.is_none_or(|enforced| (enforced - wanted).abs() > wanted * 0.01) {
                let enforced = enforced.map_or("nothing".to_owned(), |value| value.to_string());
                return Err(TransportError {
                    message: format!(
                        "`{}`: {name} limit {wanted} is not enforced: the kernel says {enforced}",
                        self.machine
                    ),
                    hint: Some("see the warnings at the end of `docker info` there".into()),
                    is_lost: false,
                });
            }
        }
        Ok(())
    }
}

impl Container {
    /// The way to run commands in it.
    pub fn exec(&self) -> DockerExec {
        self.exec.clone()
    }

    /// Why it is not running any more; `None` while it is, or when the engine does not answer. The engine
    /// is given a moment to notice.
    pub async fn death(&self) -> Option<String> {
        for _ in 0..5 {
            let state = match self.engine.docker.inspect_container(&self.id, None).await {
                Err(error) if is_missing(&error) => return Some("its container is gone".into()),
                found => found.ok()?.state?,
            };
            if let Some(end) = End::of(&state) {
                return Some(end.to_string());
            }
            state.running?;
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        None
    }

    /// Whether the kernel has ended a process of it for want of memory since this was last asked. `inside` is a way
    /// into it whose shells are kept: it is asked after each trial.
    pub async fn was_out_of_memory(&self, inside: &dyn Transport) -> bool {
        let script = "for f in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do \
                      [ ! -r $f ] || while read -r l; do echo \"$l\"; done <$f; done; :";
        // One that can't be asked has worse to tell.
        let printed = job::query(inside, script).await.unwrap_or_default();
        let text = String::from_utf8_lossy(&printed);
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok());
        count.is_some_and(|count| self.out_of_memory.swap(count, Ordering::Relaxed) < count)
    }

    /// Waits until the entrypoint has executed what keeps the container alive.
    async fn await_entrypoint(&self) -> Result<(), String> {
        let script = format!(
            "for p in /proc/[0-9]*; do read -r c <$p/comm && [ \"$c\" = {} ] && \
             grep -qs {} $p/cmdline && echo idle; done 2>/dev/null; :",
            IDLE[0], IDLE[1]
        );
        let exec = self.exec();
        let look = async {
            loop {
                match job::query(&exec, &script).await {
                    Ok(printed) if !printed.is_empty() => return Ok(()),
                    Ok(_) => tokio::time::sleep(BETWEEN_LOOKS).await,
                    Err(error) => return Err(error.message),
                }
            }
        };
        let waited = tokio::time::timeout(ENTRYPOINT_LIMIT, look).await;
        let Some(reason) = waited.map_or_else(
            |_| Some(format!("it did not execute its arguments within {} s", ENTRYPOINT_LIMIT.as_secs())),
            Result::err,
        ) else {
            return Ok(());
        };
        let reason = self.death().await.unwrap_or(reason);
        let printed = self.last_words().await;
        Err(if printed.is_empty() { reason } else { format!("{reason}: {printed}") })
    }

    /// The last line that its first process has printed.
    async fn last_words(&self) -> String {
        let options = LogsOptionsBuilder::new().stdout(true).stderr(true).tail("1").build();
        let lines = self.engine.docker.logs(&self.id, Some(options));
        let lines: Vec<String> = lines.filter_map(async |line| Some(line.ok()?.to_string())).collect().await;
        lines.last().map(|line| line.trim().to_owned()).unwrap_or_default()
    }

    /// The engine it is on.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }
}

fn body(options: &ContainerOptions) -> ContainerCreateBody {
    let memory = options.memory.and_then(|bytes| i64::try_from(bytes).ok());
    let ports: Vec<(String, PortBinding)> = options.ports.iter().map(|port| publish(port)).collect();
    let mut entrypoint = options.entrypoint.clone();
    let mut idle = IDLE.map(str::to_owned).to_vec();
    if entrypoint.is_empty() {
        entrypoint.push(idle.remove(0));
    }
    ContainerCreateBody {
        image: Some(options.image.clone()),
        entrypoint: Some(entrypoint),
        cmd: Some(idle),
        labels: Some(labels(&options.run)),
        user: options.user.clone(),
        // The image's own would run beside what is measured.
        healthcheck: Some(HealthConfig { test: Some(vec!["NONE".into()]), ..Default::default() }),
        exposed_ports: Some(ports.iter().map(|(port, _)| port.clone()).collect()),
        host_config: Some(HostConfig {
            // An init of its own reaps what commands leave behind.
            init: Some(true),
            privileged: Some(options.privileged),
            network_mode: options.network.clone(),
            nano_cpus: options.cpus.map(|cpus| (cpus * 1e9) as i64),
            memory,
            memory_swap: memory,
            binds: Some(options.volumes.clone()),
            port_bindings: Some(ports.into_iter().fold(HashMap::new(), |mut map, (port, binding)| {
                map.entry(port).or_insert_with(|| Some(Vec::new())).get_or_insert_default().push(binding);
                map
            })),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// `[address:]port:container_port[/protocol]`, or one port for both sides.
fn publish(written: &str) -> (String, PortBinding) {
    let (ports, protocol) = written.split_once('/').unwrap_or((written, "tcp"));
    let (outside, inside) = ports.rsplit_once(':').unwrap_or((ports, ports));
    let (address, port) = match outside.rsplit_once(':') {
        Some((address, port)) => (Some(address.to_owned()), port),
        None => (None, outside),
    };
    (format!("{inside}/{protocol}"), PortBinding { host_ip: address, host_port: Some(port.to_owned()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entrypoint_is_given_what_keeps_the_container_alive() {
        let container = body(&ContainerOptions { privileged: true, ..ContainerOptions::default() });
        assert_eq!(container.entrypoint.unwrap(), ["sleep"]);
        assert_eq!(container.cmd.unwrap(), ["2147483647"]);
        assert_eq!(container.host_config.unwrap().privileged, Some(true));
        let entrypoint = vec!["/start".to_owned(), "-v".to_owned()];
        let container = body(&ContainerOptions { entrypoint, ..ContainerOptions::default() });
        assert_eq!(container.entrypoint.unwrap(), ["/start", "-v"]);
        assert_eq!(container.cmd.unwrap(), IDLE);
    }

    #[test]
    fn published_ports() {
        for (written, inside, address, port) in [
            ("8080:80", "80/tcp", None, "8080"),
            ("127.0.0.1:5201:5201/udp", "5201/udp", Some("127.0.0.1"), "5201"),
            ("5201", "5201/tcp", None, "5201"),
        ] {
            let (port_inside, binding) = publish(written);
            assert_eq!(port_inside, inside);
            assert_eq!((binding.host_ip.as_deref(), binding.host_port.as_deref()), (address, Some(port)));
        }
    }
}

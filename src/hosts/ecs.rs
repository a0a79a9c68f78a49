//! A cluster of Amazon ECS. Nothing logs in there: each command of a container environment is a task of its own,
//! which is told everything when it starts and whose outcome is read from CloudWatch Logs. Read [`Cluster`], then
//! [`Tasks`] in `ecs/tasks.rs`.

mod answers;
mod tasks;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use indexmap::IndexMap;
use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};

use self::answers::{Clusters, Definition, Definitions, TaskList};
use super::aws::{Aws, AwsError};
use super::probe::OF_ANY;
use super::provide::LOOKS;
use super::{Fate, Kind, Ledger, Machine, Making, Thing, Way, peer_address, sudo};
use crate::spec::Host;
use crate::spec::host::{AddressKind, Architecture, Ecs, LaunchType};
use crate::transports::job::alone;
use crate::transports::{Pipe, Program, Shells, Transport, TransportError};

pub use tasks::{TaskSettings, Tasks};

/// The longest time until a task runs, if nothing is said.
const UP_WITHIN: Duration = Duration::from_secs(600);
/// How long a task may live whose command has no limit of its own, in a run without a deadline.
const LIFETIME: Duration = Duration::from_secs(12 * 3600);
/// How much longer than the run.
const LIFETIME_MARGIN: Duration = Duration::from_secs(600);
/// The group of CloudWatch Logs, if nothing is said.
const LOG_GROUP: &str = "/runner";
/// The name of the only container of a task.
const CONTAINER: &str = "workload";
/// The tag by which everything of a run is found.
const TAG: &str = "runner:run";

/// A cluster, for one run.
pub struct Cluster {
    aws: Aws,
    host: String,
    settings: Ecs,
    /// Its name.
    name: String,
    /// Where it is, as its ARN says.
    region: String,
    run: String,
    ledger: Ledger,
    /// How long a task lives whose command has no limit.
    lifetime: Duration,
    /// The definitions that were registered, by their settings.
    definitions: Mutex<BTreeMap<String, String>>,
    has_log_group: Mutex<bool>,
}

/// Looks whether the cluster is there.
///
/// # Errors
/// When it is not, or AWS refuses.
pub(super) async fn connect(
    name: &str,
    host: &Host,
    ecs: &Ecs,
    making: Option<&Making>,
) -> Result<Machine, TransportError> {
    let aws = Aws::new(name, ecs.region.as_ref(), ecs.profile.as_ref());
    let cluster = ecs.cluster.as_ref().map_or("default", |cluster| cluster.as_str()).to_owned();
    let found: Clusters = aws.ask(&["ecs", "describe-clusters", "--clusters", &cluster]).await?;
    let region = found.region(&cluster).ok_or_else(|| TransportError {
        hint: Some(format!(
            "make it with `aws ecs create-cluster --cluster-name {cluster}`, or correct `cluster:`"
        )),
        ..TransportError::new(format!("`{name}`: there is no active ECS cluster `{cluster}`"))
    })?;
    let launch_type = match ecs.launch_type.unwrap_or_default() {
        LaunchType::Fargate => "Fargate",
        LaunchType::FargateSpot => "Fargate Spot",
        LaunchType::Ec2 => "instances of the cluster",
    };
    let architecture = match ecs.architecture.unwrap_or_default() {
        Architecture::X86 => "x86_64",
        Architecture::Arm64 => "arm64",
    };
    let platform = ecs.platform_version.as_ref().map_or("LATEST", |version| version.as_str());
    let facts = [
        ("tasks on", launch_type),
        ("region", &region),
        ("architecture", architecture),
        ("platform version", platform),
    ];
    let provenance: IndexMap<String, String> =
        facts.map(|(fact, value)| (fact.to_owned(), value.to_owned())).into_iter().collect();
    let deadline = making.and_then(|making| making.deadline);
    let cluster = Arc::new(Cluster {
        aws,
        host: name.to_owned(),
        settings: ecs.clone(),
        name: cluster,
        region,
        run: making.map(|making| making.run.clone()).unwrap_or_default(),
        ledger: making.map(|making| making.ledger.clone()).unwrap_or_default(),
        lifetime: deadline.map_or(LIFETIME, |deadline| deadline + LIFETIME_MARGIN),
        definitions: Mutex::default(),
        has_log_group: Mutex::default(),
    });
    let way = Way::Ecs(cluster);
    let no_shell = Arc::new(NoShell { host: name.to_owned(), shells: Shells::default() });
    let address = peer_address(host, format!("{name}.invalid"));
    let probes = OF_ANY.map(str::to_owned).to_vec();
    Ok(Machine { provenance, probes, ..Machine::new(name, way, no_shell, address, sudo(host)) })
}

impl Cluster {
    /// Tasks with these settings; nothing is started yet.
    pub fn tasks(self: &Arc<Self>, settings: TaskSettings) -> Arc<Tasks> {
        Arc::new(Tasks::new(Arc::clone(self), settings))
    }

    /// Whether its tasks run on Fargate, which has few sizes.
    pub fn is_fargate(&self) -> bool {
        self.settings.launch_type.unwrap_or_default() != LaunchType::Ec2
    }

    /// Whether it still answers.
    ///
    /// # Errors
    /// When it does not.
    pub async fn answers(&self) -> Result<(), TransportError> {
        let found: Clusters = self.aws.ask(&["ecs", "describe-clusters", "--clusters", &self.name]).await?;
        found.region(&self.name).map(drop).ok_or_else(|| TransportError {
            is_lost: true,
            ..TransportError::new(format!("`{}`: the ECS cluster `{}` is gone", self.host, self.name))
        })
    }

    fn started_by(&self) -> String {
        started_by(&self.run)
    }

    async fn thing(&self, name: String) -> Result<Thing, TransportError> {
        let (host, run, place) = (self.host.clone(), self.run.clone(), self.aws.place().await?.to_owned());
        Ok(Thing { host, kind: Kind::Tasks, name, run, place: Some(place) })
    }

    fn log_group(&self) -> &str {
        self.settings.log_group.as_ref().map_or(LOG_GROUP, |group| group.as_str())
    }

    fn up_within(&self) -> Duration {
        self.settings.up_within.map_or(UP_WITHIN, |time| time.0)
    }

    /// The definition for tasks of `settings`, registered when it is first asked for.
    async fn definition(&self, settings: &TaskSettings) -> Result<String, TransportError> {
        let mut definitions = self.definitions.lock().await;
        let wanted = self.definition_of(settings);
        let key = wanted.to_string();
        if let Some(known) = definitions.get(&key) {
            return Ok(known.clone());
        }
        // One line for everything that carries the run's tags, before the first of it is made.
        self.ledger.made(self.thing(self.started_by()).await?)?;
        self.make_log_group().await?;
        let registered: Definition =
            self.aws.ask(&["ecs", "register-task-definition", "--cli-input-json", &key]).await?;
        definitions.insert(key, registered.arn().to_owned());
        Ok(registered.arn().to_owned())
    }

    /// Without it a task does not start. It is the user's, and stays.
    async fn make_log_group(&self) -> Result<(), TransportError> {
        let mut is_there = self.has_log_group.lock().await;
        if *is_there {
            return Ok(());
        }
        let made: Result<Value, AwsError> =
            self.aws.ask(&["logs", "create-log-group", "--log-group-name", self.log_group()]).await;
        match made {
            Err(error) if error.code != "ResourceAlreadyExistsException" => Err(error.into()),
            _ => {
                *is_there = true;
                Ok(())
            }
        }
    }

    fn definition_of(&self, settings: &TaskSettings) -> Value {
        let Ecs { execution_role, task_role, architecture, launch_type, .. } = &self.settings;
        let compatibility = match launch_type.unwrap_or_default() {
            LaunchType::Ec2 => "EC2",
            LaunchType::Fargate | LaunchType::FargateSpot => "FARGATE",
        };
        let architecture = match architecture.unwrap_or_default() {
            Architecture::X86 => "X86_64",
            Architecture::Arm64 => "ARM64",
        };
        let mut container = json!({
            "name": CONTAINER,
            "image": settings.image,
            "essential": true,
            // The whole of its task.
            "cpu": settings.size.cpu,
            "memory": settings.size.memory,
            // Whatever entry point the image has, `env` starts what is asked for.
            "entryPoint": ["env"],
            "command": tasks::command(None),
            "environment": [{ "name": "RUNNER_WRAPPER", "value": alone::wrapper() }],
            "logConfiguration": { "logDriver": "awslogs", "options": {
                "awslogs-group": self.log_group(),
                "awslogs-region": self.region,
                "awslogs-stream-prefix": self.started_by(),
            }},
            "stopTimeout": 60,
        });
        if let Some(user) = &settings.user {
            container["user"] = json!(user);
        }
        let mut definition = json!({
            "family": self.started_by(),
            "networkMode": "awsvpc",
            "requiresCompatibilities": [compatibility],
            "cpu": settings.size.cpu.to_string(),
            "memory": settings.size.memory.to_string(),
            "runtimePlatform": { "cpuArchitecture": architecture, "operatingSystemFamily": "LINUX" },
            "containerDefinitions": [container],
            "tags": self.tags(),
        });
        for (key, role) in [("executionRoleArn", execution_role), ("taskRoleArn", task_role)] {
            if let Some(role) = role {
                definition[key] = json!(role.value);
            }
        }
        definition
    }

    fn tags(&self) -> Value {
        let own = [(TAG, self.run.as_str()), ("runner:host", self.host.as_str())];
        let given = self.settings.tags.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        own.into_iter().chain(given).map(|(key, value)| json!({ "key": key, "value": value })).collect()
    }

    /// The request for one task that runs `script`.
    fn task_request(&self, definition: &str, script: &str) -> Value {
        let Ecs {
            subnets, security_groups, assign_public_ip, launch_type, platform_version, address, ..
        } = &self.settings;
        let texts = |list: &crate::spec::List| -> Value {
            list.values.iter().map(|text| json!(text.value)).collect()
        };
        // A public address is none without one.
        let is_public = assign_public_ip.unwrap_or(*address == Some(AddressKind::Public));
        let mut request = json!({
            "cluster": self.name,
            "taskDefinition": definition,
            "count": 1,
            "startedBy": self.started_by(),
            "networkConfiguration": { "awsvpcConfiguration": {
                "subnets": texts(subnets),
                "securityGroups": texts(security_groups),
                "assignPublicIp": if is_public { "ENABLED" } else { "DISABLED" },
            }},
            "overrides": { "containerOverrides": [{ "name": CONTAINER, "command": tasks::command(Some(script)) }] },
            "tags": self.tags(),
        });
        match launch_type.unwrap_or_default() {
            LaunchType::Fargate => request["launchType"] = json!("FARGATE"),
            LaunchType::Ec2 => request["launchType"] = json!("EC2"),
            LaunchType::FargateSpot => {
                request["capacityProviderStrategy"] =
                    json!([{ "capacityProvider": "FARGATE_SPOT", "weight": 1 }]);
            }
        }
        if let Some(version) = platform_version {
            request["platformVersion"] = json!(version.value);
        }
        request
    }
}

fn started_by(run: &str) -> String {
    format!("runner-{run}")
}

/// Everything that carries the tags of the run on the cluster, for a ledger that is lost.
///
/// # Errors
/// When AWS can't be asked.
pub(super) async fn things(name: &str, ecs: &Ecs, run: &str) -> Result<Vec<Thing>, TransportError> {
    let left = Left::new(name, ecs, run);
    let is_empty = left.tasks().await?.is_empty() && left.definitions().await?.is_empty();
    let (host, run, name) = (name.to_owned(), run.to_owned(), started_by(run));
    let thing = Thing { host, kind: Kind::Tasks, name, run, place: None };
    Ok((!is_empty).then_some(thing).into_iter().collect())
}

/// Stops every task of the run that `thing` tells of, and deregisters their definitions. One that was asked for and
/// not answered is looked for until it shows.
///
/// # Errors
/// When AWS refuses; what it does not refuse is done all the same.
pub(super) async fn release(name: &str, ecs: &Ecs, thing: &Thing) -> Result<Fate, TransportError> {
    let left = Left::new(name, ecs, &thing.run);
    if let Some(elsewhere) = left.aws.elsewhere(thing).await? {
        return Ok(elsewhere);
    }
    let mut tasks = left.tasks().await?;
    for seconds in LOOKS.into_iter().filter(|_| thing.name != left.run) {
        if !tasks.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        tasks = left.tasks().await?;
    }
    let mut done = Ok(());
    for task in &tasks {
        let words = ["ecs", "stop-task", "--cluster", &left.cluster, "--task", task];
        done = done.and(left.aws.ask::<Value>(&words).await.map(drop));
    }
    let definitions = left.definitions().await?;
    for definition in &definitions {
        let words = ["ecs", "deregister-task-definition", "--task-definition", definition];
        done = done.and(left.aws.ask::<Value>(&words).await.map(drop));
    }
    done?;
    Ok(if tasks.is_empty() && definitions.is_empty() { Fate::Gone } else { Fate::Removed })
}

/// What there is of a run on a cluster.
struct Left {
    aws: Aws,
    cluster: String,
    /// What its tasks and definitions are called by.
    run: String,
}

impl Left {
    fn new(name: &str, ecs: &Ecs, run: &str) -> Self {
        let aws = Aws::new(name, ecs.region.as_ref(), ecs.profile.as_ref());
        let cluster = ecs.cluster.as_ref().map_or("default", |cluster| cluster.as_str()).to_owned();
        Left { aws, cluster, run: started_by(run) }
    }

    async fn tasks(&self) -> Result<Vec<String>, TransportError> {
        let list = ["ecs", "list-tasks", "--cluster", &self.cluster, "--started-by", &self.run];
        match self.aws.ask::<TaskList>(&list).await {
            // A cluster that is gone has no tasks.
            Err(error) if error.code == "ClusterNotFoundException" => Ok(Vec::new()),
            asked => Ok(asked?.into_arns()),
        }
    }

    async fn definitions(&self) -> Result<Vec<String>, TransportError> {
        let list = ["ecs", "list-task-definitions", "--family-prefix", &self.run, "--status", "ACTIVE"];
        Ok(self.aws.ask::<Definitions>(&list).await?.into_arns())
    }
}

/// The way to a cluster itself: there is none.
struct NoShell {
    host: String,
    shells: Shells,
}

#[async_trait]
impl Transport for NoShell {
    async fn open(&self, _: Program) -> Result<Pipe, TransportError> {
        Err(TransportError::new(format!("`{}` is an ECS cluster, where no shell can be opened", self.host)))
    }

    fn shells(&self) -> &Shells {
        &self.shells
    }
}

/// What is known of the task that runs now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct State {
    /// How its peers reach it, once it runs.
    address: Option<String>,
    /// Whether it runs.
    is_running: bool,
    /// Whether its sign was seen.
    is_ready: bool,
    /// Whether it has ended.
    is_over: bool,
}

type States = watch::Sender<State>;

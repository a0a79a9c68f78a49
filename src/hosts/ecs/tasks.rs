//! Tasks as a way to run jobs: each job is one task, from the request to the last line of its log. Read [`Tasks`].

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::answers::{Interfaces, LogEvents, TaskAnswer, TaskAnswers};
use super::{AddressKind, CONTAINER, Cluster, State, States};
use crate::hosts::aws::{AwsError, INPUT};
use crate::spec::TaskSize;
use crate::transports::job::alone::{self, Sign, Told};
use crate::transports::job::{self, Ended, Job, Stopped};
use crate::transports::{Direct, Pipe, Program, Shells, Transport, TransportError};

/// The most bytes of what differs from task to task, as ECS documents it for `overrides`.
const OVERRIDES_LIMIT: usize = 8192;
/// Between two looks at a task that starts, or whose sign is waited for.
const SHORT_PAUSE: Duration = Duration::from_secs(1);
/// Between two looks at one that runs.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How long the lines of a task may take to come after it has stopped.
const LOG_WITHIN: Duration = Duration::from_secs(60);
/// How much longer than its time a task may take, which ends itself, before it is stopped.
const MARGIN: Duration = Duration::from_secs(90);
/// How much earlier than its time a task must have ended, in seconds, to have been ended by somebody else.
const CLOCK_MARGIN_S: f64 = 5.0;
/// How long a task may take to end once it was stopped.
const STOPS_WITHIN: Duration = Duration::from_secs(240);
/// How many looks in a row may fail.
const LOOKS: u32 = 5;

/// What tasks are made of.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSettings {
    /// The image, which ECS must be able to pull.
    pub image: String,
    /// How large they are.
    pub size: TaskSize,
    /// The user inside; that of the image, if nothing is said.
    pub user: Option<String>,
}

/// Runs jobs as tasks, one after the other.
pub struct Tasks {
    cluster: Arc<Cluster>,
    settings: TaskSettings,
    shells: Shells,
    /// The sign of the next job.
    sign: Mutex<Option<Sign>>,
    state: States,
}

/// A task that was asked for. It is stopped when nobody waits for it any more.
struct Running {
    cluster: Arc<Cluster>,
    arn: String,
    is_over: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (cluster, arn) = (Arc::clone(&self.cluster), std::mem::take(&mut self.arn));
            // What fails here stays in the ledger, and is stopped at the end of the run.
            runtime.spawn(async move { cluster.stop(&arn).await });
        }
    }
}

/// What the shell of a task is given.
pub(super) fn command(script: Option<&str>) -> Value {
    let shell = ["/bin/sh", "-c", "eval \"$RUNNER_WRAPPER\"", "runner"].into_iter();
    shell.chain(script).map(|word| json!(word)).collect()
}

impl Tasks {
    pub(super) fn new(cluster: Arc<Cluster>, settings: TaskSettings) -> Self {
        let state = watch::Sender::new(State::default());
        Tasks { cluster, settings, shells: Shells::default(), sign: Mutex::default(), state }
    }

    /// How the next job says that it is ready.
    pub fn announce(&self, sign: Option<Sign>) {
        *self.sign.lock().unwrap_or_else(PoisonError::into_inner) = sign;
        self.state.send_replace(State::default());
    }

    /// Returns when the task of the job that was begun last runs, or has ended.
    pub async fn until_running(&self) {
        // The sender is ours, so it is there.
        let _ = self.state.subscribe().wait_for(|state| state.is_running || state.is_over).await;
    }

    /// Returns when its sign was seen, or it has ended.
    pub async fn until_ready(&self) {
        let _ = self.state.subscribe().wait_for(|state| state.is_ready || state.is_over).await;
    }

    /// Whether the task of the job that was begun last has ended.
    pub fn is_over(&self) -> bool {
        self.state.borrow().is_over
    }

    /// How large they are, as a person reads it: `0.25 CPUs and 512 MiB`.
    pub fn size(&self) -> String {
        let TaskSize { cpu, memory } = self.settings.size;
        format!("{} CPUs and {memory} MiB", f64::from(cpu) / 1024.0)
    }

    /// What image they have.
    pub fn image(&self) -> &str {
        &self.settings.image
    }

    /// How the task that runs now is reached.
    pub fn address(&self) -> Option<String> {
        self.state.borrow().address.clone()
    }

    async fn run_task(
        &self,
        job: &Job,
        timeout: Option<Duration>,
        sign: Option<Sign>,
        stop: &CancellationToken,
    ) -> Result<Ended, TransportError> {
        let cluster = &self.cluster;
        let definition = tokio::select! {
            biased;
            () = stop.cancelled() => return Err(TransportError::new("it was stopped before it began")),
            definition = cluster.definition(&self.settings) => definition?,
        };
        let lifetime = timeout.unwrap_or(cluster.lifetime);
        let script = alone::script(job, lifetime, sign.as_ref());
        // Not given up half-way: the answer says what is to be stopped.
        let task = cluster.start(&definition, &script).await?;
        let mut running =
            Running { cluster: Arc::clone(cluster), arn: task.task_arn.clone(), is_over: false };
        let (task, why) = self.follow(task, lifetime + job.stop.grace, sign.is_some(), stop).await?;
        running.is_over = true;
        let until = Instant::now() + LOG_WITHIN;
        loop {
            let told = match cluster.told(&task).await {
                Ok(told) => told,
                // What the task has measured may still be read.
                Err(_) if Instant::now() < until => {
                    tokio::time::sleep(SHORT_PAUSE).await;
                    continue;
                }
                Err(error) => return Err(TransportError { is_lost: true, ..error }),
            };
            if let Some(ended) = told.ended {
                // Its own clock begins a little later than the one that ends it in time.
                let is_early =
                    ended.stopped.is_some() && ended.elapsed_s + CLOCK_MARGIN_S < lifetime.as_secs_f64();
                if is_early && why.is_none() {
                    let message =
                        format!("`{}`: the task was ended from outside: {}", cluster.host, task.why());
                    return Err(TransportError::new(message));
                }
                return Ok(alone::stopped_by(ended, why));
            }
            if Instant::now() > until || !self.state.borrow().is_running && told == Told::default() {
                return Err(self.no_outcome(&task, told));
            }
            tokio::time::sleep(SHORT_PAUSE).await;
        }
    }

    /// Until it has stopped, by itself or by us.
    async fn follow(
        &self,
        task: TaskAnswer,
        limit: Duration,
        has_sign: bool,
        stop: &CancellationToken,
    ) -> Result<(TaskAnswer, Option<Stopped>), TransportError> {
        let (cluster, arn) = (&self.cluster, &task.task_arn.clone());
        let (mut why, mut failures, mut is_told) = (None, 0, false);
        let (mut due, mut give_up) = (None, None);
        let start = Instant::now();
        let mut looked = Ok(task);
        loop {
            let seen = match looked {
                Ok(task) if task.is_stopped() => return Ok((task, why)),
                Ok(task) => self.see(&task, start.elapsed(), has_sign, why.is_some()).await,
                Err(error) => Err(error),
            };
            match seen {
                Ok(Some(error)) => return Err(error),
                Ok(None) => failures = 0,
                Err(error) if failures == LOOKS => return Err(error),
                Err(_) => failures += 1,
            }
            let is_running = self.state.borrow().is_running;
            if is_running && due.is_none() {
                due = Some(Instant::now() + limit + MARGIN);
            }
            if why.is_none() && due.is_some_and(|due| Instant::now() > due) {
                why = Some(Stopped::TimedOut);
            }
            if why.is_some() && !is_told {
                is_told = cluster.stop(arn).await.is_ok();
                give_up.get_or_insert(Instant::now() + STOPS_WITHIN);
            }
            if give_up.is_some_and(|time| Instant::now() > time) {
                let message = format!("`{}`: the task was stopped and does not end", cluster.host);
                return Err(TransportError::new(message));
            }
            let hurries = !is_running || why.is_some() || has_sign && !self.state.borrow().is_ready;
            let pause =
                if hurries { SHORT_PAUSE } else { (start.elapsed() / 10).clamp(SHORT_PAUSE, LONGEST_PAUSE) };
            tokio::select! {
                () = stop.cancelled(), if why.is_none() => {
                    why = Some(Stopped::Cancelled);
                    is_told = cluster.stop(arn).await.is_ok();
                    give_up = Some(Instant::now() + STOPS_WITHIN);
                }
                () = tokio::time::sleep(pause) => {}
            }
            looked = cluster.look(arn).await;
        }
    }

    /// Takes in what a look has shown of a task that has not ended. Returns why it is of no use, if so.
    async fn see(
        &self,
        task: &TaskAnswer,
        since: Duration,
        has_sign: bool,
        is_ending: bool,
    ) -> Result<Option<TransportError>, TransportError> {
        let (cluster, state) = (&self.cluster, self.state.borrow().clone());
        if task.is_running() && !state.is_running {
            let Some(address) = cluster.address(task).await? else { return Ok(Some(self.no_address())) };
            self.state.send_modify(|state| (state.address, state.is_running) = (Some(address), true));
        } else if !state.is_running && !is_ending && since > cluster.up_within() {
            let (status, within) = (&task.last_status, crate::spec::TimeSpan(cluster.up_within()));
            let message = format!("`{}`: the task did not run within {within}: it is {status}", cluster.host);
            return Ok(Some(TransportError { is_lost: true, ..TransportError::new(message) }));
        }
        if has_sign && task.is_running() && !state.is_ready && cluster.told(task).await?.is_ready {
            self.state.send_modify(|state| state.is_ready = true);
        }
        Ok(None)
    }

    fn no_address(&self) -> TransportError {
        TransportError {
            hint: Some("add `assign_public_ip: true`, and use a public subnet".to_owned()),
            ..TransportError::new(format!(
                "`{}`: the task has no address of the wanted kind",
                self.cluster.host
            ))
        }
    }

    fn no_outcome(&self, task: &TaskAnswer, told: Told) -> TransportError {
        let what = match self.state.borrow().is_running {
            true => "the task has told no outcome",
            false => "the task did not start",
        };
        let words = told.stray.map(|line| format!("; its last words: {line}")).unwrap_or_default();
        TransportError::new(format!("`{}`: {what}: {}{words}", self.cluster.host, task.why()))
    }
}

impl Cluster {
    /// Asks for a task.
    async fn start(&self, definition: &str, script: &str) -> Result<TaskAnswer, TransportError> {
        let request = self.task_request(definition, script);
        let size = request["overrides"].to_string().len();
        if size > OVERRIDES_LIMIT {
            let message = format!(
                "the command and its variables have {size} bytes as a task; {OVERRIDES_LIMIT} is the limit of ECS"
            );
            let hint = Some("put the script into the image, and let `run` call it".to_owned());
            return Err(TransportError { hint, ..TransportError::new(message) });
        }
        // Not in the arguments, which everybody on this machine may read: variables may hold secrets.
        let words = ["ecs", "run-task", "--cli-input-json", &format!("file://{INPUT}")];
        // Until it is answered nobody knows the task, which may be there all the same.
        let asked = format!("{}, asked for as number {}", self.started_by(), job::next_number());
        let asked = self.ledger.made(self.thing(asked).await?)?;
        let answered = self.aws.ask_with::<TaskAnswers>(&words, &request.to_string()).await;
        if answered.as_ref().err().is_none_or(|error| !error.code.is_empty()) {
            self.ledger.released(asked);
        }
        let answers = answered?;
        if let Some(task) = answers.tasks.into_iter().next() {
            return Ok(task);
        }
        let refusal = answers.failures.into_iter().next().unwrap_or_default();
        let words: Vec<String> = [refusal.reason, refusal.detail].into_iter().flatten().collect();
        Err(TransportError::new(format!("`{}`: ECS starts no task: {}", self.host, words.join(": "))))
    }

    async fn look(&self, arn: &str) -> Result<TaskAnswer, TransportError> {
        let asked = ["ecs", "describe-tasks", "--cluster", &self.name, "--tasks", arn];
        let answers: TaskAnswers = self.aws.ask(&asked).await?;
        // Right after it was made it may not be known everywhere yet.
        answers.tasks.into_iter().next().ok_or_else(|| {
            TransportError::new(format!("`{}`: ECS does not know the task {arn} any more", self.host))
        })
    }

    async fn stop(&self, arn: &str) -> Result<(), TransportError> {
        let asked =
            ["ecs", "stop-task", "--cluster", &self.name, "--task", arn, "--reason", "no longer wanted"];
        self.aws.ask::<Value>(&asked).await?;
        Ok(())
    }

    /// How others reach a task that runs; none where it has no address of the wanted kind.
    async fn address(&self, task: &TaskAnswer) -> Result<Option<String>, TransportError> {
        let is_public = self.settings.address == Some(AddressKind::Public);
        if let (false, Some(address)) = (is_public, task.private_address()) {
            return Ok(Some(address.to_owned()));
        }
        let Some(interface) = task.interface() else { return Ok(None) };
        let asked = ["ec2", "describe-network-interfaces", "--network-interface-ids", interface];
        let found: Interfaces = self.aws.ask(&asked).await?;
        let address = if is_public { found.public_address() } else { found.private_address() };
        Ok(address.map(str::to_owned))
    }

    /// What the log of a task says so far.
    async fn told(&self, task: &TaskAnswer) -> Result<Told, TransportError> {
        let stream = format!("{}/{CONTAINER}/{}", self.started_by(), task.id());
        let (mut lines, mut token): (Vec<String>, Option<String>) = (Vec::new(), None);
        loop {
            let asked = [
                "logs",
                "get-log-events",
                "--log-group-name",
                self.log_group(),
                "--log-stream-name",
                &stream,
            ];
            let from = token.iter().flat_map(|token| ["--next-token", token.as_str()]);
            let asked: Vec<&str> = asked.into_iter().chain(["--start-from-head"]).chain(from).collect();
            let events: LogEvents = match self.aws.ask(&asked).await {
                // The stream comes with the first line.
                Err(AwsError { code, .. }) if code == "ResourceNotFoundException" => LogEvents::default(),
                asked => asked?,
            };
            lines.extend(events.messages().map(str::to_owned));
            // The last page has the token that it was asked by.
            if events.next_forward_token.is_none() || events.next_forward_token == token {
                return alone::read(lines.iter().map(String::as_str));
            }
            token = events.next_forward_token;
        }
    }
}

#[async_trait]
impl Direct for Tasks {
    fn can(&self, _: &Job) -> bool {
        true
    }

    async fn run(
        &self,
        job: &Job,
        timeout: Option<Duration>,
        stop: &CancellationToken,
    ) -> Result<Ended, TransportError> {
        let sign = self.sign.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.state.send_replace(State::default());
        let ended = self.run_task(job, timeout, sign, stop).await;
        self.state.send_modify(|state| state.is_over = true);
        ended
    }
}

#[async_trait]
impl Transport for Tasks {
    async fn open(&self, _: Program) -> Result<Pipe, TransportError> {
        Err(TransportError::new(format!("`{}`: no shell can be opened in a task", self.cluster.host)))
    }

    fn shells(&self) -> &Shells {
        &self.shells
    }

    fn direct(&self) -> Option<&dyn Direct> {
        Some(self)
    }
}

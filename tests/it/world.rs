//! Fake machines for whole-pipeline tests: an experiment is read, planned and executed under paused time,
//! and everything that was said and done is kept with the second at which it happened.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runner::diagnostic::{Problems, Sources};
use runner::event::{Event, Outcome};
use runner::execution::Run;
use runner::hosts::Machine;
use runner::plan::Plan;
use runner::spec::{self, Fragment, Reader, Spec};
use runner::transports::fake::{Fake, Reply};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A checked experiment of one file, and its plan.
pub fn plan(yaml: &str) -> Result<(Spec, Sources, Plan), Problems> {
    let read = |_: &Path| Ok(yaml.to_owned());
    let (spec, sources) = Reader::new(&read).read(&[(Fragment::Experiment, Path::new("experiment.yaml"))])?;
    let found = runner::metrics::check(&spec, &sources);
    let spec = spec::check(spec, &sources, found)?;
    let plan = Plan::new(&spec, &sources)?;
    for planned in [yaml, &spec.to_yaml()] {
        let mut found = crate::schema::mistakes(planned);
        // A key with nothing behind it reads as if it were not there; in an editor it is not finished.
        found.retain(|mistake| !mistake.contains("null is not of type"));
        assert!(found.is_empty(), "the schema refuses {found:#?} in\n{planned}");
    }
    Ok((spec, sources, plan))
}

/// A command that does nothing.
pub fn ok() -> Reply {
    Reply::default()
}

/// A command that takes its time.
pub fn takes(seconds: u64) -> Reply {
    Reply { takes: Duration::from_secs(seconds), ..Reply::default() }
}

/// A command that prints.
pub fn prints(text: &str) -> Reply {
    Reply { stdout: text.into(), ..Reply::default() }
}

/// A command that fails.
pub fn fails(exit_code: i32, stderr: &str) -> Reply {
    Reply { exit_code, stderr: stderr.into(), ..Reply::default() }
}

/// A service: it runs until it is stopped.
pub fn forever() -> Reply {
    takes(1_000_000)
}

/// Whether a script of the runner's own looks for the sign of a service.
pub fn is_readiness(script: &str) -> bool {
    ["0A ' /proc/net/tcp", "echo seen", ".out \"$b\""].iter().any(|part| script.contains(part))
}

type Answer = Arc<dyn Fn(&str, &str) -> Reply + Send + Sync>;

/// The machines and what they answer.
#[derive(Clone)]
pub struct World {
    commands: Answer,
    looks: Answer,
    stop_after: Option<Duration>,
    unreachable: Vec<&'static str>,
}

/// What happened.
pub struct Happened {
    pub spec: Spec,
    pub plan: Plan,
    /// Everything that was said, with its second.
    pub events: Vec<(u64, Event)>,
    /// Every command of the experiment as `HOST COMMAND`, with the second of its start.
    pub commands: Vec<(u64, String)>,
    /// Every script of the runner's own as `HOST SCRIPT`.
    pub looks: Vec<String>,
}

impl World {
    /// Machines that answer the experiment's commands by `commands(host, command)`.
    pub fn new(commands: impl Fn(&str, &str) -> Reply + Send + Sync + 'static) -> Self {
        // Every port is listened on, every log line is there, and caches can be dropped.
        let looks = |_: &str, script: &str| match script {
            script if script.contains("drop_caches") => {
                prints("Cached: 900000 kB\nMapped: 0 kB\n---\nCached: 90000 kB\n")
            }
            script if is_readiness(script) => prints("ready\n"),
            _ => ok(),
        };
        World {
            commands: Arc::new(commands),
            looks: Arc::new(looks),
            stop_after: None,
            unreachable: Vec::new(),
        }
    }

    /// The runner's own scripts are answered by `looks` where it gives an answer.
    pub fn looks(mut self, looks: impl Fn(&str, &str) -> Option<Reply> + Send + Sync + 'static) -> Self {
        let usual = self.looks;
        self.looks = Arc::new(move |host, script| looks(host, script).unwrap_or_else(|| usual(host, script)));
        self
    }

    /// The run is interrupted after this many seconds.
    pub fn stop_after(mut self, seconds: u64) -> Self {
        self.stop_after = Some(Duration::from_secs(seconds));
        self
    }

    /// A host that could not be connected.
    pub fn unreachable(mut self, host: &'static str) -> Self {
        self.unreachable.push(host);
        self
    }

    /// Executes the experiment.
    pub async fn run(self, yaml: &str) -> Happened {
        let (spec, sources, plan) = plan(yaml).unwrap_or_else(|problems| {
            panic!("{}", runner::ui::render_problems(&problems, false, 100));
        });
        let start = Instant::now();
        let (commands, looks) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
        let mut machines = BTreeMap::new();
        for host in plan.hosts() {
            let (world, name) = (self.clone(), host.clone());
            let (commands, looks) = (commands.clone(), looks.clone());
            let answer = move |script: &str| match script.starts_with("{\n(") {
                true => {
                    looks.lock().unwrap().push(format!("{name} {script}"));
                    // The runner may look before the service it has just started is there.
                    let is_early = is_readiness(script) && commands.lock().unwrap().is_empty();
                    if is_early { ok() } else { (world.looks)(&name, script) }
                }
                false => {
                    commands.lock().unwrap().push((start.elapsed().as_secs(), format!("{name} {script}")));
                    (world.commands)(&name, script)
                }
            };
            let machine = match self.unreachable.contains(&host.as_str()) {
                true => Err(format!("`{host}`: connection refused")),
                false => Ok(Arc::new(Machine::fake(&host, Fake::new(answer)))),
            };
            machines.insert(host, machine);
        }
        let (events, mut receiver) = unbounded_channel();
        let stop = CancellationToken::new();
        let experiment = (spec.clone(), sources, plan.clone());
        let run = Run::new("test".into(), experiment, machines, stop.clone(), events);
        if let Some(time) = self.stop_after {
            tokio::spawn(async move {
                tokio::time::sleep(time).await;
                stop.cancel();
            });
        }
        let mut said = Vec::new();
        let execute = async {
            run.execute().await;
            drop(run);
        };
        let listen = async {
            while let Some(event) = receiver.recv().await {
                said.push((start.elapsed().as_secs(), event));
            }
        };
        tokio::join!(execute, listen);
        let commands = commands.lock().unwrap().clone();
        let looks = looks.lock().unwrap().clone();
        Happened { spec, plan, events: said, commands, looks }
    }
}

impl Happened {
    /// What became of the trials, in the order in which they ended.
    pub fn outcomes(&self) -> Vec<&Outcome> {
        let outcomes = self.events.iter().filter_map(|(_, event)| match event {
            Event::TrialFinished(outcome) => Some(&**outcome),
            _ => None,
        });
        outcomes.collect()
    }

    /// The only trial.
    pub fn outcome(&self) -> &Outcome {
        let [outcome] = self.outcomes()[..] else { panic!("not one trial: {:#?}", self.events) };
        outcome
    }

    /// What the experiment ran on any host, in its order.
    pub fn commands(&self) -> Vec<&str> {
        self.commands.iter().map(|(_, command)| command.as_str()).collect()
    }

    /// Clean-up that failed: host and reason.
    pub fn failed_clean_ups(&self) -> Vec<(&str, &str)> {
        let failed = self.events.iter().filter_map(|(_, event)| match event {
            Event::CleanUpFailed { host, reason, .. } => Some((host.as_str(), reason.as_str())),
            _ => None,
        });
        failed.collect()
    }

    /// Every trial as its id, its hosts, and the seconds of its start and end.
    pub fn spans(&self) -> Vec<(String, Vec<String>, u64, u64)> {
        let mut spans = Vec::new();
        for (start, event) in &self.events {
            let Event::TrialStarted { trial, hosts } = event else { continue };
            let is_end =
                |event: &Event| matches!(event, Event::TrialFinished(outcome) if outcome.trial == *trial);
            let (end, _) = self.events.iter().find(|(_, event)| is_end(event)).unwrap();
            spans.push((trial.id(), hosts.clone(), *start, *end));
        }
        spans
    }
}

//! Fake machines for whole-pipeline tests: an experiment is read, planned and executed under paused time,
//! and everything that was said and done is kept with the second at which it happened.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runner::diagnostic::{Problems, Sources};
use runner::event::{Event, Facts, Outcome};
use runner::execution::{Connected, Connector, Run};
use runner::hosts::{Ledger, Machine};
use runner::plan::Plan;
use runner::spec::{self, Fragment, Reader, Spec};
use runner::transports::fake::{Fake, Reply};
use runner::transports::job::{Ended, Job};
use runner::transports::{Chunk, Direct, Input, Pipe, Program, Shells, Transport, TransportError};
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
        found.retain(|mistake| !mistake.contains(": null is "));
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
    ["0A ' /proc/net/tcp", "echo seen", "found=; for f in"].iter().any(|part| script.contains(part))
}

/// The way to a fake machine, which can be lost: what begins or ends while it is gets an error.
#[derive(Clone)]
struct Way {
    fake: Fake,
    host: String,
    is_lost: Lost,
    start: Instant,
}

impl Way {
    fn check(&self) -> Result<(), TransportError> {
        match (self.is_lost)(&self.host, self.start.elapsed().as_secs()) {
            true => Err(TransportError {
                message: format!("`{}`: the connection was lost", self.host),
                hint: None,
                is_lost: true,
            }),
            false => Ok(()),
        }
    }
}

#[async_trait::async_trait]
impl Transport for Way {
    async fn open(&self, program: Program) -> Result<Pipe, TransportError> {
        self.check()?;
        let mut inner = self.fake.open(program).await?;
        let (input, mut queue) = Input::queue();
        let (pipe, output) = Pipe::new(input);
        let way = self.clone();
        tokio::spawn(async move {
            while let Some(script) = queue.recv().await {
                let script = String::from_utf8(script).unwrap();
                inner.input.send(&script);
                // What tells a shell what it is to know has no answer.
                let answers = if script.starts_with('{') { 2 } else { 0 };
                let before = way.check();
                let mut chunks = Vec::new();
                for _ in 0..answers {
                    chunks.push(inner.next().await);
                }
                if let Err(error) = before.and_then(|()| way.check()) {
                    chunks = vec![Chunk::Ended(Err(error))];
                }
                // Nobody may listen any more.
                chunks.into_iter().for_each(|chunk| drop(output.send(chunk)));
            }
        });
        Ok(pipe)
    }

    fn shells(&self) -> &Shells {
        self.fake.shells()
    }

    fn reconnect(&self) -> Duration {
        Duration::ZERO
    }

    fn direct(&self) -> Option<&dyn Direct> {
        Some(self)
    }
}

#[async_trait::async_trait]
impl Direct for Way {
    fn can(&self, _: &Job) -> bool {
        true
    }

    async fn run(
        &self,
        job: &Job,
        timeout: Option<Duration>,
        stop: &CancellationToken,
    ) -> Result<Ended, TransportError> {
        self.check()?;
        let ended = Direct::run(&self.fake, job, timeout, stop).await;
        self.check()?;
        ended
    }
}

type Lost = Arc<dyn Fn(&str, u64) -> bool + Send + Sync>;
type Answer = Arc<dyn Fn(&str, &str) -> Reply + Send + Sync>;

/// The machines and what they answer.
#[derive(Clone)]
pub struct World {
    commands: Answer,
    looks: Answer,
    stop_after: Option<Duration>,
    unreachable: Vec<(&'static str, u64)>,
    thermometers: Vec<&'static str>,
    is_lost: Lost,
    ledger: Ledger,
}

/// What the machines were asked.
#[derive(Clone)]
struct Kept {
    commands: Arc<Mutex<Vec<(u64, String)>>>,
    looks: Arc<Mutex<Vec<String>>>,
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
            thermometers: Vec::new(),
            is_lost: Arc::new(|_, _| false),
            ledger: Ledger::default(),
        }
    }

    /// The way to a host is lost while `is_lost(host, second)`.
    pub fn lost(mut self, is_lost: impl Fn(&str, u64) -> bool + Send + Sync + 'static) -> Self {
        self.is_lost = Arc::new(is_lost);
        self
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

    /// A host that can't be connected.
    pub fn unreachable(self, host: &'static str) -> Self {
        self.unreachable_until(host, u64::MAX)
    }

    /// A host that can't be connected before this second.
    pub fn unreachable_until(mut self, host: &'static str, second: u64) -> Self {
        self.unreachable.push((host, second));
        self
    }

    /// Every machine has this thermal sensor, a file.
    pub fn thermometer(mut self, path: &'static str) -> Self {
        self.thermometers.push(path);
        self
    }

    /// What is made stands in `ledger`.
    pub fn ledger(mut self, ledger: Ledger) -> Self {
        self.ledger = ledger;
        self
    }

    /// The machines of `plan`, and what connects those that are missing at the start.
    fn machines(&self, plan: &Plan, start: Instant, kept: &Kept) -> (Connected, Connector) {
        let (mut machines, mut missing) = (BTreeMap::new(), BTreeMap::new());
        for host in plan.hosts() {
            let (world, name) = (self.clone(), host.clone());
            let Kept { commands, looks } = kept.clone();
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
            let (fake, is_lost) = (Fake::new(answer), self.is_lost.clone());
            let way = Way { fake, host: host.clone(), is_lost, start };
            let until = self.unreachable.iter().find(|(name, _)| *name == host).map(|(_, second)| *second);
            let machine = match until {
                Some(second) => {
                    missing.insert(host.clone(), (second, way));
                    Err(format!("`{host}`: connection refused"))
                }
                None => {
                    let mut machine = Machine::fake(&host, way);
                    let sensors = self.thermometers.iter().map(|path| ((*path).to_owned(), None));
                    machine.sensors.thermometers = sensors.collect();
                    Ok(Arc::new(machine))
                }
            };
            machines.insert(host, machine);
        }
        let missing = Arc::new(Mutex::new(missing));
        let connector: Connector = Box::new(move |host| {
            let mut missing = missing.lock().unwrap();
            let is_there = missing.get(&host).is_some_and(|(second, _)| start.elapsed().as_secs() >= *second);
            let way = if is_there { missing.remove(&host).map(|(_, way)| way) } else { None };
            Box::pin(async move {
                let message = format!("`{host}`: connection refused");
                let refused = TransportError { message, hint: None, is_lost: true };
                way.map(|way| (Arc::new(Machine::fake(&host, way)), Facts::new())).ok_or(refused)
            })
        });
        (machines, connector)
    }

    /// Executes the experiment.
    pub async fn run(self, yaml: &str) -> Happened {
        let (spec, sources, plan) = plan(yaml).unwrap_or_else(|problems| {
            panic!("{}", runner::ui::render_problems(&problems, false, 100));
        });
        let start = Instant::now();
        let (commands, looks) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
        let kept = Kept { commands: commands.clone(), looks: looks.clone() };
        let (machines, connector) = self.machines(&plan, start, &kept);
        let (events, mut receiver) = unbounded_channel();
        let stop = CancellationToken::new();
        let experiment = (spec.clone(), sources, plan.clone());
        let run = Run::new("test".into(), experiment, machines, stop.clone(), events);
        let mut run = run.with_ledger(self.ledger).unwrap();
        run.connector = Some(connector);
        run.is_precise = runner::analysis::is_precise;
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
            let mut ends = self.events.iter().filter(|(second, event)| second >= start && is_end(event));
            let (end, _) = ends.next().unwrap();
            spans.push((trial.id(), hosts.clone(), *start, *end));
        }
        spans
    }
}

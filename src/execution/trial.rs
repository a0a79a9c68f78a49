//! One trial: services, `prepare`, the measured command, `conclude`, reading the metrics. Whatever
//! happens, the services are stopped and an [`Outcome`] comes out.

use std::collections::BTreeMap;
use std::time::Duration;

use minijinja::context;
use tokio_util::sync::CancellationToken;

use super::cell::{self, CellState};
use super::service::{self, ServicePlace, Started};
use super::step::{Notes, Surroundings};
use super::telling::{self, Telling};
use super::{Cause, Failure, Run, expect, limits, noise, old_files, place, step, timestamp};
use crate::event::{Captured, Event, Expectation, Noise, Outcome, Stage, Status, Verdict, Verdicts};
use crate::metrics;
use crate::plan::substitute::Context;
use crate::plan::{Cell, Trial};
use crate::spec::{List, TimeSpan, Workload};
use crate::transports::files;
use crate::transports::job::{self, Ended, Job, Stream};

/// What a trial gathers on its way, kept also when it fails.
#[derive(Default)]
pub(super) struct Gathered {
    pub notes: Notes,
    /// Of the trial's own host.
    pub noise: Option<Noise>,
    /// Of the other hosts of its services.
    pub noise_of_services: BTreeMap<String, Noise>,
    pub outputs: BTreeMap<String, Captured>,
    pub expectations: Vec<Expectation>,
    pub details: metrics::Details,
    pub verdicts: Verdicts,
    /// Why a file could not be brought back.
    pub not_fetched: Option<Failure>,
}

/// Executes attempt number `attempt` of a trial. The cause of its failure comes with its outcome.
pub(super) async fn execute(
    run: &Run,
    cell: &Cell,
    state: &mut CellState,
    trial: &Trial,
    attempt: u32,
) -> (Outcome, Option<Cause>) {
    let started = timestamp();
    let clock = tokio::time::Instant::now();
    let mut gathered = Gathered::default();
    let ready = state.ready(run, cell, &mut gathered.notes).await;
    // What `setup` could not do is true of every trial of the cell.
    state.warnings.append(&mut gathered.notes.warnings);
    gathered.notes.warnings = state.warnings.clone();
    let result = match ready {
        Ok(()) => {
            // `conclude` is tried whatever happens from here on.
            (gathered.verdicts.setup, gathered.verdicts.cleanup) = (Verdict::Ok, Verdict::Ok);
            run.say(Event::TrialSetUp { trial: trial.clone(), host: cell.host.clone() });
            in_time(run, cell, state, trial, &mut gathered).await
        }
        Err(failure) => Err(failure),
    };
    let death = state.after_trial(run, cell, result.is_err()).await;
    let result = match (result, death) {
        // What goes on without a process that was killed has done less than its work, whatever it says.
        (Ok(_), Some(death)) => Err(Failure::new(Stage::Run, death)),
        (Err(failure), Some(death)) => {
            Err(Failure { reason: format!("{}; {death}", failure.reason), ..failure })
        }
        (result, None) => result,
    };
    let (measurements, failure) = match result {
        Ok(measurements) => (measurements, None),
        Err(failure) if run.stop.is_cancelled() => (Vec::new(), Some(run.interrupted(failure.stage))),
        Err(failure) => {
            state.after_failure(&failure);
            (Vec::new(), Some(failure))
        }
    };
    if let Some(failure) = &failure {
        let is_failed = failure.status == Status::Failed;
        gathered.verdicts.set(failure.stage, if is_failed { Verdict::Failed } else { Verdict::NotReached });
    }
    let cause = failure.as_ref().map(|failure| failure.cause);
    let outcome = Outcome {
        trial: trial.clone(),
        attempt,
        is_repeated: false,
        verdicts: gathered.verdicts,
        status: failure.as_ref().map_or(Status::Ok, |failure| failure.status),
        stage: failure.as_ref().map(|failure| failure.stage),
        reason: failure.map(|failure| failure.reason),
        started,
        elapsed_s: clock.elapsed().as_secs_f64(),
        measurements,
        warnings: gathered.notes.warnings,
        caches: gathered.notes.drops,
        waits: gathered.notes.waits,
        noise: gathered.noise,
        noise_of_services: gathered.noise_of_services,
        expectations: gathered.expectations,
        details: gathered.details,
        outputs: gathered.outputs,
    };
    (with_troubles(outcome, state.troubles.take()), cause)
}

/// An outcome with what of the clean-up has failed; its measurements stand.
pub(super) fn with_troubles(mut outcome: Outcome, troubles: Vec<String>) -> Outcome {
    if !troubles.is_empty() {
        outcome.verdicts.cleanup = Verdict::Failed;
        outcome.warnings.extend(troubles);
    }
    outcome
}

type Measured = Result<Vec<metrics::Measurement>, Failure>;

/// Everything of the trial but its set-up, ended when the trial's own time is over.
async fn in_time(
    run: &Run,
    cell: &Cell,
    state: &CellState,
    trial: &Trial,
    gathered: &mut Gathered,
) -> Measured {
    let stop = run.stop.child_token();
    let Some(limit) = limits::trial_timeout(run, cell) else {
        return with_services(run, cell, state, trial, gathered, &stop).await;
    };
    let mut running = std::pin::pin!(with_services(run, cell, state, trial, gathered, &stop));
    tokio::select! {
        measured = &mut running => return measured,
        () = tokio::time::sleep(limit.0) => stop.cancel(),
    }
    running.await.map_err(|failure| match failure.status {
        Status::Interrupted => {
            Failure::new(failure.stage, format!("the trial was ended after its `trial_timeout` of {limit}"))
        }
        _ => failure,
    })
}

async fn with_services(
    run: &Run,
    cell: &Cell,
    state: &CellState,
    trial: &Trial,
    gathered: &mut Gathered,
    stop: &CancellationToken,
) -> Measured {
    let context =
        state.context.with("trial", context! { repetition => trial.repetition, name => trial.id() });
    let mut started: Vec<Started<'_>> = Vec::new();
    let mut failure = None;
    if !state.services.is_empty() {
        telling::stage(run, &cell.host, Stage::Service).await;
    }
    for place in &state.services {
        match service::start(run, cell, place, &context, &state.env, stop).await {
            Ok(service) => started.push(service),
            Err((reason, ended)) => {
                failure = Some(reason);
                gathered.keep_service(&place.name, ended);
                break;
            }
        }
    }
    let measured = match failure {
        Some(failure) => Err(failure),
        None => {
            gathered.verdicts.services = Verdict::Ok;
            let context = context.with("services", service::addresses(state));
            let limit = step::default_timeout(run);
            let around = state.place.as_ref().map(|place| Surroundings {
                context: &context,
                stage: Stage::Prepare,
                limit,
                stop,
                ..state.surroundings(run, place)
            });
            match around {
                Some(around) => beside(cell, around, &mut started, gathered).await,
                None => Err(Failure::new(Stage::Host, "the cell has no place")),
            }
        }
    };
    let served = stop_all(run, started, state, gathered).await;
    // Only now: a metric may stand in what a service has printed.
    let measured = measured?;
    served?;
    let read = read(run, cell, &measured, &context, gathered);
    // A command that failed is the reason why its files are not there.
    match (read, gathered.not_fetched.take()) {
        (read, None) => read,
        (Ok(_), Some(failure)) => Err(failure),
        (Err(mut failure), Some(other)) => {
            failure.reason.push_str(&format!("; {}", other.reason));
            Err(failure)
        }
    }
}

/// Stops the services and keeps what they printed. The end of one that has died may not have been seen yet when
/// the workload ended; it has served less than all of it.
async fn stop_all(
    run: &Run,
    services: Vec<Started<'_>>,
    state: &CellState,
    gathered: &mut Gathered,
) -> Result<(), Failure> {
    let mut dead = None;
    for service in services {
        let place = service.place;
        let (ended, death) = service.stop().await;
        dead = dead.or(death);
        if let Some(ended) = &ended {
            gathered.keep_noise_of(run, place, ended, state);
        }
        gathered.keep_service(&place.name, ended);
    }
    let Some(death) = dead else { return Ok(()) };
    gathered.verdicts.services = Verdict::Failed;
    Err(death)
}

/// What happens while the services run.
async fn beside(
    cell: &Cell,
    prepare: Surroundings<'_>,
    services: &mut [Started<'_>],
    gathered: &mut Gathered,
) -> Result<Ended, Failure> {
    let run = prepare.run;
    let workload = cell::workload(run, cell);
    if !workload.prepare.0.is_empty() {
        telling::stage(run, &cell.host, Stage::Prepare).await;
    }
    let prepared = match old_files::remove(workload, &prepare).await {
        Ok(()) => step::run_all(&workload.prepare, &prepare, &mut gathered.notes).await,
        Err(failure) => Err(failure),
    };
    let timeout = workload.timeout.as_ref().map_or(prepare.limit, |time| time.value.0);
    let measured = match prepared {
        Ok(()) => measure(run, cell, &prepare, timeout, services, gathered).await,
        Err(failure) => Err(failure),
    };
    telling::stage(run, &cell.host, Stage::Conclude).await;
    let conclude = Surroundings { stage: Stage::Conclude, ..prepare };
    if measured.is_err() {
        // What `prepare` has begun is undone in any case; the first failure is the one to tell.
        place::clean_up(&workload.conclude, &conclude, &format!("conclude of {}", cell.name)).await;
        gathered.not_fetched = fetch(&workload.fetch, &conclude, gathered).await.err();
        return measured;
    }
    gathered.verdicts.measurement = Verdict::Ok;
    if let Err(failure) = step::run_all(&workload.conclude, &conclude, &mut gathered.notes).await {
        if run.stop.is_cancelled() {
            return Err(failure);
        }
        // What was measured stands.
        let what = format!("conclude of {}", cell.name);
        conclude.troubles.add(run, &conclude.place.machine.name, &what, failure.reason);
    }
    gathered.not_fetched = fetch(&workload.fetch, &conclude, gathered).await.err();
    measured
}

/// Brings files back, also when the command failed: they may tell why.
async fn fetch(wanted: &List, around: &Surroundings<'_>, gathered: &mut Gathered) -> Result<(), Failure> {
    let failed = |reason: String| Failure::new(Stage::Fetch, reason);
    let Surroundings { place, context, limit, stop, .. } = *around;
    let patterns = wanted.values.iter().map(|path| context.render(path)).collect::<Result<Vec<_>, _>>();
    let patterns = patterns.map_err(failed)?;
    if patterns.is_empty() {
        return Ok(());
    }
    if stop.is_cancelled() {
        return Err(Failure::interrupted(Stage::Fetch));
    }
    let fetched = tokio::select! {
        fetched = files::fetch(&*place.transport, &place.directory, &patterns) => fetched,
        () = tokio::time::sleep(limit) => return Err(failed(format!("files were not there after {}", TimeSpan(limit)))),
        () = stop.cancelled() => return Err(Failure::interrupted(Stage::Fetch)),
    };
    let found = fetched.map_err(|error| Failure::of(Stage::Fetch, "", &error))?;
    for file in found.files {
        let captured = Captured { bytes: file.bytes, size: file.size };
        gathered.outputs.insert(format!("files/{}", file.name), captured);
    }
    match found.unmatched.as_slice() {
        [] => Ok(()),
        missing => Err(failed(format!("there is no file `{}` to fetch", missing.join("`, `")))),
    }
}

/// Reads the metrics out of everything that was printed, and judges what is expected of them.
fn read(run: &Run, cell: &Cell, ended: &Ended, context: &Context, gathered: &mut Gathered) -> Measured {
    let workload = cell::workload(run, cell);
    if ended.was_lost {
        let why = "the connection was lost while it ran; whoever looked for it was on its machine meanwhile";
        gathered.notes.warnings.push(why.to_owned());
    }
    let expect = workload.expect.as_deref();
    let is_fine = expect::is_fine(expect, ended.exit_code);
    let (mut measurements, failure) = values(workload, gathered);
    if metrics::add_elapsed(&mut measurements, ended.elapsed_s) && ended.is_coarse {
        let why = "the machine's clock was set meanwhile, or tells no fractions";
        gathered.notes.warnings.push(format!("elapsed has a resolution of 10 ms: {why}"));
    }
    if let Some(expect) = expect {
        gathered.expectations = expect::judge(expect, ended, &measurements, context);
    }
    gathered.verdicts.metrics = if failure.is_none() { Verdict::Ok } else { Verdict::Failed };
    let is_held = gathered.expectations.iter().all(|verdict| verdict.holds);
    gathered.verdicts.expectations = if is_held { Verdict::Ok } else { Verdict::Failed };
    if !is_fine && ended.exit_code != 0 {
        // The words of the tool, which a code of 0 would not bring.
        let told = metrics::read(&workload.metrics, &gathered.bytes(), ended.exit_code, None).err();
        let told = told.unwrap_or_else(|| format!("the command ended with exit code {}", ended.exit_code));
        return Err(Failure::new(Stage::Run, told));
    }
    match (failure, gathered.expectations.iter().find(|verdict| !verdict.holds)) {
        (Some(reason), _) => Err(Failure::new(Stage::Metrics, reason)),
        (None, Some(broken)) => Err(expect::failure(broken)),
        (None, None) => Ok(measurements),
    }
}

/// What can be read of the workload's output and of its services', as if every command had ended well, and the
/// first reason why something can't.
pub(super) fn values(
    workload: &Workload,
    gathered: &mut Gathered,
) -> (Vec<metrics::Measurement>, Option<String>) {
    let services = workload.services.iter().map(|(name, service)| (&service.metrics, Some(name.as_str())));
    let sources: Vec<_> = std::iter::once((&workload.metrics, None)).chain(services).collect();
    let (mut measurements, mut failure, mut warnings) = (Vec::new(), None, Vec::new());
    for (name, output) in gathered.outputs.iter().filter(|(_, output)| output.is_cut()) {
        let what = format!("{name} has {} bytes, of which {} are kept", output.size, output.bytes.len());
        match sources.iter().any(|(metrics, service)| metrics::reads(metrics, *service, name)) {
            true => failure = failure.or(Some(format!("{what}: nothing is read out of a part"))),
            false => warnings.push(what),
        }
    }
    for (metrics, service) in sources {
        match metrics::read(metrics, &gathered.bytes(), 0, service) {
            Ok(read) => {
                measurements.extend(read.measurements);
                warnings.extend(read.warnings);
                gathered.details.extend(read.details);
            }
            Err(reason) => {
                let whose = service.map(|service| format!("service `{service}`: ")).unwrap_or_default();
                failure = failure.or(Some(format!("{whose}{reason}")));
            }
        }
    }
    gathered.notes.warnings.extend(warnings);
    (measurements, failure)
}

/// Runs the measured command. A service that dies meanwhile ends it. What it printed is kept, however it
/// ended.
async fn measure(
    run: &Run,
    cell: &Cell,
    around: &Surroundings<'_>,
    timeout: Duration,
    services: &mut [Started<'_>],
    gathered: &mut Gathered,
) -> Result<Ended, Failure> {
    let failed = |reason: String| Failure::new(Stage::Run, reason);
    let Surroundings { place, context, env, .. } = *around;
    let job = step::job(place, &cell::workload(run, cell).run, context, env).map_err(failed)?;
    let job = Job { warms_up: !gathered.notes.drops.is_empty(), probes: place.machine.probes.clone(), ..job };
    let stop = around.stop.child_token();
    telling::stage(run, &cell.host, Stage::Run).await;
    let telling = Telling::start(run, &cell.host, Stage::Run, &job.command).await;
    let mut running = std::pin::pin!(job::run(&*place.transport, &job, Some(timeout), &stop));
    let (ended, death) = tokio::select! {
        ended = &mut running => (ended, None),
        failure = service::death(services) => {
            stop.cancel();
            (running.await, Some(failure))
        }
    };
    telling.end(run, &ended);
    if let Ok(ended) = &ended {
        gathered.keep(&ended.stdout, "stdout");
        gathered.keep(&ended.stderr, "stderr");
        let is_alone = !services.iter().any(|service| service.place.place.machine.name == place.machine.name);
        gathered.noise = noise::of(run, place, ended, is_alone);
    }
    if let Some(death) = death {
        return Err(death);
    }
    let ended = ended.map_err(|error| Failure::of(Stage::Run, "", &error))?;
    match ended.stopped {
        Some(stopped) => Err(step::ended_early(&job.command.to_string(), stopped, timeout, Stage::Run)),
        None => Ok(ended),
    }
}

impl Gathered {
    /// Everything that was printed or fetched, by name.
    fn bytes(&self) -> BTreeMap<String, &[u8]> {
        self.outputs.iter().map(|(name, output)| (name.clone(), output.bytes.as_slice())).collect()
    }

    fn keep(&mut self, stream: &Stream, name: &str) {
        self.outputs.insert(name.to_owned(), Captured { bytes: stream.bytes.clone(), size: stream.size });
    }

    /// What the host of a service was like, where it is not the host of the trial, which tells itself.
    fn keep_noise_of(&mut self, run: &Run, service: &ServicePlace, ended: &Ended, state: &CellState) {
        let host = &service.place.machine.name;
        let on_host = state.services.iter().filter(|other| other.place.machine.name == *host).count();
        if state.place.as_ref().is_some_and(|own| own.machine.name == *host) {
            return;
        }
        if let Some(noise) = noise::of(run, &service.place, ended, on_host == 1) {
            self.noise_of_services.insert(host.clone(), noise);
        }
    }

    fn keep_service(&mut self, name: &str, ended: Option<Ended>) {
        if let Some(ended) = ended {
            self.keep(&ended.stdout, &format!("services/{name}/stdout"));
            self.keep(&ended.stderr, &format!("services/{name}/stderr"));
            if ended.was_lost {
                self.notes.warnings.push(format!("service `{name}`: the connection was lost while it ran"));
            }
        }
    }
}

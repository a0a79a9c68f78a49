//! One run at a time on a machine: a lock that lies on the machine itself, held over its transport for as long
//! as the run takes. When the runner is gone, so is the lock. Read [`lock_all`] and [`Lock`] first.

mod keeper;
mod runner;
mod script;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use jiff::Timestamp;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Machine;
use crate::transports::{Output, Transport, TransportError, job};

pub(super) use keeper::Lock;
pub use runner::Runner;
pub(super) use script::look;

/// The longest pause before all machines are tried again, so that two runs which want the same ones do not
/// step back from each other for ever.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The longest time until a machine says that it is locked, and the pause before it is asked again.
const CONFIRMATION: Duration = Duration::from_secs(30);
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// For whom machines are locked.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The run.
    pub run: String,
    /// Runs that have ended without freeing their machines: what they hold is taken over as soon as their
    /// runner is known to be gone, and their jobs are not waited for.
    pub predecessors: Vec<String>,
    /// Whether a job that goes on without its runner would disturb.
    pub measures: bool,
    /// This process.
    pub runner: Runner,
    /// Who it is, as others read it.
    pub text: String,
}

impl Claim {
    /// A claim of this user on this machine from now on, for `what`: a run of an experiment.
    pub fn new(run: &str, what: &str) -> Claim {
        let user = user_name(rustix::process::getuid().as_raw());
        let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let since = Timestamp::now().strftime("%Y-%m-%d %H:%M:%S UTC");
        let text = format!("{user}@{}: {what}, run {run}, since {since}", machine.trim());
        Claim {
            run: run.to_owned(),
            predecessors: Vec::new(),
            measures: true,
            runner: Runner::this(),
            text: printable(&text),
        }
    }
}

/// The name of a user of this machine; the number where nobody tells.
fn user_name(id: u32) -> String {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == id.to_string()).then(|| name.to_owned())
    });
    // Users of a directory service stand in no file.
    name.or_else(|| std::env::var("USER").ok()).unwrap_or_else(|| id.to_string())
}

/// Who holds a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Holder {
    run: String,
    host: String,
    pub text: String,
    /// Of which process the lock is, where it says so.
    runner: Option<Runner>,
    /// Which of its shells holds it: the run and the mark in the lock's folder.
    mark: String,
}

/// A shell on a machine that holds its lock.
struct Hold {
    /// Ends the shell, also when this is dropped.
    stop: DropGuard,
    ended: JoinHandle<Result<Output, TransportError>>,
}

impl Hold {
    /// Frees the machine.
    async fn release(self) {
        drop(self.stop);
        // Only a lost connection keeps it from ending, and then nothing more can be done.
        let _ = self.ended.await;
    }
}

/// What became of a try to lock a machine.
enum Taken {
    Yes(Hold),
    Busy(Holder),
}

/// Locks every machine, or none: while one is taken, nobody is kept from the others. Unless it `may_wait`, it
/// fails when one is taken; else `tell` is called with the name
/// of a machine and who holds it, each time that changes. Returns why single machines can't be locked.
///
/// # Errors
/// Who holds a machine, if that is not to be waited for; or that two of them are one.
pub async fn lock_all(
    machines: &[Arc<Machine>],
    claim: &Claim,
    may_wait: bool,
    mut tell: impl FnMut(&str, &str),
) -> Result<Vec<Option<TransportError>>, TransportError> {
    let (mut told, mut pause) = (Vec::new(), Duration::from_millis(50));
    loop {
        let tries = machines.iter().map(async |machine| match machine.cluster() {
            // Runners share a cluster.
            Some(_) => None,
            None => Some(take(&machine.transport, claim, &machine.name).await),
        });
        let (mut held, mut busy, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        for (machine, taken) in machines.iter().zip(join_all(tries).await) {
            failed.push(taken.as_ref().and_then(|taken| taken.as_ref().err().cloned()));
            match taken {
                Some(Ok(Taken::Yes(hold))) => held.push((machine, hold)),
                Some(Ok(Taken::Busy(holder))) => busy.push((machine, holder)),
                None | Some(Err(_)) => {}
            }
        }
        let Some((first, _)) = busy.first() else {
            for (machine, hold) in held {
                machine.hold(Lock::keep(machine, claim.clone(), hold));
            }
            return Ok(failed);
        };
        join_all(held.into_iter().map(|(_, hold)| hold.release())).await;
        for (machine, holder) in &busy {
            refuse(machine, holder, claim, may_wait)?;
            let what = (machine.name.clone(), holder.text.clone());
            if !told.contains(&what) {
                tell(&machine.name, &holder.text);
                told.push(what);
            }
        }
        // A machine that can't be waited for is asked again after a pause.
        let _ = until_free(&first.transport).await;
        tokio::time::sleep(pause.mul_f64(fraction())).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn refuse(machine: &Machine, holder: &Holder, claim: &Claim, may_wait: bool) -> Result<(), TransportError> {
    let error =
        |message: String, hint: &str| TransportError { message, hint: Some(hint.into()), is_lost: false };
    if holder.run == claim.run && holder.host != machine.name {
        let message = format!("`{}` and `{}` are one machine", machine.name, holder.host);
        return Err(error(message, "declare it once: trials that share a machine would disturb each other"));
    }
    if may_wait {
        return Ok(());
    }
    let message = format!("`{}` is locked by {}", machine.name, holder.text);
    Err(error(message, "without `--no-wait` the run waits until it is free"))
}

/// Tries to lock one machine, under the name `host`. What a predecessor holds is taken over only when its runner
/// is gone for certain: a copy of its results may be what is gone on with, and the run itself at work.
async fn take(transport: &Arc<dyn Transport>, claim: &Claim, host: &str) -> Result<Taken, TransportError> {
    match take_from(transport, claim, host, None).await? {
        Taken::Busy(Holder { run, runner: Some(runner), mark, .. })
            if claim.predecessors.contains(&run) && runner.is_gone() =>
        {
            take_from(transport, claim, host, Some(&mark)).await
        }
        taken => Ok(taken),
    }
}

async fn take_from(
    transport: &Arc<dyn Transport>,
    claim: &Claim,
    host: &str,
    gone: Option<&str>,
) -> Result<Taken, TransportError> {
    let token = job::next_number().to_string();
    let (hold, stop) = (script::hold(claim, host, &token, gone), CancellationToken::new());
    let guard = stop.clone().drop_guard();
    let shell = transport.clone();
    let mut ended = tokio::spawn(async move { shell.run(&hold, &stop).await });
    let seen = tokio::time::timeout(CONFIRMATION, is_held(&**transport, &claim.run, host, &token));
    tokio::select! {
        biased;
        output = &mut ended => {
            let output = output.unwrap_or_else(|error| Err(failed(host, &error.to_string())))?;
            parse(host, &output).map(Taken::Busy)
        }
        seen = seen => match seen {
            Err(_) => Err(failed(host, "the machine does not say that it is locked")),
            Ok(seen) => seen.map(|()| Taken::Yes(Hold { stop: guard, ended })),
        },
    }
}

/// Returns when the machine says that the shell with this token holds its lock.
async fn is_held(
    transport: &dyn Transport,
    run: &str,
    host: &str,
    token: &str,
) -> Result<(), TransportError> {
    let look = script::is_held(run, host, token);
    while job::query(transport, &look).await?.is_empty() {
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
    Ok(())
}

/// Returns when the machine is free, for the moment.
async fn until_free(transport: &Arc<dyn Transport>) -> Result<(), TransportError> {
    transport.run(&script::wait(), &CancellationToken::new()).await.map(drop)
}

fn parse(host: &str, output: &Output) -> Result<Holder, TransportError> {
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut lines =
        printed.lines().skip_while(|line| !["busy ", "failed "].iter().any(|word| line.starts_with(word)));
    let first = lines.next().unwrap_or_default();
    let Some(rest) = first.strip_prefix("busy ") else {
        let said = String::from_utf8_lossy(&output.stderr);
        let why = first.strip_prefix("failed ").or_else(|| said.lines().last());
        return Err(failed(host, why.unwrap_or("its shell has ended")));
    };
    let (run, mark) = rest.split_once(' ').unwrap_or((rest, ""));
    let text = lines.next().map(printable).filter(|text| !text.is_empty());
    Ok(Holder {
        run: run.to_owned(),
        host: mark.rsplit_once(':').map_or("", |(host, _)| host).to_owned(),
        text: text.unwrap_or_else(|| "somebody who does not tell".into()),
        runner: lines.next().and_then(Runner::parse),
        mark: rest.to_owned(),
    })
}

fn failed(host: &str, why: &str) -> TransportError {
    TransportError {
        message: format!("`{host}` can't be locked: {why}"),
        hint: Some("`--no-lock` does without; see that nobody else measures there".into()),
        is_lost: false,
    }
}

/// Text of others in one line of this terminal.
pub(super) fn printable(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(200).collect()
}

/// From 0 to 1, different in each process: two runs must not step back in step.
fn fraction() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(job::next_number()) as f64 / u64::MAX as f64
}

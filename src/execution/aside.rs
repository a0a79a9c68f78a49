//! Hosts that do not answer: they are set aside and tried again now and then while others run, and a last few
//! times before the run ends. Read [`Aside`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;

use super::Run;
use crate::event::Event;

/// The wait before a host is tried again for the first time; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(15);
/// The longest wait.
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// The waits before the last tries, when nothing else is left to do: 75 s together.
const LAST_WAITS: [u64; 5] = [5, 10, 15, 15, 30];

/// A host that does not answer.
struct Gone {
    reason: String,
    tries: u32,
    /// Whether the last tries have failed too.
    is_given_up: bool,
}

/// The hosts that are set aside.
pub(super) struct Aside<'a> {
    run: &'a Run,
    gone: BTreeMap<String, Gone>,
    names: BTreeSet<String>,
    returning: FuturesUnordered<LocalBoxFuture<'a, (String, Result<(), String>)>>,
    is_last: bool,
}

impl<'a> Aside<'a> {
    /// Those that could not be connected at the start.
    pub(super) fn new(run: &'a Run) -> Self {
        let mut aside = Aside {
            run,
            gone: BTreeMap::new(),
            names: BTreeSet::new(),
            returning: FuturesUnordered::new(),
            is_last: false,
        };
        for (host, reason) in run.machines.missing() {
            aside.keep(host, reason);
        }
        aside
    }

    /// Sets a host aside.
    pub(super) fn add(&mut self, host: String, reason: String) {
        if !self.gone.contains_key(&host) {
            self.run.say(Event::HostSetAside { host: host.clone(), reason: reason.clone() });
            self.keep(host, reason);
        }
    }

    fn keep(&mut self, host: String, reason: String) {
        self.returning.push(Box::pin(try_again(self.run, host.clone(), vec![FIRST_WAIT])));
        self.names.insert(host.clone());
        self.gone.insert(host, Gone { reason, tries: 0, is_given_up: false });
    }

    /// The names of the hosts.
    pub(super) fn names(&self) -> &BTreeSet<String> {
        &self.names
    }

    /// Why a host is set aside.
    pub(super) fn reason(&self, host: &str) -> Option<&str> {
        self.gone.get(host).map(|gone| gone.reason.as_str())
    }

    /// Whether a host may still come back; when nothing else is left to do, the last tries begin.
    pub(super) fn is_hopeful(&mut self, is_idle: bool) -> bool {
        if is_idle && !self.is_last {
            self.is_last = true;
            self.returning.clear();
            for (host, gone) in &mut self.gone {
                gone.is_given_up = false;
                let within_s = LAST_WAITS.iter().sum();
                self.run.say(Event::HostAwaited { host: host.clone(), within_s });
                let waits = LAST_WAITS.map(Duration::from_secs).to_vec();
                self.returning.push(Box::pin(try_again(self.run, host.clone(), waits)));
            }
        }
        self.gone.values().any(|gone| !gone.is_given_up)
    }

    /// Returns when the set of hosts has changed, or what is known of one; never while no host is set aside.
    pub(super) async fn change(&mut self) {
        let Some((host, result)) = self.returning.next().await else { return std::future::pending().await };
        match (result, self.is_last) {
            (Ok(()), _) => {
                self.gone.remove(&host);
                self.names.remove(&host);
                self.run.say(Event::HostBack { host });
                // There is something to do again: the others get their chance anew.
                if std::mem::take(&mut self.is_last) {
                    let others: Vec<String> = self.names.iter().cloned().collect();
                    self.returning.clear();
                    others.into_iter().for_each(|host| self.wait(host));
                }
            }
            (Err(reason), true) => {
                if let Some(gone) = self.gone.get_mut(&host) {
                    (gone.is_given_up, gone.reason) = (true, reason);
                }
            }
            (Err(_), false) => self.wait(host),
        }
    }

    fn wait(&mut self, host: String) {
        if let Some(gone) = self.gone.get_mut(&host) {
            gone.tries += 1;
            let wait = FIRST_WAIT.saturating_mul(1 << gone.tries.min(16)).min(LONGEST_WAIT);
            self.returning.push(Box::pin(try_again(self.run, host, vec![wait])));
        }
    }
}

/// Tries a host after each of `waits` until it answers.
async fn try_again(run: &Run, host: String, waits: Vec<Duration>) -> (String, Result<(), String>) {
    let mut result = Err(String::new());
    for wait in waits {
        tokio::time::sleep(wait).await;
        result = run.machines.answers(run, &host).await;
        if result.is_ok() {
            break;
        }
    }
    (host, result)
}

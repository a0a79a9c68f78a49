//! Which measured trials are suspicious, why, and on which host. They stay in every estimate: a mark says
//! that a reader should look, not that a value is wrong.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use crate::record::{Noise, Phase, Record, Run, Status, Suspicion, Throttling};

/// The suspicious trials of one host.
#[derive(Debug, Clone, PartialEq)]
pub struct SuspiciousHost<'a> {
    /// Its name.
    pub host: &'a str,
    /// How many measured trials told something of it.
    pub trials: usize,
    /// How many of them are suspicious.
    pub suspicious: usize,
    /// For each reason how many trials have it, and the worst figure where it has one.
    pub reasons: BTreeMap<Suspicion, (usize, Option<f64>)>,
    /// By what its firmware has held the CPU back in any of them, where it tells.
    pub throttled_by: BTreeSet<Throttling>,
}

/// Whether something disturbed a trial, on its own host or on that of a service.
pub fn is_suspicious(record: &Record) -> bool {
    record.words().noise.iter().any(|(_, noise)| !noise.suspicious.is_empty())
}

/// The hosts with suspicious trials among those that count, in the order of the cells, then those of services.
pub fn suspicious_hosts(run: &Run) -> Vec<SuspiciousHost<'_>> {
    let mut hosts: IndexMap<&str, SuspiciousHost<'_>> = IndexMap::new();
    for cell in &run.manifest.cells {
        hosts.entry(&cell.host).or_insert_with(|| SuspiciousHost::new(&cell.host));
    }
    let counted = run.last_attempts().filter(|one| one.phase == Phase::Measure && one.status == Status::Ok);
    for record in counted {
        for host in &record.watched {
            hosts.entry(host).or_insert_with(|| SuspiciousHost::new(host)).trials += 1;
        }
        for (host, noise) in &record.words().noise {
            hosts.entry(host).or_insert_with(|| SuspiciousHost::new(host)).add(noise);
        }
    }
    hosts.into_values().filter(|host| host.suspicious > 0).collect()
}

impl<'a> SuspiciousHost<'a> {
    fn new(host: &'a str) -> Self {
        SuspiciousHost {
            host,
            trials: 0,
            suspicious: 0,
            reasons: BTreeMap::new(),
            throttled_by: BTreeSet::new(),
        }
    }

    fn add(&mut self, noise: &Noise) {
        self.suspicious += usize::from(!noise.suspicious.is_empty());
        self.throttled_by.extend(&noise.throttled_by);
        for suspicion in &noise.suspicious {
            let (count, worst) = self.reasons.entry(*suspicion).or_default();
            *count += 1;
            *worst = [*worst, figure(noise, *suspicion)].into_iter().flatten().max_by(f64::total_cmp);
        }
    }
}

/// The figure that made a trial suspicious, where it is one.
fn figure(noise: &Noise, suspicion: Suspicion) -> Option<f64> {
    match suspicion {
        Suspicion::Load => noise.load_before,
        Suspicion::OtherPrograms => noise.others_cpu_percent,
        Suspicion::Steal => noise.steal_percent,
        Suspicion::Hot => {
            let both = [noise.temperature_c_before, noise.temperature_c_after];
            both.into_iter().flatten().max_by(f64::total_cmp)
        }
        Suspicion::Throttled | Suspicion::Governor | Suspicion::FrequencyLimit | Suspicion::ClockSet => None,
    }
}

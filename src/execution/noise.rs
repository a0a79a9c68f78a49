//! What the probes of a machine mean: lines read before and after a command become a [`Noise`], and what in
//! it makes the trial suspicious. Pure; the thresholds stand here with their reasons. Read [`judge`] first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use super::Run;
use crate::environments::Place;
use crate::event::{Noise, Suspicion, Throttling};
use crate::hosts::cpu_time::{CpuTimes, ProcessTime, TICKS_PER_SECOND};
use crate::hosts::{Sensors, degrees};
use crate::transports::job::{Ended, Probes};

/// Half of the 2 % within which two results count as equal: what is stolen beyond it can decide a verdict.
const STEAL_PERCENT: f64 = 1.0;
/// Time is stolen in ticks of 10 ms: fewer than these are no share of anything.
const STEAL_TICKS: u64 = 3;
/// A quiet Linux spends 1 to 3 % of a CPU on its daemons; a fifth of one is a program that works, and slows
/// down by as much what shares the CPU with it.
const OTHERS_CPU_PERCENT: f64 = 20.0;
/// Less user time than this, in seconds, is lost in the kernel's way of counting it.
const OTHERS_SECONDS: f64 = 0.2;
/// What the steps of the run itself leave: they are done one at a time.
const LOAD_OF_STEPS: f64 = 1.0;
/// A busy program adds 1 to the load within minutes, and half of it within 42 s.
const LOAD_MARGIN: f64 = 0.5;
/// The bits of a Raspberry Pi's `get_throttled` that hold now, from the lowest. The same 16 places higher say
/// that it was so since the start, or since the last reading where the kernel clears them.
const THROTTLED_NOW: [Throttling; 4] = [
    Throttling::UnderVoltage,
    Throttling::FrequencyCapped,
    Throttling::Throttled,
    Throttling::SoftTemperatureLimit,
];

/// What must be known beside the probes.
#[derive(Debug, Default)]
struct Circumstances<'a> {
    /// What the machine's sensors are.
    sensors: Option<&'a Sensors>,
    /// How long the command took.
    elapsed_s: f64,
    /// Whether nothing else of the trial ran on the machine.
    is_alone: bool,
    /// The load that the run's last command has left there.
    load_left: Option<f64>,
    /// Whether the machine's clock was set meanwhile.
    clock_was_set: bool,
}

/// The noise around a command; none where the machine told nothing.
fn judge(probes: &Probes, around: &Circumstances<'_>) -> Option<Noise> {
    let both = Both {
        before: Lines(probes.before.iter().map(|(path, line)| (path.as_str(), line.trim())).collect()),
        after: Lines(probes.after.iter().map(|(path, line)| (path.as_str(), line.trim())).collect()),
    };
    let mut noise = Noise::default();
    both.load(around, &mut noise);
    both.cpu_time(around, &mut noise);
    both.pressure(around, &mut noise);
    if let Some(sensors) = around.sensors {
        both.temperature(sensors, &mut noise);
    }
    both.frequency(&mut noise);
    both.throttling(&mut noise);
    if around.clock_was_set {
        noise.suspicious.push(Suspicion::ClockSet);
    }
    noise.suspicious.sort();
    noise.suspicious.dedup();
    (!noise.is_empty()).then_some(noise)
}

/// First lines of files, by path.
struct Lines<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Lines<'a> {
    fn get(&self, path: &str) -> Option<&'a str> {
        self.0.get(path).copied()
    }

    /// The lines of all files whose path ends so.
    fn ending(&self, end: &'static str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.iter().filter(move |(path, _)| path.ends_with(end)).map(|(path, line)| (*path, *line))
    }

    /// Their different lines, in order; none where there is no such file.
    fn different(&self, end: &'static str) -> Option<String> {
        let lines: BTreeSet<&str> = self.ending(end).map(|(_, line)| line).collect();
        (!lines.is_empty()).then(|| lines.into_iter().collect::<Vec<_>>().join(", "))
    }
}

struct Both<'a> {
    before: Lines<'a>,
    after: Lines<'a>,
}

impl Both<'_> {
    /// What `read` makes of a file before and after.
    fn pair<T>(&self, path: &str, read: impl Fn(&str) -> Option<T>) -> Option<(T, T)> {
        Some((read(self.before.get(path)?)?, read(self.after.get(path)?)?))
    }

    fn load(&self, around: &Circumstances<'_>, noise: &mut Noise) {
        let load = |lines: &Lines<'_>| lines.get("/proc/loadavg")?.split(' ').next()?.parse::<f64>().ok();
        (noise.load_before, noise.load_after) = (load(&self.before), load(&self.after));
        let explained = around.load_left.unwrap_or(0.0).max(LOAD_OF_STEPS);
        if noise.load_before.is_some_and(|load| load > explained + LOAD_MARGIN) {
            noise.suspicious.push(Suspicion::Load);
        }
    }

    fn cpu_time(&self, around: &Circumstances<'_>, noise: &mut Noise) {
        let Some((before, after)) = self.pair("/proc/stat", CpuTimes::parse) else { return };
        let passed = after.since(before);
        let percent = |part: u64, whole: u64| (whole > 0).then(|| 100.0 * part as f64 / whole as f64);
        noise.steal_percent = percent(passed.steal, passed.steal + passed.busy).map(rounded);
        noise.idle_percent = percent(passed.idle, passed.total()).map(rounded);
        if passed.steal >= STEAL_TICKS && noise.steal_percent.is_some_and(|steal| steal > STEAL_PERCENT) {
            noise.suspicious.push(Suspicion::Steal);
        }
        // The shell that reads the probes waits for the command: its children are the command. Another
        // shell after than before has waited for something else.
        let own = self.pair("/proc/self/stat", ProcessTime::parse).filter(|(one, two)| one.id == two.id);
        if let Some((before, after)) = own
            && around.is_alone
            && around.elapsed_s > 0.0
        {
            let own = after.user.saturating_sub(before.user);
            let others_s = passed.user.saturating_sub(own) as f64 / TICKS_PER_SECOND;
            let others_percent = 100.0 * others_s / around.elapsed_s;
            noise.others_cpu_percent = Some(rounded(others_percent));
            if others_s > OTHERS_SECONDS && others_percent > OTHERS_CPU_PERCENT {
                noise.suspicious.push(Suspicion::OtherPrograms);
            }
        }
    }

    fn pressure(&self, around: &Circumstances<'_>, noise: &mut Noise) {
        // `some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS`
        let total = |line: &str| line.rsplit_once("total=")?.1.parse::<u64>().ok();
        let percent = |path| {
            let (before, after) = self.pair(path, total)?;
            let stalled_s = after.saturating_sub(before) as f64 / 1e6;
            // Both readings lie a little outside of the time that was taken.
            (around.elapsed_s > 0.0).then(|| rounded((100.0 * stalled_s / around.elapsed_s).min(100.0)))
        };
        noise.cpu_pressure_percent = percent("/proc/pressure/cpu");
        noise.io_pressure_percent = percent("/proc/pressure/io");
        noise.memory_pressure_percent = percent("/proc/pressure/memory");
    }

    fn temperature(&self, sensors: &Sensors, noise: &mut Noise) {
        let read = |lines: &Lines<'_>| {
            let of = |(path, limit): (&String, &Option<f64>)| Some((degrees(lines.get(path)?)?, *limit));
            sensors.thermometers.iter().filter_map(of).collect::<Vec<_>>()
        };
        let (before, after) = (read(&self.before), read(&self.after));
        let hottest = |read: &[(f64, _)]| read.iter().map(|(degrees, _)| *degrees).max_by(f64::total_cmp);
        (noise.temperature_c_before, noise.temperature_c_after) = (hottest(&before), hottest(&after));
        let is_hot = |(degrees, limit): &(f64, Option<f64>)| limit.is_some_and(|limit| *degrees >= limit);
        if before.iter().chain(&after).any(is_hot) {
            noise.suspicious.push(Suspicion::Hot);
        }
    }

    fn frequency(&self, noise: &mut Noise) {
        const GOVERNOR: &str = "/scaling_governor";
        let (before, after) = (self.before.different(GOVERNOR), self.after.different(GOVERNOR));
        if let (Some(before), Some(after)) = (&before, &after)
            && before != after
        {
            noise.governor_after = Some(after.clone());
            noise.suspicious.push(Suspicion::Governor);
        }
        noise.governor = before;
        let limit = |lines: &Lines<'_>| {
            lines.ending("/scaling_max_freq").filter_map(|(_, line)| line.parse::<u64>().ok()).max()
        };
        noise.frequency_limit_khz = limit(&self.before);
        noise.frequency_limit_khz_after =
            limit(&self.after).filter(|after| noise.frequency_limit_khz.is_some_and(|limit| limit != *after));
        let is_changed = |end| {
            let mut before = self.before.ending(end);
            before.any(|(path, line)| self.after.get(path).is_some_and(|after| after != line))
        };
        if ["/scaling_max_freq", "/no_turbo", "/cpufreq/boost"].into_iter().any(is_changed) {
            noise.suspicious.push(Suspicion::FrequencyLimit);
        }
    }

    fn throttling(&self, noise: &mut Noise) {
        let number = |line: &str| line.parse::<u64>().ok();
        let rises = |end| {
            let risen = self.before.ending(end).filter_map(|(path, _)| self.pair(path, number));
            risen.map(|(before, after)| after > before).collect::<Vec<_>>()
        };
        let held_back = |end| {
            let states = self.before.ending(end).filter_map(|(path, _)| self.pair(path, number));
            states.map(|(before, after)| before > 0 || after > 0).collect::<Vec<_>>()
        };
        let bits = |line: &str| u32::from_str_radix(line.trim_start_matches("0x"), 16).ok();
        let of_pi = self.before.ending("/get_throttled").filter_map(|(path, _)| self.pair(path, bits));
        let of_pi = of_pi.map(|(before, after)| {
            let meanwhile = before | after | (after >> 16 & !(before >> 16));
            noise.throttled_by = throttling(meanwhile);
            noise.throttled_earlier = throttling(before >> 16 & !meanwhile);
            !noise.throttled_by.is_empty()
        });
        let found: Vec<bool> = [rises("_throttle_count"), held_back("/cur_state"), of_pi.collect()].concat();
        noise.throttled = (!found.is_empty()).then(|| found.contains(&true));
        if noise.throttled == Some(true) {
            noise.suspicious.push(Suspicion::Throttled);
        }
    }
}

/// The lowest bits of `get_throttled` by name.
fn throttling(bits: u32) -> Vec<Throttling> {
    let all = THROTTLED_NOW.into_iter().enumerate();
    all.filter(|(place, _)| bits >> place & 1 == 1).map(|(_, throttling)| throttling).collect()
}

/// To hundredths: more is not in the kernel's figures.
fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// The noise around a command that has ended in `place`; `is_alone` says that nothing else of its trial ran
/// on the machine.
pub(super) fn of(run: &Run, place: &Place, ended: &Ended, is_alone: bool) -> Option<Noise> {
    let machine = &place.machine;
    let around = Circumstances {
        sensors: Some(&machine.sensors),
        elapsed_s: ended.elapsed_s,
        is_alone,
        load_left: run.loads.left_on(&machine.name),
        // The `date` of a container may be one that never tells fractions.
        clock_was_set: ended.is_coarse && place.container.is_none() && machine.sensors.has_fine_clock,
    };
    let noise = judge(&ended.probes, &around)?;
    run.loads.keep(&machine.name, &noise);
    Some(noise)
}

/// What of the load on each machine comes from the commands of a run, and the load after the last of them.
#[derive(Debug, Default)]
pub(super) struct Loads(Mutex<BTreeMap<String, (f64, f64)>>);

impl Loads {
    /// What the last command has left there.
    pub(super) fn left_on(&self, machine: &str) -> Option<f64> {
        self.0.lock().ok()?.get(machine).map(|(own, _)| *own)
    }

    /// Keeps what this one has left: what was there of earlier ones, as far as it has not faded, and what the
    /// load rose by meanwhile. What others do all the time is in neither.
    pub(super) fn keep(&self, machine: &str, noise: &Noise) {
        if let (Some(before), Some(after), Ok(mut loads)) =
            (noise.load_before, noise.load_after, self.0.lock())
        {
            let (own, last) = loads.get(machine).copied().unwrap_or_default();
            let faded = if last > 0.0 { own * (before / last).min(1.0) } else { 0.0 };
            loads.insert(machine.to_owned(), ((faded + after - before).clamp(0.0, after), after));
        }
    }
}

#[cfg(test)]
mod tests;

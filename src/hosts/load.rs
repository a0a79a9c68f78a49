//! The load of a machine over the last moment: what its CPUs do, and what waits for its disks. It follows
//! a change at once, where the load average of /proc/loadavg takes a minute. Read [`Activity`] first.

use super::Machine;
use super::cpu_time::CpuTimes;
use crate::transports::{TransportError, job};

/// From this share of all CPUs on, they are taken to be busy all the time: the ticks are coarse.
const SATURATED: f64 = 0.95;

/// What a machine has done so far, and what wants to run on it now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Activity {
    times: CpuTimes,
    cpus: usize,
    /// Tasks that run or could, the one that reads this among them.
    runnable: u64,
    /// Tasks that wait for a disk.
    blocked: u64,
}

/// Looks at /proc/stat of a machine.
///
/// # Errors
/// When the machine can't be asked, or does not tell.
pub async fn activity(machine: &Machine) -> Result<Activity, TransportError> {
    let printed = job::query(&*machine.transport, "sed -n '/^cpu/p; /^procs_/p' /proc/stat").await?;
    parse(&String::from_utf8_lossy(&printed)).ok_or_else(|| TransportError {
        message: format!("`{}` does not tell what its CPUs do: /proc/stat can't be read", machine.name),
        hint: None,
        is_lost: false,
    })
}

fn parse(table: &str) -> Option<Activity> {
    let number = |name: &str| {
        let line = table.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse::<u64>().ok()
    };
    Some(Activity {
        times: table.lines().find_map(CpuTimes::parse)?,
        cpus: table
            .lines()
            .filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "))
            .count()
            .max(1),
        runnable: number("procs_running ").unwrap_or(0),
        blocked: number("procs_blocked ").unwrap_or(0),
    })
}

impl Activity {
    /// The load since `earlier`: CPUs that were busy on average, and tasks that wait for a disk. Where all
    /// CPUs were busy, the tasks that want one count instead. None when no time has passed.
    pub fn load_since(&self, earlier: &Activity) -> Option<f64> {
        let passed = self.times.since(earlier.times);
        let total = passed.total();
        if total == 0 {
            return None;
        }
        // What was stolen is work that waits.
        let share = (passed.busy + passed.steal) as f64 / total as f64;
        let busy = share * self.cpus as f64;
        let wanted = self.runnable.saturating_sub(1) as f64;
        let running = if share >= SATURATED { busy.max(wanted) } else { busy };
        Some(running + self.blocked as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(busy: u64, idle: u64, running: u64, blocked: u64) -> Activity {
        let table = format!(
            "cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 0 0 0\ncpu1 1 0 0 0\nprocs_running {running}\nprocs_blocked {blocked}\n"
        );
        parse(&table).unwrap()
    }

    #[test]
    fn the_load_of_two_cpus() {
        let start = seen(1000, 5000, 1, 0);
        for (end, load) in [
            (seen(1004, 5196, 1, 0), Some(0.04)),
            (seen(1100, 5100, 3, 0), Some(1.0)),
            (seen(1100, 5100, 1, 2), Some(3.0)),
            (seen(1200, 5000, 9, 0), Some(8.0)),
            (seen(1200, 5000, 1, 0), Some(2.0)),
            (start, None),
        ] {
            assert_eq!(end.load_since(&start), load, "{end:?}");
        }
        assert_eq!(parse("procs_running 1\n"), None);
    }
}

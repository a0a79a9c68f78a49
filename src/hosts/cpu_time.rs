//! The CPU times that Linux counts: those of all CPUs from /proc/stat, those of a process from its `stat`.
//! It reads text; where that comes from is another's business.

/// Ticks in a second of CPU time: USER_HZ, 100 on every architecture that Docker or Debian run on.
pub const TICKS_PER_SECOND: f64 = 100.0;

/// The time of all CPUs together since the start of the machine, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTimes {
    /// In programs.
    pub user: u64,
    /// At work, programs and kernel together.
    pub busy: u64,
    /// With nothing to do, or waiting for a disk.
    pub idle: u64,
    /// With something to do, while the hypervisor gave the CPU to somebody else.
    pub steal: u64,
}

impl CpuTimes {
    /// Reads the line `cpu …` of /proc/stat; older kernels have fewer columns.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        (words.next()? == "cpu").then_some(())?;
        let times: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        let at = |index: usize| times.get(index).copied().unwrap_or(0);
        // user nice system idle iowait irq softirq steal; guests are within user and nice.
        let user = times.first()? + at(1);
        let busy = user + at(2) + at(5) + at(6);
        Some(CpuTimes { user, busy, idle: times.get(3)? + at(4), steal: at(7) })
    }

    /// What passed since `earlier`; a counter that went backwards, as idle time may, counts as 0.
    pub fn since(self, earlier: CpuTimes) -> CpuTimes {
        CpuTimes {
            user: self.user.saturating_sub(earlier.user),
            busy: self.busy.saturating_sub(earlier.busy),
            idle: self.idle.saturating_sub(earlier.idle),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }

    /// All of it.
    pub fn total(self) -> u64 {
        self.busy + self.idle + self.steal
    }
}

/// A process and the user time of it and of all children that it has waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessTime {
    /// Its id.
    pub id: u32,
    /// In ticks.
    pub user: u64,
}

impl ProcessTime {
    /// Reads the line of /proc/PID/stat.
    pub fn parse(line: &str) -> Option<Self> {
        let (id, _) = line.split_once(' ')?;
        // The name stands in parentheses and may hold blanks and parentheses itself.
        let (_, rest) = line.rsplit_once(')')?;
        let mut words = rest.split_whitespace().skip(11);
        let own: u64 = words.next()?.parse().ok()?;
        let of_children: u64 = words.nth(1)?.parse().ok()?;
        Some(ProcessTime { id: id.parse().ok()?, user: own + of_children })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_proc_stat() {
        let line = "cpu  69957 3 6280 56717 386 1 68 44 500 0";
        let times = CpuTimes { user: 69_960, busy: 76_309, idle: 57_103, steal: 44 };
        assert_eq!(CpuTimes::parse(line), Some(times));
        assert_eq!(times.total(), 133_456);
        let old = CpuTimes { user: 3, busy: 6, idle: 4, steal: 0 };
        assert_eq!(CpuTimes::parse("cpu 1 2 3 4"), Some(old));
        assert_eq!(times.since(old).idle, 57_099);
        assert_eq!(old.since(times), CpuTimes { user: 0, busy: 0, idle: 0, steal: 0 });
        for line in ["cpu0 1 2 3 4", "cpu 1 2", "intr 5", ""] {
            assert_eq!(CpuTimes::parse(line), None, "{line}");
        }
    }

    #[test]
    fn the_line_of_a_process_with_an_awkward_name() {
        let line = "77 (a ) b (c) S 1 77 77 0 -1 4194304 100 0 0 0 11 12 13 14 20 0 1 0 100 0 0";
        assert_eq!(ProcessTime::parse(line), Some(ProcessTime { id: 77, user: 24 }));
        assert_eq!(ProcessTime::parse("77 (sh) S 1"), None);
    }
}

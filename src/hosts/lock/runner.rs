//! Which process holds a lock, in words that another process understands: so one can tell whether it is gone.
//! That is known on the same computer alone; of any other nobody here can say.

#![allow(clippy::disallowed_methods, reason = "what this computer says of itself and its processes")]

use std::fmt;
use std::fs;

/// A process of this program: its computer, that one's start, and the process with its own start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Runner {
    /// The computer and its name space of processes; empty where it has no identity.
    computer: String,
    /// Which start of the computer.
    boot: String,
    process: u32,
    /// In ticks since the computer's start.
    started: u64,
}

impl Runner {
    /// This process.
    pub fn this() -> Runner {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let (machine, name) = (read("/etc/machine-id"), read("/proc/sys/kernel/hostname"));
        let names = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let has_all = !machine.is_empty() && !name.is_empty() && !names.as_os_str().is_empty();
        let process = std::process::id();
        Runner {
            computer: if has_all { format!("{machine}/{name}/{}", names.display()) } else { String::new() },
            boot: read("/proc/sys/kernel/random/boot_id"),
            process,
            started: started(process).unwrap_or_default(),
        }
    }

    /// What [`Runner`] is displayed as; nothing of any other text.
    pub(super) fn parse(text: &str) -> Option<Runner> {
        let mut words = text.split(' ');
        let (computer, boot) = (words.next()?.to_owned(), words.next()?.to_owned());
        let (process, started) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Runner { computer, boot, process, started })
    }

    /// Whether it is gone for certain.
    pub(super) fn is_gone(&self) -> bool {
        let this = Runner::this();
        if self.computer.is_empty() || self.computer != this.computer || self.boot.is_empty() {
            return false;
        }
        self.boot != this.boot || started(self.process) != Some(self.started)
    }
}

impl fmt::Display for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.computer, self.boot, self.process, self.started)
    }
}

/// When a process was started; nothing where it is gone, or only waits to be collected.
fn started(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before it may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let is_over = fields.first().is_some_and(|state| ["Z", "X"].contains(state));
    (!is_over).then(|| fields.get(19)?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_gone_for_certain_is_gone() {
        let this = Runner { computer: "c".into(), ..Runner::this() };
        assert_eq!(Runner::parse(&this.to_string()), Some(this));
        let this = Runner::this();
        assert!(!this.is_gone(), "it is at work");
        let elsewhere = Runner { computer: "other".into(), process: u32::MAX, ..this.clone() };
        assert!(!elsewhere.is_gone(), "nobody here can tell");
        if !this.computer.is_empty() {
            assert!(Runner { started: this.started + 1, ..this.clone() }.is_gone());
            assert!(Runner { boot: "before".into(), ..this }.is_gone());
        }
    }
}

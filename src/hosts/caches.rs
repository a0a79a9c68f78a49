//! Emptying the page cache of a machine, and checking that it was emptied.

use super::Machine;
use crate::spec::host::Sudo;
use crate::transports::job;

/// What is left when nothing more can be dropped, in kB: pages that programs have in use.
const NOTHING_TO_DROP_KB: u64 = 64 * 1024;

/// `Cached` of /proc/meminfo around one drop, in kB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheFigures {
    /// Before.
    pub before_kb: u64,
    /// After.
    pub after_kb: u64,
}

/// Writes dirty pages back, drops the page cache as root, and compares /proc/meminfo.
///
/// # Errors
/// The exact reason why it can't be done, or that the cache did not fall.
pub async fn drop_caches(machine: &Machine) -> Result<CacheFigures, String> {
    let as_root = match machine.sudo {
        Sudo::Passwordless => "sudo -n sh -c",
        Sudo::None => "sh -c",
    };
    let script = format!(
        r#"cat /proc/meminfo || exit
echo ---
sync
if [ "$(id -u)" = 0 ]; then sh -c 'echo 3 >/proc/sys/vm/drop_caches'
else {as_root} 'echo 3 >/proc/sys/vm/drop_caches'; fi || exit
cat /proc/meminfo"#
    );
    let refused = |reason: String| format!("drop_caches refused on `{}`: {reason}", machine.name);
    let printed = job::query(&*machine.transport, &script).await.map_err(|error| refused(error.message))?;
    let text = String::from_utf8_lossy(&printed);
    let (before, after) =
        text.split_once("---\n").ok_or_else(|| refused("/proc/meminfo can't be read".into()))?;
    verify(before, after).map_err(|reason| format!("drop_caches on `{}`: {reason}", machine.name))
}

fn verify(before: &str, after: &str) -> Result<CacheFigures, String> {
    let cached = |table| field(table, "Cached").ok_or("no `Cached` in /proc/meminfo");
    let figures = CacheFigures { before_kb: cached(before)?, after_kb: cached(after)? };
    // Pages of tmpfs and of mapped files count as cached, and stay.
    let kept = field(before, "Shmem").unwrap_or(0) + field(before, "Mapped").unwrap_or(0);
    let droppable = figures.before_kb.saturating_sub(kept);
    if figures.after_kb < figures.before_kb || droppable < NOTHING_TO_DROP_KB {
        return Ok(figures);
    }
    Err(format!("Cached did not fall: {} kB before, {} kB after", figures.before_kb, figures.after_kb))
}

fn field(table: &str, name: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{CacheFigures, verify};

    fn table(cached: u64, shmem: u64) -> String {
        format!(
            "MemTotal: 4000000 kB\nCached: {cached} kB\nSwapCached: 0 kB\nMapped: 30000 kB\nShmem: {shmem} kB\n"
        )
    }

    #[test]
    fn the_cache_must_fall_unless_nothing_can() {
        let fell = verify(&table(900_000, 0), &table(90_000, 0));
        assert_eq!(fell, Ok(CacheFigures { before_kb: 900_000, after_kb: 90_000 }));
        assert!(verify(&table(900_000, 0), &table(900_000, 0)).is_err(), "a drop that did nothing");
        assert!(verify(&table(900_000, 0), &table(900_500, 0)).is_err());
        assert!(verify(&table(800_000, 760_000), &table(800_010, 760_000)).is_ok(), "all of it is tmpfs");
        assert!(verify("", "").is_err());
    }
}

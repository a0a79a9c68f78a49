//! Whether a host can be reached and has what an experiment needs there. It only looks; nothing is left on
//! the machine. Read [`Needs`] and [`Reached`] first.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::{Machine, connect, lock};
use crate::diagnostic::Sources;
use crate::spec::host::{Host, Sudo};
use crate::transports::{TransportError, job};

/// The longest time for all answers of a connected machine.
const LIMIT: Duration = Duration::from_secs(10);
/// What every command needs, beside what an experiment names.
const ALWAYS: [&str; 2] = ["sh", "setsid"];

/// What an experiment needs of one host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Programs that its native workloads start.
    pub tools: BTreeSet<String>,
    /// Whether a step there runs as root.
    pub root: bool,
    /// Whether an environment there is a container.
    pub engine: bool,
    /// Where native environments make directories.
    pub workdirs: BTreeSet<String>,
}

/// A host that was reached.
#[derive(Debug, Clone)]
pub struct Reached {
    /// Seconds until it let us in.
    pub seconds: f64,
    /// How commands become root: `root`, `sudo`; or why they can't.
    pub root: Result<String, String>,
    /// The version of its Docker Engine, or why none answers; looked for only where one is needed.
    pub engine: Option<Result<String, TransportError>>,
    /// The wanted programs that are there.
    pub tools: BTreeSet<String>,
    /// The work directories.
    pub workdirs: Vec<Workdir>,
    /// How its clock differs from ours, where it tells the time.
    pub clock: Option<Clock>,
    /// Who has locked it, if somebody has.
    pub locked: Option<String>,
}

/// The difference of two clocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    /// The machine's minus ours, in seconds.
    pub difference_s: f64,
    /// How far that can be wrong, in seconds: half the time of the question and its answer.
    pub error_s: f64,
}

/// A work directory of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workdir {
    /// Its path.
    pub path: String,
    /// Free bytes there, or in the nearest folder above that exists.
    pub free_bytes: u64,
    /// Whether directories can be made there.
    pub is_writable: bool,
}

/// Connects to the host `name` and looks for what is needed.
///
/// # Errors
/// When it can't be reached, or does not answer within seconds.
pub async fn reach(
    name: &str,
    host: &Host,
    sources: &Sources,
    needs: &Needs,
) -> Result<Reached, TransportError> {
    let start = Instant::now();
    let machine = connect(name, host, sources).await?;
    let seconds = start.elapsed().as_secs_f64();
    if machine.cluster().is_some() {
        // Its images have what is needed, or their tasks say what is missing.
        let tools = ALWAYS.into_iter().map(str::to_owned).chain(needs.tools.iter().cloned()).collect();
        let (root, engine) = (Ok("tasks".to_owned()), Some(Ok("ECS".to_owned())));
        return Ok(Reached { seconds, root, engine, tools, ..parse("", Sudo::None) });
    }
    let silent = |_| TransportError {
        message: format!("`{name}`: no answer within {} s", LIMIT.as_secs()),
        hint: Some("is the machine busy, or its disk hanging? log in by hand and look".into()),
        is_lost: false,
    };
    let looked = tokio::time::timeout(LIMIT, look(&machine, needs)).await.map_err(silent)?;
    looked.map(|found| Reached { seconds, ..found })
}

async fn look(machine: &Machine, needs: &Needs) -> Result<Reached, TransportError> {
    let printed = job::query(&*machine.transport, &script(needs)).await?;
    let engine = match needs.engine {
        true => Some(machine.engine().await.map(|engine| engine.version.clone())),
        false => None,
    };
    let before = now();
    let date = job::query(&*machine.transport, "date +%s.%N").await?;
    let after = now();
    let clock = seconds(&String::from_utf8_lossy(&date)).map(|theirs| Clock {
        difference_s: theirs - f64::midpoint(before, after),
        error_s: (after - before) / 2.0,
    });
    let found = parse(&String::from_utf8_lossy(&printed), machine.sudo);
    Ok(Reached { engine, clock, ..found })
}

/// Prints a line for each fact: `root …`, `tool …`, `free KILOBYTES WRITABLE PATH`, `locked WHO`.
fn script(needs: &Needs) -> String {
    let tools: Vec<String> =
        ALWAYS.into_iter().chain(needs.tools.iter().map(String::as_str)).map(job::quote).collect();
    let workdirs: Vec<String> = needs.workdirs.iter().map(|path| job::quote(path)).collect();
    format!(
        r#"if [ "$(id -u)" = 0 ]; then echo root is root
elif why=$(sudo -n true 2>&1); then echo root is sudo
else echo "root no $why" | head -n 1; fi
for tool in {}; do command -v "$tool" >/dev/null 2>&1 && echo "tool $tool"; done
for path in {}; do
d=$path; while [ ! -d "$d" ]; do d=$(dirname "$d"); done
[ -w "$d" ] && w=yes || w=no
set -- $(df -Pk "$d" | sed -n '$p')
echo "free $4 $w $path"
done
{}
:"#,
        tools.join(" "),
        workdirs.join(" "),
        lock::look()
    )
}

fn parse(printed: &str, sudo: Sudo) -> Reached {
    let after = |start: &'static str| printed.lines().filter_map(move |line| line.strip_prefix(start));
    let root = match (after("root ").next().and_then(|line| line.split_once(' ')), sudo) {
        (Some(("is", "sudo")), Sudo::None) => Err("the host has `sudo: none`".to_owned()),
        (Some(("is", how)), _) => Ok(how.to_owned()),
        (Some((_, why)), _) => Err(why.to_owned()),
        (None, _) => Err("it does not tell".to_owned()),
    };
    let workdir = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let free_kb: u64 = words.next()?.parse().ok()?;
        let is_writable = words.next()? == "yes";
        Some(Workdir {
            path: words.next()?.to_owned(),
            free_bytes: free_kb.saturating_mul(1024),
            is_writable,
        })
    };
    Reached {
        seconds: 0.0,
        root,
        engine: None,
        tools: after("tool ").map(str::to_owned).collect(),
        workdirs: after("free ").filter_map(workdir).collect(),
        clock: None,
        locked: after("locked ").next().map(lock::printable),
    }
}

fn now() -> f64 {
    Timestamp::now().as_nanosecond() as f64 / 1e9
}

/// The seconds that `date +%s.%N` prints; a `date` without fractions is in the middle of its second.
fn seconds(printed: &str) -> Option<f64> {
    let (whole, fraction) = printed.trim().split_once('.')?;
    let fraction = fraction.parse::<u32>().map_or(0.5, |nanoseconds| f64::from(nanoseconds) / 1e9);
    Some(whole.parse::<u32>().map(f64::from).ok()? + fraction)
}

impl Reached {
    /// What is needed and missing, each with what to do.
    pub fn lacking(&self, needs: &Needs) -> Vec<TransportError> {
        let lack = |message: String, hint: &str| TransportError {
            message,
            hint: Some(hint.to_owned()),
            is_lost: false,
        };
        let mut lacking = Vec::new();
        if let (true, Err(why)) = (needs.root, &self.root) {
            let hint = "let the user run `sudo` there without a password, or log in as root";
            lacking.push(lack(format!("a step runs as root, and that is refused: {why}"), hint));
        }
        if let Some(Err(error)) = &self.engine {
            lacking.push(error.clone());
        }
        let missing = |tool: &&str| !self.tools.contains(*tool);
        for tool in ALWAYS.into_iter().filter(missing) {
            lacking.push(lack(format!("`{tool}` is missing"), "install util-linux or busybox there"));
        }
        for tool in needs.tools.iter().map(String::as_str).filter(missing) {
            let hint = "install it there, or run the workload in a container that has it";
            lacking.push(lack(format!("`{tool}` is missing"), hint));
        }
        for workdir in self.workdirs.iter().filter(|workdir| !workdir.is_writable) {
            let hint = "give the user the right to write there, or choose another `workdir`";
            lacking.push(lack(format!("no directory can be made in {}", workdir.path), hint));
        }
        lacking
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transports::fake::{Fake, Reply};

    fn needs() -> Needs {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Needs { tools: set(&["dd", "iperf"]), root: true, engine: false, workdirs: set(&["/mnt/my disk"]) }
    }

    async fn looked(answer: &'static str, date: &'static str) -> Reached {
        let reply = move |script: &str| {
            let is_date = script.contains("date +%s") && !script.contains("id -u");
            Reply { stdout: if is_date { date } else { answer }.to_owned(), ..Reply::default() }
        };
        look(&Machine::fake("m", Fake::new(reply)), &needs()).await.unwrap()
    }

    #[tokio::test]
    async fn a_machine_that_has_all_lacks_nothing() {
        let found = looked(
            "root is sudo\ntool sh\ntool setsid\ntool dd\ntool iperf\nfree 7 yes /mnt/my disk\n",
            "1.5",
        )
        .await;
        assert_eq!(found.lacking(&needs()).len(), 0, "{found:?}");
        let workdir = Workdir { path: "/mnt/my disk".into(), free_bytes: 7168, is_writable: true };
        assert_eq!((found.root, found.workdirs), (Ok("sudo".into()), vec![workdir]));
        assert!(
            found.clock.is_some_and(|clock| clock.difference_s < -1e9 && clock.error_s >= 0.0),
            "its clock stands in 1970"
        );
    }

    #[tokio::test]
    async fn what_is_missing_is_told_with_the_way_out() {
        let found =
            looked("root no sudo: a password is required\ntool sh\ntool dd\nfree 7 no /mnt/my disk\n", "?")
                .await;
        let lacking: Vec<String> = found.lacking(&needs()).into_iter().map(|lack| lack.message).collect();
        assert_eq!(
            lacking,
            [
                "a step runs as root, and that is refused: sudo: a password is required",
                "`setsid` is missing",
                "`iperf` is missing",
                "no directory can be made in /mnt/my disk",
            ]
        );
        assert_eq!(found.clock, None);
        assert_eq!(found.lacking(&Needs::default()).len(), 2, "what is not needed is not missed");
    }

    #[test]
    fn clocks_with_and_without_fractions() {
        for (printed, expected) in [
            ("12.250000000\n", Some(12.25)),
            ("12.%N", Some(12.5)),
            ("12.", Some(12.5)),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(seconds(printed), expected, "{printed}");
        }
    }

    #[test]
    fn root_counts_as_the_host_is_declared() {
        for (printed, sudo, expected) in [
            ("root is root", Sudo::None, true),
            ("root is sudo", Sudo::None, false),
            ("root is sudo", Sudo::Passwordless, true),
            ("", Sudo::Passwordless, false),
        ] {
            assert_eq!(parse(printed, sudo).root.is_ok(), expected, "{printed} {sudo:?}");
        }
    }
}

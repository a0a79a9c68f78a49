//! In what the machines and environments of compared cells differ, as far as it can explain a difference of
//! results: kernel, CPU, governor, file system, versions; not names, addresses or paths. Read [`differences`].

use std::collections::{BTreeMap, BTreeSet};

use indexmap::{IndexMap, IndexSet};

use crate::metrics::TOOLS;
use crate::record::{HostFacts, Phase, PlannedCell, Run, Status};

/// The facts of a machine that can explain a difference.
pub(super) const OF_MACHINES: [&str; 26] = [
    "tasks on",
    "platform version",
    "region",
    "instance type",
    "machine image",
    "zone",
    "placement group",
    "kernel",
    "architecture",
    "cpu",
    "microcode",
    "cpus",
    "SMT",
    "turbo",
    "governor",
    "frequency limit",
    "clock source",
    "mitigations",
    "huge pages",
    "memory",
    "virtualisation",
    "engine",
    "Vagrant",
    "provider",
    "box",
    "synced folders",
];

/// Facts that part the compared hosts, environments, or pairs of both in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Each group with its names and, for each fact, fact and value. The largest comes last.
    pub groups: Vec<Group>,
}

/// Some of what is compared, and what it has in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Hosts, environments, or `(host, environment)` as `HOST in ENVIRONMENT`.
    pub members: Vec<String>,
    /// Fact and value.
    pub facts: Vec<(String, String)>,
}

/// The versions of tools as their outputs tell them: by host, environment and tool.
pub type Versions<'a> = BTreeMap<(&'a str, &'a str, &'a str), &'a str>;

/// The versions that the counted trials of `run` have told.
pub fn versions(run: &Run) -> Versions<'_> {
    let ok =
        run.last_attempts().filter(|record| record.status == Status::Ok && record.phase != Phase::Excluded);
    ok.flat_map(|record| {
        let place = (record.host.as_str(), record.environment.as_str());
        let tools = record.tools.iter();
        tools.map(move |(tool, version)| ((place.0, place.1, tool.as_str()), version.as_str()))
    })
    .collect()
}

/// In what the surroundings of `cells` differ, whose values are those of `metric`. A fact that is not known of
/// some is compared among the others alone; the version of a tool is what its outputs tell, where all do.
pub fn differences(
    cells: &[&PlannedCell],
    metric: &str,
    hosts: &[HostFacts],
    versions: &Versions<'_>,
) -> Vec<Difference> {
    let places: IndexSet<Place<'_>> =
        cells.iter().map(|cell| Place { host: &cell.host, environment: &cell.environment }).collect();
    let mut found: IndexMap<Vec<Vec<String>>, Difference> = IndexMap::new();
    let tools = TOOLS.iter().filter(|tool| {
        let own = metric.rsplit_once('.').map_or(metric, |(_, own)| own);
        tool.metrics().iter().any(|known| known.name == own)
    });
    let facts = OF_MACHINES.into_iter().chain(tools.map(|tool| tool.tool()));
    let known = |fact: &str| -> IndexMap<Place<'_>, String> {
        let told = places.iter().filter_map(|place| {
            Some((*place, (*versions.get(&(place.host, place.environment, fact))?).to_owned()))
        });
        let told: IndexMap<_, _> = told.collect();
        if told.len() == places.len() {
            return told;
        }
        let known = places.iter().filter_map(|place| Some((*place, place.fact(hosts, fact)?)));
        known.map(|(place, value)| (place, compared(fact, value))).collect()
    };
    let values = facts.map(|fact| (fact, known(fact)));
    for (fact, values) in values.chain(file_systems(&places, hosts)) {
        let Some(parts) = part(&values) else { continue };
        let members: Vec<Vec<String>> = parts.iter().map(|(_, members)| members.clone()).collect();
        let new = || members.iter().map(|members| Group { members: members.clone(), facts: Vec::new() });
        let difference =
            found.entry(members.clone()).or_insert_with(|| Difference { groups: new().collect() });
        for (group, (value, _)) in difference.groups.iter_mut().zip(parts) {
            group.facts.push((fact.to_owned(), value));
        }
    }
    found.into_values().collect()
}

/// Where a cell is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Place<'a> {
    host: &'a str,
    environment: &'a str,
}

impl Place<'_> {
    /// What is known of its environment there, or else of its machine.
    fn fact<'a>(&self, hosts: &'a [HostFacts], fact: &str) -> Option<&'a str> {
        let facts = &hosts.iter().find(|facts| facts.host == self.host)?.facts;
        let of_environment = facts.get(&format!("{}: {fact}", self.environment));
        of_environment.or_else(|| facts.get(fact)).map(String::as_str)
    }
}

/// A value as it is compared. Boards of one kind differ by some megabytes in what their firmware keeps.
pub(super) fn compared(fact: &str, value: &str) -> String {
    let kilobytes = value.strip_suffix(" kB").and_then(|number| number.trim().parse::<f64>().ok());
    match kilobytes.filter(|_| fact == "memory").map(|kilobytes| kilobytes / f64::from(1 << 20)) {
        Some(gibibytes) if gibibytes >= 2.0 => format!("{gibibytes:.0} GiB"),
        Some(gibibytes) => format!("{gibibytes:.1} GiB"),
        None => value.to_owned(),
    }
}

/// The type of each file system, and where all have one type, the mount options that not all of them have.
fn file_systems<'a>(
    places: &IndexSet<Place<'a>>,
    hosts: &[HostFacts],
) -> Option<(&'static str, IndexMap<Place<'a>, String>)> {
    let read = |place: &Place<'a>| {
        let (kind, options) = place.fact(hosts, "file system")?.split_once(" (")?;
        let options = options.trim_end_matches([')', '…']).split(',').filter(|option| is_of_kind(option));
        Some((*place, kind.to_owned(), options.map(str::to_owned).collect::<BTreeSet<_>>()))
    };
    let all: Vec<_> = places.iter().filter_map(read).collect();
    let kinds: BTreeSet<&String> = all.iter().map(|(_, kind, _)| kind).collect();
    if kinds.len() > 1 {
        return Some(("file system", all.into_iter().map(|(place, kind, _)| (place, kind)).collect()));
    }
    let common = all.iter().map(|(.., options)| options.clone()).reduce(|one, other| &one & &other)?;
    let own = |options: &BTreeSet<String>| {
        let own: Vec<&str> = options.difference(&common).map(String::as_str).collect();
        if own.is_empty() { "none more".to_owned() } else { own.join(",") }
    };
    Some(("mount options", all.iter().map(|(place, _, options)| (*place, own(options))).collect()))
}

/// Whether a mount option says how a file system behaves, rather than where its parts lie.
pub(super) fn is_of_kind(option: &str) -> bool {
    let name = option.split('=').next().unwrap_or_default();
    !["lowerdir", "upperdir", "workdir", "subvol", "subvolid", "fsuuid", "uid", "gid", "size", "nr_inodes"]
        .contains(&name)
}

/// The values with those that have them: hosts where the environment makes no difference, environments where
/// the host makes none, or else both. None where all have the same.
fn part(values: &IndexMap<Place<'_>, String>) -> Option<Vec<(String, Vec<String>)>> {
    let is_function_of = |name: fn(&Place<'_>) -> String| {
        let mut seen: IndexMap<String, &String> = IndexMap::new();
        values.iter().all(|(place, value)| *seen.entry(name(place)).or_insert(value) == value)
    };
    let host = |place: &Place<'_>| place.host.to_owned();
    let environment = |place: &Place<'_>| place.environment.to_owned();
    let both = |place: &Place<'_>| format!("{} in {}", place.host, place.environment);
    let name: fn(&Place<'_>) -> String = match () {
        () if is_function_of(host) => host,
        () if is_function_of(environment) => environment,
        () => both,
    };
    let mut parts: IndexMap<&String, IndexSet<String>> = IndexMap::new();
    for (place, value) in values {
        parts.entry(value).or_default().insert(name(place));
    }
    if parts.len() < 2 {
        return None;
    }
    let mut parts: Vec<(String, Vec<String>)> =
        parts.into_iter().map(|(value, members)| (value.clone(), members.into_iter().collect())).collect();
    parts.sort_by_key(|(_, members)| members.len());
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells() -> Vec<PlannedCell> {
        let cell = |host: &str, environment: &str| PlannedCell {
            cell: format!("w/{host}/{environment}"),
            workload: "w".into(),
            host: host.into(),
            environment: environment.into(),
            parameters: Default::default(),
            adaptive: None,
            reached: None,
            excluded: 0,
            warmup: 0,
            settings: String::new(),
            repetitions: 1,
        };
        let hosts = ["a", "b", "c"];
        hosts.iter().flat_map(|host| [cell(host, "native"), cell(host, "docker")]).collect()
    }

    /// Facts of the three hosts: `HOST FACT = VALUE` for what is not as usual.
    fn hosts(unusual: &[&str]) -> Vec<HostFacts> {
        let usual = [
            ("kernel", "6.1"),
            ("memory", "4028764 kB"),
            ("file system", "ext4 (rw,relatime)"),
            ("dd", "dd 9"),
        ];
        let of = |host: &str| {
            let mut facts: IndexMap<String, String> =
                usual.iter().map(|(fact, value)| ((*fact).to_owned(), (*value).to_owned())).collect();
            for line in unusual.iter().filter_map(|line| line.strip_prefix(host)?.strip_prefix(' ')) {
                let (fact, value) = line.split_once(" = ").unwrap();
                facts.insert(fact.to_owned(), value.to_owned());
            }
            HostFacts { host: host.to_owned(), facts }
        };
        ["a", "b", "c"].map(of).into()
    }

    /// `MEMBERS: FACT VALUE, …` of every group.
    fn told(unusual: &[&str], metric: &str) -> Vec<String> {
        let cells = cells();
        let cells: Vec<&PlannedCell> = cells.iter().collect();
        let facts = |group: &Group| {
            let facts = group.facts.iter().map(|(fact, value)| format!("{fact} {value}"));
            format!("{}: {}", group.members.join("+"), facts.collect::<Vec<_>>().join(", "))
        };
        let found = differences(&cells, metric, &hosts(unusual), &Versions::new());
        found.iter().flat_map(|difference| difference.groups.iter().map(facts)).collect()
    }

    #[test]
    fn what_parts_hosts_environments_or_both() {
        let none: &[&str] = &[];
        let cases: &[(&[&str], &[&str])] = &[
            (none, &[]),
            (&["b kernel = 5.10"], &["b: kernel 5.10", "a+c: kernel 6.1"]),
            (
                &["b kernel = 5.10", "b memory = 8028764 kB"],
                &["b: kernel 5.10, memory 8 GiB", "a+c: kernel 6.1, memory 4 GiB"],
            ),
            (
                &[
                    "a docker: file system = overlay (rw)",
                    "b docker: file system = overlay (rw)",
                    "c docker: file system = overlay (rw)",
                ],
                &["native: file system ext4", "docker: file system overlay"],
            ),
            (
                &["a docker: dd = dd 8"],
                &[
                    "a in docker: dd dd 8",
                    "a in native+b in native+b in docker+c in native+c in docker: dd dd 9",
                ],
            ),
            (
                &["a file system = ext4 (rw,noatime)"],
                &["a: mount options noatime", "b+c: mount options relatime"],
            ),
        ];
        for (unusual, expected) in cases {
            assert_eq!(told(unusual, "throughput"), *expected, "{unusual:?}");
        }
    }

    #[test]
    fn what_explains_nothing_is_not_told() {
        for unusual in [
            "b memory = 4013764 kB",
            "b work directory = /mnt",
            "b iperf3 = iperf 3.9",
            "b os = Debian 11",
            "b file system = ext4 (rw,relatime,lowerdir=/x)",
            "b governor = powersave",
        ] {
            assert_eq!(told(&[unusual], "throughput"), [""; 0], "{unusual}");
        }
        assert_eq!(told(&["b iperf3 = 3.9", "a iperf3 = 3.12"], "server.throughput_received").len(), 2);
    }
}

//! A plan on standard output: a table to read, JSON lines or CSV to go on with. Cells are taken one after
//! the other; none is kept.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use super::table::Table;
use super::time::about;
use super::{BOLD, PLAIN, show_data, show_text};
use crate::analysis::Forecast;
use crate::error::Error;
use crate::plan::{Cell, Plan, hourly};
use crate::spec::Spec;
use crate::spec::cost::{Cost, Price, Rates};

/// What is to be known of a plan beside its cells.
pub struct Facts<'a> {
    /// The seed of the order; `None` when each run draws its own.
    pub seed: Option<u64>,
    /// Every host on which something runs.
    pub hosts: &'a BTreeSet<String>,
    /// The name of an earlier run, and how long the plan will take by it.
    pub forecast: Option<(String, Forecast)>,
    /// Where earlier runs were looked for.
    pub folder: &'a Path,
}

/// Prints a row a cell, and below them the whole in numbers.
pub fn show_table(spec: &Spec, plan: &Plan, facts: &Facts<'_>) -> Result<(), Error> {
    let parameters = parameters(spec, plan);
    let has_services = plan.has_services();
    let mut header = vec!["workload", "host", "environment"];
    header.extend(&parameters);
    header.push("trials");
    header.extend(has_services.then_some("services"));
    let mut table = Table::default();
    table.measure(&header);
    for cell in plan.cells() {
        table.measure(&row(&cell, &parameters));
    }
    show_text(|out| {
        writeln!(out, "{BOLD}{}{PLAIN}", table.line(&header))?;
        for cell in plan.cells() {
            writeln!(out, "{}", table.line(&row(&cell, &parameters)))?;
        }
        show_facts(out, spec, plan, facts)
    })
}

fn row(cell: &Cell, parameters: &[&str]) -> Vec<String> {
    let mut row = vec![cell.workload.clone(), cell.host.clone(), cell.environment.clone()];
    row.extend(parameters.iter().map(|name| cell.parameters.get(*name).cloned().unwrap_or_default()));
    row.push(super::trials(cell));
    let service = |service: &crate::plan::PlannedService| {
        format!("{}: {}/{}", service.name, service.host, service.environment)
    };
    row.push(cell.services.iter().map(service).collect::<Vec<_>>().join(", "));
    row
}

fn show_facts(out: &mut dyn Write, spec: &Spec, plan: &Plan, facts: &Facts<'_>) -> io::Result<()> {
    let seed = match facts.seed {
        Some(seed) => format!("seed {seed}"),
        None => "a new seed for each run".to_owned(),
    };
    let whole = format!("{}, order {}", super::counted(plan), spec.order().as_str());
    writeln!(out, "\n{whole}, {seed}\n")?;
    let hosts: Vec<_> = facts.hosts.iter().map(|name| host_row(spec, name)).collect();
    for line in Table::lines(&hosts) {
        writeln!(out, "{line}")?;
    }
    if let Some(costs) = costs(spec, plan, facts.hosts) {
        writeln!(out, "\n{costs}")?;
    }
    let time = match &facts.forecast {
        None => format!("no earlier run of these cells in {}", facts.folder.display()),
        Some((run, Forecast { seconds, known, cells })) => {
            let time = about(seconds.max(1.0));
            format!("about {time}, from the run {run}: {known} of {cells} cells known")
        }
    };
    writeln!(out, "\n{time}")
}

/// A host, how it is reached or what is made for the run, and what an hour of it costs.
fn host_row(spec: &Spec, name: &str) -> Vec<String> {
    let host = spec.hosts.get(name);
    let made = host.map(|host| host.made()).filter(|made| !made.is_empty()).map(|made| format!(", {made}"));
    vec![
        name.to_owned(),
        format!("{}{}", way(spec, name), made.unwrap_or_default()),
        host.and_then(|host| host.price()).unwrap_or_default(),
    ]
}

/// What an hour of all hosts costs that have a cost, and which of those that a run makes have none.
fn costs(spec: &Spec, plan: &Plan, names: &BTreeSet<String>) -> Option<String> {
    let sums = hourly(spec, plan, names);
    if sums.is_empty() {
        return None;
    }
    let hosts = || names.iter().filter_map(|name| Some((name, spec.hosts.get(name.as_str())?)));
    let up_to = if hosts().any(|(_, host)| host.cost.is_some() && host.is_cluster()) { "up to " } else { "" };
    let sums: Vec<String> = sums.iter().map(Price::to_string).collect();
    let free = hosts().filter(|(_, host)| host.cost.is_none() && !host.made().is_empty());
    let free: Vec<&str> = free.map(|(name, _)| name.as_str()).collect();
    let free = match free.as_slice() {
        [] => String::new(),
        names => format!(", without {}, of which no `cost` is given", names.join(", ")),
    };
    Some(format!("all hosts together: {up_to}{} an hour{free}", sums.join(" and ")))
}

/// How a host is reached.
pub(super) fn way(spec: &Spec, name: &str) -> String {
    spec.hosts.get(name).map(|host| host.way()).unwrap_or_default()
}

/// The parameters of the plan's workloads, in the order of the file.
fn parameters<'a>(spec: &'a Spec, plan: &Plan) -> Vec<&'a str> {
    let used = plan.workloads();
    let workloads = spec.workloads.iter().filter(|(name, _)| used.contains(name.as_str()));
    let names = workloads.flat_map(|(_, workload)| workload.parameters.keys());
    names.fold(Vec::new(), |mut once, name| {
        if !once.contains(&name.as_str()) {
            once.push(name.as_str());
        }
        once
    })
}

/// Prints a JSON object a line and cell, and before them one a host that is made for the run.
pub fn show_json(spec: &Spec, plan: &Plan) -> Result<(), Error> {
    show_data(|out| {
        for name in plan.hosts() {
            let Some(host) = spec.hosts.get(name.as_str()).filter(|host| !host.made().is_empty()) else {
                continue;
            };
            let mut line = serde_json::json!({ "made": name, "what": host.way(), "how": host.made() });
            let currency = match host.cost.as_ref().map(|cost| &cost.value) {
                Some(Cost::Whole(price)) => {
                    line["cost_per_hour"] = price.amount.into();
                    price.currency.as_str()
                }
                Some(Cost::BySize(Rates { cpu, memory })) => {
                    line["cost_per_cpu_hour"] = cpu.amount.into();
                    line["cost_per_gib_hour"] = memory.amount.into();
                    cpu.currency.as_str()
                }
                None => "",
            };
            if !currency.is_empty() {
                line["currency"] = currency.into();
            }
            writeln!(out, "{line}")?;
        }
        plan.write_lines(out)
    })
}

/// Prints a row a cell as comma-separated values, with a column for each parameter.
pub fn show_csv(spec: &Spec, plan: &Plan) -> Result<(), Error> {
    let parameters = parameters(spec, plan);
    let columns = ["cell", "id", "workload", "host", "environment"].iter().chain(&parameters);
    let columns = columns.chain(&["repetitions", "warmup", "min_repetitions"]);
    show_data(|out| {
        let mut csv = csv::Writer::from_writer(out);
        csv.write_record(columns).map_err(of_output)?;
        for cell in plan.cells() {
            let fixed = [cell.name.as_str(), &cell.id, &cell.workload, &cell.host, &cell.environment];
            let values =
                parameters.iter().map(|name| cell.parameters.get(*name).map_or("", |text| text.as_str()));
            let least = cell.adaptive.map_or(cell.repetitions, |rule| rule.min);
            let counts = [cell.repetitions, cell.warmup, least].map(|count| count.to_string());
            let counts = counts.iter().map(String::as_str);
            csv.write_record(fixed.into_iter().chain(values).chain(counts)).map_err(of_output)?;
        }
        csv.flush()
    })
}

/// The error of the output itself, which the reader's going is told by.
fn of_output(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

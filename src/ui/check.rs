//! What `check` finds: a line a good file, a table of the hosts, and what they lack.

use std::path::Path;

use super::plan::way;
use super::table::Table;
use super::{BOLD, PLAIN, RED, YELLOW, counted, show_text, tell};
use crate::error::Error;
use crate::hosts::{Clock, Needs, Reached, Workdir};
use crate::plan::Plan;
use crate::spec::Spec;
use crate::transports::TransportError;
use crate::units::Unit;

/// A file without a mistake.
pub fn show_good(file: &Path, plan: &Plan) -> Result<(), Error> {
    show_text(|out| writeln!(out, "{}: ok, {}", file.display(), counted(plan)))
}

/// Hosts by name: what is needed there, and what was found. Returns whether nothing is missing.
pub fn show_hosts(
    spec: &Spec,
    hosts: &[(&str, &Needs, Result<Reached, TransportError>)],
) -> Result<bool, Error> {
    let header = ["host", "reached", "root", "docker", "tools", "free", "clock"].map(str::to_owned).to_vec();
    let rows = hosts.iter().map(|(name, _, found)| row(spec, name, found));
    let lines = Table::lines(&[header].into_iter().chain(rows).collect::<Vec<_>>());
    show_text(|out| {
        for (index, line) in lines.iter().enumerate() {
            let (bold, plain) = if index == 0 { (BOLD, PLAIN) } else { ("", "") };
            writeln!(out, "  {bold}{line}{plain}")?;
        }
        Ok(())
    })?;
    let mut is_good = true;
    for (name, needs, found) in hosts {
        let lacking = match found {
            Ok(found) => found.lacking(needs),
            Err(error) => vec![error.clone()],
        };
        if let Ok(Reached { locked: Some(holder), .. }) = found {
            tell(&format!("{YELLOW}note{PLAIN}: `{name}` is locked by {holder}; a run would wait for it"));
        }
        is_good &= lacking.is_empty();
        lacking.iter().for_each(|lack| show_lack(name, lack));
    }
    Ok(is_good)
}

/// Hosts that a run makes, by name: what can be said of them before. Returns whether nothing speaks against it.
pub fn show_foreseen(hosts: &[(&str, Result<String, TransportError>)]) -> Result<bool, Error> {
    show_text(|out| {
        let good = hosts.iter().filter_map(|(name, foreseen)| Some((name, foreseen.as_ref().ok()?)));
        good.into_iter().try_for_each(|(name, foreseen)| writeln!(out, "  {name}: {foreseen}"))
    })?;
    let lacks = hosts.iter().filter_map(|(name, foreseen)| Some((name, foreseen.as_ref().err()?)));
    lacks.for_each(|(name, lack)| show_lack(name, lack));
    Ok(hosts.iter().all(|(_, foreseen)| foreseen.is_ok()))
}

fn show_lack(name: &str, lack: &TransportError) {
    let start = format!("`{name}`: ");
    let message = lack.message.strip_prefix(&start).unwrap_or(&lack.message);
    tell(&format!("{RED}error{PLAIN}: {start}{message}"));
    if let Some(hint) = &lack.hint {
        tell(&format!("{BOLD}help{PLAIN}: {hint}"));
    }
}

fn clock(clock: Clock) -> String {
    format!("{:+.2} ± {:.2} s", clock.difference_s, clock.error_s)
}

fn row(spec: &Spec, name: &str, found: &Result<Reached, TransportError>) -> Vec<String> {
    let Ok(found) = found else { return vec![name.to_owned(), format!("no: {}", way(spec, name))] };
    let free = |workdir: &Workdir| {
        let bytes = workdir.free_bytes as f64;
        let scale = Unit::Byte.scale(&[bytes]);
        format!("{:.1} {} in {}", scale.apply(bytes), scale.name, workdir.path)
    };
    let free: Vec<String> = found.workdirs.iter().map(free).collect();
    let tools: Vec<&str> = found.tools.iter().map(String::as_str).collect();
    let engine = found.engine.as_ref().map(|engine| engine.clone().unwrap_or_else(|_| "no".to_owned()));
    vec![
        name.to_owned(),
        format!("{} in {:.2} s", way(spec, name), found.seconds),
        found.root.clone().unwrap_or_else(|_| "no".to_owned()),
        engine.unwrap_or_else(|| "not needed".to_owned()),
        tools.join(" "),
        free.join(", "),
        found.clock.map_or_else(|| "unknown".to_owned(), clock),
    ]
}

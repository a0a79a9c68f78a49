//! What is worth knowing of a machine when its figures are compared with those of another.

use indexmap::IndexMap;

use crate::transports::{Transport, TransportError, job};

/// Asks for what is the same everywhere on a machine. `each` joins the different lines of files: boards with
/// cores of two kinds have two governors and two limits.
const OF_MACHINE: &str = r#"each() { cat "$@" 2>/dev/null | sort -u | tr '\n' ' '; }
c=/sys/devices/system/cpu
fact os "$(. /etc/os-release 2>/dev/null; echo "$PRETTY_NAME")"
fact kernel "$(uname -sr)"
fact architecture "$(uname -m)"
fact cpu "$(sed -n 's/^\(model name\|Model\)[[:space:]]*: *//p' /proc/cpuinfo | head -n 1)"
fact microcode "$(sed -n 's/^microcode[[:space:]]*: *//p' /proc/cpuinfo | head -n 1)"
fact cpus "$(nproc 2>/dev/null)"
case $(cat $c/smt/active 2>/dev/null) in 0) fact SMT off;; 1) fact SMT on;; esac
case $(cat $c/intel_pstate/no_turbo 2>/dev/null)/$(cat $c/cpufreq/boost 2>/dev/null) in 1/*|/0) fact turbo off;; 0/*|/1) fact turbo on;; esac
fact governor "$(each $c/cpufreq/policy*/scaling_governor)"
fact 'frequency limit' "$(for khz in $(each $c/cpufreq/policy*/scaling_max_freq); do echo "$((khz / 1000)) MHz"; done | tr '\n' ' ')"
fact 'clock source' "$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource 2>/dev/null)"
fact mitigations "$(sed -n 's/.*\(^\| \)mitigations=\([^ ]*\).*/\2/p' /proc/cmdline 2>/dev/null)"
fact 'huge pages' "$(sed -n 's/.*\[\(.*\)\].*/\1/p' /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null)"
fact memory "$(sed -n 's/^MemTotal: *//p' /proc/meminfo)"
fact virtualisation "$(systemd-detect-virt 2>/dev/null || sed -n 's/^flags.* hypervisor.*/virtual machine/p' /proc/cpuinfo | head -n 1)"
ls /sys/devices/platform/*/*firmware/get_throttled >/dev/null 2>&1 || fact throttled "$(vcgencmd get_throttled 2>/dev/null | sed -n 's/^throttled=//p')""#;

/// Defines `version` for `sh`: what a command says of its version, as [`place_facts`] tells it.
const VERSION: &str = r#"version() {
said=$("$@" 2>&1 </dev/null | head -n 50 | grep -iv 'invalid option\|unrecognized option\|unknown option\|unknown flag')
line=$(printf '%s\n' "$said" | grep '[0-9]\.[0-9]' | head -n 1)
[ -n "$line" ] || line=$(printf '%s\n' "$said" | head -n 1)
printf '%s\n' "$line"
}"#;

/// Facts in the order they are shown: `os`, `kernel`, …, then the `versions` of tools. What a machine
/// does not tell is left out. `directory` is where the cells' directories will be made.
///
/// # Errors
/// When the machine can't be asked.
pub async fn facts(
    transport: &dyn Transport,
    directory: &str,
    versions: &[(&str, String)],
) -> Result<IndexMap<String, String>, TransportError> {
    let mut facts = ask(transport, OF_MACHINE).await?;
    facts.extend(place_facts(transport, directory, versions).await?);
    Ok(facts)
}

/// What can differ from place to place on one machine: the file system of `directory`, and the line with a
/// version number of what each tool says of itself by the command beside its name. One that has none (GNU time may
/// not know its own) is known by its first line; a tool that is not there says so, and a refused option says nothing.
///
/// # Errors
/// When the place can't be asked.
pub async fn place_facts(
    transport: &dyn Transport,
    directory: &str,
    versions: &[(&str, String)],
) -> Result<IndexMap<String, String>, TransportError> {
    let directory = job::quote(directory);
    let version = |(tool, command): &(&str, String)| format!("fact {tool} \"$(version {command})\"\n");
    let versions: String = versions.iter().map(version).collect();
    let script = format!(
        r#"{VERSION}
mkdir -p {directory} 2>/dev/null
mount=$(df -P {directory} 2>/dev/null | sed -n '$s/.*% *//p')
fact 'work directory' {directory}
fact 'file system' "$(while read -r _ at type options _; do [ "$at" = "$mount" ] && echo "$type ($options)"; done </proc/mounts | tail -n 1)"
{versions}"#
    );
    ask(transport, &script).await
}

/// Runs a script in which `fact NAME VALUE` tells a fact.
async fn ask(transport: &dyn Transport, script: &str) -> Result<IndexMap<String, String>, TransportError> {
    let script = format!("fact() {{ [ -n \"$2\" ] && printf '%s\\t%s\\n' \"$1\" \"$2\"; }}\n{script}\n:");
    let printed = job::query(transport, &script).await?;
    Ok(parse(&String::from_utf8_lossy(&printed)))
}

fn parse(printed: &str) -> IndexMap<String, String> {
    let fact =
        |line: &str| line.split_once('\t').map(|(name, value)| (name.to_owned(), shortened(value.trim())));
    printed.lines().filter_map(fact).collect()
}

/// Mount options can be very long; what makes a file system different comes first.
fn shortened(value: &str) -> String {
    const LIMIT: usize = 120;
    match value.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transports::local::Local;

    #[tokio::test]
    async fn the_version_is_found_in_what_a_tool_says() {
        for (says, version) in [
            ("fio-3.33", "fio-3.33"),
            ("cyclictest: unrecognized option '--version'\ncyclictest V 2.40\nUsage:", "cyclictest V 2.40"),
            (
                "dd: unrecognized option '--version'\nBusyBox v1.35.0 (Debian) multi-call binary.",
                "BusyBox v1.35.0 (Debian) multi-call binary.",
            ),
            (
                "\n  'Iozone Filesystem Benchmark Program'\n\n  Version $Revision: 3.489 $",
                "Version $Revision: 3.489 $",
            ),
            ("time (GNU Time) UNKNOWN\nCopyright (C) 2018", "time (GNU Time) UNKNOWN"),
            ("ping: invalid option -- 'V'", ""),
            ("", ""),
        ] {
            let script =
                format!("{VERSION}\ntool() {{ printf '%s\\n' {}; }}\nversion tool", job::quote(says));
            let printed = job::query(&Local::default(), &script).await.unwrap();
            assert_eq!(String::from_utf8_lossy(&printed).trim(), version, "{says}");
        }
        let script = format!("{VERSION}\nversion no-such-tool");
        let printed = job::query(&Local::default(), &script).await.unwrap();
        assert!(String::from_utf8_lossy(&printed).contains("not found"));
    }
}

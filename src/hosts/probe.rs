//! Which files of a machine tell what disturbs a measurement, looked for once when it is connected. Their
//! first lines are read around every trial, so there are few of them. Read [`find_probes`] and [`Sensors`] first.

use std::collections::BTreeMap;

use super::Machine;
use crate::transports::{TransportError, job};

/// Temperatures in degrees Celsius at which hardware can be slowed down; what a machine declares beyond them
/// is a placeholder of its firmware.
const PLAUSIBLE_LIMIT_C: std::ops::RangeInclusive<f64> = 40.0..=130.0;
/// The most sensors that are read around a trial.
const MOST_THERMOMETERS: usize = 16;

/// What is known of some of a machine's probes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sensors {
    /// The probes that are thermometers, with the temperature in degrees Celsius at which the CPU is slowed
    /// down, where the machine declares one.
    pub thermometers: BTreeMap<String, Option<f64>>,
    /// Whether its `date` tells fractions of a second.
    pub has_fine_clock: bool,
}

/// The files that exist, can be read and hold something. Prints `probe PATH`, `sensor cpu|other PATH LIMIT…`
/// and `clock TIME`. A machine has many throttle counters and policies, mostly the same: a few are enough.
const SCRIPT: &str = r#"first() { v=; { read -r v <"$1"; } 2>/dev/null; [ -n "$v" ]; }
few() { most=$1; shift; for f in "$@"; do [ "$most" -gt 0 ] || break; first "$f" && echo "probe $f" && most=$((most-1)); done; }
few 6 /proc/stat /proc/loadavg /proc/self/stat /proc/pressure/cpu /proc/pressure/io /proc/pressure/memory
c=/sys/devices/system/cpu
few 4 $c/cpufreq/policy*/scaling_governor
few 4 $c/cpufreq/policy*/scaling_max_freq
few 1 $c/intel_pstate/no_turbo $c/cpufreq/boost
few 8 $c/cpu[0-9]*/thermal_throttle/core_throttle_count
few 2 $c/cpu[0-9]*/thermal_throttle/package_throttle_count
few 1 /sys/devices/platform/soc/soc:firmware/get_throttled /sys/devices/platform/*/*firmware/get_throttled
kind() { case $1 in *cpu*|*CPU*|*soc*|*core*|x86_pkg_temp|k10temp|zenpower) echo cpu;; *) echo other;; esac; }
n=4
for d in /sys/class/thermal/cooling_device*; do
first "$d/type" || continue
case $v in *cpu*|Processor) [ $n -gt 0 ] && first "$d/cur_state" && echo "probe $d/cur_state" && n=$((n-1));; esac
done
for z in /sys/class/thermal/thermal_zone*; do
first "$z/type" || continue; k=$(kind "$v"); first "$z/temp" || continue
l=
for t in "$z"/trip_point_*_type; do
first "$t" || continue
case $v in passive|hot|critical) first "${t%type}temp" && l="$l $v";; esac
done
echo "sensor $k $z/temp$l"
done
for h in /sys/class/hwmon/hwmon*; do
first "$h/name" && [ "$(kind "$v")" = cpu ] && first "$h/temp1_input" || continue
l=
for t in max crit; do first "$h/temp1_$t" && l="$l $v"; done
echo "sensor cpu $h/temp1_input$l"
done
echo "clock $(date +%s.%N)"
:"#;

/// Those of them that every place has where a command can read files, and that no hardware is needed for.
pub(super) const OF_ANY: [&str; 6] = [
    "/proc/stat",
    "/proc/loadavg",
    "/proc/self/stat",
    "/proc/pressure/cpu",
    "/proc/pressure/io",
    "/proc/pressure/memory",
];

/// Asks a machine what it can tell, for its `probes` and `sensors`.
///
/// # Errors
/// When it can't be asked.
pub async fn find_probes(machine: &mut Machine) -> Result<(), TransportError> {
    let printed = job::query(&*machine.transport, SCRIPT).await?;
    (machine.probes, machine.sensors) = parse(&String::from_utf8_lossy(&printed));
    Ok(())
}

fn parse(printed: &str) -> (Vec<String>, Sensors) {
    let after = |start: &'static str| printed.lines().filter_map(move |line| line.strip_prefix(start));
    let sensors = |kind: &'static str| {
        let sensor = |line: &str| {
            let mut words = line.split_whitespace();
            let path = words.next()?.to_owned();
            let limits = words.filter_map(degrees).filter(|limit| PLAUSIBLE_LIMIT_C.contains(limit));
            Some((path, limits.min_by(f64::total_cmp)))
        };
        after(kind).filter_map(sensor).take(MOST_THERMOMETERS).collect::<BTreeMap<_, _>>()
    };
    // A battery or a radio that is hot slows no CPU down; they count only where nothing else is known.
    let of_cpu = sensors("sensor cpu ");
    let thermometers = if of_cpu.is_empty() { sensors("sensor other ") } else { of_cpu };
    let is_fine = |clock: &str| {
        let fraction = clock.rsplit_once('.').map_or("", |(_, fraction)| fraction);
        fraction.len() >= 3 && fraction.bytes().all(|byte| byte.is_ascii_digit())
    };
    let files = after("probe ").map(str::to_owned).chain(thermometers.keys().cloned()).collect();
    (files, Sensors { thermometers, has_fine_clock: after("clock ").any(is_fine) })
}

/// What a sensor tells, in degrees Celsius. Linux gives thousandths; some vendors' kernels give whole degrees.
pub fn degrees(text: &str) -> Option<f64> {
    let value: f64 = text.trim().parse().ok().filter(|value: &f64| value.is_finite())?;
    Some(if value.abs() < 200.0 { value } else { value / 1000.0 })
}

/// The hottest of the machine's thermometers now, in degrees Celsius; none where it has none that answers.
///
/// # Errors
/// When the machine can't be asked.
pub async fn temperature(machine: &Machine) -> Result<Option<f64>, TransportError> {
    let files: Vec<String> = machine.sensors.thermometers.keys().map(|path| job::quote(path)).collect();
    if files.is_empty() {
        return Ok(None);
    }
    let printed = job::query(&*machine.transport, &format!("cat {} 2>/dev/null; :", files.join(" "))).await?;
    Ok(String::from_utf8_lossy(&printed).lines().filter_map(degrees).max_by(f64::total_cmp))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::Way;
    use crate::spec::host::Sudo;
    use crate::transports::local::Local;

    #[test]
    fn sensors_of_the_cpu_go_before_others_and_placeholders_are_no_limits() {
        let (files, board) = parse(
            "probe /proc/stat\nsensor other /z0/temp 20800\nsensor cpu /z1/temp -274000 0 85000 105000\n\
             sensor cpu /z2/temp\nclock 1700000000.123456789\n",
        );
        assert_eq!(files, ["/proc/stat", "/z1/temp", "/z2/temp"]);
        let limits: Vec<_> = board.thermometers.into_values().collect();
        assert_eq!((limits, board.has_fine_clock), (vec![Some(85.0), None], true));
        let (files, laptop) = parse("sensor other /z0/temp 100000\nclock 1700000000.%N\n");
        assert_eq!((files.len(), laptop.thermometers.len(), laptop.has_fine_clock), (1, 1, false));
        assert_eq!(parse("clock 12."), (Vec::new(), Sensors::default()));
    }

    #[test]
    fn thousandths_and_whole_degrees() {
        for (text, expected) in
            [("54321\n", Some(54.321)), ("47", Some(47.0)), ("-5000", Some(-5.0)), ("", None), ("nan", None)]
        {
            assert_eq!(degrees(text), expected, "{text}");
        }
    }

    #[tokio::test]
    async fn this_machine_tells_what_it_has() {
        let mut machine = Machine::new("here", Way::Local, Local::shared(), "127.0.0.1".into(), Sudo::None);
        find_probes(&mut machine).await.unwrap();
        for file in ["/proc/stat", "/proc/loadavg", "/proc/self/stat"] {
            assert!(machine.probes.iter().any(|found| found == file), "{:?}", machine.probes);
        }
        assert!(machine.sensors.has_fine_clock);
        assert!(machine.probes.iter().all(|file| !file.contains('*')), "{:?}", machine.probes);
    }
}

//! Probes of machines of several kinds, and what must be made of them.

use super::*;

/// `PATH LINE` for each line of a text.
fn lines(text: &str) -> Vec<(String, String)> {
    let pair = |line: &str| line.split_once(' ').map(|(path, line)| (path.to_owned(), line.to_owned()));
    text.lines().map(str::trim).filter_map(pair).collect()
}

fn probes(before: &str, after: &str) -> Probes {
    Probes { before: lines(before), after: lines(after) }
}

/// A command of `elapsed_s` on a machine with nothing else of the trial on it.
fn alone(elapsed_s: f64) -> Circumstances<'static> {
    Circumstances { elapsed_s, is_alone: true, ..Circumstances::default() }
}

/// Two CPUs; ten seconds pass, in which a program of the trial keeps one of them busy.
const VM_BEFORE: &str = "/proc/stat cpu  70000 0 6000 60000 400 0 60 40 0 0
    /proc/loadavg 0.12 0.10 0.05 1/120 900
    /proc/self/stat 77 (sh) S 1 77 77 0 -1 0 0 0 0 0 3 2 100 50 20 0 1 0 9 0 0
    /proc/pressure/cpu some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000
    /proc/pressure/io some avg10=0.00 avg60=0.00 avg300=0.00 total=5000
    /proc/pressure/memory some avg10=0.00 avg60=0.00 avg300=0.00 total=0";
const VM_AFTER: &str = "/proc/stat cpu  70905 0 6095 60990 410 0 60 40 0 0
    /proc/loadavg 0.42 0.17 0.08 1/121 950
    /proc/self/stat 77 (sh) S 1 77 77 0 -1 0 0 0 0 0 4 2 1000 140 20 0 1 0 9 0 0
    /proc/pressure/cpu some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000
    /proc/pressure/io some avg10=0.00 avg60=0.00 avg300=0.00 total=5000
    /proc/pressure/memory some avg10=0.00 avg60=0.00 avg300=0.00 total=0";

#[test]
fn a_quiet_virtual_machine() {
    let noise = judge(&probes(VM_BEFORE, VM_AFTER), &alone(10.0)).unwrap();
    let expected = Noise {
        load_before: Some(0.12),
        load_after: Some(0.42),
        steal_percent: Some(0.0),
        idle_percent: Some(50.0),
        others_cpu_percent: Some(0.4),
        cpu_pressure_percent: Some(5.0),
        io_pressure_percent: Some(0.0),
        memory_pressure_percent: Some(0.0),
        ..Noise::default()
    };
    assert_eq!(noise, expected, "no temperature, no governor and no throttling are known there");
}

#[test]
fn what_makes_a_trial_on_a_virtual_machine_suspicious() {
    let after = |from: &str, to: &str| {
        assert!(VM_AFTER.contains(from));
        probes(VM_BEFORE, &VM_AFTER.replace(from, to))
    };
    let busy_before = probes(&VM_BEFORE.replace("0.12 0.10", "3.10 2.80"), VM_AFTER);
    let left = |load| Circumstances { load_left: Some(load), ..alone(10.0) };
    let service = Circumstances { is_alone: false, ..alone(10.0) };
    let busy = after("70905 0 6095 60990", "71305 0 6095 60590");
    for (case, probes, around, suspicious) in [
        ("2 % stolen", after("60 40 0 0", "60 60 0 0"), alone(10.0), vec![Suspicion::Steal]),
        ("0.8 % stolen", after("60 40 0 0", "60 48 0 0"), alone(10.0), vec![]),
        (
            "two ticks",
            after("70905 0 6095 60990 410 0 60 40", "70010 0 6000 60000 400 0 60 42"),
            alone(0.1),
            vec![],
        ),
        ("another program", busy.clone(), alone(10.0), vec![Suspicion::OtherPrograms]),
        ("a service of the trial", busy.clone(), service, vec![]),
        ("0.15 s of others", after("70905 0 6095", "70918 0 6095"), alone(0.5), vec![]),
        ("a load from nowhere", busy_before.clone(), alone(10.0), vec![Suspicion::Load]),
        ("the load of the trial before", busy_before.clone(), left(2.9), vec![]),
        ("more than that", busy_before, left(2.0), vec![Suspicion::Load]),
    ] {
        let noise = judge(&probes, &around).unwrap();
        assert_eq!(noise.suspicious, suspicious, "{case}: {noise:?}");
    }
    let other_shell = after("self/stat 77", "self/stat 78");
    assert_eq!(judge(&other_shell, &alone(10.0)).unwrap().others_cpu_percent, None);
}

const PI: &str = "/proc/loadavg 0.00 0.00 0.00 1/90 300
    /sys/devices/system/cpu/cpufreq/policy0/scaling_governor ondemand
    /sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq 1500000
    /sys/devices/platform/soc/soc:firmware/get_throttled 0
    /sys/class/thermal/thermal_zone0/temp 52000";

fn board(limit: Option<f64>) -> Sensors {
    let zone = "/sys/class/thermal/thermal_zone0/temp".to_owned();
    Sensors { thermometers: [(zone, limit)].into(), has_fine_clock: true }
}

#[test]
fn a_raspberry_pi_in_a_hot_room() {
    let sensors = board(Some(85.0));
    let around = Circumstances { sensors: Some(&sensors), ..alone(10.0) };
    let after = PI.replace("get_throttled 0", "get_throttled e0008").replace("52000", "81500");
    let noise = judge(&probes(PI, &after), &around).unwrap();
    assert_eq!((noise.temperature_c_before, noise.temperature_c_after), (Some(52.0), Some(81.5)));
    assert_eq!((noise.governor.as_deref(), noise.governor_after), (Some("ondemand"), None));
    assert_eq!((noise.frequency_limit_khz, noise.frequency_limit_khz_after), (Some(1_500_000), None));
    assert_eq!((noise.throttled, noise.suspicious), (Some(true), vec![Suspicion::Throttled]));
    assert_eq!(noise.others_cpu_percent, None, "it tells no CPU times");
}

#[test]
fn throttling_is_told_from_what_was_long_ago() {
    for (before, after, throttled) in [
        ("0", "0", false),
        ("0", "1", true),
        ("0x4", "0x0", true),
        ("50000", "50000", false),
        ("10000", "50000", true),
        ("0", "80000", true),
        ("0", "no hex", false),
    ] {
        let with = |bits: &str| PI.replace("get_throttled 0", &format!("get_throttled {bits}"));
        let noise = judge(&probes(&with(before), &with(after)), &alone(10.0)).unwrap();
        let known = after != "no hex";
        assert_eq!(noise.throttled, known.then_some(throttled), "{before} {after}");
    }
    let count = "/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count";
    let cooling = "/sys/class/thermal/cooling_device0/cur_state";
    for (path, before, after, throttled) in [
        (count, 7, 7, false),
        (count, 7, 9, true),
        (cooling, 0, 0, false),
        (cooling, 0, 2, true),
        (cooling, 1, 0, true),
    ] {
        let probes = probes(&format!("{path} {before}"), &format!("{path} {after}"));
        assert_eq!(
            judge(&probes, &alone(1.0)).unwrap().throttled,
            Some(throttled),
            "{path} {before} {after}"
        );
    }
}

#[test]
fn what_is_changed_while_a_trial_runs() {
    let sensors = board(Some(80.0));
    let around = Circumstances { sensors: Some(&sensors), ..alone(10.0) };
    for (from, to, suspicion) in [
        ("ondemand", "powersave", Suspicion::Governor),
        ("1500000", "600000", Suspicion::FrequencyLimit),
        ("52000", "80000", Suspicion::Hot),
    ] {
        let noise = judge(&probes(PI, &PI.replace(from, to)), &around).unwrap();
        assert_eq!(noise.suspicious, [suspicion], "{to}");
    }
    let turbo = "/sys/devices/system/cpu/intel_pstate/no_turbo";
    let turned_off = probes(&format!("{turbo} 0"), &format!("{turbo} 1"));
    assert_eq!(judge(&turned_off, &around).unwrap().suspicious, [Suspicion::FrequencyLimit]);
    let set = Circumstances { clock_was_set: true, ..alone(1.0) };
    assert_eq!(judge(&Probes::default(), &set).unwrap().suspicious, [Suspicion::ClockSet]);
}

#[test]
fn a_container_tells_what_it_may_and_a_fake_nothing() {
    // The engine hides the throttle counters and the sensors; /proc is that of the host.
    let hidden =
        |text: &str| lines(text).into_iter().filter(|(path, _)| path.starts_with("/proc/")).collect();
    let with_counter =
        format!("{VM_BEFORE}\n/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count 3");
    let probes = Probes { before: hidden(&with_counter), after: hidden(VM_AFTER) };
    let noise = judge(&probes, &alone(10.0)).unwrap();
    assert_eq!((noise.load_before, noise.throttled), (Some(0.12), None));
    assert_eq!(judge(&Probes::default(), &alone(10.0)), None);
    let torn = Probes { before: lines("/proc/stat cpu  1 2\n/proc/loadavg"), after: lines("/proc/stat") };
    assert_eq!(judge(&torn, &alone(10.0)), None, "what can't be read is missing, not 0");
}

#[test]
fn the_load_that_is_left_is_kept_for_each_machine() {
    let loads = Loads::default();
    let around =
        |before, after| Noise { load_before: Some(before), load_after: Some(after), ..Noise::default() };
    loads.keep("a", &around(3.0, 3.5));
    loads.keep("a", &Noise::default());
    assert_eq!((loads.left_on("a"), loads.left_on("b")), (Some(0.5), None), "3.0 is of others");
    loads.keep("a", &around(3.5, 4.0));
    assert_eq!(loads.left_on("a"), Some(1.0));
    loads.keep("a", &around(1.0, 1.0));
    assert_eq!(loads.left_on("a"), Some(0.25), "it has faded like the load");
}

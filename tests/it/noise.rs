//! The steps that wait for a machine, as the whole pipeline has them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use runner::event::{Event, Outcome, Stage, Status, Wait};

use crate::world::{Happened, World, ok, prints};

const IDLE: &str = "workloads: { w: { prepare: { wait_idle: { load_below: 0.5, within: 10s } }, run: measure } }\nrepetitions: 1";
const COOL: &str =
    "workloads: { w: { prepare: { cool_down: { below: 60C, within: 10s } }, run: measure } }\nrepetitions: 1";
const ZONE: &str = "/sys/class/thermal/thermal_zone0/temp";

/// A machine of one CPU that is busy until its seventh second.
fn busy_for_a_while() -> World {
    let (looks, busy) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    World::new(|_, _| ok()).looks(move |_, script| {
        script.contains("/proc/stat").then(|| {
            let second = looks.fetch_add(1, Ordering::Relaxed);
            let ticks = if second <= 7 { 100 * second } else { 700 };
            busy.store(ticks, Ordering::Relaxed);
            let idle = 100 * second - ticks;
            prints(&format!(
                "cpu  {ticks} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 0 0 1\nprocs_running 2\nprocs_blocked 0\n"
            ))
        })
    })
}

/// A machine that has 90 degrees at first and gets 5 degrees cooler with every look, down to `floor`.
fn cooling_down_to(floor: u64) -> World {
    let looks = Arc::new(AtomicU64::new(0));
    World::new(|_, _| ok()).thermometer(ZONE).looks(move |_, script| {
        let degrees = || 90 - 5 * looks.fetch_add(1, Ordering::Relaxed).min(18);
        script.contains(ZONE).then(|| prints(&format!("{}\n", degrees().max(floor) * 1000)))
    })
}

#[track_caller]
fn assert_failed(outcome: &Outcome, reason: &str) {
    assert_eq!((outcome.status, outcome.stage), (Status::Failed, Some(Stage::Prepare)));
    assert_eq!(outcome.reason.as_deref(), Some(reason));
}

#[track_caller]
fn only_wait(happened: &Happened) -> Wait {
    let outcome = happened.outcome();
    assert_eq!((outcome.status, outcome.reason.as_deref()), (Status::Ok, None));
    let [wait] = &outcome.waits[..] else { panic!("{:?}", outcome.waits) };
    wait.clone()
}

#[tokio::test(start_paused = true)]
async fn a_busy_machine_is_waited_for_and_the_wait_is_kept() {
    let wait = only_wait(&busy_for_a_while().run(IDLE).await);
    let host = "localhost".to_owned();
    let expected = Wait { step: "wait_idle".into(), host, waited_s: wait.waited_s, first: 1.0, last: 0.0 };
    assert_eq!(wait, expected);
    assert!((8.0..9.0).contains(&wait.waited_s), "{wait:?}");
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_stays_busy_fails_the_trial_with_both_figures() {
    let happened = busy_for_a_while().run(&IDLE.replace("10s", "3s")).await;
    assert_failed(
        happened.outcome(),
        "wait_idle: the load of `localhost` is 1.00 after 3s, and must be below 0.5; it was 1.00 at first",
    );
    assert!(happened.commands().is_empty(), "it is not measured busy");
    let silent = World::new(|_, _| ok()).run(IDLE).await;
    assert_failed(
        silent.outcome(),
        "wait_idle: `localhost` does not tell what its CPUs do: /proc/stat can't be read",
    );
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_with_the_run() {
    let happened = busy_for_a_while().stop_after(4).run(&IDLE.replace("10s", "1h")).await;
    assert_eq!((happened.outcome().status, happened.commands().len()), (Status::Interrupted, 0));
    let happened = cooling_down_to(70).stop_after(4).run(&COOL.replace("10s", "1h")).await;
    assert_eq!((happened.outcome().status, happened.commands().len()), (Status::Interrupted, 0));
    assert!(happened.events.last().unwrap().0 <= 6, "it ends within a look");
}

#[tokio::test(start_paused = true)]
async fn a_hot_machine_is_waited_for_and_one_that_stays_hot_fails_the_trial() {
    let wait = only_wait(&cooling_down_to(20).run(COOL).await);
    assert_eq!((wait.step.as_str(), wait.first, wait.last), ("cool_down", 90.0, 55.0));
    assert!((7.0..8.0).contains(&wait.waited_s), "{wait:?}");
    assert_failed(
        cooling_down_to(70).run(COOL).await.outcome(),
        "cool_down: `localhost` has 70.0C after 10s, and must be below 60C; it had 90.0C at first",
    );
}

#[tokio::test(start_paused = true)]
async fn a_machine_without_a_sensor_fails_the_trial_or_leaves_a_mark() {
    let reason = "cool_down: `localhost` has no thermal sensor that can be read";
    assert_failed(World::new(|_, _| ok()).run(COOL).await.outcome(), reason);
    let happened = World::new(|_, _| ok()).run(&COOL.replace("10s", "10s, optional: true")).await;
    let outcome = happened.outcome();
    assert_eq!((outcome.status, &outcome.waits[..]), (Status::Ok, &[][..]));
    assert_eq!(outcome.warnings, [reason]);
}

#[tokio::test(start_paused = true)]
async fn the_file_system_of_every_work_directory_is_told_once() {
    let yaml = "environments: { disk: { workdir: '/mnt/{{ at }}' } }
workloads: { w: { parameters: { at: a }, run: measure } }
matrix: [{ at: [a, b] }]
order: sequential
repetitions: 2";
    let world = World::new(|_, _| ok()).looks(|_, script| {
        let directory =
            ["/mnt/a", "/mnt/b"].into_iter().find(|at| script.contains(&format!("df -P '{at}'")))?;
        let kind = if directory == "/mnt/a" { "ext4" } else { "xfs" };
        Some(prints(&format!("work directory\t{directory}\nfile system\t{kind} (rw)\n")))
    });
    let happened = world.run(yaml).await;
    let facts = happened.events.iter().filter_map(|(_, event)| match event {
        Event::FactsFound { facts, .. } => Some(facts),
        _ => None,
    });
    let told: Vec<String> = facts.flatten().map(|(name, value)| format!("{name}={value}")).collect();
    let expected = [
        "disk: work directory=/mnt/a",
        "disk: file system=ext4 (rw)",
        "disk: file system of /mnt/b=xfs (rw)",
    ];
    assert_eq!(told, expected);
}

//! What is tried again and what is not: each attempt has an outcome with its number, and only a cause that may
//! pass is worth another.

use std::sync::atomic::{AtomicU32, Ordering};

use runner::event::{Stage, Status, Verdict, Verdicts};
use runner::transports::fake::Reply;

use crate::world::{Happened, World, fails, forever, is_readiness, ok, prints, takes};

const NAP: &str =
    "workloads: { nap: { prepare: before, run: nap, conclude: after, cleanup: remove } }\nrepetitions: 1\n";

const SERVED: &str = "
workloads:
  net:
    services: { server: { run: 'serve {{ port }}', ready: { port: '{{ port }}', within: 5s } } }
    run: send
repetitions: 1
";

/// Each attempt as its number, its status, and whether another follows.
fn attempts(happened: &Happened) -> Vec<(u32, Status, bool)> {
    let outcomes = happened.outcomes();
    outcomes.iter().map(|outcome| (outcome.attempt, outcome.status, outcome.is_repeated)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_tried_again_after_a_short_wait() {
    let world = World::new(|_, command| if command == "nap" { takes(5) } else { ok() });
    let happened = world.lost(|_, second| (3..6).contains(&second)).run(NAP).await;
    assert_eq!(attempts(&happened), [(1, Status::Failed, true), (2, Status::Ok, false)]);
    let first = happened.outcomes()[0];
    assert_eq!(first.stage, Some(Stage::Run));
    assert_eq!(first.reason.as_deref(), Some("`localhost`: the connection was lost"));
    let started: Vec<u64> = happened
        .commands
        .iter()
        .filter(|(_, command)| command.ends_with(" nap"))
        .map(|(second, _)| *second)
        .collect();
    assert_eq!(started, [0, 6], "lost at 5, and a second later");
    let made = happened.looks.iter().filter(|look| look.contains("mkdir -p")).count();
    assert_eq!(made, 1, "the directory is still there");
}

#[tokio::test(start_paused = true)]
async fn what_a_restarted_machine_has_lost_is_made_anew() {
    let yaml = "workloads: { nap: { setup: make, run: nap, cleanup: remove } }\nrepetitions: 2\n";
    let world = World::new(|_, command| if command == "nap" { takes(5) } else { ok() });
    let world = world.lost(|_, second| (3..6).contains(&second));
    let world = world
        .looks(|_, script| script.starts_with("{\n(\ncd '/var/tmp").then(|| fails(2, "no such directory")));
    let happened = world.run(yaml).await;
    assert_eq!(happened.outcomes().iter().filter(|outcome| outcome.status == Status::Ok).count(), 2);
    let names: Vec<_> = happened
        .commands()
        .iter()
        .map(|command| command.trim_start_matches("localhost ").to_owned())
        .collect();
    assert_eq!(names, ["make", "nap", "make", "nap", "nap", "remove"]);
}

#[tokio::test(start_paused = true)]
async fn retries_come_to_an_end() {
    for (retries, count) in [("", 3), ("retries: 0\n", 1), ("retries: 5\n", 6)] {
        let world = World::new(|_, command| match command.split(' ').next() {
            Some("serve") => forever(),
            _ => ok(),
        });
        let world = world.looks(|_, script| is_readiness(script).then(ok));
        let happened = world.run(&format!("{SERVED}{retries}")).await;
        let seen = attempts(&happened);
        assert_eq!(seen.len(), count);
        for (index, (attempt, status, is_repeated)) in seen.into_iter().enumerate() {
            assert_eq!((attempt as usize, status), (index + 1, Status::Failed));
            assert_eq!(is_repeated, index + 1 < count);
        }
        let last = happened.outcomes()[count - 1];
        assert_eq!(last.stage, Some(Stage::Service));
        assert!(last.reason.as_deref().unwrap().contains("it was not ready within 5s"), "{:?}", last.reason);
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_port_is_changed_for_another() {
    let starts = AtomicU32::new(0);
    let world = World::new(move |_, command| match command.split(' ').next() {
        Some("serve") => match starts.fetch_add(1, Ordering::Relaxed) {
            0 => fails(1, "bind: Address already in use\n"),
            _ => forever(),
        },
        _ => ok(),
    });
    let seen = AtomicU32::new(0);
    let world = world.looks(move |_, script| {
        is_readiness(script).then(|| match seen.fetch_add(1, Ordering::Relaxed) {
            0..5 => ok(),
            _ => prints("seen"),
        })
    });
    let happened = world.run(SERVED).await;
    assert_eq!(attempts(&happened), [(1, Status::Failed, true), (2, Status::Ok, false)]);
    let commands = happened.commands();
    let serves: Vec<_> = commands.iter().filter(|command| command.contains("serve")).collect();
    assert!(serves.len() == 2 && serves[0] != serves[1], "{commands:?}");
}

#[tokio::test(start_paused = true)]
async fn a_measurement_is_never_tried_again() {
    let cases: [(&str, Reply); 4] = [
        ("nap", fails(1, "Address already in use\n")),
        ("nap", takes(100)),
        ("before", fails(1, "no such thing")),
        ("nap", Reply { exit_code: 137, ..ok() }),
    ];
    for (failing, reply) in cases {
        let world = World::new(move |_, command| if command == failing { reply.clone() } else { ok() });
        let happened = world.run(&format!("{NAP}timeout: 30s\n")).await;
        assert_eq!(attempts(&happened), [(1, Status::Failed, false)], "{failing}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_the_wait_for_a_retry() {
    let world = World::new(|_, _| takes(5)).lost(|_, second| second >= 3).stop_after(6);
    let happened = world.run(&format!("{NAP}retries: 20\n")).await;
    assert!(happened.outcomes().len() <= 2, "{:?}", attempts(&happened));
    assert!(
        happened
            .outcomes()
            .iter()
            .all(|outcome| outcome.is_repeated || outcome.status == Status::Interrupted)
    );
}

#[tokio::test(start_paused = true)]
async fn each_part_of_a_trial_has_its_verdict() {
    use Verdict::{Failed, NotReached, Ok};
    let verdicts = |setup, services, measurement, metrics, expectations, cleanup| Verdicts {
        setup,
        services,
        measurement,
        metrics,
        expectations,
        cleanup,
    };
    let yaml = "
workloads:
  rate:
    setup: make
    prepare: before
    run: measure
    conclude: after
    cleanup: remove
    metrics: { extract: { rate: { regex: 'rate (\\S+)', unit: 1/s } } }
    expect: { not: slow }
repetitions: 1
";
    let good = || prints("rate 5\n");
    let cases: [(&str, Reply, Status, Verdicts); 7] = [
        ("", ok(), Status::Ok, verdicts(Ok, Ok, Ok, Ok, Ok, Ok)),
        (
            "make",
            fails(1, ""),
            Status::Failed,
            verdicts(Failed, NotReached, NotReached, NotReached, NotReached, NotReached),
        ),
        (
            "before",
            fails(1, ""),
            Status::Failed,
            verdicts(Failed, Ok, NotReached, NotReached, NotReached, Ok),
        ),
        ("measure", fails(1, ""), Status::Failed, verdicts(Ok, Ok, Failed, Failed, Ok, Ok)),
        ("measure", prints("slow\n"), Status::Failed, verdicts(Ok, Ok, Ok, Failed, Failed, Ok)),
        ("after", fails(1, ""), Status::Ok, verdicts(Ok, Ok, Ok, Ok, Ok, Failed)),
        ("remove", fails(1, ""), Status::Ok, verdicts(Ok, Ok, Ok, Ok, Ok, Failed)),
    ];
    for (failing, reply, status, expected) in cases {
        let world = World::new(move |_, command| match command {
            command if command == failing => reply.clone(),
            "measure" => good(),
            _ => ok(),
        });
        let happened = world.run(yaml).await;
        let outcome = happened.outcome();
        assert_eq!((outcome.status, outcome.verdicts), (status, expected), "{failing}: {:?}", outcome.reason);
        let is_told =
            outcome.warnings.iter().any(|warning| warning.starts_with("clean-up failed on localhost: "));
        assert_eq!(is_told, outcome.verdicts.cleanup == Failed, "{failing}: {:?}", outcome.warnings);
        assert_eq!(outcome.measurements.is_empty(), status != Status::Ok);
    }
}

#[tokio::test(start_paused = true)]
async fn a_clean_up_that_takes_long_does_not_hold_the_last_record_back() {
    let world = World::new(|_, command| if command == "remove" { takes(55) } else { ok() });
    let happened = world.run(NAP).await;
    assert_eq!(happened.spans()[0].3, 20);
    assert_eq!(happened.outcome().verdicts.cleanup, Verdict::Ok, "so far");
}

//! Trials that fail on fake machines: each has its stage and its reason, none has a value, and the rest of
//! the run goes on.

use runner::event::{Outcome, Stage, Status};
use runner::transports::fake::Reply;

use crate::world::{World, fails, ok, prints, takes};

/// No measurement at all: a failure is never a zero.
fn assert_failed(outcome: &Outcome, stage: Stage, reason: &str) {
    assert_eq!((outcome.status, outcome.stage), (Status::Failed, Some(stage)), "{:?}", outcome.reason);
    assert_eq!(outcome.reason.as_deref(), Some(reason));
    assert!(outcome.measurements.is_empty());
}

const DISK: &str = "
workloads:
  disk:
    setup: make
    prepare: before
    run: read
    conclude: after
    cleanup: remove
    timeout: 30s
    metrics: { tool: dd }
  nap: { run: nap }
repetitions: 2
order: sequential
";

#[tokio::test(start_paused = true)]
async fn each_stage_that_fails_fails_the_trial() {
    let cases: [(&str, Reply, Stage, &str); 5] = [
        ("before", fails(2, "no room\n"), Stage::Prepare, "`before` failed (exit code 2): no room"),
        (
            "read",
            fails(1, "dd: error reading 'x': Input/output error\n"),
            Stage::Run,
            "dd: error reading 'x': Input/output error",
        ),
        (
            "read",
            prints("no report\n"),
            Stage::Metrics,
            "no closing line of dd (is `status=none` set?): no report",
        ),
        ("read", ok(), Stage::Metrics, "no closing line of dd (is `status=none` set?): no output"),
        ("read", takes(100), Stage::Run, "`read` was ended after its timeout of 30s"),
    ];
    for (failing, reply, stage, reason) in cases {
        let happened = World::new(move |_, command| match command {
            command if command == failing => reply.clone(),
            "read" => Reply {
                stderr: "1+0 records in\n1+0 records out\n1000 bytes (1.0 kB) copied, 2.0 s, 500 B/s\n"
                    .into(),
                ..takes(2)
            },
            _ => ok(),
        });
        let happened = happened.run(DISK).await;
        let outcomes = happened.outcomes();
        assert_eq!(outcomes.len(), 4, "the rest goes on");
        assert_failed(outcomes[0], stage, reason);
        assert_failed(outcomes[1], stage, reason);
        assert!(outcomes[2..].iter().all(|outcome| outcome.status == Status::Ok));
        assert_eq!(happened.commands().iter().filter(|command| command.ends_with(" remove")).count(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_setup_that_fails_fails_every_trial_of_its_cell() {
    let happened = World::new(|_, command| if command == "make" { fails(1, "disk full") } else { ok() });
    let happened = happened.run(DISK).await;
    for outcome in &happened.outcomes()[..2] {
        assert_failed(outcome, Stage::Setup, "`make` failed (exit code 1): disk full");
    }
    let commands = ["localhost make", "localhost remove", "localhost nap", "localhost nap"];
    assert_eq!(happened.commands(), commands, "it is not tried again, and nothing else of the cell is run");
}

#[tokio::test(start_paused = true)]
async fn what_was_printed_is_kept_when_it_can_not_be_read() {
    let happened =
        World::new(|_, command| if command == "read" { prints("garbage") } else { ok() }).run(DISK).await;
    assert_eq!(happened.outcomes()[0].outputs["stdout"].bytes, b"garbage");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_can_not_be_reached_fails_its_trials_alone() {
    let yaml = "
hosts: { here: { ssh: here }, gone: { ssh: gone } }
workloads: { nap: { run: nap } }
repetitions: 2
";
    let happened = World::new(|_, _| takes(1)).unreachable("gone").run(yaml).await;
    let (here, gone): (Vec<_>, Vec<_>) =
        happened.outcomes().into_iter().partition(|outcome| outcome.trial.id().contains("/here/"));
    assert_eq!((here.len(), gone.len()), (2, 2));
    assert!(here.iter().all(|outcome| outcome.status == Status::Ok));
    let reason = "`gone`: connection refused; it did not come back before the run ended";
    gone.iter().for_each(|outcome| assert_failed(outcome, Stage::Host, reason));
}

#[tokio::test(start_paused = true)]
async fn a_directory_that_can_not_be_made_is_the_hosts_failure() {
    let happened = World::new(|_, _| ok());
    let happened = happened
        .looks(|_, script| script.contains("mkdir -p").then(|| fails(1, "mkdir: read-only file system")));
    let happened = happened.run("workloads: { nap: { run: nap } }\nrepetitions: 1").await;
    let outcome = happened.outcome();
    assert_eq!((outcome.status, outcome.stage), (Status::Failed, Some(Stage::Host)));
    let reason = outcome.reason.as_deref().unwrap();
    assert!(reason.starts_with("`localhost`: can't make the directory /var/tmp/runner-test-"), "{reason}");
    assert!(reason.ends_with(": mkdir: read-only file system"), "{reason}");
    assert_eq!(happened.commands(), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_clean_up_that_fails_is_told_and_touches_no_measurement() {
    let yaml = "workloads: { nap: { run: nap, cleanup: remove } }\nrepetitions: 1";
    let happened =
        World::new(|_, command| if command == "remove" { fails(1, "busy") } else { ok() }).run(yaml).await;
    assert_eq!(happened.outcome().status, Status::Ok);
    assert_eq!(happened.failed_clean_ups(), [("localhost", "`remove` failed (exit code 1): busy")]);
    let endless =
        World::new(|_, command| if command == "remove" { takes(100_000) } else { ok() }).run(yaml).await;
    assert_eq!(endless.failed_clean_ups(), [("localhost", "`remove` was ended after its timeout of 1m")]);
}

const COLD: &str = "workloads: { cold: { prepare: drop_caches, run: read } }\nrepetitions: 1";

#[tokio::test(start_paused = true)]
async fn dropped_caches_are_verified_and_kept() {
    let happened = World::new(|_, _| ok()).run(COLD).await;
    let outcome = happened.outcome();
    assert_eq!(outcome.status, Status::Ok);
    let [drop] = &outcome.caches[..] else { panic!("{:?}", outcome.caches) };
    assert_eq!(
        (drop.host.as_str(), drop.cached_before_kb, drop.cached_after_kb),
        ("localhost", 900_000, 90_000)
    );
}

#[tokio::test(start_paused = true)]
async fn caches_that_were_not_dropped_fail_the_trial() {
    let table =
        |cached: u64| format!("MemTotal: 4000000 kB\nCached: {cached} kB\nMapped: 0 kB\nShmem: 0 kB\n");
    let cases = [
        (
            fails(1, "sudo: a password is required\n"),
            "drop_caches refused on `localhost`: sudo: a password is required",
        ),
        (
            prints(&format!("{}---\n{}", table(900_000), table(900_001))),
            "drop_caches on `localhost`: Cached did not fall: 900000 kB before, 900001 kB after",
        ),
        (prints("---\n"), "drop_caches on `localhost`: no `Cached` in /proc/meminfo"),
        (prints(""), "drop_caches refused on `localhost`: /proc/meminfo can't be read"),
    ];
    for (reply, reason) in cases {
        let world = World::new(|_, _| ok());
        let world = world.looks(move |_, script| script.contains("drop_caches").then(|| reply.clone()));
        let happened = world.run(COLD).await;
        assert_failed(happened.outcome(), Stage::Prepare, reason);
        assert!(happened.commands().is_empty(), "it is not measured warm");
    }
}

//! Hosts that go away: they are set aside while others go on, and their trials are done when they are back, or
//! recorded as what they are.

use std::collections::BTreeMap;

use runner::event::{Event, Outcome, Stage, Status};

use crate::world::{Happened, World, forever, takes};

const BOARDS: &str = "
hosts: { a: { ssh: a }, b: { ssh: b } }
workloads: { nap: { run: nap } }
repetitions: 4
";

const SERVED: &str = "
hosts: { a: { ssh: a }, b: { ssh: b }, server: { ssh: server } }
workloads:
  net:
    services: { server: { host: server, run: serve, ready: { delay: 0s } } }
    run: send
matrix: [{ host: [a, b] }]
repetitions: 6
";

/// The last outcome of each trial.
fn last(happened: &Happened) -> BTreeMap<String, &Outcome> {
    happened.outcomes().into_iter().map(|outcome| (outcome.trial.id(), outcome)).collect()
}

fn said(happened: &Happened, wanted: fn(&Event) -> Option<&String>) -> Vec<(u64, &str)> {
    happened.events.iter().filter_map(|(second, event)| Some((*second, wanted(event)?.as_str()))).collect()
}

fn set_aside(event: &Event) -> Option<&String> {
    if let Event::HostSetAside { host, .. } = event { Some(host) } else { None }
}

fn back(event: &Event) -> Option<&String> {
    if let Event::HostBack { host } = event { Some(host) } else { None }
}

fn assert_all_ok(happened: &Happened, count: usize) {
    let last = last(happened);
    assert_eq!(last.len(), count);
    for (id, outcome) in last {
        assert_eq!(outcome.status, Status::Ok, "{id}: {:?}", outcome.reason);
        assert!(!outcome.is_repeated);
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_comes_back_goes_on_where_it_was() {
    let world = World::new(|_, _| takes(20)).lost(|host, second| host == "a" && (30..100).contains(&second));
    let happened = world.run(BOARDS).await;
    assert_all_ok(&happened, 8);
    assert_eq!(said(&happened, set_aside).len(), 1);
    let [(second, "a")] = said(&happened, back)[..] else { panic!("{:?}", happened.events) };
    assert!((100..200).contains(&second), "{second}");
    let of_b = happened.outcomes().into_iter().filter(|outcome| outcome.trial.id().contains("/b/"));
    assert_eq!(of_b.count(), 4, "the other host has no part in it");
    let attempts: Vec<u32> = happened
        .outcomes()
        .into_iter()
        .filter(|outcome| outcome.trial.id() == "nap/a/native#2")
        .map(|outcome| outcome.attempt)
        .collect();
    assert_eq!(attempts, [1, 2, 3, 4], "the retries, and once more when it was back");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_stays_away_leaves_records_that_say_so() {
    let world = World::new(|_, _| takes(20)).lost(|host, second| host == "a" && second >= 30);
    let happened = world.run(BOARDS).await;
    let last = last(&happened);
    assert_eq!(last.len(), 8, "no trial is without a record");
    for (id, outcome) in last {
        let is_measured = id.contains("/b/") || id == "nap/a/native#1";
        assert_eq!(outcome.status == Status::Ok, is_measured, "{id}: {:?}", outcome.reason);
        if !is_measured {
            assert_eq!(outcome.stage, Some(Stage::Host), "{id}");
            let reason = "`a`: the connection was lost; it did not come back before the run ended";
            assert_eq!(outcome.reason.as_deref(), Some(reason));
        }
    }
    let end = happened.events.last().unwrap().0;
    assert!((80 + 60..400).contains(&end), "the last tries take a minute at least: {end}");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_was_not_there_at_the_start_may_come_later() {
    let happened = World::new(|_, _| takes(20)).unreachable_until("a", 50).run(BOARDS).await;
    assert_all_ok(&happened, 8);
    assert_eq!(said(&happened, back).len(), 1);
    let known =
        said(&happened, |event| if let Event::FactsFound { host, .. } = event { Some(host) } else { None });
    assert!(known.iter().any(|(_, host)| *host == "a"), "its facts are kept");
}

#[tokio::test(start_paused = true)]
async fn others_do_not_wait_for_a_shared_server() {
    for seed in 0..6 {
        let world = World::new(|_, command| if command == "serve" { forever() } else { takes(10) });
        let world = world.lost(|host, second| host == "a" && (15..110).contains(&second));
        let happened = world.run(&format!("{SERVED}seed: {seed}\n")).await;
        assert_all_ok(&happened, 12);
        let ends: Vec<u64> = happened
            .events
            .iter()
            .filter(|(_, event)| {
                matches!(event, Event::TrialFinished(outcome)
                if outcome.trial.id().contains("/b/") && outcome.status == Status::Ok)
            })
            .map(|(second, _)| *second)
            .collect();
        assert!(ends.iter().all(|end| *end < 100), "seed {seed}: `b` waits for `a`: {ends:?}");
        let mut spans = happened.spans();
        spans.sort_by_key(|(_, _, start, _)| *start);
        for pair in spans.windows(2) {
            assert!(pair[0].3 <= pair[1].2, "they share the server: {pair:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_gone_stops_all_that_need_it() {
    let yaml = SERVED.replace(
        "matrix: [{ host: [a, b] }]",
        "  disk: { run: write }\nmatrix: [{ workload: net, host: [a, b] }, { workload: disk, host: [a, b] }]",
    );
    let world = World::new(|_, command| if command == "serve" { forever() } else { takes(10) });
    let world = world.lost(|host, second| host == "server" && (15..600).contains(&second));
    let happened = world.run(&yaml).await;
    let last = last(&happened);
    assert_eq!(last.len(), 24);
    let disk = last.iter().filter(|(id, outcome)| id.starts_with("disk/") && outcome.status == Status::Ok);
    assert_eq!(disk.count(), 12, "what does not need it goes on");
    let net: Vec<_> = last.iter().filter(|(id, _)| id.starts_with("net/")).collect();
    assert!(net.iter().any(|(_, outcome)| outcome.status == Status::Failed));
    for (id, outcome) in net.iter().filter(|(_, outcome)| outcome.status == Status::Failed) {
        assert_eq!(outcome.stage, Some(Stage::Host), "{id}");
        assert!(outcome.reason.as_deref().unwrap().starts_with("`server`: the connection was lost"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_the_wait_for_a_host() {
    let world = World::new(|_, _| takes(20)).lost(|host, second| host == "a" && second >= 30).stop_after(110);
    let happened = world.run(BOARDS).await;
    assert_eq!(happened.events.last().unwrap().0, 110);
    let never: Vec<_> =
        last(&happened).into_values().filter(|outcome| outcome.stage == Some(Stage::Host)).collect();
    assert!(never.iter().all(|outcome| outcome.is_repeated), "a resumed run goes on with them: {never:?}");
}

#[tokio::test(start_paused = true)]
async fn without_retries_the_trial_is_lost_and_the_host_is_not() {
    let world = World::new(|_, _| takes(20)).lost(|host, second| host == "a" && (30..60).contains(&second));
    let happened = world.run(&format!("{BOARDS}retries: 0\n")).await;
    let failed: Vec<String> = last(&happened)
        .into_iter()
        .filter(|(_, one)| one.status == Status::Failed)
        .map(|(id, _)| id)
        .collect();
    assert_eq!(failed, ["nap/a/native#2"]);
}

//! What a run makes stands in its ledger before it is made, and goes from it when it is removed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use runner::environments::{begin, remove_left};
use runner::event::{Event, Status};
use runner::hosts::{Fate, Kind, Ledger, Machine, Thing};
use runner::transports::local::Local;

use crate::world::{World, fails, ok, prints};

const NAP: &str = "workloads: { nap: { run: nap } }\nrepetitions: 1";

#[tokio::test(start_paused = true)]
async fn a_directory_that_is_there_already_is_refused_and_left_alone() {
    let happened = World::new(|_, _| ok()).looks(|_, script| {
        script.contains("mkdir -p").then(|| prints("mkdir: cannot create directory 'x': File exists\n"))
    });
    let happened = happened.run(NAP).await;
    let outcome = happened.outcome();
    assert_eq!(outcome.status, Status::Failed);
    assert!(outcome.reason.as_deref().unwrap().ends_with("File exists"), "{outcome:?}");
    let named = happened.looks.iter().filter(|script| script.contains("/var/tmp/runner-test-"));
    assert_eq!(named.count(), 1, "only to make it: {:#?}", happened.looks);
}

#[tokio::test(start_paused = true)]
async fn what_is_made_stands_in_the_ledger_first_and_nothing_is_left_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (at_making, file) = (seen.clone(), path.clone());
    let world = World::new(|_, _| ok()).looks(move |_, script| {
        if script.contains("mkdir -p") {
            at_making.lock().unwrap().extend(Ledger::read(&file, &BTreeMap::new()).unwrap());
        }
        None
    });
    let ledger = Ledger::open(&path, &BTreeMap::new()).unwrap();
    let happened = world.ledger(ledger.clone()).run(NAP).await;
    assert_eq!(happened.outcome().status, Status::Ok);
    let seen: Vec<_> =
        seen.lock().unwrap().iter().map(|thing: &Thing| (thing.kind, thing.name.clone())).collect();
    assert_eq!(seen[0], (Kind::Processes, "runner-test-".into()));
    assert!(seen[1].0 == Kind::Directory && seen[1].1.starts_with("/var/tmp/runner-test-"), "{seen:?}");
    assert_eq!(ledger.left(), []);
    ledger.close().unwrap();
    assert!(!path.exists());
}

#[tokio::test(start_paused = true)]
async fn what_can_not_be_removed_is_tried_again_at_the_end_and_stays_in_the_ledger() {
    let refuses = |_: &str, script: &str| {
        script.contains("rm -rf").then(|| match script.contains("marked") {
            true => prints("0 removed\n1 left rm: busy\n"),
            false => fails(1, "rm: busy"),
        })
    };
    let ledger = Ledger::default();
    let happened = World::new(|_, _| ok()).looks(refuses).ledger(ledger.clone()).run(NAP).await;
    assert_eq!(happened.outcome().status, Status::Ok, "the measurement stands");
    assert_eq!(happened.failed_clean_ups(), [("localhost", "rm: busy"), ("localhost", "rm: busy")]);
    let left: Vec<_> = ledger.left().into_iter().map(|thing| thing.kind).collect();
    assert_eq!(left, [Kind::Directory]);
    let told = happened.events.iter().filter(|(_, event)| matches!(event, Event::CleanUpFailed { .. }));
    assert_eq!(told.count(), 2);
}

#[tokio::test]
async fn what_is_left_on_a_real_machine_goes_and_what_is_not_the_runs_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (own, other) = (path("runner-0badcafe-1"), path("runner-0badcafd-1"));
    for directory in [&own, &other] {
        std::fs::create_dir_all(directory.join("deep/er")).unwrap();
    }
    let start = |mark: &str| {
        let mut command = std::process::Command::new("sleep");
        command.arg("651").env("RUNNER_PLACE", mark).spawn().unwrap()
    };
    let (mut process, mut bystander) = (start(":runner-0badcafe-1:"), start(":runner-0badcafd-1:"));
    let ledger = Ledger::default();
    let machine = Machine::fake("here", Local::default());
    begin(&machine, "0badcafe", &ledger).unwrap();
    for directory in [&own, &path("runner-0badcafe-2")] {
        let name = directory.to_str().unwrap().to_owned();
        let (host, run) = ("here".to_owned(), "0badcafe".to_owned());
        ledger.made(Thing { host, kind: Kind::Directory, name, run, place: None }).unwrap();
    }
    let fates: Vec<Fate> = remove_left(&machine, &ledger).await.into_iter().map(|(_, fate)| fate).collect();
    let is_alive = bystander.try_wait().unwrap().is_none();
    bystander.kill().unwrap();
    bystander.wait().unwrap();
    assert_eq!(fates, [Fate::Removed, Fate::Removed, Fate::Gone]);
    assert!(!process.wait().unwrap().success());
    assert!(is_alive && other.exists() && !own.exists());
    assert_eq!(ledger.left(), []);
}

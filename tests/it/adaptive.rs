//! Adaptive repetitions: measured until the median is known well enough, in the same blocks as ever.

use std::collections::BTreeMap;

use runner::event::{Event, Status};
use runner::execution::{History, Past, Run};

use crate::world::{Happened, World, ok, prints};

const TWO: &str = "
workloads:
  steady: { run: steady, cleanup: remove, metrics: { extract: { rate: { regex: 'rate (\\S+)', unit: 1/s } } } }
  noisy: { run: noisy, cleanup: remove, metrics: { extract: { rate: { regex: 'rate (\\S+)', unit: 1/s } } } }
repetitions: { min: 6, max: 20, until: 5% }
seed: 3
";

/// `steady` is the same each time; `noisy` goes up and down by half.
fn world() -> World {
    let count = std::sync::atomic::AtomicU32::new(0);
    World::new(move |_, command| match command {
        "steady" => prints("rate 100\n"),
        "noisy" => {
            let number = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            prints(&format!("rate {}\n", if number.is_multiple_of(2) { 50 } else { 150 }))
        }
        _ => ok(),
    })
}

fn counts(happened: &Happened) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for outcome in happened.outcomes() {
        *counts.entry(outcome.trial.cell.to_string()).or_default() += 1;
    }
    counts
}

#[tokio::test(start_paused = true)]
async fn each_cell_stops_when_it_is_known_well_enough() {
    for order in ["blocks", "sequential", "shuffled"] {
        let happened = world().run(&format!("{TWO}order: {order}\n")).await;
        let expected = [("noisy/localhost/native".to_owned(), 20), ("steady/localhost/native".to_owned(), 6)];
        assert_eq!(counts(&happened), expected.into(), "{order}");
        assert!(happened.outcomes().iter().all(|outcome| outcome.status == Status::Ok));
        let removed: Vec<_> =
            happened.commands().into_iter().filter(|command| command.ends_with("remove")).collect();
        assert_eq!(removed.len(), 2, "each cell is cleaned up once");
        let spared: Vec<u32> = happened
            .events
            .iter()
            .filter_map(|(_, event)| match event {
                Event::KnownWellEnough { spared, .. } => Some(*spared),
                _ => None,
            })
            .collect();
        assert_eq!(spared, [14]);
    }
    assert_eq!(
        (
            crate::world::plan(TWO).unwrap().2.least_trial_count(),
            crate::world::plan(TWO).unwrap().2.trial_count()
        ),
        (12, 40)
    );
}

#[tokio::test(start_paused = true)]
async fn a_block_holds_the_cells_that_still_need_it() {
    let happened = world().run(TWO).await;
    for (index, outcome) in happened.outcomes().into_iter().enumerate() {
        let block = if index < 12 { index / 2 + 1 } else { index - 5 };
        assert_eq!(outcome.trial.block as usize, block);
        assert_eq!(outcome.trial.repetition as usize, block);
    }
}

#[tokio::test(start_paused = true)]
async fn failed_trials_are_no_values() {
    let count = std::sync::atomic::AtomicU32::new(0);
    let world = World::new(move |_, command| match command {
        "steady" if count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 3 => prints("nothing\n"),
        "steady" | "noisy" => prints("rate 100\n"),
        _ => ok(),
    });
    let happened = world.run(TWO).await;
    assert_eq!(counts(&happened)["steady/localhost/native"], 9, "6 of them are ok");
}

#[tokio::test(start_paused = true)]
async fn what_was_measured_before_decides_alike() {
    let (spec, sources, plan) = crate::world::plan(TWO).unwrap();
    let mut history = History::default();
    let steady = plan.cells().position(|cell| cell.workload == "steady").unwrap();
    for turn in plan.turns().filter(|turn| turn.cell == steady && turn.repetition <= 6) {
        history.insert(turn.cell, turn.phase, turn.repetition, Past { attempts: 1, is_done: true });
        history.insert_value(turn.cell, 100.0);
    }
    let (events, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let fake = runner::transports::fake::Fake::new(|script| match script {
        "noisy" => prints("rate 100\n"),
        _ => ok(),
    });
    let machine = std::sync::Arc::new(runner::hosts::Machine::fake("localhost", fake));
    let machines = [("localhost".to_owned(), Ok(machine))].into();
    let mut run = Run::new("test".into(), (spec, sources, plan), machines, Default::default(), events);
    run.is_precise = runner::analysis::is_precise;
    run.history = history;
    run.execute().await;
    drop(run);
    let mut tried = Vec::new();
    while let Some(event) = receiver.recv().await {
        if let Event::TrialFinished(outcome) = event {
            tried.push(outcome.trial.id());
        }
    }
    let expected: Vec<String> = (1..=6).map(|number| format!("noisy/localhost/native#{number}")).collect();
    assert_eq!(tried, expected, "`steady` needs no seventh");
}

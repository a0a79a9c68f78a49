//! What ends a trial or a run before its time: `trial_timeout`, `deadline`, `on_failure`.

use runner::event::{Event, Stage, Status, Verdict};

use crate::world::{Happened, World, fails, forever, ok, takes};

fn stopped_by(happened: &Happened) -> Vec<&str> {
    let said = happened.events.iter().filter_map(|(_, event)| match event {
        Event::RunStopped { by } => Some(by.as_str()),
        _ => None,
    });
    said.collect()
}

fn statuses(happened: &Happened) -> Vec<(String, Status)> {
    happened.outcomes().iter().map(|outcome| (outcome.trial.id(), outcome.status)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_trial_that_takes_too_long_as_a_whole_has_failed() {
    let yaml = "
workloads:
  net:
    services: { server: { run: serve, ready: { delay: 1s } } }
    setup: { sleep: 60s }
    prepare: { sleep: 3s }
    run: send
    conclude: after
repetitions: 2
trial_timeout: 10s
";
    let world = World::new(|_, command| match command {
        "serve" => forever(),
        "send" => takes(100),
        _ => ok(),
    });
    let happened = world.run(yaml).await;
    for (outcome, (_, _, start, end)) in happened.outcomes().into_iter().zip(happened.spans()) {
        assert_eq!((outcome.status, outcome.stage), (Status::Failed, Some(Stage::Run)));
        assert_eq!(outcome.reason.as_deref(), Some("the trial was ended after its `trial_timeout` of 10s"));
        let set_up = if outcome.trial.repetition == 1 { 60 } else { 0 };
        assert_eq!(end - start, set_up + 10, "the set-up of the cell does not count");
    }
    assert_eq!(happened.commands().iter().filter(|command| command.ends_with(" after")).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_conclude_beyond_the_time_of_the_trial_leaves_the_measurement() {
    let yaml = "workloads: { nap: { run: nap, conclude: after, trial_timeout: 10s } }\nrepetitions: 1\n";
    let world = World::new(|_, command| if command == "after" { takes(100) } else { takes(2) });
    let happened = world.run(yaml).await;
    let outcome = happened.outcome();
    assert_eq!((outcome.status, outcome.verdicts.cleanup), (Status::Ok, Verdict::Failed));
    assert_eq!(happened.spans()[0].3, 10);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_ends_what_runs_and_leaves_the_rest_for_later() {
    let yaml = "
workloads: { nap: { run: nap, cleanup: remove } }
repetitions: 10
deadline: 25s
";
    let happened = World::new(|_, command| if command == "nap" { takes(10) } else { ok() }).run(yaml).await;
    let seen: Vec<_> = statuses(&happened).into_iter().map(|(_, status)| status).collect();
    assert_eq!(seen, [Status::Ok, Status::Ok, Status::Interrupted]);
    let reason = happened.outcomes()[2].reason.as_deref();
    assert_eq!(reason, Some("the run was stopped by its deadline of 25s"));
    assert_eq!(stopped_by(&happened), ["its deadline of 25s"]);
    assert_eq!(happened.commands().last(), Some(&"localhost remove"));
    let early = World::new(|_, _| takes(1)).run(yaml).await;
    assert_eq!(
        (early.outcomes().len(), stopped_by(&early).len()),
        (10, 0),
        "a run that is faster ends by itself"
    );
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_before_the_deadline_is_an_interrupt() {
    let yaml = "workloads: { nap: { run: nap, cleanup: remove } }\ndeadline: 25s\n";
    let world = World::new(|_, command| if command == "remove" { takes(50) } else { takes(100) });
    let happened = world.stop_after(5).run(yaml).await;
    assert_eq!(happened.outcome().reason.as_deref(), Some("the run was interrupted"));
    assert_eq!(stopped_by(&happened), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_stops_the_run_where_the_file_says_so() {
    let yaml = "
hosts: { a: { ssh: a }, b: { ssh: b } }
workloads: { nap: { run: nap, cleanup: remove }, other: { run: other, on_failure: continue } }
order: sequential
repetitions: 3
on_failure: stop
";
    let world = |failing: &'static str| {
        World::new(move |host, command| match (host, command) {
            ("a", command) if command == failing => fails(1, "broken"),
            ("b", "nap") => takes(5),
            _ => takes(1),
        })
    };
    let happened = world("nap").run(yaml).await;
    let expected = [("nap/a/native#1".to_owned(), Status::Failed), ("nap/b/native#1".to_owned(), Status::Ok)];
    assert_eq!(statuses(&happened), expected, "what runs on `b` goes on to its end");
    assert_eq!(stopped_by(&happened), ["`on_failure: stop`, after nap/a/native#1 failed"]);
    assert!(happened.commands().contains(&"b remove"));
    let other = world("other").run(yaml).await;
    assert_eq!((other.outcomes().len(), stopped_by(&other).len()), (12, 0), "the workload says otherwise");
}

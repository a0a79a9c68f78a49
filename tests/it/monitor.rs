//! What a run does now, as the sum of its events: checked after each of them, over a whole run on fake machines.

use jiff::{SignedDuration, Timestamp};
use runner::event::{Event, Stage};
use runner::monitor::{Doing, Moment, Monitor, Snapshot};

use crate::world::{World, fails, ok, takes};

const YAML: &str = "
hosts: { board: { ssh: board }, rack: { ssh: rack } }
workloads:
  net: { services: { server: { host: rack, run: serve, ready: { port: '{{ port }}' } } }, prepare: warm, run: send }
  bad: { run: broken }
matrix: [{ workload: net, host: board }, { workload: bad, host: rack }]
order: sequential
repetitions: 2
";

fn doing(run: &Snapshot, host: &str) -> (Doing, Option<String>) {
    let host = run.hosts.iter().find(|state| state.host == host).unwrap();
    (host.doing, host.trial.clone())
}

#[tokio::test(start_paused = true)]
async fn what_each_host_does_follows_from_the_events() {
    let happened = World::new(|_, command| match command {
        "serve" => takes(1_000_000),
        "send" => takes(10),
        "broken" => fails(3, "no\n"),
        _ => ok(),
    });
    let happened = happened.run(YAML).await;
    let start = Timestamp::from_second(1_796_040_000).unwrap();
    let here = ["rack".to_owned()].into();
    let mut monitor = Monitor::new(&happened.plan, here, start);
    let mut stages = Vec::new();
    let mut left = Vec::new();
    for (second, event) in &happened.events {
        let now = start + SignedDuration::from_secs(*second as i64);
        let moment = monitor.follow(event, now);
        let run = monitor.snapshot(now);
        match event {
            Event::StageStarted { host, stage: Stage::Run } if host == "board" => {
                stages.push(moment);
                assert_eq!(doing(&run, "board").0, Doing::Running);
                let (assisting, trial) = doing(&run, "rack");
                assert_eq!((assisting, trial), (Doing::Assisting, doing(&run, "board").1));
                assert_eq!(monitor.moment(), Moment::Measured, "the server runs on this machine");
            }
            Event::StageStarted { host, stage: Stage::Conclude } if host == "board" => {
                assert_eq!(monitor.moment(), Moment::Any, "it is over");
            }
            Event::TrialFinished(_) => left.push(run.left_s.map(|left| left.round())),
            _ => {}
        }
    }
    assert_eq!(stages, [Moment::PerhapsLast, Moment::Last], "how long it is is known the second time");
    assert_eq!(left[0], None, "nothing is known of the other workload");
    assert_eq!(left.last(), Some(&Some(0.0)));
    let end = monitor.snapshot(start);
    assert_eq!((end.trials, end.finished, end.failed, end.retried), (4, 4, 2, 0));
    assert!(end.hosts.iter().all(|host| host.doing == Doing::Waiting && host.trial.is_none()), "{end:#?}");
    let text = serde_json::to_string(&end).unwrap();
    assert_eq!(serde_json::from_str::<Snapshot>(&text).unwrap(), end);
}

#[tokio::test(start_paused = true)]
async fn commands_are_told_to_who_wants_them_alone() {
    let happened = World::new(|_, _| ok()).run(YAML).await;
    let is_told = |event: &Event| matches!(event, Event::CommandStarted(_) | Event::CommandEnded(_));
    assert!(!happened.events.iter().any(|(_, event)| is_told(event)));
}

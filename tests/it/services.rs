//! Services on fake machines: started before `prepare`, waited for, watched, and always stopped.

use runner::event::{Stage, Status};
use runner::transports::fake::Reply;

use crate::world::{World, fails, forever, is_readiness, ok, prints, takes};

/// One client and one server, whose sign of being ready is `SIGN`.
fn yaml(sign: &str) -> String {
    format!(
        "
hosts: {{ client: {{ ssh: client }}, rack: {{ ssh: rack }} }}
workloads:
  network:
    services:
      server:
        host: rack
        run: serve --port {{{{ port }}}}
        ready: {sign}
    prepare: before
    run: send {{{{ services.server.address }}}} {{{{ services.server.port }}}}
    conclude: after
    cleanup: remove
matrix: [{{ host: client }}]
repetitions: 1
retries: 0
"
    )
}

const PORT: &str = "{ port: '{{ port }}', within: 5s }";

fn never_ready(_: &str, script: &str) -> Option<Reply> {
    is_readiness(script).then(ok)
}

#[tokio::test(start_paused = true)]
async fn a_service_is_ready_before_prepare_and_stopped_after_conclude() {
    for sign in [PORT, "{ log: '^ready$' }", "{ command: 'probe {{ port }}' }"] {
        let world = World::new(|_, command| match command.split(' ').next() {
            Some("serve") => forever(),
            Some("send") => takes(5),
            _ => ok(),
        });
        let happened = world.run(&yaml(sign)).await;
        let outcome = happened.outcome();
        assert_eq!((outcome.status, &outcome.reason), (Status::Ok, &None), "{sign}");
        let commands = happened.commands();
        assert!(commands[0].starts_with("rack serve"), "{sign}: {commands:?}");
        let commands: Vec<_> = commands.into_iter().filter(|command| !command.contains("probe")).collect();
        let port = commands[0].rsplit(' ').next().unwrap();
        let send = format!("client send rack {port}");
        let serve = format!("rack serve --port {port}");
        assert_eq!(commands, [&serve[..], "client before", &send, "client after", "client remove"], "{sign}");
        // Paused time goes on only when all is idle: a service that was not stopped would end in days.
        assert_eq!(happened.spans()[0].3, 5, "{sign}");
        assert!(outcome.outputs.contains_key("services/server/stdout"));
    }
}

#[tokio::test(start_paused = true)]
async fn readiness_is_looked_for_until_it_is_there() {
    let seen = std::sync::atomic::AtomicU32::new(0);
    let world = World::new(|_, command| if command.starts_with("serve") { forever() } else { ok() });
    let world = world.looks(move |_, script| {
        is_readiness(script).then(|| match seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0..40 => ok(),
            _ => prints("seen"),
        })
    });
    let happened = world.run(&yaml(PORT)).await;
    assert_eq!(happened.outcome().status, Status::Ok);
    let (second, command) = &happened.commands[1];
    assert_eq!((*second, command.as_str()), (2, "client before"), "40 looks at 50 ms");
}

/// What the service does, whether it gets ready, and what is told of it.
#[tokio::test(start_paused = true)]
async fn a_service_that_fails_is_the_failure_of_the_trial() {
    let dies =
        |seconds: u64| Reply { exit_code: 3, stderr: "listening\nout of luck\n".into(), ..takes(seconds) };
    let cases: [(Reply, bool, &str, u64, &[&str]); 4] = [
        (forever(), false, "it was not ready within 5s: nothing listens on port", 5, &["serve"]),
        (dies(2), false, "it ended before it was ready (exit code 3): listening; out of luck", 2, &["serve"]),
        (
            dies(4),
            true,
            "it died while the workload ran (exit code 3): listening; out of luck",
            4,
            &["serve", "before", "send", "after"],
        ),
        (
            fails(127, "serve: not found"),
            false,
            "it ended before it was ready (exit code 127): serve: not found",
            0,
            &["serve"],
        ),
    ];
    for (service, is_ready, reason, end, commands) in cases {
        let world = World::new(move |_, command| match command.split(' ').next() {
            Some("serve") => service.clone(),
            Some("send") => takes(60),
            _ => ok(),
        });
        let world = if is_ready { world } else { world.looks(never_ready) };
        let happened = world.run(&yaml(PORT)).await;
        let outcome = happened.outcome();
        assert_eq!((outcome.status, outcome.stage), (Status::Failed, Some(Stage::Service)), "{reason}");
        let told = outcome.reason.as_deref().unwrap();
        assert!(told.starts_with(&format!("service `server`: {reason}")), "{told}");
        assert!(outcome.measurements.is_empty());
        assert_eq!(happened.spans()[0].3, end, "{reason}");
        assert!(outcome.outputs.contains_key("services/server/stderr"), "its last words are kept: {reason}");
        let ran: Vec<_> =
            happened.commands().iter().filter_map(|command| command.split(' ').nth(1)).collect();
        assert_eq!(ran, [commands, &["remove"]].concat(), "{reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_served_and_ended_well_is_no_failure() {
    let world = World::new(|_, command| match command.split(' ').next() {
        Some("serve") => Reply { stdout: "served one\n".into(), ..takes(3) },
        Some("send") => takes(5),
        _ => ok(),
    });
    let happened = world.run(&yaml(PORT)).await;
    assert_eq!(happened.outcome().status, Status::Ok);
    assert_eq!(happened.outcome().outputs["services/server/stdout"].bytes, b"served one\n");
}

#[tokio::test(start_paused = true)]
async fn services_are_stopped_whatever_happens() {
    let cases: [(&str, &str, u64); 3] = [("before", "prepare", 1), ("send", "run", 6), ("after", "", 6)];
    for (failing, stage, end) in cases {
        let world = World::new(move |_, command| match command.split(' ').next() {
            Some("serve") => forever(),
            Some("send") if failing == "send" => Reply { exit_code: 1, ..takes(6) },
            Some("send") => takes(6),
            Some(word) if word == failing => Reply { exit_code: 1, ..takes(u64::from(failing == "before")) },
            _ => ok(),
        });
        let happened = world.run(&yaml(PORT)).await;
        let outcome = happened.outcome();
        // What fails after the measurement does not void it.
        assert_eq!(outcome.status, if stage.is_empty() { Status::Ok } else { Status::Failed });
        assert_eq!(runner::record::word(&outcome.stage), stage);
        assert_eq!(happened.spans()[0].3, end, "{failing}");
        assert!(happened.commands().contains(&"client remove"));
        assert!(happened.looks.iter().any(|look| look.starts_with("rack") && look.contains("rm -rf")));
    }
    let world = World::new(
        |_, command| if ["before", "after", "remove"].contains(&command) { ok() } else { forever() },
    );
    let happened = world.stop_after(9).run(&yaml(PORT)).await;
    assert_eq!(happened.outcome().status, Status::Interrupted);
    assert_eq!(happened.spans()[0].3, 9);
    assert!(happened.commands().contains(&"client remove"));
}

#[tokio::test(start_paused = true)]
async fn each_trial_has_its_own_service_on_the_same_port() {
    let world = World::new(|_, command| if command.starts_with("serve") { forever() } else { takes(1) });
    let happened = world.run(&yaml(PORT).replace("repetitions: 1", "repetitions: 3")).await;
    let serves: Vec<_> =
        happened.commands().into_iter().filter(|command| command.contains("serve")).collect();
    assert_eq!(serves.len(), 3);
    assert!(serves.iter().all(|serve| serve == &serves[0]));
}

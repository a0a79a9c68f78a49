//! The whole measuring half on fake machines under paused time: what is run where, in which order, and what
//! overlaps. What fails is in `failures.rs`, services are in `services.rs`.

use runner::event::{Event, Status};
use runner::plan::Phase;

use crate::world::{World, ok, prints, takes};

#[tokio::test(start_paused = true)]
async fn each_step_of_a_cell_has_its_place() {
    let yaml = "
hosts: { pi: { ssh: pi }, spare: { ssh: spare } }
workloads:
  copy:
    parameters: { size: 4KiB }
    setup: ['make {{ size }}', { run: 'note {{ host.name }}', on: spare }]
    prepare: before {{ trial.repetition }}
    run: [copy, two words, '{{ workload }}']
    conclude: [{ sleep: 2s }, 'after {{ trial.name }}']
    cleanup: remove
matrix: [{ host: pi }]
repetitions: 2
warmup: 1
order: sequential
";
    let happened = World::new(|_, command| if command.starts_with("copy") { takes(5) } else { ok() });
    let happened = happened.run(yaml).await;
    assert_eq!(
        happened.commands,
        [
            (0, "pi make 4KiB"),
            (0, "spare note pi"),
            (0, "pi before 1"),
            (0, "pi copy 'two words' copy"),
            (7, "pi after copy/pi/native/size=4KiB#warmup-1"),
            (7, "pi before 1"),
            (7, "pi copy 'two words' copy"),
            (14, "pi after copy/pi/native/size=4KiB#1"),
            (14, "pi before 2"),
            (14, "pi copy 'two words' copy"),
            (21, "pi after copy/pi/native/size=4KiB#2"),
            (21, "pi remove"),
        ]
        .map(|(second, command)| (second, command.to_owned()))
    );
    let outcomes = happened.outcomes();
    let phases: Vec<_> =
        outcomes.iter().map(|outcome| (outcome.trial.phase, outcome.trial.repetition)).collect();
    assert_eq!(phases, [(Phase::Warmup, 1), (Phase::Measure, 1), (Phase::Measure, 2)]);
    for outcome in outcomes {
        assert_eq!((outcome.status, outcome.stage, &outcome.reason), (Status::Ok, None, &None));
        let [elapsed] = &outcome.measurements[..] else { panic!("{:?}", outcome.measurements) };
        assert_eq!((elapsed.name.as_str(), elapsed.value), ("elapsed", 5.0), "the command alone");
        assert_eq!(outcome.elapsed_s, 7.0, "everything round it too");
    }
    let left = happened.looks.iter().filter(|look| look.contains("remove '/var/tmp/runner-test-")).count();
    assert_eq!(left, 1, "the cell's directory is removed once");
}

const TWO_HOSTS: &str = "
hosts: { a: { ssh: a }, b: { ssh: b } }
workloads: { nap: { setup: prepare-cell, run: nap } }
repetitions: 3
";

#[tokio::test(start_paused = true)]
async fn trials_of_disjoint_hosts_run_side_by_side() {
    let world = World::new(|host, command| match (host, command) {
        ("a", "nap") => takes(10),
        (_, "nap") => takes(4),
        _ => ok(),
    });
    let spans = world.run(TWO_HOSTS).await.spans();
    let of = |host: &str| -> Vec<_> {
        spans
            .iter()
            .filter(|(_, hosts, ..)| hosts == &[host])
            .map(|(.., start, end)| (*start, *end))
            .collect()
    };
    assert_eq!(of("a"), [(0, 10), (10, 20), (20, 30)], "no host waits for another");
    assert_eq!(of("b"), [(0, 4), (4, 8), (8, 12)]);
}

#[tokio::test(start_paused = true)]
async fn trials_that_share_a_host_never_overlap() {
    let yaml = "
hosts: { a: { ssh: a }, b: { ssh: b }, c: { ssh: c }, server: { ssh: server } }
workloads:
  network:
    services: { server: { host: server, run: serve, ready: { port: '{{ port }}' } } }
    run: send
  disk: { run: write }
matrix:
  - { workload: network, host: [a, b] }
  - { workload: disk, host: [a, b, c] }
repetitions: 4
";
    for seed in 0..8 {
        let world = World::new(|_, command| match command {
            "serve" => crate::world::forever(),
            "send" => takes(3),
            _ => takes(2),
        });
        let happened = world.run(&format!("{yaml}seed: {seed}\n")).await;
        let spans = happened.spans();
        assert!(happened.outcomes().iter().all(|outcome| outcome.status == Status::Ok));
        assert_eq!(spans.len(), 20);
        let mut side_by_side = 0;
        for (index, (one, hosts, start, end)) in spans.iter().enumerate() {
            for (other, others, from, to) in &spans[index + 1..] {
                let overlaps = start < to && from < end;
                let shares = hosts.iter().any(|host| others.contains(host));
                assert!(!(overlaps && shares), "{one} and {other} of {seed}");
                side_by_side += usize::from(overlaps);
            }
        }
        assert!(side_by_side >= 4, "the disk of `c` is busy while the network is");
        let order = |host: &str| -> Vec<_> {
            let planned = happened.plan.trials();
            let planned = planned.filter(|trial| happened.plan.cell(trial.index).hosts().contains(host));
            planned.map(|trial| trial.id()).collect()
        };
        for host in ["a", "b", "c", "server"] {
            let started: Vec<_> = spans
                .iter()
                .filter(|(_, hosts, ..)| hosts.iter().any(|used| used == host))
                .map(|(id, ..)| id.clone())
                .collect();
            assert_eq!(started, order(host), "the order of the plan on {host}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_is_told_busy_and_free() {
    let happened = World::new(|_, _| takes(1)).run(TWO_HOSTS).await;
    let mut busy: Vec<String> = Vec::new();
    for (_, event) in &happened.events {
        match event {
            Event::TrialStarted { hosts, .. } => {
                assert!(hosts.iter().all(|host| !busy.contains(host)));
                busy.extend(hosts.iter().cloned());
            }
            Event::HostsFree { hosts } => busy.retain(|host| !hosts.contains(host)),
            _ => {}
        }
    }
    assert!(busy.is_empty(), "{busy:?}");
}

#[tokio::test(start_paused = true)]
async fn ctrl_c_interrupts_what_runs_and_cleans_up() {
    let yaml = "
workloads: { long: { run: long, cleanup: remove }, other: { run: other, cleanup: remove } }
repetitions: 3
order: sequential
";
    let happened = World::new(|_, command| if command == "remove" { takes(2) } else { takes(10) });
    let happened = happened.stop_after(15).run(yaml).await;
    let seen: Vec<_> =
        happened.outcomes().iter().map(|outcome| (outcome.trial.id(), outcome.status)).collect();
    assert_eq!(
        seen,
        [
            ("long/localhost/native#1".to_owned(), Status::Ok),
            ("long/localhost/native#2".to_owned(), Status::Interrupted)
        ],
        "no further trial is started"
    );
    let interrupted = happened.outcomes()[1];
    assert!(interrupted.measurements.is_empty());
    assert_eq!(interrupted.reason.as_deref(), Some("the run was interrupted"));
    let commands = ["localhost long", "localhost long", "localhost remove"];
    assert_eq!(happened.commands(), commands, "cleanup is still done, and only for what was begun");
    assert!(happened.looks.iter().any(|look| look.contains("remove '/var/tmp/runner-test-")));
    assert_eq!(happened.failed_clean_ups(), []);
    assert_eq!(happened.spans()[1].3, 15, "at once");
}

/// A record has one `elapsed`: that of the tool where the file asks for it, else ours.
#[tokio::test(start_paused = true)]
async fn a_tools_own_elapsed_stands_in_the_place_of_ours() {
    for (keep, expected) in [
        ("", vec![("user", 0.5), ("system", 0.25), ("elapsed", 5.0)]),
        (", keep: [user, elapsed]", vec![("elapsed", 1.25), ("user", 0.5)]),
    ] {
        let yaml = format!(
            "workloads: {{ work: {{ run: time work, metrics: {{ tool: time{keep} }} }} }}\nrepetitions: 1\n"
        );
        let happened = World::new(|_, _| runner::transports::fake::Reply {
            stderr: "real 1.25\nuser 0.50\nsys 0.25\n".into(),
            ..takes(5)
        });
        let happened = happened.run(&yaml).await;
        let measurements = &happened.outcome().measurements;
        let values: Vec<_> = measurements.iter().map(|one| (one.name.as_str(), one.value)).collect();
        assert_eq!(values, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn values_are_read_out_of_what_was_printed() {
    let yaml = "
workloads:
  rate:
    services: { server: { run: serve, ready: { log: ready } } }
    run: measure
    metrics:
      extract:
        sent: { regex: 'sent (\\S+)', unit: Mbit/s, better: higher }
        errors: { regex: '(\\d+) errors', from: stderr, unit: count, better: lower }
        received: { regex: 'received (?<value>\\S+)', from: services.server.stdout, unit: Mbit/s }
repetitions: 1
";
    let happened = World::new(|_, command| match command {
        "serve" => runner::transports::fake::Reply {
            stdout: "ready\nreceived 2.25\n".into(),
            ..crate::world::forever()
        },
        _ => runner::transports::fake::Reply { stderr: "0 errors\n".into(), ..prints("sent 2.5\n") },
    });
    let happened = happened.run(yaml).await;
    let outcome = happened.outcome();
    assert_eq!(outcome.reason, None);
    let values: Vec<_> = outcome
        .measurements
        .iter()
        .map(|measurement| (measurement.name.as_str(), measurement.value, measurement.unit.as_str()))
        .collect();
    assert_eq!(
        values,
        [
            ("sent", 2.5e6, "bit/s"),
            ("errors", 0.0, "count"),
            ("received", 2.25e6, "bit/s"),
            ("elapsed", 0.0, "s")
        ]
    );
    assert_eq!(
        outcome.outputs.keys().collect::<Vec<_>>(),
        ["services/server/stderr", "services/server/stdout", "stderr", "stdout"]
    );
}

const KINDS: &str = "
workloads:
  load:
    run: load
    fetch: [result.json, '*.csv']
    metrics:
      extract:
        rate: { regex: 'rate: (\\S+) MB/s', unit: MB/s, better: higher, fixed: work }
        iops: { json: \"$.jobs[?@.name == 'b'].iops\", from: result.json, unit: 1/s, fixed: time }
        latency: { csv: { column: latency, where: { operation: read }, labels: [threads] }, from: table.csv, unit: ms, better: lower }
        errors: { lines: '^(?<kind>\\w+) errors: (?<value>\\d+)$', from: stderr, unit: count }
repetitions: 1
";

const REPORT: &str = "{\"jobs\": [{\"name\": \"a\", \"iops\": 1}, {\"name\": \"b\", \"iops\": 2500.5}]}";
const TABLE: &str = "operation,threads,latency\nread,1,0.5\nread,4,2.25\nwrite,1,9\n";

/// A machine whose tool prints and leaves the two files.
fn with_files(report: &'static str, table: &'static str) -> World {
    let fetched = move || {
        let file = |name: &str, text: &str| format!("./{name}\0{}\n{text}", text.len());
        file("result.json", report) + &file("table.csv", table)
    };
    let load = runner::transports::fake::Reply {
        stdout: "log 1\nrate: 12.5 MB/s\n".into(),
        stderr: "read errors: 0\nwrite errors: 3\n".into(),
        ..ok()
    };
    World::new(move |_, _| load.clone())
        .looks(move |_, script| script.contains("for p in").then(|| prints(&fetched())))
}

#[tokio::test(start_paused = true)]
async fn each_kind_of_rule_reads_what_was_printed_or_fetched() {
    let happened = with_files(REPORT, TABLE).run(KINDS).await;
    let outcome = happened.outcome();
    assert_eq!(outcome.reason, None);
    let shown = |one: &runner::metrics::Measurement| {
        let labels: Vec<_> = one.labels.iter().map(|(name, value)| format!(" {name}={value}")).collect();
        format!("{} {} {}{} {:?}", one.name, one.value, one.unit, labels.concat(), one.fixed)
    };
    assert_eq!(
        outcome.measurements.iter().map(shown).collect::<Vec<_>>(),
        [
            "rate 12500000 byte/s Some(Work)",
            "iops 2500.5 1/s Some(Time)",
            "latency 0.0005 s threads=1 None",
            "latency 0.00225 s threads=4 None",
            "errors 0 count kind=read None",
            "errors 3 count kind=write None",
            "elapsed 0 s None",
        ]
    );
    let removal = happened.looks.iter().find(|look| look.contains("rm -f -- './result.json' './table.csv'"));
    assert!(removal.is_some(), "no result of an earlier trial may count: {:#?}", happened.looks);
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_does_not_fit_is_a_failure_in_words() {
    for (report, table, reason) in [
        ("{\"jobs\": []}", TABLE, "`$.jobs[?@.name == 'b'].iops` of `iops` leads to nothing, in result.json"),
        (
            REPORT,
            "operation,threads,latency\nread,1,0.5\nread,4,2.2",
            "`csv` of `latency` finds the cell `2.2`, which stands in a last line without a line feed, which may be cut \
             off (let the output end with one, as `; echo` does), in table.csv",
        ),
    ] {
        let happened = with_files(report, table).run(KINDS).await;
        let outcome = happened.outcome();
        assert_eq!((outcome.status, outcome.reason.as_deref()), (Status::Failed, Some(reason)));
        assert!(outcome.measurements.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn an_expression_does_not_choose_among_several_values() {
    let yaml = KINDS.replace("repetitions", "    expect: { when: latency < 1 and iops > 1 }\nrepetitions");
    let happened = with_files(REPORT, TABLE).run(&yaml).await;
    let outcome = happened.outcome();
    assert_eq!(
        outcome.reason.as_deref(),
        Some(
            "expected `when: latency < 1 and iops > 1`, but latency has several values, of which it can't choose one"
        )
    );
}

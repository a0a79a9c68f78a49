//! What a run leaves on machines when it is not let end, and that `runner clean` removes all of it and
//! nothing else. Each test is alone with its marker.

use std::fs;
use std::process::{Command, Output};

use crate::lab::{self, Experiment, Run, assert_clean};

/// A trial on a board and one in its container, each with a daemon that ignores TERM.
fn experiment(marker: &str) -> Experiment {
    Experiment::new(&format!(
        "workloads: {{ w: {{ run: \"trap '' TERM; setsid sleep {marker} & sleep {marker}\" }} }}\n\
         matrix: [{{ host: [lattepanda-a, lattepanda-b], environment: [native, docker] }}]\n\
         order: sequential\nrepetitions: 1\nenvironments: {{ docker: {{ container: {{ build: {}/experiments/images/bench }} }} }}\n",
        lab::ROOT
    ))
}

/// What a process of this test is known by; those of a test that was killed may still run.
fn marker(number: &str) -> String {
    format!("{number}.{}", std::process::id())
}

fn clean(experiment: &Experiment, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runner"));
    command.current_dir(experiment.path()).arg("clean").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn ledger(run: &Run) -> std::path::PathBuf {
    run.directory.as_ref().unwrap().join("ledger.jsonl")
}

/// Starts a run with these options, waits until its first trial is under way, and calls `end`.
fn broken_off(
    experiment: &Experiment,
    marker: &str,
    options: &[&str],
    end: impl Fn(&std::process::Child),
) -> Run {
    let child = experiment.start_with(options);
    lab::eventually("the first trial runs", || is_running(marker));
    end(&child);
    experiment.finished(child.wait_with_output().unwrap())
}

/// Whether it runs on any machine of the lab or in a container: they all share this kernel.
fn is_running(marker: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let wanted = format!("sleep\0{marker}\0");
    let mut lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| line == wanted.as_bytes())
}

fn send(signal: &str) -> impl Fn(&std::process::Child) {
    move |child| lab::signal(child, signal)
}

#[test]
fn a_killed_run_is_cleaned_up_on_all_its_hosts_and_bystanders_stay() {
    let marker = &marker("631");
    let experiment = experiment(marker);
    let run = broken_off(&experiment, marker, &["--axis", "environment=docker,native"], send("KILL"));
    let id = run.id();
    // Things that only look like the run's: of another run, and with its id as a part of another name.
    let other = format!("runner-{}-1", &id.chars().rev().collect::<String>());
    let script = format!(
        "mkdir -p /var/tmp/{other} /var/tmp/x-runner-{id}-1 /var/tmp/runner-{id}0-1; \
         RUNNER_PLACE=:{other}: setsid sleep 632.1 >/dev/null 2>&1 & sleep 0.2"
    );
    lab::on("lattepanda-a", &script);
    let label = format!("org.runner.run={}", &other[7..15]);
    lab::docker(&[
        "run",
        "-d",
        "--name",
        &format!("x-runner-{id}-1"),
        "--label",
        &label,
        "debian:bookworm-slim",
        "sleep",
        "633",
    ]);

    let shown = text(&clean(&experiment, &["--dry-run"]).stderr);
    assert!(shown.contains("left on lattepanda-a: ") && shown.contains("runner clean results/x/"), "{shown}");
    let cleaned = clean(&experiment, &[]);
    let left = [
        lab::on(
            "lattepanda-a",
            &format!("ls -d /var/tmp/{other} /var/tmp/x-runner-{id}-1 /var/tmp/runner-{id}0-1"),
        ),
        lab::processes("lattepanda-a", "sleep 632.1"),
        lab::docker(&["ps", "--format", "{{.Names}}", "-f", &format!("label={label}")]),
    ];
    lab::docker(&["rm", "-f", &format!("x-runner-{id}-1")]);
    lab::on(
        "lattepanda-a",
        &format!(
            "pkill -f 'sleep 632[.]1'; rm -rf /var/tmp/{other} /var/tmp/x-runner-{id}-1 /var/tmp/runner-{id}0-1"
        ),
    );

    assert_eq!(cleaned.status.code(), Some(0), "{}", text(&cleaned.stderr));
    assert!(text(&cleaned.stderr).contains("removed      lattepanda-a: "), "{}", text(&cleaned.stderr));
    for host in ["lattepanda-a", "lattepanda-b"] {
        assert_clean(&run, host, &format!("sleep {marker}"));
    }
    assert!(!ledger(&run).exists() && !is_running(marker));
    assert_eq!(left[0].lines().count(), 3, "directories of others: {}", left[0]);
    assert!(left[1..].iter().all(|found| !found.is_empty()), "the bystanders are gone: {left:?}");
    let again = clean(&experiment, &[run.directory.as_ref().unwrap().to_str().unwrap()]);
    assert!(again.status.success() && text(&again.stderr).contains("nothing is left"), "{again:?}");
}

#[test]
fn a_second_interrupt_leaves_at_once_and_says_what_and_how_to_remove_it() {
    let marker = &marker("634");
    let experiment = experiment(marker);
    let run = broken_off(&experiment, marker, &["--axis", "environment=docker"], |child| {
        lab::signal(child, "INT");
        // Longer than a signal that comes twice at once, shorter than the grace of the trial.
        std::thread::sleep(std::time::Duration::from_millis(1200));
        lab::signal(child, "INT");
    });
    assert_eq!(run.code, Some(130), "{}", run.stderr);
    let name = run.directory.as_ref().unwrap().file_name().unwrap().to_str().unwrap();
    // The machine whose trial had not begun may be clean by then.
    let container = format!(": container runner-{}-", run.id());
    let is_left = |line: &str| line.starts_with("left on lattepanda-") && line.contains(&container);
    assert!(run.stderr.lines().any(is_left), "{}", run.stderr);
    assert!(run.stderr.contains(&format!("`runner clean results/x/{name}`")), "{}", run.stderr);
    let cleaned = clean(&experiment, &[&format!("results/x/{name}")]);
    assert_eq!(cleaned.status.code(), Some(0), "{}", text(&cleaned.stderr));
    assert_clean(&run, "lattepanda-a", &format!("sleep {marker}"));
    assert!(!ledger(&run).exists());
}

#[test]
fn one_signal_ends_a_run_in_order_and_leaves_nothing() {
    for (signal, marker, environment) in
        [("INT", "635.1", "docker"), ("TERM", "636.1", "docker"), ("HUP", "637.1", "native")]
    {
        let experiment = experiment(marker);
        let run =
            broken_off(&experiment, marker, &["--axis", &format!("environment={environment}")], send(signal));
        assert_eq!(run.code, Some(130), "{signal}: {}", run.stderr);
        assert!(!ledger(&run).exists(), "{}", fs::read_to_string(ledger(&run)).unwrap());
        assert_clean(&run, "lattepanda-a", &format!("sleep {marker}"));
        assert!(run.report().contains("This run was interrupted"));
    }
}

#[test]
fn a_run_that_goes_on_is_left_alone() {
    let marker = &marker("638");
    let experiment = experiment(marker);
    let run = broken_off(&experiment, marker, &["--axis", "environment=native"], |child| {
        let all = clean(&experiment, &["--no-lock"]);
        assert!(all.status.success() && text(&all.stderr).contains("a runner is at work"), "{all:?}");
        assert!(is_running(marker));
        lab::signal(child, "TERM");
    });
    assert_clean(&run, "lattepanda-a", &format!("sleep {marker}"));
}

#[test]
fn what_can_not_be_removed_stays_in_the_ledger_and_is_told() {
    let marker = &marker("639");
    let experiment = experiment(marker);
    let run = broken_off(&experiment, marker, &["--axis", "environment=native"], send("KILL"));
    let nowhere = "hosts: { lattepanda-b: { ssh: bench@127.0.0.1:1 } }\n";
    fs::write(experiment.path().join("gone.yaml"), nowhere).unwrap();
    let part = clean(&experiment, &["--hosts", "gone.yaml"]);
    assert_eq!(part.status.code(), Some(4), "{}", text(&part.stderr));
    let told = text(&part.stderr);
    assert!(told.contains("still there  lattepanda-b: ") && told.contains("127.0.0.1:1"), "{told}");
    assert_clean(&run, "lattepanda-a", &format!("sleep {marker}"));
    assert!(ledger(&run).exists());
    assert_eq!(clean(&experiment, &[]).status.code(), Some(0));
    assert!(!ledger(&run).exists());
}

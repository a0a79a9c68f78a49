//! Runners that are killed at random moments of a run whose hosts are made for it: `runner clean` leaves nothing of
//! them, neither as their makers tell it nor as the containers that stand for them here.

use std::time::Duration;

use super::lab::{Experiment, aws, docker, random};
use super::{ecs, vagrant};

/// Kills runs of `make` at `kills` moments within `longest`. `left` tells what is there of an experiment.
fn kill(
    longest: Duration,
    kills: u32,
    make: impl Fn(u32) -> Experiment,
    left: impl Fn(&Experiment) -> String,
) {
    for number in 0..kills {
        let temporary = tempfile::tempdir().unwrap();
        let experiment = make(number).with("TMPDIR", temporary.path().to_str().unwrap());
        let moment = Duration::from_millis(random(longest.as_millis() as u64));
        let mut child = experiment.start();
        std::thread::sleep(moment);
        child.kill().unwrap();
        child.wait().unwrap();
        let cleaned = experiment.runner(&["clean", "--no-lock"]);
        let said = String::from_utf8_lossy(&cleaned.stderr);
        println!("killed after {moment:?}: {}", said.lines().next_back().unwrap_or_default());
        assert!(cleaned.status.success(), "killed after {moment:?}: {said}");
        assert_eq!(left(&experiment), "", "killed after {moment:?}: {said}");
        // Vagrant has files of its own there.
        let names = std::fs::read_dir(temporary.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let own: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with("runner-")).collect();
        assert_eq!(own, [""; 0], "killed after {moment:?}: {said}");
    }
}

#[test]
#[ignore = "takes minutes, to find a moment that the three of the short test do not: `make soak`"]
fn no_instance_is_left_of_a_run_killed_at_a_random_moment() {
    let instances = |tag: &str, states: &str| {
        let filters =
            [format!("Name=tag:soak,Values={tag}"), format!("Name=instance-state-name,Values={states}")];
        let found = aws("ministack", &["ec2", "describe-instances", "--filters", &filters[0], &filters[1]]);
        let reservations = found["Reservations"].as_array().unwrap();
        let ids = reservations.iter().flat_map(|one| one["Instances"].as_array().unwrap());
        ids.map(|one| one["InstanceId"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let tag = |experiment: &Experiment| experiment.path().file_name().unwrap().to_string_lossy().into_owned();
    let make = |_| {
        let host = "ami: 'resolve:ssm:/runner-lab/ami', instance_type: t3.micro, user: bench, \
            identity: ~/.local/share/runner-lab/id_ed25519, ttl: 20m";
        let experiment = Experiment::in_cloud("", "ministack");
        let yaml = format!(
            "hosts: {{ node: {{ ec2: {{ {host}, count: 2, tags: {{ soak: '{}' }} }} }} }}\n\
             workloads: {{ w: {{ run: sleep 0.2 }} }}\nmatrix: [{{ host: [node-1, node-2], environment: native }}]\n\
             repetitions: 20\n",
            tag(&experiment)
        );
        std::fs::write(experiment.path().join("x.yaml"), yaml).unwrap();
        experiment
    };
    kill(Duration::from_secs(14), 12, make, |experiment| {
        let living = instances(&tag(experiment), "pending,running,stopping,stopped");
        let ended = instances(&tag(experiment), "shutting-down,terminated");
        let container = |id: &String| docker(&["ps", "-aq", "--filter", &format!("label=instance_id={id}")]);
        format!("{}{}", living.concat(), ended.iter().map(container).collect::<String>())
    });
}

#[test]
#[ignore = "takes minutes, to find a moment that the three of the short test do not: `make soak`"]
fn no_task_is_left_of_a_run_killed_at_a_random_moment() {
    let marker = |number: u32| format!("sleep 3.8{number:03}");
    let number = std::cell::Cell::new(0);
    let make = |next| {
        number.set(next);
        ecs::short(&marker(next))
    };
    kill(Duration::from_secs(20), 12, make, |experiment| {
        let runs = std::fs::read_dir(experiment.path().join("results/x")).into_iter().flatten();
        let manifests =
            runs.filter_map(|run| std::fs::read_to_string(run.ok()?.path().join("manifest.json")).ok());
        let ids = manifests.map(|text| {
            serde_json::from_str::<serde_json::Value>(&text).unwrap()["id"].as_str().unwrap().to_owned()
        });
        let tasks: String = ids.map(|id| ecs::unreleased(&id)).collect();
        format!("{tasks}{}", ecs::containers(&marker(number.get())))
    });
}

#[test]
#[ignore = "takes minutes, to find a moment that the two of the short test do not: `make soak`"]
fn no_machine_is_left_of_a_run_killed_at_a_random_moment() {
    kill(Duration::from_secs(25), 12, |_| vagrant::slow(), vagrant::left);
}

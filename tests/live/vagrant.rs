//! Machines of Vagrant, by its own docker provider with the lab's image: what it brings up and what becomes of it,
//! whenever the run ends. Each test has a folder of its own, whose name is in the names of its containers.

use std::fs;
use std::process::{Child, Command, Output};

use serde_json::Value;

use crate::lab::{self, Experiment, Run, eventually};

/// The image that `lab/up` makes for this.
const IMAGE: &str = "runner-lab-vagrant";

/// Two machines of one Vagrantfile, and `yaml` for the hosts `vm1` and `vm2`; `after` is what becomes of them.
fn experiment(after: &str, yaml: &str) -> Experiment {
    let hosts = ["1", "2"].map(|number| {
        let machine = format!("directory: vms, machine: m{number}, provider: docker");
        format!("  vm{number}: {{ vagrant: {{ {machine}, after: {after} }} }}\n")
    });
    let experiment = Experiment::new(&format!("hosts:\n{}{yaml}", hosts.concat()));
    let vms = experiment.path().join("vms");
    fs::create_dir(&vms).unwrap();
    let home = std::env::var("HOME").unwrap();
    let own = own(&experiment);
    let text = format!(
        r#"Vagrant.configure("2") do |config|
  config.vm.synced_folder ".", "/vagrant", disabled: true
  config.ssh.username = "bench"
  config.ssh.private_key_path = "{home}/.local/share/runner-lab/id_ed25519"
  config.ssh.insert_key = false
  ["m1", "m2"].each do |name|
    config.vm.define name do |machine|
      machine.vm.provider "docker" do |docker|
        docker.name = "{own}-#{{name}}"
        docker.image = "{IMAGE}"
        docker.has_ssh = true
        docker.create_args = ["--security-opt", "systempaths=unconfined"]
      end
    end
  end
end
"#
    );
    fs::write(vms.join("Vagrantfile"), text).unwrap();
    experiment
}

/// How the names of an experiment's containers begin.
fn own(experiment: &Experiment) -> String {
    let name = experiment.path().file_name().unwrap().to_string_lossy().into_owned();
    format!("vagrant{}", name.replace(|c: char| !c.is_alphanumeric(), ""))
}

/// Name and state of each container of an experiment.
fn containers(experiment: &Experiment) -> Vec<String> {
    let own = own(experiment);
    let filter = format!("name={own}");
    let printed = lab::docker(&["ps", "-a", "--filter", &filter, "--format", "{{.Names}} {{.State}}"]);
    let mut found: Vec<String> = printed.lines().map(|line| line.replace(&own, "")).collect();
    found.sort();
    found
}

/// What Vagrant itself knows of the machines in `folder`.
fn states(experiment: &Experiment, folder: &str) -> Vec<String> {
    let folder = experiment.path().join(folder);
    let output = Command::new("vagrant").args(["status", "--machine-readable"]).current_dir(folder).output();
    let printed = String::from_utf8(output.unwrap().stdout).unwrap();
    let states = printed.lines().filter_map(|line| line.split_once(",state,"));
    states.map(|(_, state)| state.to_owned()).collect()
}

/// What is there of the machines of an experiment; nothing once they are gone.
pub fn left(experiment: &Experiment) -> String {
    let there = states(experiment, "vms").into_iter().filter(|state| state != "not_created");
    containers(experiment).into_iter().chain(there).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn assert_nothing_left(experiment: &Experiment) {
    assert_eq!(left(experiment), "");
}

fn facts(run: &Run, host: &str) -> Value {
    let path = run.directory.as_ref().unwrap().join(format!("hosts/{host}.json"));
    let facts: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    facts["facts"].clone()
}

fn clean(experiment: &Experiment) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runner"));
    command.current_dir(experiment.path()).args(["clean", "--no-lock"]).output().unwrap()
}

const QUICK: &str =
    "workloads: { w: { run: 'true' } }\nmatrix: [{ host: vm1, environment: native }]\nrepetitions: 1\n";

#[test]
fn two_machines_of_one_folder_measure_their_network_and_are_gone() {
    let experiment = experiment(
        "restore",
        "workloads:\n  w:\n    services: { server: { run: 'iperf3 --server --port {{ port }}', host: vm2, ready: { port: '{{ port }}' } } }\n\
         \x20   run: [iperf3, --client, '{{ services.server.address }}', --port, '{{ services.server.port }}', --time, '1', --json]\n\
         \x20   metrics: { tool: iperf3 }\n    prepare: [{ drop_caches: [guest, host] }]\n\
         matrix: [{ host: vm1, environment: native }]\nrepetitions: 2\n",
    );
    let run = experiment.run(&["--verbose"]);
    run.assert_ok();
    assert_eq!(run.records.len(), 2);
    let dropped =
        run.records[0]["caches"].as_array().unwrap().iter().map(|drop| drop["host"].as_str().unwrap());
    assert_eq!(dropped.collect::<Vec<_>>(), ["vm1", "localhost"]);
    for said in [
        "vm1: bringing up Vagrant machine m1 in",
        "Machine booted and ready!",
        "vm2: destroying Vagrant machine m2",
    ] {
        assert!(run.stderr.contains(said), "{said}: {}", run.stderr);
    }
    let facts = facts(&run, "vm1");
    assert!(facts["box"].as_str().unwrap().starts_with("runner-lab-vagrant "), "{facts}");
    assert_eq!(
        (facts["provider"].as_str(), facts["synced folders"].as_str()),
        (Some("docker"), Some("none"))
    );
    assert!(facts["Vagrant"].is_string() && facts["came up in"].as_str().unwrap().ends_with(" s"), "{facts}");
    assert!(run.report().contains("synced folders"), "{}", run.report());
    assert_nothing_left(&experiment);
}

#[test]
fn machines_are_given_back_as_the_file_says_and_running_ones_go_on() {
    let experiment = experiment("halt", QUICK);
    let change = |to: &str| {
        let path = experiment.path().join("x.yaml");
        let text = fs::read_to_string(&path).unwrap();
        let changed = ["halt", "restore", "leave"]
            .iter()
            .fold(text, |text, after| text.replace(&format!("after: {after}"), &format!("after: {to}")));
        fs::write(path, changed).unwrap();
    };
    experiment.run(&[]).assert_ok();
    assert_eq!(containers(&experiment), ["-m1 exited"]);
    // What was halted is halted again.
    change("restore");
    experiment.run(&[]).assert_ok();
    assert_eq!(containers(&experiment), ["-m1 exited"]);
    change("leave");
    experiment.run(&[]).assert_ok();
    assert_eq!(containers(&experiment), ["-m1 running"]);
    change("restore");
    let running = experiment.run(&["--verbose"]);
    running.assert_ok();
    assert!(!running.stderr.contains("bringing up"), "{}", running.stderr);
    assert!(facts(&running, "vm1").get("came up in").is_none());
    assert_eq!(containers(&experiment), ["-m1 running"]);
    let destroyed = Command::new("vagrant")
        .args(["destroy", "--force"])
        .current_dir(experiment.path().join("vms"))
        .output()
        .unwrap();
    assert!(destroyed.status.success());
    assert_nothing_left(&experiment);
}

/// A trial that takes its time, on both machines.
pub fn slow() -> Experiment {
    experiment(
        "restore",
        "workloads: { w: { run: sleep 600 } }\nmatrix: [{ host: [vm1, vm2], environment: native }]\nrepetitions: 1\n",
    )
}

/// Waits until the trial is under way in the first machine of `experiment`.
fn until_measured(experiment: &Experiment) {
    let found = containers(experiment);
    eventually("a machine is up", || containers(experiment).len() == 2);
    let own = own(experiment);
    let is_measuring = || {
        let top = Command::new("docker").args(["top", &format!("{own}-m1")]).output().unwrap();
        String::from_utf8_lossy(&top.stdout).contains("sleep 600")
    };
    eventually(&format!("the trial runs in {found:?}"), is_measuring);
}

/// Waits until the container of a machine that is being brought up is there.
fn until_half_up(experiment: &Experiment) {
    eventually("a container is made", || !containers(experiment).is_empty());
}

fn interrupted(experiment: &Experiment, child: Child) -> Run {
    lab::interrupt(&child);
    experiment.finished(child.wait_with_output().unwrap())
}

#[test]
fn an_interrupt_while_machines_come_up_leaves_none_and_no_run() {
    let experiment = slow();
    for wait in [until_half_up, |_: &Experiment| std::thread::sleep(std::time::Duration::from_millis(2500))] {
        let child = experiment.start();
        wait(&experiment);
        let run = interrupted(&experiment, child);
        assert_eq!(run.code, Some(130), "{}", run.stderr);
        assert_nothing_left(&experiment);
        assert!(run.directory.is_none(), "a run that measured nothing leaves nothing: {}", run.stderr);
    }
}

#[test]
fn an_interrupt_while_a_trial_runs_leaves_no_machine() {
    let experiment = slow();
    let child = experiment.start();
    until_measured(&experiment);
    let run = interrupted(&experiment, child);
    assert_eq!(run.code, Some(130), "{}", run.stderr);
    assert!(!run.directory.as_ref().unwrap().join("ledger.jsonl").exists());
    assert_nothing_left(&experiment);
}

#[test]
fn what_a_killed_run_has_brought_up_is_cleaned_up() {
    for wait in [until_half_up, until_measured] {
        let experiment = slow();
        let child = experiment.start();
        wait(&experiment);
        lab::signal(&child, "KILL");
        experiment.finished(child.wait_with_output().unwrap());
        let cleaned = clean(&experiment);
        let said = String::from_utf8_lossy(&cleaned.stderr).into_owned();
        assert_eq!(cleaned.status.code(), Some(0), "{said}");
        assert!(said.contains("Vagrant machine: destroy m1 in /"), "{said}");
        assert_nothing_left(&experiment);
    }
}

#[test]
fn a_vagrantfile_is_made_of_fields() {
    let folders = "[{ type: docker, host: 'it''s #{1}', guest: /mnt/shared }]";
    let fields = format!(
        "box: {IMAGE}, user: bench, identity: ~/.local/share/runner-lab/id_ed25519, cpus: 1, memory: 256MiB, synced_folders: {folders}"
    );
    let experiment = Experiment::new(&format!(
        "hosts: {{ vm: {{ vagrant: {{ provider: docker, vagrantfile: {{ {fields} }} }} }} }}\n\
         workloads: {{ w: {{ run: 'cat /mnt/shared/word', metrics: {{ extract: {{ n: {{ regex: '(\\d+)' }} }} }} }} }}\nmatrix: [{{ host: vm, environment: native }}]\nrepetitions: 1\n"
    ));
    let shared = experiment.path().join("it's #{1}");
    fs::create_dir_all(&shared).unwrap();
    fs::write(shared.join("word"), "42\n").unwrap();
    let run = experiment.run(&[]);
    run.assert_ok();
    assert_eq!(run.records[0]["measurements"][0]["value"], 42.0);
    assert_eq!(facts(&run, "vm")["synced folders"], "/mnt/shared: docker");
    assert_eq!(states(&experiment, ".runner/vagrant/vm"), ["not_created"]);
    let vagrantfile = experiment.path().join(".runner/vagrant/vm/Vagrantfile");
    fs::write(&vagrantfile, "Vagrant.configure('2') { |config| }\n").unwrap();
    let refused = experiment.run(&[]);
    assert!(refused.stderr.contains("is not of `runner`, and is not overwritten"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(vagrantfile).unwrap(), "Vagrant.configure('2') { |config| }\n");
}

#[test]
fn reach_brings_nothing_up_and_a_missing_vagrant_is_told() {
    let experiment = experiment("restore", QUICK);
    let check = |path: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_runner"));
        command.current_dir(experiment.path()).args(["check", "--reach", "x.yaml"]);
        command
            .env("PATH", path.map_or_else(|| std::env::var("PATH").unwrap(), str::to_owned))
            .output()
            .unwrap()
    };
    let text = |output: &Output| {
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let reached = check(None);
    assert_eq!(reached.status.code(), Some(0), "{}", text(&reached));
    assert!(text(&reached).contains("not created: a run brings it up"), "{}", text(&reached));
    assert_nothing_left(&experiment);
    let missing = check(Some("/nonexistent"));
    assert_ne!(missing.status.code(), Some(0));
    let said = text(&missing);
    assert!(
        said.contains("`vagrant` is not installed on this machine")
            && said.contains("apt-get install vagrant"),
        "{said}"
    );
}

#[test]
fn a_machine_that_came_up_in_part_is_made_anew_before_it_is_measured() {
    let experiment = experiment(
        "restore",
        "  here: { local: {} }
workloads: { w: { run: 'test ! -e /tmp/half && echo {{ host.address }}' } }
matrix: [{ host: [here, vm1], environment: native }]
repetitions: 1
deadline: 4m
",
    );
    let vagrantfile = experiment.path().join("vms/Vagrantfile");
    let whole = fs::read_to_string(&vagrantfile).unwrap();
    let failing =
        "  config.vm.provision \"shell\", privileged: false, inline: \"touch /tmp/half; exit 1\"\nend\n";
    fs::write(&vagrantfile, whole.trim_end().strip_suffix("end").unwrap().to_owned() + failing).unwrap();
    let child = experiment.start_with(&["--log", "log"]);
    let log = experiment.path().join("log");
    eventually("the machine has failed", || {
        fs::read_to_string(&log).unwrap_or_default().contains("host failed")
    });
    fs::write(&vagrantfile, whole).unwrap();
    let run = experiment.finished(child.wait_with_output().unwrap());
    run.assert_ok();
    let address = fs::read(run.directory.as_ref().unwrap().join("output/w/vm1/native/1/stdout")).unwrap();
    let address = String::from_utf8(address).unwrap();
    assert!(address.trim().parse::<std::net::IpAddr>().is_ok(), "{address}");
    assert_nothing_left(&experiment);
}

#[test]
fn a_killed_run_goes_on_with_its_machine_and_gives_it_back() {
    let experiment = experiment(
        "restore",
        "workloads: { w: { run: sleep 0.5 } }\nmatrix: [{ host: vm1, environment: native }]\nrepetitions: 12\n",
    );
    let child = experiment.start();
    let records = || {
        let runs = fs::read_dir(experiment.path().join("results/x")).into_iter().flatten();
        let texts = runs.filter_map(|run| fs::read_to_string(run.ok()?.path().join("records.jsonl")).ok());
        texts.map(|text| text.lines().count()).sum::<usize>()
    };
    eventually("two trials are done", || records() >= 2);
    lab::signal(&child, "KILL");
    experiment.finished(child.wait_with_output().unwrap());
    assert_eq!(containers(&experiment), ["-m1 running"]);
    let run = experiment.run(&["--resume", "--verbose"]);
    run.assert_ok();
    assert!(run.records.len() >= 12, "{}", run.records.len());
    assert!(run.stderr.contains("vm1: destroying Vagrant machine m1 in"), "{}", run.stderr);
    assert_nothing_left(&experiment);
}

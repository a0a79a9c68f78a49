//! Tasks of ECS on the lab's cloud, where each is a container: outputs byte by byte, services, failures, and nothing
//! left behind whenever it is ended.

use std::time::Duration;

use serde_json::Value;

use super::lab::{Experiment, Run, aws, docker, eventually, host_image, interrupt, signal};

fn experiment(yaml: &str) -> Experiment {
    Experiment::in_cloud(&declared("", yaml), "ministack")
}

fn declared(more: &str, yaml: &str) -> String {
    let image = host_image();
    format!(
        "hosts: {{ fargate: {{ ecs: {{ cluster: runner-lab, subnets: [subnet-00000001]{more} }} }} }}
environments:
  native: {{}}
  task: {{ container: {{ image: \"{image}\", cpus: 0.25, memory: 512MiB }} }}
repetitions: 1
{yaml}"
    )
}

const ON_CLUSTER: &str = "matrix: [{ host: fargate, environment: task }]\n";

/// Neither a task that runs nor a definition of the run is there.
#[track_caller]
fn assert_released(run: &str) {
    assert_eq!(unreleased(run), "");
}

/// The tasks of a run that live, and its definitions.
pub fn unreleased(run: &str) -> String {
    let name = format!("runner-{run}");
    let tasks = aws("ministack", &["ecs", "list-tasks", "--cluster", "runner-lab", "--started-by", &name]);
    let list = ["ecs", "list-task-definitions", "--family-prefix", &name, "--status", "ACTIVE"];
    let definitions = aws("ministack", &list);
    let all = [&tasks["taskArns"], &definitions["taskDefinitionArns"]];
    all.into_iter().flat_map(|all| all.as_array().unwrap()).map(Value::to_string).collect()
}

/// A run of five trials that sleep for a moment, each in a task.
pub fn short(marker: &str) -> Experiment {
    let yaml = format!("{ON_CLUSTER}workloads: {{ w: {{ run: {marker} }} }}\n");
    Experiment::in_cloud(&declared("", &yaml).replace("repetitions: 1", "repetitions: 5"), "ministack")
}

/// The containers of the tasks of a run that still run.
pub fn containers(marker: &str) -> String {
    let running = docker(&["ps", "--no-trunc", "--filter", "name=ministack-ecs", "--format", "{{.Command}}"]);
    running.lines().filter(|line| line.contains(marker)).collect::<Vec<_>>().join("\n")
}

fn output(run: &Run, name: &str) -> Vec<u8> {
    std::fs::read(run.directory.as_ref().unwrap().join("output").join(name)).unwrap()
}

#[test]
fn the_output_of_a_task_comes_back_byte_by_byte() {
    let workload = r#"
workloads:
  bytes:
    run: "printf 'a\\n\\n\\377\\000\\r\\n  b'; head -c 300000 /dev/urandom | tee /dev/stderr | md5sum; exit 0"
    env: { WORD: "it's" }
  fails: { run: "echo $0 gone >&2; exit 3" }
"#;
    let run = experiment(&format!("{ON_CLUSTER}{workload}")).run(&[]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let stdout = output(&run, "bytes/fargate/task/1/stdout");
    assert!(stdout.starts_with(b"a\n\n\xff\0\r\n  b"), "{stdout:?}");
    let stderr = run.directory.as_ref().unwrap().join("output/bytes/fargate/task/1/stderr");
    let found = std::process::Command::new("md5sum").arg(&stderr).output().unwrap();
    let found = String::from_utf8(found.stdout).unwrap();
    let stdout = String::from_utf8_lossy(&stdout).into_owned();
    assert!(stdout.contains(&found[..32]), "{found} is not the sum in {stdout}");
    let failed = run.records.iter().find(|record| record["workload"] == "fails").unwrap();
    assert_eq!(failed["reason"], "the command failed (exit code 3): sh gone");
    assert_eq!(failed["stage"], "run");
    assert_released(&run.id());
    let facts = std::fs::read_to_string(run.directory.as_ref().unwrap().join("hosts/fargate.json")).unwrap();
    let facts: Value = serde_json::from_str(&facts).unwrap();
    assert_eq!(facts["facts"]["tasks on"], "Fargate", "{facts}");
    assert_eq!(facts["facts"]["region"], "us-east-1", "{facts}");
    assert_eq!(facts["facts"]["task: task of 0.25 CPUs and 512 MiB"], host_image(), "{facts}");
}

#[test]
fn a_server_in_a_task_is_measured_in_both_directions() {
    let workload = "
matrix: [{ workload: network, host: lattepanda-a, environment: native, direction: [--reverse, --no-delay] }]
workloads:
  network:
    parameters: { direction: --reverse }
    services:
      server:
        host: fargate
        environment: task
        run: iperf3 --server --port {{ port }}
        ready: { port: '{{ port }}' }
    run: iperf3 --client {{ services.server.address }} --port {{ services.server.port }} --connect-timeout 3000 --time 1 {{ direction }} --json
    metrics: { tool: iperf3 }
";
    let run = experiment(workload).run(&[]);
    run.assert_ok();
    assert_eq!(run.records.len(), 2);
    for direction in ["--reverse", "--no-delay"] {
        let text = output(
            &run,
            &format!("network/lattepanda-a/native/direction={direction}/1/services/server/stdout"),
        );
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("Server listening on 20000") && text.contains("Accepted connection"), "{text}");
    }
    assert_released(&run.id());
}

#[test]
fn a_task_that_does_not_start_or_takes_too_long_says_why() {
    let yaml = "
matrix: [{ host: fargate, environment: [task, missing] }]
workloads: { slow: { run: sleep 615.1, timeout: 2s } }
";
    let missing = "  missing: { container: { image: runner-lab/no-such-image, cpus: 0.25, memory: 512MiB } }\nrepetitions";
    let yaml = declared("", yaml).replacen("repetitions", missing, 1);
    let run = Experiment::in_cloud(&yaml, "ministack").run(&[]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let reason = |environment: &str| {
        let record = run.records.iter().find(|record| record["environment"] == environment).unwrap();
        record["reason"].as_str().unwrap().to_owned()
    };
    assert_eq!(reason("task"), "`sleep 615.1` was ended after its timeout of 2s");
    let missing = reason("missing");
    let start = "`fargate`: the task did not start: TaskFailedToStart: ResourceInitializationError";
    assert!(missing.starts_with(start), "{missing}");
    assert_eq!(containers("sleep 615.1"), "");
    assert_released(&run.id());
}

#[test]
fn whenever_it_is_interrupted_nothing_is_left() {
    for (number, wait) in [0, 1500, 4000].into_iter().enumerate() {
        let marker = format!("sleep 616.{number}");
        let experiment = experiment(&format!("{ON_CLUSTER}workloads: {{ w: {{ run: {marker} }} }}\n"));
        let child = experiment.start();
        match wait {
            0 => eventually("the task runs", || !containers(&marker).is_empty()),
            wait => std::thread::sleep(Duration::from_millis(wait)),
        }
        interrupt(&child);
        let run = experiment.finished(child.wait_with_output().unwrap());
        assert_eq!(run.code, Some(130), "{}", run.stderr);
        eventually("its container is gone", || containers(&marker).is_empty());
        if run.directory.is_some() {
            assert_released(&run.id());
        }
    }
}

#[test]
fn a_runner_that_was_killed_leaves_a_task_that_clean_stops() {
    let marker = "sleep 617.1";
    let experiment = experiment(&format!("{ON_CLUSTER}workloads: {{ w: {{ run: {marker} }} }}\n"));
    let child = experiment.start();
    eventually("the task runs", || !containers(marker).is_empty());
    signal(&child, "KILL");
    let run = experiment.finished(child.wait_with_output().unwrap());
    // Elsewhere it is not found, which does not say that it is gone.
    let elsewhere = experiment.with("AWS_ACCESS_KEY_ID", "111111111111");
    let refused = elsewhere.runner(&["clean"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(4), "{said}");
    assert!(
        said.contains("it was made in account 000000000000 in us-east-1, and this is account 111111111111"),
        "{said}"
    );
    assert!(!containers(marker).is_empty());
    let experiment = elsewhere.with("AWS_ACCESS_KEY_ID", "test");
    let cleaned = experiment.runner(&["clean"]);
    assert!(cleaned.status.success(), "{}", String::from_utf8_lossy(&cleaned.stderr));
    let said = String::from_utf8_lossy(&cleaned.stderr).into_owned();
    assert!(said.contains(&format!("removed      fargate: ECS tasks of runner-{}", run.id())), "{said}");
    eventually("its container is gone", || containers(marker).is_empty());
    assert_released(&run.id());
    let again = experiment.runner(&["clean"]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("nothing is left"));
}

#[test]
fn a_task_that_was_asked_for_when_the_runner_was_killed_is_found() {
    let marker = "sleep 618.1";
    let experiment = experiment(&format!("{ON_CLUSTER}workloads: {{ w: {{ run: {marker} }} }}\n"));
    let child = experiment.start();
    let results = experiment.path().join("results/x");
    let ledger = || {
        let runs = std::fs::read_dir(&results).into_iter().flatten();
        runs.filter_map(|run| std::fs::read_to_string(run.ok()?.path().join("ledger.jsonl")).ok())
            .collect::<String>()
    };
    eventually("the task is asked for", || ledger().contains("asked for as number"));
    signal(&child, "KILL");
    let run = experiment.finished(child.wait_with_output().unwrap());
    let cleaned = experiment.runner(&["clean"]);
    assert!(cleaned.status.success(), "{}", String::from_utf8_lossy(&cleaned.stderr));
    eventually("its container is gone", || containers(marker).is_empty());
    assert_released(&run.id());
}

#[test]
fn what_is_missing_is_said_before_anything_runs() {
    let workload = "workloads: { w: { run: 'true' } }\n";
    let run = experiment(&format!("{ON_CLUSTER}{workload}")).with("PATH", "/nowhere").run(&[]);
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    assert!(run.stderr.contains("`aws` is not installed on this machine"), "{}", run.stderr);
    assert!(run.stderr.contains("apt-get install awscli"), "{}", run.stderr);
    assert!(run.directory.is_none(), "a run that never began leaves nothing");
    let yaml = declared("", &format!("{ON_CLUSTER}{workload}")).replace("runner-lab, sub", "no-such, sub");
    let run = Experiment::in_cloud(&yaml, "ministack").run(&[]);
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    assert!(run.stderr.contains("there is no active ECS cluster `no-such`"), "{}", run.stderr);
}

/// moto runs nothing, but its tasks go through the steps of those of AWS, and have network interfaces.
#[test]
fn an_address_is_looked_for_at_the_network_interface() {
    aws("moto", &["ecs", "create-cluster", "--cluster-name", "runner-lab"]);
    let subnets = aws("moto", &["ec2", "describe-subnets"]);
    let subnet = subnets["Subnets"][0]["SubnetId"].as_str().unwrap();
    let yaml = declared(", address: public", &format!("{ON_CLUSTER}workloads: {{ w: {{ run: 'true' }} }}\n"));
    let run = Experiment::in_cloud(&yaml.replace("subnet-00000001", subnet), "moto").run(&[]);
    let why = "the task has no address of the wanted kind; help: add `assign_public_ip: true`";
    run.assert_failed("run", &[why]);
    let list =
        ["ecs", "list-tasks", "--cluster", "runner-lab", "--started-by", &format!("runner-{}", run.id())];
    let tasks = aws("moto", &list);
    // It lists stopped ones too.
    let task = tasks["taskArns"][0].as_str().unwrap();
    let found = aws("moto", &["ecs", "describe-tasks", "--cluster", "runner-lab", "--tasks", task]);
    assert_eq!(found["tasks"][0]["desiredStatus"], "STOPPED", "{found}");
}

//! Keys of the language on machines over SSH and in their containers.

use std::fs;

use super::lab::{self, Experiment, Run, assert_clean};

fn bench(more: &str) -> String {
    format!("{{ container: {{ build: {}/experiments/images/bench{more} }} }}", lab::ROOT)
}

/// What each trial printed or fetched as `name`, by the trial's name.
fn outputs(run: &Run, name: &str) -> Vec<(String, String)> {
    let directory = run.directory.as_ref().unwrap();
    let text = |record: &serde_json::Value| {
        let outputs = record["outputs"].as_array().unwrap().iter();
        let mut paths = outputs.map(|output| output["path"].as_str().unwrap());
        let path = paths.find(|path| path.ends_with(name)).unwrap_or_else(|| panic!("no {name}: {record:#}"));
        fs::read_to_string(directory.join(path)).unwrap()
    };
    let mut outputs: Vec<_> = run
        .records
        .iter()
        .map(|record| (record["trial"].as_str().unwrap().to_owned(), text(record)))
        .collect();
    outputs.sort();
    outputs
}

#[test]
fn one_container_serves_the_whole_run_with_a_directory_for_each_cell() {
    let run = Experiment::new(&format!(
        "environments: {{ box: {} }}
workloads:
  one: {{ setup: touch mine, run: cat /etc/hostname; ls }}
  two: {{ setup: touch yours, run: cat /etc/hostname; ls }}
matrix: [{{ host: lattepanda-a, environment: box }}]
repetitions: 2
",
        bench(", fresh: run")
    ))
    .run(&[]);
    run.assert_ok();
    let printed = outputs(&run, "stdout");
    let lines: Vec<Vec<&str>> = printed.iter().map(|(_, text)| text.lines().collect()).collect();
    assert!(lines.iter().all(|line| line[0] == lines[0][0]), "one container: {printed:?}");
    assert_eq!((&lines[0][1..], &lines[3][1..]), (&["mine"][..], &["yours"][..]));
    assert_clean(&run, "lattepanda-a", "sleep 621.1");
}

#[test]
fn a_shared_container_that_dies_costs_each_cell_one_trial_at_most() {
    let marker = format!("/tmp/runner-test-shared-{}", std::process::id());
    let run = Experiment::new(&format!(
        "environments: {{ box: {} }}
workloads:
  killer:
    setup: {{ run: touch {marker}, on: host }}
    run: test {{{{ trial.repetition }}}} != 2 || kill -KILL -1
    cleanup: {{ run: rm -f {marker}, on: host }}
  victim: {{ run: 'true' }}
matrix: [{{ host: lattepanda-a, environment: box }}]
repetitions: 4
",
        bench(", fresh: run")
    ))
    .run(&[]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    for workload in ["killer", "victim"] {
        let failed = run.records.iter().filter(|record| record["workload"] == workload);
        let failed = failed.filter(|record| record["status"] == "failed").count();
        assert!(failed <= 1, "{workload} failed {failed} times: {}", run.stderr);
    }
    assert_eq!(lab::on("lattepanda-a", &format!("ls {marker} 2>/dev/null; true")), "", "undone on the host");
    assert_clean(&run, "lattepanda-a", "sleep 621.1");
}

#[test]
fn variables_and_files_reach_a_board_and_its_container() {
    let experiment = Experiment::new(&format!(
        "environments: {{ native: {{ env: {{ WHERE: board }} }}, box: {} }}
workloads:
  copy:
    env: {{ WHERE: 'in \"{{{{ environment }}}}\"' }}
    files: [data, {{ from: tool.sh, to: bin/tool }}]
    run: [sh, bin/tool]
    fetch: ['out/*', kept]
matrix: [{{ host: [lattepanda-a, lattepanda-b], environment: [native, box] }}]
repetitions: 1
",
        bench("")
    ));
    let (data, tool) = (experiment.path().join("data"), experiment.path().join("tool.sh"));
    fs::create_dir(&data).unwrap();
    fs::write(data.join("in put"), [0_u8, 255, 10]).unwrap();
    fs::write(tool, "mkdir out; cp 'data/in put' 'out/put out'; echo \"$WHERE\" >kept\n").unwrap();
    let run = experiment.run(&[]);
    run.assert_ok();
    let kept: Vec<String> = outputs(&run, "files/kept").into_iter().map(|(_, text)| text).collect();
    assert_eq!(kept, ["in \"box\"\n", "in \"native\"\n", "in \"box\"\n", "in \"native\"\n"]);
    let directory = run.directory.as_ref().unwrap();
    for record in &run.records {
        let cell = record["cell"].as_str().unwrap();
        let path = directory.join(format!("output/{cell}/1/files/out/put out"));
        assert_eq!(fs::read(path).unwrap(), [0, 255, 10], "{cell}");
    }
    assert_clean(&run, "lattepanda-a", "sleep 621.1");
}

#[test]
fn limits_can_be_parameters() {
    let run = Experiment::new(&format!(
        "environments: {{ box: {} }}
workloads:
  look:
    parameters: {{ memory: 64MiB, cpus: 1 }}
    run: cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null; true
    expect: {{ exit: 0 }}
matrix: [{{ host: lattepanda-a, environment: box, zip: [{{ memory: [64MiB, 128MiB], cpus: [0.5, 1] }}] }}]
repetitions: 1
",
        bench(", memory: '{{ memory }}', cpus: '{{ cpus }}'")
    ))
    .run(&[]);
    run.assert_ok();
    let printed: Vec<String> = outputs(&run, "stdout").into_iter().map(|(_, text)| text).collect();
    assert_eq!(printed, ["67108864\n", "134217728\n"]);
}

#[test]
fn a_cache_that_may_stay_leaves_a_warning() {
    let run = Experiment::new(
        "workloads: { read: { prepare: { drop_caches: { optional: true } }, run: 'true' } }
matrix: [{ host: gigabit-server, environment: native }]
repetitions: 1
",
    )
    .run(&[]);
    run.assert_ok();
    let warning = run.records[0]["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("cold: not possible: "), "{warning}");
    assert!(run.report().contains("cold: not possible"), "{}", run.report());
}

#[test]
fn an_environment_prepares_the_host_below_its_container() {
    let marker = format!("/tmp/runner-test-{}", std::process::id());
    let run = Experiment::new(&format!(
        "environments:
  box:
    container: {{ build: {}/experiments/images/bench }}
    setup: {{ run: 'echo {{{{ workload }}}} >{marker}', on: host }}
    cleanup: {{ run: 'rm {marker}', on: host }}
workloads:
  look: {{ prepare: {{ run: 'grep look {marker}', on: host }}, run: 'test ! -e {marker}' }}
matrix: [{{ host: lattepanda-b, environment: box }}]
repetitions: 1
",
        lab::ROOT
    ))
    .run(&[]);
    run.assert_ok();
    assert_eq!(lab::on("lattepanda-b", &format!("ls {marker} 2>/dev/null; true")), "");
}

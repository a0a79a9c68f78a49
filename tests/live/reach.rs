//! `runner check --reach` on the lab: what its machines have, and what one lacks.

use std::process::Command;

use crate::lab::Experiment;

fn checked(experiment: &Experiment) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runner"));
    let output =
        command.current_dir(experiment.path()).args(["check", "x.yaml", "--reach"]).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn machines_of_the_lab_have_what_is_needed() {
    let (code, stdout, stderr) = checked(&Experiment::new(
        "workloads: { read: { prepare: drop_caches, run: dd if=/dev/zero of=/dev/null count=1, metrics: { tool: dd } } }\n\
         matrix: [{ host: [lattepanda-a, lattepanda-b], environment: native }, { host: lattepanda-c, environment: docker }]\n",
    ));
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    let line = |host: &str| stdout.lines().find(|line| line.trim_start().starts_with(host)).unwrap();
    for host in ["lattepanda-a", "lattepanda-b"] {
        for text in ["ssh bench@127.0.0.1:220", "sudo", "not needed", "dd setsid sh", " in /var/tmp"] {
            assert!(line(host).contains(text), "{text}: {stdout}");
        }
    }
    assert!(!line("lattepanda-c").contains("not needed"), "it has an engine: {stdout}");
    assert!(!stdout.contains("gigabit-server"), "the plan does not use it: {stdout}");
}

#[test]
fn what_a_machine_lacks_is_told_with_the_way_out() {
    let experiment = Experiment::new(
        "workloads: { read: { prepare: drop_caches, run: dd if=/dev/zero of=/dev/null count=1, metrics: { tool: dd } } }\n\
         matrix: [{ host: lattepanda-a, environment: [native, proc] }]\n",
    );
    let path = experiment.path().join("x.yaml");
    let yaml = std::fs::read_to_string(&path).unwrap()
        + "hosts:\n  lattepanda-a: { sudo: none, ssh: { address: 127.0.0.1, port: 2201, user: bench, \
           identity: ~/.local/share/runner-lab/id_ed25519, known_hosts: ~/.local/share/runner-lab/known_hosts } }\n\
           environments: { proc: { workdir: /proc/none } }\n";
    std::fs::write(&path, yaml).unwrap();
    let (code, stdout, stderr) = checked(&experiment);
    assert_eq!(code, Some(4), "{stdout}{stderr}");
    for text in [
        "`lattepanda-a`: a step runs as root, and that is refused: the host has `sudo: none`",
        "`lattepanda-a`: no directory can be made in /proc/none",
        "help: give the user the right to write there",
    ] {
        assert!(stderr.contains(text), "{text}: {stderr}");
    }
}

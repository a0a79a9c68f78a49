//! `runner check`: good files, bad files, and hosts.

use std::fs;

use crate::cli::{folder_with, runner, texts};

#[test]
fn every_file_is_told_about() {
    let folder = folder_with("workloads: { nap: { run: sleep 1 } }\nrepetitions: 1\n");
    fs::write(folder.path().join("bad.yaml"), "workloads: { nap: { rum: sleep 1 } }\n").unwrap();
    fs::write(folder.path().join("hosts.yaml"), "hosts: { pi: { ssh: 192.0.2.7 } }\n").unwrap();
    let good = runner(folder.path(), &["check", "nap.yaml", "nap.yaml"]);
    let line = "nap.yaml: ok, 1 cell, 1 trial\n";
    assert_eq!((good.status.code(), texts(&good)), (Some(0), (line.repeat(2), String::new())));
    let mixed = runner(folder.path(), &["check", "bad.yaml", "nap.yaml", "none.yaml"]);
    let (stdout, stderr) = texts(&mixed);
    assert_eq!((mixed.status.code(), stdout.as_str()), (Some(3), line));
    assert!(stderr.contains("unknown key `rum`") && stderr.contains("`none.yaml`"), "{stderr}");
    let hosts = runner(folder.path(), &["check", "nap.yaml", "--hosts", "hosts.yaml"]);
    assert_eq!(texts(&hosts).0, line, "only the hosts of that file");
}

#[test]
fn hosts_that_lack_something_are_4() {
    let folder = folder_with("workloads: { nap: { run: sleep 1 } }\n");
    let good = runner(folder.path(), &["check", "nap.yaml", "--reach"]);
    let (stdout, stderr) = texts(&good);
    // Another test may run something on this machine meanwhile, and has it locked then.
    let told: Vec<&str> = stderr.lines().filter(|line| !line.contains("is locked by")).collect();
    assert_eq!((good.status.code(), told), (Some(0), vec![]), "{stdout}");
    assert!(stdout.contains("this machine in ") && stdout.contains(" GB in /var/tmp"), "{stdout}");

    let write = |yaml: &str| fs::write(folder.path().join("nap.yaml"), yaml).unwrap();
    write(
        "hosts: { gone: { ssh: { address: 127.0.0.1, port: 1 } } }\nworkloads: { nap: { run: sleep 1 } }\n",
    );
    let unreached = runner(folder.path(), &["check", "nap.yaml", "--reach"]);
    let (stdout, stderr) = texts(&unreached);
    assert_eq!(unreached.status.code(), Some(4), "{stderr}");
    assert!(stdout.contains("no: ssh 127.0.0.1:1"), "{stdout}");
    assert!(stderr.contains("`gone`: connection refused") && stderr.contains("help: "), "{stderr}");

    write("environments: { there: { workdir: /proc/nothing } }\nworkloads: { nap: { run: sleep 1 } }\n");
    let unwritable = runner(folder.path(), &["check", "nap.yaml", "--reach"]);
    let (_, stderr) = texts(&unwritable);
    // For root every folder is writable, even where it can't write.
    if unwritable.status.code() != Some(0) {
        assert_eq!(unwritable.status.code(), Some(4));
        assert!(stderr.contains("no directory can be made in /proc/nothing"), "{stderr}");
    }
}

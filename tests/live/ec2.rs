//! Instances of EC2, which ministack runs as containers (`lab/cloud`): launched, measured, and gone afterwards,
//! however the run has ended. Each test looks only for what carries its own run's tag.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::lab::{self, docker, eventually};

/// A host of the lab's cloud.
const HOST: &str = "ami: 'resolve:ssm:/runner-lab/ami', instance_type: t3.micro, user: bench, \
    identity: ~/.local/share/runner-lab/id_ed25519";

/// An experiment in a folder of its own, with the cloud's variables.
struct Cloud {
    folder: TempDir,
    emulator: &'static str,
}

impl Cloud {
    fn new(yaml: &str) -> Cloud {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("x.yaml"), yaml).unwrap();
        let is_up = std::net::TcpStream::connect(("127.0.0.1", 4566)).is_ok();
        assert!(is_up, "the lab's cloud is not up: run `make lab`");
        Cloud { folder, emulator: "ministack" }
    }

    /// The same, asking moto in place of ministack.
    fn at_moto(self) -> Cloud {
        Cloud { emulator: "moto", ..self }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).envs(lab::cloud(self.emulator));
        command.env_remove("AWS_PROFILE").env_remove("AWS_REGION");
        command
    }

    fn runner(&self, arguments: &[&str]) -> Output {
        self.command(env!("CARGO_BIN_EXE_runner")).args(arguments).output().unwrap()
    }

    fn start(&self) -> Child {
        let mut command = self.command(env!("CARGO_BIN_EXE_runner"));
        command.args(["run", "x.yaml"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn aws(&self, arguments: &[&str]) -> Value {
        lab::aws(self.emulator, arguments)
    }

    /// The directory of the only run, once there is one.
    fn directory(&self) -> Option<PathBuf> {
        let mut entries = fs::read_dir(self.folder.path().join("results/x")).ok()?;
        entries.find_map(|entry| Some(entry.ok()?.path()).filter(|path| path.join("manifest.json").is_file()))
    }

    fn run_id(&self) -> String {
        let text = fs::read_to_string(self.directory().unwrap().join("manifest.json")).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["id"].as_str().unwrap().to_owned()
    }

    fn ledger(&self) -> String {
        let read = |path: PathBuf| fs::read_to_string(path.join("ledger.jsonl")).ok();
        self.directory().and_then(read).unwrap_or_default()
    }

    /// The ids of the run's instances that have not ended.
    fn living(&self, run: &str) -> Vec<String> {
        let filter = format!("Name=tag:runner:run,Values={run}");
        let answer = self.aws(&["ec2", "describe-instances", "--filters", &filter]);
        let reservations = answer["Reservations"].as_array().cloned().unwrap_or_default();
        let instances = reservations.iter().flat_map(|one| one["Instances"].as_array().unwrap().clone());
        let living = instances
            .filter(|one| !["shutting-down", "terminated"].contains(&one["State"]["Name"].as_str().unwrap()));
        living.map(|one| one["InstanceId"].as_str().unwrap().to_owned()).collect()
    }

    /// No instance of the run is left, neither as EC2 tells it nor as a container.
    #[track_caller]
    fn assert_nothing_lives(&self, run: &str, ids: &[String]) {
        assert_eq!(self.living(run), [""; 0]);
        for id in ids {
            assert_eq!(
                docker(&["ps", "--all", "--quiet", "--filter", &format!("label=instance_id={id}")]),
                ""
            );
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// One instance that sleeps in a trial.
fn sleeper() -> Cloud {
    Cloud::new(&format!(
        "hosts: {{ load: {{ ec2: {{ {HOST}, ttl: 20m }} }} }}\nrepetitions: 1\nworkloads: {{ w: {{ run: sleep 300 }} }}\n"
    ))
}

/// Moments in the life of an instance, by what the ledger says then.
const MOMENTS: [(&str, &str); 3] = [
    ("the launch is asked for", r#""kind":"instance","name":"runner-"#),
    ("the instance is launched", r#""kind":"instance","name":"i-"#),
    ("a trial runs", r#""kind":"directory""#),
];

#[test]
fn two_instances_measure_and_are_terminated() {
    let cloud = Cloud::new(&format!(
        "hosts: {{ node: {{ ec2: {{ {HOST}, count: 2, ttl: 20m, tags: {{ project: disks }} }}, cost: 0.5 USD }} }}\n\
         repetitions: 1\nmatrix: [{{ host: node-1 }}]\nworkloads:\n\
         \x20 disk: {{ run: dd if=/dev/zero of=x bs=64k count=50 conv=fsync, metrics: {{ tool: dd }} }}\n\
         \x20 network:\n    services:\n      server:\n        host: node-2\n        run: iperf3 --server --one-off --port {{{{ port }}}}\n\
         \x20       ready: {{ port: '{{{{ port }}}}' }}\n\
         \x20   run: iperf3 --client {{{{ services.server.address }}}} --port {{{{ services.server.port }}}} --time 1 --json\n\
         \x20   metrics: {{ tool: iperf3 }}\n"
    ));
    let plan = text(&cloud.runner(&["plan", "x.yaml"]).stdout);
    assert!(
        plan.contains("node-1  EC2 t3.micro of resolve:ssm:/runner-lab/ami, launched for the run"),
        "{plan}"
    );
    assert!(plan.contains("all hosts together: 1 USD an hour"), "{plan}");
    let output = cloud.runner(&["run", "x.yaml"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let directory = cloud.directory().unwrap();
    assert!(!directory.join("ledger.jsonl").exists());
    let mut ids = Vec::new();
    for host in ["node-1", "node-2"] {
        let facts = fs::read_to_string(directory.join(format!("hosts/{host}.json"))).unwrap();
        let facts: Value = serde_json::from_str(&facts).unwrap();
        assert_eq!(facts["facts"]["instance type"], "t3.micro");
        assert_eq!(facts["facts"]["purchase"], "on-demand");
        ids.push(facts["facts"]["instance"].as_str().unwrap().to_owned());
    }
    assert_ne!(ids[0], ids[1]);
    let report = fs::read_to_string(directory.join("report.md")).unwrap();
    assert!(report.contains("For its cost (MB/s per USD/h)"), "{report}");
    assert!(!report.contains(&format!("{} on", ids[0])), "an id explains no difference");
    cloud.assert_nothing_lives(&cloud.run_id(), &ids);
}

#[test]
fn an_interrupt_at_any_moment_leaves_nothing() {
    for (moment, line) in MOMENTS {
        let cloud = sleeper();
        let child = cloud.start();
        eventually(moment, || cloud.ledger().contains(line));
        // A run that had not begun leaves no directory.
        let run = cloud.run_id();
        lab::signal(&child, "INT");
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{moment}: {}", text(&output.stderr));
        cloud.assert_nothing_lives(&run, &[]);
    }
}

#[test]
fn what_a_killed_run_has_launched_is_found_in_its_ledger() {
    for (moment, line) in MOMENTS {
        let cloud = sleeper();
        let child = cloud.start();
        eventually(moment, || cloud.ledger().contains(line));
        lab::signal(&child, "KILL");
        child.wait_with_output().unwrap();
        let run = cloud.run_id();
        let output = cloud.runner(&["clean"]);
        assert!(output.status.success(), "{moment}: {}", text(&output.stderr));
        cloud.assert_nothing_lives(&run, &[]);
        let again = text(&cloud.runner(&["clean"]).stderr);
        assert!(again.contains("nothing is left"), "{again}");
    }
}

#[test]
fn what_a_killed_run_has_launched_is_found_by_its_tag() {
    for is_directory_lost in [false, true] {
        let cloud = sleeper();
        let child = cloud.start();
        eventually(MOMENTS[1].0, || cloud.ledger().contains(MOMENTS[1].1));
        lab::signal(&child, "KILL");
        child.wait_with_output().unwrap();
        let (run, directory) = (cloud.run_id(), cloud.directory().unwrap());
        let ids = cloud.living(&run);
        assert_eq!(ids.len(), 1);
        fs::remove_file(directory.join("ledger.jsonl")).unwrap();
        let directory = directory.to_string_lossy().into_owned();
        let arguments = match is_directory_lost {
            true => vec!["clean", "--tagged", &run, "--hosts", "x.yaml"],
            false => vec!["clean", &directory],
        };
        let found = cloud.runner(&[&arguments[..], &["--dry-run"]].concat());
        assert_eq!(found.status.code(), Some(4), "{}", text(&found.stderr));
        assert_eq!(cloud.living(&run), ids);
        let output = cloud.runner(&arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(
            text(&output.stderr).contains(&format!("EC2 instance of {}", ids[0])),
            "{}",
            text(&output.stderr)
        );
        cloud.assert_nothing_lives(&run, &ids);
    }
}

#[test]
fn an_instance_shuts_itself_down_when_nobody_does() {
    let cloud = Cloud::new(&format!(
        "hosts: {{ load: {{ ec2: {{ {HOST}, ttl: 60s }} }} }}\nrepetitions: 1\nworkloads: {{ w: {{ run: sleep 300 }} }}\n"
    ));
    let child = cloud.start();
    eventually(MOMENTS[2].0, || cloud.ledger().contains(MOMENTS[2].1));
    lab::signal(&child, "KILL");
    child.wait_with_output().unwrap();
    let run = cloud.run_id();
    for _ in 0..120 {
        if cloud.living(&run).is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    assert_eq!(cloud.living(&run), [""; 0]);
    assert!(cloud.runner(&["clean"]).status.success());
}

#[test]
fn an_instance_that_is_there_is_used_and_left() {
    let cloud = Cloud::new("");
    let ami =
        fs::read_to_string(format!("{}/.local/share/runner-lab/cloud/ami", std::env::var("HOME").unwrap()));
    let (ami, owner) = (ami.unwrap(), format!("test-{}", std::process::id()));
    let tags = format!("ResourceType=instance,Tags=[{{Key=runner:run,Value={owner}}}]");
    let words = ["ec2", "run-instances", "--image-id", ami.trim(), "--tag-specifications", &tags];
    let launched = cloud.aws(&words);
    let id = launched["Instances"][0]["InstanceId"].as_str().unwrap().to_owned();
    let address = launched["Instances"][0]["PrivateIpAddress"].as_str().unwrap();
    let name = docker(&["ps", "--quiet", "--filter", &format!("label=instance_id={id}")]);
    let key = || {
        let words = ["exec", &name, "cat", "/etc/ssh/lab/ssh_host_ed25519_key.pub"];
        text(&Command::new("docker").args(words).output().unwrap().stdout)
    };
    eventually("the instance has a key", || !key().is_empty());
    fs::write(cloud.folder.path().join("known_hosts"), format!("{address} {}", key())).unwrap();
    let yaml = |id: &str| {
        format!(
            "hosts: {{ load: {{ ec2: {{ instance_id: {id}, user: bench, known_hosts: known_hosts, \
             identity: ~/.local/share/runner-lab/id_ed25519 }} }} }}\nrepetitions: 1\nworkloads: {{ w: {{ run: 'true' }} }}\n"
        )
    };
    fs::write(cloud.folder.path().join("x.yaml"), yaml(&id)).unwrap();
    let output = cloud.runner(&["run", "x.yaml"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(cloud.living(&owner), std::slice::from_ref(&id));
    cloud.aws(&["ec2", "terminate-instances", "--instance-ids", &id]);
    let output = cloud.runner(&["run", "x.yaml"]);
    assert_eq!(output.status.code(), Some(4));
    let said = text(&output.stderr);
    assert!(said.contains(&format!("the instance {id} is terminated")), "{said}");
    cloud.assert_nothing_lives(&owner, &[id]);
}

#[test]
fn a_launch_that_is_refused_says_why() {
    let cloud = Cloud::new("");
    let name = format!("runner-test-{}", std::process::id());
    let image = cloud.aws(&["ec2", "register-image", "--name", &name]);
    let image = image["ImageId"].as_str().unwrap();
    for (ami, words) in [
        (image, &["(InvalidAMIID.Unavailable)", "help: an image has another id in each region"][..]),
        ("resolve:ssm:/runner-lab/none", &["(ParameterNotFound)", "is the name behind `resolve:ssm:` right"]),
    ] {
        let yaml = format!(
            "hosts: {{ load: {{ ec2: {{ ami: '{ami}', instance_type: t3.micro }} }} }}\nworkloads: {{ w: {{ run: 'true' }} }}\n"
        );
        fs::write(cloud.folder.path().join("x.yaml"), yaml).unwrap();
        let output = cloud.runner(&["run", "x.yaml"]);
        assert_eq!(output.status.code(), Some(4));
        for word in words {
            assert!(text(&output.stderr).contains(word), "{word}: {}", text(&output.stderr));
        }
        assert_eq!(cloud.ledger(), "", "a launch that was refused has made nothing");
    }
    cloud.aws(&["ec2", "deregister-image", "--image-id", image]);
}

#[test]
fn without_its_tool_it_says_what_to_install() {
    let cloud = sleeper();
    let mut command = cloud.command(env!("CARGO_BIN_EXE_runner"));
    let output = command.args(["run", "x.yaml"]).env("PATH", "/nonexistent").output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let said = text(&output.stderr);
    assert!(said.contains("`aws` is not installed on this machine"), "{said}");
    assert!(said.contains("apt-get install awscli"), "{said}");
}

#[test]
fn what_would_be_launched_is_looked_at_without_a_launch() {
    let yaml = "hosts: { load: { ec2: { ami: ami-03cf127a, instance_type: t3.micro } } }\nworkloads: { w: { run: 'true' } }\n";
    let cloud = Cloud::new(yaml).at_moto();
    let output = cloud.runner(&["check", "--reach", "x.yaml"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(
        said.contains("load: would be launched by the account 123456789012, of ami-03cf127a, `"),
        "{said}"
    );
    fs::write(cloud.folder.path().join("x.yaml"), yaml.replace("ami-03cf127a", "ami-0fffffff")).unwrap();
    let output = cloud.runner(&["check", "--reach", "x.yaml"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stderr).contains("InvalidAMIID"), "{}", text(&output.stderr));
}

/// moto has the states that ministack leaves out: pending at first, shutting-down in the end.
#[test]
fn an_instance_that_moto_tells_of_is_found_by_its_tag_and_terminated() {
    let yaml = "hosts: { load: { ec2: { ami: ami-03cf127a, instance_type: t3.micro } } }\n";
    let cloud = Cloud::new(yaml).at_moto();
    let run = format!("{:08x}", std::process::id());
    let tags =
        format!("ResourceType=instance,Tags=[{{Key=runner:run,Value={run}}},{{Key=runner:host,Value=load}}]");
    let words = ["ec2", "run-instances", "--image-id", "ami-03cf127a", "--tag-specifications", &tags];
    assert_eq!(cloud.aws(&words)["Instances"][0]["State"]["Name"], "pending");
    assert_eq!(cloud.living(&run).len(), 1);
    let arguments = ["clean", "--tagged", &run, "--hosts", "x.yaml"];
    let output = cloud.runner(&arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("removed"), "{}", text(&output.stderr));
    assert_eq!(cloud.living(&run), [""; 0]);
    let again = text(&cloud.runner(&arguments).stderr);
    assert!(again.contains("nothing is left"), "{again}");
}

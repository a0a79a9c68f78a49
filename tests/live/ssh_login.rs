//! Logging in to the lab's SSH servers: host keys, our keys, ways to a machine, and what is said when it
//! does not work.

use std::fs;
use std::process::Command;
use std::time::Duration;

use runner::transports::ssh::{KnownHosts, SshConnection, SshTarget};
use runner::transports::{Exit, TransportError};
use tempfile::TempDir;

use crate::ssh::{PORT, connect, host_key, lab, panda, run, second_server, text};

fn known_hosts(folder: &TempDir, lines: &str) -> KnownHosts {
    let file = folder.path().join("known_hosts");
    fs::write(&file, lines).unwrap();
    KnownHosts::File(file)
}

async fn refusal(target: &SshTarget) -> TransportError {
    match SshConnection::connect(target).await {
        Ok(_) => panic!("the connection was made"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn an_unknown_key_is_refused_with_the_command_that_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let error = refusal(&SshTarget { known_hosts: known_hosts(&folder, ""), ..panda() }).await;
    let hint = error.hint.unwrap();
    let command = "ssh-keyscan -p 2201 127.0.0.1 | ssh-keygen -lf -";
    assert!(hint.contains(&format!("`{command}`")), "{hint}");
    let shown = Command::new("sh").args(["-c", command]).output().unwrap();
    let print = text(&shown.stdout).split_whitespace().find(|word| word.starts_with("SHA256:")).unwrap();
    assert!(error.message.contains(print), "{} has not {print}", error.message);
}

#[tokio::test]
async fn a_changed_key_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    assert!(
        Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(&key)
            .status()
            .unwrap()
            .success()
    );
    let other = fs::read_to_string(key.with_extension("pub")).unwrap();
    let lines = format!("# mine\n[127.0.0.1]:{PORT} {other}");
    let error = refusal(&SshTarget { known_hosts: known_hosts(&folder, &lines), ..panda() }).await;
    let file = folder.path().join("known_hosts");
    assert!(error.message.contains(&format!("not the one in line 2 of `{}`", file.display())), "{error}");

    let config = folder.path().join("config");
    fs::write(&config, format!("UserKnownHostsFile {}\n", file.display())).unwrap();
    let target = SshTarget { known_hosts: KnownHosts::AcceptNew, config: Some(config), ..panda() };
    assert!(refusal(&target).await.message.contains("line 2"));
    assert_eq!(fs::read_to_string(&file).unwrap(), lines, "accept-new is not accept-changed");

    let revoked = format!("[127.0.0.1]:{PORT} {key}\n@revoked * {key}\n", key = host_key());
    let error = refusal(&SshTarget { known_hosts: known_hosts(&folder, &revoked), ..panda() }).await;
    assert!(error.message.contains("revoked"), "{error}");
}

#[tokio::test]
async fn accept_new_writes_the_key_down() {
    let folder = tempfile::tempdir().unwrap();
    let (config, file) = (folder.path().join("config"), folder.path().join("known/hosts"));
    fs::write(&config, format!("UserKnownHostsFile {}\nGlobalKnownHostsFile none\n", file.display()))
        .unwrap();
    let target = SshTarget { known_hosts: KnownHosts::AcceptNew, config: Some(config), ..panda() };
    connect(&target).await;
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("[127.0.0.1]:{PORT} {}\n", host_key()));
    connect(&SshTarget { known_hosts: KnownHosts::Default, ..target }).await;
}

#[tokio::test]
async fn hashed_names_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let hosts = known_hosts(&folder, &format!("[127.0.0.1]:{PORT} {}\n", host_key()));
    let file = folder.path().join("known_hosts");
    assert!(
        Command::new("ssh-keygen").args(["-q", "-H", "-f"]).arg(&file).output().unwrap().status.success()
    );
    assert!(fs::read_to_string(&file).unwrap().starts_with("|1|"));
    connect(&SshTarget { known_hosts: hosts, ..panda() }).await;
}

#[tokio::test]
async fn a_machine_known_by_another_type_of_key_shows_that_one() {
    let folder = tempfile::tempdir().unwrap();
    let panda = connect(&panda()).await;
    for kind in ["ecdsa", "rsa"] {
        let make = format!(
            "{{ d=$(mktemp -d); ssh-keygen -q -t {kind} -N '' -f $d/key; echo $d; cat $d/key.pub; }} </dev/null"
        );
        let made = run(&panda, &make).await;
        let (remote, key) = text(&made.stdout).split_once('\n').unwrap();
        let options = format!("-h {remote}/key -h /etc/ssh/lab/ssh_host_ed25519_key");
        let mut target = second_server(&folder, &options);
        target.known_hosts = known_hosts(&folder, &format!("second.example {key}"));
        let second = connect(&target).await;
        assert_eq!(run(&second, "true").await.exit, Exit::Code(0));
        run(&panda, &format!("rm -r {remote}")).await;
    }
}

#[tokio::test]
async fn a_wrong_key_is_said_clearly() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config");
    fs::write(&config, "IdentityFile none\nIdentityAgent none\n").unwrap();
    let key = |name: &str, passphrase: &str| {
        let file = folder.path().join(name);
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", passphrase, "-f"])
            .arg(&file)
            .status();
        assert!(made.unwrap().success());
        SshTarget { identity: Some(file), config: Some(config.clone()), ..panda() }
    };
    let error = refusal(&key("wrong", "")).await;
    assert!(error.message.contains("wrong` (refused); the machine allows publickey"), "{error}");
    let error = refusal(&key("locked", "secret")).await;
    assert!(error.message.contains("the key file is encrypted"), "{error}");
    assert!(error.hint.unwrap().contains("`ssh-add "));
    let error = refusal(&SshTarget {
        identity: Some(folder.path().join("none")),
        config: Some(config.clone()),
        ..panda()
    })
    .await;
    assert!(error.message.contains("none` (no such file)"), "{error}");
}

#[tokio::test]
async fn an_encrypted_key_is_used_by_the_agent() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("agent");
    let mut agent = Command::new("ssh-agent")
        .args(["-D", "-a"])
        .arg(&socket)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while !socket.exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // A key that is refused comes first.
    let wrong = folder.path().join("wrong");
    assert!(
        Command::new("ssh-keygen")
            .args(["-q", "-t", "ecdsa", "-N", "", "-f"])
            .arg(&wrong)
            .status()
            .unwrap()
            .success()
    );
    let add = Command::new("ssh-add")
        .arg("-q")
        .arg(&wrong)
        .arg(lab().join("id_ed25519"))
        .env("SSH_AUTH_SOCK", &socket)
        .status();
    assert!(add.unwrap().success());
    let config = folder.path().join("config");
    fs::write(&config, format!("IdentityAgent {}\n", socket.display())).unwrap();
    let result = SshConnection::connect(&SshTarget { identity: None, config: Some(config), ..panda() }).await;
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert!(result.is_ok(), "{:?}", result.err());
}

#[tokio::test]
async fn machines_out_of_reach() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    let silent = SshTarget { port: Some(port), ..panda() };
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config");
    fs::write(&config, "ConnectTimeout 1\n").unwrap();
    let error = refusal(&SshTarget { config: Some(config), ..silent.clone() }).await;
    assert!(error.message.contains("said nothing within 1 s"), "{error}");
    drop(free);
    let error = refusal(&silent).await;
    assert_eq!(error.message, format!("`lattepanda-a`: connection refused by 127.0.0.1:{port}"));
    let error = refusal(&SshTarget { address: "nowhere.invalid".to_owned(), ..panda() }).await;
    assert!(
        error.message.starts_with("`lattepanda-a`: no address is known for `nowhere.invalid`"),
        "{error}"
    );
}

#[tokio::test]
async fn through_a_jump_host() {
    let folder = tempfile::tempdir().unwrap();
    // The jump host is known by its published port, the machine by its name in the lab.
    let lines =
        fs::read_to_string(lab().join("known_hosts")).unwrap() + &format!("lattepanda-a {}\n", host_key());
    let target = SshTarget {
        address: "lattepanda-a".to_owned(),
        port: Some(22),
        jump: Some("bench@127.0.0.1:2204".to_owned()),
        known_hosts: known_hosts(&folder, &lines),
        ..panda()
    };
    let connection = connect(&target).await;
    assert_eq!(text(&run(&connection, "hostname").await.stdout), "lattepanda-a\n");
    let two =
        SshTarget { jump: Some("bench@127.0.0.1:2204,bench@lattepanda-b".to_owned()), ..target.clone() };
    let error = refusal(&two).await;
    assert!(error.message.contains("ost key verification failed"), "{error}");
    let error = refusal(&SshTarget { jump: Some("bench@127.0.0.1:1".to_owned()), ..target.clone() }).await;
    assert!(error.message.contains("onnection refused"), "{error}");
    let error = refusal(&SshTarget { address: "lattepanda-z".to_owned(), ..target }).await;
    assert!(error.message.contains("does not lead to lattepanda-z:22"), "{error}");
}

#[tokio::test]
async fn through_two_jump_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let known = fs::read_to_string(lab().join("known_hosts")).unwrap();
    let key_b = known.lines().find_map(|line| line.strip_prefix("[127.0.0.1]:2202 ")).unwrap();
    let lines = format!("{known}lattepanda-a {}\nlattepanda-b {key_b}\n", host_key());
    let target = SshTarget {
        address: "lattepanda-a".to_owned(),
        port: Some(22),
        jump: Some("bench@127.0.0.1:2204,bench@lattepanda-b:22".to_owned()),
        known_hosts: known_hosts(&folder, &lines),
        ..panda()
    };
    let connection = connect(&target).await;
    let output = run(&connection, "echo \"$(hostname) ${SSH_CLIENT%% *}\"").await;
    let address = run(&connection, "getent hosts lattepanda-b").await;
    let address = text(&address.stdout).split_whitespace().next().unwrap().to_owned();
    assert_eq!(text(&output.stdout), format!("lattepanda-a {address}\n"));
}

#[tokio::test]
async fn an_alias_of_the_configuration_file() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config");
    let lines = format!(
        "Host board\n HostName 127.0.0.1\n Port {PORT}\n User bench\n IdentityFile {}\n UserKnownHostsFile {}\n",
        lab().join("id_ed25519").display(),
        lab().join("known_hosts").display()
    );
    fs::write(&config, lines).unwrap();
    let target = SshTarget {
        address: "board".to_owned(),
        port: None,
        user: None,
        identity: None,
        known_hosts: KnownHosts::Default,
        config: Some(config),
        ..panda()
    };
    assert_eq!(text(&run(&connect(&target).await, "hostname").await.stdout), "lattepanda-a\n");
}

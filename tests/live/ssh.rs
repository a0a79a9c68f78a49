//! The SSH transport against the lab's SSH servers. What the lab's servers are not (several host keys,
//! few sessions) is had from an `sshd -i` started on a lab machine, reached by a `ProxyCommand`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use bollard::exec::{CreateExecOptions, StartExecResults};
use futures_util::StreamExt;
use futures_util::future::join_all;
use runner::transports::ssh::{KnownHosts, SshConnection, SshTarget};
use runner::transports::{Exit, Output, Transport};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

pub const PORT: u16 = 2201;

pub fn lab() -> PathBuf {
    std::env::home_dir().unwrap().join(".local/share/runner-lab")
}

/// `bench` on lattepanda-a.
pub fn panda() -> SshTarget {
    assert!(
        std::net::TcpStream::connect(("127.0.0.1", PORT)).is_ok() && lab().join("known_hosts").exists(),
        "the lab is not up: run `make lab`"
    );
    SshTarget {
        name: "lattepanda-a".to_owned(),
        address: "127.0.0.1".to_owned(),
        port: Some(PORT),
        user: Some("bench".to_owned()),
        identity: Some(lab().join("id_ed25519")),
        jump: None,
        known_hosts: KnownHosts::File(lab().join("known_hosts")),
        config: None,
        reconnect: Duration::from_secs(5),
    }
}

pub async fn connect(target: &SshTarget) -> SshConnection {
    SshConnection::connect(target).await.unwrap_or_else(|error| panic!("{error}\n{:?}", error.hint))
}

pub async fn run(connection: &SshConnection, script: &str) -> Output {
    connection.run(script, &CancellationToken::new()).await.unwrap()
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The host key of lattepanda-a, as `type key`.
pub fn host_key() -> String {
    let known = fs::read_to_string(lab().join("known_hosts")).unwrap();
    let line = known.lines().find(|line| line.starts_with(&format!("[127.0.0.1]:{PORT} "))).unwrap();
    line.split_once(' ').unwrap().1.to_owned()
}

/// A target whose way is a second SSH server on lattepanda-a with its own options.
pub fn second_server(folder: &TempDir, options: &str) -> SshTarget {
    let ssh = format!(
        "ssh -F none -p {PORT} -i {} -o IdentitiesOnly=yes -o BatchMode=yes -o UserKnownHostsFile={} bench@127.0.0.1",
        lab().join("id_ed25519").display(),
        lab().join("known_hosts").display(),
    );
    let config = folder.path().join("config");
    let text = format!(
        "Host second\n  HostName second.example\n  ProxyCommand {ssh} sudo /usr/sbin/sshd -i {options}\n"
    );
    fs::write(&config, text).unwrap();
    let known = folder.path().join("second_known");
    fs::write(&known, format!("second.example {}\n", host_key())).unwrap();
    SshTarget {
        address: "second".to_owned(),
        port: None,
        config: Some(config),
        known_hosts: KnownHosts::File(known),
        ..panda()
    }
}

#[tokio::test]
async fn a_script_gives_both_streams_and_its_exit() {
    let connection = connect(&panda()).await;
    let output = run(&connection, "{ echo out; echo err >&2; exit 7; }").await;
    assert_eq!(
        (text(&output.stdout), text(&output.stderr), &output.exit),
        ("out\n", "err\n", &Exit::Code(7))
    );
    let output = run(&connection, "echo \"$0\"; (exit 3)").await;
    assert_eq!((text(&output.stdout), &output.exit), ("/bin/sh\n", &Exit::Code(3)));
    assert_eq!(run(&connection, "kill -s KILL $$").await.exit, Exit::Signal("KILL".to_owned()));
    let output = run(&connection, "fi").await;
    assert_eq!(output.exit, Exit::Code(2));
    assert!(text(&output.stderr).contains("yntax error"), "{output:?}");
}

#[tokio::test]
async fn big_scripts_and_big_outputs_pass() {
    let connection = connect(&panda()).await;
    let word = "x".repeat(3 << 20);
    let output = run(&connection, &format!("{{ word='{word}'; echo ${{#word}}; }}")).await;
    assert_eq!(text(&output.stdout), format!("{}\n", 3 << 20));
    let output =
        run(&connection, "{ head -c 20000000 /dev/zero; head -c 3000000 /dev/zero >&2; } </dev/null").await;
    assert_eq!((output.stdout.len(), output.stderr.len()), (20_000_000, 3_000_000));
    let output = run(&connection, "head -c 70000000 /dev/zero </dev/null").await;
    assert_eq!(output.stdout.len(), runner::transports::CAPTURE_LIMIT);
}

#[tokio::test]
async fn login_shells_do_no_harm() {
    for user in ["noisy", "fishy", "cshy"] {
        let connection = connect(&SshTarget { user: Some(user.to_owned()), ..panda() }).await;
        let output = run(&connection, "{ a='it'\\''s'; echo \"$a $(id -un)\"; echo e >&2; exit 4; }").await;
        assert_eq!(text(&output.stdout), format!("it's {user}\n"));
        assert_eq!(text(&output.stderr), "e\n");
        assert_eq!(output.exit, Exit::Code(4));
    }
}

#[tokio::test]
async fn more_scripts_at_once_than_one_connection_takes() {
    let connection = connect(&panda()).await;
    let start = Instant::now();
    let outputs = join_all((0..20).map(|number| {
        let connection = connection.clone();
        async move { run(&connection, &format!("{{ sleep 1; echo {number}; }} </dev/null")).await }
    }))
    .await;
    for (number, output) in outputs.iter().enumerate() {
        assert_eq!(text(&output.stdout), format!("{number}\n"));
    }
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_server_with_few_sessions_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let connection = connect(&second_server(&folder, "-o MaxSessions=2")).await;
    let outputs = join_all((0..6).map(|number| {
        let connection = connection.clone();
        async move { run(&connection, &format!("{{ sleep 0.5; echo {number}; }} </dev/null")).await }
    }))
    .await;
    for (number, output) in outputs.iter().enumerate() {
        assert_eq!(text(&output.stdout), format!("{number}\n"));
    }
    let none = connect(&second_server(&folder, "-o MaxSessions=0")).await;
    let error = none.run("true", &CancellationToken::new()).await.unwrap_err();
    assert!(error.message.contains("opens no session"), "{error}");
    let error = none.forward_unix("/nonexistent/socket").await.err().unwrap();
    assert!(error.message.contains("`/nonexistent/socket` can't be opened"), "{error}");
}

const UNTIL_END_OF_INPUT: &str =
    "{ exec 3<&0 </dev/null; echo ready; cat <&3 >/dev/null; echo stopped; exit 5; }";

#[tokio::test]
async fn stop_closes_the_input() {
    let connection = connect(&panda()).await;
    let stop = CancellationToken::new();
    let running = connection.run(UNTIL_END_OF_INPUT, &stop);
    let later = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        stop.cancel();
        Instant::now()
    };
    let (output, stopped) = tokio::join!(running, later);
    assert!(stopped.elapsed() < Duration::from_secs(1));
    let output = output.unwrap();
    assert_eq!((text(&output.stdout), output.exit), ("ready\nstopped\n", Exit::Code(5)));
}

#[tokio::test]
async fn a_dropped_future_closes_the_input() {
    let connection = connect(&panda()).await;
    let folder = text(&run(&connection, "mktemp -d").await.stdout).trim().to_owned();
    let script =
        format!("{{ exec 3<&0 </dev/null; touch {folder}/on; cat <&3 >/dev/null; touch {folder}/off; }}");
    let stop = CancellationToken::new();
    let _ = tokio::time::timeout(Duration::from_millis(500), connection.run(&script, &stop)).await;
    let wait = format!(
        "{{ for i in 1 2 3 4 5; do [ -e {folder}/off ] || sleep 0.2; done; ls {folder}; rm -r {folder}; }}"
    );
    assert_eq!(text(&run(&connection, &wait).await.stdout), "off\non\n");
}

#[tokio::test]
async fn patience_with_a_stopped_script_ends() {
    let connection = connect(&panda()).await;
    let stop = CancellationToken::new();
    let later = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        stop.cancel();
        Instant::now()
    };
    let (ended, start) = tokio::join!(connection.run("sleep 18 </dev/null", &stop), later);
    let error = ended.unwrap_err();
    assert!((14..17).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    assert!(error.message.contains("may still run"), "{error}");
    assert_eq!(run(&connection, "true").await.exit, Exit::Code(0));
}

async fn ping(socket: &Path, half_close: bool) -> String {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    stream.write_all(b"GET /_ping HTTP/1.1\r\nHost: docker\r\nConnection: close\r\n\r\n").await.unwrap();
    if half_close {
        stream.shutdown().await.unwrap();
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_forwarded_docker_socket() {
    use std::os::unix::fs::PermissionsExt;
    let connection = connect(&panda()).await;
    let socket = connection.forward_unix("/var/run/docker.sock").await.unwrap();
    let folder = socket.path().parent().unwrap().to_owned();
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    for half_close in [false, true] {
        let answer = ping(socket.path(), half_close).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("OK"), "{answer}");
    }
    for answer in join_all((0..20).map(|_| ping(socket.path(), false))).await {
        assert!(answer.ends_with("OK"), "{answer}");
    }
    assert_eq!(socket.problem().map(|problem| problem.message), None);

    let docker =
        bollard::Docker::connect_with_unix(socket.path().to_str().unwrap(), 60, bollard::API_DEFAULT_VERSION)
            .unwrap();
    let docker = docker.negotiate_version().await.unwrap();
    let options = CreateExecOptions {
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        cmd: Some(vec!["sh", "-c", "cat; echo end"]),
        ..Default::default()
    };
    let exec = docker.create_exec("lattepanda-b", options).await.unwrap();
    let StartExecResults::Attached { mut output, mut input } =
        docker.start_exec(&exec.id, None).await.unwrap()
    else {
        panic!("the exec is detached");
    };
    let sent = "0123456789abcde\n".repeat(60_000);
    let (receive, ()) = tokio::join!(
        async {
            let mut received = Vec::new();
            while let Some(message) = output.next().await {
                received.extend_from_slice(&message.unwrap().into_bytes());
            }
            received
        },
        async {
            input.write_all(sent.as_bytes()).await.unwrap();
            input.shutdown().await.unwrap();
        }
    );
    assert!(text(&receive).strip_prefix(&sent) == Some("end\n"), "{} bytes", receive.len());
    drop(socket);
    assert!(!folder.exists());

    let error = connection.forward_unix("/run/nothing").await.err().unwrap();
    assert!(error.message.contains("`/run/nothing` can't be opened there"), "{error}");
}

#[tokio::test]
async fn a_connection_that_dies_is_an_error() {
    let connection = connect(&panda()).await;
    let other = connect(&panda()).await;
    let session = text(&run(&connection, "echo $PPID").await.stdout).trim().to_owned();
    let stop = CancellationToken::new();
    let start = Instant::now();
    let (first, second, _) = tokio::join!(
        connection.run("sleep 20 </dev/null", &stop),
        connection.run("sleep 20 </dev/null", &stop),
        async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            run(&other, &format!("kill {session}")).await
        }
    );
    assert!(start.elapsed() < Duration::from_secs(5));
    for error in [first.unwrap_err(), second.unwrap_err()] {
        assert!(error.message.starts_with("`lattepanda-a`: the SSH connection was lost"), "{error}");
    }
    assert_eq!(run(&connection, "true").await.exit, Exit::Code(0), "the next script gets a new connection");
}

#[tokio::test]
async fn keys_are_renewed_while_much_is_going_on() {
    let folder = tempfile::tempdir().unwrap();
    let connection = connect(&second_server(&folder, "-o RekeyLimit=1M")).await;
    let word = "x".repeat(2 << 20);
    let big = format!("{{ word='{word}'; head -c 8000000 /dev/zero; echo ${{#word}} >&2; }} </dev/null");
    let bigs = join_all((0..3).map(|_| run(&connection, &big)));
    let smalls = async {
        for _ in 0..50 {
            assert_eq!(text(&run(&connection, "echo small").await.stdout), "small\n");
        }
    };
    for output in tokio::join!(bigs, smalls).0 {
        assert_eq!((output.stdout.len(), text(&output.stderr)), (8_000_000, "2097152\n"));
    }
}

#[tokio::test]
async fn a_silent_connection_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let mark = format!("silent-{}", std::process::id());
    let connection = connect(&second_server(&folder, &format!("-o PidFile=/run/{mark}"))).await;
    let start = Instant::now();
    let stop = CancellationToken::new();
    let silence = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let children = ["-P", &std::process::id().to_string(), "-f", &mark];
        let carrier = Command::new("pgrep").args(children).output().unwrap();
        Command::new("kill").args(["-STOP", text(&carrier.stdout).trim()]).status().unwrap()
    };
    let (outcome, stopped) = tokio::join!(connection.run("sleep 150 </dev/null", &stop), silence);
    assert!(stopped.success());
    let error = outcome.unwrap_err();
    assert!(error.message.contains("no answer for 95 s"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(130));
}

//! Jobs, and files to a place and back, over every way to one: this machine, SSH with each login shell of
//! the lab, a container.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use runner::transports::docker::{Container, ContainerOptions, Engine, Pull};
use runner::transports::files::{Fetched, Found, fetch, upload};
use runner::transports::job::{self, Command, Ended, Job, OUTPUT_LIMIT, Stop};
use runner::transports::local::Local;
use runner::transports::ssh::SshTarget;
use runner::transports::{Transport, TransportError};
use tokio_util::sync::CancellationToken;

use crate::ssh::{connect, panda, text};

const IMAGE: &str = "debian:bookworm-slim";

/// A place with a fresh directory.
struct Place {
    name: String,
    transport: Box<dyn Transport>,
    directory: String,
    container: Option<Container>,
}

impl Place {
    async fn new(name: &str, transport: Box<dyn Transport>, container: Option<Container>) -> Place {
        let made = job::query(&*transport, "mktemp -d /var/tmp/runner-test-XXXXXX").await.unwrap();
        Place { name: name.to_owned(), transport, directory: text(&made).trim().to_owned(), container }
    }

    async fn all() -> Vec<Place> {
        let mut places = vec![Place::new("local", Box::new(Local::default()), None).await];
        for user in ["bench", "noisy", "fishy", "cshy"] {
            let connection = connect(&SshTarget { user: Some(user.to_owned()), ..panda() }).await;
            places.push(Place::new(user, Box::new(connection), None).await);
        }
        let container = container(ContainerOptions::default()).await.unwrap();
        places.push(Place::new("container", Box::new(container.exec()), Some(container)).await);
        places
    }

    async fn leave(self) {
        match &self.container {
            Some(container) => container.engine().remove_container(&container.id).await.unwrap(),
            None => drop(self.query(&format!("rm -rf {}", self.directory)).await),
        }
    }

    async fn query(&self, script: &str) -> String {
        let script = format!("cd {}\n{script}", self.directory);
        let printed = job::query(&*self.transport, &script).await;
        text(&printed.unwrap_or_else(|error| panic!("{}: {error}", self.name))).to_owned()
    }

    fn job(&self, command: Command) -> Job {
        Job {
            command,
            env: Vec::new(),
            directory: self.directory.clone(),
            sudo: false,
            ends_daemons: true,
            stop: Stop::default(),
            id: format!("runner-test-{}-{}", std::process::id(), job::next_number()),
            place: format!("runner-test-{}", std::process::id()),
            warms_up: false,
            probes: Vec::new(),
        }
    }

    async fn run(&self, job: &Job) -> Ended {
        let ended = job::run(&*self.transport, job, None, &CancellationToken::new()).await;
        ended.unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    async fn upload(&self, source: &Path, name: &str) -> Result<(), TransportError> {
        upload(&*self.transport, source, &self.directory, name, &CancellationToken::new()).await
    }

    async fn fetch(&self, patterns: &[&str]) -> Result<Found, TransportError> {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        fetch(&*self.transport, &self.directory, &patterns).await
    }

    /// Nothing of ours is left beside what was uploaded.
    async fn assert_clean(&self) {
        assert_eq!(self.query("find . -name '.runner-*'").await, "", "{}", self.name);
    }
}

async fn engine() -> Engine {
    Engine::connect("here", "/var/run/docker.sock", None, std::time::Duration::from_secs(1)).await.unwrap()
}

async fn container(options: ContainerOptions) -> Result<Container, TransportError> {
    let name = format!("runner-test-{}-{}", std::process::id(), job::next_number());
    let options = ContainerOptions { name, run: "test".into(), image: IMAGE.into(), ..options };
    engine().await.start_container(&options).await
}

fn words(words: &[&str]) -> Command {
    Command::Words(words.iter().map(|&word| word.into()).collect())
}

fn names(found: &Found) -> Vec<&str> {
    found.files.iter().map(|file| file.name.as_str()).collect()
}

#[tokio::test]
async fn words_shells_and_variables_arrive_exactly() {
    let value = "it's \"x\"\n  $HOME `id` \\n é\t;";
    for place in Place::all().await {
        let bash = ["bash", "-euo", "pipefail"].map(str::to_owned).to_vec();
        let failing = Command::Line { shell: bash, text: "false | true; echo not reached".into() };
        let print = "printf %s \"$A\"; printf %s \"$LC_ALL\"";
        let is_root = place.query("id -u").await.trim() == "0";
        for sudo in [false, true] {
            if sudo && place.name != "bench" && !is_root {
                continue;
            }
            for (command, code, stdout) in [
                (words(&["printf", "%s|", "$HOME; a'b", "", "-n"]), 0, "$HOME; a'b||-n|".to_owned()),
                (words(&["awk", "BEGIN { print ENVIRON[\"A\"] }"]), 0, format!("{value}\n")),
                (Command::line(print), 0, format!("{value}en_US")),
                (failing.clone(), 1, String::new()),
                (Command::line("echo \"$0 $#\"; exit 3"), 3, "sh 0\n".to_owned()),
                (Command::line("kill -s INT $$"), 130, String::new()),
            ] {
                let env = [("A", value), ("LC_ALL", "en_US"), ("RUNNER_JOB", "mine"), ("IFS", "x")];
                let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
                let job = Job { env, sudo, ..place.job(command) };
                let ended = place.run(&job).await;
                let place = &place.name;
                assert_eq!((ended.exit_code, text(&ended.stdout.bytes)), (code, &*stdout), "{place} {job:?}");
            }
            let job = Job { sudo, ..place.job(words(&["no-such-program", "x"])) };
            let ended = place.run(&job).await;
            let told = text(&ended.stderr.bytes);
            assert!(ended.exit_code == 127 && told.contains("no-such-program"), "{}: {ended:?}", place.name);
        }
        place.leave().await;
    }
}

/// With `wait -f`, bash 5.2 hung in one of some hundred jobs that ended at once.
#[tokio::test]
async fn many_short_jobs_all_end() {
    let container = container(ContainerOptions::default()).await.unwrap();
    let place = Place::new("container", Box::new(container.exec()), Some(container)).await;
    let kinds = [
        (words(&["awk", "BEGIN { print 1 }"]), 0),
        (Command::line("exit 3"), 3),
        (Command::line("kill -s INT $$"), 130),
        (words(&["no-such-program"]), 127),
    ];
    for (command, code) in kinds.iter().cycle().take(1200) {
        let env = vec![("A".to_owned(), "x y".to_owned()), ("IFS".to_owned(), "x".to_owned())];
        let ended = place.run(&Job { env, ..place.job(command.clone()) }).await;
        assert_eq!(ended.exit_code, *code, "{command:?}");
    }
    place.leave().await;
}

#[tokio::test]
async fn a_job_that_is_stopped_and_goes_on_has_not_ended() {
    for place in Place::all().await {
        let text_of_job = "(sleep 0.4; kill -s CONT $$) & kill -s STOP $$; sleep 0.2; echo on; exit 147";
        let ended = place.run(&place.job(Command::line(text_of_job))).await;
        assert_eq!((ended.exit_code, text(&ended.stdout.bytes)), (147, "on\n"), "{}", place.name);
        assert!(ended.elapsed_s > 0.5, "{}", place.name);
        place.leave().await;
    }
}

#[tokio::test]
async fn the_marks_of_a_job_are_not_its_own_to_change() {
    let place = Place::new("local", Box::new(Local::default()), None).await;
    let env =
        vec![("RUNNER_JOB".to_owned(), "x".to_owned()), ("PATH".to_owned(), "/nowhere:/bin".to_owned())];
    let job = Job { env, ..place.job(words(&["env"])) };
    let printed = text(&place.run(&job).await.stdout.bytes).to_owned();
    assert!(printed.contains(&format!("RUNNER_JOB=:{}:\n", job.id)), "{printed}");
    assert!(printed.contains("PATH=/nowhere:/bin\n"), "{printed}");
    let long = Job { env: vec![("A".to_owned(), "x".repeat(130 << 10))], ..job };
    let error = job::run(&Local::default(), &long, None, &CancellationToken::new()).await.unwrap_err();
    assert!(error.message.contains("`A` has 133120 bytes"), "{error}");
    place.leave().await;
}

#[tokio::test]
async fn a_job_is_stopped_by_its_signal_and_has_its_grace() {
    // A handler that also makes SIGINT a signal that children do not ignore, however the test was started.
    let _interrupt = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt()).unwrap();
    let polite = "trap 'sleep 0.5; echo told >told; exit 0' INT; while :; do sleep 0.1; done";
    let deaf = "trap '' INT TERM; sleep 622.1 & while :; do sleep 0.1; done";
    for place in Place::all().await {
        for (text_of_job, sudo, grace, expected) in [
            (polite, false, 10_000, (0, "told\n")),
            (polite, true, 10_000, (0, "told\n")),
            (deaf, false, 300, (137, "")),
        ] {
            if sudo && place.name != "bench" {
                continue;
            }
            let stop = Stop { signal: "INT".into(), grace: Duration::from_millis(grace) };
            let job = Job { stop, sudo, ..place.job(Command::line(text_of_job)) };
            let timeout = Some(Duration::from_secs(1));
            let ended = job::run(&*place.transport, &job, timeout, &CancellationToken::new()).await.unwrap();
            let told = place.query("cat told 2>/dev/null; rm -f told").await;
            assert_eq!((ended.exit_code, &*told), expected, "{} {text_of_job}", place.name);
        }
        let left = place.query("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '").await;
        assert!(!left.contains("sleep 622.1 "), "{}", place.name);
        place.leave().await;
    }
}

#[tokio::test]
async fn patience_is_longer_than_a_long_grace() {
    let container = container(ContainerOptions::default()).await.unwrap();
    let (inside, bench) = (container.exec(), connect(&panda()).await);
    let run = async |transport: &dyn Transport| {
        let place = Place::new("", Box::new(Local::default()), None).await;
        let stop = Stop { grace: Duration::from_secs(18), ..Stop::default() };
        let job = place.job(Command::line("trap '' TERM; echo begun; sleep 17; echo done"));
        let job = Job { stop, directory: "/".into(), ..job };
        let timeout = Some(Duration::from_millis(300));
        let ended = job::run(transport, &job, timeout, &CancellationToken::new()).await.unwrap();
        place.leave().await;
        text(&ended.stdout.bytes).to_owned()
    };
    let printed = tokio::join!(run(&inside), run(&bench));
    container.engine().remove_container(&container.id).await.unwrap();
    assert_eq!(printed, ("begun\ndone\n".to_owned(), "begun\ndone\n".to_owned()));
}

/// Bytes that no text is made of.
fn noise(size: usize) -> Vec<u8> {
    (0..size as u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[tokio::test]
async fn files_and_folders_go_and_come_back_as_they_are() {
    let here = tempfile::tempdir().unwrap();
    let path = |name: &str| here.path().join(name);
    fs::create_dir_all(path("folder/it's \"a\"/empty")).unwrap();
    fs::write(path("folder/it's \"a\"/new\nline $(id)"), noise(70_000)).unwrap();
    fs::write(path("folder/-n"), "").unwrap();
    fs::write(path("folder/tool"), "#!/bin/sh\necho works\n").unwrap();
    fs::set_permissions(path("folder/tool"), fs::Permissions::from_mode(0o751)).unwrap();
    fs::set_permissions(path("folder/it's \"a\"/empty"), fs::Permissions::from_mode(0o555)).unwrap();
    symlink("tool", path("folder/link")).unwrap();
    symlink("/etc/hostname", path("folder/outside")).unwrap();
    fs::set_permissions(path("folder"), fs::Permissions::from_mode(0o555)).unwrap();
    symlink("folder", path("way")).unwrap();
    fs::write(path("big"), noise(20_000_000)).unwrap();
    fs::write(path("nothing"), "").unwrap();
    for place in Place::all().await {
        let name = place.name.clone();
        for (source, target) in [("big", "deep/er/b i'g"), ("nothing", "nothing"), ("way", "./deep/folder")] {
            place.upload(&path(source), target).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        place.upload(&path("folder/tool"), "nothing").await.unwrap();
        let sum = place.query("md5sum <\"deep/er/b i'g\"").await;
        let expected =
            std::process::Command::new("md5sum").stdin(fs::File::open(path("big")).unwrap()).output();
        assert_eq!(sum, text(&expected.unwrap().stdout), "{name}");
        let look = "stat -c '%a %F' deep/folder deep/folder/tool deep/folder/*/empty nothing
                    readlink deep/folder/link; readlink deep/folder/outside; ./nothing";
        assert_eq!(
            place.query(look).await,
            "555 directory\n751 regular file\n555 directory\n751 regular file\ntool\n/etc/hostname\nworks\n",
            "{name}"
        );
        let found = place.fetch(&["deep/folder", "deep/*/b*", "none-*", "deep/folder/l?nk"]).await.unwrap();
        let expected = [
            "deep/er/b i'g",
            "deep/folder/-n",
            "deep/folder/it's \"a\"/new\nline $(id)",
            "deep/folder/link",
            "deep/folder/tool",
        ];
        assert_eq!(names(&found), expected, "{name}");
        assert_eq!(found.unmatched, ["none-*"]);
        let big = &found.files[0];
        assert_eq!((big.size, &big.bytes[..]), (20_000_000, &noise(20_000_000)[..OUTPUT_LIMIT]), "{name}");
        assert_eq!((found.files[1].size, found.files[2].bytes == noise(70_000)), (0, true), "{name}");
        place.query("chmod -R u+w deep").await;
        place.assert_clean().await;
        place.leave().await;
    }
    fs::set_permissions(path("folder"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn a_folder_is_merged_and_a_file_never_replaces_one() {
    let here = tempfile::tempdir().unwrap();
    fs::create_dir(here.path().join("in")).unwrap();
    fs::write(here.path().join("in/a"), "new").unwrap();
    let place = Place::new("local", Box::new(Local::default()), None).await;
    place.query("mkdir d; echo old >d/a; echo kept >d/b").await;
    place.upload(&here.path().join("in"), "d").await.unwrap();
    place.upload(&here.path().join("in"), ".").await.unwrap();
    assert_eq!(place.query("cat d/a d/b a").await, "newkept\nnew");
    let error = place.upload(&here.path().join("in/a"), "d").await.unwrap_err();
    assert!(error.message.ends_with("a folder of that name is there"), "{error}");
    let error = place.upload(&here.path().join("in"), "a").await.unwrap_err();
    assert!(error.message.contains("non-directory"), "{error}");
    place.assert_clean().await;
    place.leave().await;
}

#[tokio::test]
async fn what_can_not_be_copied_says_what_and_where_and_leaves_nothing() {
    let here = tempfile::tempdir().unwrap();
    let source = here.path().join("big");
    fs::write(&source, noise(8_000_000)).unwrap();
    let container = container(ContainerOptions::default()).await.unwrap();
    let small = Place {
        name: "small".into(),
        transport: Box::new(container.exec()),
        directory: "/dev/shm".into(),
        container: Some(container),
    };
    small.query("head -c 60000000 /dev/zero >fill").await;
    let refused = async |source: &Path, name: &str| small.upload(source, name).await.unwrap_err().message;
    let beginning = format!("can't copy `{}` to `/dev/shm/x`: ", source.display());
    let message = refused(&source, "x").await;
    assert!(message.starts_with(&beginning) && message.contains("No space left"), "{message}");
    assert_eq!(small.query("ls -A").await, "fill\n");
    let message = refused(&source, "fill/x").await;
    assert!(message.contains("fill") && message.contains("exists"), "{message}");
    let message = refused(&here.path().join("none"), "x").await;
    assert!(message.contains("none` to") && message.contains("No such file"), "{message}");
    for name in ["../x", "/x", "a/../../x"] {
        let message = refused(&source, name).await;
        assert!(message.contains("leads out of the directory"), "{message}");
    }
    small.query("rm /usr/bin/base64").await;
    let message = refused(&source, "y").await;
    assert!(message.ends_with("base64 is missing there: install it"), "{message}");
    small.leave().await;

    let place = Place::new("local", Box::new(Local::default()), None).await;
    let stop = CancellationToken::new();
    stop.cancel();
    let error = upload(&Local::default(), &source, &place.directory, "x", &stop).await.unwrap_err();
    assert!(error.message.ends_with("the run was interrupted"), "{error}");
    assert_eq!(place.query("ls -A").await, "");
    place.leave().await;
}

#[tokio::test]
async fn what_is_fetched_stays_in_the_directory_and_below_its_limits() {
    let place = Place::new("local", Box::new(Local::default()), None).await;
    place.query("mkdir .h d; echo 1 >.h/.x; echo 2 >d/z; echo 3 >'a*b'; echo 4 >acb; mkfifo d/fifo; ln -s nowhere gone").await;
    place.query("ln -s /etc/hostname out; ln -s .. up; ln -s d/z in; ln -s . d/loop").await;
    fs::write(Path::new(&place.directory).join(std::ffi::OsStr::from_bytes(b"\xff")), "5").unwrap();
    for (patterns, expected, unmatched) in [
        (&["a[*]b"][..], &["a*b"][..], &[][..]),
        (&["a*b", "acb", "./a?b"], &["a*b", "acb"], &[]),
        (&[".*"], &[".h/.x"], &[]),
        (&["d", "in"], &["d/z", "in"], &[]),
        (&["."], &[".h/.x", "a*b", "acb", "d/z", "\\xFF"], &[]),
        (&["d/fifo", "gone", "$(id)", "{a,b}"], &[], &["d/fifo", "gone", "$(id)", "{a,b}"]),
    ] {
        let found = place.fetch(patterns).await.unwrap();
        assert_eq!(names(&found), expected, "{patterns:?}");
        assert_eq!(found.unmatched, unmatched, "{patterns:?}");
    }
    // Something that is outside must be there.
    let _beside = tempfile::NamedTempFile::new_in(Path::new(&place.directory).parent().unwrap()).unwrap();
    // bash does not find `..` by `.?`, other shells do.
    assert!(place.fetch(&[".?/*"]).await.map_or(true, |found| found.files.is_empty()));
    for pattern in ["out", "up", "up/*"] {
        let error = place.fetch(&[pattern]).await.unwrap_err();
        assert!(error.message.contains("leads out of it"), "{pattern}: {error}");
    }
    let error = place.fetch(&["../x"]).await.unwrap_err();
    assert!(error.message.contains("`../x` leads out"), "{error}");
    place.query("for i in 1 2 3; do head -c 16777215 /dev/zero >s$i; done").await;
    let found = place.fetch(&["s[12]"]).await.unwrap();
    assert!(found.files.iter().all(|Fetched { bytes, size, .. }| bytes.len() as u64 == *size));
    let error = place.fetch(&["s*"]).await.unwrap_err();
    assert!(error.message.contains(&place.directory) && error.message.contains("48 MiB"), "{error}");
    place.leave().await;
}

#[tokio::test]
async fn a_container_runs_its_entrypoint_to_its_end_first() {
    let entrypoint = |script: &str| ["sh", "-c", script, "entry"].map(str::to_owned).to_vec();
    let options = ContainerOptions {
        platform: Some("linux/amd64".into()),
        entrypoint: entrypoint("sleep 0.5; echo ready >/ready; exec \"$@\""),
        ..ContainerOptions::default()
    };
    let made = container(options).await.unwrap();
    let printed = job::query(&made.exec(), "cat /ready").await;
    made.engine().remove_container(&made.id).await.unwrap();
    assert_eq!(text(&printed.unwrap()), "ready\n");
    let options = ContainerOptions {
        entrypoint: entrypoint("echo no licence >&2; exit 4"),
        ..ContainerOptions::default()
    };
    let error = container(options).await.err().unwrap();
    assert!(
        error.message.contains("its container ended with exit code 4")
            && error.message.contains("no licence"),
        "{error}"
    );
}

#[tokio::test]
async fn an_image_is_taken_as_it_was_asked_for() {
    let engine = engine().await;
    for (image, platform, pull, expected) in [
        (IMAGE, None, Pull::Never, None),
        (IMAGE, None, Pull::Missing, None),
        (
            "no-such-image:9",
            None,
            Pull::Never,
            Some("image `no-such-image:9` is not there, and `pull: never`"),
        ),
        (IMAGE, Some("linux/s390x"), Pull::Never, Some("for linux/s390x is not there")),
        (
            "no-such-image:9",
            None,
            Pull::Missing,
            Some("`no-such-image:9` is not there and can't be pulled: "),
        ),
        ("127.0.0.1:9/x:1", None, Pull::Always, Some("image `127.0.0.1:9/x:1` can't be pulled: ")),
    ] {
        let error = engine.ensure_image(image, platform, pull).await.err();
        let message = error.map(|error| error.message);
        match expected {
            None => assert_eq!(message, None, "{image}"),
            Some(words) => assert!(message.as_ref().is_some_and(|text| text.contains(words)), "{message:?}"),
        }
    }
}

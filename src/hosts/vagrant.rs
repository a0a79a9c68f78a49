//! Machines of Vagrant, brought up by its own command line. What a run brings up stands in its ledger before, with
//! what is to become of it, and is given back from there; a machine that was running is left alone. Read [`provide`].

mod folder;
mod left;
mod peer;
mod provenance;
mod ssh_config;
mod status;
mod vagrantfile;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use indexmap::IndexMap;

use self::folder::Folder;
use self::left::{End, Left};
use self::status::{NOT_CREATED, RUNNING};
use super::command_line::{Call, Hear};
use super::provide::{Fate, Making, Provided, Said, Tell};
use super::ssh::local_path;
use super::{Kind, Thing};
use crate::diagnostic::Sources;
use crate::spec::TimeSpan;
use crate::spec::host::{After, Vagrant, Vagrantfile};
use crate::transports::ssh::{KnownHosts, SshConnection, SshTarget};
use crate::transports::{DEFAULT_RECONNECT, TransportError};

/// How long a machine may take to come up, if nothing is said.
const UP_WITHIN: Duration = Duration::from_secs(30 * 60);
/// How long it may take to halt or to be destroyed.
const DOWN_WITHIN: Duration = Duration::from_secs(10 * 60);

/// Brings the machine up, if it is not running.
///
/// # Errors
/// When it can't be brought up or reached. What was made of it stands in the ledger then.
pub(super) async fn provide(
    name: &str,
    vagrant: &Vagrant,
    sources: &Sources,
    making: &Making,
) -> Result<Provided, TransportError> {
    let (machine, path) = (vagrant.machine(), path(vagrant, sources)?);
    let doing = |what: String| (making.tell)(name, Said::Doing(what));
    let text = vagrantfile::text(name, vagrant, &paths(vagrant, sources))?;
    if text.is_some() {
        make_folder(&path)?;
    }
    // One that this run could not bring up whole is no machine to be measured.
    for (entry, thing) in making.ledger.left_on(name) {
        if thing.kind == Kind::Vagrant {
            release(name, vagrant, &thing, &making.tell).await.map_err(|error| named(name, error))?;
            making.ledger.released(entry);
        }
    }
    let folder = Folder::open(&path, provider(vagrant), up_within(vagrant), doing).await;
    let folder = folder.map_err(|error| named(name, error))?;
    if let Some(text) = text {
        write(name, machine, &path, &text)?;
    }
    for shared in paths(vagrant, sources).synced_folders {
        make_folder(Path::new(&shared))?;
    }
    let state = folder.state(machine).await.map_err(|error| named(name, error))?;
    let mut seconds = None;
    if state != RUNNING {
        let left = Left::new(vagrant.after.unwrap_or_default(), &state, machine, &path);
        let (run, host) = (making.run.clone(), name.to_owned());
        let thing = Thing { host, kind: Kind::Vagrant, name: left.to_string(), run, place: None };
        let entry = making.ledger.made(thing)?;
        doing(format!("bringing up Vagrant machine {machine} in {}", path.display()));
        let start = Instant::now();
        let up = folder.act(&up(vagrant), up_within(vagrant), hear(name, &making.tell)).await;
        up.map_err(|error| named(name, error))?;
        let took = start.elapsed().as_secs_f64();
        doing(format!("Vagrant machine {machine} is up after {took:.1} s"));
        seconds = Some(took);
        if vagrant.after == Some(After::Leave) {
            making.ledger.released(entry);
        }
    }
    let provided = provided(name, vagrant, &folder).await.map_err(|error| named(name, error))?;
    let seconds = seconds.map(|seconds| ("came up in".to_owned(), format!("{seconds:.1} s")));
    Ok(Provided { provenance: provided.provenance.into_iter().chain(seconds).collect(), ..provided })
}

/// The machine, which must be running.
///
/// # Errors
/// When it is not, or can't be reached.
pub(super) async fn find(
    name: &str,
    vagrant: &Vagrant,
    sources: &Sources,
) -> Result<Provided, TransportError> {
    let path = path(vagrant, sources)?;
    let machine = vagrant.machine();
    let state = down(name, vagrant, sources).await?;
    if let Some(state) = state {
        let message = format!("`{name}`: Vagrant machine {machine} is not running, but {state}");
        let hint = format!("a run brings it up; by hand: `vagrant up {machine}` in {}", path.display());
        return Err(TransportError { hint: Some(hint), ..TransportError::new(message) });
    }
    let folder = Folder::new(&path, provider(vagrant));
    provided(name, vagrant, &folder).await.map_err(|error| named(name, error))
}

/// The state of a machine that is not running, as a person reads it; none of one that is.
///
/// # Errors
/// When Vagrant does not tell.
pub(super) async fn down(
    name: &str,
    vagrant: &Vagrant,
    sources: &Sources,
) -> Result<Option<String>, TransportError> {
    let path = path(vagrant, sources)?;
    let folder = Folder::new(&path, provider(vagrant));
    if vagrant.vagrantfile.is_some() && !path.join("Vagrantfile").is_file() {
        // Whether Vagrant is there at all is worth knowing before a run.
        Folder::new(Path::new("/"), None).version().await.map_err(|error| named(name, error))?;
        return Ok(Some("not created".into()));
    }
    let state = folder.state(vagrant.machine()).await.map_err(|error| named(name, error))?;
    Ok((state != RUNNING).then(|| state.replace('_', " ")))
}

/// Does with the machine what the ledger says of it.
///
/// # Errors
/// Why it could not.
pub(super) async fn release(
    name: &str,
    vagrant: &Vagrant,
    thing: &Thing,
    tell: &Tell,
) -> Result<Fate, TransportError> {
    let Some(Left { end, machine, folder: path }) = Left::read(&thing.name) else {
        return Err(TransportError::new(format!("the ledger's `{}` can't be read", thing.name)));
    };
    let doing = |what: String| tell(name, Said::Doing(what));
    // Whoever brings it up there may be a `vagrant` whose runner was killed: it is waited for.
    let folder = Folder::open(&path, provider(vagrant), up_within(vagrant), doing).await?;
    let state = folder.state(&machine).await?;
    let (what, arguments) = match (end, state.as_str()) {
        (_, NOT_CREATED) => return Ok(Fate::Gone),
        (End::Halt, RUNNING) => ("halting", vec!["halt", &machine]),
        (End::Halt, _) => return Ok(Fate::Gone),
        (End::Destroy, _) => ("destroying", vec!["destroy", "--force", &machine]),
    };
    doing(format!("{what} Vagrant machine {machine} in {}", path.display()));
    folder.act(&arguments, DOWN_WITHIN, hear(name, tell)).await?;
    let now = folder.state(&machine).await?;
    match (end, now.as_str()) {
        (End::Destroy, NOT_CREATED) => Ok(Fate::Removed),
        (End::Halt, now) if now != RUNNING => Ok(Fate::Removed),
        _ => Err(TransportError::new(format!("Vagrant machine {machine} is still {now}"))),
    }
}

/// Whether what is on its disk is there when it was given back.
pub(super) fn is_kept(thing: &Thing) -> bool {
    Left::read(&thing.name).is_some_and(|left| left.end == End::Halt)
}

/// What is known of a machine that is up.
async fn provided(name: &str, vagrant: &Vagrant, folder: &Folder) -> Result<Provided, TransportError> {
    let machine = vagrant.machine();
    let options = folder.ssh_config(machine).await?;
    let of =
        |wanted: &str| options.iter().find(|(option, _)| option == wanted).map(|(_, value)| value.clone());
    let config = keep_options(name, folder.path(), &options)?;
    let target = SshTarget {
        name: name.to_owned(),
        address: name.to_owned(),
        port: None,
        user: None,
        identity: None,
        jump: None,
        known_hosts: KnownHosts::Default,
        config: Some(config),
        reconnect: vagrant.reconnect.map_or(DEFAULT_RECONNECT, |time| time.0),
    };
    let (provider, id) = provenance::made(folder.path(), machine).unwrap_or_default();
    let connection = SshConnection::connect(&target).await?;
    let host = of("HostName").unwrap_or_default();
    let peer_address = peer::address(name, &host, &provider, &connection).await?;
    let mut provenance = IndexMap::new();
    provenance.extend(folder.version().await?.map(|version| ("Vagrant".to_owned(), version)));
    let found = provenance::read(folder.path(), machine, &provider);
    if !found.iter().any(|(fact, _)| fact == "box") {
        let image = match provider.as_str() {
            "docker" => image(&id).await,
            _ => None,
        };
        provenance.extend(image.map(|image| ("box".to_owned(), image)));
    }
    provenance.extend(found);
    provenance.insert("provider".to_owned(), provider);
    Ok(Provided { target, peer_address, provenance })
}

/// The image of a machine that is a container, and the beginning of its id.
async fn image(id: &str) -> Option<String> {
    let format = "{{.Config.Image}} {{slice .Image 7 19}}";
    let call = Call {
        program: "docker",
        install: "install Docker",
        arguments: ["inspect", "--format", format, id].map(str::to_owned).to_vec(),
        directory: None,
        env: Vec::new(),
        input: Vec::new(),
        within: Duration::from_secs(30),
    };
    let printed = call.run(&|_| {}).await.ok().filter(|printed| printed.code == Some(0))?;
    Some(String::from_utf8_lossy(&printed.stdout).trim().to_owned())
}

/// Writes the options of `vagrant ssh-config` where `ssh` reads them, and returns the file. It is read instead of
/// the user's own: this is how `vagrant ssh` does it, and a jump for all hosts does not lead to this machine.
fn keep_options(name: &str, folder: &Path, options: &[(String, String)]) -> Result<PathBuf, TransportError> {
    let of =
        |wanted: &str| options.iter().find(|(option, _)| option == wanted).map(|(_, value)| value.as_str());
    let mut text = format!("Host {name}\n");
    for (option, value) in options {
        let is_command = option == "ProxyCommand";
        text +=
            &if is_command { format!("  {option} {value}\n") } else { format!("  {option} \"{value}\"\n") };
    }
    // The key of a machine that was made a minute ago can be known to nobody, and ports of this machine go from
    // one to the next. Vagrant says so by the two options; a key that is known of an older machine must not count.
    if of("StrictHostKeyChecking") == Some("no") && of("UserKnownHostsFile") == Some("/dev/null") {
        text += "  GlobalKnownHostsFile /dev/null\n";
    }
    let path = folder.join(".vagrant").join(format!("runner-{name}.ssh_config"));
    let written = fs::write(&path, text);
    written.map_err(|error| TransportError::new(format!("can't write `{}`: {error}", path.display())))?;
    Ok(path)
}

fn up(vagrant: &Vagrant) -> Vec<&str> {
    let provider = provider(vagrant).into_iter().flat_map(|provider| ["--provider", provider]);
    ["up", vagrant.machine()].into_iter().chain(provider).collect()
}

/// Writes its Vagrantfile. One that has made a machine stays as it is: that machine would not be what it says.
fn write(name: &str, machine: &str, path: &Path, text: &str) -> Result<(), TransportError> {
    if vagrantfile::is_there(path, text) {
        return Ok(());
    }
    if provenance::made(path, machine).is_some() {
        let message = format!("`{name}`: Vagrant machine {machine} was made by another Vagrantfile");
        let hint = format!("destroy it: `vagrant destroy {machine}` in {}", path.display());
        return Err(TransportError { hint: Some(hint), ..TransportError::new(message) });
    }
    vagrantfile::write(path, text)
}

fn hear(name: &str, tell: &Tell) -> Hear {
    let (name, tell) = (name.to_owned(), Arc::clone(tell));
    Arc::new(move |line| tell(&name, Said::Line(line.to_owned())))
}

fn named(name: &str, error: TransportError) -> TransportError {
    match error.message.starts_with(&format!("`{name}`: ")) {
        true => error,
        false => TransportError { message: format!("`{name}`: {}", error.message), ..error },
    }
}

fn provider(vagrant: &Vagrant) -> Option<&str> {
    vagrant.provider.as_ref().map(|provider| provider.value.as_str())
}

fn up_within(vagrant: &Vagrant) -> Duration {
    vagrant.up_within.map_or(UP_WITHIN, |TimeSpan(time)| time)
}

/// The folder of its Vagrantfile, whole.
fn path(vagrant: &Vagrant, sources: &Sources) -> Result<PathBuf, TransportError> {
    let path = vagrant.directory.as_ref().map(|directory| local_path(directory, sources)).unwrap_or_default();
    let whole = std::path::absolute(&path);
    whole.map_err(|error| TransportError::new(format!("`{}`: {error}", path.display())))
}

fn paths(vagrant: &Vagrant, sources: &Sources) -> vagrantfile::Paths {
    let whole = |text| {
        let path = local_path(text, sources);
        std::path::absolute(&path).unwrap_or(path).to_string_lossy().into_owned()
    };
    match vagrant.vagrantfile.as_ref().map(|found| &found.value) {
        Some(Vagrantfile::Made(fields)) => vagrantfile::Paths {
            synced_folders: fields.synced_folders.iter().map(|folder| whole(&folder.host)).collect(),
            identity: fields.identity.as_ref().map(whole),
        },
        _ => vagrantfile::Paths { synced_folders: Vec::new(), identity: None },
    }
}

fn make_folder(path: &Path) -> Result<(), TransportError> {
    let made = fs::create_dir_all(path);
    made.map_err(|error| TransportError::new(format!("can't make the folder `{}`: {error}", path.display())))
}

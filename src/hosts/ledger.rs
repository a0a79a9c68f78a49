//! What a run has made on its machines and not yet removed: a line on disk before each thing is made, one
//! after it was removed. From the file alone everything can be found again. Read [`Thing`], then [`Ledger`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::transports::TransportError;

/// The version of the format of `ledger.jsonl`.
const FORMAT_VERSION: u32 = 1;

/// Something that a run makes on a machine, with all that is needed to remove it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Thing {
    /// The host's name in the experiment.
    pub host: String,
    /// What it is.
    pub kind: Kind,
    /// The path of a directory, the name of a container or network, the beginning of the mark of processes.
    pub name: String,
    /// The id of the run: in the name of a directory, the label of a container, the mark of a process.
    pub run: String,
    /// Where it was made, as [`Kind::is_of_host`] things of a cloud need it: looked for elsewhere it would seem gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// What a [`Thing`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Everything on the machine that carries the run's mark: its processes, and their files in memory.
    Processes,
    /// A directory of a place.
    Directory,
    /// A container on the host's engine.
    Container,
    /// A network on the host's engine.
    Network,
    /// A machine of Vagrant that was brought up: what is to become of it, its name and its folder.
    Vagrant,
    /// Instances of EC2 with the run's tags; the name is the client token of the launch.
    Instance,
    /// Tasks of ECS with the run's tags, and their definitions.
    Tasks,
}

impl Kind {
    /// Whether it is removed by who provides the host, and not on the host.
    pub fn is_of_host(self) -> bool {
        matches!(self, Kind::Vagrant | Kind::Instance | Kind::Tasks)
    }

    /// Whether it is the machine itself: with it everything on it is gone.
    pub fn is_whole_machine(self) -> bool {
        matches!(self, Kind::Vagrant | Kind::Instance)
    }
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Processes => {
                write!(f, "processes with the mark `{}`, and their files in memory", self.name)
            }
            Kind::Directory => write!(f, "directory {}", self.name),
            Kind::Container => write!(f, "container {}", self.name),
            Kind::Network => write!(f, "network {}", self.name),
            Kind::Vagrant => write!(f, "Vagrant machine: {}", self.name),
            Kind::Instance => write!(f, "EC2 instance of {}", self.name),
            Kind::Tasks => write!(f, "ECS tasks of {}", self.name),
        }
    }
}

/// The number of a thing in its ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry(u64);

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    v: u32,
    #[serde(flatten)]
    what: What,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum What {
    Made(Made),
    Released(u64),
}

#[derive(Debug, Serialize, Deserialize)]
struct Made {
    number: u64,
    #[serde(flatten)]
    thing: Thing,
}

/// What is left of a run. Cheap to clone. Without a file it lives in memory alone.
#[derive(Clone, Default)]
pub struct Ledger(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    file: Option<(PathBuf, File)>,
    /// Values of `{{ env.NAME }}`, by name: no file may hold them, so names are written with the template.
    variables: BTreeMap<String, String>,
    last: u64,
    left: BTreeMap<u64, Thing>,
}

impl Ledger {
    /// The ledger in the file `path`, made if it is not there; a torn last line is cut off, since what it
    /// tells of was not made yet. `variables` are the values of `{{ env.NAME }}`, which are not written.
    ///
    /// # Errors
    /// When the file can't be read or written.
    pub fn open(path: &Path, variables: &BTreeMap<String, String>) -> Result<Ledger, TransportError> {
        let failed = |error: io::Error| unwritable(path, &error);
        let mut state = State::read(path, variables)?;
        let file = OpenOptions::new().append(true).create(true).open(path).map_err(failed)?;
        let length = fs::read(path).map(|bytes| whole(&bytes) as u64);
        length.and_then(|length| file.set_len(length)).map_err(failed)?;
        // Its name, too, must be there after a power cut.
        let folder = path.parent().unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        state.file = Some((path.to_owned(), file));
        Ok(Ledger(Arc::new(Mutex::new(state))))
    }

    /// What the file `path` says is left, in the order in which it was made; nothing where there is no file.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn read(path: &Path, variables: &BTreeMap<String, String>) -> Result<Vec<Thing>, TransportError> {
        Ok(State::read(path, variables)?.left.into_values().collect())
    }

    /// Says that `thing` is about to be made. When this returns, that is on disk.
    ///
    /// # Errors
    /// When it can't be written; the thing must not be made then.
    pub fn made(&self, thing: Thing) -> Result<Entry, TransportError> {
        let mut state = self.state();
        if let Some((number, _)) = state.left.iter().find(|(_, known)| **known == thing) {
            return Ok(Entry(*number));
        }
        let number = state.last + 1;
        let sealed = Thing { name: sealed(&thing.name, &state.variables), ..thing.clone() };
        state.append(What::Made(Made { number, thing: sealed }), true)?;
        state.last = number;
        state.left.insert(number, thing);
        Ok(Entry(number))
    }

    /// Says that a thing is gone. A line that can't be written costs a look at something that is not there.
    pub fn released(&self, entry: Entry) {
        let mut state = self.state();
        if state.left.remove(&entry.0).is_some() {
            let _ = state.append(What::Released(entry.0), false);
        }
    }

    /// Everything that is left, in the order in which it was made.
    pub fn left(&self) -> Vec<Thing> {
        self.state().left.values().cloned().collect()
    }

    /// The same of one host, with the numbers to release it by.
    pub fn left_on(&self, host: &str) -> Vec<(Entry, Thing)> {
        let state = self.state();
        let of_host = state.left.iter().filter(|(_, thing)| thing.host == host);
        of_host.map(|(number, thing)| (Entry(*number), thing.clone())).collect()
    }

    /// Removes the file, if nothing is left.
    ///
    /// # Errors
    /// When it can't be removed.
    pub fn close(&self) -> Result<(), TransportError> {
        let state = self.state();
        match &state.file {
            Some((path, _)) if state.left.is_empty() => match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unwritable(path, &error)),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn read(path: &Path, variables: &BTreeMap<String, String>) -> Result<State, TransportError> {
        let mut state = State { variables: variables.clone(), ..State::default() };
        let mut bytes = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(state),
            read => read.map_err(|error| unreadable(path, &error.to_string()))?,
        };
        bytes.truncate(whole(&bytes));
        let text = String::from_utf8(bytes).map_err(|error| unreadable(path, &error.to_string()))?;
        for (index, line) in text.lines().enumerate() {
            let wrong = |why: &str| unreadable(path, &format!("line {}: {why}", index + 1));
            let line: Line = serde_json::from_str(line).map_err(|error| wrong(&error.to_string()))?;
            match line.what {
                _ if line.v > FORMAT_VERSION => return Err(wrong("it was written by a newer runner")),
                What::Made(Made { number, thing }) => {
                    let name = unsealed(&thing.name, variables);
                    state.last = state.last.max(number);
                    state.left.insert(number, Thing { name, ..thing });
                }
                What::Released(number) => drop(state.left.remove(&number)),
            }
        }
        Ok(state)
    }

    fn append(&mut self, what: What, is_synced: bool) -> Result<(), TransportError> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        let write = || {
            let mut line = serde_json::to_vec(&Line { v: FORMAT_VERSION, what })?;
            line.push(b'\n');
            let before = file.metadata()?.len();
            let written = file.write_all(&line).and_then(|()| match is_synced {
                true => file.sync_data(),
                false => Ok(()),
            });
            // A part of a line may not stand before the next one.
            written.inspect_err(|_| drop(file.set_len(before)))
        };
        write().map_err(|error: io::Error| unwritable(path, &error))
    }
}

/// How many of the bytes of a ledger are whole lines: the end of the last one may be missing, or, after a power
/// cut, some of its blocks never came to the disk and are zeros.
fn whole(bytes: &[u8]) -> usize {
    let last = bytes.split_inclusive(|byte| *byte == b'\n').next_back().unwrap_or_default();
    let is_torn = !last.ends_with(b"\n") || last.contains(&0);
    if is_torn { bytes.len() - last.len() } else { bytes.len() }
}

/// The names of the variables that the file `path` names.
///
/// # Errors
/// When the file can't be read.
pub fn variables_of(path: &Path) -> Result<BTreeSet<String>, TransportError> {
    let left = State::read(path, &BTreeMap::new())?.left;
    let names = |thing: &Thing| {
        let parts = thing.name.split("{{ env.").skip(1).filter_map(|part| part.split_once(" }}"));
        parts.map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    Ok(left.values().flat_map(names).collect())
}

fn template(name: &str) -> String {
    format!("{{{{ env.{name} }}}}")
}

/// `text` with `{{ env.NAME }}` for each value; the longest first, since one may hold another.
fn sealed(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut values: Vec<_> = variables.iter().filter(|(_, value)| !value.is_empty()).collect();
    values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
    let mut pieces = vec![(text.to_owned(), false)];
    for (name, value) in values {
        let cut = |(piece, is_template): (String, bool)| match is_template {
            true => vec![(piece, true)],
            false => {
                let parts = piece.split(value.as_str()).map(|part| vec![(part.to_owned(), false)]);
                parts.collect::<Vec<_>>().join(&(template(name), true))
            }
        };
        pieces = pieces.into_iter().flat_map(cut).collect();
    }
    pieces.into_iter().map(|(piece, _)| piece).collect()
}

fn unsealed(text: &str, variables: &BTreeMap<String, String>) -> String {
    variables.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&template(name), value))
}

fn unwritable(path: &Path, error: &io::Error) -> TransportError {
    TransportError {
        message: format!("can't write `{}`, so nothing may be made on a machine: {error}", path.display()),
        hint: None,
        is_lost: false,
    }
}

fn unreadable(path: &Path, why: &str) -> TransportError {
    TransportError {
        message: format!("can't read `{}`: {why}", path.display()),
        hint: Some("restore the file, or look for `runner-…` on the hosts by hand and remove it".into()),
        is_lost: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thing(name: &str) -> Thing {
        Thing {
            host: "a".into(),
            kind: Kind::Directory,
            name: name.into(),
            run: "0badcafe".into(),
            place: None,
        }
    }

    #[test]
    fn what_was_not_released_is_left_wherever_the_last_line_was_cut() {
        let folder = tempfile::tempdir().unwrap();
        let (path, none) = (folder.path().join("ledger.jsonl"), BTreeMap::new());
        let ledger = Ledger::open(&path, &none).unwrap();
        let one = ledger.made(thing("/w/one")).unwrap();
        assert_eq!(ledger.made(thing("/w/one")).unwrap(), one, "one thing has one line");
        ledger.made(thing("/w/two")).unwrap();
        ledger.released(one);
        let whole = fs::read(&path).unwrap();
        assert_eq!(ledger.left(), [thing("/w/two")]);
        ledger.made(thing("/w/three")).unwrap();
        let longer = fs::read(&path).unwrap();
        for cut in whole.len()..longer.len() {
            fs::write(&path, &longer[..cut]).unwrap();
            assert_eq!(Ledger::read(&path, &none).unwrap(), [thing("/w/two")], "cut at {cut}");
            let again = Ledger::open(&path, &none).unwrap();
            again.made(thing("/w/four")).unwrap();
            assert_eq!(Ledger::read(&path, &none).unwrap(), [thing("/w/two"), thing("/w/four")]);
        }
    }

    #[test]
    fn zeros_after_a_power_cut_are_a_torn_line() {
        let folder = tempfile::tempdir().unwrap();
        let (path, none) = (folder.path().join("ledger.jsonl"), BTreeMap::new());
        Ledger::open(&path, &none).unwrap().made(thing("/w/one")).unwrap();
        let whole = fs::read(&path).unwrap();
        for end in [&[0; 90][..], b"\0\0\0\"run\":\"0badcafe\"}\n"] {
            fs::write(&path, [&whole, end].concat()).unwrap();
            assert_eq!(Ledger::read(&path, &none).unwrap(), [thing("/w/one")]);
            Ledger::open(&path, &none).unwrap().made(thing("/w/two")).unwrap();
            assert_eq!(Ledger::read(&path, &none).unwrap(), [thing("/w/one"), thing("/w/two")]);
        }
    }

    #[test]
    fn a_ledger_in_which_nothing_is_left_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let ledger = Ledger::open(&path, &BTreeMap::new()).unwrap();
        let entry = ledger.made(thing("/w/one")).unwrap();
        ledger.close().unwrap();
        assert!(path.exists());
        ledger.released(entry);
        ledger.close().unwrap();
        ledger.close().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn no_value_of_a_variable_is_written_and_all_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let variables = [("DISK", "/mnt/secret"), ("PART", "secret"), ("E", "env")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let made = thing("/mnt/secret/secret-env/runner-0badcafe-1");
        Ledger::open(&path, &variables).unwrap().made(made.clone()).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("{{ env.DISK }}/{{ env.PART }}-{{ env.E }}/runner-"), "{text}");
        assert_eq!(Ledger::read(&path, &variables).unwrap(), [made]);
        let named: Vec<_> = variables_of(&path).unwrap().into_iter().collect();
        assert_eq!(named, ["DISK", "E", "PART"]);
    }

    #[test]
    fn what_can_not_be_written_must_not_be_made() {
        let folder = tempfile::tempdir().unwrap();
        let error = Ledger::open(&folder.path().join("none/x"), &BTreeMap::new()).err().unwrap();
        assert!(error.message.contains("none/x`, so nothing may be made"), "{error}");
        let full = Path::new("/dev/full");
        let state = State { file: Some((full.into(), File::create(full).unwrap())), ..State::default() };
        let ledger = Ledger(Arc::new(Mutex::new(state)));
        assert!(ledger.made(thing("/w/one")).is_err());
        assert_eq!(ledger.left(), []);
    }

    #[test]
    fn a_newer_or_broken_ledger_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        for (text, why) in [("{\"v\":2,\"released\":1}\n", "newer"), ("x\n", "line 1: expected value")] {
            fs::write(&path, text).unwrap();
            let error = Ledger::read(&path, &BTreeMap::new()).unwrap_err();
            assert!(error.message.contains(why), "{error}");
        }
    }
}

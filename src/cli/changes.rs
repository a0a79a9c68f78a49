//! The options that change an experiment for one command, the same for every verb that reads one. They are
//! only taken apart here; what they do is the business of `commands/experiment.rs`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, FromArgMatches};

/// What the command line changes of an experiment.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Changes to the experiment")]
pub struct Changes {
    /// A file whose hosts and environments replace those of the same name.
    #[arg(long, value_name = "FILE")]
    pub hosts: Option<PathBuf>,
    /// Measured trials of each cell, instead of what the file says.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub repetitions: Option<u32>,
    /// The seed of the order, to repeat that of an earlier run.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Only the cells for which this holds: "host.name == 'pi5' and size > 64".
    #[arg(long = "where", value_name = "EXPR")]
    pub condition: Option<String>,
    /// These values of an axis, instead of those of the file; may be given again for another axis.
    #[arg(long = "axis", value_name = "NAME=A,B")]
    pub axes: Vec<AxisOption>,
    /// Another value in the file, as in workloads.write.timeout=90s; may be given again.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<SetOption>,
}

impl Changes {
    /// The words that give these changes on a command line.
    pub fn words(&self) -> Vec<String> {
        let Changes { hosts, repetitions, seed, condition, axes, sets } = self;
        let given = [
            hosts.as_ref().map(|path| format!("--hosts={}", path.display())),
            repetitions.map(|count| format!("--repetitions={count}")),
            seed.map(|seed| format!("--seed={seed}")),
            condition.as_ref().map(|condition| format!("--where={condition}")),
        ];
        let axes = axes.iter().map(|axis| format!("--axis={axis}"));
        let sets = sets.iter().map(|set| format!("--set={set}"));
        given.into_iter().flatten().chain(axes).chain(sets).collect()
    }

    /// The changes that these words give.
    ///
    /// # Errors
    /// What clap says of them.
    pub fn from_words(words: &[String]) -> Result<Self, String> {
        let command = Changes::augment_args(clap::Command::new("runner").no_binary_name(true));
        let matches = command.try_get_matches_from(words).map_err(|error| error.to_string())?;
        Changes::from_arg_matches(&matches).map_err(|error| error.to_string())
    }

    /// These changes, and those of `kept` that they do not replace: an option by its name, `--axis` and
    /// `--set` by that of the axis or the path.
    pub fn or(self, kept: Changes) -> Self {
        let axes = kept.axes.into_iter().filter(|old| self.axes.iter().all(|new| new.name != old.name));
        let sets = kept.sets.into_iter().filter(|old| self.sets.iter().all(|new| new.path != old.path));
        Changes {
            hosts: self.hosts.or(kept.hosts),
            repetitions: self.repetitions.or(kept.repetitions),
            seed: self.seed.or(kept.seed),
            condition: self.condition.or(kept.condition),
            axes: axes.chain(self.axes.iter().cloned()).collect(),
            sets: sets.chain(self.sets.iter().cloned()).collect(),
        }
    }
}

/// `--axis NAME=A,B`: at least one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AxisOption {
    /// The axis.
    pub name: String,
    /// What is left of it.
    pub values: Vec<String>,
}

/// `--set PATH=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetOption {
    /// Keys with dots between them.
    pub path: String,
    /// The value, as it would be written in the file.
    pub value: String,
}

impl FromStr for AxisOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=').map(|(name, list)| (name.trim(), list.split(',').map(str::trim)));
        match parts {
            Some((name, mut values)) if !name.is_empty() && values.clone().all(|value| !value.is_empty()) => {
                Ok(AxisOption { name: name.to_owned(), values: values.by_ref().map(str::to_owned).collect() })
            }
            _ => Err("write NAME=VALUE, or NAME=VALUE,VALUE for more than one".to_owned()),
        }
    }
}

impl FromStr for SetOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=').map(|(path, value)| (path.trim(), value)) {
            Some((path, value)) if path.split('.').all(|key| !key.is_empty()) => {
                Ok(SetOption { path: path.to_owned(), value: value.to_owned() })
            }
            _ => Err("write PATH=VALUE, with dots between the keys of the path".to_owned()),
        }
    }
}

impl fmt::Display for AxisOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.values.join(","))
    }
}

impl fmt::Display for SetOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.path, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::{AxisOption, Changes, SetOption};

    #[test]
    fn an_axis_has_values() {
        for (text, values) in
            [("size=64", &["64"][..]), (" size = 64 , 256 ", &["64", "256"]), ("e=a==b", &["a==b"])]
        {
            let axis: AxisOption = text.parse().unwrap();
            assert_eq!(axis.values, values, "{text}");
        }
        for text in ["size", "=64", "size=", "size=64,,1", ""] {
            assert!(text.parse::<AxisOption>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_path_has_keys() {
        let set: SetOption = "workloads.write.run=a=b, c".parse().unwrap();
        assert_eq!((&*set.path, &*set.value), ("workloads.write.run", "a=b, c"));
        assert_eq!("seed=".parse::<SetOption>().unwrap().value, "", "an empty value is one");
        for text in ["seed", "=1", "a..b=1", ".a=1", "a.=1"] {
            assert!(text.parse::<SetOption>().is_err(), "{text}");
        }
    }

    #[test]
    fn words_give_the_same_changes_again() {
        let words = [
            "--hosts=lab/hosts.yaml",
            "--repetitions=3",
            "--seed=7",
            "--where=-1 < size and host.name == '--set'",
            "--axis=size=1,2",
            "--set=workloads.w.run=echo --axis x=1",
            "--set=timeout=-1s",
        ];
        let words = words.map(str::to_owned);
        assert_eq!(Changes::from_words(&words).unwrap().words(), words);
        assert!(Changes::default().words().is_empty());
        assert!(Changes::from_words(&["--repetitions=***".into()]).is_err());
    }

    #[test]
    fn what_is_given_takes_the_place_of_what_was_kept() {
        let changes = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            Changes::from_words(&words).unwrap()
        };
        let kept = changes("--hosts a --repetitions 3 --axis size=1 --axis cpu=2 --set a.b=1 --set c=2");
        let given = changes("--repetitions 9 --axis size=4 --set c=5 --where true");
        let right = changes(
            "--hosts a --repetitions 9 --where true --axis cpu=2 --axis size=4 --set a.b=1 --set c=5",
        );
        assert_eq!(given.or(kept.clone()).words(), right.words());
        assert_eq!(Changes::default().or(kept.clone()).words(), kept.words());
    }
}

//! What a job executes: a line for a shell, or a program with its arguments and no shell. Whatever it is,
//! it becomes a list of arguments. Read [`Command`] first.

use std::fmt;

use super::{Job, quote};
use crate::transports::TransportError;

/// The longest argument or variable in bytes: Linux takes 128 KiB.
const LIMIT: usize = 120 << 10;

/// What is executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A line for a shell.
    Line {
        /// The shell with its options, e.g. `bash -euo pipefail`; it is given `-c` and the text.
        shell: Vec<String>,
        /// The line, or a whole script.
        text: String,
    },
    /// A program and its arguments, executed as they are, without a shell.
    Words(Vec<String>),
}

impl Command {
    /// A line for `sh`.
    pub fn line(text: impl Into<String>) -> Self {
        Command::Line { shell: vec!["sh".into()], text: text.into() }
    }

    /// The program and its arguments.
    pub fn arguments(&self) -> Vec<&str> {
        match self {
            Command::Line { shell, text } => {
                shell.iter().map(String::as_str).chain(["-c", text.as_str()]).collect()
            }
            Command::Words(words) => words.iter().map(String::as_str).collect(),
        }
    }

    /// What brings its shell, or any, into the machine's memory before the clock starts.
    pub(in crate::transports) fn warm_up(&self) -> Command {
        match self {
            Command::Line { shell, .. } => Command::Line { shell: shell.clone(), text: ":".into() },
            Command::Words(_) => Command::line(":"),
        }
    }
}

/// The command as a person would type it, for messages.
impl fmt::Display for Command {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Line { text, .. } => out.write_str(text),
            Command::Words(words) => {
                let shown: Vec<String> = words.iter().map(|word| shown(word)).collect();
                out.write_str(&shown.join(" "))
            }
        }
    }
}

/// A word in quotes where a shell needs them.
fn shown(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./=:,+%@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { quote(word) }
}

/// Whether Linux can take what `job` executes.
pub(super) fn check(job: &Job) -> Result<(), TransportError> {
    let command = ("the command".to_owned(), job.command.arguments());
    let variables =
        job.env.iter().map(|(name, value)| (format!("the variable `{name}`"), vec![value.as_str()]));
    for (what, texts) in std::iter::once(command).chain(variables) {
        let size = texts.iter().map(|text| text.len()).max().unwrap_or_default();
        if size > LIMIT {
            let message = format!("{what} has {size} bytes; {LIMIT} is the limit");
            return Err(TransportError {
                message,
                hint: Some("put it into a file on the machine".into()),
                is_lost: false,
            });
        }
        if texts.iter().any(|text| text.contains('\0')) {
            let message = format!("{what} holds a zero byte, which no program can be given");
            return Err(TransportError {
                message,
                hint: Some("put it into a file on the machine".into()),
                is_lost: false,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_it_is_typed() {
        let words = |words: &[&str]| Command::Words(words.iter().map(|&word| word.into()).collect());
        let bash = Command::Line { shell: vec!["bash".into(), "-eu".into()], text: "a; b".into() };
        assert_eq!(bash.arguments(), ["bash", "-eu", "-c", "a; b"]);
        for (command, shown) in [
            (bash, "a; b"),
            (Command::line("echo $HOME"), "echo $HOME"),
            (words(&["dd", "if=/dev/zero", "a b"]), "dd if=/dev/zero 'a b'"),
        ] {
            assert_eq!(command.to_string(), shown);
        }
    }
}

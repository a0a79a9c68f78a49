//! The only code that prints. It shows what happens and never decides anything: results go to standard
//! output, everything else to standard error, colours only to a terminal.

pub mod check;
pub mod clean;
pub mod compare;
mod console;
pub mod explain;
pub mod extract;
pub mod plan;
mod problems;
pub mod progress;
pub mod report;
pub mod resume;
pub mod status;
mod table;
mod time;

use std::borrow::Cow;
use std::error::Error as _;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::RwLock;

use crate::diagnostic::Problems;
use crate::error::Error;
use crate::hosts::Thing;
use crate::plan::{Cell, Plan};
use crate::secrets::Secrets;

use self::console::Reach;

pub use console::{be_quiet, keep_log};
pub use problems::render as render_problems;

const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// Shows what ended a command.
pub fn show_error(error: &Error) {
    if let Error::File(problems) = error {
        let colours = console_colours();
        tell(render_problems(&hidden(problems), colours, 100).trim_end());
        return;
    }
    tell(&format!("{RED}error{PLAIN}: {error}"));
    let mut cause = error.source();
    while let Some(next) = cause {
        tell(&format!("  because: {next}"));
        cause = next.source();
    }
    if let Some(hint) = error.hint() {
        tell(&format!("{BOLD}help{PLAIN}: {hint}"));
    }
}

/// Shows that an experiment and its schema were made, and how it is run.
pub fn show_made(experiment: &Path, schema: &Path) -> Result<(), Error> {
    tell(&format!("made {} and {}", experiment.display(), schema.display()));
    let path = experiment.to_string_lossy();
    show_text(|out| writeln!(out, "runner run {}", shell_words::quote(&path)))
}

/// Writes bytes to standard output.
pub fn show_bytes(bytes: &[u8]) -> Result<(), Error> {
    show_data(|out| out.write_all(bytes))
}

/// Says what is left on machines of the run in `directory`, and how it is removed.
pub fn show_left(left: &[Thing], directory: &Path) {
    for thing in left {
        tell(&format!("{YELLOW}left{PLAIN} on {}: {thing}", thing.host));
    }
    if !left.is_empty() {
        let path = directory.to_string_lossy();
        tell(&format!("{BOLD}help{PLAIN}: remove it with `runner clean {}`", shell_words::quote(&path)));
    }
}

/// Writes text to standard output, with colours on a terminal alone.
fn show_text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    to_output(WithoutSecrets { out: BufWriter::new(anstream::stdout().lock()), line: Vec::new() }, write)
}

/// Writes bytes to standard output as they are.
fn show_data(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    // Names and values of the experiment alone: none is a secret.
    to_output(BufWriter::new(io::stdout().lock()), write)
}

/// A reader that is gone has seen enough; anything else that stops the output is an error.
fn to_output(mut out: impl Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::World { action: "write to standard output", source: error })
        }
        _ => Ok(()),
    }
}

/// Hides secrets line by line on the way to `out`.
struct WithoutSecrets<W> {
    out: W,
    line: Vec<u8>,
}

impl<W: Write> Write for WithoutSecrets<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend(piece);
            if piece.ends_with(b"\n") {
                let line = String::from_utf8_lossy(&self.line).into_owned();
                self.line.clear();
                self.out.write_all(without_secrets(&line).as_bytes())?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
        self.out.write_all(without_secrets(&line).as_bytes())?;
        self.out.flush()
    }
}

/// `15 cells, 120 trials`.
fn counted(plan: &Plan) -> String {
    let count = |number: usize, one: &str| match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {one}s"),
    };
    let trials = count(plan.trial_count(), "trial");
    match plan.least_trial_count() {
        least if least < plan.trial_count() => {
            format!("{}, {least} to {trials}", count(plan.cell_count(), "cell"))
        }
        _ => format!("{}, {trials}", count(plan.cell_count(), "cell")),
    }
}

/// `10`, `10–50 until 2%`, or `10 + 1 warm-up`.
fn trials(cell: &Cell) -> String {
    let measured = cell.adaptive.map_or_else(|| cell.repetitions.to_string(), |rule| rule.to_string());
    match cell.warmup {
        0 => measured,
        warmup => format!("{measured} + {warmup} warm-up"),
    }
}

/// A line on standard error, and in the log where one is kept.
fn tell(line: &str) {
    console::say(Reach::All, line);
}

/// The same for what did not go wrong.
fn inform(line: &str) {
    console::say(Reach::Interested, line);
}

/// A line in the log alone, where one is kept.
pub fn note(line: &str) {
    console::say(Reach::Log, line);
}

/// What may not be seen in anything that is printed from now on.
static SECRETS: RwLock<Option<Secrets>> = RwLock::new(None);

/// Hides `secrets` in everything that is printed from now on.
pub fn hide(secrets: Secrets) {
    if let Ok(mut hidden) = SECRETS.write() {
        hidden.get_or_insert_default().add(secrets);
    }
}

fn without_secrets(text: &str) -> Cow<'_, str> {
    match SECRETS.read() {
        Ok(secrets) => secrets.as_ref().map_or(Cow::Borrowed(text), |secrets| secrets.hide(text)),
        // Rather nothing than a secret.
        Err(_) => Cow::Borrowed("***"),
    }
}

/// The same mistakes without secrets: once a message is wrapped, none would be found.
fn hidden(problems: &Problems) -> Problems {
    let mut problems = problems.clone();
    for problem in &mut problems.problems {
        problem.message = without_secrets(&problem.message).into_owned();
        problem.label = without_secrets(&problem.label).into_owned();
        problem.help = problem.help.as_ref().map(|help| without_secrets(help).into_owned());
    }
    problems
}

fn console_colours() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

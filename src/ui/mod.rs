//! The only code that prints. It shows what happens and never decides anything: results go to standard
//! output, everything else to standard error, colours only to a terminal.

mod problems;
pub mod progress;
mod remaining;

use std::borrow::Cow;
use std::error::Error as _;
use std::io::Write;
use std::sync::OnceLock;

use crate::error::Error;
use crate::report::Written;
use crate::secrets::Secrets;

pub use problems::render as render_problems;

const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

/// Shows what ended a command.
pub fn show_error(error: &Error) {
    if let Error::File(problems) = error {
        let colours = console_colours();
        tell(render_problems(problems, colours, 100).trim_end());
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

/// Shows where a report lies.
pub fn show_written(written: &Written) {
    for warning in &written.warnings {
        tell(&format!("{YELLOW}warning{PLAIN}: {warning}"));
    }
    if let Some(report) = written.files.first() {
        // A reader that is gone needs no report.
        let _ = writeln!(anstream::stdout(), "{}", report.display());
    }
}

/// Says what a second interrupt leaves behind: containers with this `label` of this `run`.
pub fn show_left_behind(label: &str, run: &str) {
    tell(&format!(
        "{YELLOW}left at once{PLAIN}: containers, and directories `/var/tmp/runner-{run}-*`, may be left on the hosts\n\
         {BOLD}help{PLAIN}: remove the containers with `docker rm -f $(docker ps -aq --filter label={label}={run})`"
    ));
}

/// A line on standard error. A terminal that is gone must not end a run.
fn tell(line: &str) {
    let _ = writeln!(anstream::stderr(), "{}", without_secrets(line));
}

/// What may not be seen in anything that is printed from now on.
static SECRETS: OnceLock<Secrets> = OnceLock::new();

/// Hides `secrets` in everything that is printed from now on. Only the first call counts.
pub fn hide(secrets: Secrets) {
    let _ = SECRETS.set(secrets);
}

fn without_secrets(text: &str) -> Cow<'_, str> {
    SECRETS.get().map_or(Cow::Borrowed(text), |secrets| secrets.hide(text))
}

fn console_colours() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

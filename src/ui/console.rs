//! Standard error as it is shared: lines that stay, below them a region that is redrawn in place, and a log
//! file that gets every line with its time. Read [`say`] and [`draw`].

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{PLAIN, YELLOW, without_secrets};

/// Whoever draws decides when; indicatif is to hold nothing back.
const DRAWS_PER_SECOND: u8 = 255;

struct Console {
    /// What stands below the lines that stay.
    region: Option<ProgressBar>,
    log: Option<Box<dyn Write + Send>>,
    is_quiet: bool,
}

static CONSOLE: Mutex<Console> = Mutex::new(Console { region: None, log: None, is_quiet: false });

/// Who hears of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Standard error and the log.
    All,
    /// The same, but where only what went wrong is wanted the log alone.
    Interested,
    /// The log alone.
    Log,
}

/// Says from now on only what went wrong.
pub fn be_quiet() {
    if let Ok(mut console) = CONSOLE.lock() {
        console.is_quiet = true;
    }
}

/// Keeps every line from now on in `out` too, with its time. Each is written at once: a kill loses none.
pub fn keep_log(out: Box<dyn Write + Send>) {
    if let Ok(mut console) = CONSOLE.lock() {
        console.log = Some(out);
    }
}

/// Writes `text`, one or more lines, without secrets. A terminal that is gone must not end a run.
pub(super) fn say(reach: Reach, text: &str) {
    if let Ok(mut console) = CONSOLE.lock() {
        console.say(reach, text);
    }
}

/// The same, and `lines` become what stands below everything else.
pub(super) fn say_and_draw(text: &str, lines: &[String]) {
    if let Ok(mut console) = CONSOLE.lock() {
        // In this order: what is redrawn round the text is already the new.
        console.draw(lines);
        console.say(Reach::All, text);
    }
}

/// Makes `lines` what stands below everything else; none takes the region away. Lines are cut to the terminal
/// by whoever makes them.
pub(super) fn draw(lines: &[String]) {
    if let Ok(mut console) = CONSOLE.lock() {
        console.draw(lines);
    }
}

impl Console {
    fn say(&mut self, reach: Reach, text: &str) {
        let text = without_secrets(text);
        let failed = self.write_log(&text).err();
        if reach == Reach::All || reach == Reach::Interested && !self.is_quiet {
            self.write_lines(&text);
        }
        if let Some(error) = failed {
            self.log = None;
            let text = format!("{YELLOW}warning{PLAIN}: the log can't be written any more: {error}");
            self.write_lines(&text);
        }
    }

    fn write_lines(&self, text: &str) {
        let write = || {
            let _ = writeln!(anstream::stderr(), "{text}");
        };
        match &self.region {
            Some(region) => region.suspend(write),
            None => write(),
        }
    }

    fn draw(&mut self, lines: &[String]) {
        if lines.is_empty() {
            if let Some(region) = self.region.take() {
                region.finish_and_clear();
            }
            return;
        }
        self.region.get_or_insert_with(region).set_message(without_secrets(&lines.join("\n")).into_owned());
    }

    #[expect(clippy::disallowed_methods, reason = "a log tells the time")]
    fn write_log(&mut self, text: &str) -> io::Result<()> {
        let Some(log) = &mut self.log else { return Ok(()) };
        let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
        let text = anstream::adapter::strip_str(text).to_string();
        let lines: String = text.lines().map(|line| format!("{time} {line}\n")).collect();
        log.write_all(lines.as_bytes()).and_then(|()| log.flush())
    }
}

fn region() -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND);
    let style = ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(None, target).with_style(style)
}

/// Columns and rows of the terminal.
pub(super) fn size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok();
    let size = size.filter(|size| size.ws_col > 0 && size.ws_row > 0);
    size.map_or((80, 24), |size| (size.ws_col.into(), size.ws_row.into()))
}

/// Whether something can be redrawn in place.
#[expect(clippy::disallowed_methods, reason = "a terminal says in TERM that it can't move its cursor")]
pub(super) fn is_terminal() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

//! Standard error as it is shared: lines that stay, below them a region that is redrawn in place, and a log
//! file that gets every line with its time. Read [`say`] and [`draw`].

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;

use unicode_width::UnicodeWidthStr;

use super::{PLAIN, YELLOW, console_colours, without_secrets};

struct Console {
    /// What stands below the lines that stay.
    region: Vec<String>,
    log: Option<Box<dyn Write + Send>>,
    is_quiet: bool,
}

static CONSOLE: Mutex<Console> = Mutex::new(Console { region: Vec::new(), log: None, is_quiet: false });

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
pub(super) fn say_and_draw(text: &str, lines: Vec<String>) {
    if let Ok(mut console) = CONSOLE.lock() {
        console.say(Reach::Log, text);
        let above = console.above();
        console.region = hidden(lines);
        console.write_lines(&above, &without_secrets(text));
    }
}

/// Makes `lines` what stands below everything else; none takes the region away. Lines are cut to the terminal
/// by whoever makes them.
pub(super) fn draw(lines: Vec<String>) {
    let Ok(mut console) = CONSOLE.lock() else { return };
    if console.region.is_empty() && lines.is_empty() {
        return;
    }
    let above = console.above();
    console.region = hidden(lines);
    to_terminal(&(above + &console.below()));
}

fn hidden(lines: Vec<String>) -> Vec<String> {
    lines.iter().map(|line| without_secrets(line).into_owned()).collect()
}

impl Console {
    fn say(&mut self, reach: Reach, text: &str) {
        let text = without_secrets(text);
        let failed = self.write_log(&text).err();
        if reach == Reach::All || reach == Reach::Interested && !self.is_quiet {
            self.write_lines(&self.above(), &text);
        }
        if let Some(error) = failed {
            self.log = None;
            let text = format!("{YELLOW}warning{PLAIN}: the log can't be written any more: {error}");
            self.write_lines(&self.above(), &text);
        }
    }

    /// `text` where the region stood that `above` leads to the start of, and the region below it.
    fn write_lines(&self, above: &str, text: &str) {
        if self.region.is_empty() {
            let _ = writeln!(anstream::stderr(), "{text}");
            return;
        }
        let text = match console_colours() {
            true => text.to_owned(),
            false => anstream::adapter::strip_str(text).to_string(),
        };
        let lines: String = text.lines().map(|line| format!("{line}\x1b[K\n")).collect();
        to_terminal(&format!("{above}{lines}{}", self.below()));
    }

    /// Moves to the first row of the region; the cursor stands below it. A terminal that became narrower has
    /// wrapped its lines.
    fn above(&self) -> String {
        let (columns, _) = size();
        let rows: usize = self.region.iter().map(|line| line.width().div_ceil(columns).max(1)).sum();
        if rows == 0 { "\r".to_owned() } else { format!("\r\x1b[{rows}A") }
    }

    /// The region from the cursor on, and nothing below it.
    fn below(&self) -> String {
        self.region.iter().map(|line| format!("{line}\x1b[K\n")).collect::<String>() + "\x1b[J"
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

fn to_terminal(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
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

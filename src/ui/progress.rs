//! What is seen of a run while it goes on: on a terminal a board below the lines that stay, elsewhere one plain
//! line an event. Read [`Progress`]; what is said of each event stands in `progress/lines.rs`.

mod board;
mod commands;
mod lines;

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use self::lines::Weight;
use super::console::{self, Reach};
use super::time::about;
use super::{PLAIN, YELLOW};
use crate::event::Event;
use crate::monitor::{Moment, Monitor, Pace};
use crate::plan::Plan;
use crate::spec::Spec;

/// Between two lines that tell the time left, where there is no board.
const BETWEEN_TIMES: Duration = Duration::from_secs(60);

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verbosity {
    /// Only what went wrong.
    Quiet,
    /// How far the run is.
    #[default]
    Normal,
    /// Each command and what it printed, too.
    Verbose,
}

/// What is shown of a run while it goes on.
pub struct Progress {
    monitor: Monitor,
    verbosity: Verbosity,
    /// When the board is drawn again; `None` where there is none.
    board: Option<Pace>,
    zone: TimeZone,
    /// When the time left was last told in a line.
    told: Timestamp,
    /// Hosts that failed, until it is known that the run goes on without them.
    held: Vec<String>,
    /// Whether warm-up is among the trials.
    has_warmup: bool,
}

impl Progress {
    /// Shows the hosts of `plan`, all of which are being connected.
    pub fn start(plan: &Plan, spec: &Spec, verbosity: Verbosity, now: Timestamp) -> Self {
        let is_here = |name: &String| spec.hosts.get(name.as_str()).is_some_and(|host| host.local.is_some());
        let here = plan.hosts().into_iter().filter(is_here).collect();
        let board = (verbosity != Verbosity::Quiet && console::is_terminal()).then(Pace::default);
        let (monitor, zone) = (Monitor::new(plan, here, now), TimeZone::system());
        let mut progress = Progress {
            monitor,
            verbosity,
            board,
            zone,
            told: now,
            held: Vec::new(),
            has_warmup: plan.has_warmup(),
        };
        progress.tick(now);
        progress
    }

    /// What the run does.
    pub fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// Counts a trial of the cell number `cell` that an earlier sitting has done.
    pub fn skip(&mut self, cell: usize, is_ok: bool) {
        self.monitor.skip(cell, is_ok);
    }

    /// Leaves out what a cell does not need any more, since it was known well enough before.
    pub fn spare(&mut self, cell: usize, spared: u32, now: Timestamp) {
        self.monitor.follow(&Event::KnownWellEnough { cell, spared }, now);
    }

    /// Shows one event that happened just `now`, and says whether the moment is good to write it elsewhere.
    pub fn show(&mut self, event: &Event, now: Timestamp) -> Moment {
        let moment = self.monitor.follow(event, now);
        let line = lines::line(event, &self.monitor);
        match (event, line) {
            (Event::HostFailed { .. }, Some((_, text))) => self.held.push(text),
            (Event::HostReady { .. }, Some((weight, text))) => self.line(weight, &text, now),
            (Event::FactsFound { .. }, _) => {}
            (_, line) => {
                self.tell_held(now);
                if let Some((weight, text)) = line {
                    self.line(weight, &text, now);
                }
            }
        }
        if matches!(event, Event::TrialFinished(_)) {
            self.tell_time(now);
        }
        self.draw(moment, now);
        moment
    }

    /// Lets the clock of the board go on.
    pub fn tick(&mut self, now: Timestamp) {
        self.draw(self.monitor.moment(), now);
    }

    /// How long until [`Progress::tick`] has something to do; `None` when it has nothing: a clock that ticks
    /// on the measured machine itself would disturb what it measures.
    pub fn wait(&self, now: Timestamp) -> Option<Duration> {
        let board = self.board.as_ref().filter(|_| self.monitor.moment() == Moment::Any)?;
        Some(board.wait(now))
    }

    /// Says that an interrupt was understood.
    pub fn stopping(&self, now: Timestamp) {
        let what = "ending what runs and removing what was made; Ctrl-C again leaves at once";
        self.line(Weight::Problem, &format!("{YELLOW}stopping{PLAIN}: {what}"), now);
    }

    /// Says how the run ended.
    pub fn finish(mut self, now: Timestamp) {
        self.tell_held(now);
        self.board = None;
        console::draw(&[]);
        let ((finished, failed), trials) = (self.monitor.counts(), self.monitor.trials());
        let run = self.monitor.snapshot(now);
        let time = about(now.duration_since(run.started).as_secs_f64());
        let weight = if finished == trials && failed == 0 { Weight::Note } else { Weight::Problem };
        let which = if self.has_warmup { ", warm-up among them," } else { "" };
        self.line(weight, &format!("{} of {trials} trials ok{which} in {time}", finished - failed), now);
    }

    fn tell_held(&mut self, now: Timestamp) {
        for text in std::mem::take(&mut self.held) {
            self.line(Weight::Problem, &text, now);
        }
    }

    /// Now and then how long it will still take, where no board shows it.
    fn tell_time(&mut self, now: Timestamp) {
        let (finished, trials) = (self.monitor.counts().0, self.monitor.trials());
        let passed = Duration::try_from(now.duration_since(self.told)).unwrap_or_default();
        if passed < BETWEEN_TIMES || finished == trials || self.monitor.left_s(now).is_none() {
            return;
        }
        self.told = now;
        self.line(Weight::Note, &board::counts(&self.monitor.snapshot(now)), now);
    }

    fn draw(&mut self, moment: Moment, now: Timestamp) {
        if self.board.as_mut().is_some_and(|pace| pace.is_due(moment, now)) {
            console::draw(&self.lines(now));
        }
    }

    /// The board.
    fn lines(&self, now: Timestamp) -> Vec<String> {
        let is_still = self.monitor.moment() == Moment::Measured;
        board::lines(&self.monitor.snapshot(now), console::size(), &self.zone, is_still)
    }

    /// A line that stays, to whom it matters.
    fn line(&self, weight: Weight, text: &str, now: Timestamp) {
        let least = match (self.verbosity, &self.board) {
            (Verbosity::Verbose, _) => Weight::Detail,
            (Verbosity::Normal, None) => Weight::Note,
            (Verbosity::Normal, Some(_)) | (Verbosity::Quiet, _) => Weight::Problem,
        };
        match (weight >= least, &self.board) {
            (true, Some(_)) => console::say_and_draw(text, &self.lines(now)),
            (true, None) => console::say(Reach::All, text),
            (false, _) => console::say(Reach::Log, text),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        console::draw(&[]);
    }
}

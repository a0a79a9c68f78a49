//! When what a run does is shown or written again: about once a second, and never while this machine is
//! measured. Read [`Pace`].

use std::time::Duration;

use jiff::Timestamp;

/// Between two times.
const INTERVAL: Duration = Duration::from_secs(1);
/// How many seconds that passed without a time are made up for at most.
const CREDIT_S: f64 = 10.0;

/// What a moment is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Anything.
    Any,
    /// A measured command is about to start that may be a long one: what is shown now may be what is seen
    /// for a while.
    PerhapsLast,
    /// A long one is about to start.
    Last,
    /// This machine is measured, and is left alone.
    Measured,
}

/// Spaces something out.
#[derive(Debug)]
pub struct Pace {
    last: Option<Timestamp>,
    /// How many times are due that were not used, when `last` was.
    credit: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { last: None, credit: CREDIT_S }
    }
}

impl Pace {
    /// Whether it is time again; if so, the next time is counted from here.
    pub fn is_due(&mut self, moment: Moment, now: Timestamp) -> bool {
        let credit = (self.credit + self.passed(now).as_secs_f64()).min(CREDIT_S);
        let is_due = match moment {
            Moment::Any => self.wait(now).is_zero(),
            Moment::PerhapsLast => self.wait(now).is_zero() || credit >= 1.0,
            Moment::Last => true,
            Moment::Measured => false,
        };
        if is_due {
            self.credit = (credit - 1.0).max(0.0);
            self.last = Some(now);
        }
        is_due
    }

    /// How long until it is time again.
    pub fn wait(&self, now: Timestamp) -> Duration {
        INTERVAL.saturating_sub(self.passed(now))
    }

    /// Since the last time; long ago where there was none, or the clock was set back.
    fn passed(&self, now: Timestamp) -> Duration {
        let passed = self.last.and_then(|last| Duration::try_from(now.duration_since(last)).ok());
        passed.unwrap_or(INTERVAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(1_000_000 + milliseconds).unwrap()
    }

    #[test]
    fn at_most_once_a_second_and_never_while_measured() {
        let mut pace = Pace::default();
        assert!(!pace.is_due(Moment::Measured, at(0)));
        assert!(pace.is_due(Moment::Any, at(0)));
        assert!(!pace.is_due(Moment::Any, at(999)));
        assert_eq!(pace.wait(at(400)), Duration::from_millis(600));
        assert!(pace.is_due(Moment::Last, at(500)), "a long command is about to start");
        assert!(!pace.is_due(Moment::Any, at(1_400)));
        assert!(pace.is_due(Moment::Any, at(1_500)));
        assert!(!pace.is_due(Moment::Measured, at(9_000)));
        assert!(pace.is_due(Moment::Any, at(-5_000)), "the clock was set back");
    }

    #[test]
    fn short_commands_of_unknown_length_are_shown_about_once_a_second() {
        let mut pace = Pace::default();
        let shown = (0..60_000).filter(|time| pace.is_due(Moment::PerhapsLast, at(*time))).count();
        assert!((60..=71).contains(&shown), "{shown} times in 60 s");
        assert!(pace.is_due(Moment::PerhapsLast, at(65_000)));
        assert!(pace.is_due(Moment::PerhapsLast, at(65_001)), "what was not used is made up for");
    }
}

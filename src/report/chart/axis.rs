//! From values to places on an axis, and the ticks beside it. Linear axes have round ticks; logarithmic ones have no 0;
//! sizes of data get powers of two. Read [`Axis`].

use super::super::number::{fixed, place};

/// An axis: which values lie at its ends, and what is written beside it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    is_log: bool,
    /// Where a line stands, and its text; an empty text stands for a line alone.
    pub ticks: Vec<(f64, String)>,
}

/// Larger ones overflow in between.
const LARGEST: f64 = 1e300;

impl Axis {
    /// From the smallest to the largest of `values`; with 0 where `has_zero`. About `count` round ticks.
    pub fn linear(values: impl Iterator<Item = f64>, has_zero: bool, count: usize) -> Self {
        let zero = has_zero.then_some(0.0);
        let ends = ends(values.chain(zero));
        let (mut low, mut high) = ends.unwrap_or((0.0, 1.0));
        if low / 2.0 == high / 2.0 {
            let room = if low.abs() < 1e-300 { 1.0 } else { low.abs() / 2.0 };
            // Around 0 room on one side is enough.
            (low, high) =
                if has_zero { (low.min(0.0), high.max(low + room)) } else { (low - room, high + room) };
        }
        let step = step(low, high, count);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        // Values too small or too far apart for steps of their own have their ends alone.
        if !(step > 0.0 && last - first <= 4.0 * count as f64) {
            let ticks = vec![(low, text(low)), (high, text(high))];
            return Self { low, high, is_log: false, ticks };
        }
        let places = -step.log10().floor();
        let ticks: Vec<f64> =
            (0..=(last - first) as usize).map(|index| (first + index as f64) * step).collect();
        // All in one form: `0k 5k 10k`, not `5000 10k`.
        let largest = ticks.iter().fold(0.0_f64, |largest, tick| largest.max(tick.abs()));
        let (factor, letter) = thousands(largest);
        let places = (places + factor.log10()).max(0.0);
        let is_short = largest < 1e15 && places < 7.0;
        let written = |tick: f64| match is_short {
            _ if tick == 0.0 && factor > 1.0 => "0".to_owned(),
            true => format!("{}{letter}", fixed(tick / factor, places as i32)),
            false => text(tick),
        };
        let ticks: Vec<_> = ticks.into_iter().map(|tick| (tick, written(tick))).collect();
        Self { low: first * step, high: last * step, is_log: false, ticks }
    }

    /// The same without room beyond the values, for what is not counted from anywhere: a time.
    pub fn tight(values: impl Iterator<Item = f64> + Clone, count: usize) -> Self {
        let mut axis = Self::linear(values.clone(), false, count);
        if let Some((low, high)) = ends(values).filter(|(low, high)| low < high) {
            axis.ticks.retain(|(tick, _)| (low..=high).contains(tick));
            (axis.low, axis.high) = (low, high);
        }
        axis
    }

    /// Over the positive ones of `values`: none where there is none. Ticks at 1, 2 and 5 of each decade; of more than
    /// three decades at 1 alone.
    pub fn logarithmic(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (low, high) = ends(values.filter(|value| *value > 0.0))?;
        let decade = |value: f64| value.log10();
        let room = 0.04 * (decade(high) - decade(low)).max(1.0);
        let (first, last) = (decade(low) - room, decade(high) + room);
        let is_wide = last - first > 3.0;
        let (low, high) = (ten_to(first), ten_to(last));
        let every = (((last - first) / 8.0).ceil() as i32).max(1);
        let parts: &[f64] = if is_wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let decades = (first.floor() as i32..=last.ceil() as i32).step_by(every as usize);
        let ticks = decades.flat_map(|decade| parts.iter().map(move |part| part * ten_to(f64::from(decade))));
        let (least, most) = (low * (1.0 - 1e-9), high * (1.0 + 1e-9));
        let ticks = ticks.filter(|tick| (least..=most).contains(tick) && *tick > 0.0);
        let ticks = ticks.map(|tick| (tick, text(tick))).collect();
        Some(Self { low, high, is_log: true, ticks }).filter(|axis| axis.low > 0.0 && axis.low < axis.high)
    }

    /// The ticks at `values` alone, with some room beyond the outermost: for settings, of which there are few.
    pub fn at(mut values: Vec<(f64, String)>, is_log: bool) -> Self {
        values.sort_by(|one, other| one.0.total_cmp(&other.0));
        let is_log = is_log && values.first().is_some_and(|first| first.0 > 0.0);
        let place = |value: f64| if is_log { value.log10() } else { value };
        let (first, last) = (values.first(), values.last());
        let (low, high) = (first.map_or(0.0, |one| place(one.0)), last.map_or(1.0, |one| place(one.0)));
        let room = match high - low {
            0.0 => 0.5 * if is_log { 1.0 } else { high.abs().max(1.0) },
            span => 0.06 * span,
        };
        let end = |value: f64| if is_log { ten_to(value) } else { value };
        Self { low: end(low - room), high: end(high + room), is_log, ticks: values }
    }

    /// Where `value` lies, from 0 at the low end to 1 at the high one; none where it has no place.
    pub fn place(&self, value: f64) -> Option<f64> {
        if !value.is_finite() || self.is_log && value <= 0.0 {
            return None;
        }
        let place = match self.is_log {
            true => (value.log10() - self.low.log10()) / (self.high.log10() - self.low.log10()),
            // Halves, since the distance of two finite numbers may be infinite.
            false => (value / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0),
        };
        Some(place).filter(|place| place.is_finite()).map(|place| place.clamp(-0.05, 1.05))
    }
}

/// The smallest and the largest of the finite values.
fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.filter(|value| value.is_finite()).map(|value| value.clamp(-LARGEST, LARGEST));
    finite.fold(None, |ends: Option<(f64, f64)>, value| {
        let (low, high) = ends.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

/// The round step, 1, 2 or 5 times a power of ten, of which about `count` lie between both ends.
fn step(low: f64, high: f64, count: usize) -> f64 {
    let rough = (high / 2.0 - low / 2.0) / count.max(1) as f64 * 2.0;
    let decade = ten_to(rough.log10().floor());
    let part = rough / decade;
    decade
        * if part <= 1.0 {
            1.0
        } else if part <= 2.0 {
            2.0
        } else if part <= 5.0 {
            5.0
        } else {
            10.0
        }
}

/// A power of ten that is exact for whole exponents: `powf` of some platforms is not.
fn ten_to(exponent: f64) -> f64 {
    match exponent.fract() == 0.0 && exponent.abs() < 400.0 {
        true => format!("1e{exponent}").parse().unwrap_or(1.0),
        false => 10_f64.powf(exponent),
    }
}

/// Of which power of a thousand numbers up to `largest` are written, and its letter.
fn thousands(largest: f64) -> (f64, &'static str) {
    let all = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    all.into_iter()
        .find(|(factor, _)| largest >= factor * if *factor == 1e3 { 10.0 } else { 1.0 })
        .unwrap_or((1.0, ""))
}

/// A number beside an axis: `500`, `20k`, `1.5M`; with an exponent where no letter fits.
pub(super) fn text(value: f64) -> String {
    let (factor, letter) = thousands(value.abs());
    match value == 0.0 || (1e-4..1e15).contains(&value.abs()) {
        true => format!("{}{letter}", figure(value / factor)),
        false => figure(value),
    }
}

/// A number in words: four digits, and every whole one.
pub(super) fn figure(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    let text = match (1e-4..1e15).contains(&size) {
        true => fixed(value, place(value, None)),
        false => format!("{value:.3e}"),
    };
    let (digits, exponent) = match text.split_once('e') {
        Some((digits, exponent)) => (digits.to_owned(), format!("e{exponent}")),
        None => (text, String::new()),
    };
    let digits = match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => &digits,
    };
    format!("{digits}{exponent}")
}

/// A size of data in the largest binary unit in which it is whole: `4 KiB`.
pub(super) fn size(bytes: f64) -> String {
    let units =
        [(1_099_511_627_776.0, "TiB"), (1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB")];
    let whole = units.into_iter().find(|(factor, _)| bytes >= *factor && bytes % factor == 0.0);
    whole.map_or_else(
        || format!("{} B", figure(bytes)),
        |(factor, name)| format!("{} {name}", figure(bytes / factor)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn ticks_are_round() {
        for (values, has_zero, expected) in [
            (&[27.8, 31.8][..], true, &["0", "10", "20", "30", "40"][..]),
            (&[0.79, 1.364], true, &["0.0", "0.5", "1.0", "1.5"]),
            (&[], true, &["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
            (&[0.0], true, &["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
            (&[-3.0, 5.0], true, &["-4", "-2", "0", "2", "4", "6"]),
            (&[2e9], true, &["0", "0.5G", "1.0G", "1.5G", "2.0G"]),
        ] {
            assert_eq!(texts(&Axis::linear(values.iter().copied(), has_zero, 5)), expected, "{values:?}");
        }
    }

    #[test]
    fn a_log_axis_has_no_0() {
        let axis = Axis::logarithmic([0.0, -3.0, 10.0, 300.0].into_iter()).unwrap();
        assert_eq!(texts(&axis), ["10", "20", "50", "100", "200"]);
        assert_eq!((axis.place(0.0), axis.place(-1.0)), (None, None));
        assert!(Axis::logarithmic([0.0, -1.0].into_iter()).is_none());
        let wide = Axis::logarithmic([1.0, 2e7].into_iter()).unwrap();
        assert_eq!(texts(&wide), ["1", "10", "100", "1000", "10k", "100k", "1M", "10M"]);
    }

    #[test]
    fn sizes_of_data_are_powers_of_two() {
        for (bytes, text) in [
            (4096.0, "4 KiB"),
            (1_048_576.0, "1 MiB"),
            (1e6, "1000000 B"),
            (512.0, "512 B"),
            (1536.0, "1536 B"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn extremes_have_a_place_or_none() {
        let all = [f64::MAX, f64::MIN, 5e-324, f64::NAN, f64::INFINITY, 0.0];
        for has_zero in [true, false] {
            let axis = Axis::linear(all.into_iter(), has_zero, 5);
            assert!(axis.place(f64::MAX).is_some() && axis.place(f64::NAN).is_none());
        }
        assert!(Axis::linear([5e-324].into_iter(), true, 5).place(0.0).is_some_and(f64::is_finite));
        assert!(
            Axis::logarithmic([5e-324, f64::MAX].into_iter()).is_none_or(|axis| axis.place(1.0).is_some())
        );
    }
}

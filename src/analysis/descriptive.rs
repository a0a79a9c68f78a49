//! What one sample looks like: location, spread and extremes. Plain functions of numbers; what may be
//! concluded from a sample is in `interval.rs`.

/// A sample in numbers, in the sample's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Description {
    /// The arithmetic mean; of a [`Summary`](super::Summary) the mean that it says.
    pub mean: f64,
    /// The 0.5 quantile: the headline.
    pub median: f64,
    /// Standard deviation with n - 1 in the denominator; none for one value.
    pub sd: Option<f64>,
    /// Coefficient of variation, `sd` by the arithmetic mean, without unit; none where that is 0.
    pub cov: Option<f64>,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
}

/// Describes a sample in ascending order; none for no values.
pub fn describe(sorted: &[f64]) -> Option<Description> {
    let (&min, &max) = (sorted.first()?, sorted.last()?);
    let mean = mean(sorted);
    let sd = standard_deviation(sorted);
    let cov = sd.map(|sd| sd / mean).filter(|cov| cov.is_finite());
    Some(Description { mean, median: quantile(sorted, 0.5), sd, cov, min, max })
}

/// The arithmetic mean of at least one value. For rates over fixed work (dd) it is not the right one: see
/// `mean.rs`.
pub fn mean(sample: &[f64]) -> f64 {
    sample.iter().sum::<f64>() / sample.len() as f64
}

/// The standard deviation with n - 1, in two passes (a sum of squares loses all digits far from 0); none
/// below 2.
pub fn standard_deviation(sample: &[f64]) -> Option<f64> {
    let degrees = sample.len().checked_sub(1).filter(|degrees| *degrees > 0)?;
    let mean = mean(sample);
    let squares: f64 = sample.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / degrees as f64).sqrt())
}

/// The `q` quantile (0 to 1) of at least one value in ascending order, by linear interpolation: type 7 of
/// Hyndman & Fan 1996, the default of R and numpy.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = q * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

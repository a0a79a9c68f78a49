//! Many comparisons at once: of twenty true nulls one is below 0.05 by chance.

use super::refusal::{Refusal, check};

/// The p-values adjusted by Holm's procedure (Holm 1979), in the order given: those below alpha are the comparisons
/// in which nothing is claimed by chance with a probability above alpha, however they depend on each other. Refused with what
/// is no probability.
pub fn holm(p_values: &[f64]) -> Result<Vec<f64>, Refusal> {
    check(p_values, 0)?;
    if p_values.iter().any(|p| !(0.0..=1.0).contains(p)) {
        return Err(Refusal::OutOfRange("probability"));
    }
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|one, other| p_values[*one].total_cmp(&p_values[*other]));
    let (mut adjusted, mut largest) = (vec![0.0; p_values.len()], 0.0);
    for (done, place) in order.into_iter().enumerate() {
        largest = ((p_values.len() - done) as f64 * p_values[place]).clamp(largest, 1.0);
        adjusted[place] = largest;
    }
    Ok(adjusted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_held_against_those_that_are_left() {
        // By hand: 4 · 0.005, 3 · 0.01, 2 · 0.03, and 0.04 not below the one before.
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]).unwrap();
        for (got, right) in adjusted.into_iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((got - right).abs() < 1e-15, "{got} is not {right}");
        }
        assert_eq!(holm(&[0.9, 0.5]), Ok(vec![1.0, 1.0]));
        assert_eq!(holm(&[0.02]), Ok(vec![0.02]));
        assert_eq!(holm(&[]), Ok(vec![]));
    }

    #[test]
    fn what_is_no_probability_is_refused() {
        assert_eq!(holm(&[0.5, f64::NAN]), Err(Refusal::NotFinite));
        assert_eq!(holm(&[0.5, 1.5]), Err(Refusal::OutOfRange("probability")));
        assert_eq!(holm(&[-0.1]), Err(Refusal::OutOfRange("probability")));
    }
}

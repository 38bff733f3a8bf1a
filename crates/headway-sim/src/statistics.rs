//! Means and quantiles.

/// The arithmetic mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The value below which a share `q` of `sorted` lies, interpolated between neighbours (Hyndman and
/// Fan's definition 7, which R and NumPy use); `None` of nothing.
///
/// `sorted` ascends.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = q.clamp(0.0, 1.0) * last as f64;
    let below = place as usize;
    let (low, high) = (sorted[below], sorted[(below + 1).min(last)]);
    Some(low + (high - low) * (place - below as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_definition_7() {
        let values = [1.0, 2.0, 4.0, 8.0];
        assert_eq!(
            [0.0, 0.25, 0.5, 0.9, 1.0].map(|q| quantile(&values, q)),
            [Some(1.0), Some(1.75), Some(3.0), Some(4.0 + 4.0 * (0.9 * 3.0 - 2.0)), Some(8.0)]
        );
        assert_eq!(quantile(&[5.0; 1000], 0.975), Some(5.0));
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!((mean(&values), mean(&[])), (Some(3.75), None));
    }
}

//! Numbers as a picture of one line.

/// A bar for each number, from none for 0 to a full one for the highest.
pub fn bars(counts: &[u64]) -> String {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let bar = |count: u64| BARS[(u128::from(count) * 8).div_ceil(most.into()) as usize];
    counts.iter().copied().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::bars;

    #[test]
    fn bars_are_as_high_as_their_numbers() {
        assert_eq!(bars(&[0, 1, 4, 8]), " ▁▄█");
        assert_eq!(bars(&[0, 0]), "  ");
        assert_eq!(bars(&[u64::MAX, 1]), "█▁");
    }
}
